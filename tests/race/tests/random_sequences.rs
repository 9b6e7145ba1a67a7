//! Random sequences of calls by several holders on few slots and keys, each answer and each row
//! compared with the model.
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
use races::model::{Call, Expected, Finish, Lease, Model, OnExpiry, Verdict};
use races::{Answer, Session, fresh_database, sqlstate, told};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_postgres::Error;

/// A call before it is known what there is to call it on. Numbers choose among what the model holds.
#[derive(Debug, Clone)]
enum Step {
    Claim { slot: u8, holder: u8, lease: Lease, on_expiry: OnExpiry, call_id: Option<u8> },
    Confirm { slot: u8, whose: Whose },
    Release { slot: u8, whose: Whose, in_doubt: bool },
    Extend { slot: u8, whose: Whose, lease: Lease },
    Cancel { slot: u8, whose: Whose },
    Resolve { slot: u8, whose: Whose, verdict: Verdict },
    Check { slot: u8 },
    Holds { slot: u8, whose: Whose },
    Require { slot: u8, whose: Whose },
    ReleaseHolder { holder: u8 },
    Reap,
    Begin { key: u8, holder: u8, other_request: bool, lease: Lease, call_id: Option<u8> },
    Finish { key: u8, whose: Whose, outcome: Finish, result: u8 },
    CheckKey { key: u8 },
    ExtendKey { key: u8, whose: Whose },
    ResetKey { key: u8 },
    ClaimAfterBegin { slot: u8, key: u8, holder: u8 },
    FinishAfterConfirm { slot: u8, whose: Whose, key: u8 },
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

fn whose() -> impl Strategy<Value = Whose> {
    let age = prop_oneof![6 => Just(0u8), 2 => Just(1u8), 1 => 2..5u8];
    let stranger = prop_oneof![5 => Just(None), 1 => (0..3u8).prop_map(Some)];
    (age, prop::bool::weighted(0.7), stranger, prop::bool::weighted(0.03))
        .prop_map(|(age, named, stranger, unknown)| Whose { age, named, stranger, unknown })
}

fn lease() -> impl Strategy<Value = Lease> {
    prop_oneof![Just(Lease::Short), Just(Lease::Long)]
}

fn call_id() -> impl Strategy<Value = Option<u8>> {
    prop_oneof![1 => Just(None), 1 => (0..2u8).prop_map(Some)]
}

fn slot() -> std::ops::Range<u8> {
    0..2
}

fn holder() -> std::ops::Range<u8> {
    0..3
}

fn slot_step() -> BoxedStrategy<Step> {
    let on_expiry = prop_oneof![2 => Just(OnExpiry::Release), 1 => Just(OnExpiry::Review)];
    let verdict = prop_oneof![Just(Verdict::Booked), Just(Verdict::Released)];
    prop_oneof![
        8 => (slot(), holder(), lease(), on_expiry, call_id()).prop_map(|(slot, holder, lease, on_expiry, call_id)|
            Step::Claim { slot, holder, lease, on_expiry, call_id }),
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

fn key_step() -> BoxedStrategy<Step> {
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
        3 => (slot(), key(), holder()).prop_map(|(slot, key, holder)| Step::ClaimAfterBegin { slot, key, holder }),
        3 => (slot(), whose(), key()).prop_map(|(slot, whose, key)| Step::FinishAfterConfirm { slot, whose, key }),
        1 => Just(Step::Reap),
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

    fn key(&self, n: u8) -> String {
        format!("{}:key{n}", self.case)
    }

    fn holder(&self, n: u8) -> String {
        format!("{}:run{n}", self.case)
    }

    /// The call that a step comes to on what the model holds.
    fn call(&self, step: &Step, model: &Model) -> Call {
        let call_id = |n: Option<u8>| n.map(|n| format!("call {n}"));
        match *step {
            Step::Claim { slot, holder, lease, on_expiry, call_id: id } => Call::ClaimSlot {
                slot: self.slot(slot),
                holder: self.holder(holder),
                lease,
                on_expiry,
                call_id: call_id(id),
            },
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
            Step::Begin { key, holder, other_request, lease, call_id: id } => Call::BeginKey {
                key: self.key(key),
                holder: self.holder(holder),
                request: self.request(key, other_request, model),
                lease,
                call_id: call_id(id),
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
            Step::ClaimAfterBegin { slot, key, holder } => Call::ClaimAfterBegin {
                slot: self.slot(slot),
                key: self.key(key),
                holder: self.holder(holder),
                request: self.request(key, false, model),
            },
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
        }
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
const PAUSE: Duration = Duration::from_millis(5);

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
    let expression = match call {
        Call::ClaimSlot { slot, holder, lease, on_expiry, call_id } => format!(
            "claim_slot({}, {}, '{}', on_expiry => '{}', call_id => {})",
            quoted(slot),
            quoted(holder),
            interval(*lease),
            if *on_expiry == OnExpiry::Review { "review" } else { "release" },
            or_null(call_id.clone())
        ),
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
        Call::ClaimAfterBegin { slot, key, holder, request } => format!(
            "claim_slot({}, {}, '1 hour', after => begin_key({}, {}, {}, '1 hour'))",
            quoted(slot),
            quoted(holder),
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
    };
    format!("SELECT {expression}")
}

/// Does the server's answer say what the model expects? If not, what it lacks.
fn judge(expected: &Expected, got: &Result<Answer, Error>) -> Result<(), String> {
    match (expected, got) {
        (Expected::Raises(state), Err(error)) if sqlstate(error) == *state => Ok(()),
        (Expected::Raises(state), Err(error)) => {
            Err(format!("expected {state}, raised {}", told(error)))
        }
        (_, Err(error)) => Err(format!("expected {expected:?}, raised {}", told(error))),
        (Expected::Boolean(wanted), Ok(answer)) if answer.0 == json!(wanted) => Ok(()),
        (Expected::Answer { ok, outcomes, facts }, Ok(answer)) => {
            let differs = ok.is_some_and(|ok| ok != answer.ok())
                || !(outcomes.is_empty() || outcomes.contains(&answer.outcome()))
                || facts.iter().any(|(name, value)| answer.fact(name) != value);
            if differs { Err(format!("expected {expected:?}, answered {answer}")) } else { Ok(()) }
        }
        (_, Ok(answer)) => Err(format!("expected {expected:?}, answered {answer}")),
    }
}

const SLOT_ROWS: &str = "
    SELECT coalesce(jsonb_agg(jsonb_build_array(slot_id, token, holder, CASE
        WHEN status = 'claimed' AND expires_at <= clock_timestamp()
        THEN CASE on_expiry WHEN 'review' THEN 'review' ELSE 'over' END ELSE status END, origin)
        ORDER BY slot_id COLLATE \"C\", token), '[]')
    FROM claims.slot_claims WHERE starts_with(slot_id, $1)";

/// A key that was reset has no holder, and its status is left open.
const KEY_ROWS: &str = "
    SELECT coalesce(jsonb_agg(jsonb_build_array(key, token, holder, CASE
        WHEN holder IS NULL THEN NULL
        WHEN status = 'pending' AND lease_expires_at <= clock_timestamp() THEN 'overdue' ELSE status END)
        ORDER BY key COLLATE \"C\"), '[]')
    FROM claims.keys WHERE starts_with(key, $1)";

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
    steps: &[(Step, Undone)],
    sent: Sent,
    reached: &RefCell<Reached>,
) -> Result<(), String> {
    let (before, undo, keep) = match sent {
        Sent::StatementByStatement => ("BEGIN", "ROLLBACK", "COMMIT"),
        Sent::InOneTransaction => ("SAVEPOINT call", "ROLLBACK TO call", "RELEASE call"),
    };
    let names = Names { case };
    let mut model = Model::default();
    let mut trace = String::new();
    if sent == Sent::InOneTransaction {
        session.run("ROLLBACK; BEGIN").await;
    }
    for (step, is_undone) in steps {
        let as_before = model.clone();
        let call = names.call(step, &model);
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
        if matches!(
            call,
            Call::ClaimSlot { lease: Lease::Short, .. }
                | Call::BeginKey { lease: Lease::Short, .. }
        ) {
            tokio::time::sleep(PAUSE).await;
        }
        judge(&expected, &got).map_err(|wrong| format!("{wrong}\n{trace}"))?;

        let (slots, keys) = model.rows();
        for (query, wanted) in [(SLOT_ROWS, slots), (KEY_ROWS, keys)] {
            let prefix = format!("{case}:");
            let row = session.query_one(query, &[&prefix]).await.map_err(|e| told(&e))?;
            let (held, wanted): (Value, _) = (row.get(0), Value::Array(wanted));
            if held != wanted {
                return Err(format!("the table holds {held}\n    and must hold {wanted}\n{trace}"));
            }
        }
    }
    if sent == Sent::InOneTransaction {
        session.run("COMMIT").await;
    }
    Ok(())
}

fn check(name: &str, step: BoxedStrategy<Step>, sent: Sent) {
    let number = |name: &str| env::var(name).ok().and_then(|value| value.parse().ok());
    let seed: u64 = number("RACES_SEED").unwrap_or_else(|| fastrand::u64(..));
    let cases = number("RACES_CASES").unwrap_or(200) as u32;
    println!("RACES_SEED={seed} RACES_CASES={cases}");

    let runtime = Runtime::new().unwrap();
    let database = runtime.block_on(fresh_database(name));
    let session = runtime.block_on(database.connect());
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
        runtime
            .block_on(run_case(&session, case.get(), &steps, sent, &reached))
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
    check("sequences_slots", slot_step(), Sent::StatementByStatement);
}

#[test]
fn any_sequence_of_slot_and_key_calls_answers_as_the_tables_say() {
    let step = prop_oneof![slot_step(), key_step()].boxed();
    check("sequences_keys", step, Sent::StatementByStatement);
}

#[test]
fn a_sequence_in_one_transaction_answers_the_same() {
    let step = prop_oneof![slot_step(), key_step()].boxed();
    check("sequences_transaction", step, Sent::InOneTransaction);
}
