//! Random sequences of calls by several holders on few slots, pools, keys and series, each answer and
//! each row compared with the model.
//!
//! A failure prints the shortest sequence that still fails, and the seed: `RACES_SEED=… cargo test`
//! runs the same cases again. `RACES_CASES=…` runs more of them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::env;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use races::model::{
    Call, Expected, Extent, Finish, Lease, Model, OnExpiry, Per, Period, Rows, Terms, Verdict, at,
};
use races::{Answer, Session, fresh_database, sqlstate, told};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_postgres::Error;

/// A call before it is known what there is to call it on. Numbers choose among what the model holds.
#[derive(Debug, Clone)]
enum Step {
    Claim {
        what: What,
        who: Who,
    },
    Move {
        slot: u8,
        whose: Whose,
        period: Period,
    },
    SetCapacity {
        slot: u8,
        capacity: i32,
    },
    ClaimMany {
        what: Vec<What>,
        who: Who,
    },
    ConfirmMany {
        slots: Vec<(u8, Whose)>,
        holder: u8,
    },
    ReleaseMany {
        slots: Vec<(u8, Whose)>,
        holder: u8,
        in_doubt: bool,
    },
    Confirm {
        slot: u8,
        whose: Whose,
    },
    Release {
        slot: u8,
        whose: Whose,
        in_doubt: bool,
    },
    Extend {
        slot: u8,
        whose: Whose,
        lease: Lease,
    },
    Cancel {
        slot: u8,
        whose: Whose,
    },
    Resolve {
        slot: u8,
        whose: Whose,
        verdict: Verdict,
    },
    Check {
        slot: u8,
    },
    CheckPeriod {
        slot: u8,
        period: Period,
    },
    Holds {
        slot: u8,
        whose: Whose,
    },
    Require {
        slot: u8,
        whose: Whose,
    },
    ReleaseHolder {
        holder: u8,
    },
    Reap,
    Begin {
        key: u8,
        holder: u8,
        other_request: bool,
        lease: Lease,
        call_id: Option<u8>,
    },
    Finish {
        key: u8,
        whose: Whose,
        outcome: Finish,
        result: u8,
    },
    CheckKey {
        key: u8,
    },
    ExtendKey {
        key: u8,
        whose: Whose,
    },
    ResetKey {
        key: u8,
    },
    ClaimAfterBegin {
        what: What,
        key: u8,
        holder: u8,
    },
    FinishAfterConfirm {
        slot: u8,
        whose: Whose,
        key: u8,
    },
    CreateSeries {
        series: u8,
        as_which: u8,
    },
    NextNumber {
        series: u8,
        holder: u8,
        key: Option<u8>,
    },
    VoidNumber {
        series: u8,
        number: i64,
    },
    /// An earlier claim of the sequence once more, as it was: its answer was lost, or a node is re-run.
    Again {
        age: u8,
    },
}

/// A token and a holder: most often the newest token and whoever was given it.
#[derive(Debug, Clone, Copy)]
struct Whose {
    /// How far back from the newest.
    age: u8,
    /// Named in the call, where the call may leave it out.
    named: bool,
    /// Another holder than the token's own.
    stranger: Option<u8>,
    /// A token that was never given.
    unknown: bool,
}

/// What is claimed: of a pool the units, else the slot; for the period, if there is one.
#[derive(Debug, Clone, Copy)]
struct What {
    slot: u8,
    period: Option<Period>,
    units: i32,
    /// Units of a slot that is no pool, or a pool as a whole.
    is_misfit: bool,
}

#[derive(Debug, Clone, Copy)]
struct Who {
    holder: u8,
    lease: Lease,
    on_expiry: OnExpiry,
    call_id: Option<u8>,
}

prop_compose! {
    fn whose()(
        age in prop_oneof![6 => Just(0u8), 2 => Just(1u8), 1 => 2..5u8],
        stranger in prop_oneof![5 => Just(None), 1 => holder().prop_map(Some)],
        named in prop::bool::weighted(0.7),
        unknown in prop::bool::weighted(0.03),
    ) -> Whose {
        Whose { age, named, stranger, unknown }
    }
}

prop_compose! {
    fn who()(
        holder in holder(),
        lease in lease(),
        on_expiry in prop_oneof![2 => Just(OnExpiry::Release), 1 => Just(OnExpiry::Review)],
        call_id in call_id(),
    ) -> Who {
        Who { holder, lease, on_expiry, call_id }
    }
}

prop_compose! {
    fn period()(from in 9..13u8, hours in 1..4u8) -> Period {
        Period { from, to: from + hours }
    }
}

fn lease() -> impl Strategy<Value = Lease> {
    prop_oneof![Just(Lease::Short), Just(Lease::Long)]
}

fn call_id() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![1 => Just(None), 1 => (0..2u8).prop_map(Some)]
}

fn holder() -> std::ops::Range<u8> {
    0..3
}

