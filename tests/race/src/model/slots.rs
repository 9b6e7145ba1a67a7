//! Slots: whole ones, periods of them, units of pools, and several at once.

use serde_json::{Value, json};

use super::{Expected, Lease, Model, OnExpiry, Terms, Verdict, no, refused, yes};

/// A part of the one day on which everything happens, in whole hours. Touching ones do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period {
    pub from: u8,
    pub to: u8,
}

impl Period {
    fn overlaps(self, other: Period) -> bool {
        self.from < other.to && other.from < self.to
    }
}

/// The start or the end of a period, as every answer writes it.
pub fn at(hour: u8) -> String {
    format!("2030-01-01T{hour:02}:00:00.000000Z")
}

/// What a claim takes up of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    Whole,
    Period(Period),
    Units(i32),
    UnitsFor(i32, Period),
}

impl Extent {
    fn units(self) -> Option<i32> {
        match self {
            Extent::Whole | Extent::Period(_) => None,
            Extent::Units(units) | Extent::UnitsFor(units, _) => Some(units),
        }
    }

    fn period(self) -> Option<Period> {
        match self {
            Extent::Whole | Extent::Units(_) => None,
            Extent::Period(period) | Extent::UnitsFor(_, period) => Some(period),
        }
    }

    /// A slot claimed whole conflicts with every period of it, and units without a period are taken at
    /// every instant.
    fn meets(self, other: Extent) -> bool {
        let both_or_neither = self.units().is_some() == other.units().is_some();
        match (self.period(), other.period()) {
            (Some(one), Some(another)) => both_or_neither && one.overlaps(another),
            _ => both_or_neither || self == Extent::Whole || other == Extent::Whole,
        }
    }

    fn moved_to(self, period: Period) -> Extent {
        match self.units() {
            None => Extent::Period(period),
            Some(units) => Extent::UnitsFor(units, period),
        }
    }

    /// Two requests of one claim_many: units of one pool and one time are added up.
    fn plus(self, other: Extent) -> Option<Extent> {
        match (self, other) {
            (Extent::Units(a), Extent::Units(b)) => Some(Extent::Units(a + b)),
            (Extent::UnitsFor(a, period), Extent::UnitsFor(b, same)) if period == same => {
                Some(Extent::UnitsFor(a + b, period))
            }
            _ => None,
        }
    }
}

impl Expected {
    fn with_extent(self, extent: Extent) -> Expected {
        let answer = self.with_period_of(extent);
        match extent.units() {
            Some(units) => answer.with("units", units),
            None => answer,
        }
    }

    fn with_period_of(self, extent: Extent) -> Expected {
        match extent.period() {
            Some(period) => self.with("starts_at", at(period.from)).with("ends_at", at(period.to)),
            None => self,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Claimed,
    Booked,
    Review,
    Released,
    Expired,
    Cancelled,
    Moved,
}

#[derive(Debug, Clone)]
struct Claim {
    token: i64,
    holder: String,
    extent: Extent,
    status: Status,
    lease: Lease,
    on_expiry: OnExpiry,
    origin: Option<i64>,
    call_id: Option<String>,
    granted: &'static str,
}

/// A claim as whoever reads it now must judge it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Running,
    /// Its lease is over and nobody has ended it: what it took up is free.
    Over,
    Review,
    Booked,
    Ended(Status),
}

impl Claim {
    fn seen(&self) -> Seen {
        match (self.status, self.lease, self.on_expiry) {
            (Status::Claimed, Lease::Long, _) => Seen::Running,
            (Status::Claimed, Lease::Short, OnExpiry::Release) => Seen::Over,
            (Status::Claimed, Lease::Short, OnExpiry::Review) => Seen::Review,
            (Status::Review, ..) => Seen::Review,
            (Status::Booked, ..) => Seen::Booked,
            (ended, ..) => Seen::Ended(ended),
        }
    }

    fn blocks(&self) -> bool {
        matches!(self.seen(), Seen::Running | Seen::Review | Seen::Booked)
    }

    /// The first token of its family: a late confirm belongs to the claim it confirms, and a moved
    /// claim to the one it was.
    fn family(&self) -> i64 {
        self.origin.unwrap_or(self.token)
    }

    fn status_word(&self) -> &'static str {
        match self.seen() {
            Seen::Running => "claimed",
            Seen::Over => "over",
            Seen::Review => "review",
            Seen::Booked => "booked",
            Seen::Ended(Status::Released) => "released",
            Seen::Ended(Status::Cancelled) => "cancelled",
            Seen::Ended(Status::Moved) => "moved",
            Seen::Ended(_) => "expired",
        }
    }

