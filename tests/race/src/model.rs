//! What every call must answer, as plain Rust: one method a function, one match arm a row of its table.
//!
//! # Layout
//!
//! - this file: the calls, what is expected of one, and everything the tables hold
//! - `slots`: slots, periods, pools, several at once
//! - `keys`: keys
//! - `numbers`: series of numbers
//!
//! The clock has two states here. A lease is [`Lease::Short`]: one millisecond, and whoever drives the
//! calls pauses after it, so that it is over whenever the next call looks. Or it is [`Lease::Long`]: an
//! hour, which no run lasts. So the model never has to guess what the server's clock said.

mod keys;
mod numbers;
mod slots;

use std::collections::BTreeMap;

use serde_json::Value;

use keys::Key;
use numbers::Series;
use slots::Slot;
pub use slots::{Extent, Period, at};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    Short,
    Long,
}

/// What every claim says beside the thing that it claims.
#[derive(Debug, Clone)]
pub struct Terms {
    pub holder: String,
    pub lease: Lease,
    pub on_expiry: OnExpiry,
    pub call_id: Option<String>,
}

/// One call with its arguments.
#[derive(Debug, Clone)]
pub enum Call {
    /// `claim_slot`, `claim_period` or `claim_units`: the extent says which.
    Claim {
        slot: String,
        extent: Extent,
        terms: Terms,
    },
    MovePeriod {
        slot: String,
        holder: String,
        token: Option<i64>,
        period: Period,
    },
    SetCapacity {
        slot: String,
        capacity: i32,
    },
    ClaimMany {
        requests: Vec<(String, Extent)>,
        terms: Terms,
    },
    /// In the order of the slots, none of them twice.
    ConfirmMany {
        claims: Vec<(String, i64)>,
        holder: String,
    },
    /// Likewise.
    ReleaseMany {
        claims: Vec<(String, i64)>,
        holder: String,
        in_doubt: bool,
    },
    ConfirmSlot {
        slot: String,
        holder: String,
        token: Option<i64>,
    },
    ReleaseSlot {
        slot: String,
        holder: String,
        token: Option<i64>,
        in_doubt: bool,
    },
    ExtendSlot {
        slot: String,
        holder: String,
        token: Option<i64>,
        lease: Lease,
    },
    CancelSlot {
        slot: String,
        holder: String,
        token: i64,
    },
    ResolveSlot {
        slot: String,
        holder: String,
        token: i64,
        verdict: Verdict,
    },
    CheckSlot {
        slot: String,
    },
    CheckPeriod {
        slot: String,
        period: Period,
    },
    HoldsSlot {
        slot: String,
        holder: String,
        token: Option<i64>,
    },
    RequireSlot {
        slot: String,
        holder: String,
        token: Option<i64>,
    },
    ReleaseHolder {
        holder: String,
    },
    Reap,
    BeginKey {
        key: String,
        holder: String,
        request: Option<Value>,
        lease: Lease,
        call_id: Option<String>,
    },
    FinishKey {
        key: String,
        holder: String,
        token: i64,
        result: Value,
        outcome: Finish,
    },
    CheckKey {
        key: String,
    },
    ExtendKey {
        key: String,
        holder: String,
        token: i64,
    },
    ResetKey {
        key: String,
        holder: String,
    },
    /// A claim `after => begin_key(…)`, both with a long lease.
    ClaimAfterBegin {
        slot: String,
        extent: Extent,
        key: String,
        holder: String,
        request: Option<Value>,
    },
    /// `finish_key(…, after => confirm_slot(…))`.
    FinishAfterConfirm {
        slot: String,
        token: i64,
        key: String,
        key_token: i64,
        holder: String,
        result: Value,
    },
    CreateSeries {
        series: String,
        first: i64,
        label: String,
        per: Per,
    },
    NextNumber {
        series: String,
        holder: String,
        key: Option<String>,
    },
    VoidNumber {
        series: String,
        number: i64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExpiry {
    Release,
    Review,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Booked,
    Released,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    Done,
    Failed,
    Rejected,
    Unknown,
}

/// When counting starts anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    Forever,
    Year,
}

/// What must come back.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    Answer {
        /// `None` where the tables leave it open.
        ok: Option<bool>,
        /// One of these; any, where it is empty.
        outcomes: Vec<&'static str>,
        /// At least these. `Null` is a fact that must not be there.
        facts: Vec<(&'static str, Value)>,
    },
    Boolean(bool),
    Raises(&'static str),
    /// One of these, all of them ok or none.
    AnyOf(Vec<Expected>),
}

fn yes(outcome: &'static str) -> Expected {
    Expected::Answer { ok: Some(true), outcomes: vec![outcome], facts: vec![] }
}

fn no(outcome: &'static str) -> Expected {
    Expected::Answer { ok: Some(false), outcomes: vec![outcome], facts: vec![] }
}

/// Refused; which of these words is said is left open.
fn refused(outcomes: &[&'static str]) -> Expected {
    Expected::Answer { ok: Some(false), outcomes: outcomes.to_vec(), facts: vec![] }
}

impl Expected {
    fn with(self, name: &'static str, value: impl Into<Value>) -> Expected {
        let value = value.into();
        match self {
            Expected::Answer { ok, outcomes, mut facts } => {
                facts.push((name, value));
                Expected::Answer { ok, outcomes, facts }
            }
            Expected::AnyOf(answers) => Expected::AnyOf(
                answers.into_iter().map(|answer| answer.with(name, value.clone())).collect(),
            ),
            other => other,
        }
    }

    fn is_ok(&self) -> bool {
        match self {
            Expected::Answer { ok, .. } => *ok == Some(true),
            Expected::AnyOf(answers) => answers.iter().all(Expected::is_ok),
            Expected::Boolean(_) | Expected::Raises(_) => false,
        }
    }

    fn fact(&self, name: &str) -> Option<&Value> {
        match self {
            Expected::Answer { facts, .. } => {
                facts.iter().find(|fact| fact.0 == name).map(|fact| &fact.1)
            }
            Expected::AnyOf(answers) => answers.first()?.fact(name),
            Expected::Boolean(_) | Expected::Raises(_) => None,
        }
    }

    /// Of an answer whose outcome is not left open.
    fn outcome(&self) -> &'static str {
        match self {
            Expected::Answer { outcomes, .. } => outcomes[0],
            Expected::AnyOf(answers) => answers[0].outcome(),
            Expected::Boolean(_) | Expected::Raises(_) => unreachable!("it has no outcome"),
        }
    }
}

/// Everything the tables hold.
#[derive(Debug, Clone)]
pub struct Model {
    slots: BTreeMap<String, Slot>,
    keys: BTreeMap<String, Key>,
    series: BTreeMap<String, Series>,
    /// The year it is.
    year: i32,
}

/// The rows of each table, in its primary key's order.
#[derive(Debug, PartialEq)]
pub struct Rows {
    pub slot_claims: Vec<Value>,
    pub pools: Vec<Value>,
    pub keys: Vec<Value>,
    pub numbers: Vec<Value>,
}

impl Model {
    pub fn new(year: i32) -> Model {
        Model { slots: BTreeMap::new(), keys: BTreeMap::new(), series: BTreeMap::new(), year }
    }

