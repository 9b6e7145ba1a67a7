//! confirm_slot, release_slot, extend_slot, cancel_slot, resolve_slot: what becomes of a
//! claim.
//!
//! All find the claim in one way and take their turns in one way ([`Call`]); each then is
//! one `match` over the state that the claim is in.

use pgrx::datum::Interval;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::extent::Extent;
use super::pool;
use super::room::{self, Obstacle, Room};
use super::{Change, Claim, State, Status, append, change, family, lost, own_claim};
use crate::backend::clock;
use crate::backend::lock::Subject;
use crate::backend::value::{AnyIdentifier, Instant, Json, Reply};
use crate::error::Refusal;
use crate::input;
#[cfg(feature = "mutant")]
use crate::mutant::{Part, leaves_out};
use crate::outcome::{Answer, Outcome};
use crate::turn::{Patience, Turn, take_turns};

/// Confirms that what the claim was for has happened: the slot is booked.
///
/// Arguments:
///   slot_id, holder, token   as claim_slot answered them; without a token it is the
///                            holder's one open claim of the slot
///   result                   what to keep with the booking, such as the calendar's id
///
/// Outcomes: confirmed (ok), already_confirmed (ok), confirmed_late (ok; the lease was
/// over or the claim had ended, and nobody else had taken the slot), lost (lost_to has
/// it now: apologise or refund), cancelled, insufficient (late, and the pool has no room),
/// not_holder, ambiguous (several open claims: name the token), busy.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: fencing tokens, as in Chubby; the late confirm answers the calendar call that
/// succeeds after its lease.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn confirm_slot(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    token: default!(Option<i64>, "NULL"),
    result: default!(Option<Json>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let call = Call::new("confirm_slot", slot_id, holder, token)?;
    let result = input::json("result", result)?;
    Ok(call.settle(|call, turn, claim, now| confirm(call, turn, claim, now, result.as_ref())))
}

pub fn confirm(
    call: &Call,
    turn: &mut Turn,
    claim: &Claim,
    now: Instant,
    result: Option<&Json>,
) -> Option<Answer> {
    if let Some(insufficient) = call.is_too_late(claim, now)? {
        return Some(insufficient);
    }
    let (outcome, message) = match claim.state(now) {
        State::Running => (Outcome::Confirmed, "The slot is booked."),
        State::Expired | State::InReview => (Outcome::ConfirmedLate, CONFIRMED_LATE),
        State::Booked => {
            let message = "The slot was booked already.";
            return Some(claim.tell(Answer::yes(Outcome::AlreadyConfirmed, message), now));
        }
        State::Ended if claim.status == Status::Cancelled => {
            let message = "That booking has been cancelled.";
            return Some(claim.tell(Answer::no(Outcome::Cancelled, message), now));
        }
        State::Ended => {
            return call.reopen(turn, claim, now, Status::Booked, |late| {
                late.result = result.cloned();
                Answer::yes(Outcome::ConfirmedLate, CONFIRMED_LATE)
            });
        }
    };
    let to = Change { result, ..Change::to(Status::Booked) };
    Some(change(turn, &call.slot_id, claim, &to)?.tell(Answer::yes(outcome, message), now))
}

const CONFIRMED_LATE: &str =
    "The slot is booked, although the claim was over: nobody else had taken it.";

/// Gives a claim back, or puts it in doubt.
///
/// Arguments:
///   slot_id, holder, token   as claim_slot answered them; without a token it is the
///                            holder's one open claim of the slot
///   reason                   kept in claims.history
///   in_doubt                 true when the booking may have happened all the same (a
///                            timeout proves nothing): the slot stays blocked, in review,
///                            until resolve_slot says what really happened
///
/// Outcomes: released (ok), already_released (ok), review (ok; in doubt, or it was in
/// review and stays there), booked (use cancel_slot), lost, insufficient (late and in
/// doubt, and the pool has no room), not_holder, ambiguous, busy.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: releasing a lease by its fencing token, so that a late release never frees
/// the next holder's.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn release_slot(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    token: default!(Option<i64>, "NULL"),
    reason: default!(Option<String>, "NULL"),
    in_doubt: default!(Option<bool>, "false"),
) -> Result<Reply, ErrorReport> {
    let call = Call::new("release_slot", slot_id, holder, token)?;
    let reason = input::reason(reason);
    let in_doubt = input::flag("in_doubt", in_doubt)?;
    Ok(call.settle(|call, turn, claim, now| {
        release(call, turn, claim, now, reason.as_deref(), in_doubt)
    }))
}

