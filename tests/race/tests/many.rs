//! Thirty connections claim 2 to 4 of 6 things at once, named in any order (case 33).
//!
//! The interleaving: transactions that have claimed some of the things stay open for milliseconds,
//! and some then claim more, while others come with the same things in another order. Nobody waits for
//! anybody without a bound, so nothing deadlocks; and whatever one of them is refused, it has none of.

use std::fmt::Display;
use std::time::{Duration, Instant};

use races::{
    Answer, Args, Database, Session, assert_no_faults, fresh_database, reap_until, sqlstate,
    stampede, tally, told,
};
use serde_json::{Value, json};

const SESSIONS: usize = 30;
const THINGS: usize = 6;
const LENGTH: Duration = Duration::from_secs(5);
const TABLES: i32 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_slots_everybody_gets_all_or_none_and_nobody_deadlocks() {
    let database = fresh_database("many").await;
    let whole = |slot, _: &mut fastrand::Rng| json!({ "slot_id": slot_name(slot) });
    all_or_none(&database, whole, Deadlocks::Never).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_slots_periods_and_units_everybody_gets_all_or_none_and_nobody_deadlocks() {
    let database = fresh_database("many_kinds").await;
    make_pools(&database).await;
    all_or_none(&database, a_request_of_any_kind, Deadlocks::Never).await;
    database.drop().await;
}

/// That nothing deadlocks is the lock's work. That it is all or none is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_advisory_lock_it_may_deadlock_and_is_still_all_or_none() {
    let database = fresh_database("many_no_lock").await;
    database.leave_out("lock").await;
    make_pools(&database).await;
    all_or_none(&database, a_request_of_any_kind, Deadlocks::MayHappen).await;
    database.drop().await;
}

#[derive(Clone, Copy, PartialEq)]
enum Deadlocks {
    Never,
    MayHappen,
}

fn slot_name(slot: usize) -> String {
    format!("thing:{slot}")
}

async fn make_pools(database: &Database) {
    let session = database.connect().await;
    for pool in [4, 5] {
        let args: Args = &[("slot_id", &slot_name(pool)), ("capacity", &TABLES)];
        session.answer("set_capacity", args).await;
    }
}

/// Two slots, two calendars, and two pools, one of them for periods.
fn a_request_of_any_kind(slot: usize, rng: &mut fastrand::Rng) -> Value {
    let (from, to) = (rng.u8(8..12), rng.u8(12..16));
    let hour = |hour: u8| format!("2031-06-01T{hour:02}:00:00Z");
    let mut request = json!({ "slot_id": slot_name(slot) });
    if [2, 3, 5].contains(&slot) {
        request["starts_at"] = hour(from).into();
        request["ends_at"] = hour(to).into();
    }
    if slot >= 4 {
        request["units"] = rng.i32(1..=2).into();
    }
    request
}

async fn all_or_none(
    database: &Database,
    request: fn(usize, &mut fastrand::Rng) -> Value,
    deadlocks: Deadlocks,
) {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let until = Instant::now() + LENGTH;
    let reaper = tokio::spawn(reap_until(database.connect().await, until));
    let log: Vec<Call> = stampede(database.connect_many(SESSIONS).await, |number, session| {
        Run {
            session,
            name: format!("run:{number}"),
            rng: fastrand::Rng::with_seed(seed ^ number as u64),
            request,
            deadlocks,
            log: Vec::new(),
        }
        .work(until)
    })
    .await
    .into_iter()
    .flatten()
    .collect();
    reaper.await.expect("the reaper panicked");
    let named: Vec<String> =
        log.iter().map(|call| format!("{} {}", call.call, call.answer.outcome())).collect();
    let counts = tally(named.iter().map(String::as_str));
    println!("{} calls: {counts:?}", log.len());
    for happened in [
        "claim claimed",
        "claim taken",
        "claim busy",
        "confirm confirmed",
        "confirm lost",
        "release released",
    ] {
        assert!(counts.contains_key(happened), "there was no {happened}");
    }

    let session = database.connect().await;
    session.run(CREATE_LOG).await;
    let entries = Value::Array(log.iter().map(Call::as_json).collect());
    session.execute(LOAD_LOG, &[&entries]).await.unwrap_or_else(|e| panic!("{}", told(&e)));
    session.run("ANALYZE many.calls, claims.slot_claims").await;
    let mut faults = Vec::new();
    for (promise, sql) in PROMISES {
        let rows =
            session.query(*sql, &[]).await.unwrap_or_else(|e| panic!("{promise}: {}", told(&e)));
        faults.extend(rows.iter().map(|row| format!("{promise}: {}", row.get::<_, String>(0))));
    }
    assert_no_faults(&faults);
    database.assert_sound().await;
}

