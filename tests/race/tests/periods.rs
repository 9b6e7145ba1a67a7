//! Fifty connections book appointments of 15 to 120 minutes in a simulated month.
//!
//! Half of the requests go to a few rooms on the one day that everybody wants just then, so that
//! several sessions are inside `claim_period` for overlapping times at most moments; that day moves
//! through the month. Claims are confirmed (some at the very end of their lease), released, left to
//! expire, or moved; bookings are cancelled later; a reaper runs all the while. Room 0 takes no
//! bookings that last, so that the whole of it can be had at times as well.
//!
//! Every call goes into a log with the clock around it. What must hold is read from the log and the
//! table afterwards, in plain SQL and in Rust that shares nothing with the extension.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use races::{
    Answer, Args, Database, Session, assert_no_faults, clock_us, fresh_database, reap_until,
    stampede, tally, told,
};
use serde_json::{Value, json};

const SESSIONS: usize = 50;
const LENGTH: Duration = Duration::from_secs(6);

const DAYS: i64 = 30;
const MINUTES_A_DAY: i64 = 24 * 60;
/// Every period starts and ends on this grid.
const GRID_MINUTES: i64 = 5;
const OPENS_AT_MINUTE: i64 = 8 * 60;
const CLOSES_AT_MINUTE: i64 = 20 * 60;

