//! reap_stale_claims
//!
//! Nothing depends on the reaper: expiry is judged when it is read. It writes down what
//! has expired, so that the tables say what the functions say, and deletes what is past
//! the retention.
//!
//! Everything is walked in batches along an index, each batch beginning behind the last
//! one: a batch never meets the rows of the batches before, and nothing but counts is
//! kept. Claims that share an instant are in one batch, however many they are, so that
//! the instant alone says where the next one begins.

use std::thread::LocalKey;
use std::time::Instant as Monotonic;

use pgrx::datum::Interval;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::backend::clock;
use crate::backend::lock::{AdvisoryLock, Subject};
use crate::backend::statement::Statement;
use crate::backend::value::{Instant, Json};
use crate::input;
use crate::notify;
use crate::outcome::{Answer, Outcome};
use crate::rows;
use crate::settings;
use crate::slots::pool;
use crate::statement;

/// Ends the claims whose lease has run out, by their own on_expiry: released, or into
/// review. Once an hour it also deletes ended claims, finished keys and the history of rows
/// that are older than pg_claims.retention, but never the last claim of a slot. A pending key past its lease
/// is counted and left alone: only evidence resolves it.
///
/// Arguments:
///   older_than   only claims whose lease ran out longer ago than that, from 0 to 100 years
///
/// Outcomes: reaped (ok; expired and in_review say how many claims ended, skipped how many
/// somebody else was at work on, keys_overdue how many keys begin_key would verify,
/// purged_claims and purged_keys how many were deleted, if it was time for that), busy
/// (another call is at it).
///
/// Each run is recorded in claims.reaper_runs. The claims that it ends stay locked until
/// its transaction ends, so it is called alone.
///
/// Raises 22004 or 22023 for bad input, 0A000 above READ COMMITTED, 25006 where nothing
/// can be written.
///
/// Source: the rescuer and the cleaner of job queues, as in River.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn reap_stale_claims(older_than: default!(Option<Interval>, "'0'")) -> Result<Json, ErrorReport> {
    let older_than_ms = input::older_than_ms(older_than)?;
    input::writable("reap_stale_claims")?;
    let answer = match AdvisoryLock::try_take(Subject::Reaper) {
        Some(_until_the_transaction_ends) => reap(older_than_ms),
        None => Answer::busy(),
    };
    Ok(Json::from(&answer))
}

extension_sql!(
    r#"
-- However many rows there are, and whatever is known of them when the statements are
-- planned: the reaper walks indexes.
ALTER FUNCTION reap_stale_claims SET enable_seqscan = off;
ALTER FUNCTION reap_stale_claims SET enable_bitmapscan = off;
ALTER FUNCTION reap_stale_claims SET enable_hashjoin = off;
ALTER FUNCTION reap_stale_claims SET enable_mergejoin = off;
"#,
    name = "reaper_walks_indexes",
    requires = [reap_stale_claims]
);

fn reap(older_than_ms: i64) -> Answer {
    let begun = Monotonic::now();
    let now = clock::now();
    let latest = now.plus_ms(-older_than_ms);
    let mut ended = end_expired(now, latest);
    let (units_expired, units_skipped) = pool::reap(latest, now, "reaper");
    ended.expired += units_expired;
    ended.skipped += units_skipped;
    let keys_overdue = count_overdue_keys(now);
    let purged = is_time_to_purge(now).then(|| purge(now.plus_ms(-settings::retention_ms())));
    let took_ms = begun.elapsed().as_millis() as i64;
    record(now, took_ms, older_than_ms, &ended, keys_overdue, purged.as_ref());
    Answer {
        expired: Some(ended.expired),
        in_review: Some(ended.in_review as u64),
        skipped: Some(ended.skipped as u64),
        keys_overdue: Some(keys_overdue),
        purged_claims: purged.as_ref().map(|purged| purged.claims),
        purged_keys: purged.as_ref().map(|purged| purged.keys),
        took_ms: Some(took_ms),
        ..Answer::yes(Outcome::Reaped, "What had expired has ended.")
    }
}

/// How many rows a batch has at the least, unless it is the last one.
const BATCH: i64 = 10_000;

