//! claim_slot

use pgrx::datum::Interval;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::{Claim, OnExpiry, State, Status, append, claim_columns, end_expired, last_claim};
use crate::backend::clock;
use crate::backend::lock::Subject;
use crate::backend::value::{AnyIdentifier, Instant, Json};
use crate::input;
use crate::keys;
use crate::outcome::{Answer, Outcome};
use crate::statement;
use crate::turn::{Patience, Turn, take_turn};

/// Claims a slot: of any number of simultaneous callers exactly one is told to go on.
///
/// Arguments:
///   slot_id    what is claimed: a text, a whole number or a uuid
///   holder     who claims, best 'workflow:execution'; pass the answer's holder and token on
///   ttl        the lease, from 1 ms to pg_claims.max_ttl; NULL: pg_claims.default_ttl
///   wait       how long to wait inside the call while another's lease runs, at most 60 s;
///              a booked slot or one in review is answered at once
///   on_expiry  'release': when the lease runs out, the slot is free again;
///              'review': it stays blocked until resolve_slot says what really happened
///   note       anything you want to find in claims.history
///   call_id    names this very call: repeated by the same holder while its lease runs,
///              it gets the first answer again, with replayed: true
///   after      another answer of pg_claims: go on only if its ok is true; it comes back
///              inside this answer. With after => begin_key(…), a claim that is refused
///              sets the key that was begun to failed (key_status), so that it can run
///              again
///
/// Outcomes: claimed (ok), reclaimed (ok; an expired claim was taken over), taken,
/// already_yours, busy, not_reached.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: leases, Gray and Cheriton 1989; fencing tokens, as in Chubby.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
#[allow(clippy::too_many_arguments)]
fn claim_slot(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    ttl: default!(Option<Interval>, "NULL"),
    wait: default!(Option<Interval>, "'0'"),
    on_expiry: default!(Option<&str>, "'release'"),
    note: default!(Option<Json>, "NULL"),
    call_id: default!(Option<String>, "NULL"),
    after: default!(Option<Json>, "'{\"ok\": true}'"),
) -> Result<Json, ErrorReport> {
    let wanted = Wanted {
        slot_id: input::identifier("slot_id", slot_id)?,
        holder: input::name("holder", holder)?,
        ttl_ms: input::ttl_ms(ttl)?,
        on_expiry: input::word("on_expiry", on_expiry, &OnExpiry::WORDS)?,
        note: input::json("note", note)?,
        call_id: input::optional_name("call_id", call_id)?,
    };
    let wait_ms = input::wait_ms(wait)?;
    let after = input::after(after)?;
    input::writable("claim_slot")?;
    let answer = if after.ok { wanted.claim(wait_ms) } else { Answer::not_reached() };
    // A pending key says that something may have happened. Nothing has: it can run again.
    let key_status = match after.begun {
        Some(begun) if !answer.ok => keys::give_up(&begun),
        _ => None,
    };
    Ok(Json::from(&Answer {
        slot_id: Some(wanted.slot_id),
        holder: Some(wanted.holder),
        key_status,
        after: after.answer,
        ..answer
    }))
}

/// A claim that somebody would like to have.
struct Wanted {
    slot_id: String,
    holder: String,
    ttl_ms: i64,
    on_expiry: OnExpiry,
    note: Option<Json>,
    call_id: Option<String>,
}

impl Wanted {
    fn claim(&self, wait_ms: i64) -> Answer {
        let mut for_lock = Patience::for_lock();
        let mut for_slot = Patience::for_slot(wait_ms);
        loop {
            let refused = self
                .look(last_claim(&self.slot_id).as_ref(), clock::now())
                .or_else(|| take_turn(Subject::Slot(&self.slot_id), |turn| self.attempt(turn)));
            match refused {
                // Only a running lease can end by itself.
                Some(answer)
                    if answer.outcome == Outcome::Taken
                        && answer.status == Some(Status::Claimed.word()) =>
                {
                    if !for_slot.pause() {
                        return answer;
                    }
                }
                Some(answer) => return answer,
                None => {
                    if !for_lock.pause() && !for_slot.pause() {
                        return Answer::busy();
                    }
                }
            }
        }
    }

