//! Carries a plan out: sixteen workers, something that disturbs the server, and the record of it all.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use crate::call::{Call, word};
use crate::check::{Event, History};
use crate::connection::{Connection, Fate, Reply};
use crate::ledger::Ledger;
use crate::model::{Answer, Key, KeyCall, Op, Ret, Slot, SlotCall};
use crate::plan::{Disturbance, Finish, KEYS, Pick, Plan, SLOTS, Settle, Step, WORKERS, What};
use crate::server::{self, Server};
use crate::tables::Tables;
use crate::{Fault, told};

/// What all rounds share.
pub struct Stage {
    pub database: String,
    pub server: Mutex<Server>,
    pub ledger: Ledger,
    connections: [tokio::sync::Mutex<Option<Connection>>; WORKERS],
    /// The backend of each worker's connection, 0 while there is none.
    pids: [AtomicI32; WORKERS],
}

/// What a round came to.
#[derive(Default)]
pub struct Record {
    pub slots: BTreeMap<String, History<Slot>>,
    pub keys: BTreeMap<String, History<Key>>,
    pub calls: usize,
    /// How often what was answered, or done to the server.
    pub counts: BTreeMap<String, usize>,
    pub faults: Vec<Fault>,
}

impl Stage {
    pub fn new(database: &str, server: Server) -> Self {
        Self {
            database: database.to_owned(),
            server: Mutex::new(server),
            ledger: Ledger::default(),
            connections: Default::default(),
            pids: Default::default(),
        }
    }

    /// A connection to check by: made when the server can be used, however long that takes.
    pub async fn admin(&self) -> Connection {
        self.connect("crashes admin").await
    }

    /// The extension's own check, and what was acknowledged and is not there. Looked for again while
    /// the server goes down under it.
    pub async fn faults(&self) -> Vec<Fault> {
        loop {
            let admin = self.admin().await;
            let mut faults = Vec::new();
            match admin.call("check_claims()", &[], Fate::Heard).await {
                Reply::Answer(answer) if answer.outcome == "sound" => {}
                Reply::Answer(answer) => faults.push(Fault(format!("check_claims: {answer:?}"))),
                Reply::Raised(error) => faults.push(Fault(format!("check_claims raised {error}"))),
                Reply::Nothing => continue,
            }
            if let Ok(missing) = self.ledger.missing(&admin).await {
                faults.extend(missing);
                return faults;
            }
        }
    }

    async fn connect(&self, name: &str) -> Connection {
        const AT_MOST: Duration = Duration::from_secs(180);
        let began = Instant::now();
        loop {
            // A postmaster that dies leaves those who wait at its door waiting.
            match timeout(Duration::from_secs(10), Connection::open(&self.database, name)).await {
                Ok(Ok(connection)) => return connection,
                Ok(Err(error)) if began.elapsed() > AT_MOST => {
                    panic!("no connection: {}", told(&error))
                }
                _ => sleep(Duration::from_millis(20)).await,
            }
        }
    }
}

const WORKER: &str = "crashes worker";

const CALLS_END_WITHIN: Duration = Duration::from_secs(60);

/// One round: what its workers share.
struct Round {
    stage: Arc<Stage>,
    prefix: String,
    record: Mutex<Record>,
    claims: Grants,
    keys: Grants,
    calls: AtomicUsize,
    /// Whoever calls, as the checker knows him. A new one after a call that may still be going on.
    callers: AtomicUsize,
    results: AtomicUsize,
}

/// What was granted, in the order of the answers.
type Grants = Mutex<Vec<Grant>>;

struct Grant {
    /// Of which slot or key.
    of: usize,
    worker: usize,
    token: i64,
}

pub async fn play(stage: &Arc<Stage>, number: u64, plan: Plan) -> Record {
    let round = Arc::new(Round {
        stage: stage.clone(),
        prefix: format!("round{number}:"),
        record: Mutex::default(),
        claims: Mutex::default(),
        keys: Mutex::default(),
        calls: AtomicUsize::new(0),
        callers: AtomicUsize::new(WORKERS),
        results: AtomicUsize::new(0),
    });
    let mut workers = JoinSet::new();
    for (number, steps) in plan.workers.into_iter().enumerate() {
        let connection = stage.connections[number].lock().await.take();
        let worker =
            Worker { round: round.clone(), number, caller: number, connection, last: None };
        workers.spawn(worker.work(steps));
    }
    let reaping = tokio::spawn(reap(round.clone()));
    let disturbing = tokio::spawn(disturb(round.clone(), plan.disturbances));
    let mut still_going_on = Vec::new();
    while let Some(left) = workers.join_next().await {
        still_going_on.extend(left.expect("a worker panicked"));
    }
    let calls = round.calls.swap(usize::MAX, Ordering::Relaxed);
    disturbing.await.expect("whoever disturbs panicked");
    reaping.await.expect("the reaper panicked");
    round.bring_to_an_end(still_going_on).await;
    let round = Arc::into_inner(round).expect("everybody has left the round");
    Record { calls, ..round.record.into_inner().unwrap() }
}

