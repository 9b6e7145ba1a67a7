//! claim_slot, claim_period, claim_units: of any number of simultaneous callers exactly
//! as many are told to go on as there is room for.

use pgrx::datum::Interval;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::extent::Extent;
use super::pool;
use super::room::{self, Obstacle, Room};
use super::{CLAIMS, Claim, OnExpiry, POOL_HOLDER, State, Status, append, claim_columns};
use crate::backend::clock;
use crate::backend::lock::Subject;
use crate::backend::table::{Key, Unfit};
use crate::backend::value::{AnyIdentifier, Instant, Json, Reply};
use crate::error::Refusal;
use crate::input::{self, After};
use crate::keys;
use crate::outcome::{Answer, Outcome};
use crate::statement;
use crate::turn::{Patience, Turn, take_turn};

/// Claims a slot: of any number of simultaneous callers exactly one is told to go on.
///
/// Arguments:
///   slot_id    what is claimed: a text, a whole number or a uuid
///   holder     who claims, best 'workflow:execution'; pass the answer's holder and token on
///   ttl        the lease, from 1 ms to pg_claims.max_ttl; NULL: pg_claims.default_ttl
///   wait       how long to wait inside the call while another's lease runs, at most 60 s;
///              a booked slot or one in review is answered at once
///   on_expiry  'release': when the lease runs out, the slot is free again;
///              'review': it stays blocked until resolve_slot says what really happened
///   note       anything you want to find in claims.history
///   call_id    names this very call: repeated by the same holder while its lease runs,
///              it gets the first answer again, with replayed: true
///   after      another answer of pg_claims: go on only if its ok is true; it comes back
///              inside this answer. With after => begin_key(…), a claim that is refused
///              sets the key that was begun to failed (key_status), so that it can run
///              again
///
/// Outcomes: claimed (ok), reclaimed (ok; an expired claim was taken over), taken,
/// already_yours, busy, not_reached.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: leases, Gray and Cheriton 1989; fencing tokens, as in Chubby.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
#[allow(clippy::too_many_arguments)]
fn claim_slot(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    ttl: default!(Option<Interval>, "NULL"),
    wait: default!(Option<Interval>, "'0'"),
    on_expiry: default!(Option<&str>, "'release'"),
    note: default!(Option<Json>, "NULL"),
    call_id: default!(Option<String>, "NULL"),
    after: default!(Option<Json>, "'{\"ok\": true}'"),
) -> Result<Reply, ErrorReport> {
    let wanted = Wanted {
        slot_id: input::identifier("slot_id", slot_id)?,
        holder: input::name("holder", holder)?,
        extent: Extent::WHOLE,
        lease: Lease::new(ttl, on_expiry, note, call_id)?,
    };
    let wait_ms = input::wait_ms(wait)?;
    let after = input::after(after)?;
    input::writable("claim_slot")?;
    Ok(Order::One(wanted).answer(wait_ms, after)?)
}

/// Claims a period of a slot, such as an appointment in a calendar: it fails when it
/// overlaps another claim. Touching periods do not overlap.
///
/// Arguments:
///   slot_id    the calendar, room or person
///   holder     who claims, best 'workflow:execution'; pass the answer's holder and token on
///   starts_at  when it starts, as a text with an offset or Z: '2026-01-02T15:00:00+01:00'
///   ends_at    when it ends, likewise; that instant is free again
///   units      how many units of a pool (set_capacity) for that time, such as tables;
///              NULL: the slot is no pool
///   ttl, wait, on_expiry, note, call_id, after   as for claim_slot
///
/// Outcomes: claimed (ok), reclaimed (ok; an expired claim was taken over), taken (with
/// the conflicting period), insufficient (of a pool; with available), already_yours, busy,
/// not_reached.
///
/// Raises 22004, 22023 or 42804 for bad input, 55000 for units of a slot that is no pool
/// and the reverse, 0A000 above READ COMMITTED, 25006 where nothing can be written.
///
/// Source: exclusion constraints over ranges, as PostgreSQL's own documentation has them.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
#[allow(clippy::too_many_arguments)]
fn claim_period(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    starts_at: Option<String>,
    ends_at: Option<String>,
    units: default!(Option<i32>, "NULL"),
    ttl: default!(Option<Interval>, "NULL"),
    wait: default!(Option<Interval>, "'0'"),
    on_expiry: default!(Option<&str>, "'release'"),
    note: default!(Option<Json>, "NULL"),
    call_id: default!(Option<String>, "NULL"),
    after: default!(Option<Json>, "'{\"ok\": true}'"),
) -> Result<Reply, ErrorReport> {
    let wanted = Wanted {
        slot_id: input::identifier("slot_id", slot_id)?,
        holder: input::name("holder", holder)?,
        extent: Extent {
            period: Some(input::period(starts_at, ends_at)?),
            units: units.map(|units| input::count("units", Some(units), 1)).transpose()?,
        },
        lease: Lease::new(ttl, on_expiry, note, call_id)?,
    };
    let wait_ms = input::wait_ms(wait)?;
    let after = input::after(after)?;
    input::writable("claim_period")?;
    Ok(Order::One(wanted).answer(wait_ms, after)?)
}