/// The first of them are rooms, and the others pools from the beginning.
const ROOMS: u8 = 2;
const POOLS: u8 = 2;
const SERIES: u8 = 2;

/// What the calls of a sequence are about.
#[derive(Clone, Copy, PartialEq)]
enum About {
    WholeSlots,
    Everything,
}

impl About {
    fn slot(self) -> std::ops::Range<u8> {
        match self {
            About::WholeSlots => 0..ROOMS,
            About::Everything => 0..ROOMS + POOLS,
        }
    }

    fn what(self) -> BoxedStrategy<What> {
        match self {
            About::WholeSlots => self
                .slot()
                .prop_map(|slot| What { slot, period: None, units: 1, is_misfit: false })
                .boxed(),
            About::Everything => {
                let period = prop_oneof![1 => Just(None), 2 => period().prop_map(Some)];
                (self.slot(), period, 1..4, prop::bool::weighted(0.03))
                    .prop_map(|(slot, period, units, is_misfit)| What {
                        slot,
                        period,
                        units,
                        is_misfit,
                    })
                    .boxed()
            }
        }
    }

    /// What there is before the first step.
    fn set_up(self) -> Vec<Step> {
        match self {
            About::WholeSlots => vec![],
            About::Everything => {
                let pools = (ROOMS..ROOMS + POOLS)
                    .map(|slot| Step::SetCapacity { slot, capacity: i32::from(slot) });
                let series = (0..SERIES).map(|n| Step::CreateSeries { series: n, as_which: n });
                pools.chain(series).collect()
            }
        }
    }
}

fn slot_step(about: About) -> BoxedStrategy<Step> {
    let slot = || about.slot();
    let verdict = prop_oneof![Just(Verdict::Booked), Just(Verdict::Released)];
    prop_oneof![
        8 => (about.what(), who()).prop_map(|(what, who)| Step::Claim { what, who }),
        5 => (slot(), whose()).prop_map(|(slot, whose)| Step::Confirm { slot, whose }),
        4 => (slot(), whose(), any::<bool>()).prop_map(|(slot, whose, in_doubt)|
            Step::Release { slot, whose, in_doubt }),
        2 => (slot(), whose(), lease()).prop_map(|(slot, whose, lease)| Step::Extend { slot, whose, lease }),
        5 => (slot(), whose()).prop_map(|(slot, whose)| Step::Cancel { slot, whose }),
        3 => (slot(), whose(), verdict).prop_map(|(slot, whose, verdict)| Step::Resolve { slot, whose, verdict }),
        1 => slot().prop_map(|slot| Step::Check { slot }),
        1 => (slot(), whose()).prop_map(|(slot, whose)| Step::Holds { slot, whose }),
        1 => (slot(), whose()).prop_map(|(slot, whose)| Step::Require { slot, whose }),
        1 => holder().prop_map(|holder| Step::ReleaseHolder { holder }),
    ]
    .boxed()
}

/// The calls that whole slots do not have.
fn extent_step() -> BoxedStrategy<Step> {
    let slot = || About::Everything.slot();
    let several = || vec((slot(), whose()), 1..4);
    // Rarely a room, which is then no room any more.
    let pool = prop_oneof![6 => ROOMS..ROOMS + POOLS, 1 => 0..ROOMS];
    prop_oneof![
        4 => (slot(), whose(), period()).prop_map(|(slot, whose, period)| Step::Move { slot, whose, period }),
        4 => (vec(About::Everything.what(), 1..4), who()).prop_map(|(what, who)| Step::ClaimMany { what, who }),
        3 => (several(), holder()).prop_map(|(slots, holder)| Step::ConfirmMany { slots, holder }),
        2 => (several(), holder(), any::<bool>()).prop_map(|(slots, holder, in_doubt)|
            Step::ReleaseMany { slots, holder, in_doubt }),
        1 => (slot(), period()).prop_map(|(slot, period)| Step::CheckPeriod { slot, period }),
        1 => (pool, 0..5).prop_map(|(slot, capacity)| Step::SetCapacity { slot, capacity }),
        1 => Just(Step::Reap),
    ]
    .boxed()
}

fn number_step() -> BoxedStrategy<Step> {
    let series = || 0..SERIES + 1;
    let key = prop_oneof![1 => Just(None), 2 => (0..3u8).prop_map(Some)];
    prop_oneof![
        4 => (series(), holder(), key).prop_map(|(series, holder, key)| Step::NextNumber { series, holder, key }),
        2 => (series(), 0..8i64).prop_map(|(series, number)| Step::VoidNumber { series, number }),
        1 => (series(), series()).prop_map(|(series, as_which)| Step::CreateSeries { series, as_which }),
    ]
    .boxed()
}