statement! {
    /// A batch. The claims are found without a lock, then locked without waiting, then
    /// changed only if they still are what was found: one that has been renewed, booked or
    /// taken anew in between is left alone. The first row of the result is about what was
    /// found, the others about what was changed: one a status, or with $5 one a claim.
    ///
    /// Claims that a pool counts are not among them: they end together with its count.
    END_BATCH =
        "WITH due AS MATERIALIZED (
             SELECT slot_id, token, expires_at FROM claims.slot_claims
             WHERE status = 'claimed' AND expires_at > $1 AND expires_at <= $2
               AND (units IS NULL OR period IS NOT NULL OR on_expiry = 'review')
             ORDER BY expires_at FETCH FIRST $4 ROWS WITH TIES),
         had AS MATERIALIZED (
             SELECT claim.slot_id, claim.token
             FROM due JOIN claims.slot_claims AS claim USING (slot_id, token)
             WHERE claim.status = 'claimed' AND claim.expires_at <= $2
             FOR NO KEY UPDATE OF claim SKIP LOCKED),
         ended AS (
             UPDATE claims.slot_claims AS claim
             SET status = CASE on_expiry WHEN 'review' THEN 'review' ELSE 'expired' END,
                 expires_at = CASE on_expiry WHEN 'review' THEN expires_at END,
                 ended_at = CASE on_expiry WHEN 'review' THEN NULL ELSE $3 END,
                 ended_by = CASE on_expiry WHEN 'review' THEN NULL ELSE 'reaper' END
             FROM had
             WHERE claim.slot_id = had.slot_id AND claim.token = had.token
               AND claim.status = 'claimed' AND claim.expires_at <= $2
             RETURNING claim.slot_id, claim.token, claim.holder, claim.status)
         SELECT NULL, count(*), max(expires_at), NULL, NULL, NULL FROM due
         UNION ALL
         SELECT status, count(*), NULL, CASE WHEN $5 THEN slot_id END,
                CASE WHEN $5 THEN token END, CASE WHEN $5 THEN holder END
         FROM ended GROUP BY 1, 4, 5, 6
         ORDER BY 4, 5";
}

#[derive(Default)]
struct Ended {
    expired: i64,
    in_review: i64,
    skipped: i64,
}

/// Ends what expired at `latest` or before.
fn end_expired(now: Instant, latest: Instant) -> Ended {
    let mut ended = Ended::default();
    let mut after = Some(Instant::EARLIEST);
    while let Some(expired_after) = after {
        let args = [
            expired_after.into(),
            latest.into(),
            now.into(),
            BATCH.into(),
            settings::notify().into(),
        ];
        let batch = END_BATCH.with(|end| {
            end.rows(&args, |row| Group {
                status: row.get(1),
                count: row.must(2),
                last: row.get(3),
                claim: row.get(4).zip(row.get(5)).zip(row.get(6)),
            })
        });
        let mut left = 0;
        after = None;
        for group in &batch {
            match group.status.as_deref() {
                None => {
                    left += group.count;
                    after = group.last.filter(|_| group.count >= BATCH);
                }
                Some("review") => {
                    left -= group.count;
                    ended.in_review += group.count;
                    group.announce("review");
                }
                Some(_) => {
                    left -= group.count;
                    ended.expired += group.count;
                    group.announce("expired");
                }
            }
        }
        ended.skipped += left;
    }
    ended
}

/// A row of [`END_BATCH`].
struct Group {
    status: Option<String>,
    count: i64,
    last: Option<Instant>,
    claim: Option<((String, i64), String)>,
}

impl Group {
    fn announce(&self, status: &'static str) {
        if let Some(((slot_id, token), holder)) = &self.claim {
            notify::of(&notify::Change {
                slot_id: Some(slot_id.clone()),
                key: None,
                token: *token,
                holder: Some(holder.clone()),
                status,
            });
        }
    }
}

statement! {
    COUNT_OVERDUE_KEYS =
        "SELECT count(*) FROM claims.keys WHERE status = 'pending' AND lease_expires_at <= $1";

    LAST_PURGE =
        "SELECT started_at FROM claims.reaper_runs
         WHERE purged_claims IS NOT NULL ORDER BY started_at DESC LIMIT 1";
}

fn count_overdue_keys(now: Instant) -> i64 {
    COUNT_OVERDUE_KEYS.with(|count| count.first(&[now.into()], |row| row.must(1))).unwrap_or(0)
}

/// The last claim of each slot that ever was stays, and is walked over each time.
const PURGE_EVERY_MS: i64 = 60 * 60 * 1000;

fn is_time_to_purge(now: Instant) -> bool {
    let last: Option<Instant> = LAST_PURGE.with(|last| last.first(&[], |row| row.must(1)));
    last.is_none_or(|last| last <= now.plus_ms(-PURGE_EVERY_MS))
}

