//! Gapless numbers: create_series, next_number, void_number.
//!
//! The number and its record are one transaction: a rollback takes both back, and the
//! next call gets the same number again. That is why a series is worked on by one
//! transaction at a time, and why the others are told `busy` and not left waiting.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::backend::clock;
use crate::backend::lock::Subject;
use crate::backend::statement::Row;
use crate::backend::value::{AnyIdentifier, Instant, Json, Reply};
use crate::error::Refusal;
use crate::input;
use crate::outcome::{Answer, Outcome};
use crate::statement;
use crate::turn::{Patience, Turn, take_turns};

/// Makes a series of numbers, unless it is there.
///
/// Arguments:
///   series   its name
///   first    the number it begins with, 0 or more
///   label    how a number is written: {n} is the number, {n:05} with zeros to five digits,
///            {yyyy}, {yy} and {mm} the year and month; NULL: {n}, {yyyy}-{n} or
///            {yyyy}-{mm}-{n}
///   per      when counting starts anew: 'forever' (never), 'year' or 'month'; then the
///            label must name the year, or the year and the month
///   zone     the time zone whose years and months count
///
/// Outcomes: created (ok), exists (ok; the same definition), mismatch (another definition;
/// nothing was changed), busy.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: invoice numbering without gaps, as tax laws ask for it.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn create_series(
    series: Option<AnyIdentifier>,
    first: default!(Option<i64>, "1"),
    label: default!(Option<String>, "NULL"),
    per: default!(Option<&str>, "'forever'"),
    zone: default!(Option<String>, "'UTC'"),
) -> Result<Reply, ErrorReport> {
    let name = input::identifier("series", series)?;
    let wanted = Series::define(first, label, per, zone)?;
    input::writable("create_series")?;
    let mut patience = Patience::for_lock();
    let answer =
        take_turns(&[Subject::Series(&name)], &mut patience, |turn| create(turn, &name, &wanted));
    Ok(Reply::from(&Answer { series: Some(name), ..answer.unwrap_or_else(Answer::busy) }))
}

/// Issues the next number of a series, without gaps: when the transaction is rolled back,
/// the next call gets the same number.
///
/// Arguments:
///   series   the series
///   holder   who gets it, best 'workflow:execution'
///   key      what it is for, such as the order: the same key gets the same number; NULL:
///            every call gets another
///   note     anything you want to find in claims.numbers
///
/// Outcomes: issued (ok; number, label), replayed (ok; the key's number, with its status:
/// issued or void), busy (another transaction has a number that is not yet committed).
///
/// Raises 22004, 22023 or 42804 for bad input, 42704 for an unknown series, 0A000 above
/// READ COMMITTED, 25006 where nothing can be written.
///
/// Source: the counter row, locked to the end of the transaction; a sequence leaves gaps.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn next_number(
    series: Option<AnyIdentifier>,
    holder: Option<String>,
    key: default!(Option<String>, "NULL"),
    note: default!(Option<Json>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let wanted = Wanted {
        series: input::identifier("series", series)?,
        holder: input::name("holder", holder)?,
        key: input::optional_name("key", key)?,
        note: input::json("note", note)?,
    };
    input::writable("next_number")?;
    let answer = match wanted.replay() {
        Some(answer) => answer,
        None => {
            let mut patience = Patience::for_lock();
            take_turns(&[Subject::Series(&wanted.series)], &mut patience, |turn| wanted.issue(turn))
                .transpose()?
                .unwrap_or_else(Answer::busy)
        }
    };
    Ok(Reply::from(&Answer { series: Some(wanted.series), holder: Some(wanted.holder), ..answer }))
}

/// Makes a number void: it stays in claims.numbers and is never issued again.
///
/// Arguments:
///   series   the series
///   number   the number
///   reason   kept with it
///   span     the year or month it was counted in, as claims.numbers has it; NULL: the only
///            one that has such a number
///
/// Outcomes: voided (ok), already_void (ok), absent, ambiguous (several years or months
/// have that number; name the span), busy.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: invoice numbering without gaps, as tax laws ask for it.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn void_number(
    series: Option<AnyIdentifier>,
    number: Option<i64>,
    reason: default!(Option<String>, "NULL"),
    span: default!(Option<String>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let series = input::identifier("series", series)?;
    let hint = "Pass the number that next_number answered.";
    let number = number.ok_or(Refusal::Null { argument: "number", hint })?;
    let reason = input::reason(reason);
    input::writable("void_number")?;
    let mut patience = Patience::for_lock();
    let answer = take_turns(&[Subject::Series(&series)], &mut patience, |turn| {
        void(turn, &series, number, span.as_deref(), reason.as_deref())
    });
    Ok(Reply::from(&Answer { series: Some(series), ..answer.unwrap_or_else(Answer::busy) }))
}