fn key_step(about: About) -> BoxedStrategy<Step> {
    let key = || 0..2u8;
    let outcome = prop_oneof![3 => Just(Finish::Done), 2 => Just(Finish::Failed), 1 => Just(Finish::Rejected), 1 => Just(Finish::Unknown)];
    prop_oneof![
        8 => (key(), holder(), prop::bool::weighted(0.1), lease(), call_id()).prop_map(
            |(key, holder, other_request, lease, call_id)| Step::Begin { key, holder, other_request, lease, call_id }),
        5 => (key(), whose(), outcome, any::<u8>()).prop_map(|(key, whose, outcome, result)|
            Step::Finish { key, whose, outcome, result }),
        1 => key().prop_map(|key| Step::CheckKey { key }),
        1 => (key(), whose()).prop_map(|(key, whose)| Step::ExtendKey { key, whose }),
        2 => key().prop_map(|key| Step::ResetKey { key }),
        3 => (about.what(), key(), holder()).prop_map(|(what, key, holder)| Step::ClaimAfterBegin { what, key, holder }),
        3 => (about.slot(), whose(), key()).prop_map(|(slot, whose, key)| Step::FinishAfterConfirm { slot, whose, key }),
        1 => Just(Step::Reap),
    ]
    .boxed()
}

fn any_step() -> BoxedStrategy<Step> {
    let about = About::Everything;
    prop_oneof![
        10 => slot_step(about),
        6 => extent_step(),
        2 => number_step(),
        2 => key_step(about),
        1 => (0..6u8).prop_map(|age| Step::Again { age }),
    ]
    .boxed()
}

/// The names of one case, so that cases do not meet.
struct Names {
    case: u32,
}

impl Names {
    fn slot(&self, n: u8) -> String {
        format!("{}:slot{n}", self.case)
    }

    fn series(&self, n: u8) -> String {
        format!("{}:series{n}", self.case)
    }

    fn key(&self, n: u8) -> String {
        format!("{}:key{n}", self.case)
    }

    fn holder(&self, n: u8) -> String {
        format!("{}:run{n}", self.case)
    }

    /// The call that a step comes to on what the model holds, and after which claims.
    fn call(&self, step: &Step, model: &Model, made: &[Call]) -> Call {
        match *step {
            Step::Claim { what, who } => {
                let (slot, extent) = self.extent(what, model);
                Call::Claim { slot, extent, terms: self.terms(who, &extent) }
            }
            Step::Move { slot, whose, period } => {
                let (slot, holder, token) = self.claim(slot, whose, model);
                Call::MovePeriod { slot, holder, token: whose.named.then_some(token), period }
            }
            Step::SetCapacity { slot, capacity } => {
                Call::SetCapacity { slot: self.slot(slot), capacity }
            }
            Step::ClaimMany { ref what, who } => {
                let requests: Vec<_> = what.iter().map(|what| self.extent(*what, model)).collect();
                let terms = self.terms(who, &requests);
                Call::ClaimMany { requests, terms }
            }
            Step::ConfirmMany { ref slots, holder } => {
                let claims = self.claims(slots, holder, model);
                Call::ConfirmMany { claims, holder: self.holder(holder) }
            }
            Step::ReleaseMany { ref slots, holder, in_doubt } => {
                let claims = self.claims(slots, holder, model);
                Call::ReleaseMany { claims, holder: self.holder(holder), in_doubt }
            }
            Step::Confirm { slot, whose } => {
                let (slot, holder, token) = self.claim(slot, whose, model);
                Call::ConfirmSlot { slot, holder, token: whose.named.then_some(token) }
            }
            Step::Release { slot, whose, in_doubt } => {
                let (slot, holder, token) = self.claim(slot, whose, model);
                Call::ReleaseSlot { slot, holder, token: whose.named.then_some(token), in_doubt }
            }
            Step::Extend { slot, whose, lease } => {
                let (slot, holder, token) = self.claim(slot, whose, model);
                Call::ExtendSlot { slot, holder, token: whose.named.then_some(token), lease }
            }
            Step::Cancel { slot, whose } => {
                let (slot, holder, token) = self.claim(slot, whose, model);
                Call::CancelSlot { slot, holder, token }
            }
            Step::Resolve { slot, whose, verdict } => {
                let (slot, holder, token) = self.claim(slot, whose, model);
                Call::ResolveSlot { slot, holder, token, verdict }
            }
            Step::Check { slot } => Call::CheckSlot { slot: self.slot(slot) },
            Step::CheckPeriod { slot, period } => {
                Call::CheckPeriod { slot: self.slot(slot), period }
            }
            Step::Holds { slot, whose } => {
                let (slot, holder, token) = self.claim(slot, whose, model);
                Call::HoldsSlot { slot, holder, token: whose.named.then_some(token) }
            }
            Step::Require { slot, whose } => {
                let (slot, holder, token) = self.claim(slot, whose, model);
                Call::RequireSlot { slot, holder, token: whose.named.then_some(token) }
            }
            Step::ReleaseHolder { holder } => Call::ReleaseHolder { holder: self.holder(holder) },
            Step::Reap => Call::Reap,
            Step::Again { age } => made
                .iter()
                .rev()
                .nth(usize::from(age))
                .or(made.last())
                .cloned()
                .unwrap_or(Call::Reap),
            Step::Begin { key, holder, other_request, lease, call_id: id } => Call::BeginKey {
                key: self.key(key),
                holder: self.holder(holder),
                request: self.request(key, other_request, model),
                lease,
                call_id: id.map(|n| format!("call {n}")),
            },
            Step::Finish { key, whose, mut outcome, result } => {
                let (name, holder, token) = self.granted(key, whose, model);
                if model.is_failed(&name) && outcome != Finish::Done {
                    outcome = Finish::Failed;
                }
                Call::FinishKey {
                    key: name,
                    holder,
                    token,
                    result: json!({ "charge": result }),
                    outcome,
                }
            }
            Step::CheckKey { key } => Call::CheckKey { key: self.key(key) },
            Step::ExtendKey { key, whose } => {
                let (key, holder, token) = self.granted(key, whose, model);
                Call::ExtendKey { key, holder, token }
            }
            Step::ResetKey { key } => Call::ResetKey { key: self.key(key), holder: self.holder(0) },
            Step::ClaimAfterBegin { what, key, holder } => {
                let (slot, extent) = self.extent(what, model);
                Call::ClaimAfterBegin {
                    slot,
                    extent,
                    key: self.key(key),
                    holder: self.holder(holder),
                    request: self.request(key, false, model),
                }
            }
            Step::FinishAfterConfirm { slot, whose, key } => {
                let (slot, _, token) = self.claim(slot, whose, model);
                let (key, holder, key_token) = self.granted(key, whose, model);
                Call::FinishAfterConfirm {
                    slot,
                    token,
                    key,
                    key_token,
                    holder,
                    result: json!({ "event": 1 }),
                }
            }
            Step::CreateSeries { series, as_which } => {
                let (first, label, per) = match as_which {
                    0 => (1, "R{n:04}", Per::Forever),
                    1 => (5, "INV-{yyyy}-{n:04}", Per::Year),
                    _ => (0, "{n}", Per::Forever),
                };
                let series = self.series(series);
                Call::CreateSeries { series, first, label: label.to_owned(), per }
            }
            Step::NextNumber { series, holder, key } => Call::NextNumber {
                series: self.series(series),
                holder: self.holder(holder),
                key: key.map(|n| format!("order {n}")),
            },
            Step::VoidNumber { series, number } => {
                Call::VoidNumber { series: self.series(series), number }
            }
        }
    }

