//! `wait`: a call that waits for a slot answers interrupts at once, holds nothing while it sleeps, and
//! gets the slot when it comes free. A call that waits for its turn keeps nobody out. No test asserts a tight time; "at once" is against a wait of 30 s.

use std::time::{Duration, Instant};

use races::{Answer, Database, Session, fresh_database, sqlstate, told};
use tokio::task::JoinHandle;
use tokio_postgres::Error;

const AT_ONCE: Duration = Duration::from_secs(5);

/// A slot that `first` holds for a minute, and a call of `second` that waits for it.
struct Waiting {
    owner: Session,
    waiter_pid: i32,
    call: JoinHandle<Result<Answer, Error>>,
}

async fn wait_for_a_taken_slot(database: &Database, before: &str) -> Waiting {
    let owner = database.connect().await;
    owner
        .ask("claim_slot", &[("slot_id", &"s"), ("holder", &"first"), ("ttl", &"1 min")])
        .await
        .unwrap();
    let waiter = database.connect().await;
    waiter.run(before).await;
    let waiter_pid = waiter.backend_pid().await;
    let call = tokio::spawn(async move {
        waiter
            .ask("claim_slot", &[("slot_id", &"s"), ("holder", &"second"), ("wait", &"30 s")])
            .await
    });
    let is_in_the_call = format!(
        "SELECT EXISTS (SELECT FROM pg_stat_activity
         WHERE pid = {waiter_pid} AND state = 'active' AND query LIKE 'SELECT claim_slot%'
         AND query_start < clock_timestamp() - interval '200 ms')"
    );
    while !call.is_finished() && !owner.value::<bool>(&is_in_the_call).await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Waiting { owner, waiter_pid, call }
}

async fn interrupted(call: JoinHandle<Result<Answer, Error>>) -> String {
    let answer =
        tokio::time::timeout(AT_ONCE, call).await.expect("the call went on waiting").unwrap();
    sqlstate(&answer.expect_err("the call must be interrupted"))
}

#[tokio::test]
async fn statement_timeout_ends_a_wait() {
    let database = fresh_database("wait_timeout").await;
    let waiting = wait_for_a_taken_slot(&database, "SET statement_timeout = '700 ms'").await;
    assert_eq!(interrupted(waiting.call).await, "57014");
    database.drop().await;
}

#[tokio::test]
async fn pg_cancel_backend_ends_a_wait() {
    let database = fresh_database("wait_cancel").await;
    let waiting = wait_for_a_taken_slot(&database, "").await;
    assert!(
        waiting
            .owner
            .value::<bool>(&format!("SELECT pg_cancel_backend({})", waiting.waiter_pid))
            .await
    );
    assert_eq!(interrupted(waiting.call).await, "57014");
    database.drop().await;
}

#[tokio::test]
async fn pg_terminate_backend_ends_a_wait() {
    let database = fresh_database("wait_terminate").await;
    let waiting = wait_for_a_taken_slot(&database, "").await;
    assert!(
        waiting
            .owner
            .value::<bool>(&format!("SELECT pg_terminate_backend({})", waiting.waiter_pid))
            .await
    );
    assert_eq!(interrupted(waiting.call).await, "57P01");
    database.drop().await;
}

#[tokio::test]
async fn nobody_sleeps_holding_an_advisory_lock() {
    let database = fresh_database("wait_locks").await;
    let waiting = wait_for_a_taken_slot(&database, "").await;
    for _ in 0..100 {
        let held: i64 = waiting
            .owner
            .value(&format!(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = {}",
                waiting.waiter_pid
            ))
            .await;
        assert_eq!(held, 0, "the waiting call holds an advisory lock");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!waiting.call.is_finished());
    waiting.call.abort();
    database.drop().await;
}

