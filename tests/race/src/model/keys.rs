//! Keys: begin_key and the calls that follow it.

use serde_json::{Value, json};

use super::{Expected, Finish, Lease, Model, no, refused, yes};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyStatus {
    Pending,
    Done,
    Failed,
    Rejected,
    Reset,
}

#[derive(Debug, Clone)]
pub(super) struct Key {
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

impl Model {
    pub(super) fn begin_key(
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

    pub(super) fn finish_key(
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

    pub(super) fn check_key(&self, key: &str) -> Expected {
        let outcomes = match self.keys.get(key) {
            None => vec!["absent"],
            // What a key is called that was reset and not yet begun again is left open.
            Some(found) => found.status_word().into_iter().collect(),
        };
        Expected::Answer { ok: None, outcomes, facts: vec![] }
    }

    pub(super) fn extend_key(&mut self, key: &str, holder: &str, token: i64) -> Expected {
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

    pub(super) fn reset_key(&mut self, key: &str) -> Expected {
        let Some(found) = self.keys.get_mut(key) else { return no("absent") };
        found.grants.push(None);
        (found.status, found.call_id) = (KeyStatus::Reset, None);
        yes("reset")
    }

    // What a driver may ask, to choose calls that hit something.

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

    pub(super) fn end_leases_of(&mut self, holder: &str) {
        for key in self.keys.values_mut() {
            if key.status == KeyStatus::Pending && key.holder() == Some(holder) {
                key.lease = Lease::Short;
            }
        }
    }

    pub(super) fn give_up(&mut self, key: &str) {
        self.keys.get_mut(key).expect("the key was begun").status = KeyStatus::Failed;
    }

    /// As (key, token, holder, status).
    pub(super) fn key_rows(&self) -> Vec<Value> {
        let row = |(name, key): (&String, &Key)| {
            json!([name, key.token(), key.holder(), key.status_word()])
        };
        self.keys.iter().map(row).collect()
    }
}