pub fn release(
    call: &Call,
    turn: &mut Turn,
    claim: &Claim,
    now: Instant,
    reason: Option<&str>,
    in_doubt: bool,
) -> Option<Answer> {
    let review =
        || Answer::yes(Outcome::Review, "The slot stays blocked until somebody has checked it.");
    let gone = || Answer::yes(Outcome::AlreadyReleased, "The slot was given back already.");
    if in_doubt && let Some(insufficient) = call.is_too_late(claim, now)? {
        return Some(insufficient);
    }
    match claim.state(now) {
        State::Running | State::Expired if !in_doubt => {
            let end = Change::end(Status::Released, now, &call.holder);
            let ended = change(turn, &call.slot_id, claim, &Change { reason, ..end })?;
            Some(ended.tell(Answer::yes(Outcome::Released, "The slot is free again."), now))
        }
        State::InReview if claim.status == Status::Review => Some(claim.tell(review(), now)),
        // In a review the expiry says since when: the lease is over as of now.
        State::Running | State::Expired | State::InReview => {
            let expires_at = claim.expires_at.map(|end| end.min(now));
            let to = Change { expires_at, reason, ..Change::to(Status::Review) };
            Some(change(turn, &call.slot_id, claim, &to)?.tell(review(), now))
        }
        State::Booked => {
            let message = "The slot is booked; cancel_slot gives it back.";
            Some(claim.tell(Answer::no(Outcome::Booked, message), now))
        }
        State::Ended if claim.status != Status::Expired => Some(claim.tell(gone(), now)),
        // That a lease ran out is no evidence of what happened, whether or not the reaper
        // has been there: in doubt, the slot is blocked again.
        State::Ended if in_doubt => call.reopen(turn, claim, now, Status::Review, |late| {
            late.expires_at = Some(now);
            late.reason = reason.map(str::to_owned);
            review()
        }),
        State::Ended => Some(match call.winner(claim.extent, now) {
            Some(winner) => lost(&winner, &call.holder, now),
            None => claim.tell(gone(), now),
        }),
    }
}

/// Makes a running lease longer: the heartbeat of work that takes its time.
///
/// Arguments:
///   slot_id, holder, token   as claim_slot answered them; without a token it is the
///                            holder's one open claim of the slot
///   ttl                      the lease from now on, from 1 ms to pg_claims.max_ttl; it
///                            never makes a lease shorter; NULL: pg_claims.default_ttl
///
/// Outcomes: extended (ok), expired (reaped or not: claim again), lost, booked, review,
/// not_holder, ambiguous, busy.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: leases, Gray and Cheriton 1989.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn extend_slot(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    token: default!(Option<i64>, "NULL"),
    ttl: default!(Option<Interval>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let call = Call::new("extend_slot", slot_id, holder, token)?;
    let ttl_ms = input::ttl_ms(ttl)?;
    Ok(call.settle(|call, turn, claim, now| {
        let expired = || Answer::no(Outcome::Expired, "That claim is over; claim the slot again.");
        Some(match claim.state(now) {
            State::Running => {
                let expires_at = claim.expires_at.max(Some(now.plus_ms(ttl_ms)));
                let extended = change(
                    turn,
                    &call.slot_id,
                    claim,
                    &Change { expires_at, ..Change::to(Status::Claimed) },
                )?;
                Answer {
                    ttl_ms: Some(ttl_ms),
                    remaining_ms: expires_at.map(|end| end.ms_since(now)),
                    ..extended.tell(Answer::yes(Outcome::Extended, "The lease goes on."), now)
                }
            }
            State::Expired => claim.tell(expired(), now),
            State::InReview => claim.tell(
                Answer::no(
                    Outcome::Review,
                    "The lease is over, and the slot is blocked until somebody has checked it.",
                ),
                now,
            ),
            State::Booked => claim.tell(
                Answer::no(Outcome::Booked, "The slot is booked; there is no lease to extend."),
                now,
            ),
            State::Ended => match call.winner(claim.extent, now) {
                Some(winner) => lost(&winner, &call.holder, now),
                None => claim.tell(expired(), now),
            },
        })
    }))
}

