//! Keys under simultaneous callers: each thing is done by one of them, and every caller is answered.

use races::{Answer, Database, fresh_database, stampede, tally, told};

const CALLERS: usize = 20;

/// Twenty sessions begin one key at the same instant.
async fn begin_at_once(database: &Database, key: &str) -> Vec<Answer> {
    stampede(database.connect_many(CALLERS).await, |number, session| {
        let (key, holder) = (key.to_owned(), format!("run:{number}"));
        async move {
            let begin = &[("key", &key as _), ("holder", &holder as _), ("lease", &"1 min" as _)];
            session.ask("begin_key", begin).await.unwrap_or_else(|e| panic!("{}", told(&e)))
        }
    })
    .await
}

/// Case 1, with twenty executions in place of two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_that_begin_a_key_one_runs_and_nineteen_wait() {
    let database = fresh_database("keys_begin").await;
    for round in 0..20 {
        let answers = begin_at_once(&database, &format!("event:{round}")).await;
        let counts = tally(answers.iter().map(Answer::outcome));
        assert_eq!(
            (counts.get("run"), counts.get("wait")),
            (Some(&1), Some(&(CALLERS - 1))),
            "{counts:?}"
        );
        for answer in &answers {
            assert_eq!(answer.ok(), answer.outcome() == "run", "{answer}");
        }
    }
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_that_find_an_overdue_key_one_verifies_and_nineteen_wait() {
    let database = fresh_database("keys_verify").await;
    let session = database.connect().await;
    for round in 0..20 {
        let key = format!("event:{round}");
        let crashed = &[("key", &key as _), ("holder", &"crashed" as _), ("lease", &"1 ms" as _)];
        assert_eq!(session.ask("begin_key", crashed).await.unwrap().outcome(), "run");
        session.run("SELECT pg_sleep(0.005)").await;
        let answers = begin_at_once(&database, &key).await;
        let counts = tally(answers.iter().map(Answer::outcome));
        assert_eq!(
            (counts.get("verify"), counts.get("wait")),
            (Some(&1), Some(&(CALLERS - 1))),
            "{counts:?}"
        );
        let winner = answers.iter().find(|answer| answer.outcome() == "verify").unwrap();
        assert_eq!((winner.ok(), winner.token()), (false, 2), "{winner}");
    }
    database.drop().await;
}

/// The retry of a node and the node itself both finish: the first result stands.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_finishes_of_one_token_one_takes_and_its_result_stays() {
    const OUTCOMES: [&str; 4] = ["rejected", "done", "done", "done"];
    let database = fresh_database("keys_finish").await;
    let session = database.connect().await;
    for round in 0..20 {
        let key = format!("event:{round}");
        session.ask("begin_key", &[("key", &key), ("holder", &"run")]).await.unwrap();
        let answers = stampede(database.connect_many(CALLERS).await, |number, session| {
            let (key, result) = (key.clone(), format!(r#"{{"by": {number}}}"#));
            let outcome = OUTCOMES[number % OUTCOMES.len()];
            async move {
                let finish = &[
                    ("key", &key as _),
                    ("holder", &"run" as _),
                    ("token", &1 as _),
                    ("result", &result as _),
                    ("outcome", &outcome as _),
                ];
                // A refusal for want of the lock is repeated, as a workflow would.
                loop {
                    let answer = session
                        .ask("finish_key", finish)
                        .await
                        .unwrap_or_else(|e| panic!("{}", told(&e)));
                    if answer.outcome() != "busy" {
                        return answer;
                    }
                }
            }
        })
        .await;
        let first: Vec<usize> =
            (0..CALLERS).filter(|n| answers[*n].outcome() != "already_finished").collect();
        assert_eq!(first.len(), 1, "{:?}", tally(answers.iter().map(Answer::outcome)));
        assert_eq!(answers[first[0]].outcome(), OUTCOMES[first[0] % OUTCOMES.len()]);
        assert!(answers.iter().all(Answer::ok), "a repeated finish is no failure");
        let replay =
            session.ask("begin_key", &[("key", &key), ("holder", &"later")]).await.unwrap();
        assert_eq!(replay.outcome(), "replay");
        assert_eq!(replay.fact("result"), &serde_json::json!({ "by": first[0] }), "{replay}");
    }
    database.drop().await;
}

/// Case 8: a lease shorter than the work.
#[tokio::test]
async fn a_holder_that_lost_its_lease_cannot_finish() {
    let database = fresh_database("keys_lost").await;
    let session = database.connect().await;
    let begin =
        |holder: &'static str| format!("SELECT begin_key('event', '{holder}', lease => '1 ms')");
    assert_eq!(session.ask_sql(&begin("first"), &[]).await.unwrap().outcome(), "run");
    session.run("SELECT pg_sleep(0.005)").await;
    assert_eq!(session.ask_sql(&begin("second"), &[]).await.unwrap().outcome(), "verify");
    let finish = async |sql| session.ask_sql(sql, &[]).await.unwrap();
    let late = finish("SELECT finish_key('event', 'first', 1, '{\"by\": 1}')").await;
    assert_eq!((late.ok(), late.outcome()), (false, "lost"), "{late}");
    let own = finish("SELECT finish_key('event', 'second', 2, '{\"by\": 2}')").await;
    assert_eq!(own.outcome(), "done", "{own}");
    let replay = finish("SELECT begin_key('event', 'third')").await;
    assert_eq!(replay.fact("result"), &serde_json::json!({ "by": 2 }), "{replay}");
    database.drop().await;
}
