//! The shared harness of the tests that use real connections.
//!
//! # Layout
//!
//! - this file: a database of one's own, a session, an [`Answer`], a [`stampede`]
//! - [`storm`]: many sessions on few slots with leases of milliseconds, and what must hold afterwards
//! - [`model`]: what every call must answer, as plain Rust, for the random sequences
//! - `tests/`: one file a behaviour
//!
//! `PGHOST` (a socket directory or a host), `PGPORT`, `PGUSER` and `PGDATABASE` say where the server
//! is; the user must be a superuser of it, since each test creates a database.
//!
//! `RACES_LEAVE_OUT=row_guard cargo test …` runs a test by hand with that part of the protocol left out,
//! to see that it can fail.
//!
//! `RACES_POOLER=127.0.0.1:6432` sends the many sessions of a test through a pooler in
//! transaction mode.

pub mod model;
pub mod storm;

use std::collections::HashMap;
use std::env;
use std::error::Error as StdError;
use std::fmt::{self, Display};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::BytesMut;
use serde_json::Value;
use tokio::sync::{Barrier, Mutex};
use tokio_postgres::types::{Format, IsNull, ToSql, Type};
use tokio_postgres::{Client, Config, Error, NoTls, Row, Statement};

/// Every test takes this advisory lock of the maintenance database, so that fifty connections of one
/// test never meet fifty of another, and a test that watches the whole server has it to itself.
const ONE_TEST_AT_A_TIME: i64 = 0x0070_675f_636c_6169;

/// One connection, with the statements it has prepared.
pub struct Session {
    client: Client,
    /// A named statement lives in one backend, and the next call may be in another.
    is_pooled: bool,
    prepared: Mutex<HashMap<String, Statement>>,
}

impl std::ops::Deref for Session {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// The arguments of a call, by name.
pub type Args<'a> = &'a [(&'a str, &'a (dyn Display + Sync))];

impl Session {
    /// Calls `function(name => $1, …)` as node-postgres does: parameters as text, their types left to
    /// the server. Panics unless exactly one row comes back.
    pub async fn ask(&self, function: &str, args: Args<'_>) -> Result<Answer, Error> {
        let names: Vec<String> =
            args.iter().enumerate().map(|(i, (name, _))| format!("{name} => ${}", i + 1)).collect();
        let sql = format!("SELECT {function}({})", names.join(", "));
        let values: Vec<Text> = args.iter().map(|(_, value)| Text(value.to_string())).collect();
        self.ask_sql(&sql, &values).await
    }

    /// The same for a statement written out.
    pub async fn ask_sql(&self, sql: &str, values: &[Text]) -> Result<Answer, Error> {
        if self.is_pooled {
            let values: Vec<(&(dyn ToSql + Sync), Type)> =
                values.iter().map(|value| (value as _, Type::UNKNOWN)).collect();
            let rows = self.client.query_typed(sql, &values).await?;
            return Ok(Answer::only(sql, &rows));
        }
        let statement = self.statement(sql).await?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let rows = self.client.query(&statement, &values).await?;
        Ok(Answer::only(sql, &rows))
    }

    /// The same where an exception is a fault of the extension.
    pub async fn answer(&self, function: &str, args: Args<'_>) -> Answer {
        self.ask(function, args)
            .await
            .unwrap_or_else(|e| panic!("{function} must answer, and raised {}", told(&e)))
    }