    fn extent(&self, what: What, model: &Model) -> (String, Extent) {
        let slot = self.slot(what.slot);
        let extent = match (model.is_pool(&slot) != what.is_misfit, what.period) {
            (false, None) => Extent::Whole,
            (false, Some(period)) => Extent::Period(period),
            (true, None) => Extent::Units(what.units),
            (true, Some(period)) => Extent::UnitsFor(what.units, period),
        };
        (slot, extent)
    }

    /// A call_id names one call: it is never used for a claim of something else.
    fn terms(&self, who: Who, asked: &impl std::fmt::Debug) -> Terms {
        Terms {
            holder: self.holder(who.holder),
            lease: who.lease,
            on_expiry: who.on_expiry,
            call_id: who.call_id.map(|n| format!("call {n}: {asked:?}")),
        }
    }

    /// Claims of the holder, and now and then somebody else's.
    fn claims(&self, slots: &[(u8, Whose)], holder: u8, model: &Model) -> Vec<(String, i64)> {
        let holder = self.holder(holder);
        let claim = |(slot, whose): &(u8, Whose)| {
            let name = self.slot(*slot);
            let given = model.tokens_of(&name);
            let mut own = given
                .iter()
                .rev()
                .filter(|(_, of)| *of == holder || whose.stranger.is_some())
                .map(|(token, _)| *token);
            let token = own.clone().nth(usize::from(whose.age)).or(own.next())?;
            Some((name, if whose.unknown { 99 } else { token }))
        };
        let mut claims: Vec<_> = slots.iter().filter_map(claim).collect();
        claims.sort();
        claims.dedup();
        if claims.is_empty() {
            claims.push((self.slot(0), 99));
        }
        claims
    }

    fn claim(&self, slot: u8, whose: Whose, model: &Model) -> (String, String, i64) {
        let name = self.slot(slot);
        let given = model.tokens_of(&name);
        let chosen = given.iter().rev().nth(usize::from(whose.age)).or(given.last());
        let (token, own) = chosen.cloned().unwrap_or((1, self.holder(0)));
        let holder = whose.stranger.map_or(own, |n| self.holder(n));
        (name, holder, if whose.unknown { 99 } else { token })
    }

