//! Fifty connections buy 1 to 5 units at a time of pools of a hundred.
//!
//! The interleaving: all of them are after the same pool, so the last units are wanted by several
//! sessions that have all seen them free. A watcher compares `claims.pools.taken` with the sum of the
//! active units all the while, each time on one snapshot.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use races::{
    Answer, Args, Database, Session, assert_no_faults, clock_us, fresh_database, reap_until,
    stampede, tally, told,
};

const SESSIONS: usize = 50;
const CAPACITY: i32 = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_buyers_sell_a_pool_out_to_the_last_unit_and_no_further() {
    let database = fresh_database("pools").await;
    sell_out(&database).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_advisory_lock_a_pool_is_not_oversold_either() {
    let database = fresh_database("pools_no_lock").await;
    database.leave_out("lock").await;
    sell_out(&database).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn units_that_come_back_are_sold_again_once_while_the_capacity_changes() {
    let database = fresh_database("pools_returns").await;
    sell_and_take_back(&database).await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_advisory_lock_units_do_not_come_back_twice_either() {
    let database = fresh_database("pools_returns_no_lock").await;
    database.leave_out("lock").await;
    sell_and_take_back(&database).await;
    database.drop().await;
}

/// One pool after the other is sold out; nothing is ever given back.
async fn sell_out(database: &Database) {
    const POOLS: usize = 10;
    for pool in 0..POOLS {
        set_capacity(&database.connect().await, &name_of(pool), CAPACITY).await;
    }
    let watcher = Watcher::start(database).await;
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let asked: Vec<Asked> =
        stampede(database.connect_many(SESSIONS).await, |number, session| async move {
            let mut rng = fastrand::Rng::with_seed(seed ^ number as u64);
            let mut asked = Vec::new();
            for pool in 0..POOLS {
                // Once refused, with one unit at a time until there is none.
                let mut most = 5;
                for purchase in 0.. {
                    let units = rng.i32(1..=most);
                    let answer = buy(&session, &mut rng, pool, number, purchase, units).await;
                    let is_refused = answer.answer.outcome() == "insufficient";
                    asked.push(answer);
                    match (is_refused, most) {
                        (true, 1) => break,
                        (true, _) => most = 1,
                        _ => {}
                    }
                }
            }
            asked
        })
        .await
        .into_iter()
        .flatten()
        .collect();
    let mut faults = watcher.stop().await;
    println!("{:?}", tally(asked.iter().map(|asked| asked.answer.outcome())));

    let session = database.connect().await;
    let sold = read_sales(&session, "true").await;
    for pool in 0..POOLS {
        let name = name_of(pool);
        let units: i32 = sold.iter().filter(|sale| sale.pool == name).map(|sale| sale.units).sum();
        let taken: i32 = session
            .value(&format!("SELECT taken FROM claims.pools WHERE slot_id = '{name}'"))
            .await;
        assert_eq!((units, taken), (CAPACITY, CAPACITY), "{name} is sold to the last unit");
    }
    // What the buyers were told is what the table has: nothing sold in secret, nothing sold twice.
    let mut acknowledged: Vec<(String, i64, i32)> = asked
        .iter()
        .filter(|asked| asked.answer.ok())
        .map(|asked| (name_of(asked.pool), asked.answer.token(), asked.units))
        .collect();
    acknowledged.sort();
    acknowledged.dedup();
    let there: Vec<(String, i64, i32)> =
        sold.iter().map(|sale| (sale.pool.clone(), sale.token, sale.units)).collect();
    assert_eq!(acknowledged, there);

    for refused in asked.iter().filter(|asked| asked.answer.outcome() == "insufficient") {
        let before: i32 = sold
            .iter()
            .filter(|sale| sale.pool == name_of(refused.pool))
            .filter(|sale| sale.claimed_us <= refused.answered_us)
            .map(|sale| sale.units)
            .sum();
        let available = refused.answer.fact("available").as_i64().unwrap_or(-1);
        if before + refused.units <= CAPACITY || !(0..refused.units as i64).contains(&available) {
            faults.push(format!(
                "refused {} when {before} were sold: {}",
                refused.units, refused.answer
            ));
        }
    }
    assert_no_faults(&faults);
    database.assert_sound().await;
}

fn name_of(pool: usize) -> String {
    format!("pool:{pool}")
}

async fn set_capacity(session: &Session, pool: &str, capacity: i32) {
    loop {
        let answer =
            session.answer("set_capacity", &[("slot_id", &pool), ("capacity", &capacity)]).await;
        match answer.outcome() {
            "set" => return assert_eq!(*answer.fact("capacity"), capacity, "{answer}"),
            "busy" => {}
            _ => panic!("{answer}"),
        }
    }
}

struct Asked {
    pool: usize,
    units: i32,
    answered_us: i64,
    answer: Answer,
}

/// One purchase, by a new holder or by one that names each purchase by a call_id; the latter sometimes
/// asks again, as after a lost answer, and must get the same units and no more.
async fn buy(
    session: &Session,
    rng: &mut fastrand::Rng,
    pool: usize,
    buyer: usize,
    purchase: usize,
    units: i32,
) -> Asked {
    let slot = name_of(pool);
    let has_call_id = rng.bool();
    let holder =
        if has_call_id { format!("shop:{buyer}") } else { format!("buyer:{buyer}:{purchase}") };
    let call_id = format!("call:{buyer}:{purchase}");
    let all: Args =
        &[("slot_id", &slot), ("holder", &holder), ("units", &units), ("call_id", &call_id)];
    let args = if has_call_id { all } else { &all[..3] };
    let answer = until_not_busy(session, "claim_units", args).await;
    let answered_us = clock_us();
    assert!(["claimed", "insufficient"].contains(&answer.outcome()), "{answer}");
    if answer.ok() && has_call_id && rng.u8(..4) == 0 {
        let again = until_not_busy(session, "claim_units", args).await;
        assert_eq!(*again.fact("replayed"), true, "{again}");
        assert_eq!((again.ok(), again.token()), (true, answer.token()), "{again}");
    }
    Asked { pool, units, answered_us, answer }
}

async fn until_not_busy(session: &Session, function: &str, args: Args<'_>) -> Answer {
    loop {
        let answer = session.answer(function, args).await;
        if answer.outcome() != "busy" {
            return answer;
        }
    }
}

/// Leases of milliseconds, releases, bookings and their cancels, a reaper, and a capacity that goes up
/// and down: units come back in every way there is, while others want them.
async fn sell_and_take_back(database: &Database) {
    const LENGTH: Duration = Duration::from_secs(6);
    const POOLS: usize = 2;
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut restockers = Vec::new();
    let sessions = database.connect_many(SESSIONS).await;
    // On a slow machine the leases run out before a pool is full. So both begin with nothing in them,
    // and get something once somebody has been refused.
    let refused = Arc::new(AtomicBool::new(false));
    let until = Instant::now() + LENGTH;
    for pool in 0..POOLS {
        let session = database.connect().await;
        set_capacity(&session, &name_of(pool), 0).await;
        restockers.push(tokio::spawn(restock(
            session,
            name_of(pool),
            refused.clone(),
            seed,
            until,
        )));
    }
    let watcher = Watcher::start(database).await;
    let reaper = tokio::spawn(reap_until(database.connect().await, until));
    let log: Vec<Call> = stampede(sessions, |number, session| {
        Buyer {
            session,
            name: format!("buyer:{number}"),
            rng: fastrand::Rng::with_seed(seed ^ number as u64),
            refused: refused.clone(),
            log: Vec::new(),
        }
        .buy_until(until, POOLS)
    })
    .await
    .into_iter()
    .flatten()
    .collect();
    reaper.await.expect("the reaper panicked");
    let mut faults = watcher.stop().await;
    let named: Vec<String> =
        log.iter().map(|call| format!("{} {}", call.call, call.answer.outcome())).collect();
    let counts = tally(named.iter().map(String::as_str));
    println!("{} calls: {counts:?}", log.len());
    for happened in [
        "claim claimed",
        "claim insufficient",
        "confirm confirmed",
        "confirm confirmed_late",
        "release released",
        "release already_released",
        "cancel cancelled",
    ] {
        assert!(counts.contains_key(happened), "there was no {happened}");
    }

    let session = database.connect().await;
    for (pool, restocker) in restockers.into_iter().enumerate() {
        let capacities = restocker.await.expect("the restocker panicked");
        println!("{} capacities of {}", capacities.len(), name_of(pool));
        let name = name_of(pool);
        let sales = read_sales(&session, &format!("slot_id = '{name}'")).await;
        let calls: Vec<&Call> = log.iter().filter(|call| call.pool == pool).collect();
        faults.extend(sold_above_capacity(&capacities, &sales));
        faults.extend(refused_although_there_were_enough(&capacities, &sales, &calls));
        faults.extend(not_as_acknowledged(&sales, &calls));
    }
    assert_no_faults(&faults);
    database.assert_sound().await;

    // All leases are over soon; then the reaper gives everything back that is not booked, once.
    tokio::time::sleep(Duration::from_millis(150)).await;
    let answer = session.answer("reap_stale_claims", &[]).await;
    assert_eq!(answer.outcome(), "reaped", "{answer}");
    let booked: bool = session
        .value(
            "SELECT bool_and(taken = (SELECT coalesce(sum(units), 0) FROM claims.slot_claims
                                      WHERE slot_id = p.slot_id AND status = 'booked'))
             FROM claims.pools p",
        )
        .await;
    assert!(booked, "what is taken in the end is what is booked");
}

/// When a capacity was set, as the clock was around the call: before `sent_us` the one before was in
/// force, after `answered_us` this one.
#[derive(Clone, Copy)]
struct Capacity {
    units: i32,
    sent_us: i64,
    answered_us: i64,
}

async fn restock(
    session: Session,
    pool: String,
    refused: Arc<AtomicBool>,
    seed: u64,
    until: Instant,
) -> Vec<Capacity> {
    let mut rng = fastrand::Rng::with_seed(!seed);
    let mut capacities = vec![Capacity { units: 0, sent_us: 0, answered_us: 0 }];
    while !refused.load(Ordering::Relaxed) && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    while Instant::now() < until {
        let units = rng.i32(CAPACITY / 2..=CAPACITY);
        let sent_us = clock_us();
        set_capacity(&session, &pool, units).await;
        capacities.push(Capacity { units, sent_us, answered_us: clock_us() });
        tokio::time::sleep(Duration::from_millis(rng.u64(5..50))).await;
    }
    capacities
}

/// Those that can have been in force at some moment from one instant to another.
fn in_force(capacities: &[Capacity], from_us: i64, to_us: i64) -> impl Iterator<Item = i32> {
    let next = capacities.iter().skip(1).map(|next| next.answered_us).chain([i64::MAX]);
    capacities
        .iter()
        .zip(next)
        .filter(move |(this, until_us)| this.sent_us <= to_us && *until_us >= from_us)
        .map(|(this, _)| this.units)
}

/// One call, as the session that made it saw it.
struct Call {
    call: &'static str,
    pool: usize,
    token: Option<i64>,
    units: i32,
    sent_us: i64,
    answered_us: i64,
    answer: Answer,
}

struct Buyer {
    session: Session,
    name: String,
    rng: fastrand::Rng,
    /// Whether any buyer was told that there is not enough.
    refused: Arc<AtomicBool>,
    log: Vec<Call>,
}

impl Buyer {
    async fn buy_until(mut self, until: Instant, pools: usize) -> Vec<Call> {
        for attempt in 0.. {
            if Instant::now() >= until {
                break;
            }
            let pool = self.rng.usize(..pools);
            self.one_run(pool, attempt).await;
        }
        self.log
    }

    async fn one_run(&mut self, pool: usize, attempt: usize) {
        let (slot, units) = (name_of(pool), self.rng.i32(1..=5));
        // Half of them buy again and again under one name.
        let has_call_id = self.rng.bool();
        let holder =
            if has_call_id { self.name.clone() } else { format!("{}:{attempt}", self.name) };
        let call_id = format!("{}:{attempt}", self.name);
        let lease_ms = self.rng.u64(2..=120);
        let ttl = format!("{lease_ms} ms");
        let wait = if self.rng.u8(..10) == 0 { "20 ms" } else { "0" };
        let all: Args = &[
            ("slot_id", &slot),
            ("holder", &holder),
            ("units", &units),
            ("ttl", &ttl),
            ("wait", &wait),
            ("call_id", &call_id),
        ];
        let args = if has_call_id { all } else { &all[..5] };
        let claimed = self.call("claim", "claim_units", pool, units, None, args).await;
        if !claimed.ok() {
            return;
        }
        let token = claimed.token();
        let named: Args = &[("slot_id", &slot), ("holder", &holder), ("token", &token)];
        let confirms = match self.rng.u8(..10) {
            // Left to expire.
            0..=3 => return,
            4..=5 => {
                self.call("release", "release_slot", pool, units, Some(token), named).await;
                return;
            }
            // Released when the lease is as good as over: the reaper or a taker may be there first.
            6..=7 => {
                self.pause_ms(lease_ms).await;
                self.call("release", "release_slot", pool, units, Some(token), named).await;
                return;
            }
            8 => true,
            _ => {
                self.pause_ms(lease_ms).await;
                true
            }
        };
        if confirms {
            let booked =
                self.call("confirm", "confirm_slot", pool, units, Some(token), named).await;
            // One in twenty stays booked.
            if booked.ok() && self.rng.u8(..20) > 0 {
                let pause_ms = self.rng.u64(..10);
                self.pause_ms(pause_ms).await;
                let token = booked.token();
                let named: Args = &[("slot_id", &slot), ("holder", &holder), ("token", &token)];
                self.call("cancel", "cancel_slot", pool, units, Some(token), named).await;
            }
        }
    }

    async fn call(
        &mut self,
        call: &'static str,
        function: &str,
        pool: usize,
        units: i32,
        token: Option<i64>,
        args: Args<'_>,
    ) -> Answer {
        loop {
            let sent_us = clock_us();
            let answer = self.session.answer(function, args).await;
            let answered_us = clock_us();
            let is_busy = answer.outcome() == "busy";
            if answer.outcome() == "insufficient" {
                self.refused.store(true, Ordering::Relaxed);
            }
            self.log.push(Call {
                call,
                pool,
                token,
                units,
                sent_us,
                answered_us,
                answer: answer.clone(),
            });
            if !is_busy {
                return answer;
            }
        }
    }

    async fn pause_ms(&mut self, ms: u64) {
        let jitter = Duration::from_micros(self.rng.u64(..1_500));
        tokio::time::sleep(Duration::from_millis(ms) + jitter).await;
    }
}

/// A row of the history.
struct Sale {
    pool: String,
    token: i64,
    units: i32,
    status: String,
    claimed_us: i64,
    ended_us: Option<i64>,
}

async fn read_sales(session: &Session, condition: &str) -> Vec<Sale> {
    let sql = format!(
        "SELECT slot_id, token, units, status,
                (extract(epoch FROM claimed_at) * 1000000)::bigint,
                (extract(epoch FROM ended_at) * 1000000)::bigint
         FROM claims.slot_claims WHERE {condition} ORDER BY slot_id, token"
    );
    let rows = session.query(&sql, &[]).await.unwrap_or_else(|e| panic!("{}", told(&e)));
    rows.iter()
        .map(|row| Sale {
            pool: row.get(0),
            token: row.get(1),
            units: row.get(2),
            status: row.get(3),
            claimed_us: row.get(4),
            ended_us: row.get(5),
        })
        .collect()
}

/// Goes through the history from one change of the sum to the next. The capacity may be lowered below
/// what is taken; but nothing is sold then.
fn sold_above_capacity(capacities: &[Capacity], sales: &[Sale]) -> Vec<String> {
    let mut steps: Vec<(i64, bool, &Sale)> = Vec::new();
    for sale in sales {
        match sale.ended_us {
            Some(ended_us) if ended_us <= sale.claimed_us => continue,
            Some(ended_us) => steps.push((ended_us, false, sale)),
            None => {}
        }
        steps.push((sale.claimed_us, true, sale));
    }
    // What ends at an instant makes room for what starts there.
    steps.sort_by_key(|(at_us, starts, _)| (*at_us, *starts));
    let mut taken = 0;
    let mut faults = Vec::new();
    for (at_us, starts, sale) in steps {
        taken += if starts { sale.units } else { -sale.units };
        let capacity = in_force(capacities, at_us, at_us).max().expect("there is always one");
        if starts && taken > capacity {
            let (pool, token, units) = (&sale.pool, sale.token, sale.units);
            faults.push(format!(
                "{pool}: token {token} got {units} at {at_us}, which makes {taken} of {capacity}"
            ));
        }
    }
    faults
}

/// Looks for a moment of the call at which the units that were asked for were not there. An end counts
/// for others from its commit on, so not before its acknowledgement; a lease that ran out counts by
/// itself.
fn refused_although_there_were_enough(
    capacities: &[Capacity],
    sales: &[Sale],
    calls: &[&Call],
) -> Vec<String> {
    let mut leases = HashMap::new();
    let mut ends: HashMap<i64, i64> = HashMap::new();
    for call in calls.iter().filter(|call| call.answer.ok()) {
        match (call.call, call.token) {
            ("claim", _) => {
                let lease_us =
                    call.answer.fact("ttl_ms").as_i64().expect("a claim has a ttl") * 1000;
                leases.insert(call.answer.token(), lease_us);
            }
            ("release" | "cancel", Some(token)) => {
                ends.insert(token, call.answered_us);
            }
            _ => {}
        }
    }
    let gone_us = |sale: &Sale| match sale.status.as_str() {
        "expired" => sale.claimed_us + leases[&sale.token],
        _ if sale.ended_us.is_none() => i64::MAX,
        _ => ends[&sale.token],
    };
    // By the time of the claim, and from when on it was gone.
    let lives: BTreeMap<(i64, i64), (i64, i32)> = sales
        .iter()
        .map(|sale| ((sale.claimed_us, sale.token), (gone_us(sale), sale.units)))
        .collect();
    calls
        .iter()
        .filter(|call| call.answer.outcome() == "insufficient")
        .filter(|call| {
            let capacity = in_force(capacities, call.sent_us, call.answered_us)
                .min()
                .expect("there is always one");
            let there: Vec<(i64, i64, i32)> = lives
                .range(..=(call.answered_us, i64::MAX))
                .filter(|(_, (gone_us, _))| *gone_us >= call.sent_us)
                .map(|((start_us, _), (gone_us, units))| (*start_us, *gone_us, *units))
                .collect();
            let moments = there.iter().map(|(start_us, ..)| (*start_us).max(call.sent_us));
            let most: i32 = moments
                .map(|at_us| {
                    let there = there.iter().filter(|(s, g, _)| *s <= at_us && at_us <= *g);
                    there.map(|(_, _, units)| units).sum()
                })
                .max()
                .unwrap_or(0);
            most + call.units <= capacity
        })
        .map(|call| format!("{} of {} was refused: {}", call.call, call.units, call.answer))
        .collect()
}

/// Every row was acknowledged and every acknowledgement has its row; bookings stay until their cancel,
/// and no lease is cut short.
fn not_as_acknowledged(sales: &[Sale], calls: &[&Call]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut known: HashMap<i64, (i32, &str)> = HashMap::new();
    let mut leases = HashMap::new();
    for call in calls.iter().filter(|call| call.answer.ok()) {
        let token = call.answer.token();
        match call.call {
            "claim" => {
                let lease_us =
                    call.answer.fact("ttl_ms").as_i64().expect("a claim has a ttl") * 1000;
                leases.insert(token, lease_us);
                if known.insert(token, (call.units, "claimed")).is_some() {
                    faults.push(format!("token {token} was given twice"));
                }
            }
            // A release of what had ended by itself is no release of it.
            "release" if call.answer.outcome() != "released" => {}
            settled => {
                let status = match settled {
                    "release" => "released",
                    "confirm" => "booked",
                    _ => "cancelled",
                };
                known.insert(token, (call.units, status));
            }
        }
    }
    for sale in sales {
        let fits = match known.remove(&sale.token) {
            Some((units, "claimed")) => {
                units == sale.units && ["claimed", "expired"].contains(&sale.status.as_str())
            }
            Some(acknowledged) => acknowledged == (sale.units, sale.status.as_str()),
            None => false,
        };
        if !fits {
            faults.push(format!(
                "{} token {} is not as acknowledged: {}",
                sale.pool, sale.token, sale.status
            ));
        }
        if sale.status == "expired" && sale.ended_us < Some(sale.claimed_us + leases[&sale.token]) {
            faults.push(format!("{} token {}: the lease was cut short", sale.pool, sale.token));
        }
    }
    faults.extend(
        known.keys().map(|token| format!("token {token} was acknowledged, and is not there")),
    );
    faults
}

/// Compares what is counted with what is there, on one snapshot each time, until it is told to stop.
struct Watcher {
    stop: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<(usize, Vec<String>)>,
}

impl Watcher {
    async fn start(database: &Database) -> Watcher {
        let session = database.connect().await;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let (mut looks, mut faults) = (0, Vec::new());
            // Once more after the stop: the end counts too.
            let mut is_last = false;
            while !is_last {
                is_last = stopped.load(Ordering::Relaxed);
                faults.extend(miscounted(&session).await);
                looks += 1;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            (looks, faults)
        });
        Watcher { stop, task }
    }

    async fn stop(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        let (looks, faults) = self.task.await.expect("the watcher panicked");
        println!("watched {looks} times");
        assert!(looks > 10);
        faults
    }
}

async fn miscounted(session: &Session) -> Vec<String> {
    let rows = session
        .query(
            "SELECT format('%s: %s of %s counted, and %s there', slot_id, taken, capacity, there)
             FROM claims.pools JOIN LATERAL (
                 SELECT coalesce(sum(units), 0) AS there FROM claims.slot_claims c
                 WHERE c.slot_id = pools.slot_id AND ended_at IS NULL AND period IS NULL) c ON true
             WHERE taken <> there",
            &[],
        )
        .await
        .unwrap_or_else(|e| panic!("{}", told(&e)));
    rows.iter().map(|row| row.get(0)).collect()
}
