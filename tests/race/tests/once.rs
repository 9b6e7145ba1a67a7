//! Twenty sessions make one call at the same instant, and it happens once.

use races::{Answer, Args, Database, fresh_database, stampede, tally, told};

const CALLERS: usize = 20;
const ROUNDS: usize = 8;

/// Twenty sessions call `function` on one slot; `args_of` says what each passes besides. A caller that
/// is told busy asks again.
async fn at_once(
    database: &Database,
    function: &'static str,
    slot: &str,
    args_of: impl Fn(usize) -> Vec<(&'static str, String)>,
) -> Vec<Answer> {
    stampede(database.connect_many(CALLERS).await, |number, session| {
        let (slot, own) = (slot.to_owned(), args_of(number));
        async move {
            let mut args: Vec<(&str, &(dyn std::fmt::Display + Sync))> = vec![("slot_id", &slot)];
            args.extend(own.iter().map(|(name, value)| (*name, value as _)));
            loop {
                let answer =
                    session.ask(function, &args).await.unwrap_or_else(|e| panic!("{}", told(&e)));
                if answer.outcome() != "busy" {
                    return answer;
                }
            }
        }
    })
    .await
}

fn counts(answers: &[Answer]) -> Vec<(&str, usize)> {
    tally(answers.iter().map(Answer::outcome)).into_iter().collect()
}

/// The interleaving: twenty runs each had the slot for a millisecond, one after the other, and their
/// twenty calendar calls all succeed at once. One is booked, nineteen are told who has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_late_confirms_of_a_free_slot_one_books_it() {
    let database = fresh_database("once_late_confirm").await;
    let session = database.connect().await;
    for round in 0..ROUNDS {
        let slot = format!("slot:{round}");
        for number in 0..CALLERS {
            let holder = format!("run:{number}");
            let claim: Args = &[("slot_id", &slot), ("holder", &holder), ("ttl", &"1 ms")];
            assert_eq!(session.ask("claim_slot", claim).await.unwrap().token(), number as i64 + 1);
            session.run("SELECT pg_sleep(0.002)").await;
        }
        let answers = at_once(&database, "confirm_slot", &slot, |number| {
            vec![("holder", format!("run:{number}")), ("token", (number + 1).to_string())]
        })
        .await;
        assert_eq!(counts(&answers), [("confirmed_late", 1), ("lost", CALLERS - 1)]);
        let winner = answers.iter().find(|answer| answer.ok()).unwrap().holder();
        for lost in answers.iter().filter(|answer| !answer.ok()) {
            assert_eq!(lost.fact("lost_to"), winner, "{lost}");
        }
        let booked = session.ask("check_slot", &[("slot_id", &slot)]).await.unwrap();
        assert_eq!((booked.outcome(), booked.holder()), ("booked", winner), "{booked}");
    }
    database.drop().await;
}

/// The answer of a claim was lost on the way, and the call is repeated, many times at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_repeats_of_one_call_are_one_claim() {
    let database = fresh_database("once_call_id").await;
    for round in 0..ROUNDS {
        let answers = at_once(&database, "claim_slot", &format!("slot:{round}"), |_| {
            vec![("holder", "run".to_owned()), ("call_id", "7:0:0".to_owned())]
        })
        .await;
        assert_eq!(counts(&answers), [("claimed", CALLERS)]);
        let replayed = answers.iter().filter(|answer| *answer.fact("replayed") == true).count();
        assert_eq!(replayed, CALLERS - 1);
        for answer in &answers {
            assert_eq!((answer.ok(), answer.token()), (true, 1), "{answer}");
            assert_eq!(answer.fact("expires_at"), answers[0].fact("expires_at"), "{answer}");
        }
    }
    database.drop().await;
}

/// An agent calls its tool twenty times: without a call_id each is a call of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_claims_of_one_holder_are_one_claim_and_nineteen_refusals() {
    let database = fresh_database("once_holder").await;
    for round in 0..ROUNDS {
        let answers = at_once(&database, "claim_slot", &format!("slot:{round}"), |_| {
            vec![("holder", "run".to_owned())]
        })
        .await;
        assert_eq!(counts(&answers), [("already_yours", CALLERS - 1), ("claimed", 1)]);
    }
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_confirms_of_one_claim_one_books_it() {
    let database = fresh_database("once_confirm").await;
    let session = database.connect().await;
    for round in 0..ROUNDS {
        let slot = format!("slot:{round}");
        session.ask("claim_slot", &[("slot_id", &slot), ("holder", &"run")]).await.unwrap();
        let answers = at_once(&database, "confirm_slot", &slot, |number| {
            vec![("holder", "run".to_owned()), ("result", number.to_string())]
        })
        .await;
        assert_eq!(counts(&answers), [("already_confirmed", CALLERS - 1), ("confirmed", 1)]);
        let first = answers.iter().position(|answer| answer.outcome() == "confirmed").unwrap();
        let stored: String = session
            .value(&format!("SELECT result::text FROM claims.slot_claims WHERE slot_id = '{slot}'"))
            .await;
        assert_eq!(stored, first.to_string(), "the first result stays");
    }
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_cancels_of_one_booking_one_cancels_it() {
    let database = fresh_database("once_cancel").await;
    let session = database.connect().await;
    for round in 0..ROUNDS {
        let slot = format!("slot:{round}");
        session.ask("claim_slot", &[("slot_id", &slot), ("holder", &"run")]).await.unwrap();
        session.ask("confirm_slot", &[("slot_id", &slot), ("holder", &"run")]).await.unwrap();
        let answers = at_once(&database, "cancel_slot", &slot, |number| {
            vec![("holder", format!("desk:{number}")), ("token", "1".to_owned())]
        })
        .await;
        assert_eq!(counts(&answers), [("already_cancelled", CALLERS - 1), ("cancelled", 1)]);
    }
    database.drop().await;
}

/// Ten people look at a claim in review and find that it happened, ten that it did not: one verdict
/// counts, and the others are told that it is decided.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twenty_verdicts_on_one_claim_one_counts() {
    let database = fresh_database("once_resolve").await;
    let session = database.connect().await;
    for round in 0..ROUNDS {
        let slot = format!("slot:{round}");
        session.ask("claim_slot", &[("slot_id", &slot), ("holder", &"run")]).await.unwrap();
        let doubt: Args = &[("slot_id", &slot), ("holder", &"run"), ("in_doubt", &true)];
        session.ask("release_slot", doubt).await.unwrap();
        let answers = at_once(&database, "resolve_slot", &slot, |number| {
            let verdict = if number % 2 == 0 { "booked" } else { "released" };
            vec![
                ("holder", "run".to_owned()),
                ("token", "1".to_owned()),
                ("verdict", verdict.to_owned()),
            ]
        })
        .await;
        let decided: Vec<&Answer> = answers.iter().filter(|answer| answer.ok()).collect();
        assert_eq!(decided.len(), 1, "{:?}", counts(&answers));
        assert!(
            counts(&answers).contains(&("not_in_review", CALLERS - 1)),
            "{:?}",
            counts(&answers)
        );
        let stored: String = session
            .value(&format!("SELECT status FROM claims.slot_claims WHERE slot_id = '{slot}'"))
            .await;
        assert_eq!(stored, decided[0].outcome());
    }
    database.drop().await;
}
