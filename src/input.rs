//! What is refused before anything is read or written, and how input is understood.

use pgrx::datum::Interval;
use serde::Deserialize;

use crate::backend::value::{AnyIdentifier, Instant, Json};
use crate::backend::{clock, publisher};
use crate::error::{IdentifierFault, MOST_IDENTIFIER_BYTES, MOST_JSON_BYTES, Refusal, TimeFault};
use crate::rows::Image;
use crate::settings;
use crate::slots::Period;

/// What a broken expression leaves behind, in n8n and elsewhere. Taken as a name, it
/// would be shared by every request whose expression is broken; and so would a name like
/// 'workflow:execution' of which one part is.
const BROKEN_EXPRESSIONS: [&str; 6] =
    ["undefined", "null", "NaN", "[object Object]", "__UNKNOWN__", "Invalid Date"];

/// The first identifier of a call: a text, a number or a uuid.
pub fn identifier(argument: &'static str, value: Option<AnyIdentifier>) -> Result<String, Refusal> {
    let text = value
        .map(AnyIdentifier::text)
        .transpose()
        .map_err(|type_name| Refusal::IdentifierType { argument, type_name })?;
    name(argument, text)
}

/// Every other identifier: a text.
pub fn name(argument: &'static str, value: Option<String>) -> Result<String, Refusal> {
    let value = value.ok_or(Refusal::Null {
        argument,
        hint: "Check the expression that fills it; in n8n, that the field exists in the item \
               that reaches the node.",
    })?;
    match fault(&value) {
        None => Ok(value),
        Some(fault) => Err(Refusal::Identifier { argument, value: excerpt(&value), fault }),
    }
}

/// An identifier that may be left out.
pub fn optional_name(
    argument: &'static str,
    value: Option<String>,
) -> Result<Option<String>, Refusal> {
    value.map(|value| name(argument, Some(value))).transpose()
}

fn fault(value: &str) -> Option<IdentifierFault> {
    if value.trim().is_empty() {
        Some(IdentifierFault::Blank)
    } else if value.len() > MOST_IDENTIFIER_BYTES {
        Some(IdentifierFault::TooLong { bytes: value.len() })
    } else if value.chars().any(char::is_control) {
        Some(IdentifierFault::ControlCharacter)
    } else if value.trim() != value {
        Some(IdentifierFault::OuterSpace)
    } else if value.len() > 1 && value.starts_with('"') && value.ends_with('"') {
        Some(IdentifierFault::OuterQuotes)
    } else if value.split(':').any(|part| BROKEN_EXPRESSIONS.contains(&part)) {
        Some(IdentifierFault::BrokenExpression)
    } else {
        None
    }
}

/// A value as an error message can show it: short, on one line.
pub fn excerpt(value: &str) -> String {
    const MOST_CHARS: usize = 60;
    let shown: String = value
        .chars()
        .take(MOST_CHARS)
        // What cannot be seen is written out; quotes can.
        .map(|c| if "'\"".contains(c) { c.to_string() } else { c.escape_debug().to_string() })
        .collect();
    let cut = if value.chars().nth(MOST_CHARS).is_some() { "…" } else { "" };
    format!("\"{shown}{cut}\"")
}

/// A lease in milliseconds; NULL is the setting's default.
pub fn ttl_ms(value: Option<Interval>) -> Result<i64, Refusal> {
    let most_ms = settings::max_ttl_ms();
    let Some(value) = value else {
        return Ok(settings::default_ttl_ms().min(most_ms));
    };
    duration_ms("ttl", value, 1, most_ms, " (pg_claims.max_ttl)")
}

/// A key's lease in milliseconds; NULL is the setting's default.
pub fn lease_ms(value: Option<Interval>) -> Result<i64, Refusal> {
    let most_ms = settings::max_ttl_ms();
    let Some(value) = value else {
        return Ok(settings::default_lease_ms().min(most_ms));
    };
    duration_ms("lease", value, 1, most_ms, " (pg_claims.max_ttl)")
}

/// The longest that a claim can wait inside the call.
const MOST_WAIT_MS: i64 = 60_000;

/// A wait in milliseconds; above a minute it is a minute, as the call keeps a
/// connection busy all the while.
pub fn wait_ms(value: Option<Interval>) -> Result<i64, Refusal> {
    let Some(value) = value else { return Ok(0) };
    Ok(duration_ms("wait", value, 0, i64::MAX, "")?.min(MOST_WAIT_MS))
}