/// A call of this caller that may still be going on.
struct GoingOn {
    caller: usize,
    call: Call,
}

struct Worker {
    round: Arc<Round>,
    number: usize,
    caller: usize,
    connection: Option<Connection>,
    last: Option<Call>,
}

impl Worker {
    async fn work(mut self, steps: Vec<Step>) -> Vec<GoingOn> {
        let mut still_going_on = Vec::new();
        for step in steps {
            sleep(Duration::from_micros(step.pause_us)).await;
            let call = self.decide(step.what);
            self.last = Some(call.clone());
            still_going_on.extend(self.make(call, step.fate).await);
        }
        *self.round.stage.connections[self.number].lock().await = self.connection;
        still_going_on
    }

    /// Two connections have one holder: a retry of the same run.
    fn holder(&self) -> String {
        format!("holder{}", self.number / 2)
    }

    fn call_id(&self) -> String {
        format!("call{}", self.round.results.fetch_add(1, Ordering::Relaxed))
    }

    fn decide(&self, what: What) -> Call {
        let claim = |slot, lease_ms, review| {
            let call = SlotCall::Claim { holder: self.holder(), call_id: self.call_id(), review };
            Call::Slot { slot, call, lease_ms }
        };
        let begin = |key, lease_ms| {
            let call = KeyCall::Begin { holder: self.holder(), call_id: self.call_id() };
            Call::Key { key, call, lease_ms }
        };
        match what {
            What::Claim { slot, lease_ms, review } => claim(slot, lease_ms, review),
            What::Begin { key, lease_ms } => begin(key, lease_ms),
            What::Settle { slot, grant, how } => {
                let Some((slot, token)) = self.granted(&self.round.claims, slot, grant) else {
                    return claim(slot, 5, false);
                };
                let holder = self.holder();
                let (call, lease_ms) = match how {
                    Settle::Confirm => (SlotCall::Confirm { holder, token }, 0),
                    Settle::Release { in_doubt } => {
                        (SlotCall::Release { holder, token, in_doubt }, 0)
                    }
                    Settle::Extend { lease_ms } => (SlotCall::Extend { holder, token }, lease_ms),
                    Settle::Cancel => (SlotCall::Cancel { token }, 0),
                    Settle::Resolve { verdict } => {
                        (SlotCall::Resolve { holder, token, verdict }, 0)
                    }
                };
                Call::Slot { slot, call, lease_ms }
            }
            What::Finish { key, grant, how } => {
                let Some((key, token)) = self.granted(&self.round.keys, key, grant) else {
                    return begin(key, 5);
                };
                let holder = self.holder();
                let result = self.round.results.fetch_add(1, Ordering::Relaxed) as i64;
                let (call, lease_ms) = match how {
                    Finish::As(outcome) => (KeyCall::Finish { holder, token, outcome, result }, 0),
                    Finish::Extend { lease_ms } => (KeyCall::Extend { holder, token }, lease_ms),
                    Finish::Reset => (KeyCall::Reset, 0),
                };
                Call::Key { key, call, lease_ms }
            }
            What::Repeat => self.last.clone().unwrap_or_else(|| claim(0, 5, false)),
        }
    }

    /// A slot or key and a token of it. Anybody's, but under one's own name: that is refused.
    fn granted(&self, grants: &Grants, of: usize, pick: Pick) -> Option<(usize, i64)> {
        let grants = grants.lock().unwrap();
        let latest = grants.iter().rfind(|grant| grant.worker == self.number);
        if let Some(latest) = latest.filter(|_| pick.latest) {
            return Some((latest.of, latest.token));
        }
        let is_own = |grant: &Grant| grant.worker / 2 == self.number / 2;
        let fitting: Vec<i64> = grants
            .iter()
            .rev()
            .filter(|grant| grant.of == of && (!pick.own || is_own(grant)))
            .map(|grant| grant.token)
            .collect();
        Some((of, *fitting.get(pick.back.checked_rem(fitting.len())?)?))
    }

