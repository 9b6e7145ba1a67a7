//! The advisory lock of a slot or a key: of the transaction, and only ever tried. And the
//! lock of a whole table, tried in the same way.
//!
//! It makes waiting good (one caller works on a slot, the others answer or sleep
//! outside every lock); it does not make the protocol safe. Safety is the row's and
//! the primary key's, and a test runs with this lock compiled out.
//!
//! Who does not get it sleeps, and is woken when it is let go. He does not stand in
//! PostgreSQL's queue for the lock: a wait there ends with an error and not with an
//! answer, and it can be part of a deadlock.

use std::cell::RefCell;
use std::collections::HashSet;
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

impl Subject<'_> {
    fn hash_64(self) -> u64 {
        let mut hasher = SipHasher13::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

pub struct AdvisoryLock {
    hash: u64,
    /// Not held already, by an earlier call of the transaction.
    is_new: bool,
}

/// PostgreSQL's own pg_advisory_lock functions use 1 and 2 here. With numbers of our own,
/// no advisory lock that a user takes can ever meet one of ours.
const LOCK: u16 = 0x7063;
const WAITING: u16 = 0x7077;

thread_local! {
    /// The locks of this transaction.
    static HELD: RefCell<HashSet<u64>> = RefCell::default();
}

/// Called once when the library is loaded.
pub fn init() {
    // SAFETY: a library is never unloaded, so the function stays where it is.
    unsafe { pg_sys::RegisterResourceReleaseCallback(Some(released), std::ptr::null_mut()) };
}

/// PostgreSQL calls this, among other times, when a transaction has let its locks go.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn released(
    phase: pg_sys::ResourceReleasePhase::Type,
    _is_commit: bool,
    is_top_level: bool,
    _none: *mut std::ffi::c_void,
) {
    use pg_sys::ResourceReleasePhase::RESOURCE_RELEASE_AFTER_LOCKS;
    if is_top_level && phase == RESOURCE_RELEASE_AFTER_LOCKS {
        HELD.take().into_iter().for_each(wake);
    }
}

impl AdvisoryLock {
    /// Takes the lock if nobody has it, and does not wait.
    pub fn try_take(subject: Subject) -> Option<Self> {
        let hash = subject.hash_64();
        acquire(&tag(hash, LOCK), pg_sys::ExclusiveLock)
            .then(|| Self { hash, is_new: HELD.with_borrow_mut(|held| held.insert(hash)) })
    }

    /// Lets the lock go before the transaction ends: for a call that changed nothing.
    pub fn release(self) {
        release(&tag(self.hash, LOCK), pg_sys::ExclusiveLock);
        if self.is_new {
            HELD.with_borrow_mut(|held| held.remove(&self.hash));
            wake(self.hash);
        }
    }
}

/// Says that somebody waits for a lock, so that whoever lets it go can wake him. That is
/// a lock as well, but a shared one, which everybody gets and which keeps nobody out.
pub struct Waiting(u64);

impl Waiting {
    pub fn begin(subject: Subject) -> Self {
        let hash = subject.hash_64();
        acquire(&tag(hash, WAITING), pg_sys::ShareLock);
        Self(hash)
    }

    pub fn is_for(&self, subject: Subject) -> bool {
        self.0 == subject.hash_64()
    }

    pub fn end(self) {
        release(&tag(self.0, WAITING), pg_sys::ShareLock);
    }
}

/// How many are woken: one to take the lock, and one who is awake when it is let go again.
const WOKEN: i32 = 2;

/// Wakes those who have waited longest for a lock that was let go.
fn wake(hash: u64) {
    let mut count = 0;
    // SAFETY: the tag is filled in; the answer has as many elements as it counts, those
    // who came first in front, and is ours.
    unsafe {
        let tag = tag(hash, WAITING);
        let waiting = pg_sys::GetLockConflicts(&tag, pg_sys::ExclusiveLock as _, &mut count);
        for place in 0..count.min(WOKEN) {
            set_latch(*waiting.add(place as usize));
        }
        pg_sys::pfree(waiting.cast());
    }
}

/// Sets the latch of a backend. Whoever has its place by now is woken for nothing, which
/// every backend bears.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
fn set_latch(of: pg_sys::VirtualTransactionId) {
    // SAFETY: a number that the server has given to a backend.
    unsafe { pg_sys::ProcSendSignal(of.procNumber) };
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
fn set_latch(of: pg_sys::VirtualTransactionId) {
    unsafe extern "C-unwind" {
        /// Raises no error.
        fn BackendIdGetProc(backend: std::ffi::c_int) -> *mut pg_sys::PGPROC;
    }
    // SAFETY: null when the backend has ended; its place in shared memory stays.
    unsafe {
        if let Some(backend) = BackendIdGetProc(of.backendId).as_ref() {
            pg_sys::ProcSendSignal(backend.pgprocno);
        }
    }
}

fn tag(hash: u64, class: u16) -> pg_sys::LOCKTAG {
    // SAFETY: MyDatabaseId is set before any function can be called.
    let database = unsafe { pg_sys::MyDatabaseId };
    pg_sys::LOCKTAG {
        locktag_field1: database.to_u32(),
        locktag_field2: (hash >> 32) as u32,
        locktag_field3: hash as u32,
        locktag_field4: class,
        locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
        locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
    }
}

fn acquire(tag: &pg_sys::LOCKTAG, mode: u32) -> bool {
    #[cfg(feature = "mutant")]
    if leaves_out(Part::Lock) {
        return true;
    }
    // SAFETY: the tag is filled in; not a session lock, so the end of the transaction
    // releases it whatever happens; `dontWait`, so the lock manager never queues us.
    let result = unsafe { pg_sys::LockAcquire(tag, mode as _, false, true) };
    result != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
}

fn release(tag: &pg_sys::LOCKTAG, mode: u32) {
    #[cfg(feature = "mutant")]
    if leaves_out(Part::Lock) {
        return;
    }
    // SAFETY: the lock was acquired with this tag and mode, and the resource owner is
    // the same, as both happen in one function call.
    unsafe { pg_sys::LockRelease(tag, mode as _, false) };
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