    fn already_yours(&self) -> Expected {
        no("already_yours").with("token", self.token).with("status", self.status_word())
    }

    fn taken(&self) -> Expected {
        no("taken")
            .with("held_by", self.holder.as_str())
            .with("status", self.status_word())
            .with_period_of(self.extent)
    }

    /// As a check finds it.
    fn found(&self) -> Expected {
        no(self.status_word())
            .with("status", self.status_word())
            .with("holder", self.holder.as_str())
            .with("token", self.token)
            .with_period_of(self.extent)
    }
}

/// One slot: its claims by token, and how many units it has if it is a pool.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    claims: Vec<Claim>,
    capacity: Option<i32>,
}

impl Slot {
    pub fn claim(&mut self, extent: Extent, terms: &Terms) -> Expected {
        if !self.fits(extent) {
            return Expected::Raises("55000");
        }
        // The call itself, repeated: its claim may have been moved or booked since.
        if let Some(own) = self.repeated_by(terms) {
            return match own.seen() {
                Seen::Running => yes(own.granted).with("token", own.token).with("replayed", true),
                _ => own.already_yours(),
            };
        }
        if let Some(refusal) = self.refusal(extent, terms) {
            return refusal;
        }
        let granted = self.granted(extent);
        let token = self.append(Claim {
            token: 0,
            holder: terms.holder.clone(),
            extent,
            status: Status::Claimed,
            lease: terms.lease,
            on_expiry: terms.on_expiry,
            origin: None,
            call_id: terms.call_id.clone(),
            granted: granted.outcome(),
        });
        granted
            .with("token", token)
            .with("holder", terms.holder.as_str())
            .with("status", "claimed")
            .with_extent(extent)
    }

    fn refusal(&self, extent: Extent, terms: &Terms) -> Option<Expected> {
        let (own, others): (Vec<&Claim>, Vec<&Claim>) =
            self.in_the_way(extent).partition(|claim| claim.holder == terms.holder);
        let own = own.iter().map(|claim| claim.already_yours());
        let others = others.iter().map(|claim| claim.taken());
        match self.capacity {
            // Another call_id is another purchase.
            Some(_) if own.len() > 0 && terms.call_id.is_none() => Some(any_of(own)),
            Some(_) => self.insufficient(extent, None),
            // Where both are in the way, which of them is named is left open.
            None if own.len() + others.len() > 0 => Some(any_of(own.chain(others))),
            None => None,
        }
    }

    fn granted(&self, extent: Extent) -> Expected {
        let expired: Vec<&Claim> = self.over(extent).collect();
        if expired.is_empty() || self.capacity.is_some() {
            return yes("claimed");
        }
        any_of(
            expired
                .iter()
                .map(|claim| yes("reclaimed").with("previous_holder", claim.holder.as_str())),
        )
    }

    pub fn confirm(&mut self, holder: &str, token: Option<i64>) -> Expected {
        let claim = match self.named(holder, token) {
            Ok(claim) => claim,
            Err(refusal) => return refusal,
        };
        match claim.seen() {
            Seen::Running => self.set(&claim, Status::Booked, yes("confirmed")),
            Seen::Review => self.set(&claim, Status::Booked, yes("confirmed_late")),
            Seen::Over => match self.no_room_again(&claim) {
                Some(refusal) => refusal,
                None => self.set(&claim, Status::Booked, yes("confirmed_late")),
            },
            Seen::Booked => yes("already_confirmed").with("token", claim.token),
            // What somebody decided stands, whoever has the slot now; what time ended is judged anew.
            Seen::Ended(Status::Cancelled) => no("cancelled"),
            Seen::Ended(_) => match self.no_room_again(&claim) {
                Some(refusal) => refusal,
                None => self.append_late(&claim, Status::Booked, yes("confirmed_late")),
            },
        }
    }