/// When counting starts anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Per {
    Forever,
    Year,
    Month,
}

const PERS: [(&str, Per); 3] =
    [("forever", Per::Forever), ("year", Per::Year), ("month", Per::Month)];

impl Per {
    fn word(self) -> &'static str {
        match self {
            Self::Forever => "forever",
            Self::Year => "year",
            Self::Month => "month",
        }
    }

    fn from_word(word: &str) -> Self {
        let found = PERS.iter().find(|(known, _)| *known == word);
        found.unwrap_or_else(|| panic!("unknown per {word:?} in claims.series")).1
    }
}

/// The definition of a series.
#[derive(Debug, PartialEq, Eq)]
struct Series {
    first: i64,
    label: String,
    per: Per,
    zone: String,
}

statement! {
    /// The server's own spelling of a time zone.
    ZONE = "SELECT name FROM pg_timezone_names WHERE lower(name) = lower($1) LIMIT 1";

    CREATE =
        "INSERT INTO claims.series (series, first, label, per, zone, created_at)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";

    READ_SERIES = "SELECT first, label, per, zone FROM claims.series WHERE series = $1";
}

impl Series {
    fn define(
        first: Option<i64>,
        label: Option<String>,
        per: Option<&str>,
        zone: Option<String>,
    ) -> Result<Self, Refusal> {
        let hint = "Write a whole number.";
        let first = first.ok_or(Refusal::Null { argument: "first", hint })?;
        if first < 0 {
            return Err(Refusal::Count { argument: "first", given: first, least: 0 });
        }
        let per = input::word("per", per, &PERS)?;
        let label = label.unwrap_or_else(|| {
            match per {
                Per::Forever => "{n}",
                Per::Year => "{yyyy}-{n}",
                Per::Month => "{yyyy}-{mm}-{n}",
            }
            .into()
        });
        Label::parse(&label)?.check(&label, per)?;
        let zone = input::name("zone", zone)?;
        let known = ZONE.with(|zones| zones.first(&[zone.as_str().into()], |row| row.must(1)));
        let zone = known.ok_or(Refusal::Zone { zone })?;
        Ok(Self { first, label, per, zone })
    }

    fn read(row: &Row) -> Self {
        Self {
            first: row.must(1),
            label: row.must(2),
            per: Per::from_word(row.must(3)),
            zone: row.must(4),
        }
    }
}

fn create(turn: &mut Turn, name: &str, wanted: &Series) -> Option<Answer> {
    let args = [
        name.into(),
        wanted.first.into(),
        wanted.label.as_str().into(),
        wanted.per.word().into(),
        wanted.zone.as_str().into(),
        clock::now().into(),
    ];
    if turn.write(&CREATE, &args) {
        return Some(Answer::yes(Outcome::Created, "The series is there."));
    }
    let found = READ_SERIES.with(|read| read.first(&[name.into()], Series::read))?;
    Some(if found == *wanted {
        Answer::yes(Outcome::Exists, "The series was there already.")
    } else {
        let Series { first, label, per, zone } = found;
        Answer {
            reason: Some(format!("It begins with {first}, per {}, in {zone}.", per.word())),
            label: Some(label),
            ..Answer::no(Outcome::Mismatch, "There is another series of that name.")
        }
    })
}

/// How a number is written: `INV-{yyyy}-{n:05}`.
struct Label(Vec<Piece>);

enum Piece {
    Text(String),
    /// The number, with zeros to so many digits.
    Number(usize),
    Year,
    ShortYear,
    Month,
}

