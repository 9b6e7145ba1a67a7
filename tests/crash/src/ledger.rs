//! What was acknowledged must be in the tables, after every crash and for good.

use std::collections::HashSet;
use std::sync::Mutex;

use tokio_postgres::Error;

use crate::Fault;
use crate::connection::Connection;
use crate::model::{Answer, ClaimRow, KeyCall, SlotCall};
use crate::tables::Tables;

#[derive(Default)]
pub struct Ledger(Mutex<Entries>);

#[derive(Clone, Default)]
struct Entries {
    granted: Vec<(String, i64, String)>,
    confirmed: Vec<(String, i64)>,
    /// Sent, whether or not it was heard of again.
    cancelling: Vec<(String, i64)>,
    let_in: Vec<(String, i64)>,
    finished: Vec<(String, i64, String, i64)>,
    resetting: HashSet<String>,
}

impl Ledger {
    pub fn slot_sent(&self, slot: &str, call: &SlotCall) {
        if let SlotCall::Cancel { token } = call {
            self.0.lock().unwrap().cancelling.push((slot.to_owned(), *token));
        }
    }

    pub fn slot_answered(&self, slot: &str, call: &SlotCall, answer: &Answer) {
        let mut entries = self.0.lock().unwrap();
        match (call, answer.outcome.as_str()) {
            (SlotCall::Claim { holder, .. }, "claimed" | "reclaimed") => {
                let token = answer.token.expect("a grant has a token");
                entries.granted.push((slot.to_owned(), token, holder.clone()));
            }
            (
                SlotCall::Confirm { token, .. },
                "confirmed" | "confirmed_late" | "already_confirmed",
            ) => entries.confirmed.push((slot.to_owned(), *token)),
            _ => {}
        }
    }

    pub fn key_sent(&self, key: &str, call: &KeyCall) {
        if let KeyCall::Reset = call {
            self.0.lock().unwrap().resetting.insert(key.to_owned());
        }
    }

    pub fn key_answered(&self, key: &str, call: &KeyCall, answer: &Answer) {
        let mut entries = self.0.lock().unwrap();
        match (call, answer.outcome.as_str()) {
            (KeyCall::Begin { .. }, "run" | "verify") => {
                let token = answer.token.expect("a grant has a token");
                entries.let_in.push((key.to_owned(), token));
            }
            (KeyCall::Finish { token, result, .. }, outcome @ ("done" | "rejected")) => {
                entries.finished.push((key.to_owned(), *token, outcome.to_owned(), *result));
            }
            _ => {}
        }
    }

    /// What of it is not in the tables.
    pub async fn missing(&self, admin: &Connection) -> Result<Vec<Fault>, Error> {
        // First what was acknowledged, then the tables, then what may have undone it.
        let acknowledged = self.0.lock().unwrap().clone();
        let tables = Tables::read(admin, "").await?;
        let (cancelling, resetting) = {
            let entries = self.0.lock().unwrap();
            (entries.cancelling.clone(), entries.resetting.clone())
        };
        let mut missing = Vec::new();
        for (slot, token, holder) in acknowledged.granted {
            let row = row(tables.claims(&slot), token);
            if row.is_none_or(|row| row.1 != holder) {
                missing.push(format!("{slot}: {holder} was granted token {token}: {row:?}"));
            }
        }
        let meant = |slot, token| meant(tables.claims(slot), token);
        let cancelled: HashSet<_> =
            cancelling.iter().map(|(slot, token)| (slot, meant(slot, *token))).collect();
        for (slot, token) in &acknowledged.confirmed {
            let now = meant(slot, *token);
            let is_kept = match now.map(|row| row.2.as_str()) {
                Some("booked") => true,
                Some("cancelled") => cancelled.contains(&(slot, now)),
                _ => false,
            };
            if !is_kept {
                missing.push(format!("{slot}: token {token} was confirmed: {now:?}"));
            }
        }
        for (key, token) in acknowledged.let_in {
            let row = tables.key(&key);
            if row.is_none_or(|row| row.2 < token) {
                missing.push(format!("{key}: token {token} was let in: {row:?}"));
            }
        }
        for (key, token, status, result) in acknowledged.finished {
            let row = tables.key(&key);
            let is_kept =
                row.is_some_and(|row| row.0 == status && row.2 == token && row.3 == Some(result));
            if !is_kept && !resetting.contains(&key) {
                missing.push(format!("{key}: token {token} was {status}: {row:?}"));
            }
        }
        Ok(missing.into_iter().map(Fault).collect())
    }
}

fn row(claims: &[ClaimRow], token: i64) -> Option<&ClaimRow> {
    claims.iter().find(|row| row.0 == token)
}

/// The claim that a token means: itself while it is active, or else the last one it is the origin of.
fn meant(claims: &[ClaimRow], token: i64) -> Option<&ClaimRow> {
    let claim = row(claims, token)?;
    if let "claimed" | "booked" | "review" = claim.2.as_str() {
        return Some(claim);
    }
    let origin = Some(claim.3.unwrap_or(token));
    claims.iter().rfind(|late| late.3 == origin).or(Some(claim))
}
