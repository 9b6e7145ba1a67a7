//! The database's clock, sleeping outside every lock, and what the transaction allows.

use std::time::Duration;

use pgrx::{check_for_interrupts, pg_sys};

use super::value::Instant;

/// The clock of the database server, now. Never `now()`, which is the transaction's
/// start, and never the client's.
pub fn now() -> Instant {
    // SAFETY: reads the system's clock and nothing else.
    Instant(unsafe { pg_sys::GetCurrentTimestamp() })
}

/// How a sleep ended.
pub enum Slept {
    Through,
    Woken,
}

/// Sleeps until the pause is over or somebody sets this backend's latch, and answers
/// statement_timeout, a cancel and the end of the backend at once.
pub fn sleep(pause: Duration) -> Slept {
    // A latch is waited for by the millisecond.
    if pause < Duration::from_millis(1) {
        // SAFETY: sleeps, and nothing else.
        unsafe { pg_sys::pg_usleep(pause.as_micros() as _) };
        check_for_interrupts!();
        return Slept::Through;
    }
    // SAFETY: MyLatch is this backend's own latch, set up before any function runs.
    let events = unsafe {
        let events = pg_sys::WaitLatch(
            pg_sys::MyLatch,
            (pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH) as _,
            pause.as_millis() as _,
            pg_sys::PG_WAIT_EXTENSION,
        );
        pg_sys::ResetLatch(pg_sys::MyLatch);
        events as u32
    };
    check_for_interrupts!();
    if events & pg_sys::WL_LATCH_SET != 0 { Slept::Woken } else { Slept::Through }
}

/// Whether the transaction's snapshot is its own for good (REPEATABLE READ and above).
pub fn has_fixed_snapshot() -> bool {
    // SAFETY: a plain variable of this backend.
    unsafe { pg_sys::XactIsoLevel > pg_sys::XACT_READ_COMMITTED as i32 }
}

/// Whether this transaction, or this server as a standby, cannot write.
pub fn is_read_only() -> bool {
    // SAFETY: a plain variable of this backend, and a check of shared memory.
    unsafe { pg_sys::XactReadOnly || pg_sys::RecoveryInProgress() }
}