/// Claims units of a pool, such as the last pieces in stock: all of them or none.
///
/// Arguments:
///   slot_id   the pool, which set_capacity has made
///   holder    who claims, best 'workflow:execution'; pass the answer's holder and token on
///   units     how many
///   ttl, wait, on_expiry, note, after   as for claim_slot
///   call_id   names this very call, as for claim_slot; with another call_id the same
///             holder can claim again: that is another purchase
///
/// Outcomes: claimed (ok), insufficient (with available), already_yours, taken (somebody
/// has claimed the slot as a whole), busy, not_reached.
///
/// Raises 22004, 22023 or 42804 for bad input, 55000 for a slot that is no pool, 0A000
/// above READ COMMITTED, 25006 where nothing can be written.
///
/// Source: counting semaphores, Dijkstra 1965, with a lease.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
#[allow(clippy::too_many_arguments)]
fn claim_units(
    slot_id: Option<AnyIdentifier>,
    holder: Option<String>,
    units: default!(Option<i32>, "1"),
    ttl: default!(Option<Interval>, "NULL"),
    wait: default!(Option<Interval>, "'0'"),
    on_expiry: default!(Option<&str>, "'release'"),
    note: default!(Option<Json>, "NULL"),
    call_id: default!(Option<String>, "NULL"),
    after: default!(Option<Json>, "'{\"ok\": true}'"),
) -> Result<Reply, ErrorReport> {
    let wanted = Wanted {
        slot_id: input::identifier("slot_id", slot_id)?,
        holder: input::name("holder", holder)?,
        extent: Extent { period: None, units: Some(input::count("units", units, 1)?) },
        lease: Lease::new(ttl, on_expiry, note, call_id)?,
    };
    let wait_ms = input::wait_ms(wait)?;
    let after = input::after(after)?;
    input::writable("claim_units")?;
    Ok(Order::One(wanted).answer(wait_ms, after)?)
}

/// What is to be claimed in one call: all of it, or nothing.
pub enum Order {
    One(Wanted),
    /// At least one, in the order of the slots' names; answered as a list.
    Many(Vec<Wanted>),
}

impl Order {
    fn wanted(&self) -> &[Wanted] {
        match self {
            Self::One(wanted) => std::slice::from_ref(wanted),
            Self::Many(wanted) => wanted,
        }
    }

    /// The call itself, after what is to come before it.
    pub fn answer(&self, wait_ms: i64, after: After) -> Result<Reply, Refusal> {
        let answer = if after.ok { self.claim(wait_ms)? } else { Answer::not_reached() };
        // A pending key says that something may have happened. Nothing has: it can run again.
        let key_status = match after.begun {
            Some(begun) if !answer.ok => keys::give_up(&begun),
            _ => None,
        };
        let only = match self {
            Self::One(wanted) => Some(wanted.slot_id.clone()),
            Self::Many(_) => None,
        };
        Ok(Reply::from(&Answer {
            slot_id: answer.slot_id.or(only),
            holder: Some(self.wanted()[0].holder.clone()),
            key_status,
            after: after.answer,
            ..answer
        }))
    }