    fn granted(&self, key: u8, whose: Whose, model: &Model) -> (String, String, i64) {
        let name = self.key(key);
        let given = model.key_tokens_of(&name);
        let chosen = given.iter().rev().nth(usize::from(whose.age)).or(given.last());
        let (token, own) = chosen.cloned().unwrap_or((1, None));
        let holder =
            whose.stranger.map(|n| self.holder(n)).or(own).unwrap_or_else(|| self.holder(0));
        (name, holder, if whose.unknown { 99 } else { token })
    }

    /// Key 1 is begun without a request. Key 0 always has one, most often the stored one with its
    /// fields in another order.
    fn request(&self, key: u8, other: bool, model: &Model) -> Option<Value> {
        let name = self.key(key);
        if key == 1 {
            None
        } else if other && model.request_of(&name).is_some() && !model.is_reset(&name) {
            Some(json!({ "amount": 6, "to": "a" }))
        } else {
            Some(json!({ "amount": 5, "to": "a" }))
        }
    }
}

/// `1 ms` is over after the pause that follows the call.
const PAUSE: Duration = Duration::from_millis(2);

fn interval(lease: Lease) -> &'static str {
    match lease {
        Lease::Short => "1 ms",
        Lease::Long => "1 hour",
    }
}

/// The call as SQL. Every case is small, so the statement is written out: what failed can be pasted.
fn sql(call: &Call) -> String {
    fn quoted(text: &str) -> String {
        format!("'{}'", text.replace('\'', "''"))
    }
    fn or_null(text: Option<String>) -> String {
        text.map_or("NULL".to_owned(), |text| quoted(&text))
    }
    fn token(token: &Option<i64>) -> String {
        token.map_or("NULL".to_owned(), |token| token.to_string())
    }
    fn period(period: &Period) -> String {
        format!("{}, {}", quoted(&at(period.from)), quoted(&at(period.to)))
    }
    fn claim(slot: &str, holder: &str, extent: &Extent) -> String {
        let (slot, holder) = (quoted(slot), quoted(holder));
        match extent {
            Extent::Whole => format!("claim_slot({slot}, {holder}"),
            Extent::Period(p) => format!("claim_period({slot}, {holder}, {}", period(p)),
            Extent::Units(units) => format!("claim_units({slot}, {holder}, {units}"),
            Extent::UnitsFor(units, p) => {
                format!("claim_period({slot}, {holder}, {}, {units}", period(p))
            }
        }
    }
    fn terms(terms: &Terms) -> String {
        format!(
            "ttl => '{}', on_expiry => '{}', call_id => {})",
            interval(terms.lease),
            if terms.on_expiry == OnExpiry::Review { "review" } else { "release" },
            or_null(terms.call_id.clone())
        )
    }
    fn request((slot, extent): &(String, Extent)) -> Value {
        let (units, period) = match *extent {
            Extent::Whole => (None, None),
            Extent::Period(period) => (None, Some(period)),
            Extent::Units(units) => (Some(units), None),
            Extent::UnitsFor(units, period) => (Some(units), Some(period)),
        };
        let mut request = json!({ "slot_id": slot });
        if let Some(units) = units {
            request["units"] = json!(units);
        }
        if let Some(Period { from, to }) = period {
            (request["starts_at"], request["ends_at"]) = (json!(at(from)), json!(at(to)));
        }
        request
    }
    fn claims(claims: &[(String, i64)]) -> String {
        let claim = |(slot, token): &(String, i64)| json!({ "slot_id": slot, "token": token });
        quoted(&Value::from_iter(claims.iter().map(claim)).to_string())
    }
    let expression = match call {
        Call::Claim { slot, extent, terms: t } => {
            format!("{}, {}", claim(slot, &t.holder, extent), terms(t))
        }
        Call::MovePeriod { slot, holder, token: t, period: p } => {
            format!(
                "move_period({}, {}, {}, {})",
                quoted(slot),
                quoted(holder),
                token(t),
                period(p)
            )
        }
        Call::SetCapacity { slot, capacity } => {
            format!("set_capacity({}, {capacity})", quoted(slot))
        }
        Call::ClaimMany { requests, terms: t } => {
            let requests = Value::from_iter(requests.iter().map(request));
            let (requests, holder) = (quoted(&requests.to_string()), quoted(&t.holder));
            format!("claim_many({requests}, {holder}, {}", terms(t))
        }
        Call::ConfirmMany { claims: c, holder } => {
            format!("confirm_many({}, {})", claims(c), quoted(holder))
        }
        Call::ReleaseMany { claims: c, holder, in_doubt } => {
            format!("release_many({}, {}, in_doubt => {in_doubt})", claims(c), quoted(holder))
        }
        Call::ConfirmSlot { slot, holder, token: t } => {
            format!("confirm_slot({}, {}, {})", quoted(slot), quoted(holder), token(t))
        }
        Call::ReleaseSlot { slot, holder, token: t, in_doubt } => {
            format!(
                "release_slot({}, {}, {}, in_doubt => {in_doubt})",
                quoted(slot),
                quoted(holder),
                token(t)
            )
        }
        Call::ExtendSlot { slot, holder, token: t, lease } => {
            format!(
                "extend_slot({}, {}, {}, '{}')",
                quoted(slot),
                quoted(holder),
                token(t),
                interval(*lease)
            )
        }
        Call::CancelSlot { slot, holder, token } => {
            format!("cancel_slot({}, {}, {token})", quoted(slot), quoted(holder))
        }
        Call::ResolveSlot { slot, holder, token, verdict } => format!(
            "resolve_slot({}, {}, {token}, '{}')",
            quoted(slot),
            quoted(holder),
            if *verdict == Verdict::Booked { "booked" } else { "released" }
        ),
        Call::CheckSlot { slot } => format!("check_slot({})", quoted(slot)),
        Call::CheckPeriod { slot, period: p } => {
            format!("check_period({}, {})", quoted(slot), period(p))
        }
        Call::HoldsSlot { slot, holder, token: t } => {
            format!("holds_slot({}, {}, {})", quoted(slot), quoted(holder), token(t))
        }
        Call::RequireSlot { slot, holder, token: t } => {
            format!("require_slot({}, {}, {})", quoted(slot), quoted(holder), token(t))
        }
        Call::ReleaseHolder { holder } => format!("release_holder({})", quoted(holder)),
        Call::Reap => "reap_stale_claims()".to_owned(),
        Call::BeginKey { key, holder, request, lease, call_id } => format!(
            "begin_key({}, {}, {}, '{}', {})",
            quoted(key),
            quoted(holder),
            or_null(request.as_ref().map(Value::to_string)),
            interval(*lease),
            or_null(call_id.clone())
        ),
        Call::FinishKey { key, holder, token, result, outcome } => format!(
            "finish_key({}, {}, {token}, {}, '{}')",
            quoted(key),
            quoted(holder),
            quoted(&result.to_string()),
            match outcome {
                Finish::Done => "done",
                Finish::Failed => "failed",
                Finish::Rejected => "rejected",
                Finish::Unknown => "unknown",
            }
        ),
        Call::CheckKey { key } => format!("check_key({})", quoted(key)),
        Call::ExtendKey { key, holder, token } => {
            format!("extend_key({}, {}, {token}, '1 hour')", quoted(key), quoted(holder))
        }
        Call::ResetKey { key, holder } => format!("reset_key({}, {})", quoted(key), quoted(holder)),
        Call::ClaimAfterBegin { slot, extent, key, holder, request } => format!(
            "{}, ttl => '1 hour', after => begin_key({}, {}, {}, '1 hour'))",
            claim(slot, holder, extent),
            quoted(key),
            quoted(holder),
            or_null(request.as_ref().map(Value::to_string))
        ),
        Call::FinishAfterConfirm { slot, token, key, key_token, holder, result } => format!(
            "finish_key({}, {}, {key_token}, {}, after => confirm_slot({}, {}, {token}))",
            quoted(key),
            quoted(holder),
            quoted(&result.to_string()),
            quoted(slot),
            quoted(holder)
        ),
        Call::CreateSeries { series, first, label, per } => format!(
            "create_series({}, {first}, {}, '{}')",
            quoted(series),
            quoted(label),
            if *per == Per::Year { "year" } else { "forever" }
        ),
        Call::NextNumber { series, holder, key } => {
            let key = or_null(key.clone());
            format!("next_number({}, {}, {key})", quoted(series), quoted(holder))
        }
        Call::VoidNumber { series, number } => {
            format!("void_number({}, {number})", quoted(series))
        }
    };
    format!("SELECT {expression}")
}

