//! A storm: many sessions on few slots, leases of 1 to 10 ms, and everything that can happen to a
//! claim happening at once: takeovers, confirms before, at and after the end of the lease, extensions,
//! releases, a confirm after the release, repeated confirms, cancellations; most of it statement by
//! statement, some in transactions with a fence, and some of those rolled back.
//!
//! One [`round`] has slots of its own. Each call goes into the driver's log with the driver's clock
//! around it. Meanwhile a reaper reaps and a checker reads the table; afterwards [`CHECKS`] compare the log with the
//! table. They are plain SQL, written from what the answers promise, and share no code with the
//! extension.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use tokio_postgres::Error;

use crate::{Answer, Args, Database, Session, stampede, told};

pub const SESSIONS: usize = 50;
pub const SLOTS: usize = 20;

/// A promise that was broken, in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What one round came to.
pub struct Round {
    pub faults: Vec<Fault>,
    /// How often each call was answered with each outcome.
    pub counts: BTreeMap<String, usize>,
}

/// The driver's log lies beside the claims, so that one statement can compare them.
/// `sent_us` and `got_us` are microseconds of the driver's monotonic clock.
const CREATE_LOG: &str = "
    CREATE SCHEMA IF NOT EXISTS storm;
    CREATE TABLE IF NOT EXISTS storm.log (
        call text, slot_id text, holder text, token bigint, sent_us bigint, got_us bigint,
        outcome text, answer jsonb);
    CREATE INDEX IF NOT EXISTS log_claim ON storm.log (slot_id, token);
    TRUNCATE storm.log";

const LOAD_LOG: &str = "
    INSERT INTO storm.log
    SELECT * FROM jsonb_to_recordset($1) AS l(
        call text, slot_id text, holder text, token bigint, sent_us bigint, got_us bigint,
        outcome text, answer jsonb)";

/// Runs one storm of the given length on slots that no other round has, and checks it.
pub async fn round(database: &Database, number: usize, length: Duration) -> Round {
    let seed = fastrand::u64(..);
    let checker = database.connect().await;
    checker.run(CREATE_LOG).await;
    let reaper = database.connect().await;
    let sessions = database.connect_many(SESSIONS).await;

    let started = Instant::now();
    let until = started + length;
    let reaping = tokio::spawn(reap(reaper, until));
    let watching = tokio::spawn(async move { (watch(&checker, until).await, checker) });
    let entries: Vec<Value> = stampede(sessions, |worker, session| {
        Worker {
            session,
            name: format!("round{number}-worker{worker}"),
            slots: (0..SLOTS).map(|slot| format!("round{number}:slot{slot}")).collect(),
            rng: fastrand::Rng::with_seed(seed ^ worker as u64),
            started,
            log: Vec::new(),
        }
        .work(until)
    })
    .await
    .into_iter()
    .flatten()
    .collect();
    let (mut faults, checker) = watching.await.expect("the checker panicked");
    faults.extend(reaping.await.expect("the reaper panicked"));

    let mut counts = BTreeMap::new();
    for entry in &entries {
        let key =
            format!("{} {}", entry["call"].as_str().unwrap(), entry["outcome"].as_str().unwrap());
        *counts.entry(key).or_default() += 1;
    }
    checker
        .execute(LOAD_LOG, &[&Value::Array(entries)])
        .await
        .unwrap_or_else(|e| panic!("{}", told(&e)));
    checker.run("ANALYZE storm.log, claims.slot_claims").await;
    for (promise, sql) in CHECKS {
        for row in
            checker.query(*sql, &[]).await.unwrap_or_else(|e| panic!("{promise}: {}", told(&e)))
        {
            faults.push(Fault(format!("{promise}: {}", row.get::<_, String>(0))));
        }
    }
    Round { faults, counts }
}

struct Worker {
    session: Session,
    name: String,
    slots: Vec<String>,
    rng: fastrand::Rng,
    started: Instant,
    log: Vec<Value>,
}

impl Worker {
    async fn work(mut self, until: Instant) -> Vec<Value> {
        for attempt in 0.. {
            if Instant::now() >= until {
                break;
            }
            self.one_run(attempt).await;
        }
        self.log
    }