    /// Claims all of it, or nothing; waits for it if there is a chance.
    fn claim(&self, wait_ms: i64) -> Result<Answer, Refusal> {
        let subjects: Vec<Subject> =
            self.wanted().iter().map(|wanted| Subject::Slot(&wanted.slot_id)).collect();
        let mut for_lock = Patience::for_lock();
        let mut for_slot = Patience::for_slot(wait_ms);
        loop {
            let refused = match self.look()? {
                Look::Answer(answer) => Some(*answer),
                Look::Open(room) => {
                    take_turn(&subjects, &mut for_lock, |turn| self.attempt(turn, room))
                        .transpose()?
                }
            };
            match refused {
                // Only a running lease can end by itself.
                Some(answer) if answer.may_pass() => {
                    if !for_slot.pause() {
                        return Ok(answer);
                    }
                }
                Some(answer) => return Ok(answer),
                None => {
                    if !for_lock.pause() && !for_slot.pause() {
                        return Ok(Answer::busy());
                    }
                }
            }
        }
    }

    /// Of several, the answer of the first which is refused, or, when every one of them is
    /// there from an earlier try, theirs.
    fn look(&self) -> Result<Look, Refusal> {
        let several = match self {
            Self::One(wanted) => return wanted.look(),
            Self::Many(several) => several,
        };
        let mut replayed = Vec::new();
        for wanted in several {
            if let Look::Answer(answer) = wanted.look()? {
                let answer = Answer { slot_id: Some(wanted.slot_id.clone()), ..*answer };
                if !answer.ok {
                    return Ok(Look::Answer(Box::new(answer)));
                }
                replayed.push(answer);
            }
        }
        Ok(match replayed.len() == several.len() {
            true => Look::Answer(Box::new(self.all(replayed))),
            false => Look::Open(None),
        })
    }

    /// Under the locks: takes one after the other, and gives them all back when one cannot
    /// be had.
    fn attempt(&self, turn: &mut Turn, seen: Option<Room>) -> Option<Result<Answer, Refusal>> {
        // Of several, the first must not be written when the last is taken.
        if self.wanted().len() > 1 {
            match self.look() {
                Ok(Look::Answer(answer)) => return Some(Ok(*answer)),
                Err(refusal) => return Some(Err(refusal)),
                Ok(Look::Open(_)) => {}
            }
        }
        let mut seen = seen;
        let mut won = Vec::with_capacity(self.wanted().len());
        for wanted in self.wanted() {
            match wanted.take(turn, seen.take()) {
                Some(Ok(answer)) if answer.ok => won.push(answer),
                refused if won.is_empty() => return refused,
                refused => {
                    // What was written keeps its locks, and nobody sleeps with those.
                    turn.undo();
                    return refused.or_else(|| Some(Ok(Answer::busy())));
                }
            }
        }
        Some(Ok(self.all(won)))
    }

    /// One answer for all that was claimed.
    fn all(&self, mut claims: Vec<Answer>) -> Answer {
        match self {
            Self::One(_) => claims.remove(0),
            Self::Many(_) => Answer {
                replayed: claims[0].replayed,
                expires_at: claims.iter().filter_map(|claim| claim.expires_at).min(),
                ttl_ms: claims[0].ttl_ms,
                claims: Some(claims.iter().map(Json::from).collect()),
                ..Answer::yes(Outcome::Claimed, "All of it is yours until the leases end.")
            },
        }
    }
}

/// What a look finds, without a lock.
enum Look {
    /// The answer that needs no write.
    Answer(Box<Answer>),
    /// There is nothing in the way; of one that is wanted, the room for it.
    Open(Option<Room>),
}

/// A claim that somebody would like to have.
pub struct Wanted {
    pub slot_id: String,
    pub holder: String,
    pub extent: Extent,
    pub lease: Lease,
}

/// On what terms.
#[derive(Clone)]
pub struct Lease {
    ttl_ms: i64,
    on_expiry: OnExpiry,
    note: Option<Json>,
    call_id: Option<String>,
}

impl Lease {
    pub fn new(
        ttl: Option<Interval>,
        on_expiry: Option<&str>,
        note: Option<Json>,
        call_id: Option<String>,
    ) -> Result<Self, Refusal> {
        Ok(Self {
            ttl_ms: input::ttl_ms(ttl)?,
            on_expiry: input::word("on_expiry", on_expiry, &OnExpiry::WORDS)?,
            note: input::json("note", note)?,
            call_id: input::optional_name("call_id", call_id)?,
        })
    }
}