impl Label {
    fn parse(label: &str) -> Result<Self, Refusal> {
        let refuse = |fault: &str| Refusal::Label { label: label.to_owned(), fault: fault.into() };
        input::name("label", Some(label.to_owned()))?;
        let mut pieces = Vec::new();
        let mut rest = label;
        while let Some((text, tail)) = rest.split_once('{') {
            let (field, tail) =
                tail.split_once('}').ok_or_else(|| refuse("has a { without its }"))?;
            if text.contains('}') {
                return Err(refuse("has a } without its {"));
            }
            pieces.push(Piece::Text(text.into()));
            pieces.push(match (field, field.strip_prefix("n:0")) {
                ("n", _) => Piece::Number(0),
                ("yyyy", _) => Piece::Year,
                ("yy", _) => Piece::ShortYear,
                ("mm", _) => Piece::Month,
                (_, Some(digits)) => match digits.parse() {
                    Ok(width @ 1..=18) => Piece::Number(width),
                    _ => return Err(refuse("pads its number to another width than 1 to 18")),
                },
                _ => return Err(refuse(&format!("has an unknown field {{{field}}}"))),
            });
            rest = tail;
        }
        if rest.contains('}') {
            return Err(refuse("has a } without its {"));
        }
        pieces.push(Piece::Text(rest.into()));
        Ok(Self(pieces))
    }

    /// No two numbers of the series may ever be written alike.
    fn check(&self, label: &str, per: Per) -> Result<(), Refusal> {
        let has = |wanted: fn(&Piece) -> bool| self.0.iter().any(wanted);
        let has_year = has(|piece| matches!(piece, Piece::Year | Piece::ShortYear));
        let fault = if !has(|piece| matches!(piece, Piece::Number(_))) {
            "has no {n}, so all numbers would look alike"
        } else if per != Per::Forever && !has_year {
            "has no {yyyy} or {yy}, although counting starts anew"
        } else if per == Per::Month && !has(|piece| matches!(piece, Piece::Month)) {
            "has no {mm}, although counting starts anew every month"
        } else {
            return Ok(());
        };
        Err(Refusal::Label { label: label.to_owned(), fault: fault.into() })
    }

    fn write(&self, number: i64, year: &str, month: &str) -> String {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Number(width) => format!("{number:0width$}"),
                Piece::Year => year.to_owned(),
                Piece::ShortYear => year.chars().skip(year.len().saturating_sub(2)).collect(),
                Piece::Month => month.to_owned(),
            })
            .collect()
    }
}

/// A number that somebody would like to have.
struct Wanted {
    series: String,
    holder: String,
    key: Option<String>,
    note: Option<Json>,
}

/// How far a series has got, and which year and month it is there.
struct Counter {
    series: Series,
    span: Option<String>,
    last: Option<i64>,
    year: String,
    month: String,
}

statement! {
    READ_BY_KEY =
        "SELECT number, label, status, holder, issued_at, span, reason, note
         FROM claims.numbers WHERE series = $1 AND key = $2";

    KNOWN = "SELECT true FROM claims.series WHERE series = $1";

    /// The row of the series, taken without waiting, to the end of the transaction.
    COUNT =
        "SELECT first, label, per, zone, span, last,
                to_char($2 AT TIME ZONE zone, 'YYYY'), to_char($2 AT TIME ZONE zone, 'MM')
         FROM claims.series WHERE series = $1 FOR NO KEY UPDATE SKIP LOCKED";

    ADVANCE = "UPDATE claims.series SET span = $2, last = $3 WHERE series = $1";

    ISSUE =
        "INSERT INTO claims.numbers
             (series, span, number, label, status, holder, key, issued_at, note)
         VALUES ($1, $2, $3, $4, 'issued', $5, $6, $7, $8)";
}

impl Wanted {
    /// The number that the key has already.
    fn replay(&self) -> Option<Answer> {
        let key = self.key.as_deref()?;
        let args = [self.series.as_str().into(), key.into()];
        READ_BY_KEY.with(|read| {
            read.first(&args, |row| {
                let status = if row.must::<&str>(3) == "void" { "void" } else { "issued" };
                let message = "That key has its number already.";
                Answer {
                    number: row.get(1),
                    label: row.get(2),
                    status: Some(status),
                    issued_at: row.get(5),
                    span: row.get(6).filter(|span: &String| !span.is_empty()),
                    reason: row.get(7),
                    key: Some(key.to_owned()),
                    ..Answer::yes(Outcome::Replayed, message)
                }
            })
        })
    }

