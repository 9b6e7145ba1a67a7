//! Two transactions that take the same things in opposite orders get their answers, and never 40P01.

use std::time::{Duration, Instant};

use races::{Answer, Session, fresh_database, stampede, tally, told};
use tokio_postgres::Error;

/// pg_claims.lock_wait is a second; far below the deadlock detector's patience with nothing held.
const BOUND: Duration = Duration::from_secs(10);

async fn ask(session: &Session, sql: &str) -> Answer {
    session.ask_sql(sql, &[]).await.unwrap_or_else(|e| panic!("{sql}: {}", told(&e)))
}

/// Interleaving: first has A, second has B; first wants B while second wants A.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_claims_that_want_each_others_slot_are_both_answered() {
    let database = fresh_database("opposite_claims").await;
    for wait in ["0", "2 s"] {
        let [first, second] = two(&database).await;
        for (session, own) in [(&first, "A"), (&second, "B")] {
            session.run("BEGIN").await;
            assert!(
                ask(session, &format!("SELECT claim_slot('{own} {wait}', '{own}')")).await.ok()
            );
        }
        let started = Instant::now();
        let wants_b = format!("SELECT claim_slot('B {wait}', 'A', wait => '{wait}')");
        let wants_a = format!("SELECT claim_slot('A {wait}', 'B', wait => '{wait}')");
        let (b, a) = tokio::join!(ask(&first, &wants_b), ask(&second, &wants_a));
        assert!(started.elapsed() < BOUND, "{:?}", started.elapsed());
        assert_eq!((b.outcome(), a.outcome()), ("busy", "busy"), "{b} {a}");
        first.run("COMMIT").await;
        second.run("COMMIT").await;
    }
    database.drop().await;
}

/// Interleaving: each fences its own claim by its row, then settles the other's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_fences_and_settlements_in_opposite_orders_are_both_answered() {
    let database = fresh_database("opposite_fences").await;
    let [first, second] = two(&database).await;
    for call in
        ["confirm_slot('{}', 'h', 1)", "release_slot('{}', 'h', 1)", "extend_slot('{}', 'h', 1)"]
    {
        let (a, b) = (format!("A {call}"), format!("B {call}"));
        let (a, b) = (a.replace('\'', ""), b.replace('\'', ""));
        for (session, own) in [(&first, &a), (&second, &b)] {
            ask(session, &format!("SELECT claim_slot('{own}', 'h')")).await;
            session.run("BEGIN").await;
            assert_eq!(
                ask(session, &format!("SELECT holds_slot('{own}', 'h', 1)")).await,
                Answer(true.into())
            );
        }
        let started = Instant::now();
        let wants_b = format!("SELECT {}", call.replace("{}", &b));
        let wants_a = format!("SELECT {}", call.replace("{}", &a));
        let (got_b, got_a) = tokio::join!(ask(&first, &wants_b), ask(&second, &wants_a));
        assert!(started.elapsed() < BOUND, "{call}: {:?}", started.elapsed());
        assert_eq!((got_b.outcome(), got_a.outcome()), ("busy", "busy"), "{got_b} {got_a}");
        first.run("COMMIT").await;
        second.run("COMMIT").await;
    }
    database.drop().await;
}

/// Interleaving: each fences its own claim, then the other's. A fence answers a boolean, so it cannot
/// say busy; whatever it does, it must not leave it to the deadlock detector.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_fences_in_opposite_orders_do_not_deadlock() {
    let database = fresh_database("opposite_holds").await;
    let [first, second] = two(&database).await;
    for (session, own) in [(&first, "A"), (&second, "B")] {
        ask(session, &format!("SELECT claim_slot('{own}', 'h')")).await;
        session.run("BEGIN").await;
        ask(session, &format!("SELECT holds_slot('{own}', 'h', 1)")).await;
    }
    let started = Instant::now();
    let (b, a) = tokio::join!(
        first.ask_sql("SELECT holds_slot('B', 'h', 1)", &[]),
        second.ask_sql("SELECT holds_slot('A', 'h', 1)", &[])
    );
    assert!(started.elapsed() < BOUND, "{:?}", started.elapsed());
    for answer in [b, a] {
        match answer {
            Ok(answer) => println!("answered {answer}"),
            Err(error) => {
                println!("raised {}", told(&error));
                assert_ne!(races::sqlstate(&error), "40P01");
            }
        }
    }
    database.drop().await;
}

/// Forty transactions, each claiming four of six slots in an order of its own (case 33).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_that_claim_several_slots_in_any_order_never_deadlock() {
    let database = fresh_database("opposite_many").await;
    let answers: Vec<Result<Answer, Error>> =
        stampede(database.connect_many(20).await, |number, session| async move {
            let mut rng = fastrand::Rng::with_seed(number as u64);
            let mut answers = Vec::new();
            session.run("SET pg_claims.lock_wait = '100 ms'").await;
            for round in 0..5 {
                let mut slots: Vec<usize> = (0..6).collect();
                rng.shuffle(&mut slots);
                let holder = format!("run:{number}");
                session.run("BEGIN").await;
                for slot in &slots[..4] {
                    let slot = format!("{round}:{slot}");
                    let answer =
                        session.ask("claim_slot", &[("slot_id", &slot), ("holder", &holder)]).await;
                    let raised = answer.is_err();
                    answers.push(answer);
                    if raised {
                        break;
                    }
                }
                session.run(if rng.bool() { "COMMIT" } else { "ROLLBACK" }).await;
            }
            answers
        })
        .await
        .into_iter()
        .flatten()
        .collect();
    let answers: Vec<Answer> = answers
        .into_iter()
        .map(|answer| answer.unwrap_or_else(|e| panic!("{}", told(&e))))
        .collect();
    println!("{:?}", tally(answers.iter().map(Answer::outcome)));
    database.drop().await;
}

async fn two(database: &races::Database) -> [Session; 2] {
    [database.connect().await, database.connect().await]
}