impl Wanted {
    fn look(&self) -> Result<Look, Refusal> {
        loop {
            let room = Room::glance(&self.slot_id, self.extent);
            match self.judge(&room, clock::now())? {
                None => return Ok(Look::Open(Some(room))),
                Some(answer) if room.is_of_one_moment(&self.slot_id) => {
                    return Ok(Look::Answer(Box::new(answer)));
                }
                Some(_) => {}
            }
        }
    }

    /// What there is to say about a room that is not free.
    fn judge(&self, room: &Room, now: Instant) -> Result<Option<Answer>, Refusal> {
        match self.extent.units {
            Some(_) if room.pool.is_none() => return Err(pool::no_pool(&self.slot_id)),
            // Somebody's units, even the caller's, are no obstacle to the whole: it cannot
            // be claimed at all.
            None if room.active.iter().any(|claim| claim.extent.units.is_some()) => {
                room::fits(&self.slot_id, self.extent)?;
            }
            _ => {}
        }
        if let Some(own) = self.own(room, now) {
            return Ok(Some(own));
        }
        match room.obstacle(None, now) {
            None => Ok(None),
            Some(Obstacle::Claim(claim)) => Ok(Some(taken(&claim, now))),
            Some(Obstacle::Units { available, capacity }) => {
                Ok(Some(pool::insufficient(available, capacity)))
            }
        }
    }

    /// What the caller already has there: from the lost answer of this very call, or from
    /// another, which is refused, as an agent that calls twice must not get two.
    fn own(&self, room: &Room, now: Instant) -> Option<Answer> {
        let call_id = self.lease.call_id.as_deref();
        let mut own: Vec<Claim> = match self.extent.units {
            Some(_) => open_units(&self.slot_id, &self.holder)
                .into_iter()
                .filter(|claim| self.extent.is_at_a_time_with(claim.extent))
                .collect(),
            None => {
                room.active.iter().filter(|claim| claim.holder == self.holder).cloned().collect()
            }
        };
        // Since the lost answer, the claim may have been moved to another time.
        if let (Some(_), Some(call_id)) = (self.extent.period, call_id) {
            own.extend(same_call(&self.slot_id, &self.holder, call_id));
        }
        own.retain(|claim| claim.blocks(now));
        let same_call = |claim: &&Claim| call_id.is_some() && claim.call_id.as_deref() == call_id;
        if let Some(claim) = own.iter().find(same_call)
            && claim.state(now) == State::Running
            && (claim.extent == self.extent || claim.origin.is_some())
        {
            let previous = previous_holder(&self.slot_id, claim);
            return Some(Answer {
                replayed: Some(true),
                ..self.won(claim, previous.as_deref(), now)
            });
        }
        let refusing = match (self.extent.units, call_id) {
            (Some(_), Some(_)) => own.iter().find(same_call),
            _ => own.first(),
        };
        let message = "You already have this from an earlier call.";
        refusing.map(|claim| claim.tell(Answer::no(Outcome::AlreadyYours, message), now))
    }

    /// Under the lock: the clock, and the write. `None`: look again.
    ///
    /// If nobody was at work, the room that was seen without the lock will do. Nothing becomes
    /// active in a slot but by a new token, and then the token that comes after the last one
    /// seen is given away; what had expired is ended only as it was read; and of a pool the
    /// count is compared.
    fn take(&self, turn: &mut Turn, seen: Option<Room>) -> Option<Result<Answer, Refusal>> {
        let pool = match self.extent.units {
            Some(_) => Some(pool::hold(&self.slot_id)?),
            None => None,
        };
        let seen = seen.filter(|room| turn.at_once && room.pool == pool);
        let is_known_to_be_free = seen.is_some();
        let room = seen.unwrap_or_else(|| Room::read_held(&self.slot_id, self.extent, pool));
        // After the read: a lease that was read as running may be over by now.
        let now = clock::now();
        let of_this_slot = |answer| Answer { slot_id: Some(self.slot_id.clone()), ..answer };
        if !is_known_to_be_free && let Some(refused) = self.judge(&room, now).transpose() {
            return Some(refused.map(of_this_slot));
        }
        let (token, previous) = room.clear(turn, &self.slot_id, None, &self.holder, now)?;
        let claim = self.claim_at(token, now);
        if !append(turn, &self.slot_id, &claim) {
            return room::fits(&self.slot_id, self.extent).err().map(Err);
        }
        Some(Ok(of_this_slot(self.won(&claim, previous.as_deref(), now))))
    }

