//! Losing is nearly free: a refused call gets no transaction id and writes no WAL.

use std::time::{Duration, Instant};

use races::{Database, Session, fresh_database};

/// Slots in each state in which a claim is refused without anybody else being at work on them.
async fn slots_that_refuse(database: &Database) -> Session {
    let session = database.connect().await;
    for slot in ["claimed", "booked", "review"] {
        session
            .ask("claim_slot", &[("slot_id", &slot), ("holder", &"first"), ("ttl", &"1 h")])
            .await
            .unwrap();
    }
    session.ask("confirm_slot", &[("slot_id", &"booked"), ("holder", &"first")]).await.unwrap();
    let doubt = &[("slot_id", &"review" as _), ("holder", &"first" as _), ("in_doubt", &true as _)];
    session.ask("release_slot", doubt).await.unwrap();
    session
}

async fn transaction_id(session: &Session) -> Option<String> {
    session.value("SELECT pg_current_xact_id_if_assigned()::text").await
}

#[tokio::test]
async fn a_lost_claim_gets_no_transaction_id() {
    let database = fresh_database("losing_xid").await;
    let session = slots_that_refuse(&database).await;
    for (slot, holder, outcome) in [
        ("claimed", "second", "taken"),
        ("booked", "second", "taken"),
        ("review", "second", "taken"),
        ("claimed", "first", "already_yours"),
        ("booked", "first", "already_yours"),
    ] {
        session.run("BEGIN").await;
        let answer =
            session.ask("claim_slot", &[("slot_id", &slot), ("holder", &holder)]).await.unwrap();
        assert_eq!(answer.outcome(), outcome, "{answer}");
        assert_eq!(transaction_id(&session).await, None, "{answer}");
        session.run("COMMIT").await;
    }
    database.drop().await;
}

#[tokio::test]
async fn a_claim_that_finds_the_slot_busy_gets_no_transaction_id() {
    let database = fresh_database("losing_busy").await;
    let (first, second) = (database.connect().await, database.connect().await);
    first.run("BEGIN").await;
    assert!(
        first.ask("claim_slot", &[("slot_id", &"s"), ("holder", &"first")]).await.unwrap().ok()
    );
    second.run("BEGIN").await;
    let answer =
        second.ask("claim_slot", &[("slot_id", &"s"), ("holder", &"second")]).await.unwrap();
    assert_eq!((answer.ok(), answer.outcome()), (false, "busy"), "{answer}");
    assert_eq!(transaction_id(&second).await, None);
    database.drop().await;
}

#[tokio::test]
async fn a_check_and_a_refused_settlement_get_no_transaction_id() {
    let database = fresh_database("losing_settle").await;
    let session = slots_that_refuse(&database).await;
    for (sql, outcome) in [
        ("SELECT check_slot('claimed')", "claimed"),
        ("SELECT check_slot('never seen')", "absent"),
        ("SELECT confirm_slot('claimed', 'second')", "not_holder"),
        ("SELECT release_slot('claimed', 'second')", "not_holder"),
        ("SELECT extend_slot('booked', 'first')", "booked"),
        ("SELECT cancel_slot('claimed', 'desk', 1)", "not_booked"),
        ("SELECT confirm_slot('booked', 'first')", "already_confirmed"),
        ("SELECT resolve_slot('claimed', 'first', 1, 'booked')", "not_in_review"),
    ] {
        session.run("BEGIN").await;
        let answer = session.ask_sql(sql, &[]).await.unwrap();
        assert_eq!(answer.outcome(), outcome, "{sql}: {answer}");
        assert_eq!(transaction_id(&session).await, None, "{sql}");
        session.run("COMMIT").await;
    }
    database.drop().await;
}

#[tokio::test]
async fn a_call_that_changed_nothing_lets_its_lock_go_before_the_transaction_ends() {
    let database = fresh_database("losing_lock").await;
    let session = slots_that_refuse(&database).await;
    session.run("BEGIN").await;
    for sql in [
        "SELECT claim_slot('claimed', 'second')",
        "SELECT confirm_slot('claimed', 'second')",
        "SELECT confirm_slot('booked', 'first')",
        "SELECT release_slot('booked', 'first')",
        "SELECT extend_slot('booked', 'first')",
        "SELECT cancel_slot('claimed', 'desk', 1)",
    ] {
        session.ask_sql(sql, &[]).await.unwrap();
        let held: i64 = session
            .value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
            .await;
        assert_eq!(held, 0, "{sql} keeps an advisory lock");
    }
    session.run("COMMIT").await;
    database.drop().await;
}

/// The server's own processes write WAL now and then (a checkpoint, a snapshot of the running
/// transactions, a cron job), so one quiet window of several is asked for.
#[tokio::test]
async fn a_thousand_lost_claims_write_no_wal() {
    const CALLS: usize = 1_000;
    const WINDOWS: usize = 20;
    let database = fresh_database("losing_wal").await;
    let session = slots_that_refuse(&database).await;
    session.run("CHECKPOINT").await;
    let mut moved = Vec::new();
    for _ in 0..WINDOWS {
        let before: String = session.value("SELECT pg_current_wal_insert_lsn()::text").await;
        let started = Instant::now();
        for n in 0..CALLS {
            let slot = ["claimed", "booked", "review"][n % 3];
            let answer = session
                .ask("claim_slot", &[("slot_id", &slot), ("holder", &"second")])
                .await
                .unwrap();
            assert_eq!(answer.outcome(), "taken", "{answer}");
        }
        let took = started.elapsed();
        let bytes: i64 = session
            .value(&format!("SELECT (pg_current_wal_insert_lsn() - '{before}'::pg_lsn)::bigint"))
            .await;
        moved.push(bytes);
        if bytes == 0 {
            println!("{CALLS} lost claims in {took:.1?}, WAL of each window: {moved:?}");
            return database.drop().await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    panic!("no window of {CALLS} lost claims was without WAL: {moved:?}");
}
