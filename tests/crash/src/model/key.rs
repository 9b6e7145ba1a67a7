//! An idempotency key.

use serde_json::Value;

use super::{Allowed, Answer, Model};

#[derive(Clone, Debug)]
pub enum KeyCall {
    Begin { holder: String, call_id: String },
    Finish { holder: String, token: i64, outcome: &'static str, result: i64 },
    Extend { holder: String, token: i64 },
    Reset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Status {
    Pending,
    Done,
    Failed,
    Rejected,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Entry {
    status: Status,
    /// Nobody, once it is reset.
    holder: Option<String>,
    token: i64,
    attempt: i64,
    /// Whether whoever was let in was told to find out first.
    verifying: bool,
    call_id: Option<String>,
    result: Option<i64>,
    /// The end of the lease, where an answer has told it.
    until_us: Option<i64>,
}

/// A key, or none yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Option<Entry>);

/// Status, holder, token, result.
pub type KeyRow = (String, Option<String>, i64, Option<i64>);

impl Key {
    fn may_begin(&self, holder: &str, call_id: &str) -> Vec<(Allowed, Self)> {
        let grant = |token, attempt, verifying| {
            let outcome = if verifying { "verify" } else { "run" };
            let entry = Entry {
                status: Status::Pending,
                holder: Some(holder.to_owned()),
                token,
                attempt,
                verifying,
                call_id: Some(call_id.to_owned()),
                result: None,
                until_us: None,
            };
            let allowed = Allowed { attempt: Some(attempt), ..Allowed::new(outcome).token(token) };
            (allowed, Self(Some(entry)))
        };
        let Some(entry) = &self.0 else { return vec![grant(1, 1, false)] };
        match entry.status {
            Status::Pending => {
                let wait = Allowed { other: entry.holder.clone(), ..Allowed::new("wait") };
                let mut may =
                    vec![(wait, self.clone()), grant(entry.token + 1, entry.attempt, true)];
                if entry.holder.as_deref() == Some(holder)
                    && entry.call_id.as_deref() == Some(call_id)
                {
                    let (first, _) = grant(entry.token, entry.attempt, entry.verifying);
                    may.push((Allowed { replayed: true, ..first }, self.clone()));
                }
                may
            }
            Status::Failed => vec![grant(entry.token + 1, entry.attempt + 1, false)],
            Status::Done | Status::Rejected => {
                let replay = Allowed::new("replay").status(entry.status.word());
                vec![(Allowed { result: entry.result.map(Value::from), ..replay }, self.clone())]
            }
        }
    }

    fn may_finish(
        &self,
        entry: &Entry,
        outcome: &'static str,
        result: i64,
    ) -> Vec<(Allowed, Self)> {
        let status = match outcome {
            "done" => Status::Done,
            "failed" => Status::Failed,
            "rejected" => Status::Rejected,
            _ => Status::Pending,
        };
        match (entry.status, status) {
            (Status::Done | Status::Rejected, _) | (Status::Failed, Status::Failed) => {
                let result = entry.result.map(Value::from);
                let already = Allowed::new("already_finished").status(entry.status.word());
                vec![(Allowed { result, ..already }, self.clone())]
            }
            // With 'unknown' its lease is over at once.
            _ => {
                let ended = Entry { status, result: Some(result), until_us: None, ..entry.clone() };
                vec![(Allowed::new(outcome).token(entry.token), Self(Some(ended)))]
            }
        }
    }

    fn may_extend(&self, entry: &Entry) -> Vec<(Allowed, Self)> {
        match entry.status {
            Status::Pending => {
                let longer = Entry { until_us: None, ..entry.clone() };
                vec![(Allowed::new("extended").token(entry.token), Self(Some(longer)))]
            }
            _ => vec![(Allowed::new("finished"), self.clone())],
        }
    }

    fn may_reset(&self) -> Vec<(Allowed, Self)> {
        let Some(entry) = &self.0 else { return vec![(Allowed::new("absent"), self.clone())] };
        let token = entry.token + 1;
        let reset = Entry {
            status: Status::Failed,
            holder: None,
            token,
            call_id: None,
            result: None,
            until_us: None,
            ..entry.clone()
        };
        let allowed = Allowed::new("reset").token(token);
        vec![(Allowed { other: entry.holder.clone(), ..allowed }, Self(Some(reset)))]
    }

    /// The caller's key, or the refusal.
    fn of(
        &self,
        holder: &str,
        token: i64,
        may: impl FnOnce(&Entry) -> Vec<(Allowed, Self)>,
    ) -> Vec<(Allowed, Self)> {
        let Some(entry) = &self.0 else { return vec![(Allowed::new("absent"), self.clone())] };
        if token < entry.token {
            let lost = Allowed { other: entry.holder.clone(), ..Allowed::new("lost") };
            return vec![(lost, self.clone())];
        }
        if token > entry.token || entry.holder.as_deref() != Some(holder) {
            return vec![(Allowed::new("not_holder"), self.clone())];
        }
        may(entry)
    }
}

impl Model for Key {
    type Call = KeyCall;
    type Rows = Option<KeyRow>;

    fn may(&self, call: &KeyCall) -> Vec<(Allowed, Self)> {
        match call {
            KeyCall::Begin { holder, call_id } => self.may_begin(holder, call_id),
            KeyCall::Finish { holder, token, outcome, result } => {
                self.of(holder, *token, |entry| self.may_finish(entry, outcome, *result))
            }
            KeyCall::Extend { holder, token } => {
                self.of(holder, *token, |entry| self.may_extend(entry))
            }
            KeyCall::Reset => self.may_reset(),
        }
    }

    fn learn(before: &Self, mut after: Self, answer: &Answer) -> Option<Self> {
        let was = before.0.as_ref().and_then(|entry| entry.until_us);
        match answer.outcome.as_str() {
            "verify" if !answer.replayed && was.is_some() && answer.began_us < was => return None,
            "extended" if answer.until_us < was => return None,
            _ => {}
        }
        if let "run" | "verify" | "extended" = answer.outcome.as_str()
            && let Some(entry) = &mut after.0
        {
            entry.until_us = answer.until_us;
        }
        Some(after)
    }

    /// The reaper only counts keys.
    fn reaped(&self) -> Option<Self> {
        None
    }

    fn rows(&self) -> Option<KeyRow> {
        self.0.as_ref().map(|entry| {
            let Entry { status, holder, token, result, .. } = entry;
            (status.word().to_owned(), holder.clone(), *token, *result)
        })
    }
}
