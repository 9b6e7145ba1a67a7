//! check_slot, check_period, free_periods: what a claim would find.

use pgrx::datum::Interval;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::extent::{Extent, Period};
use super::pool;
use super::room::{Obstacle, Room};
use super::{Claim, State};
use crate::backend::clock;
use crate::backend::value::{AnyIdentifier, Instant, Reply, literal};
use crate::error::Refusal;
use crate::input;
use crate::outcome::{Answer, FreePeriod, Outcome};

/// Says whether a claim would succeed now, and if not, who has the slot. Never needed
/// before a claim: the claim itself decides.
///
/// Arguments:
///   slot_id   the slot; of a pool it is one unit that is asked about
///
/// Outcomes: free (ok; also when a claim has expired that nobody has ended yet), absent
/// (ok; nobody ever claimed it, which is also what a misspelt name looks like), claimed,
/// booked, review; the last three with the claim's own holder and token, remaining_ms
/// while a lease runs, and hint: the call that would free the slot safely. Of a pool:
/// free or insufficient, with available and capacity.
///
/// Raises 22004, 22023 or 42804 for bad input. Works on a standby, in a read-only
/// transaction and at every isolation level, as of the snapshot that it gets there.
///
/// Source: the lease's holder and remaining time, as lock services report them.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn check_slot(slot_id: Option<AnyIdentifier>) -> Result<Reply, ErrorReport> {
    let slot_id = input::identifier("slot_id", slot_id)?;
    let answer = if pool::read(&slot_id).is_some() {
        check(&slot_id, Extent { period: None, units: Some(1) })
    } else {
        let room = Room::read(&slot_id, Extent::WHOLE);
        if room.is_untouched() {
            Answer {
                status: Some("free"),
                ..Answer::yes(Outcome::Absent, "Nobody has ever claimed that slot.")
            }
        } else {
            let answer = judge(&slot_id, &room);
            // Open, and all the same not in the way: its lease is over.
            let expired = room.last().filter(|_| answer.ok);
            Answer { previous_holder: expired.map(|last| last.holder.clone()), ..answer }
        }
    };
    Ok(Reply::from(&Answer { slot_id: Some(slot_id), ..answer }))
}

/// Says whether a claim of that period would succeed now, and if not, what is in its way.
/// Never needed before a claim: the claim itself decides.
///
/// Arguments:
///   slot_id              the slot; of a pool it is one unit that is asked about
///   starts_at, ends_at   the period, as for claim_period
///
/// Outcomes: free (ok), claimed, booked, review; the last three with the conflicting
/// claim's own holder, token and period, remaining_ms while a lease runs, and hint: the
/// call that would free it safely. Of a pool: free or insufficient, with available (at
/// the fullest instant) and capacity.
///
/// Raises 22004, 22023 or 42804 for bad input. Works on a standby, in a read-only
/// transaction and at every isolation level, as of the snapshot that it gets there.
///
/// Source: free/busy, as in iCalendar, RFC 5545.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn check_period(
    slot_id: Option<AnyIdentifier>,
    starts_at: Option<String>,
    ends_at: Option<String>,
) -> Result<Reply, ErrorReport> {
    let slot_id = input::identifier("slot_id", slot_id)?;
    let period = Some(input::period(starts_at, ends_at)?);
    let units = pool::read(&slot_id).map(|_| 1);
    let answer = check(&slot_id, Extent { period, units });
    Ok(Reply::from(&Answer { slot_id: Some(slot_id), ..answer }))
}