    async fn statement(&self, sql: &str) -> Result<Statement, Error> {
        let mut prepared = self.prepared.lock().await;
        if let Some(statement) = prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// The one value of a query that answers one row of one column.
    pub async fn value<T>(&self, sql: &str) -> T
    where
        T: for<'a> tokio_postgres::types::FromSql<'a>,
    {
        self.client
            .query_one(sql, &[])
            .await
            .unwrap_or_else(|e| panic!("{sql}: {}", told(&e)))
            .get(0)
    }

    /// Runs statements whose failure is the test's own fault.
    pub async fn run(&self, sql: &str) {
        self.client.batch_execute(sql).await.unwrap_or_else(|e| panic!("{sql}: {}", told(&e)));
    }

    pub async fn backend_pid(&self) -> i32 {
        self.value("SELECT pg_backend_pid()").await
    }
}

/// A parameter sent as text, whatever type the server wants it in.
#[derive(Debug, Clone)]
pub struct Text(pub String);

impl ToSql for Text {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    tokio_postgres::types::to_sql_checked!();
}

/// What one call answered: one jsonb object, or the boolean of a fence.
#[derive(Clone, PartialEq)]
pub struct Answer(pub Value);

impl Answer {
    fn only(sql: &str, rows: &[Row]) -> Answer {
        assert_eq!(rows.len(), 1, "{sql} must answer exactly one row");
        assert_eq!(rows[0].len(), 1, "{sql} must answer exactly one column");
        Answer::of(&rows[0])
    }

    /// The answer in the first column of a row.
    pub fn of(row: &Row) -> Answer {
        match *row.columns()[0].type_() {
            Type::BOOL => Answer(Value::Bool(row.get(0))),
            _ => Answer(row.get::<_, Option<Value>>(0).expect("an answer is never NULL")),
        }
    }

    pub fn ok(&self) -> bool {
        self.0["ok"].as_bool().unwrap_or_else(|| panic!("ok must be a boolean: {self}"))
    }

    pub fn outcome(&self) -> &str {
        self.0["outcome"].as_str().unwrap_or_else(|| panic!("outcome must be a text: {self}"))
    }

    pub fn holder(&self) -> &str {
        self.0["holder"].as_str().unwrap_or_else(|| panic!("holder must be a text: {self}"))
    }

    pub fn token(&self) -> i64 {
        self.0["token"].as_i64().unwrap_or_else(|| panic!("token must be a number: {self}"))
    }

    /// A fact, or `Null` where the answer does not have it.
    pub fn fact(&self, name: &str) -> &Value {
        &self.0[name]
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Everything the server said about an error, where `Display` says only "db error".
pub fn told(error: &Error) -> String {
    match error.as_db_error() {
        Some(e) => format!(
            "{} {} DETAIL: {} HINT: {}",
            e.code().code(),
            e.message(),
            e.detail().unwrap_or("-"),
            e.hint().unwrap_or("-")
        ),
        None => error.to_string(),
    }
}

/// The SQLSTATE of an error, or what the driver says when the connection is gone.
pub fn sqlstate(error: &Error) -> String {
    error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned())
}

fn setting(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: start the scratch server (make server) and source target/pg/env")
    })
}

/// A session in the named database of the server that the environment names.
pub async fn connect(database: &str) -> Session {
    connect_to(&setting("PGHOST"), &setting("PGPORT"), false, database).await
}

async fn connect_to(host: &str, port: &str, is_pooled: bool, database: &str) -> Session {
    let mut config = Config::new();
    config.user(setting("PGUSER")).dbname(database).application_name("races");
    config.host(host).port(port.parse().expect("a port must be a number"));
    let (client, connection) = config
        .connect(NoTls)
        .await
        .unwrap_or_else(|e| panic!("cannot connect to {database}: {}", told(&e)));
    tokio::spawn(connection);
    Session { client, is_pooled, prepared: Mutex::default() }
}

/// A database of one test, and the lock that keeps the other tests away while it lives.
pub struct Database {
    name: String,
    maintenance: Session,
}

/// Creates `races_<name>` with the extension in it, in place of one that a failed run left behind.
pub async fn fresh_database(name: &str) -> Database {
    let maintenance = connect(&setting("PGDATABASE")).await;
    maintenance.run(&format!("SELECT pg_advisory_lock({ONE_TEST_AT_A_TIME})")).await;
    let database = Database { name: format!("races_{name}"), maintenance };
    database.create_empty(&database.name).await;
    database.connect().await.run("CREATE EXTENSION pg_claims CASCADE").await;
    if let Ok(part) = env::var("RACES_LEAVE_OUT") {
        database.leave_out(&part).await;
    }
    database
}

impl Database {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub async fn connect(&self) -> Session {
        connect(&self.name).await
    }