/// A length of time in milliseconds, of a calendar's kind.
pub fn span_ms(argument: &'static str, value: Option<Interval>) -> Result<i64, Refusal> {
    const MOST_MS: i64 = 366 * 24 * 60 * 60 * 1000;
    let hint = "Write an interval, such as '30 minutes'.";
    let value = value.ok_or(Refusal::Null { argument, hint })?;
    duration_ms(argument, value, 1, MOST_MS, " (a year)")
}

/// The age of an expired claim, from which on the reaper ends it, in milliseconds.
pub fn older_than_ms(value: Option<Interval>) -> Result<i64, Refusal> {
    const CENTURY_MS: i64 = 100 * 366 * 24 * 60 * 60 * 1000;
    let value = value.ok_or(Refusal::Null {
        argument: "older_than",
        hint: "Leave it out to end what has expired at once, or write an age such as '1 hour'.",
    })?;
    duration_ms("older_than", value, 0, CENTURY_MS, " (a hundred years)")
}

fn duration_ms(
    argument: &'static str,
    value: Interval,
    least_ms: i64,
    most_ms: i64,
    limit: &'static str,
) -> Result<i64, Refusal> {
    let given_us = value.as_micros();
    match i64::try_from(given_us.div_euclid(1000)) {
        Ok(ms) if ms >= least_ms && ms <= most_ms => Ok(ms),
        _ => Err(Refusal::Duration {
            argument,
            given_us,
            least_ms,
            most_ms: (most_ms < i64::MAX).then_some(most_ms),
            limit,
        }),
    }
}

/// A whole number of something.
pub fn count(argument: &'static str, value: Option<i32>, least: i32) -> Result<i32, Refusal> {
    let given = value.ok_or(Refusal::Null { argument, hint: "Write a whole number." })?;
    if given < least {
        let (given, least) = (given.into(), least.into());
        return Err(Refusal::Count { argument, given, least });
    }
    Ok(given)
}

/// A period from two texts; the end is not part of it.
pub fn period(starts_at: Option<String>, ends_at: Option<String>) -> Result<Period, Refusal> {
    let from = instant("starts_at", starts_at)?;
    let to = instant("ends_at", ends_at.clone())?;
    if to <= from {
        let value = excerpt(&ends_at.unwrap_or_default());
        let fault = TimeFault::NotAfterStart;
        return Err(Refusal::Time { argument: "ends_at", value, fault });
    }
    Ok(Period { from, to })
}

/// 0001-01-01T00:00:00Z. The last time that can be written is in the year 9999.
const YEAR_ONE_S: i64 = -62_135_596_800;

/// A time with its offset. Without one it would mean another instant in another session.
fn instant(argument: &'static str, value: Option<String>) -> Result<Instant, Refusal> {
    let value = value.ok_or(Refusal::Null {
        argument,
        hint: "Write the time with Z or its offset, such as '2026-01-02T15:00:00+01:00'.",
    })?;
    // n8n's $now arrives as JSON, in double quotes.
    let text = value.trim();
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>()
        && timestamp.as_second() >= YEAR_ONE_S
    {
        return Ok(Instant::from_unix_us(timestamp.as_microsecond()));
    }
    let fault = match jiff::fmt::temporal::Pieces::parse(text) {
        Ok(pieces) if pieces.offset().is_none() => TimeFault::NoOffset,
        Ok(_) => TimeFault::OutOfRange,
        Err(_) if text.trim_start_matches(['+', '-']).eq_ignore_ascii_case("infinity") => {
            TimeFault::Infinite
        }
        Err(_) => TimeFault::NoTime,
    };
    Err(Refusal::Time { argument, value: excerpt(&value), fault })
}

