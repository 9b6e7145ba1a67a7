//! holds_slot, require_slot: the fence for a user's own statement.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::settle::Call;
use super::{CLAIMS, State, Status, own_claim};
use crate::backend::clock;
use crate::backend::statement::Row;
use crate::backend::table::Unfit;
use crate::backend::value::{AnyIdentifier, Instant};
use crate::error::Refusal;
use crate::outcome::Outcome;
use crate::statement;
use crate::turn::Patience;

/// Whether the holder has the claim now, and keeps it to the end of this transaction:
/// INSERT INTO bookings SELECT … WHERE holds_slot(…) writes only while the lease runs.
///
/// Arguments:
///   slot_id, holder, token   as claim_slot answered them; without a token it is the
///                            holder's one open claim of the slot
///
/// Returns true while the claim is unconfirmed and its lease runs; then nobody takes the
/// slot over before this transaction ends, and if it confirms the claim, never. False
/// otherwise: a booked claim is not held any more, so a second run inserts nothing. Also
/// false when another transaction fences the same claim for longer than
/// pg_claims.lock_wait.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: fencing tokens, checked by the resource itself, as in Chubby.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn holds_slot(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    token: default!(Option<i64>, "NULL"),
) -> Result<bool, ErrorReport> {
    let call = Call::new("holds_slot", slot_id, holder, token)?;
    Ok(call.stand().is_ok())
}

/// As holds_slot, but raises instead of answering false: for a transaction that must not
/// go on without its claim.
///
/// Arguments:
///   slot_id, holder, token   as claim_slot answered them; without a token it is the
///                            holder's one open claim of the slot
///
/// Returns true, always.
///
/// Raises 55000 when the claim is not held, with a DETAIL that says what became of it;
/// otherwise as holds_slot.
///
/// Source: fencing tokens, checked by the resource itself, as in Chubby.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn require_slot(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    token: default!(Option<i64>, "NULL"),
) -> Result<bool, ErrorReport> {
    let call = Call::new("require_slot", slot_id, holder, token)?;
    call.stand().map_err(|(detail, hint)| Refusal::NotHeld {
        slot_id: call.slot_id.clone(),
        holder: call.holder.clone(),
        detail,
        hint,
    })?;
    Ok(true)
}

statement! {
    /// Takes the row for the transaction, without waiting: a takeover, which must first
    /// end this very row, answers busy until then.
    FENCE =
        "SELECT expires_at FROM claims.slot_claims
         WHERE slot_id = $1 AND token = $2 AND holder = $3 AND status = 'claimed'
         FOR NO KEY UPDATE SKIP LOCKED";
}

impl Call {
    /// Holds the claim for this transaction, or says why not and what to do.
    fn stand(&self) -> Result<(), (&'static str, &'static str)> {
        const CLAIM_AGAIN: &str = "Stop this run, or claim the slot again before going on.";
        const OVER: (&str, &str) = ("The lease is over.", CLAIM_AGAIN);
        let mut patience = Patience::for_lock();
        loop {
            let claim =
                own_claim(&self.slot_id, &self.holder, self.token).map_err(
                    |answer| match answer.outcome {
                        Outcome::Ambiguous => (
                            "The holder has several claims of this slot.",
                            "Say which one by its token.",
                        ),
                        _ => ("The holder has no such claim of this slot.", CLAIM_AGAIN),
                    },
                )?;
            match claim.state(clock::now()) {
                State::Running => {}
                State::Expired => return Err(OVER),
                State::Ended => return Err(("The claim has ended.", CLAIM_AGAIN)),
                State::InReview => {
                    return Err((
                        "The lease is over and the claim is in review.",
                        "Look whether the booking happened, then call resolve_slot.",
                    ));
                }
                State::Booked => {
                    return Err((
                        "The claim is confirmed already: the slot is booked.",
                        "Stop this run: an earlier one has done its work.",
                    ));
                }
            }
            // The clock after the lock: a lease can run out while the row is waited for.
            match self.lock_row(claim.token) {
                Some(expires_at) if expires_at > clock::now() => return Ok(()),
                Some(_) => return Err(OVER),
                None if patience.pause() => {}
                None => {
                    return Err((
                        "Another transaction is at work on the claim.",
                        "Try again when that transaction has ended.",
                    ));
                }
            }
        }
    }

    fn lock_row(&self, token: i64) -> Option<Instant> {
        let args = [self.slot_id.as_str().into(), token.into(), self.holder.as_str().into()];
        let expires_at = |row: &Row| match Status::from_word(row.must(3)) {
            Status::Claimed if row.must::<&str>(2) == self.holder => row.get(5),
            _ => None,
        };
        match CLAIMS.with(|claims| claims.hold(&args[..2], expires_at)) {
            Ok(held) => held.flatten(),
            Err(Unfit) => FENCE.with(|fence| fence.first(&args, |row| row.must(1))),
        }
    }
}
