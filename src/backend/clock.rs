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

/// Sleeps, and answers statement_timeout, a cancel and the end of the backend at once.
pub fn sleep(pause: Duration) {
    let end = std::time::Instant::now() + pause;
    loop {
        let left = end.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return;
        }
        // SAFETY: MyLatch is this backend's own latch, set up before any function runs.
        unsafe {
            pg_sys::WaitLatch(
                pg_sys::MyLatch,
                (pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH) as _,
                left.as_millis().max(1) as _,
                pg_sys::PG_WAIT_EXTENSION,
            );
            pg_sys::ResetLatch(pg_sys::MyLatch);
        }
        check_for_interrupts!();
    }
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
