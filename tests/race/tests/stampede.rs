//! Fifty sessions, two thousand slots, twenty holders after every slot.
//!
//! The interleaving: sessions draw from one queue in which the twenty requests for a slot lie among
//! those for nine others, so several sessions are inside `claim_slot` for one slot at most times.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use races::{fresh_database, stampede, tally, told};

const SESSIONS: usize = 50;
const SLOTS: usize = 2_000;
const HOLDERS_PER_SLOT: usize = 20;
const SLOTS_AT_A_TIME: usize = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_holders_after_each_slot_exactly_one_gets_it() {
    let database = fresh_database("stampede").await;
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let requests = Arc::new(shuffled_requests(seed));
    let next = Arc::new(AtomicUsize::new(0));

    let started = Instant::now();
    let answers: Vec<_> = stampede(database.connect_many(SESSIONS).await, |_, session| {
        let (requests, next) = (requests.clone(), next.clone());
        async move {
            let mut answers = Vec::new();
            while let Some((slot, holder)) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                let answer = session
                    .ask("claim_slot", &[("slot_id", slot), ("holder", holder)])
                    .await
                    .unwrap_or_else(|e| panic!("claim_slot must answer, and raised {}", told(&e)));
                answers.push((slot.clone(), holder.clone(), answer));
            }
            answers
        }
    })
    .await
    .into_iter()
    .flatten()
    .collect();
    let took = started.elapsed();

    let counts = tally(answers.iter().map(|(_, _, answer)| answer.outcome()));
    println!(
        "{} calls in {took:.1?} ({:.0}/s): {counts:?}",
        answers.len(),
        answers.len() as f64 / took.as_secs_f64()
    );
    assert_eq!(answers.len(), SLOTS * HOLDERS_PER_SLOT);
    assert_eq!(counts["claimed"], SLOTS);
    let refused: usize = ["taken", "busy"].iter().filter_map(|outcome| counts.get(outcome)).sum();
    assert_eq!(refused, SLOTS * (HOLDERS_PER_SLOT - 1), "everybody else is told taken or busy");

    let mut winners = HashMap::new();
    for (slot, holder, answer) in &answers {
        assert_eq!(answer.ok(), answer.outcome() == "claimed", "{answer}");
        assert_eq!(answer.holder(), holder, "an answer names its caller as holder: {answer}");
        if answer.ok() {
            assert_eq!(answer.token(), 1, "{answer}");
            assert_eq!(winners.insert(slot, holder), None, "{slot} was claimed twice");
        }
    }
    for (slot, _, answer) in answers.iter().filter(|(_, _, answer)| answer.outcome() == "taken") {
        assert_eq!(answer.fact("held_by"), winners[slot].as_str(), "{answer}");
    }

    let session = database.connect().await;
    let rows = session.query("SELECT slot_id, holder FROM claims.slot_claims", &[]).await.unwrap();
    assert_eq!(rows.len(), SLOTS, "a refused claim leaves no row");
    for row in rows {
        let (slot, holder): (String, String) = (row.get(0), row.get(1));
        assert_eq!(winners[&slot], &holder);
    }
    database.drop().await;
}

fn shuffled_requests(seed: u64) -> Vec<(String, String)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut slots: Vec<usize> = (0..SLOTS).collect();
    rng.shuffle(&mut slots);
    let mut requests = Vec::with_capacity(SLOTS * HOLDERS_PER_SLOT);
    for together in slots.chunks(SLOTS_AT_A_TIME) {
        let first = requests.len();
        for slot in together {
            requests.extend(
                (0..HOLDERS_PER_SLOT).map(|h| (format!("slot:{slot}"), format!("run:{h}"))),
            );
        }
        rng.shuffle(&mut requests[first..]);
    }
    requests
}
