//! move_period

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::claim::taken;
use super::extent::{Extent, Period};
use super::pool;
use super::room::{Obstacle, Room};
use super::settle::Call;
use super::{Change, Claim, State, Status, append, change, lost};
use crate::backend::value::{AnyIdentifier, Instant, Reply};
use crate::error::Refusal;
use crate::input;
use crate::outcome::{Answer, Outcome};
use crate::turn::Turn;

/// Moves a claim or a booking to another period, in one step: the old one ends and the
/// new one has its status and its lease. It may overlap its old self. The old token goes
/// on meaning it.
///
/// Arguments:
///   slot_id, holder, token   as claim_period answered them; with a NULL token it is the
///                            holder's one open claim of the slot
///   starts_at, ends_at       the new period, as for claim_period
///
/// Outcomes: moved (ok; with the new token), taken (with the conflicting period),
/// insufficient (of a pool), expired, review, lost, not_holder, ambiguous, busy.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: rescheduling, as calendars know it, made one transaction.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn move_period(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    token: Option<i64>,
    starts_at: Option<String>,
    ends_at: Option<String>,
) -> Result<Reply, ErrorReport> {
    let call = Call::new("move_period", slot_id, holder, token)?;
    let period = input::period(starts_at, ends_at)?;
    if let Some(token) = call.whole_claim() {
        return Err(Refusal::NoPeriod { slot_id: call.slot_id, token }.into());
    }
    Ok(call.settle(|call, turn, claim, now| {
        let no = |outcome, message| Some(claim.tell(Answer::no(outcome, message), now));
        match claim.state(now) {
            State::Running | State::Booked => move_to(call, turn, claim, period, now),
            State::Expired => no(Outcome::Expired, "The lease is over; claim the slot again."),
            State::InReview => {
                no(Outcome::Review, "The slot is blocked until somebody has checked it.")
            }
            State::Ended => match call.winner(claim.extent, now) {
                Some(winner) => Some(lost(&winner, &call.holder, now)),
                None => no(Outcome::Expired, "That claim is over; claim the slot again."),
            },
        }
    }))
}

fn move_to(
    call: &Call,
    turn: &mut Turn,
    claim: &Claim,
    period: Period,
    now: Instant,
) -> Option<Answer> {
    let extent = Extent { period: Some(period), ..claim.extent };
    let room = Room::hold(&call.slot_id, extent)?;
    let now = now.max(room.as_of);
    match room.obstacle(Some(claim.token), now) {
        Some(Obstacle::Claim(by)) => return Some(taken(&by, now)),
        Some(Obstacle::Units { available, capacity }) => {
            return Some(pool::insufficient(available, capacity));
        }
        None => {}
    }
    let end = Change::end(Status::Moved, now, &call.holder);
    change(turn, &call.slot_id, claim, &end)?;
    let moved = room
        .clear(turn, &call.slot_id, Some(claim.token), &call.holder, now)
        .map(|(token, _)| Claim {
            token,
            extent,
            claimed_at: now,
            origin: Some(claim.origin.unwrap_or(claim.token)),
            ..claim.clone()
        })
        .filter(|moved| append(turn, &call.slot_id, moved));
    Some(match moved {
        Some(moved) => moved.tell(Answer::yes(Outcome::Moved, "The claim is moved."), now),
        None => {
            // What was written keeps its locks, and nobody sleeps with those.
            turn.undo();
            Answer::busy()
        }
    })
}