/// How many bookings a session keeps before it cancels its oldest.
const KEPT: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_connections_never_overlap_in_a_room_and_are_only_refused_for_an_overlap() {
    let database = fresh_database("periods").await;
    overlaps_nowhere(&database).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_advisory_lock_periods_do_not_overlap_either() {
    let database = fresh_database("periods_no_lock").await;
    database.leave_out("lock").await;
    overlaps_nowhere(&database).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_connections_never_exceed_the_tables_of_a_restaurant_and_are_only_refused_when_full()
{
    let database = fresh_database("periods_units").await;
    fits_at_every_instant(&database).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_advisory_lock_tables_are_not_exceeded_either() {
    let database = fresh_database("periods_units_no_lock").await;
    database.leave_out("lock").await;
    fits_at_every_instant(&database).await;
    database.drop().await;
}

async fn overlaps_nowhere(database: &Database) {
    let month = Month { rooms: 20, popular_rooms: 4, capacity: None };
    let log = month.book(database).await;
    let session = database.connect().await;
    let mut faults = broken_promises(&session, PROMISES).await;
    faults.extend(broken_promises(&session, PROMISES_OF_ROOMS).await);
    month.assert_something_happened(&log);
    assert_no_faults(&faults);
    database.assert_sound().await;
}

async fn fits_at_every_instant(database: &Database) {
    let capacity = 5;
    let month = Month { rooms: 6, popular_rooms: 2, capacity: Some(capacity) };
    let session = database.connect().await;
    for room in 0..month.rooms {
        session
            .answer("set_capacity", &[("slot_id", &name_of(room)), ("capacity", &capacity)])
            .await;
    }
    let log = month.book(database).await;
    let mut faults = broken_promises(&session, PROMISES).await;
    let claims = read_claims(&session).await;
    faults.extend(instants_above(capacity, &claims, month.rooms));
    faults.extend(refused_although_there_was_room(capacity, &claims, &log));
    month.assert_something_happened(&log);
    assert_no_faults(&faults);
    database.assert_sound().await;
}

/// What is booked, and by how many of how many.
#[derive(Clone, Copy)]
struct Month {
    rooms: usize,
    popular_rooms: usize,
    capacity: Option<i32>,
}

fn name_of(room: usize) -> String {
    format!("room:{room}")
}

impl Month {
    /// Lets everybody book, and lays the log beside the claims.
    async fn book(self, database: &Database) -> Vec<Call> {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let started = Instant::now();
        let reaper = tokio::spawn(reap_until(database.connect().await, started + LENGTH));
        let log: Vec<Call> = stampede(database.connect_many(SESSIONS).await, |number, session| {
            Guest {
                month: self,
                session,
                name: format!("guest:{number}"),
                rng: fastrand::Rng::with_seed(seed ^ number as u64),
                started: Instant::now(),
                booked: VecDeque::new(),
                log: Vec::new(),
            }
            .book_until_the_month_is_over()
        })
        .await
        .into_iter()
        .flatten()
        .collect();
        reaper.await.expect("the reaper panicked");
        let named: Vec<String> =
            log.iter().map(|call| format!("{} {}", call.call, call.answer.outcome())).collect();
        println!(
            "{} calls in {:.1?}: {:?}",
            log.len(),
            started.elapsed(),
            tally(named.iter().map(String::as_str))
        );
        let session = database.connect().await;
        session.run(CREATE_LOG).await;
        let entries = Value::Array(log.iter().map(Call::as_json).collect());
        session.execute(LOAD_LOG, &[&entries]).await.unwrap_or_else(|e| panic!("{}", told(&e)));
        session.run(CREATE_HISTORY).await;
        log
    }

    /// A test in which nobody was ever refused, or nothing ever moved, shows nothing.
    fn assert_something_happened(self, log: &[Call]) {
        let refused = if self.capacity.is_some() { "insufficient" } else { "taken" };
        for (call, outcome) in [
            ("claim", "claimed"),
            ("claim", refused),
            ("confirm", "confirmed"),
            ("confirm", "confirmed_late"),
            ("release", "released"),
            ("move", "moved"),
            ("move", refused),
            ("cancel", "cancelled"),
        ] {
            assert!(
                log.iter().any(|entry| entry.call == call && entry.answer.outcome() == outcome),
                "no {call} was answered {outcome}"
            );
        }
        let whole =
            |entry: &&Call| entry.call == "claim" && entry.period.is_none() && entry.answer.ok();
        assert!(log.iter().any(|entry| whole(&entry)), "room 0 was never had as a whole");
    }
}

/// From one minute of the month to another; `None` is all of the time.
type Period = Option<(i64, i64)>;

/// One call, as the session that made it saw it.
struct Call {
    call: &'static str,
    room: usize,
    holder: String,
    /// The claim that the call was about.
    token: Option<i64>,
    period: Period,
    units: Option<i32>,
    sent_us: i64,
    answered_us: i64,
    answer: Answer,
}

impl Call {
    fn as_json(&self) -> Value {
        let period = self.period.map_or("(,)".into(), |(from, to)| {
            format!("[{},{})", time_text(from, 0), time_text(to, 0))
        });
        json!({
            "call": self.call, "slot_id": name_of(self.room), "holder": self.holder,
            "token": self.token, "period": period, "sent_us": self.sent_us,
            "answered_us": self.answered_us, "ok": self.answer.ok(),
            "outcome": self.answer.outcome(), "answer": self.answer.0,
        })
    }
}

/// A minute of the month as a workflow writes it.
fn time_text(minute: i64, offset_hours: i64) -> String {
    let local = minute + offset_hours * 60;
    let (day, minute) = (local / MINUTES_A_DAY + 1, local % MINUTES_A_DAY);
    let offset = if offset_hours == 0 { "Z".into() } else { format!("+{offset_hours:02}:00") };
    format!("2031-06-{day:02}T{:02}:{:02}:00{offset}", minute / 60, minute % 60)
}

/// A claim that a guest has.
#[derive(Clone)]
struct Held {
    room: usize,
    holder: String,
    token: i64,
    period: Period,
    units: Option<i32>,
}

struct Guest {
    month: Month,
    session: Session,
    name: String,
    rng: fastrand::Rng,
    started: Instant,
    booked: VecDeque<Held>,
    log: Vec<Call>,
}

impl Guest {
    async fn book_until_the_month_is_over(mut self) -> Vec<Call> {
        self.started = Instant::now();
        for attempt in 0.. {
            if self.started.elapsed() >= LENGTH {
                break;
            }
            self.one_run(attempt).await;
        }
        self.log
    }

    /// One workflow run: claim, then one of the things that runs do with a claim.
    async fn one_run(&mut self, attempt: usize) {
        let room = self.a_room();
        let lasts = room != 0;
        let lease_ms = if lasts && self.rng.u8(..3) == 0 { 60_000 } else { self.rng.u64(2..=40) };
        let wish = Held {
            room,
            holder: format!("{}:{attempt}", self.name),
            token: 0,
            period: if !lasts && self.rng.bool() { None } else { Some(self.a_period(room)) },
            units: self.month.capacity.map(|_| self.rng.i32(1..=3)),
        };
        let Some(mut held) = self.claim(wish, lease_ms).await else { return };
        match self.rng.u8(..20) {
            // Left to expire.
            0..=3 => {}
            4..=7 => {
                self.settle("release", &held).await;
            }
            _ if !lasts => {
                self.settle("release", &held).await;
            }
            8..=11 => self.confirm(held).await,
            // As near to the end of the lease as the clock allows.
            12..=14 => {
                let pause = Duration::from_millis(lease_ms.min(40));
                tokio::time::sleep(pause + Duration::from_micros(self.rng.u64(..1_500))).await;
                self.confirm(held).await;
            }
            15..=17 => {
                self.move_it(&mut held).await;
                if self.rng.bool() {
                    self.confirm(held).await;
                } else {
                    self.settle("release", &held).await;
                }
            }
            _ => {
                self.confirm(held).await;
                if let Some(mut booked) = self.booked.pop_front() {
                    self.move_it(&mut booked).await;
                    self.booked.push_back(booked);
                }
            }
        }
        if self.booked.len() > KEPT {
            let oldest = self.booked.pop_front().expect("there are more than none");
            self.settle("cancel", &oldest).await;
        }
    }

    fn a_room(&mut self) -> usize {
        match self.rng.u8(..20) {
            0..=1 => 0,
            2..=10 => self.rng.usize(1..=self.month.popular_rooms),
            _ => self.rng.usize(..self.month.rooms),
        }
    }

    /// Within the opening hours of a day: in the popular rooms of the day that everybody wants now.
    fn a_period(&mut self, room: usize) -> (i64, i64) {
        let popular_day =
            (self.started.elapsed().as_millis() as i64 * DAYS) / LENGTH.as_millis() as i64;
        let is_popular = (1..=self.month.popular_rooms).contains(&room);
        let day = if is_popular { popular_day.min(DAYS - 1) } else { self.rng.i64(0..DAYS) };
        let minutes = GRID_MINUTES * self.rng.i64(15 / GRID_MINUTES..=120 / GRID_MINUTES);
        let starts = (CLOSES_AT_MINUTE - OPENS_AT_MINUTE - minutes) / GRID_MINUTES;
        let from = day * MINUTES_A_DAY + OPENS_AT_MINUTE + GRID_MINUTES * self.rng.i64(0..=starts);
        (from, from + minutes)
    }

    async fn claim(&mut self, wish: Held, lease_ms: u64) -> Option<Held> {
        let (slot, ttl) = (name_of(wish.room), format!("{lease_ms} ms"));
        let wait = if self.rng.u8(..10) == 0 { "20 ms" } else { "0" };
        let mut args: Vec<(&str, &(dyn std::fmt::Display + Sync))> =
            vec![("slot_id", &slot), ("holder", &wish.holder), ("ttl", &ttl), ("wait", &wait)];
        let (starts_at, ends_at) = self.period_text(wish.period);
        if wish.period.is_some() {
            args.extend([("starts_at", &starts_at as _), ("ends_at", &ends_at as _)]);
        }
        if let Some(units) = &wish.units {
            args.push(("units", units));
        }
        let function = match (wish.period, wish.units) {
            (Some(_), _) => "claim_period",
            (None, None) => "claim_slot",
            (None, Some(_)) => "claim_units",
        };
        let answer = self.call("claim", function, &wish, None, &args).await;
        answer.ok().then(|| Held { token: answer.token(), ..wish })
    }

    async fn confirm(&mut self, held: Held) {
        let answer = self.settle("confirm", &held).await;
        if answer.ok() {
            self.booked.push_back(Held { token: answer.token(), ..held });
        }
    }

    /// Elsewhere in its room: half of the time by a few minutes, so that it overlaps its old self.
    async fn move_it(&mut self, held: &mut Held) {
        let Some((from, to)) = held.period else { return };
        let (day, length) = (from / MINUTES_A_DAY, to - from);
        let minute = from % MINUTES_A_DAY;
        let period = if self.rng.bool() {
            let minute = (minute + GRID_MINUTES * self.rng.i64(-3..=3))
                .clamp(OPENS_AT_MINUTE, CLOSES_AT_MINUTE - length);
            (day * MINUTES_A_DAY + minute, day * MINUTES_A_DAY + minute + length)
        } else {
            self.a_period(held.room)
        };
        let wish = Held { period: Some(period), ..held.clone() };
        let (slot, (starts_at, ends_at)) = (name_of(held.room), self.period_text(wish.period));
        let args: Args = &[
            ("slot_id", &slot),
            ("holder", &held.holder),
            ("token", &held.token),
            ("starts_at", &starts_at),
            ("ends_at", &ends_at),
        ];
        let token = Some(held.token);
        let answer = self.until_not_busy("move", "move_period", &wish, token, args).await;
        if answer.ok() {
            *held = Held { token: answer.token(), ..wish };
        }
    }

    async fn settle(&mut self, call: &'static str, held: &Held) -> Answer {
        let slot = name_of(held.room);
        let args: Args = &[("slot_id", &slot), ("holder", &held.holder), ("token", &held.token)];
        self.until_not_busy(call, &format!("{call}_slot"), held, Some(held.token), args).await
    }

    async fn until_not_busy(
        &mut self,
        call: &'static str,
        function: &str,
        about: &Held,
        token: Option<i64>,
        args: Args<'_>,
    ) -> Answer {
        loop {
            let answer = self.call(call, function, about, token, args).await;
            if answer.outcome() != "busy" {
                return answer;
            }
        }
    }

    async fn call(
        &mut self,
        call: &'static str,
        function: &str,
        about: &Held,
        token: Option<i64>,
        args: Args<'_>,
    ) -> Answer {
        let sent_us = clock_us();
        let answer = self.session.answer(function, args).await;
        self.log.push(Call {
            call,
            room: about.room,
            holder: about.holder.clone(),
            token,
            period: about.period,
            units: about.units,
            sent_us,
            answered_us: clock_us(),
            answer: answer.clone(),
        });
        answer
    }

    /// Not everybody writes the same time in the same way.
    fn period_text(&mut self, period: Period) -> (String, String) {
        let (from, to) = period.unwrap_or_default();
        (time_text(from, self.rng.i64(0..=3)), time_text(to, self.rng.i64(0..=3)))
    }
}

const CREATE_LOG: &str = "
    CREATE SCHEMA month;
    CREATE TABLE month.calls (
        call text, slot_id text, holder text, token bigint, period tstzrange,
        sent timestamptz, answered timestamptz, ok boolean, outcome text, answer jsonb)";

const LOAD_LOG: &str = "
    INSERT INTO month.calls
    SELECT call, slot_id, holder, token, period,
           'epoch'::timestamptz + sent_us * interval '1 microsecond',
           'epoch'::timestamptz + answered_us * interval '1 microsecond', ok, outcome, answer
    FROM jsonb_to_recordset($1) AS l(
        call text, slot_id text, holder text, token bigint, period tstzrange,
        sent_us bigint, answered_us bigint, ok boolean, outcome text, answer jsonb)";

/// `life`: from the claim to its end, as the table has it. `gone`: the last moment at which somebody
/// could still be refused because of it. An end counts for others from its commit on, so not before
/// its acknowledgement; a lease that ran out counts by itself, whenever somebody wrote it down.
const CREATE_HISTORY: &str = "
    CREATE INDEX ON month.calls (slot_id, token);
    CREATE INDEX ON month.calls (slot_id, holder);
    ANALYZE month.calls;
    CREATE TABLE month.leases AS
        SELECT slot_id, (answer ->> 'token')::bigint AS token,
               max((answer ->> 'expires_at')::timestamptz) AS expires_at
        FROM month.calls WHERE ok AND call IN ('claim', 'move') GROUP BY 1, 2;
    CREATE TABLE month.claims AS
        SELECT slot_id, token, holder, status, coalesce(period, '(,)') AS period, units,
               tstzrange(claimed_at, ended_at) AS life,
               CASE WHEN ended_at IS NULL THEN 'infinity'
                    WHEN status = 'expired' THEN l.expires_at
                    ELSE (SELECT max(answered) FROM month.calls c
                          WHERE c.slot_id = s.slot_id AND c.token = s.token AND ok
                            AND c.call IN ('release', 'cancel', 'move'))
               END AS gone
        FROM claims.slot_claims s
        LEFT JOIN month.leases l USING (slot_id, token);
    CREATE INDEX ON month.claims (slot_id, token);
    CREATE INDEX ON month.claims (slot_id, holder);
    ANALYZE month.claims";

/// What a promise is, and a query that has one row of one text for each time that it was broken.
type Promise = (&'static str, &'static str);

async fn broken_promises(session: &Session, promises: &[Promise]) -> Vec<String> {
    let mut faults = Vec::new();
    for (promise, sql) in promises {
        let rows =
            session.query(*sql, &[]).await.unwrap_or_else(|e| panic!("{promise}: {}", told(&e)));
        faults.extend(rows.iter().map(|row| format!("{promise}: {}", row.get::<_, String>(0))));
    }
    faults
}

/// One claim at a time, and nobody is refused for nothing.
const PROMISES_OF_ROOMS: &[Promise] = &[
    (
        "two claims of a room that were active at once do not overlap",
        "SELECT format('%s: token %s for %s in %s, token %s for %s in %s',
             slot_id, a.token, a.period, a.life, b.token, b.period, b.life)
         FROM month.claims a JOIN month.claims b USING (slot_id)
         WHERE a.token < b.token AND a.period && b.period AND a.life && b.life",
    ),
    (
        "two open claims of a room do not overlap",
        "SELECT format('%s: tokens %s and %s', slot_id, a.token, b.token)
         FROM claims.slot_claims a JOIN claims.slot_claims b USING (slot_id)
         WHERE a.token < b.token AND a.ended_at IS NULL AND b.ended_at IS NULL
           AND (a.period && b.period OR a.period IS NULL OR b.period IS NULL)",
    ),
    (
        "whoever is refused is told of a claim that overlapped at that time",
        // Lost is what the claim had; taken is what was asked for.
        "SELECT format('%s of %s for %s: %s', call, holder, wanted, answer)
         FROM month.calls r CROSS JOIN LATERAL (
             SELECT CASE outcome WHEN 'taken' THEN r.period ELSE (
                 SELECT period FROM month.claims o
                 WHERE o.slot_id = r.slot_id AND o.token = r.token) END AS wanted) w
         WHERE outcome IN ('taken', 'lost') AND NOT EXISTS (
             SELECT FROM month.claims c
             WHERE c.slot_id = r.slot_id AND c.period && wanted
               AND c.holder = coalesce(answer ->> 'held_by', answer ->> 'lost_to')
               AND c.period = tstzrange((answer ->> 'starts_at')::timestamptz,
                                        (answer ->> 'ends_at')::timestamptz)
               AND lower(c.life) <= r.answered AND c.gone >= r.sent)",
    ),
];

/// What holds with a capacity and without.
const PROMISES: &[Promise] = &[
    (
        "only answers that the call can have",
        "SELECT format('%s: %s', call, answer) FROM month.calls WHERE outcome <> ALL (CASE call
             WHEN 'claim' THEN '{claimed,reclaimed,taken,insufficient,busy}'
             WHEN 'confirm' THEN '{confirmed,confirmed_late,lost,insufficient,busy}'
             WHEN 'release' THEN '{released,already_released,lost,busy}'
             WHEN 'move' THEN '{moved,taken,insufficient,expired,lost,busy}'
             WHEN 'cancel' THEN '{cancelled,busy}'
         END::text[])",
    ),
    (
        "every acknowledged claim is there, and none that was not acknowledged",
        "WITH acknowledged AS (
             SELECT slot_id, (answer ->> 'token')::bigint, holder, period FROM month.calls
             WHERE ok AND call IN ('claim', 'confirm', 'move')),
         there AS (SELECT slot_id, token, holder, period FROM month.claims)
         (SELECT format('missing: %s', a) FROM (TABLE acknowledged EXCEPT TABLE there) a)
         UNION ALL
         (SELECT format('unheard of: %s', a) FROM (TABLE there EXCEPT TABLE acknowledged) a)",
    ),
    (
        "the tokens of a room have no gap",
        "SELECT format('%s: %s rows, last token %s', slot_id, count(*), max(token))
         FROM month.claims GROUP BY slot_id HAVING count(*) <> max(token)",
    ),
    (
        "an acknowledged booking stays, where it was last moved to, until its cancel",
        "WITH fate AS (
             SELECT slot_id, holder,
                    bool_or(ok AND call = 'confirm') AND NOT bool_or(ok AND call = 'cancel')
                        AS is_booked,
                    (array_agg(period ORDER BY answered DESC)
                        FILTER (WHERE ok AND call IN ('claim', 'move')))[1] AS period
             FROM month.calls GROUP BY slot_id, holder)
         SELECT format('%s of %s for %s: booked is %s', slot_id, holder, period, is_booked)
         FROM fate f WHERE is_booked <> EXISTS (
             SELECT FROM month.claims c WHERE c.slot_id = f.slot_id AND c.holder = f.holder
             AND c.status = 'booked' AND c.period = f.period)",
    ),
    (
        "nobody takes over before the acknowledged lease is over",
        "SELECT format('%s: token %s had the lease until %s and ended at %s',
             slot_id, token, gone, upper(life))
         FROM month.claims WHERE status = 'expired' AND upper(life) < gone",
    ),
];

