//! Slots: a claim and everything that can happen to it.
//!
//! | module    | functions                                                              |
//! |-----------|------------------------------------------------------------------------|
//! | `claim`   | claim_slot, claim_period, claim_units                                  |
//! | `many`    | claim_many, confirm_many, release_many                                 |
//! | `moving`  | move_period                                                            |
//! | `pool`    | set_capacity, and the count of what is taken                           |
//! | `room`    | whether there is room for a claim, and making it                       |
//! | `settle`  | confirm_slot, release_slot, extend_slot, cancel_slot, resolve_slot     |
//! | `holder`  | release_holder                                                         |
//! | `fence`   | holds_slot, require_slot                                               |
//! | `check`   | check_slot, check_period, free_periods                                 |
//!
//! Here: the row of `claims.slot_claims`, and the statements that more than one of them
//! uses. Two arbiters decide, and every transition belongs to one of them:
//!
//! - A slot becomes active only by [`append`]: an INSERT at the slot's last token + 1.
//!   The primary key decides between racers.
//! - An active claim changes only by [`change`]: an UPDATE that repeats the status and
//!   the lease that were read. The row decides.
//!
//! Either can find that things are no longer as they were read. Then nothing was
//! written, and the call looks again.

mod check;
mod claim;
mod extent;
mod fence;
mod holder;
mod many;
mod moving;
pub mod pool;
mod room;
mod settle;

use extent::Extent;
pub use extent::Period;

use std::ffi::CStr;

use serde::Serialize;

use crate::backend::clock;
use crate::backend::statement::Row;
use crate::backend::table::{Table, Unfit};
use crate::backend::value::{Instant, Json, TimeRange};
#[cfg(feature = "mutant")]
use crate::mutant::{Part, leaves_out};
use crate::notify;
use crate::outcome::{Answer, Outcome};
use crate::statement;
use crate::turn::Turn;

/// `status` of a claim, as the table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Claimed,
    Booked,
    Review,
    Released,
    Expired,
    Cancelled,
    Moved,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Booked => "booked",
            Self::Review => "review",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Moved => "moved",
        }
    }

    fn from_word(word: &str) -> Self {
        match word {
            "claimed" => Self::Claimed,
            "booked" => Self::Booked,
            "review" => Self::Review,
            "released" => Self::Released,
            "expired" => Self::Expired,
            "cancelled" => Self::Cancelled,
            "moved" => Self::Moved,
            _ => panic!("unknown status {word:?} in claims.slot_claims"),
        }
    }

    fn is_open(self) -> bool {
        matches!(self, Self::Claimed | Self::Booked | Self::Review)
    }
}

/// What becomes of a claim whose lease runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    /// The slot is free again.
    Release,
    /// The slot stays blocked until somebody has looked whether the booking happened.
    Review,
}

impl OnExpiry {
    const WORDS: [(&'static str, Self); 2] = [("release", Self::Release), ("review", Self::Review)];

    fn word(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Review => "review",
        }
    }
}

/// One row of `claims.slot_claims`.
#[derive(Clone, Debug)]
pub struct Claim {
    token: i64,
    holder: String,
    status: Status,
    extent: Extent,
    claimed_at: Instant,
    expires_at: Option<Instant>,
    on_expiry: OnExpiry,
    ended_at: Option<Instant>,
    ended_by: Option<String>,
    reason: Option<String>,
    origin: Option<i64>,
    call_id: Option<String>,
    note: Option<Json>,
    result: Option<Json>,
}

/// What a claim amounts to at an instant. Expiry is judged when it is read: everything
/// here is right although nobody may ever write it down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Claimed, and the lease is running.
    Running,
    /// Claimed, the lease is over, and the slot is for whoever takes it.
    Expired,
    /// Claimed with `on_expiry => 'review'` and the lease is over, or put into review.
    InReview,
    Booked,
    Ended,
}

macro_rules! claim_columns {
    () => {
        "token, holder, status, claimed_at, expires_at, on_expiry, ended_at, ended_by, reason, \
         origin, call_id, note, result, period, units"
    };
}
use claim_columns;

