//! Leases of 1 to 10 ms, and everything that can happen to a claim at once.
//!
//! The interleaving that matters: a takeover has read the expired claim and waits, its holder confirms
//! and commits, the takeover goes on. It must find that the row is not as it was read, and start over.
//! The mutant proves that the storm finds it when it does not.

use std::time::{Duration, Instant};

use races::storm::{Fault, round};
use races::{Database, fresh_database};

const ROUND: Duration = Duration::from_millis(1_500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_short_leases_never_double_books_nor_loses_a_booking() {
    let database = fresh_database("storm").await;
    calm_after(&database, 5).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn safety_does_not_rest_on_the_advisory_lock() {
    let database = fresh_database("storm_no_lock").await;
    database.leave_out("lock").await;
    calm_after(&database, 5).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_storm_finds_a_takeover_that_ignores_what_it_read() {
    const ROUNDS_AT_MOST: usize = 10;
    let database = fresh_database("storm_no_row_guard").await;
    database.leave_out("row_guard").await;
    let started = Instant::now();
    for number in 1..=ROUNDS_AT_MOST {
        let faults = storm(&database, number).await;
        if !faults.is_empty() {
            println!("found in round {number}, after {:.1?}: {}", started.elapsed(), faults[0]);
            return database.drop().await;
        }
    }
    panic!("{ROUNDS_AT_MOST} rounds of the storm did not notice that the row guard is gone");
}

async fn calm_after(database: &Database, rounds: usize) {
    for number in 1..=rounds {
        let faults = storm(database, number).await;
        let first = &faults[..faults.len().min(10)];
        assert!(faults.is_empty(), "{} faults in round {number}: {first:#?}", faults.len());
    }
    let sound = database.connect().await.ask("check_claims", &[]).await.unwrap();
    assert!(sound.ok(), "the extension's own check must agree: {sound}");
}

async fn storm(database: &Database, number: usize) -> Vec<Fault> {
    let round = round(database, number, ROUND).await;
    println!("round {number}: {} calls: {:?}", round.counts.values().sum::<usize>(), round.counts);
    round.faults
}