    /// Makes the call on the model, and says what the server must answer.
    pub fn answer(&mut self, call: &Call) -> Expected {
        match call.clone() {
            Call::Claim { slot, extent, terms } => self.slot(&slot).claim(extent, &terms),
            Call::MovePeriod { slot, holder, token, period } => {
                self.slot(&slot).move_period(&holder, token, period)
            }
            Call::SetCapacity { slot, capacity } => self.slot(&slot).set_capacity(capacity),
            Call::ClaimMany { requests, terms } => self.claim_many(&requests, &terms),
            Call::ConfirmMany { claims, holder } => self.confirm_many(&claims, &holder),
            Call::ReleaseMany { claims, holder, in_doubt } => {
                self.release_many(&claims, &holder, in_doubt)
            }
            Call::ConfirmSlot { slot, holder, token } => self.slot(&slot).confirm(&holder, token),
            Call::ReleaseSlot { slot, holder, token, in_doubt } => {
                self.slot(&slot).release(&holder, token, in_doubt)
            }
            Call::ExtendSlot { slot, holder, token, .. } => self.slot(&slot).extend(&holder, token),
            Call::CancelSlot { slot, holder, token } => self.slot(&slot).cancel(&holder, token),
            Call::ResolveSlot { slot, holder, token, verdict } => {
                self.slot(&slot).resolve(&holder, token, verdict)
            }
            Call::CheckSlot { slot } => self.slot(&slot).check(),
            Call::CheckPeriod { slot, period } => self.slot(&slot).check_period(period),
            Call::HoldsSlot { slot, holder, token } => {
                Expected::Boolean(self.slot(&slot).holds(&holder, token))
            }
            Call::RequireSlot { slot, holder, token } => {
                match self.slot(&slot).holds(&holder, token) {
                    true => Expected::Boolean(true),
                    false => Expected::Raises("55000"),
                }
            }
            Call::ReleaseHolder { holder } => self.release_holder(&holder),
            Call::Reap => self.reap(),
            Call::BeginKey { key, holder, request, lease, call_id } => {
                self.begin_key(&key, &holder, request, lease, call_id)
            }
            Call::FinishKey { key, holder, token, result, outcome } => {
                self.finish_key(&key, &holder, token, result, outcome)
            }
            Call::CheckKey { key } => self.check_key(&key),
            Call::ExtendKey { key, holder, token } => self.extend_key(&key, &holder, token),
            Call::ResetKey { key, .. } => self.reset_key(&key),
            Call::ClaimAfterBegin { slot, extent, key, holder, request } => {
                self.claim_after_begin(&slot, extent, &key, &holder, request)
            }
            Call::FinishAfterConfirm { slot, token, key, key_token, holder, result } => {
                match self.slot(&slot).confirm(&holder, Some(token)) {
                    raises @ Expected::Raises(_) => raises,
                    answer if answer.is_ok() => {
                        self.finish_key(&key, &holder, key_token, result, Finish::Done)
                    }
                    _ => no("not_reached"),
                }
            }
            Call::CreateSeries { series, first, label, per } => {
                self.create_series(&series, first, &label, per)
            }
            Call::NextNumber { series, holder, key } => self.next_number(&series, &holder, key),
            Call::VoidNumber { series, number } => self.void_number(&series, number),
        }
    }

    // Two calls that are one decision.

    fn claim_after_begin(
        &mut self,
        slot: &str,
        extent: Extent,
        key: &str,
        holder: &str,
        request: Option<Value>,
    ) -> Expected {
        let before = self.clone();
        if !self.begin_key(key, holder, request, Lease::Long, None).is_ok() {
            return no("not_reached");
        }
        let holder = holder.to_owned();
        let (lease, on_expiry, call_id) = (Lease::Long, OnExpiry::Release, None);
        let terms = Terms { holder, lease, on_expiry, call_id };
        let claim = self.slot(slot).claim(extent, &terms);
        match &claim {
            // The statement fails as a whole.
            Expected::Raises(_) => *self = before,
            answer if !answer.is_ok() => self.give_up(key),
            _ => {}
        }
        claim
    }

    /// The rows that the tables must now hold.
    pub fn rows(&self) -> Rows {
        Rows {
            slot_claims: self.slot_rows(),
            pools: self.pool_rows(),
            keys: self.key_rows(),
            numbers: self.number_rows(),
        }
    }
}
