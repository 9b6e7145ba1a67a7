//! set_capacity, and the row of `claims.pools` that counts what is taken.
//!
//! `taken` is the sum of the units of the active claims without a period. Whoever adds
//! or ends such a claim holds the pool's row, which it takes without waiting; so the row
//! decides between two takers of the last unit, and no unit is given back twice.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::extent::Extent;
use super::room::Room;
use super::{CLAIMS, OnExpiry, POOL_EXPIRES_AT, Status};
use crate::backend::clock;
use crate::backend::lock::Subject;
use crate::backend::rights::walking_indexes;
use crate::backend::server::has_table;
use crate::backend::statement::Row;
use crate::backend::table::{Key, Table, Unfit};
use crate::backend::value::{AnyIdentifier, Instant, Reply};
use crate::error::Refusal;
use crate::input;
use crate::notify;
use crate::outcome::{Answer, Outcome};
use crate::statement;
use crate::turn::{Patience, Turn, take_turns};

/// Makes a slot a pool of so many units, or changes how many. It may be lowered below
/// what is taken: then no claim succeeds until enough has been given back.
///
/// Arguments:
///   slot_id    the pool
///   capacity   how many units there are, 0 or more
///
/// Outcomes: set (ok; with taken, available, and overhang when more is taken than there
/// is), taken (somebody has claimed the slot as a whole or a period of all of it), busy.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: counting semaphores, Dijkstra 1965.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn set_capacity(
    slot_id: Option<AnyIdentifier>,
    capacity: Option<i32>,
) -> Result<Reply, ErrorReport> {
    let slot_id = input::identifier("slot_id", slot_id)?;
    let capacity = input::count("capacity", capacity, 0)?;
    input::writable("set_capacity")?;
    let mut patience = Patience::for_lock();
    let answer =
        take_turns(&[Subject::Slot(&slot_id)], &mut patience, |turn| set(turn, &slot_id, capacity));
    Ok(Reply::from(&Answer { slot_id: Some(slot_id), ..answer.unwrap_or_else(Answer::busy) }))
}

statement! {
    CREATE =
        "INSERT INTO claims.pools (slot_id, capacity, taken) VALUES ($1, $2, 0)
         ON CONFLICT DO NOTHING";

    SET_CAPACITY = "UPDATE claims.pools SET capacity = $2 WHERE slot_id = $1";
}

fn set(turn: &mut Turn, slot_id: &str, capacity: i32) -> Option<Answer> {
    let args = [slot_id.into(), capacity.into()];
    if read(slot_id).is_some() {
        if hold(slot_id).is_none() || !turn.write(&SET_CAPACITY, &args) {
            return None;
        }
    } else {
        let now = clock::now();
        let room = Room::read(slot_id, Extent::WHOLE);
        if let Some(blocker) = room.active.iter().find(|claim| claim.blocks(now)) {
            let message =
                "Claims of the slot are not of units; it can become a pool when they are over.";
            return Some(Answer {
                held_by: Some(blocker.holder.clone()),
                starts_at: blocker.extent.period.map(|period| period.from),
                ends_at: blocker.extent.period.map(|period| period.to),
                status: Some(blocker.told_status(now).word()),
                ..Answer::no(Outcome::Taken, message)
            });
        }
        // What has expired ends here: it must not come back beside the units.
        room.clear(turn, slot_id, None, "set_capacity", now)?;
        if !turn.write(&CREATE, &args) {
            return None;
        }
    }
    let room = Room::read(slot_id, Extent { period: None, units: Some(0) });
    let pool = room.pool?;
    // Beside what the pool counts, the fullest instant of its periods.
    let available = room.available(pool, None, clock::now());
    Some(Answer {
        capacity: Some(pool.capacity),
        taken: Some(room.taken(pool)),
        available: Some(available.max(0)),
        overhang: Some(available.saturating_neg()).filter(|overhang| *overhang > 0),
        ..Answer::yes(Outcome::Set, "The pool has this many units now.")
    })
}

/// A row of `claims.pools`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    pub capacity: i32,
    pub taken: i32,
}

impl Pool {
    fn read(row: &Row) -> Self {
        Self { capacity: row.must(1), taken: row.must(2) }
    }
}

statement! {
    READ = "SELECT capacity, taken FROM claims.pools WHERE slot_id = $1";

    HOLD =
        "SELECT capacity, taken FROM claims.pools WHERE slot_id = $1
         FOR NO KEY UPDATE SKIP LOCKED";

    COUNT = "UPDATE claims.pools SET taken = taken + $2 WHERE slot_id = $1";
}

thread_local! {
    static POOLS: Table =
        const { Table::new(c"pools", &[c"pools_pkey"], &[c"capacity", c"taken", c"slot_id"]) };
}

/// Whether there can be pools: 0.1.0 has none.
fn are_known() -> bool {
    has_table(c"pools")
}

pub fn read(slot_id: &str) -> Option<Pool> {
    let args = [slot_id.into()];
    POOLS.with(|pools| pools.last_if_any(&args, Pool::read)).unwrap_or_else(|Unfit| {
        are_known().then(|| READ.with(|read| read.first(&args, Pool::read))).flatten()
    })
}

/// Takes the pool's row for the transaction, without waiting for it.
#[must_use]
pub fn hold(slot_id: &str) -> Option<Pool> {
    let args = [slot_id.into()];
    POOLS
        .with(|pools| pools.hold(&args, Pool::read))
        .unwrap_or_else(|Unfit| HOLD.with(|hold| hold.first(&args, Pool::read)))
}