/// Lists the times inside a window at which a claim of that length would succeed now, for
/// an agent to offer: the window is the caller's opening hours.
///
/// Arguments:
///   slot_id              the slot
///   starts_at, ends_at   the window, as for claim_period
///   length               how long the appointment takes
///   step                 from one offered start to the next, beginning with the window's
///                        own start; NULL: length
///
/// Outcomes: free (ok; free has each with starts_at and ends_at, and of a pool with the
/// units available), taken (free is empty).
///
/// Raises 22004, 22023 or 42804 for bad input, among it a window of more than 1,000
/// starts. Works on a standby, in a read-only transaction and at every isolation level,
/// as of the snapshot that it gets there.
///
/// Source: free/busy, as in iCalendar, RFC 5545.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn free_periods(
    slot_id: Option<AnyIdentifier>,
    starts_at: Option<String>,
    ends_at: Option<String>,
    length: Option<Interval>,
    step: default!(Option<Interval>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let slot_id = input::identifier("slot_id", slot_id)?;
    let window = input::period(starts_at, ends_at)?;
    let length_ms = input::span_ms("length", length)?;
    let step_ms = match step {
        None => length_ms,
        step => input::span_ms("step", step)?,
    };
    let periods = periods(window, length_ms, step_ms)?;
    let units = pool::read(&slot_id).map(|_| 1);
    let room = Room::read(&slot_id, Extent { period: Some(window), units });
    let now = clock::now();
    let free: Vec<FreePeriod> = periods
        .into_iter()
        .filter_map(|period| {
            let room = room.part(period);
            let available = room.pool.map(|pool| room.available(pool, None, now));
            room.obstacle(None, now).is_none().then_some(FreePeriod {
                starts_at: period.from,
                ends_at: period.to,
                available,
            })
        })
        .collect();
    let answer = match free.is_empty() {
        false => Answer::yes(Outcome::Free, "These times are free."),
        true => Answer::no(Outcome::Taken, "No such time is free in that window."),
    };
    Ok(Reply::from(&Answer {
        slot_id: Some(slot_id),
        capacity: room.pool.map(|pool| pool.capacity),
        free: Some(free),
        ..answer
    }))
}

const MOST_STARTS: i64 = 1000;

/// The periods of that length that begin in the window and end in it.
fn periods(window: Period, length_ms: i64, step_ms: i64) -> Result<Vec<Period>, Refusal> {
    let window_ms = (window.to.0 - window.from.0) / 1000;
    let starts = (window_ms - length_ms).div_euclid(step_ms) + 1;
    if starts > MOST_STARTS {
        return Err(Refusal::TooManyStarts { starts, most: MOST_STARTS });
    }
    let period = |n: i64| {
        let from: Instant = window.from.plus_ms(n * step_ms);
        Period { from, to: from.plus_ms(length_ms) }
    };
    Ok((0..starts).map(period).collect())
}

fn check(slot_id: &str, extent: Extent) -> Answer {
    judge(slot_id, &Room::read(slot_id, extent))
}

fn judge(slot_id: &str, room: &Room) -> Answer {
    let now = clock::now();
    let available = room.pool.map(|pool| room.available(pool, None, now).max(0));
    let capacity = room.pool.map(|pool| pool.capacity);
    match room.obstacle(None, now) {
        None => Answer {
            status: Some("free"),
            available,
            capacity,
            ..Answer::yes(Outcome::Free, "That is free.")
        },
        Some(Obstacle::Units { available, capacity }) => pool::insufficient(available, capacity),
        Some(Obstacle::Claim(claim)) => tell(slot_id, &claim, now),
    }
}

/// The claim that is in the way, and the call that would free the slot safely.
fn tell(slot_id: &str, claim: &Claim, now: Instant) -> Answer {
    let call = |call: &str, rest: &str| {
        let (slot, holder) = (literal(slot_id), literal(&claim.holder));
        Some(format!("SELECT {call}({slot}, {holder}, {}{rest})", claim.token))
    };
    let (outcome, message, hint) = match claim.state(now) {
        State::Booked => (Outcome::Booked, "That is booked.", call("cancel_slot", "")),
        State::InReview => (
            Outcome::Review,
            "That is blocked until somebody has checked it.",
            call("resolve_slot", ", 'released'"),
        ),
        _ => (Outcome::Claimed, "That is claimed.", call("release_slot", "")),
    };
    let lease = claim.expires_at.filter(|_| outcome == Outcome::Claimed);
    Answer {
        holder: Some(claim.holder.clone()),
        remaining_ms: lease.map(|end| end.ms_since(now)),
        on_expiry: lease.map(|_| claim.on_expiry),
        hint,
        ..claim.tell(Answer::no(outcome, message), now)
    }
}
