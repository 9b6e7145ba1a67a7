//! Whether there is room for a claim, and making it: ending what has expired there.
//!
//! One place for claim, late confirm and move: what is in the way of a claim is the same
//! question for all three.

use std::cmp::Reverse;
use std::iter;

use pgrx::datum::DatumWithOid;

use super::extent::{Extent, Period, peak};
use super::pool::{self, Pool};
use super::{ACTIVE_PERIODS, ACTIVE_WHOLE, CLAIMS, Claim, POOL_PERIODS, State};
use super::{claim_columns, end_expired, last_claim};
use crate::backend::clock;
use crate::backend::table::{Key, Unfit};
use crate::backend::value::{Instant, TimeRange};
use crate::error::Refusal;
use crate::statement;
use crate::turn::Turn;

/// The part of a slot that a claim would take up, as it was read.
pub struct Room {
    extent: Extent,
    last_token: i64,
    /// The open claims there: those that block, and those that have only expired.
    pub active: Vec<Claim>,
    pub pool: Option<Pool>,
    /// The units that the pool still counts although their lease is over.
    expired_units: i64,
    /// When: what takes its place here begins no earlier.
    pub as_of: Instant,
}

/// What is in the way of a claim.
pub enum Obstacle {
    Claim(Box<Claim>),
    Units { available: i32, capacity: i32 },
}

/// A claim of a period meets the open claim of the whole, and those of its own kind that
/// overlap; without a period, all of them. In one statement with the last token: the two
/// must be of one moment.
macro_rules! overlapping {
    ($units:literal) => {
        concat!(
            "(SELECT ",
            claim_columns!(),
            " FROM claims.slot_claims
              WHERE slot_id = $1 ORDER BY token DESC LIMIT 1)
             UNION ALL
             SELECT ",
            claim_columns!(),
            " FROM claims.slot_claims
             WHERE slot_id = $1 AND ended_at IS NULL AND period IS NULL AND units IS NULL
             UNION ALL
             SELECT ",
            claim_columns!(),
            " FROM claims.slot_claims
             WHERE slot_id = $1 AND ended_at IS NULL AND period && tstzrange($2, $3)
               AND units ",
            $units,
            "
             ORDER BY token DESC"
        )
    };
}

