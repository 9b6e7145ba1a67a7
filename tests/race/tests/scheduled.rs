//! The reaper as a job of pg_cron, which lives in the database that `PGDATABASE` names. A job runs at
//! the full minute, so this takes up to two.

use std::env;
use std::time::{Duration, Instant};

use races::{Session, connect, fresh_database, told};

const JOB: &str = "pg_claims_reaper_";
const ROLE: &str = "races_scheduler";
/// pg_cron 1.4 knows no seconds: from one full minute to the next but one, and a little.
const MOST_WAIT: Duration = Duration::from_secs(130);

/// What pg_cron has on its list for a database, and as whom it would run that.
async fn jobs(cron: &Session, database: &str) -> Vec<(String, String, String)> {
    let sql = "SELECT schedule, command, username FROM cron.job WHERE jobname = $1 ORDER BY jobid";
    cron.query(sql, &[&format!("{JOB}{database}")])
        .await
        .unwrap()
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect()
}

async fn expired_claim(session: &Session, slot: &str) {
    let args = &[("slot_id", &slot as _), ("holder", &"gone" as _), ("ttl", &"1 ms" as _)];
    let answer = session.ask("claim_slot", args).await.unwrap();
    assert!(answer.ok(), "{answer}");
}

async fn is_reaped(session: &Session, slot: &str) -> bool {
    let sql = "SELECT count(*) FROM claims.slot_claims
               WHERE slot_id = $1 AND status = 'expired' AND ended_by = 'reaper'";
    session.query_one(sql, &[&slot]).await.unwrap().get::<_, i64>(0) == 1
}

/// DETAIL and HINT are what an administrator goes by.
async fn refusal(session: &Session, sql: &str) -> (String, String) {
    let error = session.simple_query(sql).await.expect_err("it should be refused");
    let refused = error.as_db_error().unwrap_or_else(|| panic!("{sql}: {}", told(&error)));
    (refused.code().code().to_owned(), refused.hint().unwrap_or_default().to_owned())
}

/// The part of a HINT that can be run as it is.
fn statement(hint: &str) -> &str {
    hint.split_once(" run: ").unwrap_or_else(|| panic!("nothing to run in {hint:?}")).1
}

#[tokio::test]
async fn pg_cron_runs_the_reaper() {
    let other = fresh_database("scheduled").await;
    let home = env::var("PGDATABASE").unwrap();
    let (cron, elsewhere) = (connect(&home).await, other.connect().await);
    cron.run("SELECT unschedule_reaper()").await;
    let slot =
        format!("scheduled {}", cron.value::<String>("SELECT clock_timestamp()::text").await);

    // A role needs rights, and is told which.
    cron.run(&format!(
        "DROP ROLE IF EXISTS {ROLE}; CREATE ROLE {ROLE} LOGIN;
         GRANT EXECUTE ON FUNCTION schedule_reaper, unschedule_reaper TO {ROLE}"
    ))
    .await;
    for _ in 0..2 {
        cron.run(&format!("SET ROLE {ROLE}")).await;
        let (code, hint) = refusal(&cron, "SELECT schedule_reaper()").await;
        assert_eq!(code, "42501", "{hint}");
        cron.run("RESET ROLE").await;
        cron.run(statement(&hint)).await;
    }
    cron.run(&format!("SET ROLE {ROLE}")).await;
    cron.run("SELECT schedule_reaper('0 4 * * *', '1 day')").await;
    cron.run("RESET ROLE").await;
    let command = "SELECT public.reap_stale_claims('86400 s')";
    assert_eq!(jobs(&cron, &home).await, [("0 4 * * *".into(), command.into(), ROLE.into())]);

    // What pg_cron cannot read, it says itself, and the job stays as it was.
    let error = cron.simple_query("SELECT schedule_reaper('every minute')").await.unwrap_err();
    assert!(told(&error).contains("invalid schedule: every minute"), "{}", told(&error));
    assert_eq!(jobs(&cron, &home).await.len(), 1);

    // Twice leaves one job, and a superuser's takes the place of the role's.
    let first = cron.ask("schedule_reaper", &[]).await.unwrap();
    let second = cron.ask("schedule_reaper", &[]).await.unwrap();
    assert_eq!((first.ok(), first.outcome()), (true, "scheduled"), "{first}");
    assert_eq!(first.fact("job_id"), second.fact("job_id"));
    assert_eq!(second.fact("job"), &format!("{JOB}{home}"));
    assert_eq!(second.fact("schedule"), "* * * * *");
    let superuser: String = cron.value("SELECT current_user::text").await;
    let command = "SELECT public.reap_stale_claims('0')";
    assert_eq!(jobs(&cron, &home).await, [("* * * * *".into(), command.into(), superuser.clone())]);

    // For another database it has to be done here, as it is said there.
    let (code, hint) = refusal(&elsewhere, "SELECT schedule_reaper()").await;
    assert_eq!(code, "55000", "{hint}");
    assert!(hint.contains(&format!("in database {home} ")), "{hint}");
    cron.run(statement(&hint)).await;
    assert_eq!(jobs(&cron, other.name()).await.len(), 1);

    // The minute comes.
    for session in [&cron, &elsewhere] {
        expired_claim(session, &slot).await;
    }
    let begun = Instant::now();
    while !(is_reaped(&cron, &slot).await && is_reaped(&elsewhere, &slot).await) {
        assert!(begun.elapsed() < MOST_WAIT, "pg_cron has not run the reaper");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    println!("pg_cron had run the reaper after {:.0?}", begun.elapsed());
    for session in [&cron, &elsewhere] {
        let run = "SELECT role FROM claims.reaper_runs WHERE expired > 0 ORDER BY started_at DESC LIMIT 1";
        assert_eq!(session.value::<String>(run).await, superuser);
        let age = "SELECT last_reap_age < interval '2 minutes' FROM claims.health";
        assert!(session.value::<bool>(age).await);
    }

    // And off again.
    let answer = cron.ask("unschedule_reaper", &[]).await.unwrap();
    assert_eq!((answer.ok(), answer.outcome()), (true, "unscheduled"), "{answer}");
    let answer = cron.ask("unschedule_reaper", &[]).await.unwrap();
    assert_eq!((answer.ok(), answer.outcome()), (true, "absent"), "{answer}");
    let (code, hint) = refusal(&elsewhere, "SELECT unschedule_reaper()").await;
    assert_eq!(code, "55000", "{hint}");
    cron.run(statement(&hint)).await;
    for database in [home.as_str(), other.name()] {
        assert_eq!(jobs(&cron, database).await, []);
    }

    cron.execute("DELETE FROM claims.slot_claims WHERE slot_id = $1", &[&slot]).await.unwrap();
    cron.run(&format!("DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")).await;
    other.drop().await;
}