/// Does the server's answer say what the model expects? If not, what it lacks.
fn judge(expected: &Expected, got: &Result<Answer, Error>) -> Result<(), String> {
    let is_as_expected = match (expected, got) {
        (Expected::AnyOf(answers), _) => answers.iter().any(|one| judge(one, got).is_ok()),
        (Expected::Raises(state), Err(error)) => sqlstate(error) == *state,
        (Expected::Boolean(wanted), Ok(answer)) => answer.0 == json!(wanted),
        (Expected::Answer { ok, outcomes, facts }, Ok(answer)) => {
            ok.is_none_or(|ok| ok == answer.ok())
                && (outcomes.is_empty() || outcomes.contains(&answer.outcome()))
                && facts.iter().all(|(name, wanted)| says(answer.fact(name), wanted))
        }
        (Expected::Raises(_), Ok(_)) | (_, Err(_)) => false,
    };
    match got {
        _ if is_as_expected => Ok(()),
        Ok(answer) => Err(format!("expected {expected:?}, answered {answer}")),
        Err(error) => Err(format!("expected {expected:?}, raised {}", told(error))),
    }
}

/// An object may say more than is wanted of it.
fn says(got: &Value, wanted: &Value) -> bool {
    match (got, wanted) {
        (Value::Object(got), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| says(got.get(name).unwrap_or(&Value::Null), wanted))
        }
        (Value::Array(got), Value::Array(wanted)) => {
            got.len() == wanted.len()
                && got.iter().zip(wanted).all(|(got, wanted)| says(got, wanted))
        }
        _ => got == wanted,
    }
}