    fn claim_at(&self, token: i64, now: Instant) -> Claim {
        Claim {
            token,
            holder: self.holder.clone(),
            status: Status::Claimed,
            extent: self.extent,
            claimed_at: now,
            expires_at: Some(now.plus_ms(self.lease.ttl_ms)),
            on_expiry: self.lease.on_expiry,
            ended_at: None,
            ended_by: None,
            reason: None,
            origin: None,
            call_id: self.lease.call_id.clone(),
            note: self.lease.note.clone(),
            result: None,
        }
    }

    fn won(&self, claim: &Claim, previous_holder: Option<&str>, now: Instant) -> Answer {
        let answer = match previous_holder {
            None => Answer::yes(Outcome::Claimed, "The slot is yours until the lease ends."),
            Some(_) => Answer::yes(
                Outcome::Reclaimed,
                "The slot is yours until the lease ends; its last holder had let it expire.",
            ),
        };
        Answer {
            ttl_ms: claim.expires_at.map(|end| end.ms_since(claim.claimed_at)),
            on_expiry: Some(claim.on_expiry),
            previous_holder: previous_holder.map(str::to_owned),
            ..claim.tell(answer, now)
        }
    }
}

statement! {
    READ_SAME_CALL = concat!(
        "SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 AND holder = $2 AND call_id = $3
           AND ended_at IS NULL AND period IS NOT NULL AND units IS NULL
         UNION ALL
         SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 AND holder = $2 AND call_id = $3
           AND ended_at IS NULL AND period IS NOT NULL AND units IS NOT NULL");
}

/// The open claim of a period that this very call has made, wherever it is by now.
fn same_call(slot_id: &str, holder: &str, call_id: &str) -> Vec<Claim> {
    let args = [slot_id.into(), holder.into(), call_id.into()];
    READ_SAME_CALL.with(|read| read.rows(&args, Claim::read))
}

statement! {
    READ_OPEN_UNITS = concat!(
        "SELECT ", claim_columns!(), " FROM claims.slot_claims
         WHERE slot_id = $1 AND holder = $2 AND ended_at IS NULL AND units IS NOT NULL
         ORDER BY token");
}

/// The holder's open claims of a pool.
pub fn open_units(slot_id: &str, holder: &str) -> Vec<Claim> {
    let args = [slot_id.into(), holder.into()];
    let open = CLAIMS.with(|claims| {
        let key = [Key::Is(&args[0]), Key::Is(&args[1])];
        claims.look(|view| view.all(POOL_HOLDER, &key, Claim::read))
    });
    match open {
        Ok(mut open) => {
            open.sort_by_key(|claim| claim.token);
            open
        }
        Err(Unfit) => READ_OPEN_UNITS.with(|read| read.rows(&args, Claim::read)),
    }
}

pub fn taken(by: &Claim, now: Instant) -> Answer {
    let status = by.told_status(now);
    Answer {
        status: Some(status.word()),
        starts_at: by.extent.period.map(|period| period.from),
        ends_at: by.extent.period.map(|period| period.to),
        held_by: Some(by.holder.clone()),
        claimed_at: Some(by.claimed_at),
        expires_at: by.expires_at.filter(|_| status == Status::Claimed),
        retry_after_ms: by
            .expires_at
            .filter(|_| status == Status::Claimed)
            .map(|end| end.ms_since(now)),
        ..Answer::no(
            Outcome::Taken,
            match status {
                Status::Booked => "That slot is booked.",
                Status::Review => "That slot is blocked until somebody has checked it.",
                _ => "That slot was just taken.",
            },
        )
    }
}

statement! {
    /// A takeover ends the expired claim at the very instant at which its own begins.
    READ_TAKEN_OVER =
        "SELECT holder FROM claims.slot_claims
         WHERE slot_id = $1 AND token < $2 AND token > $2 - 100
           AND status = 'expired' AND ended_at = $3 AND ended_by = $4
         ORDER BY token DESC LIMIT 1";
}

/// Whom the claim was taken over from, for telling its first answer again.
fn previous_holder(slot_id: &str, claim: &Claim) -> Option<String> {
    let args =
        [slot_id.into(), claim.token.into(), claim.claimed_at.into(), claim.holder.as_str().into()];
    READ_TAKEN_OVER
        .with(|read| read.first(&args, |row| row.must(1)))
        .filter(|_| claim.extent.units.is_none())
}