    pub fn release(&mut self, holder: &str, token: Option<i64>, in_doubt: bool) -> Expected {
        let claim = match self.named(holder, token) {
            Ok(claim) => claim,
            Err(refusal) => return refusal,
        };
        match claim.seen() {
            Seen::Running if in_doubt => self.set(&claim, Status::Review, yes("review")),
            Seen::Over if in_doubt => match self.no_room_again(&claim) {
                Some(refusal) => refusal,
                None => self.set(&claim, Status::Review, yes("review")),
            },
            Seen::Running | Seen::Over => self.set(&claim, Status::Released, yes("released")),
            Seen::Review => yes("review"),
            Seen::Booked => no("booked"),
            Seen::Ended(Status::Released | Status::Cancelled) => yes("already_released"),
            Seen::Ended(_) if in_doubt => match self.no_room_again(&claim) {
                Some(refusal) => refusal,
                None => self.append_late(&claim, Status::Review, yes("review")),
            },
            Seen::Ended(_) => self.lost(&claim, holder).unwrap_or(yes("already_released")),
        }
    }

    pub fn extend(&mut self, holder: &str, token: Option<i64>) -> Expected {
        let claim = match self.named(holder, token) {
            Ok(claim) => claim,
            Err(refusal) => return refusal,
        };
        match claim.seen() {
            // Never shorter than it was, so a short extension of a long lease leaves it long.
            Seen::Running => yes("extended").with("token", claim.token),
            Seen::Over => no("expired"),
            Seen::Review => no("review"),
            Seen::Booked => no("booked"),
            Seen::Ended(_) => self.lost(&claim, holder).unwrap_or(no("expired")),
        }
    }

    pub fn cancel(&mut self, holder: &str, token: i64) -> Expected {
        // The token decides. One that was never given cancels nothing, in whatever words.
        let Some(claim) = self.by_token(token) else { return refused(&[]) };
        match claim.seen() {
            Seen::Booked => {
                let answer = yes("cancelled").with("previous_holder", claim.holder.as_str());
                self.set(&claim, Status::Cancelled, answer)
            }
            Seen::Running | Seen::Review => no("not_booked"),
            Seen::Over => no("free"),
            Seen::Ended(Status::Cancelled) => yes("already_cancelled"),
            Seen::Ended(_) => self.lost(&claim, holder).unwrap_or(no("free")),
        }
    }

    pub fn resolve(&mut self, holder: &str, token: i64, verdict: Verdict) -> Expected {
        let claim = match self.named(holder, Some(token)) {
            Ok(claim) => claim,
            Err(refusal) => return refusal,
        };
        match (claim.seen(), verdict) {
            (Seen::Review, Verdict::Booked) => self.set(&claim, Status::Booked, yes("booked")),
            (Seen::Review, Verdict::Released) => {
                self.set(&claim, Status::Released, yes("released"))
            }
            (Seen::Ended(_), _) => self.lost(&claim, holder).unwrap_or(no("not_in_review")),
            _ => no("not_in_review"),
        }
    }

    pub fn move_period(&mut self, holder: &str, token: Option<i64>, to: Period) -> Expected {
        let claim = match self.named(holder, token) {
            Ok(claim) => claim,
            Err(refusal) => return refusal,
        };
        match claim.seen() {
            _ if claim.extent.period().is_none() => Expected::Raises("55000"),
            Seen::Running | Seen::Booked => {
                let extent = claim.extent.moved_to(to);
                let others: Vec<&Claim> =
                    self.in_the_way(extent).filter(|other| other.token != claim.token).collect();
                if self.capacity.is_none() && !others.is_empty() {
                    return any_of(others.iter().map(|other| other.taken()));
                }
                if let Some(insufficient) = self.insufficient(extent, Some(claim.token)) {
                    return insufficient;
                }
                self.set(&claim, Status::Moved, yes("moved"));
                let word = claim.status_word();
                let origin = Some(claim.family());
                // From whom it was taken over is not told of a claim that has moved since.
                let granted = "claimed";
                let token = self.append(Claim { extent, origin, granted, ..claim });
                yes("moved").with("token", token).with("status", word).with_extent(extent)
            }
            Seen::Over => no("expired"),
            Seen::Review => no("review"),
            Seen::Ended(_) => self.lost(&claim, holder).unwrap_or(no("expired")),
        }
    }

    pub fn set_capacity(&mut self, capacity: i32) -> Expected {
        let whole: Vec<&Claim> = self.in_the_way(Extent::Whole).collect();
        if self.capacity.is_none() && !whole.is_empty() {
            return no("taken");
        }
        self.capacity = Some(capacity);
        let taken = self.taken_without_period() + self.peak(Extent::Units(1), None);
        let overhang = (taken > capacity).then_some(taken - capacity);
        yes("set")
            .with("capacity", capacity)
            .with("available", (capacity - taken).max(0))
            .with("overhang", overhang)
    }