struct Purged {
    claims: i64,
    keys: i64,
}

/// Deletes what had ended before `oldest`.
fn purge(oldest: Instant) -> Purged {
    let claims = purge_in_batches(&PURGE_CLAIMS, oldest);
    let keys = purge_in_batches(&PURGE_KEYS, oldest);
    rows::purge(oldest);
    PURGE_RUNS.with(|purge| purge.run(&[oldest.into()]));
    Purged { claims, keys }
}

statement! {
    /// The last claim of a slot stays, as the next token is counted from it. That there is
    /// a later one is looked at here and now; and a later one that is there does not go
    /// before this one, since only the reaper deletes. What lives on in a later row stays
    /// too, as its token goes on meaning that one.
    PURGE_CLAIMS =
        "WITH old AS MATERIALIZED (
             SELECT slot_id, token, ended_at FROM claims.slot_claims
             WHERE ended_at > $1 AND ended_at < $2
             ORDER BY ended_at FETCH FIRST $3 ROWS WITH TIES),
         had AS MATERIALIZED (
             SELECT claim.slot_id, claim.token
             FROM old JOIN claims.slot_claims AS claim USING (slot_id, token)
             WHERE claim.ended_at < $2
               AND EXISTS (SELECT FROM claims.slot_claims AS later
                           WHERE later.slot_id = claim.slot_id AND later.token > claim.token)
               AND NOT EXISTS (SELECT FROM claims.slot_claims AS late
                               WHERE late.slot_id = claim.slot_id AND late.ended_at IS NULL
                                 AND late.origin = coalesce(claim.origin, claim.token))
             FOR UPDATE OF claim SKIP LOCKED),
         gone AS (
             DELETE FROM claims.slot_claims AS claim USING had
             WHERE claim.slot_id = had.slot_id AND claim.token = had.token AND claim.ended_at < $2
             RETURNING 1)
         SELECT count(*), max(ended_at), (SELECT count(*) FROM gone) FROM old";

    PURGE_KEYS =
        "WITH old AS MATERIALIZED (
             SELECT key, finished_at FROM claims.keys
             WHERE finished_at > $1 AND finished_at < $2
             ORDER BY finished_at FETCH FIRST $3 ROWS WITH TIES),
         had AS MATERIALIZED (
             SELECT entry.key FROM old JOIN claims.keys AS entry USING (key)
             WHERE entry.finished_at < $2
             FOR UPDATE OF entry SKIP LOCKED),
         gone AS (
             DELETE FROM claims.keys AS entry USING had
             WHERE entry.key = had.key AND entry.finished_at < $2
             RETURNING 1)
         SELECT count(*), max(finished_at), (SELECT count(*) FROM gone) FROM old";

    PURGE_RUNS = "DELETE FROM claims.reaper_runs WHERE started_at < $1";
}

fn purge_in_batches(batch: &'static LocalKey<Statement>, oldest: Instant) -> i64 {
    let mut purged = 0;
    let mut after = Some(Instant::EARLIEST);
    while let Some(ended_after) = after {
        let args = [ended_after.into(), oldest.into(), BATCH.into()];
        let (found, last, gone): (i64, Option<Instant>, i64) = batch
            .with(|batch| batch.first(&args, |row| (row.must(1), row.get(2), row.must(3))))
            .unwrap_or_default();
        purged += gone;
        after = last.filter(|_| found >= BATCH);
    }
    purged
}

statement! {
    /// Two runs never begin at one instant, unless somebody sets the clock back.
    RECORD =
        "INSERT INTO claims.reaper_runs
             (started_at, took_ms, role, older_than, expired, in_review, skipped,
              keys_overdue, purged_claims, purged_keys)
         VALUES ($1, $2, session_user, $3 * interval '1 ms', $4, $5, $6, $7, $8, $9)
         ON CONFLICT DO NOTHING";
}

fn record(
    now: Instant,
    took_ms: i64,
    older_than_ms: i64,
    ended: &Ended,
    keys_overdue: i64,
    purged: Option<&Purged>,
) {
    let args = [
        now.into(),
        took_ms.into(),
        older_than_ms.into(),
        ended.expired.into(),
        ended.in_review.into(),
        ended.skipped.into(),
        keys_overdue.into(),
        purged.map(|purged| purged.claims).into(),
        purged.map(|purged| purged.keys).into(),
    ];
    RECORD.with(|record| record.run(&args));
}
