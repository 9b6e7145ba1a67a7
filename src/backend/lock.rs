//! The advisory lock of a slot or a key: of the transaction, and only ever tried. And the
//! lock of a whole table, tried in the same way.
//!
//! It makes waiting good (one caller works on a slot, the others answer or sleep
//! outside every lock); it does not make the protocol safe. Safety is the row's and
//! the primary key's, and a test runs with this lock compiled out.

use std::hash::{Hash, Hasher};

use pgrx::pg_sys;
use siphasher::sip::SipHasher13;

#[cfg(feature = "mutant")]
use crate::mutant::{Part, leaves_out};

/// What a lock is about. Two kinds never share a lock, save by a collision of the
/// 64-bit hash, which costs a wait and nothing else.
#[derive(Clone, Copy, Hash)]
pub enum Subject<'a> {
    Slot(&'a str),
    Key(&'a str),
    Series(&'a str),
    /// A row that is not there yet: of which table, under which key.
    NewRow(u32, &'a str),
    /// One reaper at a time.
    Reaper,
}

pub struct AdvisoryLock(#[allow(dead_code)] pg_sys::LOCKTAG);

/// PostgreSQL's own pg_advisory_lock functions use 1 and 2 here. With a number of our
/// own, no advisory lock that a user takes can ever meet one of ours.
const CLASS: u16 = 0x7063;

impl AdvisoryLock {
    /// Takes the lock if nobody has it, and does not wait.
    pub fn try_take(subject: Subject) -> Option<Self> {
        let mut hasher = SipHasher13::new();
        subject.hash(&mut hasher);
        let hash = hasher.finish();
        // SAFETY: MyDatabaseId is set before any function can be called.
        let database = unsafe { pg_sys::MyDatabaseId };
        let tag = pg_sys::LOCKTAG {
            locktag_field1: database.to_u32(),
            locktag_field2: (hash >> 32) as u32,
            locktag_field3: hash as u32,
            locktag_field4: CLASS,
            locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        };
        take(&tag).then_some(Self(tag))
    }

    /// Lets the lock go before the transaction ends: for a call that changed nothing.
    pub fn release(self) {
        #[cfg(feature = "mutant")]
        if leaves_out(Part::Lock) {
            return;
        }
        // SAFETY: the tag is the one this lock was taken with, and the resource owner is
        // the same, as both happen in one function call.
        unsafe { pg_sys::LockRelease(&self.0, pg_sys::ExclusiveLock as _, false) };
    }
}

fn take(tag: &pg_sys::LOCKTAG) -> bool {
    #[cfg(feature = "mutant")]
    if leaves_out(Part::Lock) {
        return true;
    }
    // SAFETY: the tag is filled in; not a session lock, so the end of the transaction
    // releases it whatever happens; `dontWait`, so the lock manager never queues us.
    let result = unsafe { pg_sys::LockAcquire(tag, pg_sys::ExclusiveLock as _, false, true) };
    result != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
}

/// What a lock of a table keeps out.
#[derive(Clone, Copy)]
pub enum TableLock {
    /// Nobody who writes, but whoever wants a lock of the others.
    Rows,
    /// Those who write, or have locked rows.
    Writers,
    /// Everybody.
    All,
}

/// Takes the lock of a table to the end of the transaction if it is free now. Waiting
/// for it would make all who come later wait too.
pub fn try_lock_table(table: pg_sys::Oid, lock: TableLock) -> bool {
    let mode = match lock {
        TableLock::Rows => pg_sys::RowExclusiveLock,
        TableLock::Writers => pg_sys::ExclusiveLock,
        TableLock::All => pg_sys::AccessExclusiveLock,
    };
    // SAFETY: an oid that is nobody's is locked as well, and found missing afterwards.
    unsafe { pg_sys::ConditionalLockRelationOid(table, mode as _) }
}