/// A row of the history, for the sweep. `end_us` and `gone_us` are the far future while it is open.
struct Claim {
    room: usize,
    token: i64,
    period: Period,
    units: i32,
    start_us: i64,
    end_us: i64,
    gone_us: i64,
}

async fn read_claims(session: &Session) -> Vec<Claim> {
    let sql = "SELECT split_part(slot_id, ':', 2)::int, token, units,
             (extract(epoch FROM lower(period) - '2031-06-01Z') / 60)::bigint,
             (extract(epoch FROM upper(period) - '2031-06-01Z') / 60)::bigint,
             (extract(epoch FROM lower(life)) * 1000000)::bigint,
             (extract(epoch FROM upper(life)) * 1000000)::bigint,
             CASE WHEN gone <> 'infinity' THEN (extract(epoch FROM gone) * 1000000)::bigint END
         FROM month.claims WHERE NOT isempty(life)";
    let rows = session.query(sql, &[]).await.unwrap_or_else(|e| panic!("{}", told(&e)));
    rows.iter()
        .map(|row| Claim {
            room: row.get::<_, i32>(0) as usize,
            token: row.get(1),
            units: row.get(2),
            period: row.get::<_, Option<i64>>(3).zip(row.get(4)),
            start_us: row.get(5),
            end_us: row.get::<_, Option<i64>>(6).unwrap_or(i64::MAX),
            gone_us: row.get::<_, Option<i64>>(7).unwrap_or(i64::MAX),
        })
        .collect()
}