statement! {
    /// A claim of the whole slot meets every open claim of it.
    READ_OPEN = concat!(
        "SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 AND ended_at IS NULL AND period IS NULL AND units IS NULL
         UNION ALL
         SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 AND ended_at IS NULL AND period IS NOT NULL AND units IS NULL
         UNION ALL
         (SELECT ", claim_columns!(), " FROM claims.slot_claims
          WHERE slot_id = $1 AND ended_at IS NULL AND units IS NOT NULL LIMIT 1)
         ORDER BY period, token");

    READ_OVERLAPPING = overlapping!("IS NULL");
    READ_OVERLAPPING_UNITS = overlapping!("IS NOT NULL");
}

impl Room {
    pub fn read(slot_id: &str, extent: Extent) -> Self {
        loop {
            let room = Self::glance(slot_id, extent);
            if room.is_of_one_moment(slot_id) {
                return room;
            }
        }
    }

    /// What may turn out to have changed while it was read. Who takes the room has to
    /// find it as it was seen; who refuses it first has to ask whether it is of one moment.
    pub fn glance(slot_id: &str, extent: Extent) -> Self {
        match (extent.period, extent.units) {
            (None, None) => Self::read_whole(slot_id),
            (_, None) => Self::read_overlapping(slot_id, extent),
            (_, Some(_)) => Self::read_counted(slot_id, extent, pool::read(slot_id)),
        }
    }

    /// The pool before and after everything else: when it has not changed in between, what
    /// was read is of one moment, and no unit was counted twice on its way from one claim
    /// to the next.
    pub fn is_of_one_moment(&self, slot_id: &str) -> bool {
        self.extent.units.is_none() || pool::read(slot_id) == self.pool
    }

    /// The clock after the pool: what it counts had begun by then, and is either running
    /// or over.
    fn read_counted(slot_id: &str, extent: Extent, pool: Option<Pool>) -> Self {
        let as_of = clock::now();
        let room = Self::read_overlapping(slot_id, extent);
        let (_, expired_units) = pool::expired_units(slot_id, as_of);
        Self { pool, expired_units, as_of, ..room }
    }

    fn read_overlapping(slot_id: &str, extent: Extent) -> Self {
        let args = [
            slot_id.into(),
            extent.period.map(|period| period.from).into(),
            extent.period.map(|period| period.to).into(),
        ];
        let statement = match extent.units {
            Some(_) => &READ_OVERLAPPING_UNITS,
            None => &READ_OVERLAPPING,
        };
        let mut active = Self::see_overlapping(slot_id, extent)
            .unwrap_or_else(|Unfit| statement.with(|read| read.rows(&args, Claim::read)));
        active.dedup_by_key(|claim| claim.token);
        let last_token = active.first().map_or(0, |last| last.token);
        active.retain(|claim| claim.status.is_open() && extent.meets(claim.extent));
        Self { extent, last_token, active, pool: None, expired_units: 0, as_of: clock::now() }
    }

    /// What the statement reads, without it.
    fn see_overlapping(slot_id: &str, extent: Extent) -> Result<Vec<Claim>, Unfit> {
        fn key<'a, 'v>(slot: &'a DatumWithOid<'v>, more: Option<Key<'a, 'v>>) -> Vec<Key<'a, 'v>> {
            iter::once(Key::Is(slot)).chain(more).collect()
        }
        let slot = slot_id.into();
        let end = extent.period.map(|period| period.to.into());
        let range = extent.period.map(|Period { from, to }| TimeRange { from, to }.into());
        CLAIMS.with(|claims| {
            claims.look(|view| {
                let mut seen = match extent.units {
                    Some(_) => {
                        let key = key(&slot, range.as_ref().map(Key::Overlaps));
                        view.all(POOL_PERIODS, &key, Claim::read)
                    }
                    // Of these no two overlap. Going back from the period's end, the first
                    // that does not reach into it has only such behind it.
                    None => {
                        let key = key(&slot, end.as_ref().map(Key::Before));
                        let reaches = |claim: &Claim| extent.meets(claim.extent);
                        view.back_while(ACTIVE_PERIODS, &key, Claim::read, reaches)
                    }
                };
                seen.extend(view.last(ACTIVE_WHOLE, &[Key::Is(&slot)], Claim::read));
                seen.extend(view.last(0, &[Key::Is(&slot)], Claim::read));
                seen.sort_by_key(|claim| Reverse(claim.token));
                seen
            })
        })
    }

    /// The same under the slot's lock, to act on: the pool's row first, so that what is
    /// read after it stays true to the end. `None`: somebody else holds that row.
    pub fn hold(slot_id: &str, extent: Extent) -> Option<Self> {
        let pool = match extent.units {
            Some(_) => Some(pool::hold(slot_id)?),
            None => None,
        };
        Some(Self::read_held(slot_id, extent, pool))
    }

    /// The same, where the caller holds the pool's row.
    pub fn read_held(slot_id: &str, extent: Extent, pool: Option<Pool>) -> Self {
        match pool {
            Some(_) => Self::read_counted(slot_id, extent, pool),
            None => Self::read(slot_id, extent),
        }
    }

    fn read_whole(slot_id: &str) -> Self {
        let last = last_claim(slot_id);
        let last_token = last.as_ref().map_or(0, |last| last.token);
        let active = match last {
            // The usual case: nothing else can be active beside a plain last row.
            Some(last) if last.extent.is_whole() => {
                Vec::from_iter(Some(last).filter(|last| last.status.is_open()))
            }
            Some(_) => READ_OPEN.with(|read| read.rows(&[slot_id.into()], Claim::read)),
            None => Vec::new(),
        };
        Self {
            extent: Extent::WHOLE,
            last_token,
            active,
            pool: None,
            expired_units: 0,
            as_of: clock::now(),
        }
    }

    /// Whether nobody has ever claimed anything of the slot.
    pub fn is_untouched(&self) -> bool {
        self.last_token == 0
    }

    /// The slot's last claim, if it is open.
    pub fn last(&self) -> Option<&Claim> {
        self.active.iter().find(|claim| claim.token == self.last_token)
    }

    /// The room of a part of its period, as it was read.
    pub fn part(&self, period: Period) -> Self {
        let extent = Extent { period: Some(period), ..self.extent };
        let part = |claim: &&Claim| extent.meets(claim.extent);
        Self { extent, active: self.active.iter().filter(part).cloned().collect(), ..*self }
    }

    /// What is in the way, apart from a claim that is to be moved.
    pub fn obstacle(&self, except: Option<i64>, now: Instant) -> Option<Obstacle> {
        let there = || self.active.iter().filter(|claim| Some(claim.token) != except);
        let (Some(wanted), Some(pool)) = (self.extent.units, self.pool) else {
            let blocker = there().find(|claim| claim.blocks(now));
            return blocker.map(|claim| Obstacle::Claim(Box::new(claim.clone())));
        };
        if let Some(whole) = there().find(|claim| claim.extent.is_whole() && claim.blocks(now)) {
            return Some(Obstacle::Claim(Box::new(whole.clone())));
        }
        let available = self.available(pool, except, now);
        (available < wanted)
            .then_some(Obstacle::Units { available: available.max(0), capacity: pool.capacity })
    }

    /// Makes room: ends what has expired there. Says at which token a claim is to be
    /// appended, and from whom it takes over. `None`: things are no longer as they were
    /// read.
    pub fn clear(
        &self,
        turn: &mut Turn,
        slot_id: &str,
        except: Option<i64>,
        by: &str,
        now: Instant,
    ) -> Option<(i64, Option<String>)> {
        let mut given_back = 0;
        while given_back < self.expired_units {
            match pool::give_back(turn, slot_id, self.as_of, now.max(self.as_of), by) {
                (0, _) => return None,
                (_, units) => given_back += units,
            }
        }
        let mut previous = None;
        for claim in &self.active {
            if Some(claim.token) == except || claim.state(now) != State::Expired {
                continue;
            }
            if !end_expired(turn, slot_id, claim, now, by) {
                return None;
            }
            previous = previous.or_else(|| Some(claim.holder.clone()));
        }
        let taken_over = previous.filter(|_| self.extent.units.is_none());
        Some((self.last_token + 1, taken_over))
    }

    /// The units that the pool counts, without those whose lease is over.
    pub fn taken(&self, pool: Pool) -> i32 {
        i32::try_from(i64::from(pool.taken) - self.expired_units).unwrap_or(pool.taken)
    }

    /// The units that can be had: of the capacity, less what is counted as taken, less
    /// the most that is taken at any instant of the period; what has expired is free.
    pub fn available(&self, pool: Pool, except: Option<i64>, now: Instant) -> i32 {
        let periods: Vec<_> = self
            .active
            .iter()
            .filter(|claim| claim.state(now) != State::Expired && Some(claim.token) != except)
            .filter_map(|claim| claim.extent.period.zip(claim.extent.units))
            .collect();
        let free = i64::from(pool.capacity) - i64::from(pool.taken) + self.expired_units;
        let free = free - peak(&periods);
        i32::try_from(free).unwrap_or(if free < 0 { i32::MIN } else { i32::MAX })
    }
}

/// Units are claimed of pools, and everything else of slots that are none.
pub fn fits(slot_id: &str, extent: Extent) -> Result<(), Refusal> {
    match (extent.units, pool::read(slot_id)) {
        (Some(_), None) => Err(pool::no_pool(slot_id)),
        (None, Some(_)) => Err(Refusal::IsPool { slot_id: slot_id.to_owned() }),
        _ => Ok(()),
    }
}