impl Claim {
    /// Reads a row of [`claim_columns`].
    fn read(row: &Row) -> Self {
        Self {
            token: row.must(1),
            holder: row.must(2),
            status: Status::from_word(row.must(3)),
            extent: Extent {
                period: row.get(14).map(|TimeRange { from, to }| Period { from, to }),
                units: row.get(15),
            },
            claimed_at: row.must(4),
            expires_at: row.get(5),
            on_expiry: match row.must(6) {
                "review" => OnExpiry::Review,
                _ => OnExpiry::Release,
            },
            ended_at: row.get(7),
            ended_by: row.get(8),
            reason: row.get(9),
            origin: row.get(10),
            call_id: row.get(11),
            note: row.get(12),
            result: row.get(13),
        }
    }

    fn state(&self, now: Instant) -> State {
        match self.status {
            Status::Booked => State::Booked,
            Status::Review => State::InReview,
            Status::Claimed => match (self.expires_at, self.on_expiry) {
                (Some(end), _) if end > now => State::Running,
                (_, OnExpiry::Release) => State::Expired,
                (_, OnExpiry::Review) => State::InReview,
            },
            _ => State::Ended,
        }
    }

    /// Whether this claim keeps others out.
    fn blocks(&self, now: Instant) -> bool {
        !matches!(self.state(now), State::Ended | State::Expired)
    }

    /// The status that a caller is told: a lease that ran out is expired or in review,
    /// whether or not anybody has written that down.
    fn told_status(&self, now: Instant) -> Status {
        match self.state(now) {
            State::InReview => Status::Review,
            State::Expired => Status::Expired,
            _ => self.status,
        }
    }

    /// Takes back a change that this transaction has made.
    fn write_back(self, slot_id: &str) {
        let args = [
            slot_id.into(),
            self.token.into(),
            self.status.word().into(),
            self.expires_at.into(),
            self.ended_at.into(),
            self.ended_by.into(),
            self.reason.into(),
            self.result.into(),
        ];
        UNDO_CHANGE.with(|undo| undo.run(&args));
    }

    fn news(&self, slot_id: &str) -> notify::Change {
        notify::Change {
            slot_id: Some(slot_id.to_owned()),
            key: None,
            token: self.token,
            holder: Some(self.holder.clone()),
            status: self.status.word(),
        }
    }

    /// Adds this claim, the caller's own, to an answer.
    fn tell(&self, answer: Answer, now: Instant) -> Answer {
        Answer {
            token: Some(self.token),
            status: Some(self.told_status(now).word()),
            starts_at: self.extent.period.map(|period| period.from),
            ends_at: self.extent.period.map(|period| period.to),
            units: self.extent.units,
            claimed_at: Some(self.claimed_at),
            expires_at: self.expires_at.filter(|_| self.state(now) == State::Running),
            ended_at: self.ended_at,
            ended_by: self.ended_by.clone(),
            origin: self.origin,
            reason: self.reason.clone(),
            result: self.result.clone(),
            ..answer
        }
    }
}

statement! {
    /// The slot's last claim. A plain claim is only ever appended when nothing else is
    /// active, so when the last row is one, it is the only row that can be active.
    READ_LAST = concat!(
        "SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 ORDER BY token DESC LIMIT 1");
}

thread_local! {
    /// The columns in the order of [`claim_columns`], and the slot's name.
    static CLAIMS: Table = const {
        Table::new(c"slot_claims", &WAYS, &[
            c"token", c"holder", c"status", c"claimed_at", c"expires_at", c"on_expiry",
            c"ended_at", c"ended_by", c"reason", c"origin", c"call_id", c"note", c"result",
            c"period", c"units", c"slot_id",
        ])
    };
}

