//! claim_many, confirm_many, release_many: several claims, all or nothing.

use std::collections::BTreeMap;

use pgrx::datum::Interval;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Claim;
use super::claim::{Lease, Order, Wanted};
use super::extent::Extent;
use super::settle::{Call, confirm, release};
use crate::backend::lock::Subject;
use crate::backend::value::{Instant, Json, Reply};
use crate::error::Refusal;
use crate::input;
use crate::outcome::{Answer, Outcome};
use crate::turn::{Patience, Turn, take_turns};

/// Claims several things at once, such as a room and a person: all or none of them.
///
/// Arguments:
///   requests  a JSON array of at most 1,000 objects: {"slot_id": …} for a slot, with
///             "starts_at" and "ends_at" for a period, with "units" for units of a pool;
///             units of one pool are added up, and otherwise no slot can stand there twice
///   holder    who claims, best 'workflow:execution'
///   ttl, wait, on_expiry, note, call_id, after   as for claim_slot, for all of them
///
/// Outcomes: claimed (ok; claims has each with its token, for confirm_many and
/// release_many), taken, insufficient, already_yours (slot_id is the first that was
/// refused), busy, not_reached.
///
/// Raises 22004 or 22023 for bad input, 55000 for units of a slot that is no pool and the
/// reverse, 0A000 above READ COMMITTED, 25006 where nothing can be written.
///
/// Source: atomic multi-resource acquisition, with locks that are tried and never waited
/// for, so that two orders of the same things cannot deadlock.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
#[allow(clippy::too_many_arguments)]
fn claim_many(
    requests: Option<Json>,
    holder: Option<String>,
    ttl: default!(Option<Interval>, "NULL"),
    wait: default!(Option<Interval>, "'0'"),
    on_expiry: default!(Option<&str>, "'release'"),
    note: default!(Option<Json>, "NULL"),
    call_id: default!(Option<String>, "NULL"),
    after: default!(Option<Json>, "'{\"ok\": true}'"),
) -> Result<Reply, ErrorReport> {
    let extents = extents(parse("requests", requests)?)?;
    let holder = input::name("holder", holder)?;
    let lease = Lease::new(ttl, on_expiry, note, call_id)?;
    let wait_ms = input::wait_ms(wait)?;
    let after = input::after(after)?;
    input::writable("claim_many")?;
    let wanted: Vec<Wanted> = extents
        .into_iter()
        .map(|(slot_id, extent)| Wanted {
            slot_id,
            holder: holder.clone(),
            extent,
            lease: lease.clone(),
        })
        .collect();
    Ok(Order::Many(wanted).answer(wait_ms, after)?)
}

/// Confirms several claims at once: all are booked, or none is.
///
/// Arguments:
///   claims   the claims that claim_many answered: a JSON array of objects with slot_id
///            and token
///   holder   who claimed them
///   result   what to keep with each booking
///
/// Outcomes: confirmed (ok; claims has each one's own answer), or the outcome of the first
/// that confirm_slot would refuse, with its slot_id: lost, cancelled, insufficient,
/// not_holder, busy.
///
/// Raises 22004 or 22023 for bad input, 0A000 above READ COMMITTED, 25006 where nothing
/// can be written.
///
/// Source: as claim_many.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn confirm_many(
    claims: Option<Json>,
    holder: Option<String>,
    result: default!(Option<Json>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let calls = calls("confirm_many", claims, holder)?;
    let result = input::json("result", result)?;
    let done = Answer::yes(Outcome::Confirmed, "All of it is booked.");
    Ok(settle_all(&calls, done, |call, turn, claim, now| {
        confirm(call, turn, claim, now, result.as_ref())
    }))
}

/// Gives several claims back at once, or puts them in doubt: all or none.
///
/// Arguments:
///   claims    the claims that claim_many answered: a JSON array of objects with slot_id
///             and token
///   holder    who claimed them
///   reason, in_doubt   as for release_slot
///
/// Outcomes: released, or review when in doubt (ok; claims has each one's own answer), or the outcome of the first
/// that release_slot would refuse, with its slot_id: booked, lost, insufficient,
/// not_holder, busy.
///
/// Raises 22004 or 22023 for bad input, 0A000 above READ COMMITTED, 25006 where nothing
/// can be written.
///
/// Source: as claim_many.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn release_many(
    claims: Option<Json>,
    holder: Option<String>,
    reason: default!(Option<String>, "NULL"),
    in_doubt: default!(Option<bool>, "false"),
) -> Result<Reply, ErrorReport> {
    let calls = calls("release_many", claims, holder)?;
    let reason = input::reason(reason);
    let in_doubt = input::flag("in_doubt", in_doubt)?;
    let done = match in_doubt {
        false => Answer::yes(Outcome::Released, "All of it is given back."),
        true => {
            Answer::yes(Outcome::Review, "All of it stays blocked until somebody has checked it.")
        }
    };
    Ok(settle_all(&calls, done, |call, turn, claim, now| {
        release(call, turn, claim, now, reason.as_deref(), in_doubt)
    }))
}

const MOST_REQUESTS: usize = 1000;

/// What both lists have in their elements.
trait Element: DeserializeOwned {
    fn slot_id(&self) -> &Value;
}

/// One element of `requests`. A field that is misspelt must not be passed over: without
/// its times a period would be the whole slot.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    slot_id: Value,
    starts_at: Option<String>,
    ends_at: Option<String>,
    units: Option<i32>,
}

