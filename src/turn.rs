//! The way of every writing call.
//!
//! 1. An unlocked look: what can be answered without writing is answered. No
//!    transaction id, no WAL, no fsync: losing is nearly free.
//! 2. The advisory lock of the slot or key, only tried, again and again within the call's
//!    patience: when its holder has let it go and wakes those who came first, and in
//!    between, longer each time, as some end without a word.
//! 3. Under it a fresh look, unless the lock was free when it was asked for; then the
//!    clock, then the write. Anything that is not exactly as it was read: back to 1.
//! 4. A call that changed nothing lets its lock go at once, and nobody sleeps with one.
//!    A call that did change something keeps it to the end of its transaction, so that
//!    the others answer `busy` instead of waiting for a commit of unknown length.

use std::thread::LocalKey;
use std::time::{Duration, Instant as Monotonic};

use pgrx::datum::DatumWithOid;

use crate::backend::clock::{self, Slept};
use crate::backend::lock::{AdvisoryLock, Subject, Waiting};
use crate::backend::statement::Statement;
use crate::notify;
use crate::settings;

/// One attempt under the lock.
#[derive(Default)]
pub struct Turn {
    /// The locks were free when they were asked for, so what was seen just before that is
    /// most likely still so.
    pub at_once: bool,
    wrote: bool,
    /// How to take back what was written, last first.
    inverses: Vec<Box<dyn FnOnce()>>,
    /// What to tell of once the attempt has gone through.
    news: Vec<notify::Change>,
}

impl Turn {
    /// Runs a statement that writes one row; false when it wrote none.
    pub fn write(
        &mut self,
        statement: &'static LocalKey<Statement>,
        args: &[DatumWithOid],
    ) -> bool {
        let changed = statement.with(|statement| statement.run(args));
        self.wrote |= changed > 0;
        changed == 1
    }

    /// The same for a row that was written without a statement.
    pub fn wrote(&mut self, written: bool) -> bool {
        self.wrote |= written;
        written
    }

    /// The same for a statement about a user's own table, which answers the row that it
    /// wrote.
    pub fn write_with<T>(&mut self, write: impl FnOnce() -> Option<T>) -> Option<T> {
        let written = write();
        self.wrote |= written.is_some();
        written
    }

    /// Says how the last write is taken back.
    pub fn or_else_undo(&mut self, inverse: impl FnOnce() + 'static) {
        self.inverses.push(Box::new(inverse));
    }

    /// Says what the last write means to those who listen.
    pub fn tell(&mut self, change: notify::Change) {
        self.news.push(change);
    }

    /// Tells those who listen.
    pub fn announce(&mut self) {
        self.news.drain(..).for_each(|change| notify::of(&change));
    }

    /// Takes back everything: a call about several things at once, of which one is
    /// refused, changes none of them. Nobody has seen any of it, and every row concerned
    /// is locked by this very transaction, so this cannot fail.
    pub fn undo(&mut self) {
        while let Some(inverse) = self.inverses.pop() {
            inverse();
        }
        self.news.clear();
        // The locks stay: the rows that were written keep others waiting until the end of
        // the transaction, and so they are told `busy`.
    }
}

/// Takes turns at a slot or a key, or at several, until `attempt` has an answer; `None`
/// when the patience runs out first. `attempt` answers `None` to look again.
pub fn take_turns<T>(
    subjects: &[Subject],
    patience: &mut Patience,
    mut attempt: impl FnMut(&mut Turn) -> Option<T>,
) -> Option<T> {
    loop {
        if let Some(answer) = take_turn(subjects, patience, &mut attempt) {
            return Some(answer);
        }
        if !patience.pause() {
            return None;
        }
    }
}

/// One turn, if every lock can be had within the patience.
pub fn take_turn<T>(
    subjects: &[Subject],
    patience: &mut Patience,
    attempt: impl FnOnce(&mut Turn) -> Option<T>,
) -> Option<T> {
    let (locks, at_once) = take(subjects, patience)?;
    let mut turn = Turn { at_once, ..Turn::default() };
    let answer = attempt(&mut turn);
    turn.announce();
    if !turn.wrote {
        locks.into_iter().for_each(AdvisoryLock::release);
    }
    answer
}

/// All of the locks, within the patience, and whether they were had at once.
fn take(subjects: &[Subject], patience: &mut Patience) -> Option<(Vec<AdvisoryLock>, bool)> {
    let mut waiting: Option<Waiting> = None;
    let locks = loop {
        let missing = match try_take(subjects) {
            Ok(locks) => break Some((locks, waiting.is_none())),
            Err(missing) => missing,
        };
        if !waiting.as_ref().is_some_and(|waiting| waiting.is_for(missing)) {
            // And once more at once: who let it go meanwhile did not know of us.
            waiting.replace(Waiting::begin(missing)).into_iter().for_each(Waiting::end);
        } else if !patience.pause() {
            break None;
        }
    };
    waiting.into_iter().for_each(Waiting::end);
    locks
}

/// All of the locks that can be had now, or else the first that cannot.
fn try_take<'a>(subjects: &[Subject<'a>]) -> Result<Vec<AdvisoryLock>, Subject<'a>> {
    let mut locks = Vec::with_capacity(subjects.len());
    for subject in subjects {
        match AdvisoryLock::try_take(*subject) {
            Some(lock) => locks.push(lock),
            None => {
                locks.into_iter().for_each(AdvisoryLock::release);
                return Err(*subject);
            }
        }
    }
    Ok(locks)
}

/// How long a call may go on, and how long it sleeps between two attempts.
pub struct Patience {
    deadline: Monotonic,
    pause: Duration,
    longest_pause: Duration,
}

/// Who was woken finds what he waits for within moments, unless another was quicker.
const AFTER_WAKING: Duration = Duration::from_micros(50);

impl Patience {
    /// For a lock, which is held for as long as somebody's transaction lasts.
    pub fn for_lock() -> Self {
        Self::new(settings::lock_wait_ms(), 2, 50)
    }

    /// For a slot to become free.
    pub fn for_slot(wait_ms: i64) -> Self {
        Self::new(wait_ms, 10, 250)
    }

    fn new(ms: i64, pause_ms: u64, longest_pause_ms: u64) -> Self {
        Self {
            deadline: Monotonic::now() + Duration::from_millis(ms.max(0) as u64),
            pause: Duration::from_millis(pause_ms),
            longest_pause: Duration::from_millis(longest_pause_ms),
        }
    }

    /// Sleeps a little, longer each time, so that many who wait do not wake together, and
    /// not so long when somebody wakes us. False, without sleeping, when the time is up.
    pub fn pause(&mut self) -> bool {
        let left = self.deadline.saturating_duration_since(Monotonic::now());
        if left.is_zero() {
            return false;
        }
        let pause = self.pause.mul_f64(0.5 + fastrand::f64() / 2.0).min(left);
        self.pause = match clock::sleep(pause) {
            Slept::Through => (self.pause * 2).min(self.longest_pause),
            Slept::Woken => AFTER_WAKING,
        };
        true
    }
}
