//! Rounds, one after the other, until something is found or the time is up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Fault;
use crate::check::{Finding, History, check, without_busy};
use crate::connection::{Connection, Fate, Reply};
use crate::model::Model;
use crate::plan::{Plan, Weather};
use crate::round::{Record, Stage, play};
use crate::server::Server;

pub struct Run {
    pub seed: u64,
    pub weather: Weather,
    pub length: Duration,
    /// The part of the protocol that the mutant leaves out.
    pub leave_out: Option<&'static str>,
}

/// What came of it.
#[derive(Default)]
pub struct Report {
    pub rounds: u64,
    pub calls: usize,
    /// How often what was answered, or done to the server.
    pub counts: BTreeMap<String, usize>,
    /// Histories for which no order was found within the steps that a search may take.
    pub undecided: usize,
    pub faults: Vec<Fault>,
}

const DATABASE: &str = "crashes";

/// Rounds, however slow the machine is: every disturbance has its turn in them.
const AT_LEAST: u64 = 16;

impl Run {
    pub async fn play(self) -> Report {
        let server = Server::start();
        make_database(self.leave_out).await;
        let stage = Arc::new(Stage::new(DATABASE, server));
        let mut report = Report::default();
        let began = Instant::now();
        let is_over = |report: &Report| report.rounds >= AT_LEAST && began.elapsed() >= self.length;
        while report.faults.is_empty() && !is_over(&report) {
            report.rounds += 1;
            let plan = Plan::new(self.seed, report.rounds, self.weather);
            report.add(play(&stage, report.rounds, plan).await);
        }
        report.faults.extend(stage.faults().await);
        report
    }
}

/// Made anew for each run, by the server's own superuser.
async fn make_database(leave_out: Option<&str>) {
    let open = async |database| {
        Connection::open(database, "crashes admin").await.unwrap_or_else(|e| panic!("{e}"))
    };
    let maintenance = open("postgres").await;
    maintenance.run(&format!("DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")).await;
    maintenance.run(&format!("CREATE DATABASE {DATABASE} TEMPLATE template0")).await;
    open(DATABASE).await.run("CREATE EXTENSION pg_claims CASCADE").await;
    if let Some(part) = leave_out {
        let admin = open(DATABASE).await;
        admin.run("SET allow_system_table_mods = on").await;
        admin
            .run(
                "UPDATE pg_proc SET probin = '$libdir/pg_claims_mutant'
                 WHERE starts_with(probin, '$libdir/pg_claims')",
            )
            .await;
        admin.run(&format!("ALTER DATABASE {DATABASE} SET pg_claims.mutant = '{part}'")).await;
        let admin = open(DATABASE).await;
        let answered = admin.call("check_claims()", &[], Fate::Heard).await;
        assert!(matches!(answered, Reply::Answer(_)), "the mutant must be there");
        let row = admin.client.query_one("SHOW pg_claims.mutant", &[]).await.expect("a setting");
        assert_eq!(row.get::<_, &str>(0), part, "the mutant must take its setting");
    }
}

impl Report {
    fn add(&mut self, record: Record) {
        self.calls += record.calls;
        for (what, count) in record.counts {
            *self.counts.entry(what).or_default() += count;
        }
        self.faults.extend(record.faults);
        for (name, history) in record.slots {
            self.judge(&name, history);
        }
        for (name, history) in record.keys {
            self.judge(&name, history);
        }
    }

    fn judge<M: Model>(&mut self, name: &str, history: History<M>) {
        match check(name, &without_busy(history)) {
            Finding::Explained => {}
            Finding::Impossible(fault) => self.faults.push(Fault(fault)),
            Finding::Undecided => self.undecided += 1,
        }
    }
}
