//! Runs one of two ways to do something once, in the time it is given: the library's
//! runtime, or begin_key and finish_key. Both get the same pool of the same driver, and
//! what is to be done once is nothing.
//!
//! Reads a [`Job`] as JSON, and writes for each time when it ended and how long it took.

use std::error::Error;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent_effects::{EffectFailure, EffectKind, EffectOutcome, Runtime};
use agent_effects_postgres::PostgresStore;
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

type Anything<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Deserialize)]
struct Job {
    socket: String,
    database: String,
    clients: u32,
    seconds: f64,
    subject: Subject,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Subject {
    /// Each time another key.
    LibraryNew,
    PgClaimsNew,
    /// The same key again, which is done.
    LibraryReplay,
    PgClaimsReplay,
}

#[derive(Serialize)]
struct Done {
    ended_at: f64,
    took: f64,
}

#[tokio::main]
async fn main() -> Anything<()> {
    let job: Job = serde_json::from_reader(std::io::stdin())?;
    let options = PgConnectOptions::new()
        .socket(&job.socket)
        .port(5432)
        .username("postgres")
        .database(&job.database);
    // Without the ping before each use, which would be one more round trip for both.
    let pool = PgPoolOptions::new()
        .min_connections(job.clients)
        .max_connections(job.clients)
        .test_before_acquire(false)
        .connect_with(options)
        .await?;
    let once = Once { runtime: Runtime::new(PostgresStore::from_pool(pool.clone()).await?), pool };
    if matches!(job.subject, Subject::LibraryReplay | Subject::PgClaimsReplay) {
        once.run(job.subject, "done").await?;
    }
    let end = Instant::now() + Duration::from_secs_f64(job.seconds);
    let clients: Vec<_> =
        (0..job.clients).map(|_| tokio::spawn(again(once.clone(), job.subject, end))).collect();
    let mut all = Vec::new();
    for client in clients {
        all.extend(client.await??);
    }
    serde_json::to_writer(std::io::stdout(), &all)?;
    Ok(())
}

async fn again(once: Once, subject: Subject, end: Instant) -> Anything<Vec<Done>> {
    let mut done = Vec::new();
    while Instant::now() < end {
        let key = match subject {
            Subject::LibraryNew | Subject::PgClaimsNew => format!("key-{:020}", fastrand::u64(..)),
            Subject::LibraryReplay | Subject::PgClaimsReplay => "done".to_owned(),
        };
        let begun = Instant::now();
        once.run(subject, &key).await?;
        let took = begun.elapsed().as_secs_f64();
        done.push(Done {
            ended_at: SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64(),
            took,
        });
    }
    Ok(done)
}

#[derive(Clone)]
struct Once {
    runtime: Runtime<PostgresStore>,
    pool: PgPool,
}

impl Once {
    async fn run(&self, subject: Subject, key: &str) -> Anything<()> {
        match subject {
            Subject::LibraryNew | Subject::LibraryReplay => self.by_library(key).await,
            Subject::PgClaimsNew | Subject::PgClaimsReplay => self.by_pg_claims(key).await,
        }
    }

    async fn by_library(&self, key: &str) -> Anything<()> {
        let outcome = self
            .runtime
            .effect("charge", key)
            .kind(EffectKind::IrreversibleWrite)
            .run(|_| async { Ok::<_, EffectFailure>("ch-1".to_owned()) })
            .await?;
        match outcome {
            EffectOutcome::Committed(_) => Ok(()),
            other => Err(format!("the library answered {other:?}").into()),
        }
    }

    async fn by_pg_claims(&self, key: &str) -> Anything<()> {
        let outcome: String = sqlx::query_scalar("SELECT begin_key($1, 'h') ->> 'outcome'")
            .bind(key)
            .fetch_one(&self.pool)
            .await?;
        match outcome.as_str() {
            "replay" => Ok(()),
            "run" => {
                let sql = r#"SELECT (finish_key($1, 'h', 1, '"ch-1"') ->> 'ok')::boolean"#;
                let finished: bool =
                    sqlx::query_scalar(sql).bind(key).fetch_one(&self.pool).await?;
                finished.then_some(()).ok_or_else(|| "the key was not finished".into())
            }
            other => Err(format!("begin_key answered {other}").into()),
        }
    }
}
