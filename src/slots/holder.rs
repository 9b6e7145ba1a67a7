//! release_holder

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::{Change, OnExpiry, Status, change, read_claim};
use crate::backend::clock;
use crate::backend::lock::Subject;
use crate::backend::value::Reply;
use crate::input;
use crate::keys;
use crate::outcome::{Answer, Outcome};
use crate::statement;
use crate::turn::{Patience, Turn, take_turns};

/// Ends what a dead run has left behind, for an error workflow: each unconfirmed claim
/// of the holder ends as its own on_expiry says (released, or into review), and the leases of its
/// pending keys end, so that the next begin_key is told to verify at once. What is booked
/// stays booked.
///
/// Arguments:
///   holder   the holder whose claims end; NULL: nothing is done (a workflow that failed
///            to start has no execution)
///   reason   kept in claims.history
///
/// Outcomes: released (ok; released, in_review and keys say how many), busy (skipped
/// says how many somebody else was at work on, or how many are left
/// after a thousand: call again).
///
/// Raises 22023 for a bad holder, 0A000 above READ COMMITTED, 25006 where nothing can be
/// written.
///
/// Source: n8n's error workflow, which gets execution.id and knows nothing else.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn release_holder(
    holder: Option<String>,
    reason: default!(Option<String>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let holder = input::optional_name("holder", holder)?;
    let reason = input::reason(reason);
    input::writable("release_holder")?;
    let answer = match holder.as_deref() {
        Some(holder) => release_all(holder, reason.as_deref()),
        None => Answer {
            released: Some(0),
            in_review: Some(0),
            keys: Some(0),
            ..Answer::yes(Outcome::Released, "No holder was named, so nothing was done.")
        },
    };
    Ok(Reply::from(&Answer { holder, ..answer }))
}

statement! {
    /// The reaper's index holds the open claims only, so this reads no more than those.
    READ_OPEN =
        "SELECT slot_id, token FROM claims.slot_claims
         WHERE status = 'claimed' AND holder = $1 ORDER BY slot_id, token";
}

/// Each takes a place in the server's lock table until the transaction ends.
const MOST_CLAIMS: usize = 1000;

fn release_all(holder: &str, reason: Option<&str>) -> Answer {
    let open: Vec<(String, i64)> =
        READ_OPEN.with(|read| read.rows(&[holder.into()], |row| (row.must(1), row.must(2))));
    let (mut released, mut in_review, mut skipped) = (0, 0, 0);
    skipped += open.len().saturating_sub(MOST_CLAIMS) as u64;
    // One patience for all of them: the call as a whole stays within its bound.
    let mut patience = Patience::for_lock();
    for (slot_id, token) in open.iter().take(MOST_CLAIMS) {
        let became = take_turns(&[Subject::Slot(slot_id)], &mut patience, |turn| {
            end(turn, slot_id, *token, holder, reason)
        });
        match became {
            Some(Some(Status::Released)) => released += 1,
            Some(Some(_)) => in_review += 1,
            Some(None) => {}
            None => skipped += 1,
        }
    }
    let (keys, skipped_keys) = keys::end_leases(holder, &mut patience);
    let answer = match skipped + skipped_keys {
        0 => Answer::yes(Outcome::Released, "The holder's unconfirmed claims have ended."),
        skipped => Answer { skipped: Some(skipped), ..Answer::busy() },
    };
    Answer { released: Some(released), in_review: Some(in_review), keys: Some(keys), ..answer }
}

/// Ends one claim by its own on_expiry, and says what became of it: nothing, if it was
/// booked or ended before its turn came. `None`: look again.
fn end(
    turn: &mut Turn,
    slot_id: &str,
    token: i64,
    holder: &str,
    reason: Option<&str>,
) -> Option<Option<Status>> {
    let open = read_claim(slot_id, token).filter(|claim| claim.status == Status::Claimed);
    let Some(claim) = open else { return Some(None) };
    let now = clock::now();
    let to = match claim.on_expiry {
        OnExpiry::Release => Change::end(Status::Released, now, holder),
        OnExpiry::Review => Change {
            expires_at: claim.expires_at.map(|end| end.min(now)),
            ..Change::to(Status::Review)
        },
    };
    change(turn, slot_id, &claim, &Change { reason, ..to }).map(|ended| Some(ended.status))
}