/// One call; every claim_many has a holder of its own.
struct Call {
    call: &'static str,
    holder: String,
    /// What was asked for, with the tokens once it is claimed.
    parts: Value,
    committed: bool,
    answer: Answer,
}

impl Call {
    fn as_json(&self) -> Value {
        json!({
            "call": self.call, "holder": self.holder, "parts": self.parts,
            "committed": self.committed, "ok": self.answer.ok(),
            "outcome": self.answer.outcome(), "answer": self.answer.0,
        })
    }
}

/// What the log has where a call was chosen to end a deadlock.
const DEADLOCK: &str = "deadlock";

struct Run {
    session: Session,
    name: String,
    rng: fastrand::Rng,
    request: fn(usize, &mut fastrand::Rng) -> Value,
    deadlocks: Deadlocks,
    log: Vec<Call>,
}

impl Run {
    async fn work(mut self, until: Instant) -> Vec<Call> {
        // Else most of the time is spent waiting for those who hold a transaction open.
        self.session.run("SET pg_claims.lock_wait = '20 ms'; SET deadlock_timeout = '20 ms'").await;
        for attempt in 0.. {
            if Instant::now() >= until {
                break;
            }
            self.one_run(attempt).await;
        }
        self.log
    }

    async fn one_run(&mut self, attempt: usize) {
        let (first, second) =
            (format!("{}:{attempt}", self.name), format!("{}:{attempt}:more", self.name));
        if self.rng.u8(..4) == 0 {
            let claimed = self.claim(&first).await;
            return self.go_on(first, claimed).await;
        }
        // What is claimed here is seen by nobody for some milliseconds, and may never have been.
        let before = self.log.len();
        self.session.run("BEGIN").await;
        let claimed = self.claim(&first).await;
        self.pause_ms(4).await;
        let more = match self.rng.u8(..3) {
            0 if !self.is_deadlocked() => self.claim(&second).await,
            _ => None,
        };
        let is_undone = self.is_deadlocked() || self.rng.u8(..5) == 0;
        self.session.run(if is_undone { "ROLLBACK" } else { "COMMIT" }).await;
        if is_undone {
            self.log[before..].iter_mut().for_each(|call| call.committed = false);
            return;
        }
        self.go_on(first, claimed).await;
        self.go_on(second, more).await;
    }

    /// Whether the last call was chosen to end a deadlock, which ends its transaction as well.
    fn is_deadlocked(&self) -> bool {
        self.log.last().is_some_and(|call| call.answer.outcome() == DEADLOCK)
    }

    /// Two to four of the six, in any order.
    async fn claim(&mut self, holder: &str) -> Option<Value> {
        let mut things: Vec<usize> = (0..THINGS).collect();
        self.rng.shuffle(&mut things);
        things.truncate(self.rng.usize(2..=4));
        let request = self.request;
        let requests =
            Value::Array(things.iter().map(|thing| request(*thing, &mut self.rng)).collect());
        let ttl = format!("{} ms", self.rng.u64(2..=30));
        let wait = if self.rng.u8(..10) == 0 { "10 ms" } else { "0" };
        let args: Args =
            &[("requests", &requests), ("holder", &holder), ("ttl", &ttl), ("wait", &wait)];
        let answer = self.call("claim", "claim_many", holder, requests.clone(), args).await;
        answer.ok().then(|| answer.fact("claims").clone())
    }