/// Counts units in or out. The caller holds the pool's row.
pub fn count(turn: &mut Turn, slot_id: &str, units: i32) {
    let counted = add(slot_id, units);
    turn.wrote(counted);
    let slot = slot_id.to_owned();
    turn.or_else_undo(move || {
        add(&slot, -units);
    });
}

fn add(slot_id: &str, units: i32) -> bool {
    let args = [slot_id.into(), units.into()];
    POOLS
        .with(|pools| {
            pools.change(&args[..1], |_| true, |row| vec![(2, (row.must::<i32>(2) + units).into())])
        })
        .unwrap_or_else(|Unfit| COUNT.with(|count| count.run(&args)) == 1)
}

/// What a refused claim of units is told.
pub fn insufficient(available: i32, capacity: i32) -> Answer {
    Answer {
        available: Some(available),
        capacity: Some(capacity),
        ..Answer::no(Outcome::Insufficient, "There are not that many left.")
    }
}

pub fn no_pool(slot_id: &str) -> Refusal {
    Refusal::NoPool { slot_id: slot_id.to_owned() }
}

statement! {
    EXPIRED_POOLS =
        "SELECT slot_id, count(*) FROM claims.slot_claims
         WHERE status = 'claimed' AND units IS NOT NULL AND period IS NULL
           AND on_expiry = 'release' AND expires_at <= $1
         GROUP BY slot_id ORDER BY slot_id";

    EXPIRED_UNITS =
        "SELECT count(*), coalesce(sum(units), 0) FROM claims.slot_claims
         WHERE slot_id = $1 AND status = 'claimed' AND units IS NOT NULL AND period IS NULL
           AND on_expiry = 'release' AND expires_at <= $2";
}

/// How many claims of a pool, and units, are free although they are still counted.
pub fn expired_units(slot_id: &str, cutoff: Instant) -> (i64, i64) {
    let args = [slot_id.into(), cutoff.into()];
    let units_of_expired = CLAIMS.with(|claims| {
        let key = [Key::Is(&args[0]), Key::AtMost(&args[1])];
        claims.look(|view| {
            view.all(POOL_EXPIRES_AT, &key, |row| {
                (row.must::<&str>(6) == OnExpiry::Release.word()).then(|| row.must::<i32>(15))
            })
        })
    });
    match units_of_expired {
        Ok(claims) => claims
            .into_iter()
            .flatten()
            .fold((0, 0), |(claims, units), one| (claims + 1, units + i64::from(one))),
        Err(Unfit) => EXPIRED_UNITS
            .with(|read| read.first(&args, |row| (row.must(1), row.must(2))))
            .unwrap_or_default(),
    }
}

statement! {
    /// Ends what has expired in one pool, a batch of it, in one walk of an index, as the
    /// reaper does. The pool's row is held.
    GIVE_BACK =
        "UPDATE claims.slot_claims AS claim
         SET status = 'expired', expires_at = NULL, ended_at = $3, ended_by = $4
         FROM (SELECT ctid AS place FROM claims.slot_claims
               WHERE slot_id = $1 AND status = 'claimed' AND units IS NOT NULL AND period IS NULL
                 AND on_expiry = 'release' AND expires_at <= $2
               ORDER BY expires_at LIMIT 10000
               FOR NO KEY UPDATE SKIP LOCKED) AS due
         WHERE claim.ctid = due.place
         RETURNING claim.token, claim.holder, claim.units";
}

/// Gives back the units whose lease was over at `cutoff`; the caller holds the pool's
/// row, which is written once for all of them. Says how many claims and units it was.
/// This stays when the turn is undone: what has expired has expired.
pub fn give_back(
    turn: &mut Turn,
    slot_id: &str,
    cutoff: Instant,
    now: Instant,
    by: &str,
) -> (i64, i64) {
    let args = [slot_id.into(), cutoff.into(), now.into(), by.into()];
    let ended: Vec<(i64, String, i32)> = walking_indexes(|| {
        GIVE_BACK
            .with(|give_back| give_back.rows(&args, |row| (row.must(1), row.must(2), row.must(3))))
    });
    let claims = ended.len() as i64;
    let units: i64 = ended.iter().map(|(_, _, units)| i64::from(*units)).sum();
    if claims > 0 {
        let delta = i32::try_from(-units).expect("no more units than the pool counts");
        turn.wrote(add(slot_id, delta));
    }
    for (token, holder, _) in ended {
        turn.tell(notify::Change {
            slot_id: Some(slot_id.to_owned()),
            key: None,
            token,
            holder: Some(holder),
            status: Status::Expired.word(),
        });
    }
    (claims, units)
}

/// The reaper's part: gives back the units whose lease was over at `cutoff`, pool by pool.
/// Says how many claims ended, and how many were passed over because somebody was at work
/// on them or on their pool.
pub fn reap(cutoff: Instant, now: Instant, by: &str) -> (i64, i64) {
    if !are_known() {
        return (0, 0);
    }
    let pools: Vec<(String, i64)> =
        EXPIRED_POOLS.with(|read| read.rows(&[cutoff.into()], |row| (row.must(1), row.must(2))));
    let (mut ended, mut skipped) = (0, 0);
    for (slot_id, found) in &pools {
        let mut left = *found;
        let mut turn = Turn::default();
        if hold(slot_id).is_some() {
            loop {
                let (claims, _) = give_back(&mut turn, slot_id, cutoff, now, by);
                turn.announce();
                ended += claims;
                left -= claims;
                if claims == 0 {
                    break;
                }
            }
        }
        skipped += left.max(0);
    }
    (ended, skipped)
}