/// The indexes of [`CLAIMS`]: by token, and those of the constants below. The exclusion
/// constraint stands behind them, as what it says is relied on.
const WAYS: [&CStr; 7] = [
    c"slot_claims_pkey",
    c"slot_claims_active_key",
    c"slot_claims_period_idx",
    c"slot_claims_pool_period_idx",
    c"slot_claims_pool_idx",
    c"slot_claims_pool_expires_at_idx",
    c"slot_claims_slot_id_period_excl",
];
const ACTIVE_WHOLE: usize = 1;
const ACTIVE_PERIODS: usize = 2;
const POOL_PERIODS: usize = 3;
const POOL_HOLDER: usize = 4;
const POOL_EXPIRES_AT: usize = 5;

/// The slot's last claim, on a fresh snapshot.
fn last_claim(slot_id: &str) -> Option<Claim> {
    let args = [slot_id.into()];
    CLAIMS
        .with(|claims| claims.last(&args, Claim::read))
        .unwrap_or_else(|Unfit| READ_LAST.with(|read| read.first(&args, Claim::read)))
}

/// The claim that a caller means: the one that the token names, or the holder's one open
/// claim, or else the holder's last one. The error is the answer that refuses.
fn own_claim(slot_id: &str, holder: &str, token: Option<i64>) -> Result<Claim, Box<Answer>> {
    #[cfg(feature = "mutant")]
    let token = token.filter(|_| !leaves_out(Part::Token));
    let claim = match token {
        Some(token) => family(slot_id, token).filter(|claim| claim.holder == holder),
        None => only_claim(slot_id, holder)?,
    };
    let message = "There is no such claim of this holder.";
    claim.ok_or_else(|| Box::new(Answer::no(Outcome::NotHolder, message)))
}

fn only_claim(slot_id: &str, holder: &str) -> Result<Option<Claim>, Box<Answer>> {
    let Some(last) = last_claim(slot_id) else { return Ok(None) };
    if last.extent.is_whole() && last.holder == holder {
        return Ok(Some(last));
    }
    let args = [slot_id.into(), holder.into(), clock::now().into()];
    let mut open = match last.extent.is_whole() {
        true => Vec::new(),
        false => READ_OWN_OPEN.with(|read| read.rows(&args, Claim::read)),
    };
    if open.len() > 1 {
        let message = "You hold several claims of this slot; say which one by its token.";
        return Err(Box::new(Answer::no(Outcome::Ambiguous, message)));
    }
    let args = [slot_id.into(), holder.into(), last.token.into()];
    Ok(open.pop().or_else(|| READ_OWN_LAST.with(|read| read.first(&args, Claim::read))))
}

/// The row that decides for a token: a claim that was confirmed late, or moved, lives on
/// in a later row, whose origin it is.
fn family(slot_id: &str, token: i64) -> Option<Claim> {
    let claim = read_claim(slot_id, token)?;
    if claim.status.is_open() {
        return Some(claim);
    }
    let root = claim.origin.unwrap_or(claim.token);
    let late = READ_LATE.with(|read| read.first(&[slot_id.into(), root.into()], Claim::read));
    Some(late.unwrap_or(claim))
}

