//! What a call may be answered, as plain Rust: one method a function, one entry a row of its table.
//!
//! # Layout
//!
//! - this file: an answer, and what a model is
//! - `slot`, `key`: a slot and its claims, a key
//!
//! A model does not know what time it is. The server's clock is stepped while it runs, so a lease may
//! be over at any moment, and the reaper may write that down at any moment. What a model does know are
//! the instants in the answers, which the server has compared with each other: nobody is let in before
//! the end of a lease that was acknowledged.

mod key;
mod slot;

use std::fmt::{self, Debug, Formatter};
use std::hash::Hash;

use serde_json::Value;

pub use key::{Key, KeyCall, KeyRow};
pub use slot::{ClaimRow, Slot, SlotCall, Verdict};

/// What a call was answered, as far as the models have an opinion on it.
#[derive(Clone, Default, PartialEq)]
pub struct Answer {
    pub outcome: String,
    pub token: Option<i64>,
    /// Whoever else it was about: held_by, lost_to or previous_holder.
    pub other: Option<String>,
    pub status: Option<String>,
    pub attempt: Option<i64>,
    pub replayed: bool,
    pub result: Option<Value>,
    /// When the claim or the attempt began, and until when its lease runs, in microseconds of the
    /// server's clock.
    pub began_us: Option<i64>,
    pub until_us: Option<i64>,
}

impl Debug for Answer {
    /// Without what it does not say.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        fn say<T: Debug>(f: &mut Formatter<'_>, name: &str, fact: &Option<T>) -> fmt::Result {
            fact.as_ref().map_or(Ok(()), |fact| write!(f, " {name} {fact:?}"))
        }
        write!(f, "{}", self.outcome)?;
        say(f, "token", &self.token)?;
        say(f, "other", &self.other)?;
        say(f, "status", &self.status)?;
        say(f, "attempt", &self.attempt)?;
        say(f, "replayed", &self.replayed.then_some(true))?;
        say(f, "result", &self.result)?;
        say(f, "began_us", &self.began_us)?;
        say(f, "until_us", &self.until_us)
    }
}

/// What a model allows as an answer. `None` is anything, save for `other`, which is nobody.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    outcome: &'static str,
    token: Option<i64>,
    other: Option<String>,
    status: Option<&'static str>,
    attempt: Option<i64>,
    replayed: bool,
    result: Option<Value>,
}

impl Allowed {
    fn new(outcome: &'static str) -> Self {
        Self { outcome, ..Self::default() }
    }

    fn token(self, token: i64) -> Self {
        Self { token: Some(token), ..self }
    }

    fn other(self, other: &str) -> Self {
        Self { other: Some(other.to_owned()), ..self }
    }

    fn status(self, status: &'static str) -> Self {
        Self { status: Some(status), ..self }
    }

    pub fn fits(&self, answer: &Answer) -> bool {
        fn is_or_any<T: PartialEq>(allowed: &Option<T>, answered: &Option<T>) -> bool {
            allowed.is_none() || allowed == answered
        }
        self.outcome == answer.outcome
            && is_or_any(&self.token, &answer.token)
            && self.other == answer.other
            && is_or_any(&self.status, &answer.status.as_deref())
            && is_or_any(&self.attempt, &answer.attempt)
            && self.replayed == answer.replayed
            && is_or_any(&self.result, &answer.result)
    }
}

/// One slot or one key.
pub trait Model: Clone + Debug + Default + Ord + Hash {
    type Call: Clone + Debug;
    /// The rows of the table, as a reader sees them.
    type Rows: Clone + Debug + PartialEq;

    /// Every answer that the call may get in this state, and the state after it.
    fn may(&self, call: &Self::Call) -> Vec<(Allowed, Self)>;

    /// What the answer tells of the lease. `None`: by the instants in it, somebody was let in too early
    /// or a lease became shorter.
    fn learn(before: &Self, after: Self, answer: &Answer) -> Option<Self>;

    /// The state after the reaper has been there.
    fn reaped(&self) -> Option<Self>;

    fn rows(&self) -> Self::Rows;
}

#[derive(Clone, Debug)]
pub enum Op<M: Model> {
    Call(M::Call),
    Read,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ret<M: Model> {
    Answer(Answer),
    Rows(M::Rows),
    /// Of a call that nobody heard the answer of.
    Unknown,
}
