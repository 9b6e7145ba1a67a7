//! A slot that is claimed as a whole.

use super::{Allowed, Answer, Model};

#[derive(Clone, Debug)]
pub enum SlotCall {
    Claim { holder: String, call_id: String, review: bool },
    Confirm { holder: String, token: i64 },
    Release { holder: String, token: i64, in_doubt: bool },
    Extend { holder: String, token: i64 },
    Cancel { token: i64 },
    Resolve { holder: String, token: i64, verdict: Verdict },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    Booked,
    Released,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Status {
    Claimed,
    Booked,
    Review,
    Released,
    Expired,
    Cancelled,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Booked => "booked",
            Self::Review => "review",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Claim {
    holder: String,
    status: Status,
    /// What becomes of it when its lease is over: review, or free for others.
    review: bool,
    /// The token that a late confirm confirms.
    origin: Option<i64>,
    call_id: String,
    /// Whom it was taken over from.
    previous: Option<String>,
    /// The end of the lease, where an answer has told it.
    until_us: Option<i64>,
}

impl Claim {
    fn is_active(&self) -> bool {
        matches!(self.status, Status::Claimed | Status::Booked | Status::Review)
    }

    /// Whether its lease may be over and the slot free for others.
    fn may_be_free(&self) -> bool {
        self.status == Status::Claimed && !self.review
    }
}

/// The claims of a slot; the first has token 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(Vec<Claim>);

/// Token, holder, status, origin.
pub type ClaimRow = (i64, String, String, Option<i64>);

impl Slot {
    fn claim(&self, token: i64) -> Option<&Claim> {
        usize::try_from(token - 1).ok().and_then(|index| self.0.get(index))
    }

    fn last_token(&self) -> i64 {
        self.0.len() as i64
    }

    fn active(&self) -> Option<(i64, &Claim)> {
        (1..).zip(&self.0).find(|(_, claim)| claim.is_active())
    }

    /// The claim that a token means now: one that was confirmed late lives on in a later row.
    fn meant(&self, token: i64) -> Option<(i64, &Claim)> {
        let claim = self.claim(token)?;
        if claim.is_active() {
            return Some((token, claim));
        }
        let origin = Some(claim.origin.unwrap_or(token));
        (1..).zip(&self.0).filter(|(_, late)| late.origin == origin).last().or(Some((token, claim)))
    }

    fn with(&self, token: i64, status: Status) -> Self {
        let mut after = self.clone();
        after.0[token as usize - 1].status = status;
        after
    }

    /// The slot with one more claim, and whatever stood there expired.
    fn and(&self, claim: Claim) -> Self {
        let mut after = match self.active() {
            Some((token, _)) => self.with(token, Status::Expired),
            None => self.clone(),
        };
        after.0.push(claim);
        after
    }

    /// Whether somebody may be let in, and whether somebody may be in the way.
    fn room(&self) -> (bool, Option<&Claim>) {
        match self.active() {
            None => (true, None),
            Some((_, claim)) => (claim.may_be_free(), Some(claim)),
        }
    }

    fn may_claim(&self, holder: &str, call_id: &str, review: bool) -> Vec<(Allowed, Self)> {
        let (free, there) = self.room();
        let mut may = Vec::new();
        if let Some(there) = there {
            let token = self.last_token();
            if there.holder != holder {
                let taken = |status| Allowed::new("taken").other(&there.holder).status(status);
                may.push((taken(there.status.word()), self.clone()));
                if there.status == Status::Claimed && there.review {
                    may.push((taken("review"), self.clone()));
                }
            } else {
                may.push((Allowed::new("already_yours").token(token), self.clone()));
                if there.call_id == call_id && there.status == Status::Claimed {
                    let first = match &there.previous {
                        None => Allowed::new("claimed"),
                        Some(previous) => Allowed::new("reclaimed").other(previous),
                    };
                    let again = Allowed { replayed: true, ..first.token(token) };
                    may.push((again, self.clone()));
                }
            }
        }
        if free {
            let previous = there.map(|claim| claim.holder.clone());
            let granted = match &previous {
                None => Allowed::new("claimed"),
                Some(previous) => Allowed::new("reclaimed").other(previous),
            };
            let claim = Claim {
                holder: holder.to_owned(),
                status: Status::Claimed,
                review,
                origin: None,
                call_id: call_id.to_owned(),
                previous,
                until_us: None,
            };
            may.push((granted.token(self.last_token() + 1), self.and(claim)));
        }
        may
    }

    fn may_confirm(&self, token: i64, claim: &Claim) -> Vec<(Allowed, Self)> {
        let here = |outcome| Allowed::new(outcome).token(token);
        match claim.status {
            Status::Claimed => vec![
                (here("confirmed"), self.with(token, Status::Booked)),
                (here("confirmed_late"), self.with(token, Status::Booked)),
            ],
            Status::Review => vec![(here("confirmed_late"), self.with(token, Status::Booked))],
            Status::Booked => vec![(here("already_confirmed"), self.clone())],
            Status::Cancelled => vec![(here("cancelled"), self.clone())],
            Status::Released | Status::Expired => {
                self.may_reopen(token, claim, "confirmed_late", Status::Booked)
            }
        }
    }

    /// An ended claim becomes active in a row of its own, unless somebody else is there.
    fn may_reopen(
        &self,
        token: i64,
        ended: &Claim,
        outcome: &'static str,
        status: Status,
    ) -> Vec<(Allowed, Self)> {
        let (free, there) = self.room();
        let mut may = Vec::new();
        if let Some(there) = there {
            may.push((Allowed::new("lost").other(&there.holder), self.clone()));
        }
        if free {
            let origin = Some(ended.origin.unwrap_or(token));
            let late = Claim { status, origin, until_us: None, ..ended.clone() };
            may.push((Allowed::new(outcome).token(self.last_token() + 1), self.and(late)));
        }
        may
    }

    fn may_release(&self, token: i64, claim: &Claim, in_doubt: bool) -> Vec<(Allowed, Self)> {
        let to_review = (Allowed::new("review").token(token), self.with(token, Status::Review));
        let already = (Allowed::new("already_released"), self.clone());
        match claim.status {
            Status::Claimed if in_doubt => vec![to_review],
            Status::Claimed => {
                let released = Allowed::new("released").token(token);
                let mut may = vec![(released, self.with(token, Status::Released))];
                // It may be in review by its lease.
                may.extend(claim.review.then_some(to_review));
                may
            }
            Status::Review => vec![to_review],
            Status::Booked => vec![(Allowed::new("booked"), self.clone())],
            Status::Expired if in_doubt => self.may_reopen(token, claim, "review", Status::Review),
            Status::Expired => {
                let (free, there) = self.room();
                let lost = there.map(|there| Allowed::new("lost").other(&there.holder));
                let mut may: Vec<_> = lost.map(|lost| (lost, self.clone())).into_iter().collect();
                may.extend(free.then_some(already));
                may
            }
            Status::Released | Status::Cancelled => vec![already],
        }
    }

    fn may_extend(&self, token: i64, claim: &Claim) -> Vec<(Allowed, Self)> {
        let unchanged = |outcome| (Allowed::new(outcome), self.clone());
        match claim.status {
            Status::Claimed => {
                let mut longer = self.clone();
                longer.0[token as usize - 1].until_us = None;
                let over = if claim.review { "review" } else { "expired" };
                vec![(Allowed::new("extended").token(token), longer), unchanged(over)]
            }
            Status::Review => vec![unchanged("review")],
            Status::Booked => vec![unchanged("booked")],
            _ => self.may_be_over("expired"),
        }
    }

    /// The claim that was meant is over: somebody has the slot, or nobody.
    fn may_be_over(&self, outcome: &'static str) -> Vec<(Allowed, Self)> {
        let (free, there) = self.room();
        let lost = there.map(|there| (Allowed::new("lost").other(&there.holder), self.clone()));
        let mut may: Vec<_> = lost.into_iter().collect();
        may.extend(free.then(|| (Allowed::new(outcome), self.clone())));
        may
    }

    fn may_cancel(&self, token: i64) -> Vec<(Allowed, Self)> {
        let Some((token, claim)) = self.meant(token) else { return self.may_be_over("free") };
        let not_booked = || (Allowed::new("not_booked"), self.clone());
        // Whose booking it was.
        let of_whom = |outcome| Allowed::new(outcome).token(token).other(&claim.holder);
        match claim.status {
            Status::Booked => vec![(of_whom("cancelled"), self.with(token, Status::Cancelled))],
            Status::Cancelled => vec![(of_whom("already_cancelled"), self.clone())],
            Status::Claimed if claim.may_be_free() => {
                vec![not_booked(), (Allowed::new("free"), self.clone())]
            }
            Status::Claimed | Status::Review => vec![not_booked()],
            Status::Released | Status::Expired => self.may_be_over("free"),
        }
    }

    fn may_resolve(&self, token: i64, claim: &Claim, verdict: Verdict) -> Vec<(Allowed, Self)> {
        let not_in_review = || (Allowed::new("not_in_review"), self.clone());
        let resolved = || match verdict {
            Verdict::Booked => {
                (Allowed::new("booked").token(token), self.with(token, Status::Booked))
            }
            Verdict::Released => {
                (Allowed::new("released").token(token), self.with(token, Status::Released))
            }
        };
        match claim.status {
            Status::Review => vec![resolved()],
            Status::Claimed if claim.review => vec![resolved(), not_in_review()],
            Status::Claimed | Status::Booked => vec![not_in_review()],
            _ => self.may_be_over("not_in_review"),
        }
    }

    /// The caller's claim, or the refusal.
    fn of(
        &self,
        holder: &str,
        token: i64,
        may: impl FnOnce(i64, &Claim) -> Vec<(Allowed, Self)>,
    ) -> Vec<(Allowed, Self)> {
        match self.meant(token).filter(|(_, claim)| claim.holder == holder) {
            Some((token, claim)) => may(token, claim),
            None => vec![(Allowed::new("not_holder"), self.clone())],
        }
    }
}

impl Model for Slot {
    type Call = SlotCall;
    type Rows = Vec<ClaimRow>;

    fn may(&self, call: &SlotCall) -> Vec<(Allowed, Self)> {
        match call {
            SlotCall::Claim { holder, call_id, review } => self.may_claim(holder, call_id, *review),
            SlotCall::Confirm { holder, token } => {
                self.of(holder, *token, |token, claim| self.may_confirm(token, claim))
            }
            SlotCall::Release { holder, token, in_doubt } => {
                self.of(holder, *token, |token, claim| self.may_release(token, claim, *in_doubt))
            }
            SlotCall::Extend { holder, token } => {
                self.of(holder, *token, |token, claim| self.may_extend(token, claim))
            }
            SlotCall::Cancel { token } => self.may_cancel(*token),
            SlotCall::Resolve { holder, token, verdict } => {
                self.of(holder, *token, |token, claim| self.may_resolve(token, claim, *verdict))
            }
        }
    }

    fn learn(before: &Self, mut after: Self, answer: &Answer) -> Option<Self> {
        // Nobody's lease is ended by another's call before it is over.
        for (was, is) in before.0.iter().zip(&after.0) {
            let too_early = was.until_us > answer.began_us && was.until_us.is_some();
            if was.status == Status::Claimed && is.status == Status::Expired && too_early {
                return None;
            }
        }
        if let "claimed" | "reclaimed" | "extended" = answer.outcome.as_str()
            && let Some(token) = answer.token
        {
            let was = before.claim(token).and_then(|claim| claim.until_us);
            if answer.until_us < was {
                return None;
            }
            after.0[token as usize - 1].until_us = answer.until_us;
        }
        Some(after)
    }

    fn reaped(&self) -> Option<Self> {
        let (token, claim) = self.active().filter(|(_, claim)| claim.status == Status::Claimed)?;
        Some(self.with(token, if claim.review { Status::Review } else { Status::Expired }))
    }

    fn rows(&self) -> Vec<ClaimRow> {
        let row = |(token, claim): (i64, &Claim)| {
            (token, claim.holder.clone(), claim.status.word().to_owned(), claim.origin)
        };
        (1..).zip(&self.0).map(row).collect()
    }
}