statement! {
    /// The holder's claims of periods and units, without those that have expired.
    READ_OWN_OPEN = concat!(
        "SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 AND holder = $2 AND ended_at IS NULL AND units IS NOT NULL
           AND NOT (status = 'claimed' AND on_expiry = 'release' AND expires_at <= $3)
         UNION ALL
         SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 AND holder = $2 AND ended_at IS NULL AND period IS NOT NULL
           AND units IS NULL
           AND NOT (status = 'claimed' AND on_expiry = 'release' AND expires_at <= $3)
         LIMIT 2");

    READ_LATE = concat!(
        "SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 AND origin = $2 ORDER BY token DESC LIMIT 1");

    /// Not further back than a thousand claims: whoever is that late passes the token.
    READ_OWN_LAST = concat!(
        "SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 AND holder = $2 AND token > $3 - 1000
         ORDER BY token DESC LIMIT 1");
}

statement! {
    READ_CLAIM = concat!(
        "SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 AND token = $2");
}

/// One row, on a fresh snapshot.
fn read_claim(slot_id: &str, token: i64) -> Option<Claim> {
    let args = [slot_id.into(), token.into()];
    CLAIMS
        .with(|claims| claims.last(&args, Claim::read))
        .unwrap_or_else(|Unfit| READ_CLAIM.with(|read| read.first(&args, Claim::read)))
}

statement! {
    APPEND =
        "INSERT INTO claims.slot_claims
             (token, holder, status, claimed_at, expires_at, on_expiry, ended_at, ended_by,
              reason, origin, call_id, note, result, period, units, slot_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
         ON CONFLICT DO NOTHING";

    UNDO_APPEND = "DELETE FROM claims.slot_claims WHERE slot_id = $1 AND token = $2";
}

/// Makes a claim active, at the token that must be the slot's next. False: somebody
/// else was first, and nothing was written.
#[must_use]
fn append(turn: &mut Turn, slot_id: &str, claim: &Claim) -> bool {
    let period = claim.extent.period.map(|Period { from, to }| TimeRange { from, to });
    let row = [
        claim.token.into(),
        claim.holder.as_str().into(),
        claim.status.word().into(),
        claim.claimed_at.into(),
        claim.expires_at.into(),
        claim.on_expiry.word().into(),
        claim.ended_at.into(),
        claim.ended_by.as_deref().into(),
        claim.reason.as_deref().into(),
        claim.origin.into(),
        claim.call_id.as_deref().into(),
        claim.note.clone().into(),
        claim.result.clone().into(),
        period.into(),
        claim.extent.units.into(),
        slot_id.into(),
    ];
    // Only units can be claimed of a pool, neither the whole of it nor a period of all of it.
    // That a slot becomes a pool meanwhile is what its lock keeps away.
    if claim.extent.units.is_none() && pool::read(slot_id).is_some() {
        return false;
    }
    let appended = match CLAIMS.with(|claims| claims.insert(&row)) {
        Ok(inserted) => turn.wrote(inserted),
        Err(Unfit) => turn.write(&APPEND, &row),
    };
    if !appended {
        return false;
    }
    turn.tell(claim.news(slot_id));
    let (slot, token) = (slot_id.to_owned(), claim.token);
    turn.or_else_undo(move || {
        UNDO_APPEND.with(|undo| undo.run(&[slot.into(), token.into()]));
    });
    if let Some(units) = claim.extent.counted_units() {
        pool::count(turn, slot_id, units);
    }
    true
}

statement! {
    /// The inner SELECT takes the row without waiting for it: a fence may hold it until
    /// its transaction ends. It sees the row's newest version, and so does the outer
    /// condition; a row that is no longer as it was read is not changed.
    CHANGE =
        "UPDATE claims.slot_claims
         SET status = $5, expires_at = $6, ended_at = $7, ended_by = $8,
             reason = coalesce($9, reason), result = coalesce($10, result)
         WHERE slot_id = $1
           AND token = (SELECT token FROM claims.slot_claims
                        WHERE slot_id = $1 AND token = $2
                          AND status = $3 AND expires_at IS NOT DISTINCT FROM $4
                        FOR NO KEY UPDATE SKIP LOCKED)
           AND status = $3 AND expires_at IS NOT DISTINCT FROM $4";

    UNDO_CHANGE =
        "UPDATE claims.slot_claims
         SET status = $3, expires_at = $4, ended_at = $5, ended_by = $6, reason = $7, result = $8
         WHERE slot_id = $1 AND token = $2";
}

/// What [`change`] makes of a claim.
struct Change<'a> {
    status: Status,
    expires_at: Option<Instant>,
    /// When it ended, and who ended it.
    ended: Option<(Instant, &'a str)>,
    reason: Option<&'a str>,
    result: Option<&'a Json>,
}

impl<'a> Change<'a> {
    fn to(status: Status) -> Self {
        Self { status, expires_at: None, ended: None, reason: None, result: None }
    }

    fn end(status: Status, at: Instant, by: &'a str) -> Self {
        Self { ended: Some((at, by)), ..Self::to(status) }
    }
}

/// Changes an active claim, provided that it is exactly as it was read. `None`: it is
/// not, or somebody holds its row; nothing was written.
#[must_use]
fn change(turn: &mut Turn, slot_id: &str, claim: &Claim, to: &Change) -> Option<Claim> {
    // The pool before the claim: once the claim's row is written there is no way back.
    let given_back = claim.extent.counted_units().filter(|_| to.ended.is_some());
    if given_back.is_some() && pool::hold(slot_id).is_none() {
        return None;
    }
    let key = [slot_id.into(), claim.token.into()];
    let is_as_read =
        |row: &Row| row.must::<&str>(3) == claim.status.word() && row.get(5) == claim.expires_at;
    let values = |_: &Row| {
        let mut values = vec![
            (3, to.status.word().into()),
            (5, to.expires_at.into()),
            (7, to.ended.map(|(at, _)| at).into()),
            (8, to.ended.map(|(_, by)| by).into()),
        ];
        values.extend(to.reason.map(|reason| (9, reason.into())));
        values.extend(to.result.map(|result| (13, result.clone().into())));
        values
    };
    let changed = match CLAIMS.with(|claims| claims.change(&key, is_as_read, values)) {
        Ok(changed) => turn.wrote(changed),
        Err(Unfit) => turn.write(
            &CHANGE,
            &[
                slot_id.into(),
                claim.token.into(),
                claim.status.word().into(),
                claim.expires_at.into(),
                to.status.word().into(),
                to.expires_at.into(),
                to.ended.map(|(at, _)| at).into(),
                to.ended.map(|(_, by)| by).into(),
                to.reason.into(),
                to.result.cloned().into(),
            ],
        ),
    };
    if !changed {
        return None;
    }
    let now = Claim {
        status: to.status,
        expires_at: to.expires_at,
        ended_at: to.ended.map(|(at, _)| at),
        ended_by: to.ended.map(|(_, by)| by.to_owned()),
        reason: to.reason.map(str::to_owned).or_else(|| claim.reason.clone()),
        result: to.result.cloned().or_else(|| claim.result.clone()),
        ..claim.clone()
    };
    if now.status != claim.status {
        turn.tell(now.news(slot_id));
    }
    let (slot, before) = (slot_id.to_owned(), claim.clone());
    turn.or_else_undo(move || before.write_back(&slot));
    if let Some(units) = given_back {
        pool::count(turn, slot_id, -units);
    }
    Some(now)
}

/// Ends a claim whose lease is over, on behalf of whoever takes its place.
#[must_use]
fn end_expired(turn: &mut Turn, slot_id: &str, claim: &Claim, now: Instant, by: &str) -> bool {
    #[cfg(feature = "mutant")]
    if leaves_out(Part::RowGuard) {
        turn.write(&END_UNGUARDED, &[slot_id.into(), claim.token.into(), now.into(), by.into()]);
        return true;
    }
    change(turn, slot_id, claim, &Change::end(Status::Expired, now, by)).is_some()
}

#[cfg(feature = "mutant")]
statement! {
    /// A takeover that trusts what it has read.
    END_UNGUARDED =
        "UPDATE claims.slot_claims
         SET status = 'expired', expires_at = NULL, ended_at = $3, ended_by = $4
         WHERE slot_id = $1 AND token = $2";
}

/// You held it, and it went to another.
fn lost(winner: &Claim, holder: &str, now: Instant) -> Answer {
    let yours = winner.holder == holder;
    Answer {
        status: Some(winner.told_status(now).word()),
        lost_to: Some(winner.holder.clone()),
        lost_since: Some(winner.claimed_at),
        starts_at: winner.extent.period.map(|period| period.from),
        ends_at: winner.extent.period.map(|period| period.to),
        yours: yours.then_some(true),
        ..Answer::no(
            Outcome::Lost,
            if yours {
                "That claim is over; another claim of your own has the slot now."
            } else {
                "That claim is over, and somebody else has the slot now."
            },
        )
    }
}
