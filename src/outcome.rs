//! The JSON contract: what every function answers.
//!
//! One object: `ok` (go on, or don't), `outcome` (one word), `message` (a sentence that
//! can be shown to a person), then the facts. A fact that does not apply is left out.

use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::backend::value::{Instant, Json};
use crate::slots::OnExpiry;
use crate::soundness::Violation;

/// The words of `outcome`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Absent,
    AlreadyCancelled,
    AlreadyConfirmed,
    AlreadyFinished,
    AlreadyReleased,
    AlreadyVoid,
    AlreadyYours,
    Ambiguous,
    Applied,
    Booked,
    Busy,
    Cancelled,
    Claimed,
    Confirmed,
    ConfirmedLate,
    Conflict,
    Created,
    Disowned,
    Done,
    Exists,
    Expired,
    Extended,
    Failed,
    Finished,
    Found,
    Free,
    Insufficient,
    Issued,
    Lost,
    Merged,
    Mismatch,
    Moved,
    NotBooked,
    NotHolder,
    NotInReview,
    NotOwner,
    NotReached,
    Overdue,
    Owned,
    Pending,
    Reaped,
    Reclaimed,
    Rejected,
    Released,
    Replay,
    Replayed,
    Reset,
    Review,
    Run,
    Set,
    Scheduled,
    Sound,
    Taken,
    Tracked,
    Unchanged,
    Unknown,
    Unscheduled,
    Unsound,
    Untracked,
    Verify,
    Voided,
    Wait,
}

/// An answer. `holder` is always the caller's own, as it was given: a workflow passes
/// `holder` and `token` of an answer on to its next call, and must never settle somebody
/// else's claim with them. Whoever else is concerned is `held_by`, `lost_to` or
/// `previous_holder`. Only check_slot, which has no caller, reports a claim's own.
///
/// The fields stand in the order in which jsonb keeps them, by length and then by name, so
/// that it finds them sorted.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct Answer {
    pub ok: bool,
    /// The job of pg_cron that runs the reaper.
    pub job: Option<String>,
    pub key: Option<String>,
    pub row: Option<Json>,
    pub free: Option<Vec<FreePeriod>>,
    pub hint: Option<String>,
    /// How many pending keys had their lease ended.
    pub keys: Option<u64>,
    pub span: Option<String>,
    /// The answer that this call came after, or did not go beyond.
    pub after: Option<Json>,
    /// A field that somebody owns, and who.
    pub field: Option<String>,
    pub label: Option<String>,
    /// The fields that others have changed since the base version.
    pub moved: Option<Vec<String>>,
    pub owner: Option<String>,
    pub taken: Option<i32>,
    pub token: Option<i64>,
    pub units: Option<i32>,
    pub yours: Option<bool>,
    pub claims: Option<Vec<Json>>,
    pub fields: Option<Vec<String>>,
    pub holder: Option<String>,
    pub job_id: Option<i64>,
    pub number: Option<i64>,
    pub origin: Option<i64>,
    pub reason: Option<String>,
    pub result: Option<Json>,
    pub row_id: Option<String>,
    pub series: Option<String>,
    pub status: Option<&'static str>,
    pub ttl_ms: Option<i64>,
    pub writer: Option<String>,
    pub attempt: Option<i32>,
    pub ends_at: Option<Instant>,
    /// How many claims the reaper ended.
    pub expired: Option<i64>,
    pub held_by: Option<String>,
    pub lost_to: Option<String>,
    pub message: &'static str,
    pub outcome: Outcome,
    pub skipped: Option<u64>,
    pub slot_id: Option<String>,
    pub took_ms: Option<i64>,
    pub version: Option<i64>,
    pub capacity: Option<i32>,
    pub ended_at: Option<Instant>,
    pub ended_by: Option<String>,
    pub lease_ms: Option<i64>,
    pub overhang: Option<i32>,
    pub released: Option<u64>,
    pub replayed: Option<bool>,
    pub schedule: Option<String>,
    pub available: Option<i32>,
    pub conflicts: Option<Vec<Conflict>>,
    pub in_review: Option<u64>,
    pub issued_at: Option<Instant>,
    pub on_expiry: Option<OnExpiry>,
    pub starts_at: Option<Instant>,
    pub claimed_at: Option<Instant>,
    pub expires_at: Option<Instant>,
    /// What became of the key that a refused claim had begun.
    pub key_status: Option<&'static str>,
    pub lost_since: Option<Instant>,
    pub started_at: Option<Instant>,
    pub table_name: Option<String>,
    pub violations: Option<Vec<Violation>>,
    pub finished_at: Option<Instant>,
    pub keep_values: Option<bool>,
    pub purged_keys: Option<i64>,
    pub base_version: Option<i64>,
    pub keys_overdue: Option<i64>,
    pub remaining_ms: Option<i64>,
    pub purged_claims: Option<i64>,
    pub retry_after_ms: Option<i64>,
    pub version_column: Option<String>,
    pub previous_holder: Option<String>,
    pub violation_count: Option<i64>,
}

