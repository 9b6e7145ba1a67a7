//! Every function, called in every way a client can call it.
//!
//! The first identifier as an untyped literal, text, int, bigint, numeric and uuid; by name and by
//! position; as a select item and in FROM; through the simple protocol with literals, the extended
//! protocol with typed parameters, and with untyped ones.

use races::{Answer, Session, Text, fresh_database, told};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::types::{ToSql, Type};

/// An argument: its name, its value as text, its type.
type Argument = (&'static str, String, Type);

/// A function, its arguments after the identifier, the state its slot must be in, and the outcome.
struct Case {
    function: &'static str,
    identifier: &'static str,
    arguments: fn(&Prepared) -> Vec<Argument>,
    before: &'static [&'static str],
    outcome: &'static str,
}

/// What the calls before the tested one left: the token of the claim or key.
struct Prepared {
    token: i64,
}

fn text(name: &'static str, value: &str) -> Argument {
    (name, value.to_owned(), Type::TEXT)
}

fn token(prepared: &Prepared) -> Argument {
    ("token", prepared.token.to_string(), Type::INT8)
}

fn interval(name: &'static str, value: &str) -> Argument {
    (name, value.to_owned(), Type::INTERVAL)
}

fn jsonb(name: &'static str, value: &str) -> Argument {
    (name, value.to_owned(), Type::JSONB)
}

const CLAIM: &str = "SELECT claim_slot(slot_id => $1, holder => 'run')";
const CONFIRM: &str = "SELECT confirm_slot(slot_id => $1, holder => 'run')";
const DOUBT: &str = "SELECT release_slot(slot_id => $1, holder => 'run', in_doubt => true)";
const BEGIN: &str = "SELECT begin_key(key => $1, holder => 'run')";