/// Cancels a booking: the slot is free again. Anybody with access may cancel; the token
/// decides which booking is meant, so a repeated cancel never hits the next customer.
///
/// Arguments:
///   slot_id   the slot
///   holder    who cancels; recorded as ended_by
///   token     the booking's token, mandatory
///   reason    kept in claims.history
///
/// Outcomes: cancelled (ok), already_cancelled (ok), not_booked (release_slot or
/// resolve_slot is the call), lost (that booking is over, and somebody else has the
/// slot), free (that booking is over, and nobody has it), busy.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: fencing tokens, as in Chubby.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn cancel_slot(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    token: Option<i64>,
    reason: default!(Option<String>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let token = token.ok_or(Refusal::Null {
        argument: "token",
        hint: "Pass the token that the booking's claim answered; check_slot tells it too.",
    })?;
    let call = Call::new("cancel_slot", slot_id, holder, Some(token))?;
    let reason = input::reason(reason);
    Ok(call.take_turns(|call, turn| {
        let claim = family(&call.slot_id, token);
        let now = clock::now();
        let Some(claim) = claim else { return Some(call.over(None, now)) };
        Some(match claim.state(now) {
            State::Booked => {
                let end = Change::end(Status::Cancelled, now, &call.holder);
                let cancelled = change(
                    turn,
                    &call.slot_id,
                    &claim,
                    &Change { reason: reason.as_deref(), ..end },
                )?;
                Answer {
                    previous_holder: Some(claim.holder.clone()),
                    ..cancelled
                        .tell(Answer::yes(Outcome::Cancelled, "The booking is cancelled."), now)
                }
            }
            State::Ended if claim.status == Status::Cancelled => Answer {
                previous_holder: Some(claim.holder.clone()),
                ..claim.tell(
                    Answer::yes(Outcome::AlreadyCancelled, "The booking was cancelled already."),
                    now,
                )
            },
            State::Ended | State::Expired => call.over(Some(&claim), now),
            State::Running | State::InReview => claim.tell(
                Answer::no(
                    Outcome::NotBooked,
                    "That claim is not booked, so there is nothing to cancel.",
                ),
                now,
            ),
        })
    }))
}

/// Decides a claim in review: what the real calendar says becomes what the table says.
///
/// Arguments:
///   slot_id, holder, token   as claims.needs_check lists them
///   verdict                  'booked' or 'released'
///   evidence                 what was seen; kept as the claim's result
///
/// Outcomes: booked (ok), released (ok), not_in_review, lost, not_holder, ambiguous,
/// busy.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: in-doubt transactions of two-phase commit: only evidence resolves them.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn resolve_slot(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    token: Option<i64>,
    verdict: Option<&str>,
    evidence: default!(Option<Json>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let call = Call::new("resolve_slot", slot_id, holder, token)?;
    let evidence = input::json("evidence", evidence)?;
    let verdict = input::word(
        "verdict",
        verdict,
        &[("booked", Status::Booked), ("released", Status::Released)],
    )?;
    Ok(call.settle(|call, turn, claim, now| {
        let not_in_review =
            || claim.tell(Answer::no(Outcome::NotInReview, "That claim is not in review."), now);
        Some(match (claim.state(now), verdict) {
            (State::InReview, Status::Booked) => {
                let to = Change { result: evidence.as_ref(), ..Change::to(Status::Booked) };
                change(turn, &call.slot_id, claim, &to)?.tell(
                    Answer::yes(Outcome::Booked, "The booking had happened: the slot is booked."),
                    now,
                )
            }
            (State::InReview, _) => {
                let end = Change::end(Status::Released, now, &call.holder);
                change(turn, &call.slot_id, claim, &Change { result: evidence.as_ref(), ..end })?
                    .tell(
                        Answer::yes(
                            Outcome::Released,
                            "The booking had not happened: the slot is free again.",
                        ),
                        now,
                    )
            }
            (State::Ended, _) => match call.winner(claim.extent, now) {
                Some(winner) => lost(&winner, &call.holder, now),
                None => not_in_review(),
            },
            _ => not_in_review(),
        })
    }))
}

/// A call that settles a claim.
pub struct Call {
    pub slot_id: String,
    pub holder: String,
    pub token: Option<i64>,
}

impl Call {
    pub fn new(
        function: &'static str,
        slot_id: Option<AnyIdentifier>,
        holder: Option<String>,
        token: Option<i64>,
    ) -> Result<Self, Refusal> {
        let slot_id = input::identifier("slot_id", slot_id)?;
        let holder = input::name("holder", holder)?;
        input::writable(function)?;
        Ok(Self { slot_id, holder, token })
    }