/// The rows of one case in the shape of the model's. What is over is still counted as taken until
/// somebody ends it; the model's count is the one that a claim would find. A key that was reset has no
/// holder, and its status is left open.
const ROWS: &str = "
    SELECT
    (SELECT coalesce(jsonb_agg(jsonb_build_array(slot_id, token, holder, CASE
        WHEN status = 'claimed' AND expires_at <= clock_timestamp()
        THEN CASE on_expiry WHEN 'review' THEN 'review' ELSE 'over' END ELSE status END,
        CASE WHEN period IS NOT NULL THEN jsonb_build_array(
            extract(hour FROM lower(period) AT TIME ZONE 'UTC')::int,
            extract(hour FROM upper(period) AT TIME ZONE 'UTC')::int) END,
        units, origin)
        ORDER BY slot_id COLLATE \"C\", token), '[]')
    FROM claims.slot_claims WHERE starts_with(slot_id, $1)),
    (SELECT coalesce(jsonb_agg(jsonb_build_array(slot_id, capacity, taken - (
        SELECT coalesce(sum(units), 0) FROM claims.slot_claims AS claim
        WHERE claim.slot_id = pool.slot_id AND period IS NULL AND status = 'claimed'
          AND on_expiry = 'release' AND expires_at <= clock_timestamp()))
        ORDER BY slot_id COLLATE \"C\"), '[]')
    FROM claims.pools AS pool WHERE starts_with(slot_id, $1)),
    (SELECT coalesce(jsonb_agg(jsonb_build_array(key, token, holder, CASE
        WHEN holder IS NULL THEN NULL
        WHEN status = 'pending' AND lease_expires_at <= clock_timestamp() THEN 'overdue' ELSE status END)
        ORDER BY key COLLATE \"C\"), '[]')
    FROM claims.keys WHERE starts_with(key, $1)),
    (SELECT coalesce(jsonb_agg(jsonb_build_array(series, span, number, label, status, holder, key)
        ORDER BY series COLLATE \"C\", span COLLATE \"C\", number), '[]')
    FROM claims.numbers WHERE starts_with(series, $1))";

async fn rows_of(session: &Session, case: u32) -> Rows {
    let row = session.query_one(ROWS, &[&format!("{case}:")]).await.unwrap_or_else(|e| {
        panic!("cannot read the rows of case {case}: {}", told(&e));
    });
    let table = |n: usize| match row.get(n) {
        Value::Array(rows) => rows,
        other => panic!("no array of rows: {other}"),
    };
    Rows { slot_claims: table(0), pools: table(1), keys: table(2), numbers: table(3) }
}

/// `claim_slot reclaimed`
fn shortly(statement: &str, got: &Result<Answer, Error>) -> String {
    let function = &statement["SELECT ".len()..statement.find('(').unwrap()];
    match got {
        Err(error) => format!("{function} raised {}", sqlstate(error)),
        Ok(Answer(Value::Bool(is_so))) => format!("{function} {is_so}"),
        Ok(answer) if answer.fact("replayed") == true => {
            format!("{function} {} again", answer.outcome())
        }
        Ok(answer) => format!("{function} {}", answer.outcome()),
    }
}

/// The lease that a call begins, unless it renews one.
fn lease_of(call: &Call) -> Option<Lease> {
    match call {
        Call::Claim { terms, .. } | Call::ClaimMany { terms, .. } => Some(terms.lease),
        Call::BeginKey { lease, .. } => Some(*lease),
        _ => None,
    }
}

/// Whether a step is rolled back after its answer.
type Undone = bool;

/// How often each function was answered with each outcome, to see what the sequences reach.
type Reached = BTreeMap<String, usize>;

/// How a sequence is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sent {
    StatementByStatement,
    /// All of it in one transaction, each call in a subtransaction.
    InOneTransaction,
}

/// Runs one sequence. A step that is undone is made and judged like the others, then rolled back.
async fn run_case(
    session: &Session,
    case: u32,
    year: i32,
    steps: &[(Step, Undone)],
    sent: Sent,
    reached: &RefCell<Reached>,
) -> Result<(), String> {
    let (before, undo, keep) = match sent {
        Sent::StatementByStatement => ("BEGIN", "ROLLBACK", "COMMIT"),
        Sent::InOneTransaction => ("SAVEPOINT call", "ROLLBACK TO call", "RELEASE call"),
    };
    let names = Names { case };
    let mut model = Model::new(year);
    let mut claims_made = vec![];
    let mut trace = String::new();
    if sent == Sent::InOneTransaction {
        session.run("ROLLBACK; BEGIN").await;
    }
    for (step, is_undone) in steps {
        let as_before = model.clone();
        let call = names.call(step, &model, &claims_made);
        let expected = model.answer(&call);
        let statement = sql(&call);
        let is_wrapped = *is_undone || sent == Sent::InOneTransaction;
        if is_wrapped {
            session.run(before).await;
        }
        let got = match session.query_one(&statement, &[]).await {
            Ok(row) => Ok(Answer::of(&row)),
            Err(error) => Err(error),
        };
        let said = match &got {
            Ok(answer) => answer.to_string(),
            Err(error) => told(error),
        };
        trace.push_str(&format!("{statement};\n    -- {said}\n"));
        *reached.borrow_mut().entry(shortly(&statement, &got)).or_default() += 1;
        if *is_undone {
            trace.push_str("    -- undone\n");
            model = as_before;
        }
        if is_wrapped {
            session.run(if *is_undone || got.is_err() { undo } else { keep }).await;
        }
        if matches!(call, Call::Claim { .. } | Call::ClaimMany { .. }) {
            claims_made.push(call.clone());
        }
        if lease_of(&call) == Some(Lease::Short) {
            tokio::time::sleep(PAUSE).await;
        }
        judge(&expected, &got).map_err(|wrong| format!("{wrong}\n{trace}"))?;

        let held = rows_of(session, case).await;
        model.note_ended(&held.slot_claims);
        let wanted = model.rows();
        if held != wanted {
            return Err(format!("the tables hold {held:?}\n    and must hold {wanted:?}\n{trace}"));
        }
    }
    let sound = session.answer("check_claims", &[]).await;
    if !sound.ok() {
        return Err(format!("{sound}\n{trace}"));
    }
    if sent == Sent::InOneTransaction {
        session.run("COMMIT").await;
    }
    Ok(())
}

fn check(name: &str, about: About, step: BoxedStrategy<Step>, sent: Sent) {
    let number = |name: &str| env::var(name).ok().and_then(|value| value.parse().ok());
    let seed: u64 = number("RACES_SEED").unwrap_or_else(|| fastrand::u64(..));
    let cases = number("RACES_CASES").unwrap_or(75) as u32;
    println!("RACES_SEED={seed} RACES_CASES={cases}");

    let runtime = Runtime::new().unwrap();
    let database = runtime.block_on(fresh_database(name));
    let session = runtime.block_on(database.connect());
    runtime.block_on(session.run("SET synchronous_commit = off"));
    let year = "SELECT extract(year FROM clock_timestamp() AT TIME ZONE 'UTC')::int";
    let year = runtime.block_on(session.value(year));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 500, ..Config::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let case = Cell::new(0);
    let reached = RefCell::default();
    let result = runner.run(&vec((step, prop::bool::weighted(0.1)), 1..40), |steps| {
        case.set(case.get() + 1);
        let set_up = about.set_up().into_iter().map(|step| (step, false));
        let steps: Vec<_> = set_up.chain(steps).collect();
        runtime
            .block_on(run_case(&session, case.get(), year, &steps, sent, &reached))
            .map_err(TestCaseError::fail)
    });
    match result {
        Ok(()) => {
            println!("{:?}", reached.borrow());
            // Case 31: what a pooler's next client would inherit.
            let locks = "SELECT count(*) FROM pg_locks
                         WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
            assert_eq!(runtime.block_on(session.value::<i64>(locks)), 0);
            runtime.block_on(database.drop());
        }
        Err(TestError::Fail(reason, steps)) => {
            panic!(
                "RACES_SEED={seed} RACES_CASES={cases}\n{reason}\n{} steps: {steps:#?}",
                steps.len()
            )
        }
        Err(error) => panic!("RACES_SEED={seed} RACES_CASES={cases}: {error}"),
    }
}

#[test]
fn any_sequence_of_slot_calls_answers_as_the_tables_say() {
    let about = About::WholeSlots;
    check("sequences_slots", about, slot_step(about), Sent::StatementByStatement);
}

#[test]
fn any_sequence_of_slot_and_key_calls_answers_as_the_tables_say() {
    let about = About::WholeSlots;
    let step = prop_oneof![slot_step(about), key_step(about)].boxed();
    check("sequences_keys", about, step, Sent::StatementByStatement);
}

#[test]
fn a_sequence_in_one_transaction_answers_the_same() {
    let about = About::WholeSlots;
    let step = prop_oneof![slot_step(about), key_step(about)].boxed();
    check("sequences_transaction", about, step, Sent::InOneTransaction);
}

#[test]
fn any_sequence_of_calls_answers_as_the_tables_say() {
    check("sequences_all", About::Everything, any_step(), Sent::StatementByStatement);
}

#[test]
fn a_sequence_of_any_calls_in_one_transaction_answers_the_same() {
    check("sequences_all_in_one", About::Everything, any_step(), Sent::InOneTransaction);
}

#[test]
fn any_sequence_of_numbers_has_no_gap() {
    check("sequences_numbers", About::Everything, number_step(), Sent::StatementByStatement);
}
