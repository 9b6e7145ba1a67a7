//! A call, and how it is sent.

use std::fmt;

use crate::model::{KeyCall, SlotCall, Verdict};

/// A call about one of the round's slots or keys. What the lease is, no model needs to know.
#[derive(Clone)]
pub enum Call {
    Slot { slot: usize, call: SlotCall, lease_ms: u64 },
    Key { key: usize, call: KeyCall, lease_ms: u64 },
}

impl Call {
    /// The call as SQL, and its parameters after the first, which is the slot or the key. All of them
    /// are texts.
    pub fn sql(&self, me: &str) -> (&'static str, Vec<String>) {
        match self {
            Self::Slot { call, lease_ms, .. } => slot_sql(call, me, *lease_ms),
            Self::Key { call, lease_ms, .. } => key_sql(call, me, *lease_ms),
        }
    }

    /// Its name, to count it under.
    pub fn word(&self) -> String {
        word(self)
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slot { call, .. } => call.fmt(f),
            Self::Key { call, .. } => call.fmt(f),
        }
    }
}

/// The first word of what is printed of it.
pub fn word(of: &impl fmt::Debug) -> String {
    let told = format!("{of:?}");
    told.split([' ', '{']).next().unwrap_or_default().to_lowercase()
}

fn slot_sql(call: &SlotCall, me: &str, lease_ms: u64) -> (&'static str, Vec<String>) {
    let lease = format!("{lease_ms} ms");
    match call {
        SlotCall::Claim { holder, call_id, review } => {
            let on_expiry = if *review { "review" } else { "release" };
            (
                "claim_slot($1, $2, ttl => $3::interval, on_expiry => $4, call_id => $5)",
                vec![holder.clone(), lease, on_expiry.to_owned(), call_id.clone()],
            )
        }
        SlotCall::Confirm { holder, token } => {
            ("confirm_slot($1, $2, $3::bigint)", vec![holder.clone(), token.to_string()])
        }
        SlotCall::Release { holder, token, in_doubt } => (
            "release_slot($1, $2, $3::bigint, in_doubt => $4::boolean)",
            vec![holder.clone(), token.to_string(), in_doubt.to_string()],
        ),
        SlotCall::Extend { holder, token } => (
            "extend_slot($1, $2, $3::bigint, $4::interval)",
            vec![holder.clone(), token.to_string(), lease],
        ),
        SlotCall::Cancel { token } => {
            ("cancel_slot($1, $2, $3::bigint)", vec![me.to_owned(), token.to_string()])
        }
        SlotCall::Resolve { holder, token, verdict } => {
            let verdict = match verdict {
                Verdict::Booked => "booked",
                Verdict::Released => "released",
            };
            (
                "resolve_slot($1, $2, $3::bigint, $4)",
                vec![holder.clone(), token.to_string(), verdict.to_owned()],
            )
        }
    }
}

fn key_sql(call: &KeyCall, me: &str, lease_ms: u64) -> (&'static str, Vec<String>) {
    let lease = format!("{lease_ms} ms");
    match call {
        KeyCall::Begin { holder, call_id } => (
            "begin_key($1, $2, lease => $3::interval, call_id => $4)",
            vec![holder.clone(), lease, call_id.clone()],
        ),
        KeyCall::Finish { holder, token, outcome, result } => (
            "finish_key($1, $2, $3::bigint, $4::jsonb, $5)",
            vec![holder.clone(), token.to_string(), result.to_string(), (*outcome).to_owned()],
        ),
        KeyCall::Extend { holder, token } => (
            "extend_key($1, $2, $3::bigint, $4::interval)",
            vec![holder.clone(), token.to_string(), lease],
        ),
        KeyCall::Reset => ("reset_key($1, $2)", vec![me.to_owned()]),
    }
}