impl Answer {
    /// Go on.
    pub fn yes(outcome: Outcome, message: &'static str) -> Self {
        Self::new(true, outcome, message)
    }

    /// Don't.
    pub fn no(outcome: Outcome, message: &'static str) -> Self {
        Self::new(false, outcome, message)
    }

    /// Somebody else is at work on the same slot at this moment.
    pub fn busy() -> Self {
        Self {
            retry_after_ms: Some(BUSY_RETRY_AFTER_MS),
            ..Self::no(
                Outcome::Busy,
                "Somebody else is working on this right now; try again in a moment.",
            )
        }
    }

    /// The call that this one was to come after said no.
    pub fn not_reached() -> Self {
        Self::no(Outcome::NotReached, "The step before this one said no, so nothing was done.")
    }

    /// Whether waiting may help: a lease in the way can end by itself.
    pub fn may_pass(&self) -> bool {
        match self.outcome {
            Outcome::Taken => self.status == Some("claimed"),
            Outcome::Insufficient => true,
            _ => false,
        }
    }

    fn new(ok: bool, outcome: Outcome, message: &'static str) -> Self {
        Self {
            ok,
            outcome,
            message,
            slot_id: None,
            holder: None,
            token: None,
            status: None,
            starts_at: None,
            ends_at: None,
            units: None,
            available: None,
            capacity: None,
            taken: None,
            overhang: None,
            claims: None,
            free: None,
            series: None,
            number: None,
            label: None,
            span: None,
            issued_at: None,
            claimed_at: None,
            expires_at: None,
            ended_at: None,
            ended_by: None,
            ttl_ms: None,
            remaining_ms: None,
            retry_after_ms: None,
            on_expiry: None,
            origin: None,
            replayed: None,
            reason: None,
            result: None,
            held_by: None,
            previous_holder: None,
            lost_to: None,
            lost_since: None,
            yours: None,
            hint: None,
            released: None,
            in_review: None,
            skipped: None,
            key: None,
            attempt: None,
            lease_ms: None,
            started_at: None,
            finished_at: None,
            key_status: None,
            keys: None,
            expired: None,
            keys_overdue: None,
            purged_claims: None,
            purged_keys: None,
            took_ms: None,
            job: None,
            job_id: None,
            schedule: None,
            table_name: None,
            row_id: None,
            version: None,
            base_version: None,
            row: None,
            writer: None,
            fields: None,
            moved: None,
            conflicts: None,
            field: None,
            owner: None,
            version_column: None,
            keep_values: None,
            violation_count: None,
            violations: None,
            after: None,
        }
    }
}

/// A time at which a claim of the period would succeed now.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct FreePeriod {
    pub starts_at: Instant,
    pub ends_at: Instant,
    /// Of a pool: how many units are left for that time.
    pub available: Option<i32>,
}

/// A field that two writers have changed.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct Conflict {
    pub field: String,
    pub yours: Json,
    /// The value in the row now.
    pub theirs: Json,
    /// The value that both began with, where the history has it.
    pub base: Option<Json>,
    pub changed_by: Option<String>,
    pub changed_at: Option<Instant>,
}

const BUSY_RETRY_AFTER_MS: i64 = 1000;