    /// One workflow run: claim a slot, then one of the things that runs do with a claim.
    async fn one_run(&mut self, attempt: usize) {
        let number = self.rng.usize(..self.slots.len());
        let slot = self.slots[number].clone();
        let holder = format!("{}:{attempt}", self.name);
        let lease_ms = self.rng.u64(1..=10);
        let ttl = format!("{lease_ms} ms");
        let on_expiry = if self.rng.u8(..10) == 0 { "review" } else { "release" };

        let claim: Args =
            &[("slot_id", &slot), ("holder", &holder), ("ttl", &ttl), ("on_expiry", &on_expiry)];
        if self.rng.u8(..20) == 0 {
            return self.claim_and_roll_back(claim).await;
        }
        let Some(claimed) = self.call("claim", None, "claim_slot", claim).await.filter(Answer::ok)
        else {
            return;
        };
        let token = claimed.token();
        let named: Args = &[("slot_id", &slot), ("holder", &holder), ("token", &token)];
        let longer: Args =
            &[("slot_id", &slot), ("holder", &holder), ("token", &token), ("ttl", &ttl)];
        let nothing_happened: Args =
            &[("slot_id", &slot), ("holder", &holder), ("token", &token), ("verdict", &"released")];

        let goes_on_to_confirm = match self.rng.u8(..10) {
            0..=1 => true,
            // As near to the end of the lease as the clock allows.
            2..=4 => {
                self.pause_ms(lease_ms).await;
                true
            }
            5 => {
                self.pause_ms(lease_ms * 3).await;
                true
            }
            6 => {
                self.call("extend", Some(token), "extend_slot", longer).await;
                self.pause_ms(lease_ms).await;
                true
            }
            // Released, and in one of two cases the side effect had happened all the same.
            7..=8 => {
                self.call("release", Some(token), "release_slot", named).await;
                self.rng.bool()
            }
            _ => false,
        };
        let is_booked = goes_on_to_confirm
            && if self.rng.u8(..3) == 0 {
                self.fence_and_confirm(token, named).await
            } else {
                let confirmed = self.call("confirm", Some(token), "confirm_slot", named).await;
                confirmed.is_some_and(|answer| answer.ok())
            };

        if !is_booked {
            // Somebody looks at a claim in review and finds that nothing had happened; without that,
            // each slot would soon come to rest in review.
            if on_expiry == "review" {
                self.pause_ms(2 * lease_ms + 2).await;
                self.until_not_busy("resolve", token, "resolve_slot", nothing_happened).await;
            }
            return;
        }
        if self.rng.bool() {
            self.call("reconfirm", Some(token), "confirm_slot", named).await;
        }
        // A third of the slots stays booked; the others are cancelled, so that the storm goes on.
        if !number.is_multiple_of(3) {
            let pause_ms = self.rng.u64(..3);
            self.pause_ms(pause_ms).await;
            self.until_not_busy("cancel", token, "cancel_slot", named).await;
        }
    }

    async fn until_not_busy(&mut self, call: &str, token: i64, function: &str, args: Args<'_>) {
        while let Some(answer) = self.call(call, Some(token), function, args).await {
            if answer.outcome() != "busy" {
                return;
            }
        }
    }

    /// A transaction that fails after its claim: the claim was never there, and the next one may get
    /// its token.
    async fn claim_and_roll_back(&mut self, claim: Args<'_>) {
        self.session.run("BEGIN").await;
        let sent_us = self.now_us();
        let answer = self.session.ask("claim_slot", claim).await;
        self.note("undone", None, claim, sent_us, &answer);
        self.pause_ms(1).await;
        self.session.run("ROLLBACK").await;
    }

    /// The user's own statement and the confirm in one transaction. A claim that the fence held is not
    /// lost before that transaction ends.
    async fn fence_and_confirm(&mut self, token: i64, named: Args<'_>) -> bool {
        self.session.run("BEGIN").await;
        let sent_us = self.now_us();
        let (is_held, answer) = match self.session.ask("holds_slot", named).await {
            Ok(is_held) => {
                self.pause_ms(1).await;
                (is_held.0 == Value::Bool(true), self.session.ask("confirm_slot", named).await)
            }
            Err(error) => (false, Err(error)),
        };
        if is_held {
            self.note("fenced", Some(token), named, sent_us, &answer);
        }
        if self.rng.u8(..3) == 0 {
            self.session.run("ROLLBACK").await;
            self.note("undone", Some(token), named, sent_us, &answer);
            return false;
        }
        self.session.run("COMMIT").await;
        self.note("confirm", Some(token), named, sent_us, &answer);
        answer.is_ok_and(|answer| answer.ok())
    }

    async fn call(
        &mut self,
        call: &str,
        token: Option<i64>,
        function: &str,
        args: Args<'_>,
    ) -> Option<Answer> {
        let sent_us = self.now_us();
        let answer = self.session.ask(function, args).await;
        self.note(call, token, args, sent_us, &answer);
        answer.ok()
    }