    /// Released, confirmed (and cancelled again, so that the others go on), or left to expire.
    async fn go_on(&mut self, holder: String, claims: Option<Value>) {
        let Some(claims) = claims else { return self.pause_ms(5).await };
        let args: Args = &[("claims", &claims), ("holder", &holder)];
        self.pause_ms(3).await;
        match self.rng.u8(..10) {
            0..=3 => {
                self.until_not_busy("release", "release_many", &holder, &claims, args).await;
            }
            4..=7 => {
                // Some confirm when the first of their leases may have been taken over.
                self.pause_ms(40).await;
                let confirmed =
                    self.until_not_busy("confirm", "confirm_many", &holder, &claims, args).await;
                if !confirmed.ok() {
                    return;
                }
                for part in confirmed.fact("claims").as_array().expect("claims is an array") {
                    let slot = part["slot_id"].as_str().expect("slot_id is a text");
                    let token = &part["token"];
                    let args: Args = &[("slot_id", &slot), ("holder", &holder), ("token", token)];
                    let part = json!([part]);
                    self.until_not_busy("cancel", "cancel_slot", &holder, &part, args).await;
                }
            }
            _ => {}
        }
    }

    async fn until_not_busy(
        &mut self,
        call: &'static str,
        function: &str,
        holder: &str,
        parts: &Value,
        args: &[(&str, &(dyn Display + Sync))],
    ) -> Answer {
        loop {
            let answer = self.call(call, function, holder, parts.clone(), args).await;
            if answer.outcome() != "busy" && answer.outcome() != DEADLOCK {
                return answer;
            }
        }
    }

    async fn call(
        &mut self,
        call: &'static str,
        function: &str,
        holder: &str,
        parts: Value,
        args: Args<'_>,
    ) -> Answer {
        let answer = match self.session.ask(function, args).await {
            Ok(answer) => answer,
            Err(e) if self.deadlocks == Deadlocks::MayHappen && sqlstate(&e) == "40P01" => {
                Answer(json!({ "ok": false, "outcome": DEADLOCK }))
            }
            Err(e) => panic!("{function} must answer, and raised {}", told(&e)),
        };
        self.log.push(Call {
            call,
            holder: holder.to_owned(),
            parts,
            committed: answer.outcome() != DEADLOCK,
            answer: answer.clone(),
        });
        answer
    }

    async fn pause_ms(&mut self, most_ms: u64) {
        tokio::time::sleep(Duration::from_micros(self.rng.u64(..most_ms * 1000))).await;
    }
}

const CREATE_LOG: &str = "
    CREATE SCHEMA many;
    CREATE TABLE many.calls (
        call text, holder text, parts jsonb, committed boolean, ok boolean, outcome text,
        answer jsonb);
    -- What each acknowledged claim_many, confirm_many, … says that it has done.
    CREATE VIEW many.parts AS
        SELECT call, holder, p ->> 'slot_id' AS slot_id, (p ->> 'token')::bigint AS token
        FROM many.calls, jsonb_array_elements(coalesce(answer -> 'claims', jsonb_build_array(answer))) p
        WHERE ok AND committed";

const LOAD_LOG: &str = "
    INSERT INTO many.calls
    SELECT * FROM jsonb_to_recordset($1) AS l(
        call text, holder text, parts jsonb, committed boolean, ok boolean, outcome text,
        answer jsonb)";

