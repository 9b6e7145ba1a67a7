//! pg_claims.notify: a small JSON on the channel `pg_claims` at each change of state, for
//! n8n's Postgres Trigger in listen mode.
//!
//! Identifiers have 500 bytes at the most, so a payload never comes near the 8,000 that
//! PostgreSQL allows.

use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::settings;
use crate::statement;

#[skip_serializing_none]
#[derive(Serialize)]
pub struct Change {
    pub slot_id: Option<String>,
    pub key: Option<String>,
    pub token: i64,
    pub holder: Option<String>,
    pub status: &'static str,
}

statement! {
    NOTIFY = "SELECT pg_catalog.pg_notify('pg_claims', $1)";
}

/// Tells of a change; it is heard when the transaction commits.
pub fn of(change: &Change) {
    if settings::notify() {
        let payload = serde_json::to_string(change).expect("a change always serialises");
        NOTIFY.with(|notify| notify.run(&[payload.into()]));
    }
}