/// One element of `claims`: an answer, of which only this counts.
#[derive(Deserialize)]
struct Claimed {
    slot_id: Value,
    token: Option<i64>,
}

impl Element for Request {
    fn slot_id(&self) -> &Value {
        &self.slot_id
    }
}

impl Element for Claimed {
    fn slot_id(&self) -> &Value {
        &self.slot_id
    }
}

fn parse<T: Element>(
    argument: &'static str,
    value: Option<Json>,
) -> Result<Vec<(String, T)>, Refusal> {
    let hint = "Pass a JSON array.";
    let value = value.ok_or(Refusal::Null { argument, hint })?;
    let refuse = |fault: String| Refusal::Requests { argument, fault };
    let elements: Vec<&RawValue> =
        serde_json::from_str(value.get()).map_err(|_| refuse("it is no JSON array".into()))?;
    if elements.is_empty() {
        return Err(refuse("it is empty".into()));
    }
    if elements.len() > MOST_REQUESTS {
        let count = elements.len();
        return Err(refuse(format!("it has {count} elements, the most is {MOST_REQUESTS}")));
    }
    elements
        .into_iter()
        .enumerate()
        .map(|(at, element)| {
            let refuse = |fault: String| refuse(format!("element {at}: {fault}"));
            // An array would do for a struct, as far as serde is concerned.
            if !element.get().starts_with('{') {
                return Err(refuse("it is no JSON object".into()));
            }
            let request: T = serde_json::from_str(element.get())
                .map_err(|error| refuse(without_position(&error)))?;
            let slot_id = match request.slot_id() {
                Value::String(text) => text.clone(),
                Value::Number(number) if number.is_i64() => number.to_string(),
                _ => return Err(refuse("slot_id must be a text or a whole number".into())),
            };
            Ok((input::name("slot_id", Some(slot_id))?, request))
        })
        .collect()
}

/// What serde says is wrong, without where: the text that it read is not the caller's.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// What is wanted of each slot, in the order of their names.
fn extents(requests: Vec<(String, Request)>) -> Result<BTreeMap<String, Extent>, Refusal> {
    let mut extents = BTreeMap::new();
    for (slot_id, request) in requests {
        let units = request.units.map(|units| input::count("units", Some(units), 1)).transpose()?;
        let period = match (request.starts_at, request.ends_at) {
            (None, None) => None,
            (starts_at, ends_at) => Some(input::period(starts_at, ends_at)?),
        };
        let extent = Extent { period, units };
        let sum = match extents.get(&slot_id) {
            None => Some(extent),
            Some(known) => extent.plus(*known),
        };
        let Some(sum) = sum else {
            let fault = format!("slot \"{slot_id}\" stands in it twice");
            return Err(Refusal::Requests { argument: "requests", fault });
        };
        extents.insert(slot_id, sum);
    }
    Ok(extents)
}

fn calls(
    function: &'static str,
    claims: Option<Json>,
    holder: Option<String>,
) -> Result<Vec<Call>, Refusal> {
    let argument = "claims";
    let claims: Vec<(String, Claimed)> = parse(argument, claims)?;
    let holder = input::name("holder", holder)?;
    input::writable(function)?;
    let mut calls = claims
        .into_iter()
        .map(|(slot_id, claim)| match claim.token {
            Some(token) => Ok(Call { slot_id, holder: holder.clone(), token: Some(token) }),
            None => {
                let fault = format!("slot \"{slot_id}\" has no token");
                Err(Refusal::Requests { argument, fault })
            }
        })
        .collect::<Result<Vec<_>, _>>()?;
    calls.sort_by(|a, b| (&a.slot_id, a.token).cmp(&(&b.slot_id, b.token)));
    calls.dedup_by(|a, b| (&a.slot_id, a.token) == (&b.slot_id, b.token));
    Ok(calls)
}

/// Settles all of them, or none: the first that is refused takes back those before it.
fn settle_all(
    calls: &[Call],
    done: Answer,
    decide: impl Fn(&Call, &mut Turn, &Claim, Instant) -> Option<Answer>,
) -> Reply {
    let subjects: Vec<Subject> = calls.iter().map(|call| Subject::Slot(&call.slot_id)).collect();
    let mut patience = Patience::for_lock();
    let settled = take_turns(&subjects, &mut patience, |turn| {
        let mut answers = Vec::with_capacity(calls.len());
        for call in calls {
            let answer = call.turn(turn, &decide);
            let slot_id = Some(call.slot_id.clone());
            match answer {
                Some(answer) if answer.ok => {
                    answers.push(Json::from(&Answer { slot_id, ..answer }))
                }
                refused if answers.is_empty() => {
                    return refused.map(|refused| Err(Answer { slot_id, ..refused }));
                }
                refused => {
                    // What was written keeps its locks, and nobody sleeps with those.
                    turn.undo();
                    return Some(Err(Answer { slot_id, ..refused.unwrap_or_else(Answer::busy) }));
                }
            }
        }
        Some(Ok(answers))
    });
    let answer = match settled {
        Some(Ok(answers)) => Answer { claims: Some(answers), ..done },
        Some(Err(refused)) => refused,
        None => Answer::busy(),
    };
    Reply::from(&Answer { holder: Some(calls[0].holder.clone()), ..answer })
}