    /// Finds the caller's claim and lets `decide` settle it, in as many turns as it takes.
    pub fn settle(
        self,
        decide: impl Fn(&Self, &mut Turn, &Claim, Instant) -> Option<Answer>,
    ) -> Reply {
        self.take_turns(|call, turn| call.turn(turn, &decide))
    }

    /// One turn. `None` when the claim is no longer as it was read.
    pub fn turn(
        &self,
        turn: &mut Turn,
        decide: impl Fn(&Self, &mut Turn, &Claim, Instant) -> Option<Answer>,
    ) -> Option<Answer> {
        match own_claim(&self.slot_id, &self.holder, self.token) {
            // The clock after the read: a claim that was read as running may be over by
            // now, never the reverse.
            Ok(claim) => decide(self, turn, &claim, clock::now()),
            Err(answer) => Some(*answer),
        }
    }

    fn take_turns(self, attempt: impl Fn(&Self, &mut Turn) -> Option<Answer>) -> Reply {
        let mut patience = Patience::for_lock();
        let answer =
            take_turns(&[Subject::Slot(&self.slot_id)], &mut patience, |turn| attempt(&self, turn));
        Reply::from(&Answer {
            slot_id: Some(self.slot_id),
            holder: Some(self.holder),
            ..answer.unwrap_or_else(Answer::busy)
        })
    }

    /// The token of the claim that is meant, if that is not of a period.
    pub fn whole_claim(&self) -> Option<i64> {
        let claim = own_claim(&self.slot_id, &self.holder, self.token).ok()?;
        claim.extent.period.is_none().then_some(claim.token)
    }

    /// Whoever has now what the caller's own claim, which has ended, took up.
    pub fn winner(&self, extent: Extent, now: Instant) -> Option<Claim> {
        match Room::read(&self.slot_id, extent).obstacle(None, now) {
            Some(Obstacle::Claim(claim)) => Some(*claim),
            _ => None,
        }
    }

    /// Of a pool there may be fewer units by now than an expired claim of it would keep,
    /// whether or not anybody has ended it. `None`: look again.
    fn is_too_late(&self, claim: &Claim, now: Instant) -> Option<Option<Answer>> {
        if claim.state(now) != State::Expired || claim.extent.units.is_none() {
            return Some(None);
        }
        let room = Room::hold(&self.slot_id, claim.extent)?;
        Some(match room.obstacle(Some(claim.token), now) {
            Some(Obstacle::Units { available, capacity }) => {
                Some(pool::insufficient(available, capacity))
            }
            _ => None,
        })
    }

    /// A claim that has ended becomes active once more, if there is room: a new row is
    /// appended, whose origin is the token that the caller knows.
    fn reopen(
        &self,
        turn: &mut Turn,
        ended: &Claim,
        now: Instant,
        status: Status,
        fill_in: impl FnOnce(&mut Claim) -> Answer,
    ) -> Option<Answer> {
        let room = Room::hold(&self.slot_id, ended.extent)?;
        let now = now.max(room.as_of);
        match room.obstacle(None, now) {
            Some(Obstacle::Claim(winner)) => return Some(lost(&winner, &self.holder, now)),
            Some(Obstacle::Units { available, capacity }) => {
                return Some(pool::insufficient(available, capacity));
            }
            None => {}
        }
        let (token, _) = room.clear(turn, &self.slot_id, None, &self.holder, now)?;
        let mut late = Claim {
            token,
            status,
            claimed_at: now,
            expires_at: None,
            ended_at: None,
            ended_by: None,
            reason: None,
            result: None,
            origin: Some(ended.origin.unwrap_or(ended.token)),
            ..ended.clone()
        };
        #[cfg(feature = "mutant")]
        if leaves_out(Part::LateOrigin) {
            late.origin = None;
        }
        let answer = fill_in(&mut late);
        if append(turn, &self.slot_id, &late) {
            return Some(late.tell(answer, now));
        }
        room::fits(&self.slot_id, ended.extent).err().map(|_| {
            Answer::no(
                Outcome::Insufficient,
                "The slot has become a pool, of which only units can be had.",
            )
        })
    }

    /// The booking that was to be cancelled is over, or never was.
    fn over(&self, claim: Option<&Claim>, now: Instant) -> Answer {
        match self.winner(claim.map_or(Extent::WHOLE, |claim| claim.extent), now) {
            Some(winner) => lost(&winner, &self.holder, now),
            None => {
                let free = Answer::no(Outcome::Free, "There is no such booking; the slot is free.");
                match claim {
                    Some(claim) => claim.tell(free, now),
                    None => free,
                }
            }
        }
    }
}