    pub fn check(&self) -> Expected {
        if self.claims.is_empty() && self.capacity.is_none() {
            return yes("absent").with("status", "free");
        }
        let free = match self.claims.last() {
            Some(last) if last.seen() == Seen::Over && self.capacity.is_none() => {
                yes("free").with("previous_holder", last.holder.as_str())
            }
            _ => yes("free"),
        };
        self.check_extent(Extent::Whole, free)
    }

    pub fn check_period(&self, period: Period) -> Expected {
        self.check_extent(Extent::Period(period), yes("free"))
    }

    /// Of a pool it is one unit that is asked about.
    fn check_extent(&self, extent: Extent, free: Expected) -> Expected {
        if let Some(capacity) = self.capacity {
            let one = match extent.period() {
                None => Extent::Units(1),
                Some(period) => Extent::UnitsFor(1, period),
            };
            return match self.insufficient(one, None) {
                Some(insufficient) => insufficient,
                None => {
                    free.with("available", self.available(one, None)).with("capacity", capacity)
                }
            };
        }
        let found: Vec<&Claim> = self.in_the_way(extent).collect();
        match found.is_empty() {
            true => free.with("status", "free"),
            false => any_of(found.iter().map(|claim| claim.found())),
        }
    }

    pub fn holds(&self, holder: &str, token: Option<i64>) -> bool {
        self.named(holder, token).is_ok_and(|claim| claim.seen() == Seen::Running)
    }

    /// How many were released.
    fn release_holder(&mut self, holder: &str) -> i64 {
        let mut released = 0;
        for claim in self.claims.iter_mut().filter(|claim| claim.holder == holder) {
            match (claim.status, claim.on_expiry) {
                (Status::Claimed, OnExpiry::Release) => {
                    claim.status = Status::Released;
                    released += 1;
                }
                (Status::Claimed, OnExpiry::Review) => claim.status = Status::Review,
                _ => {}
            }
        }
        released
    }

    fn reap(&mut self) {
        for claim in &mut self.claims {
            match claim.seen() {
                Seen::Over => claim.status = Status::Expired,
                Seen::Review => claim.status = Status::Review,
                _ => {}
            }
        }
    }

    // What the calls above share.

    /// Units are claimed of pools, and everything else of slots that are none.
    fn fits(&self, extent: Extent) -> bool {
        self.capacity.is_some() == extent.units().is_some()
    }

    /// The claim that this very call made, if it still keeps others out.
    fn repeated_by(&self, terms: &Terms) -> Option<&Claim> {
        self.claims.iter().rev().find(|claim| {
            claim.blocks()
                && claim.holder == terms.holder
                && claim.call_id.is_some()
                && claim.call_id == terms.call_id
        })
    }