    /// Makes the call and records it. Says if it may still be going on.
    async fn make(&mut self, call: Call, fate: Fate) -> Option<GoingOn> {
        if self.connection.is_none() {
            let connection = self.round.stage.connect(WORKER).await;
            self.pid().store(connection.pid, Ordering::Relaxed);
            self.connection = Some(connection);
        }
        let connection = self.connection.as_ref()?;
        self.round.calls.fetch_add(1, Ordering::Relaxed);
        self.round.sent(self.caller, &call);
        let (sql, params) = call.sql(&self.holder());
        let params = [vec![self.round.subject(&call)], params].concat();
        match connection.call(sql, &params, fate).await {
            Reply::Answer(answer) => self.answered(&call, answer),
            Reply::Raised(error) => {
                let fault = Fault(format!("{call:?} raised {error}"));
                self.round.record.lock().unwrap().faults.push(fault);
                self.round.over_unheard(self.caller, &call);
            }
            Reply::Nothing => {
                self.hang_up();
                if let Fate::HungUp { .. } = fate {
                    self.round.count("hung up");
                    let next = self.round.callers.fetch_add(1, Ordering::Relaxed);
                    let caller = std::mem::replace(&mut self.caller, next);
                    return Some(GoingOn { caller, call });
                }
                // The backend closes its end when it is through with the call.
                self.round.count("unheard");
                self.round.over_unheard(self.caller, &call);
            }
        }
        None
    }

    fn answered(&self, call: &Call, answer: Answer) {
        let (round, caller) = (&self.round, self.caller);
        round.count(&format!("{} {}", call.word(), answer.outcome));
        let granted = match answer.outcome.as_str() {
            "claimed" | "reclaimed" | "run" | "verify" => answer.token,
            _ => None,
        };
        let grant = |of| granted.map(|token| Grant { of, worker: self.number, token });
        match call {
            Call::Slot { slot, call, .. } => {
                round.claims.lock().unwrap().extend(grant(*slot));
                round.stage.ledger.slot_answered(&round.slot(*slot), call, &answer);
                round.slot_event(*slot, Event::Over(caller, Ret::Answer(answer)));
            }
            Call::Key { key, call, .. } => {
                round.keys.lock().unwrap().extend(grant(*key));
                round.stage.ledger.key_answered(&round.key(*key), call, &answer);
                round.key_event(*key, Event::Over(caller, Ret::Answer(answer)));
            }
        }
    }

    fn hang_up(&mut self) {
        self.connection = None;
        self.pid().store(0, Ordering::Relaxed);
    }

    fn pid(&self) -> &AtomicI32 {
        &self.round.stage.pids[self.number]
    }
}

impl Round {
    fn slot(&self, slot: usize) -> String {
        format!("{}slot{slot}", self.prefix)
    }

    fn key(&self, key: usize) -> String {
        format!("{}key{key}", self.prefix)
    }

    fn count(&self, what: &str) {
        *self.record.lock().unwrap().counts.entry(what.to_owned()).or_default() += 1;
    }

    /// The name of the slot or key.
    fn subject(&self, call: &Call) -> String {
        match call {
            Call::Slot { slot, .. } => self.slot(*slot),
            Call::Key { key, .. } => self.key(*key),
        }
    }

    /// Before it is sent.
    fn sent(&self, caller: usize, call: &Call) {
        match call {
            Call::Slot { slot, call, .. } => {
                self.stage.ledger.slot_sent(&self.slot(*slot), call);
                self.slot_event(*slot, Event::Sent(caller, Op::Call(call.clone())));
            }
            Call::Key { key, call, .. } => {
                self.stage.ledger.key_sent(&self.key(*key), call);
                self.key_event(*key, Event::Sent(caller, Op::Call(call.clone())));
            }
        }
    }

    fn over_unheard(&self, caller: usize, call: &Call) {
        match call {
            Call::Slot { slot, .. } => self.slot_event(*slot, Event::Over(caller, Ret::Unknown)),
            Call::Key { key, .. } => self.key_event(*key, Event::Over(caller, Ret::Unknown)),
        }
    }

    fn slot_event(&self, slot: usize, event: Event<Slot>) {
        self.record.lock().unwrap().slots.entry(self.slot(slot)).or_default().push(event);
    }

    fn key_event(&self, key: usize, event: Event<Key>) {
        self.record.lock().unwrap().keys.entry(self.key(key)).or_default().push(event);
    }