    fn issue(&self, turn: &mut Turn) -> Option<Result<Answer, Refusal>> {
        let now = clock::now();
        let Some(counter) = self.count(now) else {
            // Locked by another transaction, or not there at all.
            let known = KNOWN.with(|known| {
                known.first(&[self.series.as_str().into()], |row| row.must::<bool>(1))
            });
            let unknown = Refusal::UnknownSeries { series: self.series.clone() };
            return known.is_none().then_some(Err(unknown));
        };
        // After the lock: the same key may have got its number meanwhile.
        if let Some(answer) = self.replay() {
            return Some(Ok(answer));
        }
        let span = match counter.series.per {
            Per::Forever => String::new(),
            Per::Year => counter.year.clone(),
            Per::Month => format!("{}-{}", counter.year, counter.month),
        };
        // Never back into an earlier span, should the clock be set back.
        let span = counter.span.clone().filter(|last| *last > span).unwrap_or(span);
        let number = match (counter.span.as_deref() == Some(&span), counter.last) {
            (true, Some(i64::MAX)) => {
                return Some(Err(Refusal::Exhausted { series: self.series.clone() }));
            }
            (true, Some(last)) => last + 1,
            _ => counter.series.first,
        };
        let (year, month) = match span.split_once('-') {
            Some((year, month)) => (year, month),
            None if span.is_empty() => (counter.year.as_str(), counter.month.as_str()),
            None => (span.as_str(), counter.month.as_str()),
        };
        let label = match Label::parse(&counter.series.label) {
            Ok(label) => label.write(number, year, month),
            Err(refusal) => return Some(Err(refusal)),
        };
        let series = self.series.as_str();
        turn.write(&ADVANCE, &[series.into(), span.as_str().into(), number.into()]);
        turn.write(
            &ISSUE,
            &[
                series.into(),
                span.as_str().into(),
                number.into(),
                label.as_str().into(),
                self.holder.as_str().into(),
                self.key.as_deref().into(),
                now.into(),
                self.note.clone().into(),
            ],
        );
        Some(Ok(Answer {
            number: Some(number),
            label: Some(label),
            status: Some("issued"),
            span: Some(span).filter(|span| !span.is_empty()),
            issued_at: Some(now),
            key: self.key.clone(),
            ..Answer::yes(Outcome::Issued, "The number is yours.")
        }))
    }

    fn count(&self, now: Instant) -> Option<Counter> {
        let args = [self.series.as_str().into(), now.into()];
        COUNT.with(|count| {
            count.first(&args, |row| Counter {
                series: Series::read(row),
                span: row.get(5),
                last: row.get(6),
                year: row.must(7),
                month: row.must(8),
            })
        })
    }
}

statement! {
    FIND =
        "SELECT span, status, label, void_at, reason FROM claims.numbers
         WHERE series = $1 AND number = $2 AND ($3 IS NULL OR span = $3)";

    VOID =
        "UPDATE claims.numbers SET status = 'void', void_at = $4, reason = $5
         WHERE series = $1 AND span = $2 AND number = $3
           AND number = (SELECT number FROM claims.numbers
                         WHERE series = $1 AND span = $2 AND number = $3 AND status = 'issued'
                         FOR NO KEY UPDATE SKIP LOCKED)
           AND status = 'issued'";
}

struct Found {
    span: String,
    is_void: bool,
    label: String,
    reason: Option<String>,
}

fn void(
    turn: &mut Turn,
    series: &str,
    number: i64,
    span: Option<&str>,
    reason: Option<&str>,
) -> Option<Answer> {
    let found = FIND.with(|find| {
        find.rows(&[series.into(), number.into(), span.into()], |row| Found {
            span: row.must(1),
            is_void: row.must::<&str>(2) == "void",
            label: row.must(3),
            reason: row.get(5),
        })
    });
    let about = Answer {
        number: Some(number),
        ..Answer::no(Outcome::Absent, "No such number has been issued.")
    };
    let found = match found.as_slice() {
        [] => return Some(about),
        [found] => found,
        _ => {
            let message = "Several years or months have that number; name the span.";
            return Some(Answer { outcome: Outcome::Ambiguous, message, ..about });
        }
    };
    let about = Answer {
        label: Some(found.label.clone()),
        span: Some(found.span.clone()).filter(|span| !span.is_empty()),
        status: Some("void"),
        ok: true,
        ..about
    };
    if found.is_void {
        let message = "That number was void already.";
        let (outcome, reason) = (Outcome::AlreadyVoid, found.reason.clone());
        return Some(Answer { outcome, message, reason, ..about });
    }
    let args = [
        series.into(),
        found.span.as_str().into(),
        number.into(),
        clock::now().into(),
        reason.into(),
    ];
    turn.write(&VOID, &args).then(|| {
        let message = "The number is void, and will not be issued again.";
        let reason = reason.map(str::to_owned);
        Answer { outcome: Outcome::Voided, message, reason, ..about }
    })
}