/// One word out of a few, and what it means.
pub fn word<T: Copy>(
    argument: &'static str,
    value: Option<&str>,
    meanings: &[(&'static str, T)],
) -> Result<T, Refusal> {
    let words = || meanings.iter().map(|(word, _)| *word).collect();
    let value = value.ok_or_else(|| Refusal::NoWord { argument, words: words() })?;
    meanings
        .iter()
        .find(|(word, _)| *word == value)
        .map(|(_, meaning)| *meaning)
        .ok_or_else(|| Refusal::Word { argument, value: excerpt(value), words: words() })
}

/// JSON that is stored and comes back in answers: at most 1 MB of it.
pub fn json(argument: &'static str, value: Option<Json>) -> Result<Option<Json>, Refusal> {
    match value {
        Some(value) if value.get().len() > MOST_JSON_BYTES => {
            Err(Refusal::JsonTooLarge { argument, bytes: value.get().len() })
        }
        _ => Ok(value),
    }
}

/// Fields of a row and their new values.
pub fn changes(value: Option<Json>) -> Result<Image, Refusal> {
    let hint = "Pass a JSON object of the fields to change, such as {\"plan\": \"pro\"}.";
    let value = json("changes", value)?.ok_or(Refusal::Null { argument: "changes", hint })?;
    let fault = match Image::parse(value.get()) {
        Some(changes) if changes.is_empty() => "names no field",
        Some(changes) => return Ok(changes),
        None => "is no JSON object",
    };
    Err(Refusal::Changes { value: excerpt(value.get()), fault })
}

/// The names of fields.
pub fn fields(value: Option<Vec<Option<String>>>) -> Result<Vec<String>, Refusal> {
    let fields: Option<Vec<String>> = value.into_iter().flatten().collect();
    match fields {
        Some(mut fields) if !fields.is_empty() => {
            fields.sort();
            fields.dedup();
            Ok(fields)
        }
        _ => Err(Refusal::NoFields),
    }
}

/// A remark that is kept, cut to its first 10 kB: a release must not fail because an
/// error message was long.
pub fn reason(value: Option<String>) -> Option<String> {
    const MOST_BYTES: usize = 10_000;
    value.map(|mut reason| {
        reason.truncate(reason.floor_char_boundary(MOST_BYTES));
        reason
    })
}

/// True or false. Where a NULL would do the less safe of the two, it is refused.
pub fn flag(argument: &'static str, value: Option<bool>) -> Result<bool, Refusal> {
    value.ok_or(Refusal::Null { argument, hint: "Write true or false, or leave it out." })
}

/// An earlier answer, given as the argument `after`.
pub struct After {
    pub ok: bool,
    /// The answer itself; `None` for the argument's default, which is none.
    pub answer: Option<Json>,
    /// The key that the earlier call began, and with it the duty to close it.
    pub begun: Option<BegunKey>,
}

/// The default of the argument `after`, as jsonb writes it.
const NO_CONDITION: &str = r#"{"ok": true}"#;

/// The facts of a key that begin_key answered `run` for.
pub struct BegunKey {
    pub key: String,
    pub holder: String,
    pub token: i64,
}

/// Whether to go on after another answer.
pub fn after(value: Option<Json>) -> Result<After, Refusal> {
    #[derive(Deserialize)]
    struct Answered {
        ok: bool,
        outcome: Option<serde_json::Value>,
        key: Option<serde_json::Value>,
        holder: Option<serde_json::Value>,
        token: Option<serde_json::Value>,
        replayed: Option<serde_json::Value>,
    }
    // A sub-select that found nothing is NULL, and must not mean "go on".
    let value = value.ok_or(Refusal::Null {
        argument: "after",
        hint: "Pass the call itself, as in claim_slot(…, after => begin_key(…)), or leave the \
               argument out.",
    })?;
    if value.get() == NO_CONDITION {
        return Ok(After { ok: true, answer: None, begun: None });
    }
    let no_answer = Refusal::After { fault: "has no field \"ok\" that is true or false" };
    // An array would do for a struct, as far as serde is concerned.
    let Some(answered) = Some(value.get())
        .filter(|text| text.starts_with('{'))
        .and_then(|text| serde_json::from_str::<Answered>(text).ok())
    else {
        return Err(no_answer);
    };
    // A replayed run was begun by an earlier call, and what that one went on to do is not
    // known here.
    let has_begun = answered.ok
        && answered.outcome.is_some_and(|outcome| outcome == "run")
        && answered.replayed.is_none();
    let text = |fact: Option<serde_json::Value>| fact?.as_str().map(str::to_owned);
    let token = answered.token.and_then(|token| token.as_i64());
    let begun = match (text(answered.key), text(answered.holder), token) {
        (Some(key), Some(holder), Some(token)) if has_begun => {
            Some(BegunKey { key, holder, token })
        }
        _ => None,
    };
    Ok(After { ok: answered.ok, answer: Some(value), begun })
}

/// A writing function works on the newest state only, and must be able to write.
pub fn writable(function: &'static str) -> Result<(), Refusal> {
    if clock::is_read_only() {
        Err(Refusal::ReadOnly { function })
    } else if clock::has_fixed_snapshot() {
        Err(Refusal::Isolation { function })
    } else if publisher::fills_our_tables() {
        Err(Refusal::Subscriber { function })
    } else {
        Ok(())
    }
}