    pub async fn connect_many(&self, sessions: usize) -> Vec<Session> {
        let mut all = Vec::with_capacity(sessions);
        for _ in 0..sessions {
            all.push(match env::var("RACES_POOLER") {
                Ok(pooler) => {
                    let (host, port) = pooler.split_once(':').expect("RACES_POOLER is host:port");
                    connect_to(host, port, true, &self.name).await
                }
                Err(_) => self.connect().await,
            });
        }
        all
    }

    /// Lets the functions of this database come from the mutant, which `scripts/mutant.sh` puts beside
    /// the extension, with one part of the protocol left out. Connections made from now on use it.
    pub async fn leave_out(&self, part: &str) {
        let session = self.connect().await;
        session.run("SET allow_system_table_mods = on").await;
        let sql = "UPDATE pg_proc SET probin = '$libdir/pg_claims_mutant'
                   WHERE starts_with(probin, '$libdir/pg_claims')";
        let swapped = session.execute(sql, &[]).await.unwrap_or_else(|e| panic!("{}", told(&e)));
        assert!(swapped > 0, "no function of this database comes from $libdir/pg_claims");
        session.run(&format!("ALTER DATABASE {} SET pg_claims.mutant = '{part}'", self.name)).await;
        let session = self.connect().await;
        session.answer("check_claims", &[]).await;
        let left_out: String = session.value("SHOW pg_claims.mutant").await;
        assert_eq!(left_out, part, "the mutant must take its setting");
    }

    /// The extension's own check of its tables must agree with the test.
    pub async fn assert_sound(&self) {
        let sound = self.connect().await.answer("check_claims", &[]).await;
        assert!(sound.ok(), "{sound}");
    }

    /// A further, empty database. `template0`, because nobody can be connected to it.
    pub async fn create_empty(&self, name: &str) {
        self.drop_named(name).await;
        self.maintenance.run(&format!("CREATE DATABASE {name} TEMPLATE template0")).await;
    }

    pub async fn drop_named(&self, name: &str) {
        self.maintenance.run(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    }

    /// At the end of a test that passed. One that failed leaves its database to be looked at; the next
    /// run replaces it.
    pub async fn drop(self) {
        self.drop_named(&self.name).await;
    }
}

/// Starts one task a session, lets them all go at the same instant, and gathers what they return.
pub async fn stampede<T, F, Run>(sessions: Vec<Session>, run: F) -> Vec<T>
where
    T: Send + 'static,
    F: Fn(usize, Session) -> Run,
    Run: Future<Output = T> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(sessions.len()));
    let tasks: Vec<_> = sessions
        .into_iter()
        .enumerate()
        .map(|(number, session)| {
            let (barrier, run) = (barrier.clone(), run(number, session));
            tokio::spawn(async move {
                barrier.wait().await;
                run.await
            })
        })
        .collect();
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        results.push(task.await.expect("a task of the stampede panicked"));
    }
    results
}

/// Reaps far more often than anybody would: correctness must not depend on it, either way.
pub async fn reap_until(reaper: Session, until: Instant) {
    while Instant::now() < until {
        let answer = reaper.answer("reap_stale_claims", &[]).await;
        assert_eq!(answer.outcome(), "reaped", "{answer}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Microseconds since 1970 by this machine's clock, which is the clock of a server on it too.
pub fn clock_us() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    since_1970.as_micros() as i64
}

/// Fails with the first of the promises that were broken, and how many there are.
pub fn assert_no_faults(faults: &[String]) {
    let first = &faults[..faults.len().min(10)];
    assert!(faults.is_empty(), "{} faults: {first:#?}", faults.len());
}

/// How often each outcome was answered, for a test to print and to check.
pub fn tally<'a>(
    outcomes: impl Iterator<Item = &'a str>,
) -> std::collections::BTreeMap<&'a str, usize> {
    let mut counts = std::collections::BTreeMap::new();
    for outcome in outcomes {
        *counts.entry(outcome).or_default() += 1;
    }
    counts
}