    fn in_the_way(&self, extent: Extent) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(move |claim| claim.blocks() && claim.extent.meets(extent))
    }

    fn over(&self, extent: Extent) -> impl Iterator<Item = &Claim> {
        let is_over = move |claim: &&Claim| claim.seen() == Seen::Over;
        self.claims.iter().filter(is_over).filter(move |claim| claim.extent.meets(extent))
    }

    fn taken_without_period(&self) -> i32 {
        let units = |claim: &Claim| match claim.extent {
            Extent::Units(units) if claim.blocks() => units,
            _ => 0,
        };
        self.claims.iter().map(units).sum()
    }

    /// The most that is taken for a period at any instant of the extent.
    fn peak(&self, extent: Extent, except: Option<i64>) -> i32 {
        let Period { from, to } = extent.period().unwrap_or(Period { from: 0, to: 24 });
        let taken_at = |hour: u8| {
            let units = |claim: &Claim| match claim.extent {
                Extent::UnitsFor(units, period)
                    if claim.blocks()
                        && Some(claim.token) != except
                        && period.overlaps(Period { from: hour, to: hour + 1 }) =>
                {
                    units
                }
                _ => 0,
            };
            self.claims.iter().map(units).sum()
        };
        (from..to).map(taken_at).max().unwrap_or(0)
    }

    /// The units that can be had: none where more is taken than there is.
    fn available(&self, extent: Extent, except: Option<i64>) -> i32 {
        let taken = self.taken_without_period() + self.peak(extent, except);
        (self.capacity.unwrap_or(0) - taken).max(0)
    }

    fn insufficient(&self, extent: Extent, except: Option<i64>) -> Option<Expected> {
        let (capacity, units) = (self.capacity?, extent.units()?);
        let available = self.available(extent, except);
        (units > available)
            .then(|| no("insufficient").with("available", available).with("capacity", capacity))
    }

    /// The claim that a call means: the last of the family of the named one, which decides for every
    /// token of it. Without a token it is the holder's one open claim, or else his last.
    fn named(&self, holder: &str, token: Option<i64>) -> Result<Claim, Expected> {
        let own = || self.claims.iter().rev().filter(|claim| claim.holder == holder);
        let mut open = own().filter(|claim| claim.blocks());
        let named = match (token, open.next(), open.next()) {
            (Some(token), ..) => own().find(|claim| claim.token == token),
            (None, Some(_), Some(_)) => return Err(no("ambiguous")),
            (None, Some(only), None) => Some(only),
            (None, None, _) => own().next(),
        };
        named.and_then(|claim| self.by_token(claim.token)).ok_or_else(|| no("not_holder"))
    }

    fn by_token(&self, token: i64) -> Option<Claim> {
        let family = self.claims.iter().find(|claim| claim.token == token)?.family();
        self.claims.iter().rfind(|claim| claim.family() == family).cloned()
    }

    /// `lost`, if what an ended claim took up is now another claim's. Units are nobody's in particular.
    fn lost(&self, ended: &Claim, caller: &str) -> Option<Expected> {
        if self.capacity.is_some() {
            return None;
        }
        let winners: Vec<&Claim> = self.in_the_way(ended.extent).collect();
        (!winners.is_empty()).then(|| {
            any_of(winners.iter().map(|winner| {
                let lost = no("lost")
                    .with("lost_to", winner.holder.as_str())
                    .with("status", winner.status_word());
                if winner.holder == caller { lost.with("yours", true) } else { lost }
            }))
        })
    }

    /// Why a claim that was over cannot come back.
    fn no_room_again(&self, claim: &Claim) -> Option<Expected> {
        if !self.fits(claim.extent) {
            // The slot is a pool now; in which words a claim of the whole of it is refused is left open.
            return Some(any_of(
                [refused(&["insufficient", "lost"]), Expected::Raises("55000")].into_iter(),
            ));
        }
        self.insufficient(claim.extent, None).or_else(|| self.lost(claim, &claim.holder))
    }

    fn set(&mut self, claim: &Claim, status: Status, answer: Expected) -> Expected {
        self.claims[claim.token as usize - 1].status = status;
        answer.with("token", claim.token)
    }

    /// A late decision about a claim that has ended is a row of its own.
    fn append_late(&mut self, ended: &Claim, status: Status, answer: Expected) -> Expected {
        let origin = Some(ended.family());
        let token = self.append(Claim { status, origin, ..ended.clone() });
        answer.with("token", token)
    }

    /// Whoever's claim is over there is ended, and a new row follows.
    fn append(&mut self, claim: Claim) -> i64 {
        for other in &mut self.claims {
            if other.seen() == Seen::Over && other.extent.meets(claim.extent) {
                other.status = Status::Expired;
            }
        }
        let token = self.claims.len() as i64 + 1;
        self.claims.push(Claim { token, ..claim });
        token
    }
}

/// One of several, where the tables leave open which.
fn any_of(answers: impl Iterator<Item = Expected>) -> Expected {
    let mut answers: Vec<Expected> = answers.collect();
    match answers.len() {
        1 => answers.remove(0),
        _ => Expected::AnyOf(answers),
    }
}

/// The claims of an answer about several, each by its slot.
fn several(outcome: &'static str, each: &[(String, Expected)]) -> Expected {
    let claims: Vec<Value> = each
        .iter()
        .map(|(slot, answer)| {
            let mut claim = json!({ "slot_id": slot, "outcome": answer.outcome() });
            if let Some(token) = answer.fact("token") {
                claim["token"] = token.clone();
            }
            claim
        })
        .collect();
    yes(outcome).with("claims", claims)
}

impl Model {
    pub(super) fn claim_many(&mut self, requests: &[(String, Extent)], terms: &Terms) -> Expected {
        let mut sorted = requests.to_vec();
        sorted.sort();
        let mut merged: Vec<(String, Extent)> = vec![];
        for (slot, extent) in sorted {
            match merged.last_mut().filter(|last| last.0 == slot) {
                Some(last) => match last.1.plus(extent) {
                    Some(sum) => last.1 = sum,
                    None => return Expected::Raises("22023"),
                },
                None => merged.push((slot, extent)),
            }
        }
        let (fitting, misfits): (Vec<_>, Vec<_>) =
            merged.into_iter().partition(|(slot, extent)| self.slot(slot).fits(*extent));
        let before = self.slots.clone();
        let answer =
            self.all_or_nothing("claimed", &fitting, |slot, extent| slot.claim(*extent, terms));
        match answer.is_ok() {
            _ if misfits.is_empty() => answer,
            true => {
                self.slots = before;
                Expected::Raises("55000")
            }
            // Whether what is in the way is told or what can be no claim is left open.
            false => any_of([answer, Expected::Raises("55000")].into_iter()),
        }
    }

