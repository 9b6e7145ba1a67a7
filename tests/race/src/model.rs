//! What every call must answer, as plain Rust: one method a function, one match arm a row of its table.
//!
//! The clock has two states here. A lease is [`Lease::Short`]: one millisecond, and whoever drives the
//! calls pauses after it, so that it is over whenever the next call looks. Or it is [`Lease::Long`]: an
//! hour, which no run lasts. So the model never has to guess what the server's clock said.

use std::collections::BTreeMap;

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    Short,
    Long,
}

/// One call with its arguments.
#[derive(Debug, Clone)]
pub enum Call {
    ClaimSlot {
        slot: String,
        holder: String,
        lease: Lease,
        on_expiry: OnExpiry,
        call_id: Option<String>,
    },
    ConfirmSlot {
        slot: String,
        holder: String,
        token: Option<i64>,
    },
    ReleaseSlot {
        slot: String,
        holder: String,
        token: Option<i64>,
        in_doubt: bool,
    },
    ExtendSlot {
        slot: String,
        holder: String,
        token: Option<i64>,
        lease: Lease,
    },
    CancelSlot {
        slot: String,
        holder: String,
        token: i64,
    },
    ResolveSlot {
        slot: String,
        holder: String,
        token: i64,
        verdict: Verdict,
    },
    CheckSlot {
        slot: String,
    },
    HoldsSlot {
        slot: String,
        holder: String,
        token: Option<i64>,
    },
    RequireSlot {
        slot: String,
        holder: String,
        token: Option<i64>,
    },
    ReleaseHolder {
        holder: String,
    },
    Reap,
    BeginKey {
        key: String,
        holder: String,
        request: Option<Value>,
        lease: Lease,
        call_id: Option<String>,
    },
    FinishKey {
        key: String,
        holder: String,
        token: i64,
        result: Value,
        outcome: Finish,
    },
    CheckKey {
        key: String,
    },
    ExtendKey {
        key: String,
        holder: String,
        token: i64,
    },
    ResetKey {
        key: String,
        holder: String,
    },
    /// `claim_slot(…, after => begin_key(…))`, both with a long lease.
    ClaimAfterBegin {
        slot: String,
        key: String,
        holder: String,
        request: Option<Value>,
    },
    /// `finish_key(…, after => confirm_slot(…))`.
    FinishAfterConfirm {
        slot: String,
        token: i64,
        key: String,
        key_token: i64,
        holder: String,
        result: Value,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnExpiry {
    Release,
    Review,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Booked,
    Released,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    Done,
    Failed,
    Rejected,
    Unknown,
}

/// What must come back.
#[derive(Debug, Clone, PartialEq)]
pub enum Expected {
    Answer {
        /// `None` where the tables leave it open.
        ok: Option<bool>,
        /// One of these; any, where it is empty.
        outcomes: Vec<&'static str>,
        facts: Vec<(&'static str, Value)>,
    },
    Boolean(bool),
    Raises(&'static str),
}

fn yes(outcome: &'static str) -> Expected {
    Expected::Answer { ok: Some(true), outcomes: vec![outcome], facts: vec![] }
}

fn no(outcome: &'static str) -> Expected {
    Expected::Answer { ok: Some(false), outcomes: vec![outcome], facts: vec![] }
}

/// Refused; which of these words is said is left open.
fn refused(outcomes: &[&'static str]) -> Expected {
    Expected::Answer { ok: Some(false), outcomes: outcomes.to_vec(), facts: vec![] }
}

impl Expected {
    fn with(mut self, name: &'static str, value: impl Into<Value>) -> Expected {
        if let Expected::Answer { facts, .. } = &mut self {
            facts.push((name, value.into()));
        }
        self
    }

    fn is_ok(&self) -> bool {
        matches!(self, Expected::Answer { ok: Some(true), .. })
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
}

#[derive(Debug, Clone)]
struct Claim {
    token: i64,
    holder: String,
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
    /// Its lease is over and nobody has ended it: the slot is free.
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

    /// The first token of its family: a late confirm belongs to the claim it confirms.
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
            Seen::Ended(_) => "expired",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyStatus {
    Pending,
    Done,
    Failed,
    Rejected,
    Reset,
}

#[derive(Debug, Clone)]
struct Key {
    /// Who was given each token, the first at 0; `None` for a reset.
    grants: Vec<Option<String>>,
    status: KeyStatus,
    lease: Lease,
    request: Option<Value>,
    /// `None` once the tables no longer say what it is.
    attempt: Option<i64>,
    result: Value,
    call_id: Option<String>,
    granted: &'static str,
}

impl Key {
    fn token(&self) -> i64 {
        self.grants.len() as i64
    }

    fn holder(&self) -> Option<&str> {
        self.grants.last().unwrap().as_deref()
    }

    /// What somebody who names a token is told, unless it is his and the current one.
    fn refuses(&self, holder: &str, token: i64) -> Option<Expected> {
        let was_given_to = |token: i64| self.grants.get(token as usize - 1).cloned().flatten();
        if token > self.token() {
            Some(no("not_holder"))
        } else if token < self.token() {
            // The row knows only its present holder, so a stranger with an old token may be told either.
            match was_given_to(token).as_deref() == Some(holder) {
                true => Some(no("lost")),
                false => Some(refused(&["lost", "not_holder"])),
            }
        } else {
            (self.holder() != Some(holder)).then(|| refused(&["not_holder"]))
        }
    }

    fn grant(
        &mut self,
        outcome: &'static str,
        holder: &str,
        lease: Lease,
        call_id: &Option<String>,
    ) -> Expected {
        self.grants.push(Some(holder.to_owned()));
        self.status = KeyStatus::Pending;
        self.lease = lease;
        self.call_id = call_id.clone();
        self.granted = outcome;
        let granted = self.granted_answer().with("token", self.token()).with("holder", holder);
        match self.attempt {
            Some(attempt) => granted.with("attempt", attempt),
            None => granted,
        }
    }

    /// `verify` gives the lease, yet it is no leave to act: first somebody has to look.
    fn granted_answer(&self) -> Expected {
        if self.granted == "run" { yes("run") } else { no(self.granted) }
    }

    fn status_word(&self) -> Option<&'static str> {
        match (self.status, self.lease) {
            (KeyStatus::Pending, Lease::Long) => Some("pending"),
            (KeyStatus::Pending, Lease::Short) => Some("overdue"),
            (KeyStatus::Done, _) => Some("done"),
            (KeyStatus::Failed, _) => Some("failed"),
            (KeyStatus::Rejected, _) => Some("rejected"),
            (KeyStatus::Reset, _) => None,
        }
    }
}

/// Everything the tables hold.
#[derive(Debug, Default, Clone)]
pub struct Model {
    slots: BTreeMap<String, Vec<Claim>>,
    keys: BTreeMap<String, Key>,
}

impl Model {
    /// Makes the call on the model, and says what the server must answer.
    pub fn answer(&mut self, call: &Call) -> Expected {
        match call.clone() {
            Call::ClaimSlot { slot, holder, lease, on_expiry, call_id } => {
                self.claim_slot(&slot, &holder, lease, on_expiry, call_id)
            }
            Call::ConfirmSlot { slot, holder, token } => self.confirm_slot(&slot, &holder, token),
            Call::ReleaseSlot { slot, holder, token, in_doubt } => {
                self.release_slot(&slot, &holder, token, in_doubt)
            }
            Call::ExtendSlot { slot, holder, token, .. } => self.extend_slot(&slot, &holder, token),
            Call::CancelSlot { slot, holder, token } => self.cancel_slot(&slot, &holder, token),
            Call::ResolveSlot { slot, holder, token, verdict } => {
                self.resolve_slot(&slot, &holder, token, verdict)
            }
            Call::CheckSlot { slot } => self.check_slot(&slot),
            Call::HoldsSlot { slot, holder, token } => {
                Expected::Boolean(self.holds(&slot, &holder, token))
            }
            Call::RequireSlot { slot, holder, token } => match self.holds(&slot, &holder, token) {
                true => Expected::Boolean(true),
                false => Expected::Raises("55000"),
            },
            Call::ReleaseHolder { holder } => self.release_holder(&holder),
            Call::Reap => self.reap(),
            Call::BeginKey { key, holder, request, lease, call_id } => {
                self.begin_key(&key, &holder, request, lease, call_id)
            }
            Call::FinishKey { key, holder, token, result, outcome } => {
                self.finish_key(&key, &holder, token, result, outcome)
            }
            Call::CheckKey { key } => self.check_key(&key),
            Call::ExtendKey { key, holder, token } => self.extend_key(&key, &holder, token),
            Call::ResetKey { key, .. } => self.reset_key(&key),
            Call::ClaimAfterBegin { slot, key, holder, request } => {
                self.claim_after_begin(&slot, &key, &holder, request)
            }
            Call::FinishAfterConfirm { slot, token, key, key_token, holder, result } => {
                match self.confirm_slot(&slot, &holder, Some(token)).is_ok() {
                    true => self.finish_key(&key, &holder, key_token, result, Finish::Done),
                    false => no("not_reached"),
                }
            }
        }
    }

    // Slots.

    fn claim_slot(
        &mut self,
        slot: &str,
        holder: &str,
        lease: Lease,
        on_expiry: OnExpiry,
        call_id: Option<String>,
    ) -> Expected {
        let found = self.last(slot).map(|claim| (claim.seen(), claim.clone()));
        let (granted, previous_holder) = match found {
            Some((Seen::Running, own))
                if own.holder == holder && call_id.is_some() && own.call_id == call_id =>
            {
                return yes(own.granted).with("token", own.token).with("replayed", true);
            }
            Some((Seen::Running | Seen::Review | Seen::Booked, own)) if own.holder == holder => {
                return no("already_yours")
                    .with("token", own.token)
                    .with("status", own.status_word());
            }
            Some((Seen::Running | Seen::Review | Seen::Booked, other)) => {
                return no("taken")
                    .with("held_by", other.holder.as_str())
                    .with("status", other.status_word());
            }
            Some((Seen::Over, expired)) => ("reclaimed", Some(expired.holder)),
            Some((Seen::Ended(_), _)) | None => ("claimed", None),
        };
        let token = self.append(slot, holder, Status::Claimed, None);
        let claim = self.last_mut(slot);
        (claim.lease, claim.on_expiry, claim.call_id, claim.granted) =
            (lease, on_expiry, call_id, granted);
        let answer =
            yes(granted).with("token", token).with("holder", holder).with("status", "claimed");
        match previous_holder {
            Some(previous) => answer.with("previous_holder", previous),
            None => answer,
        }
    }

    fn confirm_slot(&mut self, slot: &str, holder: &str, token: Option<i64>) -> Expected {
        let Some(claim) = self.named(slot, holder, token) else { return no("not_holder") };
        match claim.seen() {
            Seen::Running => self.set(slot, Status::Booked, yes("confirmed")),
            Seen::Over | Seen::Review => self.set(slot, Status::Booked, yes("confirmed_late")),
            Seen::Booked => yes("already_confirmed"),
            // What somebody decided stands, whoever has the slot now; what time ended is judged anew.
            Seen::Ended(Status::Cancelled) => no("cancelled"),
            Seen::Ended(_) => match self.winner_over(slot, &claim, holder) {
                Some(lost) => lost,
                None => {
                    self.append(slot, holder, Status::Booked, Some(claim.family()));
                    yes("confirmed_late")
                }
            },
        }
    }

    fn release_slot(
        &mut self,
        slot: &str,
        holder: &str,
        token: Option<i64>,
        in_doubt: bool,
    ) -> Expected {
        let Some(claim) = self.named(slot, holder, token) else { return no("not_holder") };
        match claim.seen() {
            Seen::Running | Seen::Over if in_doubt => self.set(slot, Status::Review, yes("review")),
            Seen::Running | Seen::Over => self.set(slot, Status::Released, yes("released")),
            Seen::Review => yes("review"),
            Seen::Booked => no("booked"),
            Seen::Ended(Status::Released | Status::Cancelled) => yes("already_released"),
            Seen::Ended(_) => match self.winner_over(slot, &claim, holder) {
                Some(lost) => lost,
                None if in_doubt => {
                    self.append(slot, holder, Status::Review, Some(claim.family()));
                    yes("review")
                }
                None => yes("already_released"),
            },
        }
    }

    fn extend_slot(&mut self, slot: &str, holder: &str, token: Option<i64>) -> Expected {
        let Some(claim) = self.named(slot, holder, token) else { return no("not_holder") };
        match claim.seen() {
            // Never shorter than it was, so a short extension of a long lease leaves it long.
            Seen::Running => yes("extended").with("token", claim.token),
            Seen::Over => no("expired"),
            Seen::Review => no("review"),
            Seen::Booked => no("booked"),
            Seen::Ended(_) => self.winner_over(slot, &claim, holder).unwrap_or(no("expired")),
        }
    }

    fn cancel_slot(&mut self, slot: &str, holder: &str, token: i64) -> Expected {
        // The token decides. One that was never given cancels nothing, in whatever words.
        let Some(claim) = self.by_token(slot, token) else { return refused(&[]) };
        match claim.seen() {
            Seen::Booked => {
                let answer = yes("cancelled").with("previous_holder", claim.holder.as_str());
                self.set(slot, Status::Cancelled, answer)
            }
            Seen::Running | Seen::Review => no("not_booked"),
            Seen::Over => no("free"),
            Seen::Ended(Status::Cancelled) => yes("already_cancelled"),
            Seen::Ended(_) => self.winner_over(slot, &claim, holder).unwrap_or(no("free")),
        }
    }

    fn resolve_slot(&mut self, slot: &str, holder: &str, token: i64, verdict: Verdict) -> Expected {
        let Some(claim) = self.named(slot, holder, Some(token)) else { return no("not_holder") };
        match (claim.seen(), verdict) {
            (Seen::Review, Verdict::Booked) => self.set(slot, Status::Booked, yes("booked")),
            (Seen::Review, Verdict::Released) => self.set(slot, Status::Released, yes("released")),
            (Seen::Ended(_), _) => {
                self.winner_over(slot, &claim, holder).unwrap_or(no("not_in_review"))
            }
            _ => no("not_in_review"),
        }
    }

    fn check_slot(&self, slot: &str) -> Expected {
        let Some(claim) = self.last(slot) else { return yes("absent").with("status", "free") };
        match claim.seen() {
            Seen::Ended(_) => yes("free").with("status", "free"),
            Seen::Over => {
                yes("free").with("status", "free").with("previous_holder", claim.holder.as_str())
            }
            _ => no(claim.status_word())
                .with("status", claim.status_word())
                .with("holder", claim.holder.as_str())
                .with("token", claim.token),
        }
    }

    fn holds(&self, slot: &str, holder: &str, token: Option<i64>) -> bool {
        self.last(slot).is_some_and(|claim| {
            claim.seen() == Seen::Running
                && claim.holder == holder
                && token.is_none_or(|token| token == claim.token)
        })
    }

    fn release_holder(&mut self, holder: &str) -> Expected {
        for claim in self.slots.values_mut().filter_map(|claims| claims.last_mut()) {
            if claim.holder != holder {
                continue;
            }
            match (claim.status, claim.on_expiry) {
                (Status::Claimed, OnExpiry::Release) => claim.status = Status::Released,
                (Status::Claimed, OnExpiry::Review) => claim.status = Status::Review,
                _ => {}
            }
        }
        for key in self.keys.values_mut() {
            if key.status == KeyStatus::Pending && key.holder() == Some(holder) {
                key.lease = Lease::Short;
            }
        }
        yes("released")
    }

    fn reap(&mut self) -> Expected {
        for claim in self.slots.values_mut().filter_map(|claims| claims.last_mut()) {
            match claim.seen() {
                Seen::Over => claim.status = Status::Expired,
                Seen::Review => claim.status = Status::Review,
                _ => {}
            }
        }
        yes("reaped")
    }

    // Keys.

    fn begin_key(
        &mut self,
        key: &str,
        holder: &str,
        request: Option<Value>,
        lease: Lease,
        call_id: Option<String>,
    ) -> Expected {
        let Some(found) = self.keys.get_mut(key) else {
            let mut new = Key {
                grants: vec![],
                status: KeyStatus::Pending,
                lease,
                request,
                attempt: Some(1),
                result: Value::Null,
                call_id: None,
                granted: "run",
            };
            let granted = new.grant("run", holder, lease, &call_id);
            self.keys.insert(key.to_owned(), new);
            return granted;
        };
        if let (Some(asked), Some(stored)) = (&request, &found.request)
            && asked != stored
        {
            return no("mismatch");
        }
        match (found.status, found.lease) {
            (KeyStatus::Pending, Lease::Long) => {
                let yours = found.holder() == Some(holder);
                if yours && call_id.is_some() && call_id == found.call_id {
                    return found
                        .granted_answer()
                        .with("token", found.token())
                        .with("replayed", true);
                }
                match yours {
                    true => no("wait").with("yours", true),
                    false => no("wait"),
                }
            }
            (KeyStatus::Pending, Lease::Short) => {
                found.attempt = None;
                found.grant("verify", holder, lease, &call_id)
            }
            (KeyStatus::Failed, _) => {
                found.attempt = found.attempt.map(|attempt| attempt + 1);
                found.grant("run", holder, lease, &call_id)
            }
            (KeyStatus::Reset, _) => {
                found.attempt = None;
                found.grant("run", holder, lease, &call_id)
            }
            (KeyStatus::Done | KeyStatus::Rejected, _) => no("replay")
                .with("result", found.result.clone())
                .with("status", found.status_word().unwrap()),
        }
    }

    fn finish_key(
        &mut self,
        key: &str,
        holder: &str,
        token: i64,
        result: Value,
        outcome: Finish,
    ) -> Expected {
        let Some(found) = self.keys.get_mut(key) else { return no("absent") };
        if let Some(refusal) = found.refuses(holder, token) {
            return refusal;
        }
        match (found.status, outcome) {
            (KeyStatus::Done | KeyStatus::Rejected, _) => yes("already_finished"),
            (KeyStatus::Failed, Finish::Done) | (KeyStatus::Pending, Finish::Done) => {
                (found.status, found.result) = (KeyStatus::Done, result);
                yes("done")
            }
            (KeyStatus::Failed, _) => yes("already_finished"),
            (_, Finish::Failed) => {
                (found.status, found.result) = (KeyStatus::Failed, result);
                yes("failed")
            }
            (_, Finish::Rejected) => {
                (found.status, found.result) = (KeyStatus::Rejected, result);
                yes("rejected")
            }
            (_, Finish::Unknown) => {
                found.lease = Lease::Short;
                yes("unknown")
            }
            (KeyStatus::Reset, Finish::Done) => unreachable!("the token of a reset has no holder"),
        }
    }

    fn check_key(&self, key: &str) -> Expected {
        let outcomes = match self.keys.get(key) {
            None => vec!["absent"],
            // What a key is called that was reset and not yet begun again is left open.
            Some(found) => found.status_word().into_iter().collect(),
        };
        Expected::Answer { ok: None, outcomes, facts: vec![] }
    }

    fn extend_key(&mut self, key: &str, holder: &str, token: i64) -> Expected {
        let Some(found) = self.keys.get_mut(key) else { return no("absent") };
        if let Some(refusal) = found.refuses(holder, token) {
            return refusal;
        }
        match found.status {
            // Over or not: nobody else was let in, so it is still this holder's.
            KeyStatus::Pending => {
                found.lease = Lease::Long;
                yes("extended")
            }
            _ => no("finished"),
        }
    }

    fn reset_key(&mut self, key: &str) -> Expected {
        let Some(found) = self.keys.get_mut(key) else { return no("absent") };
        found.grants.push(None);
        (found.status, found.call_id) = (KeyStatus::Reset, None);
        yes("reset")
    }

    // Two calls that are one decision.

    fn claim_after_begin(
        &mut self,
        slot: &str,
        key: &str,
        holder: &str,
        request: Option<Value>,
    ) -> Expected {
        if !self.begin_key(key, holder, request, Lease::Long, None).is_ok() {
            return no("not_reached");
        }
        let claim = self.claim_slot(slot, holder, Lease::Long, OnExpiry::Release, None);
        if !claim.is_ok() {
            self.keys.get_mut(key).unwrap().status = KeyStatus::Failed;
        }
        claim
    }

    // What the arms above share.

    fn last(&self, slot: &str) -> Option<&Claim> {
        self.slots.get(slot)?.last()
    }

    fn last_mut(&mut self, slot: &str) -> &mut Claim {
        self.slots.get_mut(slot).and_then(|claims| claims.last_mut()).expect("the slot has a claim")
    }

    /// The last claim of the family of the named one, which decides for every token of it. Without a
    /// token it is the holder's last claim of the slot: of a whole slot only the last can be open.
    fn named(&self, slot: &str, holder: &str, token: Option<i64>) -> Option<Claim> {
        let token = match token {
            Some(token) => token,
            None => self.slots.get(slot)?.iter().rfind(|claim| claim.holder == holder)?.token,
        };
        self.by_token(slot, token).filter(|claim| claim.holder == holder)
    }

    fn by_token(&self, slot: &str, token: i64) -> Option<Claim> {
        let claims = self.slots.get(slot)?;
        let family = claims.iter().find(|claim| claim.token == token)?.family();
        claims.iter().rfind(|claim| claim.family() == family).cloned()
    }

    /// `lost`, if an ended claim's slot is now another claim's.
    fn winner_over(&self, slot: &str, ended: &Claim, caller: &str) -> Option<Expected> {
        let winner =
            self.last(slot).filter(|claim| claim.blocks() && claim.family() != ended.family())?;
        let lost =
            no("lost").with("lost_to", winner.holder.as_str()).with("status", winner.status_word());
        Some(if winner.holder == caller { lost.with("yours", true) } else { lost })
    }

    /// Only the last claim of a slot can be active, so only that one is ever changed.
    fn set(&mut self, slot: &str, status: Status, answer: Expected) -> Expected {
        self.last_mut(slot).status = status;
        answer
    }

    /// Whoever's claim is over is ended, and a new row follows it.
    fn append(&mut self, slot: &str, holder: &str, status: Status, origin: Option<i64>) -> i64 {
        let claims = self.slots.entry(slot.to_owned()).or_default();
        if let Some(last) = claims.last_mut().filter(|last| last.seen() == Seen::Over) {
            last.status = Status::Expired;
        }
        let token = claims.len() as i64 + 1;
        claims.push(Claim {
            token,
            holder: holder.to_owned(),
            status,
            lease: Lease::Long,
            on_expiry: OnExpiry::Release,
            origin,
            call_id: None,
            granted: "",
        });
        token
    }

    // What a driver may ask, to choose calls that hit something.

    pub fn tokens_of(&self, slot: &str) -> Vec<(i64, String)> {
        let claims = self.slots.get(slot).map(Vec::as_slice).unwrap_or_default();
        claims.iter().map(|claim| (claim.token, claim.holder.clone())).collect()
    }

    pub fn key_tokens_of(&self, key: &str) -> Vec<(i64, Option<String>)> {
        let grants = self.keys.get(key).map(|key| key.grants.as_slice()).unwrap_or_default();
        (1..).zip(grants.iter().cloned()).collect()
    }

    pub fn request_of(&self, key: &str) -> Option<&Value> {
        self.keys.get(key)?.request.as_ref()
    }

    /// A key of which the tables do not say what a different request, or a second finish, comes to.
    pub fn is_reset(&self, key: &str) -> bool {
        self.keys.get(key).is_some_and(|key| key.status == KeyStatus::Reset)
    }

    pub fn is_failed(&self, key: &str) -> bool {
        self.keys.get(key).is_some_and(|key| key.status == KeyStatus::Failed)
    }

    /// The rows that the tables must now hold: slots as (slot, token, holder, status, origin), keys as
    /// (key, token, holder, status). The status is the one a reader judges, so it does not matter
    /// whether the end of a lease has been written yet.
    pub fn rows(&self) -> (Vec<Value>, Vec<Value>) {
        let slots = self.slots.iter().flat_map(|(slot, claims)| {
            claims.iter().map(move |c| json!([slot, c.token, c.holder, c.status_word(), c.origin]))
        });
        let keys = self
            .keys
            .iter()
            .map(|(name, key)| json!([name, key.token(), key.holder(), key.status_word()]));
        (slots.collect(), keys.collect())
    }
}