const SLOT_CASES: &[Case] = &[
    Case {
        function: "claim_slot",
        identifier: "slot_id",
        before: &[],
        outcome: "claimed",
        arguments: |_| {
            vec![
                text("holder", "run"),
                interval("ttl", "1 min"),
                interval("wait", "0"),
                text("on_expiry", "review"),
                jsonb("note", r#"{"a": 1}"#),
                text("call_id", "1:0:0"),
                jsonb("after", r#"{"ok": true}"#),
            ]
        },
    },
    Case {
        function: "confirm_slot",
        identifier: "slot_id",
        before: &[CLAIM],
        outcome: "confirmed",
        arguments: |p| vec![text("holder", "run"), token(p), jsonb("result", r#"{"event": "e"}"#)],
    },
    Case {
        function: "release_slot",
        identifier: "slot_id",
        before: &[CLAIM],
        outcome: "released",
        arguments: |p| {
            vec![
                text("holder", "run"),
                token(p),
                text("reason", "no"),
                ("in_doubt", "false".into(), Type::BOOL),
            ]
        },
    },
    Case {
        function: "extend_slot",
        identifier: "slot_id",
        before: &[CLAIM],
        outcome: "extended",
        arguments: |p| vec![text("holder", "run"), token(p), interval("ttl", "10 min")],
    },
    Case {
        function: "cancel_slot",
        identifier: "slot_id",
        before: &[CLAIM, CONFIRM],
        outcome: "cancelled",
        arguments: |p| vec![text("holder", "desk"), token(p), text("reason", "ill")],
    },
    Case {
        function: "resolve_slot",
        identifier: "slot_id",
        before: &[CLAIM, DOUBT],
        outcome: "booked",
        arguments: |p| {
            vec![
                text("holder", "run"),
                token(p),
                text("verdict", "booked"),
                jsonb("evidence", r#"{"seen": true}"#),
            ]
        },
    },
    Case {
        function: "check_slot",
        identifier: "slot_id",
        before: &[CLAIM],
        outcome: "claimed",
        arguments: |_| vec![],
    },
    Case {
        function: "holds_slot",
        identifier: "slot_id",
        before: &[CLAIM],
        outcome: "true",
        arguments: |p| vec![text("holder", "run"), token(p)],
    },
    Case {
        function: "require_slot",
        identifier: "slot_id",
        before: &[CLAIM],
        outcome: "true",
        arguments: |p| vec![text("holder", "run"), token(p)],
    },
];

const KEY_CASES: &[Case] = &[
    Case {
        function: "begin_key",
        identifier: "key",
        before: &[],
        outcome: "run",
        arguments: |_| {
            vec![
                text("holder", "run"),
                jsonb("request", r#"{"amount": 5}"#),
                interval("lease", "1 min"),
                text("call_id", "1:0:0"),
            ]
        },
    },
    Case {
        function: "finish_key",
        identifier: "key",
        before: &[BEGIN],
        outcome: "done",
        arguments: |p| {
            vec![
                text("holder", "run"),
                token(p),
                jsonb("result", r#"{"charge": "c"}"#),
                text("outcome", "done"),
                jsonb("after", r#"{"ok": true}"#),
            ]
        },
    },
    Case {
        function: "check_key",
        identifier: "key",
        before: &[BEGIN],
        outcome: "pending",
        arguments: |_| vec![],
    },
    Case {
        function: "extend_key",
        identifier: "key",
        before: &[BEGIN],
        outcome: "extended",
        arguments: |p| vec![text("holder", "run"), token(p), interval("lease", "10 min")],
    },
    Case {
        function: "reset_key",
        identifier: "key",
        before: &[BEGIN],
        outcome: "reset",
        arguments: |_| vec![text("holder", "desk"), text("reason", "again")],
    },
];

type Nth = fn(u32) -> String;

/// How the first identifier is written: its type, and the text of the n-th identifier of that type.
/// `unknown` is the untyped literal.
const IDENTIFIERS: &[(Type, Nth)] = &[
    (Type::UNKNOWN, |n| format!("slot {n}")),
    (Type::TEXT, |n| format!("termin:{n}")),
    (Type::INT4, |n| n.to_string()),
    (Type::INT8, |n| (5_000_000_000 + i64::from(n)).to_string()),
    (Type::NUMERIC, |n| format!("{n}.25")),
    (Type::UUID, |n| format!("3f1c0e4a-9b5d-4c7e-8a21-{n:012}")),
];

#[derive(Debug, Clone, Copy)]
enum Protocol {
    Simple,
    Typed,
    Untyped,
}

#[tokio::test]
async fn every_slot_function_can_be_called_in_every_way() {
    let database = fresh_database("calling_slots").await;
    call_in_every_way(&database.connect().await, SLOT_CASES).await;
    database.drop().await;
}

#[tokio::test]
async fn every_key_function_can_be_called_in_every_way() {
    let database = fresh_database("calling_keys").await;
    call_in_every_way(&database.connect().await, KEY_CASES).await;
    database.drop().await;
}

#[tokio::test]
async fn release_holder_can_be_called_in_every_way() {
    let database = fresh_database("calling_release_holder").await;
    let session = database.connect().await;
    let mut n = 0;
    for protocol in [Protocol::Simple, Protocol::Typed, Protocol::Untyped] {
        for by_name in [true, false] {
            for in_from in [true, false] {
                n += 1;
                let holder = format!("run {n}");
                session.ask("claim_slot", &[("slot_id", &n), ("holder", &holder)]).await.unwrap();
                let arguments = [text("holder", &holder), text("reason", "the run failed")];
                let said =
                    call(&session, "release_holder", &arguments, protocol, by_name, in_from).await;
                assert!(
                    said.contains(r#""outcome": "released""#) && said.contains(r#""released": 1"#),
                    "{said}"
                );
            }
        }
    }
    database.drop().await;
}

/// The text of a date or time depends on the session, so two sessions would name two slots.
#[tokio::test]
async fn a_date_or_time_is_no_identifier() {
    let database = fresh_database("calling_times").await;
    let session = database.connect().await;
    for kind in ["date", "timestamp", "timestamptz", "time", "timetz"] {
        for call in ["claim_slot(now()::{}, 'run')", "check_slot(now()::{})"] {
            let sql = format!("SELECT {}", call.replace("{}", kind));
            let error = session.simple_query(&sql).await.expect_err(&sql);
            let error = error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error}"));
            assert_eq!(error.code().code(), "42804", "{sql}: {error:?}");
            assert!(error.detail().is_some() && error.hint().is_some(), "{sql}: {error:?}");
        }
    }
    assert_eq!(session.value::<i64>("SELECT count(*) FROM claims.slot_claims").await, 0);
    database.drop().await;
}

async fn call_in_every_way(session: &Session, cases: &[Case]) {
    let mut n = 0;
    for case in cases {
        for (kind, nth) in IDENTIFIERS {
            for protocol in [Protocol::Simple, Protocol::Typed, Protocol::Untyped] {
                for by_name in [true, false] {
                    for in_from in [true, false] {
                        n += 1;
                        let identifier = nth(n);
                        let mut prepared = Prepared { token: 0 };
                        for sql in case.before {
                            let answer = session.ask_sql(sql, &[Text(identifier.clone())]).await;
                            let answer = answer.unwrap_or_else(|e| panic!("{sql}: {}", told(&e)));
                            assert!(answer.ok(), "{sql}: {answer}");
                            prepared.token = answer.token();
                        }
                        let mut arguments = vec![(case.identifier, identifier, kind.clone())];
                        arguments.extend((case.arguments)(&prepared));
                        let said =
                            call(session, case.function, &arguments, protocol, by_name, in_from)
                                .await;
                        let wanted = format!(r#""outcome": "{}""#, case.outcome);
                        assert!(
                            said == case.outcome || said.contains(&wanted),
                            "{} with {arguments:?}, {protocol:?}, by name: {by_name}: {said}",
                            case.function
                        );
                    }
                }
            }
        }
    }
    println!("{n} calls");
}

/// Makes one call and returns the text of its one answer: jsonb as PostgreSQL writes it, or a boolean.
async fn call(
    session: &Session,
    function: &str,
    arguments: &[Argument],
    protocol: Protocol,
    by_name: bool,
    in_from: bool,
) -> String {
    let written: Vec<String> = arguments
        .iter()
        .enumerate()
        .map(|(i, (name, value, kind))| {
            let value = match protocol {
                Protocol::Simple => literal(value, kind),
                Protocol::Typed | Protocol::Untyped => format!("${}", i + 1),
            };
            if by_name { format!("{name} => {value}") } else { value }
        })
        .collect();
    let from = if in_from { "* FROM " } else { "" };
    let sql = format!("SELECT {from}{function}({})", written.join(", "));

    let types: Vec<Type> = match protocol {
        Protocol::Simple => return simple(session, &sql).await,
        Protocol::Typed => arguments.iter().map(|(_, _, kind)| kind.clone()).collect(),
        Protocol::Untyped => Vec::new(),
    };
    // 0 in the protocol is "unspecified", which an untyped literal is.
    let types: Vec<Type> =
        types.into_iter().map(|t| if t == Type::UNKNOWN { Type::TEXT } else { t }).collect();
    let statement =
        session.prepare_typed(&sql, &types).await.unwrap_or_else(|e| panic!("{sql}: {}", told(&e)));
    let values: Vec<Text> = arguments.iter().map(|(_, value, _)| Text(value.clone())).collect();
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
    let rows =
        session.query(&statement, &values).await.unwrap_or_else(|e| panic!("{sql}: {}", told(&e)));
    assert_eq!(rows.len(), 1, "{sql}");
    let answer = Answer::of(&rows[0]);
    match answer.0.as_bool() {
        Some(answer) => answer.to_string(),
        None => format!(
            r#""outcome": "{}" {}"#,
            answer.outcome(),
            answer.to_string().replace("\":", "\": ")
        ),
    }
}

fn literal(value: &str, kind: &Type) -> String {
    match *kind {
        Type::UNKNOWN => format!("'{value}'"),
        // As n8n writes a number into the statement.
        Type::INT4 | Type::INT8 | Type::NUMERIC => value.to_owned(),
        Type::BOOL => value.to_owned(),
        _ => format!("'{value}'::{}", kind.name()),
    }
}

async fn simple(session: &Session, sql: &str) -> String {
    let messages =
        session.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {}", told(&e)));
    let rows: Vec<_> = messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).expect("an answer is never NULL")),
            _ => None,
        })
        .collect();
    assert_eq!(rows.len(), 1, "{sql}");
    match rows[0] {
        "t" => "true".to_owned(),
        "f" => "false".to_owned(),
        answer => answer.to_owned(),
    }
}
