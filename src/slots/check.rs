//! check_slot

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::{Claim, State, last_claim};
use crate::backend::clock;
use crate::backend::value::{AnyIdentifier, Json, literal};
use crate::input;
use crate::outcome::{Answer, Outcome};

/// Says whether a claim would succeed now, and if not, who has the slot. Never needed
/// before a claim: the claim itself decides.
///
/// Arguments:
///   slot_id   the slot
///
/// Outcomes: free (ok; also when a claim has expired that nobody has ended yet), absent
/// (ok; nobody ever claimed it, which is also what a misspelt name looks like), claimed,
/// booked, review; the last three with the claim's own holder and token, remaining_ms
/// while a lease runs, and hint: the call that would free the slot safely.
///
/// Raises 22004, 22023 or 42804 for bad input. Works on a standby, in a read-only
/// transaction and at every isolation level, as of the snapshot that it gets there.
///
/// Source: the lease's holder and remaining time, as lock services report them.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn check_slot(slot_id: Option<AnyIdentifier>) -> Result<Json, ErrorReport> {
    let slot_id = input::identifier("slot_id", slot_id)?;
    let last = last_claim(&slot_id);
    let answer = look(&slot_id, last);
    Ok(Json::from(&Answer { slot_id: Some(slot_id), ..answer }))
}

fn look(slot_id: &str, last: Option<Claim>) -> Answer {
    let now = clock::now();
    let free = |outcome, message| Answer { status: Some("free"), ..Answer::yes(outcome, message) };
    let Some(claim) = last else {
        return free(Outcome::Absent, "Nobody has ever claimed that slot.");
    };
    let (outcome, message) = match claim.state(now) {
        State::Expired => {
            return Answer {
                previous_holder: Some(claim.holder),
                ..free(Outcome::Free, "That slot is free; its last holder had let it expire.")
            };
        }
        State::Ended => return free(Outcome::Free, "That slot is free."),
        State::Running => (Outcome::Claimed, "That slot is claimed."),
        State::Booked => (Outcome::Booked, "That slot is booked."),
        State::InReview => (Outcome::Review, "That slot is blocked until somebody has checked it."),
    };
    let free_by = |call: &str, rest: &str| {
        let (slot, holder) = (literal(slot_id), literal(&claim.holder));
        Some(format!("SELECT {call}({slot}, {holder}, {}{rest})", claim.token))
    };
    Answer {
        holder: Some(claim.holder.clone()),
        remaining_ms: claim
            .expires_at
            .filter(|_| outcome == Outcome::Claimed)
            .map(|end| end.ms_since(now)),
        on_expiry: Some(claim.on_expiry).filter(|_| outcome == Outcome::Claimed),
        hint: match outcome {
            Outcome::Claimed => free_by("release_slot", ""),
            Outcome::Booked => free_by("cancel_slot", ""),
            _ => free_by("resolve_slot", ", 'released'"),
        },
        ..claim.tell(Answer::no(outcome, message), now)
    }
}