    pub(super) fn confirm_many(&mut self, claims: &[(String, i64)], holder: &str) -> Expected {
        self.all_or_nothing("confirmed", claims, |slot, token| slot.confirm(holder, Some(*token)))
    }

    pub(super) fn release_many(
        &mut self,
        claims: &[(String, i64)],
        holder: &str,
        in_doubt: bool,
    ) -> Expected {
        let outcome = if in_doubt { "review" } else { "released" };
        self.all_or_nothing(outcome, claims, |slot, token| {
            slot.release(holder, Some(*token), in_doubt)
        })
    }

    /// In the order of the slots; the first that is refused is the answer, and nothing has changed.
    fn all_or_nothing<T>(
        &mut self,
        outcome: &'static str,
        each: &[(String, T)],
        call: impl Fn(&mut Slot, &T) -> Expected,
    ) -> Expected {
        let before = self.slots.clone();
        let mut answers = vec![];
        for (name, of) in each {
            let answer = call(self.slot(name), of);
            if !answer.is_ok() {
                self.slots = before;
                return answer.with("slot_id", name.as_str());
            }
            answers.push((name.clone(), answer));
        }
        let answer = several(outcome, &answers);
        match answers.iter().all(|(_, answer)| answer.fact("replayed").is_some()) {
            true => answer.with("replayed", true),
            false => answer,
        }
    }

    pub(super) fn release_holder(&mut self, holder: &str) -> Expected {
        let released: i64 = self.slots.values_mut().map(|slot| slot.release_holder(holder)).sum();
        self.end_leases_of(holder);
        // How many went into review depends on what had been written of those whose lease was over.
        yes("released").with("released", released)
    }

    pub(super) fn reap(&mut self) -> Expected {
        self.slots.values_mut().for_each(Slot::reap);
        yes("reaped")
    }

    pub(super) fn slot(&mut self, name: &str) -> &mut Slot {
        self.slots.entry(name.to_owned()).or_default()
    }

    // What a driver may ask, to choose calls that hit something.

    pub fn is_pool(&self, slot: &str) -> bool {
        self.slots.get(slot).is_some_and(|slot| slot.capacity.is_some())
    }

    pub fn tokens_of(&self, slot: &str) -> Vec<(i64, String)> {
        let claims = self.slots.get(slot).map(|slot| slot.claims.as_slice()).unwrap_or_default();
        claims.iter().map(|claim| (claim.token, claim.holder.clone())).collect()
    }

    /// What is over ends when somebody writes so. Who needs the room must; whether others do is left
    /// open, and makes a difference to nobody. So the model takes it from the rows that are held.
    pub fn note_ended(&mut self, slot_rows: &[Value]) {
        for (name, slot) in &mut self.slots {
            for claim in slot.claims.iter_mut().filter(|claim| claim.seen() == Seen::Over) {
                let is_ended =
                    |row: &Value| row[0] == **name && row[1] == claim.token && row[3] == "expired";
                if slot_rows.iter().any(is_ended) {
                    claim.status = Status::Expired;
                }
            }
        }
    }

    /// As (slot, token, holder, status, period, units, origin). The status is the one a reader judges,
    /// so it does not matter whether the end of a review's lease has been written yet.
    pub(super) fn slot_rows(&self) -> Vec<Value> {
        let rows = self.slots.iter().flat_map(|(name, slot)| {
            slot.claims.iter().map(move |claim| {
                let period = claim.extent.period().map(|period| [period.from, period.to]);
                let (word, units) = (claim.status_word(), claim.extent.units());
                json!([name, claim.token, claim.holder, word, period, units, claim.origin])
            })
        });
        rows.collect()
    }

    /// As (slot, capacity, taken), of which taken leaves out what is over.
    pub(super) fn pool_rows(&self) -> Vec<Value> {
        let rows = self.slots.iter().filter_map(|(name, slot)| {
            Some(json!([name, slot.capacity?, slot.taken_without_period()]))
        });
        rows.collect()
    }
}