    /// Writes the log. What a transaction did is noted after its end: then it is acknowledged.
    fn note(
        &mut self,
        call: &str,
        token: Option<i64>,
        args: Args<'_>,
        sent_us: u64,
        answer: &Result<Answer, Error>,
    ) {
        let got_us = self.now_us();
        let (outcome, said) = match answer {
            Ok(answer) => (answer.outcome().to_owned(), answer.0.clone()),
            Err(error) => (format!("exception: {}", told(error)), Value::Null),
        };
        let granted = answer.as_ref().ok().filter(|answer| answer.ok()).map(Answer::token);
        self.log.push(json!({
            "call": call, "slot_id": args[0].1.to_string(), "holder": args[1].1.to_string(),
            "token": token.or(granted), "sent_us": sent_us, "got_us": got_us,
            "outcome": outcome, "answer": said,
        }));
    }

    fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    async fn pause_ms(&mut self, ms: u64) {
        let jitter = Duration::from_micros(self.rng.u64(..1_500));
        tokio::time::sleep(Duration::from_millis(ms) + jitter).await;
    }
}

/// Reaps far more often than anybody would: correctness must not depend on it, either way.
async fn reap(reaper: Session, until: Instant) -> Option<Fault> {
    while Instant::now() < until {
        match reaper.ask("reap_stale_claims", &[]).await {
            Ok(answer) if answer.outcome() == "reaped" => {}
            Ok(answer) => return Some(Fault(format!("the reaper answered {answer}"))),
            Err(error) => return Some(Fault(format!("the reaper raised {}", told(&error)))),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    None
}

/// Reads the table all the while: one active claim a slot, which is the slot's last, and a booking once
/// seen stays booked or is cancelled.
async fn watch(checker: &Session, until: Instant) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut booked: HashMap<(String, i64), String> = HashMap::new();
    while Instant::now() < until {
        let rows = checker
            .query(
                "SELECT slot_id, token, holder, status, ended_at IS NULL FROM claims.slot_claims",
                &[],
            )
            .await
            .unwrap_or_else(|e| panic!("the checker could not read: {}", told(&e)));
        let mut active: HashMap<String, i64> = HashMap::new();
        let mut last: HashMap<String, i64> = HashMap::new();
        for row in &rows {
            let (slot, token, holder): (String, i64, String) = (row.get(0), row.get(1), row.get(2));
            let (status, is_active): (&str, bool) = (row.get(3), row.get(4));
            if is_active && let Some(other) = active.insert(slot.clone(), token) {
                faults.push(Fault(format!(
                    "two active claims at once: {slot}, tokens {other} and {token}"
                )));
            }
            let newest = last.entry(slot.clone()).or_insert(token);
            *newest = token.max(*newest);
            match (status, booked.get(&(slot.clone(), token))) {
                ("booked", _) => {
                    booked.insert((slot, token), holder);
                }
                ("cancelled", _) | (_, None) => {}
                (status, Some(holder)) => faults.push(Fault(format!(
                    "a booking was seen, then gone: {slot} token {token} of {holder} became {status}"
                ))),
            }
        }
        for (slot, token) in active {
            if last[&slot] != token {
                faults.push(Fault(format!(
                    "{slot}: token {token} is active and {} is the last",
                    last[&slot]
                )));
            }
        }
        if !faults.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    faults
}

/// What must hold after a round: the promise, and a query for its violations. `booking` is what the log
/// alone says about a confirmed claim: certainly booked from the answer of the confirm until the
/// sending of the cancel.
pub const CHECKS: &[(&str, &str)] = &[
    (
        "no call raises",
        "SELECT DISTINCT format('%s: %s', call, outcome) FROM storm.log WHERE outcome LIKE 'exception%'",
    ),
    (
        "a call answers only its own outcomes",
        "SELECT format('%s: %s', call, answer) FROM storm.log
         WHERE outcome NOT LIKE 'exception%' AND NOT outcome = ANY (CASE call
             WHEN 'claim' THEN '{claimed,reclaimed,taken,busy}'
             WHEN 'confirm' THEN '{confirmed,confirmed_late,lost,busy}'
             WHEN 'reconfirm' THEN '{already_confirmed,busy}'
             WHEN 'fenced' THEN '{confirmed,confirmed_late,busy}'
             WHEN 'undone' THEN '{claimed,reclaimed,taken,confirmed,confirmed_late,lost,busy}'
             WHEN 'extend' THEN '{extended,expired,review,lost,busy}'
             WHEN 'release' THEN '{released,already_released,review,lost,busy}'
             WHEN 'cancel' THEN '{cancelled,busy}'
             WHEN 'resolve' THEN '{released,not_in_review,lost,busy}'
         END::text[])",
    ),
    (
        "one active claim a slot",
        "SELECT format('%s has %s', slot_id, count(*)) FROM claims.slot_claims
         WHERE ended_at IS NULL GROUP BY slot_id HAVING count(*) > 1",
    ),
    (
        "tokens have no gap and the active claim is the last",
        "SELECT format('%s: %s rows, last token %s', slot_id, count(*), max(token)) FROM claims.slot_claims
         GROUP BY slot_id
         HAVING count(*) <> max(token) OR max(token) <> max(token) FILTER (WHERE ended_at IS NULL)",
    ),
    (
        "an acknowledged booking stays until its cancel",
        "WITH confirmed AS (
             SELECT slot_id, token, holder, EXISTS (
                 SELECT FROM storm.log c WHERE c.slot_id = l.slot_id AND c.token = l.token
                 AND c.outcome = 'cancelled') AS cancelled
             FROM storm.log l WHERE call = 'confirm' AND outcome IN ('confirmed', 'confirmed_late'))
         SELECT format('%s, token %s of %s: %s is now %s', slot_id, c.token, c.holder,
             CASE WHEN cancelled THEN 'cancelled' ELSE 'booked' END, f.status)
         FROM confirmed c CROSS JOIN LATERAL (
             SELECT status FROM claims.slot_claims f
             WHERE f.slot_id = c.slot_id AND c.token IN (f.token, f.origin)
             ORDER BY f.token DESC LIMIT 1) f
         WHERE f.status <> CASE WHEN cancelled THEN 'cancelled' ELSE 'booked' END",
    ),
    (
        "a booked claim was confirmed by its holder",
        "SELECT format('%s, token %s of %s', slot_id, token, holder) FROM claims.slot_claims s
         WHERE status = 'booked' AND slot_id IN (SELECT slot_id FROM storm.log) AND NOT EXISTS (
             SELECT FROM storm.log l WHERE l.slot_id = s.slot_id AND l.call = 'confirm'
             AND l.token = coalesce(s.origin, s.token) AND l.holder = s.holder
             AND l.outcome IN ('confirmed', 'confirmed_late'))",
    ),
    (
        "no two bookings of a slot at once",
        "WITH booking AS (
             SELECT l.slot_id, l.token, l.got_us AS since, (
                 SELECT min(c.sent_us) FROM storm.log c WHERE c.slot_id = l.slot_id AND c.token = l.token
                 AND c.call = 'cancel') AS until
             FROM storm.log l WHERE call = 'confirm' AND outcome IN ('confirmed', 'confirmed_late'))
         SELECT format('%s: tokens %s and %s', slot_id, a.token, b.token)
         FROM booking a JOIN booking b USING (slot_id)
         WHERE a.token < b.token
         AND int8range(a.since, a.until, '[]') && int8range(b.since, b.until, '[]')",
    ),
    (
        "a booked slot is not claimed",
        "WITH booking AS (
             SELECT l.slot_id, l.token, l.got_us AS since, (
                 SELECT min(c.sent_us) FROM storm.log c WHERE c.slot_id = l.slot_id AND c.token = l.token
                 AND c.call = 'cancel') AS until
             FROM storm.log l WHERE call = 'confirm' AND outcome IN ('confirmed', 'confirmed_late'))
         SELECT format('%s: token %s was claimed while %s was booked', slot_id, c.token, b.token)
         FROM booking b JOIN storm.log c USING (slot_id)
         WHERE c.call = 'claim' AND c.outcome IN ('claimed', 'reclaimed')
         AND c.sent_us > b.since AND c.got_us < coalesce(b.until, c.got_us + 1)",
    ),
    (
        "the tokens of successive grants rise",
        "WITH granted AS (
             SELECT slot_id, token, sent_us, min(got_us) OVER (
                 PARTITION BY slot_id ORDER BY token DESC RANGE UNBOUNDED PRECEDING EXCLUDE CURRENT ROW) AS higher_got_us
             FROM storm.log WHERE call = 'claim' AND outcome IN ('claimed', 'reclaimed'))
         SELECT format('%s: token %s was granted after a higher or equal one', slot_id, token)
         FROM granted WHERE higher_got_us < sent_us",
    ),
    (
        "a grant is one holder's",
        "SELECT format('%s: token %s was granted %s times', slot_id, token, count(*)) FROM storm.log
         WHERE call = 'claim' AND outcome IN ('claimed', 'reclaimed')
         GROUP BY slot_id, token HAVING count(*) > 1",
    ),
    (
        "nobody takes a slot over before the acknowledged lease is over",
        "WITH lease AS (
             SELECT slot_id, token, max((answer ->> 'expires_at')::timestamptz) AS acknowledged
             FROM storm.log WHERE call IN ('claim', 'extend')
             AND outcome IN ('claimed', 'reclaimed', 'extended') GROUP BY slot_id, token)
         SELECT format('%s: token %s had the lease until %s, the next claim is of %s',
             slot_id, c.token, acknowledged, n.claimed_at)
         FROM claims.slot_claims c JOIN lease USING (slot_id, token)
         JOIN claims.slot_claims n USING (slot_id)
         WHERE c.status = 'expired' AND n.token = c.token + 1 AND n.claimed_at < acknowledged",
    ),
];