/// What a promise is, and a query that has one row of one text for each time that it was broken.
const PROMISES: &[(&str, &str)] = &[
    (
        "only answers that the call can have",
        "SELECT format('%s: %s', call, answer) FROM many.calls
         WHERE outcome <> 'deadlock' AND outcome <> ALL (CASE call
             WHEN 'claim' THEN '{claimed,taken,insufficient,busy}'
             WHEN 'confirm' THEN '{confirmed,lost,insufficient,busy}'
             WHEN 'release' THEN '{released,lost,busy}'
             WHEN 'cancel' THEN '{cancelled,busy}'
         END::text[])",
    ),
    (
        "a refusal names one of the slots that were asked for",
        "SELECT answer::text FROM many.calls
         WHERE NOT ok AND outcome NOT IN ('busy', 'deadlock') AND NOT EXISTS (
             SELECT FROM jsonb_array_elements(parts) p WHERE p -> 'slot_id' = answer -> 'slot_id')",
    ),
    (
        "an acknowledged claim_many has a claim of everything that it asked for",
        "SELECT format('%s asked for %s and has %s', holder, parts, there)
         FROM many.calls c CROSS JOIN LATERAL (
             SELECT array_agg(slot_id ORDER BY slot_id) AS there FROM many.parts p
             JOIN claims.slot_claims s USING (slot_id, token, holder)
             WHERE p.call = 'claim' AND p.holder = c.holder) t
         WHERE call = 'claim' AND ok AND committed AND there IS DISTINCT FROM (
             SELECT array_agg(p ->> 'slot_id' ORDER BY p ->> 'slot_id')
             FROM jsonb_array_elements(parts) p)",
    ),
    (
        "a refused claim_many, or one that was rolled back, has none",
        "SELECT format('%s has %s token %s', holder, slot_id, token) FROM claims.slot_claims s
         WHERE NOT EXISTS (
             SELECT FROM many.calls c
             WHERE call = 'claim' AND c.holder = s.holder AND ok AND committed)",
    ),
    (
        "what was confirmed at once was booked all of it, and what was refused none of it",
        "SELECT format('%s: %s confirmed, %s of %s booked since', holder, confirmed, booked, asked)
         FROM (SELECT holder, bool_or(ok) AS confirmed, jsonb_array_length(min(parts::text)::jsonb) AS asked
               FROM many.calls WHERE call = 'confirm' GROUP BY holder) c
         CROSS JOIN LATERAL (
             SELECT count(*) AS booked FROM claims.slot_claims s
             WHERE s.holder = c.holder AND status IN ('booked', 'cancelled')) b
         WHERE booked <> CASE WHEN confirmed THEN asked ELSE 0 END",
    ),
    (
        "what was released at once is released all of it, or has expired before",
        "SELECT format('%s: %s token %s is %s', holder, slot_id, token, status)
         FROM many.parts JOIN claims.slot_claims USING (slot_id, token, holder)
         WHERE call = 'release' AND status NOT IN ('released', 'expired')",
    ),
    (
        "where giving back was refused, nothing was given back",
        "SELECT format('%s: %s token %s', holder, slot_id, token) FROM claims.slot_claims
         WHERE status = 'released' AND holder NOT IN (
             SELECT holder FROM many.calls WHERE call = 'release' AND ok)",
    ),
    (
        "nothing was ever claimed twice at once",
        "SELECT format('%s: token %s in %s, token %s in %s', slot_id, a.token,
             tstzrange(a.claimed_at, a.ended_at), b.token, tstzrange(b.claimed_at, b.ended_at))
         FROM claims.slot_claims a JOIN claims.slot_claims b USING (slot_id)
         WHERE a.token < b.token AND a.units IS NULL AND b.units IS NULL
           AND coalesce(a.period, '(,)') && coalesce(b.period, '(,)')
           AND tstzrange(a.claimed_at, a.ended_at) && tstzrange(b.claimed_at, b.ended_at)",
    ),
    (
        "no pool ever had more taken than there is",
        // The sum rises where a claim starts, and in the time that is booked where a period starts.
        "SELECT format('%s: %s of %s at %s when token %s starts', slot_id, used, capacity, at, a.token)
         FROM claims.pools JOIN claims.slot_claims a USING (slot_id)
         JOIN claims.slot_claims i USING (slot_id)
         CROSS JOIN LATERAL (SELECT coalesce(lower(i.period), '-infinity') AS at) t
         CROSS JOIN LATERAL (
             SELECT sum(b.units) AS used FROM claims.slot_claims b
             WHERE b.slot_id = a.slot_id AND coalesce(b.period, '(,)') @> at
               AND tstzrange(b.claimed_at, b.ended_at) @> a.claimed_at) u
         WHERE tstzrange(i.claimed_at, i.ended_at) @> a.claimed_at
           AND coalesce(a.period, '(,)') @> at AND used > capacity",
    ),
    (
        "what is counted as taken is there",
        "SELECT format('%s: %s counted, %s there', slot_id, taken, there)
         FROM claims.pools p CROSS JOIN LATERAL (
             SELECT coalesce(sum(units), 0) AS there FROM claims.slot_claims s
             WHERE s.slot_id = p.slot_id AND ended_at IS NULL AND period IS NULL) t
         WHERE taken <> there",
    ),
    (
        "the tokens of a slot have no gap",
        "SELECT format('%s: %s rows, last token %s', slot_id, count(*), max(token))
         FROM claims.slot_claims GROUP BY slot_id HAVING count(*) <> max(token)",
    ),
];