/// The units that are taken in each five minutes of the month.
struct Taken(Vec<i32>);

impl Taken {
    fn none() -> Taken {
        Taken(vec![0; (DAYS * MINUTES_A_DAY / GRID_MINUTES) as usize])
    }

    fn during(&mut self, period: Period) -> &mut [i32] {
        let (from, to) = period.unwrap_or((0, DAYS * MINUTES_A_DAY));
        &mut self.0[(from / GRID_MINUTES) as usize..(to / GRID_MINUTES) as usize]
    }

    fn add(&mut self, period: Period, units: i32) {
        self.during(period).iter_mut().for_each(|taken| *taken += units);
    }

    fn most(&mut self, period: Period) -> i32 {
        *self.during(period).iter().max().expect("no period is empty")
    }
}

/// Goes through the history, from one start or end of a claim to the next, and through all of the
/// month at each start.
fn instants_above(capacity: i32, claims: &[Claim], rooms: usize) -> Vec<String> {
    let mut steps: Vec<(i64, bool, &Claim)> = claims
        .iter()
        .flat_map(|claim| [(claim.start_us, true, claim), (claim.end_us, false, claim)])
        .collect();
    // What ends at an instant makes room for what starts there.
    steps.sort_by_key(|(at_us, starts, _)| (*at_us, *starts));
    let mut taken: Vec<Taken> = (0..rooms).map(|_| Taken::none()).collect();
    let mut faults = Vec::new();
    for (at_us, starts, claim) in steps {
        let taken = &mut taken[claim.room];
        taken.add(claim.period, if starts { claim.units } else { -claim.units });
        let most = taken.most(claim.period);
        if starts && most > capacity {
            faults.push(format!(
                "{most} of {capacity} are taken in room {} at {at_us}, when token {} gets {} for {:?}",
                claim.room, claim.token, claim.units, claim.period
            ));
        }
    }
    faults
}