/// Interleaving: twenty calls wait for a slot that an open transaction has. Each says so by a shared
/// lock, which is all that it has; the next one gets its turn all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_for_his_turn_keeps_nobody_out() {
    const WAITERS: usize = 20;
    let database = fresh_database("wait_turn").await;
    let owner = database.connect().await;
    owner.run("BEGIN").await;
    let claimed = owner.answer("claim_slot", &[("slot_id", &"s"), ("holder", &"first")]).await;
    assert!(claimed.ok(), "{claimed}");

    let mut waiters = Vec::new();
    for number in 0..WAITERS {
        let waiter = database.connect().await;
        waiter.run("SET pg_claims.lock_wait = '60 s'; BEGIN").await;
        waiters.push(tokio::spawn(async move {
            let holder = format!("run:{number}");
            let claim = &[("slot_id", &"s" as _), ("holder", &holder as _)];
            let answer = waiter.answer("claim_slot", claim).await;
            let held = locks(&waiter, "pid = pg_backend_pid()").await;
            waiter.run("COMMIT").await;
            (answer, held)
        }));
    }
    let others = "pid <> pg_backend_pid()";
    loop {
        let held = locks(&owner, others).await;
        assert!(held.iter().all(|mode| mode == "ShareLock"), "{held:?}");
        if held.len() == WAITERS {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    owner.run("ROLLBACK").await;

    let mut winners = 0;
    for waiter in waiters {
        let (answer, held) = waiter.await.expect("a waiter panicked");
        match answer.outcome() {
            "claimed" => {
                winners += 1;
                assert_eq!(held, ["ExclusiveLock"], "{answer}");
            }
            outcome => assert_eq!((outcome, held.len()), ("taken", 0), "{answer} {held:?}"),
        }
    }
    assert_eq!(winners, 1);
    database.drop().await;
}

/// The modes of the advisory locks that some have in this database.
async fn locks(session: &Session, whose: &str) -> Vec<String> {
    let sql = format!(
        "SELECT mode FROM pg_locks WHERE locktype = 'advisory' AND {whose}
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    );
    let rows = session.query(&sql, &[]).await.unwrap_or_else(|e| panic!("{}", told(&e)));
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_waiting_call_gets_the_slot_when_it_is_released() {
    let database = fresh_database("wait_release").await;
    let waiting = wait_for_a_taken_slot(&database, "").await;
    let released = waiting
        .owner
        .ask("release_slot", &[("slot_id", &"s"), ("holder", &"first")])
        .await
        .unwrap();
    assert_eq!(released.outcome(), "released");
    let answer = tokio::time::timeout(AT_ONCE, waiting.call)
        .await
        .expect("the slot came free and the call waits on");
    let answer = answer.unwrap().unwrap_or_else(|e| panic!("{}", told(&e)));
    assert_eq!((answer.ok(), answer.outcome(), answer.token()), (true, "claimed", 2), "{answer}");
    database.drop().await;
}

#[tokio::test]
async fn a_waiting_call_gets_the_slot_when_its_lease_ends() {
    let database = fresh_database("wait_lease").await;
    let session = database.connect().await;
    session
        .ask("claim_slot", &[("slot_id", &"s"), ("holder", &"first"), ("ttl", &"500 ms")])
        .await
        .unwrap();
    let started = Instant::now();
    let answer = session
        .ask("claim_slot", &[("slot_id", &"s"), ("holder", &"second"), ("wait", &"30 s")])
        .await
        .unwrap();
    assert_eq!((answer.ok(), answer.outcome()), (true, "reclaimed"), "{answer}");
    assert_eq!(answer.fact("previous_holder"), "first");
    assert!(started.elapsed() < AT_ONCE, "{:?}", started.elapsed());
    database.drop().await;
}

/// The lease of the winner begins when it is granted, not when the call began: a lease computed before
/// the wait could be over at birth.
#[tokio::test]
async fn a_lease_starts_after_the_wait() {
    let database = fresh_database("wait_then_lease").await;
    let session = database.connect().await;
    session
        .ask("claim_slot", &[("slot_id", &"s"), ("holder", &"first"), ("ttl", &"600 ms")])
        .await
        .unwrap();
    let wait = &[
        ("slot_id", &"s" as _),
        ("holder", &"second" as _),
        ("ttl", &"500 ms" as _),
        ("wait", &"30 s" as _),
    ];
    let answer = session.ask("claim_slot", wait).await.unwrap();
    assert!(answer.ok(), "{answer}");
    let lasts: bool = session
        .value("SELECT expires_at = claimed_at + '500 ms' FROM claims.slot_claims WHERE ended_at IS NULL")
        .await;
    assert!(lasts, "{answer}");
    database.drop().await;
}

#[tokio::test]
async fn a_booked_slot_is_not_waited_for() {
    let database = fresh_database("wait_booked").await;
    let session = database.connect().await;
    session.ask("claim_slot", &[("slot_id", &"s"), ("holder", &"first")]).await.unwrap();
    session.ask("confirm_slot", &[("slot_id", &"s"), ("holder", &"first")]).await.unwrap();
    let wait =
        session.ask("claim_slot", &[("slot_id", &"s"), ("holder", &"second"), ("wait", &"30 s")]);
    let answer =
        tokio::time::timeout(AT_ONCE, wait).await.expect("only a decision ends a booking").unwrap();
    assert_eq!((answer.outcome(), answer.fact("status")), ("taken", &"booked".into()), "{answer}");
    database.drop().await;
}

#[tokio::test]
async fn fifty_that_wait_for_one_slot_get_it_one_after_the_other() {
    let database = fresh_database("wait_queue").await;
    let answers = races::stampede(database.connect_many(50).await, |number, session| async move {
        let holder = format!("run:{number}");
        let claim = &[("slot_id", &"s" as _), ("holder", &holder as _), ("wait", &"60 s" as _)];
        let answer =
            session.ask("claim_slot", claim).await.unwrap_or_else(|e| panic!("{}", told(&e)));
        if answer.ok() {
            let release = &[
                ("slot_id", &"s" as _),
                ("holder", &holder as _),
                ("token", &answer.token() as _),
            ];
            loop {
                let released = session
                    .ask("release_slot", release)
                    .await
                    .unwrap_or_else(|e| panic!("{}", told(&e)));
                if released.outcome() != "busy" {
                    assert_eq!(released.outcome(), "released", "{released}");
                    break;
                }
            }
        }
        answer
    })
    .await;
    let mut tokens: Vec<i64> =
        answers.iter().filter(|answer| answer.ok()).map(Answer::token).collect();
    tokens.sort_unstable();
    assert_eq!(tokens, (1..=50).collect::<Vec<_>>());
    database.drop().await;
}