    /// What a crash must not have changed.
    async fn look_after_a_crash(&self) {
        let faults = self.stage.faults().await;
        self.record.lock().unwrap().faults.extend(faults);
    }

    /// Waits until no call can be going on any more, and then reads the tables.
    async fn bring_to_an_end(&self, still_going_on: Vec<GoingOn>) {
        let idle: Vec<i32> =
            self.stage.pids.iter().map(|pid| pid.load(Ordering::Relaxed)).collect();
        const LEFT: &str = "SELECT count(*) FROM pg_stat_activity
            WHERE application_name = 'crashes worker' AND pid <> ALL ($1)";
        let began = Instant::now();
        let tables = loop {
            let admin = self.stage.admin().await;
            let left = admin.client.query_one(LEFT, &[&idle]).await.map(|row| row.get::<_, i64>(0));
            // The server may be about to go down once more.
            if matches!(left, Ok(0))
                && let Ok(tables) = Tables::read(&admin, &self.prefix).await
            {
                break tables;
            }
            assert!(began.elapsed() < CALLS_END_WITHIN, "calls go on: {left:?}");
            sleep(Duration::from_millis(5)).await;
        };
        for GoingOn { caller, call } in still_going_on {
            self.over_unheard(caller, &call);
        }
        let reader = self.callers.fetch_add(1, Ordering::Relaxed);
        for slot in 0..SLOTS {
            let rows = tables.claims(&self.slot(slot)).to_vec();
            self.slot_event(slot, Event::Sent(reader, Op::Read));
            self.slot_event(slot, Event::Over(reader, Ret::Rows(rows)));
        }
        for key in 0..KEYS {
            let row = tables.key(&self.key(key)).cloned();
            self.key_event(key, Event::Sent(reader, Op::Read));
            self.key_event(key, Event::Over(reader, Ret::Rows(row)));
        }
    }
}

/// Correctness must not depend on the reaper, either way.
async fn reap(round: Arc<Round>) {
    let mut connection = None;
    while round.calls.load(Ordering::Relaxed) < usize::MAX {
        let open = match connection.take() {
            Some(open) => open,
            None => round.stage.admin().await,
        };
        let reaped = open.call("reap_stale_claims()", &[], Fate::Heard).await;
        if !matches!(reaped, Reply::Nothing) {
            connection = Some(open);
        }
        sleep(Duration::from_millis(15)).await;
    }
}

async fn disturb(round: Arc<Round>, disturbances: Vec<(usize, Disturbance)>) {
    for (after, what) in disturbances {
        while round.calls.load(Ordering::Relaxed) < after {
            sleep(Duration::from_micros(300)).await;
        }
        round.count(&word(&what));
        match what {
            Disturbance::Terminate { first, workers } => {
                let pids: Vec<i32> = (first..first + workers)
                    .map(|worker| round.stage.pids[worker % WORKERS].load(Ordering::Relaxed))
                    .collect();
                let admin = round.stage.admin().await;
                let sql =
                    "SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid WHERE pid <> 0";
                admin.client.query(sql, &[&pids]).await.ok();
            }
            Disturbance::SetClock { ahead_ms } => {
                round.stage.server.lock().unwrap().set_clock(ahead_ms);
            }
            Disturbance::Stop { share, for_ms, pick } => {
                let processes = round.stage.server.lock().unwrap().processes();
                let mut rng = fastrand::Rng::with_seed(pick);
                let stopped: Vec<i32> =
                    processes.into_iter().filter(|_| rng.u32(..6) < share).collect();
                stopped.iter().for_each(|pid| server::signal(*pid, Signal::STOP));
                sleep(Duration::from_millis(for_ms)).await;
                stopped.iter().for_each(|pid| server::signal(*pid, Signal::CONT));
            }
            Disturbance::KillBackend { worker } => {
                let pid = round.stage.pids[worker].load(Ordering::Relaxed);
                let processes = round.stage.server.lock().unwrap().processes();
                // Since the last crash it may be the number of anybody's process.
                if processes.contains(&pid) {
                    server::signal(pid, Signal::KILL);
                }
                round.look_after_a_crash().await;
            }
            Disturbance::KillServer { all } => {
                let stage = round.stage.clone();
                spawn_blocking(move || {
                    let mut server = stage.server.lock().unwrap();
                    server.kill(all);
                    server.restart();
                })
                .await
                .expect("the server was restarted");
                round.look_after_a_crash().await;
            }
        }
    }
}