    /// Under the lock: a fresh look, the clock, the write.
    fn attempt(&self, turn: &mut Turn) -> Option<Answer> {
        let last = last_claim(&self.slot_id);
        let now = clock::now();
        if let Some(answer) = self.look(last.as_ref(), now) {
            return Some(answer);
        }
        let expired = last.as_ref().filter(|last| last.state(now) == State::Expired);
        if let Some(expired) = expired
            && !end_expired(turn, &self.slot_id, expired, now, &self.holder)
        {
            return None;
        }
        let claim = self.claim_at(last.as_ref().map_or(1, |last| last.token + 1), now);
        append(turn, &self.slot_id, &claim)
            .then(|| self.won(&claim, expired.map(|lost| &*lost.holder), now))
    }

    /// The answer that needs no write, if there is one.
    fn look(&self, last: Option<&Claim>, now: Instant) -> Option<Answer> {
        let last = last.filter(|last| last.blocks(now))?;
        Some(if last.holder != self.holder {
            taken(last, now)
        } else if self.call_id.is_some()
            && self.call_id == last.call_id
            && last.state(now) == State::Running
        {
            let previous = previous_holder(&self.slot_id, last);
            Answer { replayed: Some(true), ..self.won(last, previous.as_deref(), now) }
        } else {
            last.tell(
                Answer::no(
                    Outcome::AlreadyYours,
                    "You already have this slot from an earlier call.",
                ),
                now,
            )
        })
    }

    fn claim_at(&self, token: i64, now: Instant) -> Claim {
        Claim {
            token,
            holder: self.holder.clone(),
            status: Status::Claimed,
            claimed_at: now,
            expires_at: Some(now.plus_ms(self.ttl_ms)),
            on_expiry: self.on_expiry,
            ended_at: None,
            ended_by: None,
            reason: None,
            origin: None,
            call_id: self.call_id.clone(),
            note: self.note.clone(),
            result: None,
        }
    }

    fn won(&self, claim: &Claim, previous_holder: Option<&str>, now: Instant) -> Answer {
        let answer = match previous_holder {
            None => Answer::yes(Outcome::Claimed, "The slot is yours until the lease ends."),
            Some(_) => Answer::yes(
                Outcome::Reclaimed,
                "The slot is yours until the lease ends; its last holder had let it expire.",
            ),
        };
        Answer {
            ttl_ms: claim.expires_at.map(|end| end.ms_since(claim.claimed_at)),
            on_expiry: Some(claim.on_expiry),
            previous_holder: previous_holder.map(str::to_owned),
            ..claim.tell(answer, now)
        }
    }
}

fn taken(by: &Claim, now: Instant) -> Answer {
    let status = by.told_status(now);
    Answer {
        status: Some(status.word()),
        held_by: Some(by.holder.clone()),
        claimed_at: Some(by.claimed_at),
        expires_at: by.expires_at.filter(|_| status == Status::Claimed),
        retry_after_ms: by
            .expires_at
            .filter(|_| status == Status::Claimed)
            .map(|end| end.ms_since(now)),
        ..Answer::no(
            Outcome::Taken,
            match status {
                Status::Booked => "That slot is booked.",
                Status::Review => "That slot is blocked until somebody has checked it.",
                _ => "That slot was just taken.",
            },
        )
    }
}

statement! {
    /// A takeover ends the expired claim at the very instant at which its own begins.
    READ_TAKEN_OVER = concat!(
        "SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 AND token = $2 - 1
           AND status = 'expired' AND ended_at = $3 AND ended_by = $4");
}

/// Whom the claim was taken over from, for telling its first answer again.
fn previous_holder(slot_id: &str, claim: &Claim) -> Option<String> {
    let args =
        [slot_id.into(), claim.token.into(), claim.claimed_at.into(), claim.holder.as_str().into()];
    READ_TAKEN_OVER.with(|read| read.first(&args, Claim::read)).map(|previous| previous.holder)
}