/// Looks for a moment of the call at which the units that were asked for did not fit.
fn refused_although_there_was_room(capacity: i32, claims: &[Claim], log: &[Call]) -> Vec<String> {
    let is_full = |call: &Call| {
        let there: Vec<&Claim> = claims
            .iter()
            .filter(|claim| {
                claim.room == call.room
                    && Some(claim.token) != call.token
                    && claim.start_us <= call.answered_us
                    && claim.gone_us >= call.sent_us
                    && match (claim.period, call.period) {
                        (Some(claim), Some(call)) => claim.0 < call.1 && call.0 < claim.1,
                        _ => true,
                    }
            })
            .collect();
        // The sum rises when a claim starts, so those are the moments to look at.
        let moments = there.iter().map(|claim| claim.start_us.max(call.sent_us));
        moments.into_iter().any(|at_us| {
            let mut taken = Taken::none();
            for claim in &there {
                if claim.start_us <= at_us && at_us <= claim.gone_us {
                    taken.add(claim.period, claim.units);
                }
            }
            taken.most(call.period) + call.units.unwrap_or(0) > capacity
        })
    };
    log.iter()
        .filter(|call| call.answer.outcome() == "insufficient" && !is_full(call))
        .map(|call| {
            format!(
                "{} of {} for {:?} in room {} was refused although there was room: {}",
                call.call, call.holder, call.period, call.room, call.answer
            )
        })
        .collect()
}
