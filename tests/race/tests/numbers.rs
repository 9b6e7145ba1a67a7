//! Numbers without a gap, from many connections at once (case 24).
//!
//! The interleaving: a number that is taken is not yet committed when the next caller comes, and may
//! still be rolled back. The next caller must get neither that number nor the one after it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use races::{Answer, Args, Database, Session, fresh_database, stampede, tally, told};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_connections_get_a_thousand_numbers_each_and_leave_no_gap() {
    const EACH: usize = 1_000;
    let database = fresh_database("numbers").await;
    create(&database, "invoice").await;
    let started = Instant::now();
    let runs: Vec<Vec<i64>> =
        stampede(database.connect_many(2).await, |number, session| async move {
            let holder = format!("run:{number}");
            let mut numbers = Vec::with_capacity(EACH);
            while numbers.len() < EACH {
                let args: Args = &[("series", &"invoice"), ("holder", &holder)];
                let answer = session.answer("next_number", args).await;
                match answer.outcome() {
                    "issued" => numbers.push(number_of(&answer)),
                    "busy" => {}
                    _ => panic!("{answer}"),
                }
            }
            numbers
        })
        .await;
    println!("{} numbers in {:.1?}", 2 * EACH, started.elapsed());
    for numbers in &runs {
        assert!(numbers.is_sorted(), "whoever asks later gets the higher number");
    }
    let mut all = runs.concat();
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(1..=2 * EACH as i64), "contiguous, and none twice");
    let session = database.connect().await;
    assert_eq!(issued(&session, "invoice").await.into_keys().collect::<Vec<_>>(), all);
    database.assert_sound().await;
    database.drop().await;
}

/// What a transaction was told, and whether it was committed.
struct Run {
    key: Option<String>,
    series: &'static str,
    committed: bool,
    answer: Answer,
}

/// Some keys are shared by many of the runs, some runs have none. A third of them roll back what they
/// got, after a while; some take a number of both series in one transaction, in either order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rolled_back_numbers_come_again_and_one_key_has_one_number() {
    const SESSIONS: usize = 20;
    const RUNS: usize = 50;
    const KEYS: usize = 300;
    let database = fresh_database("numbers_keys").await;
    let both = ["invoice", "receipt"];
    for series in both {
        create(&database, series).await;
    }
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let started = Instant::now();
    let runs: Vec<Run> =
        stampede(database.connect_many(SESSIONS).await, |number, session| async move {
            let mut rng = fastrand::Rng::with_seed(seed ^ number as u64);
            let mut runs = Vec::new();
            // Two transactions that each have what the other wants wait that long and are told busy.
            session.run("SET pg_claims.lock_wait = '100 ms'").await;
            for attempt in 0..RUNS {
                let holder = format!("run:{number}:{attempt}");
                let key = (rng.u8(..4) > 0).then(|| format!("order:{}", rng.usize(..KEYS)));
                let mut series = both;
                rng.shuffle(&mut series);
                let series = if rng.u8(..4) == 0 { &series[..] } else { &series[..1] };
                if rng.bool() {
                    let answer = until_not_busy(&session, series[0], &holder, key.as_deref()).await;
                    runs.push(Run { key, series: series[0], committed: true, answer });
                    continue;
                }
                // Held open for a while, and started over when one of the two is busy.
                loop {
                    session.run("BEGIN").await;
                    let mut answers = Vec::new();
                    for series in series {
                        let answer = next(&session, series, &holder, key.as_deref()).await;
                        let is_busy = answer.outcome() == "busy";
                        answers.push((*series, answer));
                        if is_busy {
                            break;
                        }
                        pause_ms(&mut rng, 3).await;
                    }
                    let is_busy = answers.last().is_some_and(|(_, last)| last.outcome() == "busy");
                    let committed = !is_busy && rng.u8(..3) > 0;
                    session.run(if committed { "COMMIT" } else { "ROLLBACK" }).await;
                    runs.extend(answers.into_iter().map(|(series, answer)| Run {
                        key: key.clone(),
                        series,
                        committed,
                        answer,
                    }));
                    if !is_busy {
                        break;
                    }
                    pause_ms(&mut rng, 20).await;
                }
            }
            runs
        })
        .await
        .into_iter()
        .flatten()
        .collect();
    println!(
        "{:.1?}: {:?}, {} not committed",
        started.elapsed(),
        tally(runs.iter().map(|run| run.answer.outcome())),
        runs.iter().filter(|run| !run.committed).count()
    );

    let session = database.connect().await;
    for series in both {
        let there = issued(&session, series).await;
        let committed: Vec<&Run> =
            runs.iter().filter(|run| run.series == series && run.committed).collect();
        println!("{series}: {} numbers, {} answers", there.len(), committed.len());
        let numbers: Vec<i64> = there.keys().copied().collect();
        assert_eq!(numbers, Vec::from_iter(1..=there.len() as i64), "{series} has a gap");

        let mut by_key: HashMap<&str, i64> = HashMap::new();
        let mut given = BTreeSet::new();
        for run in committed {
            let number = number_of(&run.answer);
            assert!(["issued", "replayed"].contains(&run.answer.outcome()), "{}", run.answer);
            assert_eq!(there.get(&number), Some(&run.key), "as in the table: {}", run.answer);
            if let Some(key) = &run.key {
                let known = *by_key.entry(key).or_insert(number);
                assert_eq!(number, known, "{series}: {key} has two numbers");
            }
            if run.answer.outcome() == "issued" {
                assert!(given.insert(number), "{series}: {number} was issued twice");
            }
        }
        assert_eq!(Vec::from_iter(given), numbers, "{series}: every number was issued to a run");
    }
    let outcomes = tally(runs.iter().map(|run| run.answer.outcome()));
    assert!(outcomes.contains_key("replayed"), "no key was ever asked for twice");
    database.assert_sound().await;
    database.drop().await;
}

async fn create(database: &Database, series: &str) {
    let session = database.connect().await;
    let label = format!("{series}-{{n:05}}");
    let answer = session.answer("create_series", &[("series", &series), ("label", &label)]).await;
    assert_eq!(answer.outcome(), "created", "{answer}");
}

async fn next(session: &Session, series: &str, holder: &str, key: Option<&str>) -> Answer {
    let mut args: Vec<(&str, &(dyn std::fmt::Display + Sync))> =
        vec![("series", &series), ("holder", &holder)];
    if let Some(key) = &key {
        args.push(("key", key));
    }
    session.answer("next_number", &args).await
}

async fn until_not_busy(
    session: &Session,
    series: &str,
    holder: &str,
    key: Option<&str>,
) -> Answer {
    loop {
        let answer = next(session, series, holder, key).await;
        if answer.outcome() != "busy" {
            return answer;
        }
    }
}

async fn pause_ms(rng: &mut fastrand::Rng, most_ms: u64) {
    tokio::time::sleep(Duration::from_micros(rng.u64(..most_ms * 1000))).await;
}

fn number_of(answer: &Answer) -> i64 {
    let number = answer.fact("number").as_i64().unwrap_or_else(|| panic!("no number: {answer}"));
    let series = answer.fact("series").as_str().unwrap_or_default();
    assert_eq!(*answer.fact("label"), format!("{series}-{number:05}"), "{answer}");
    number
}

/// Every number of the series in the table, with its key.
async fn issued(session: &Session, series: &str) -> BTreeMap<i64, Option<String>> {
    let sql = "SELECT number, key FROM claims.numbers WHERE series = $1 AND status = 'issued'";
    let rows = session.query(sql, &[&series]).await.unwrap_or_else(|e| panic!("{}", told(&e)));
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}
