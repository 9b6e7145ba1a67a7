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
//!
//! Within a batch one row after the other is found without a lock, locked without waiting,
//! and written where it was found, by its ctid. That is one walk of the index, however
//! little the planner knows of the table. A row that somebody has changed in between is
//! looked at again as it is locked; and its new version is not where it was found, so it
//! is passed over.

use std::thread::LocalKey;
use std::time::Instant as Monotonic;

use pgrx::datum::Interval;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::backend::clock;
use crate::backend::lock::{AdvisoryLock, Subject};
use crate::backend::rights::walking_indexes;
use crate::backend::statement::Statement;
use crate::backend::value::{Instant, Reply};
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
fn reap_stale_claims(older_than: default!(Option<Interval>, "'0'")) -> Result<Reply, ErrorReport> {
    let older_than_ms = input::older_than_ms(older_than)?;
    input::writable("reap_stale_claims")?;
    let answer = match AdvisoryLock::try_take(Subject::Reaper) {
        Some(_until_the_transaction_ends) => walking_indexes(|| reap(older_than_ms)),
        None => Answer::busy(),
    };
    Ok(Reply::from(&answer))
}

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
    /// A batch. The first row of the result counts it, the others are the claims that have
    /// ended, if $5.
    ///
    /// Claims that a pool counts are not among them: they end together with its count.
    END_BATCH =
        "WITH due AS MATERIALIZED (
             SELECT count(*) AS claims, max(expires_at) AS last
             FROM (SELECT expires_at FROM claims.slot_claims
                   WHERE status = 'claimed' AND expires_at > $1 AND expires_at <= $2
                     AND (units IS NULL OR period IS NOT NULL OR on_expiry = 'review')
                   ORDER BY expires_at FETCH FIRST $4 ROWS WITH TIES) AS batch),
         ended AS (
             UPDATE claims.slot_claims AS claim
             SET status = CASE on_expiry WHEN 'review' THEN 'review' ELSE 'expired' END,
                 expires_at = CASE on_expiry WHEN 'review' THEN expires_at END,
                 ended_at = CASE on_expiry WHEN 'review' THEN NULL ELSE $3 END,
                 ended_by = CASE on_expiry WHEN 'review' THEN NULL ELSE 'reaper' END
             FROM (SELECT ctid AS place FROM claims.slot_claims
                   WHERE status = 'claimed' AND expires_at > $1
                     AND expires_at <= (SELECT last FROM due)
                     AND (units IS NULL OR period IS NOT NULL OR on_expiry = 'review')
                   ORDER BY expires_at FOR NO KEY UPDATE SKIP LOCKED) AS had
             WHERE claim.ctid = had.place
             RETURNING claim.status, CASE WHEN $5 THEN claim.slot_id END AS slot_id,
                       claim.token, CASE WHEN $5 THEN claim.holder END AS holder)
         SELECT (SELECT claims FROM due), (SELECT last FROM due),
                count(*) FILTER (WHERE status = 'expired'),
                count(*) FILTER (WHERE status = 'review'), NULL, NULL, NULL, NULL
         FROM ended
         UNION ALL
         SELECT NULL, NULL, NULL, NULL, slot_id, token, holder, status = 'review'
         FROM ended WHERE $5";
}

#[derive(Default)]
struct Sum {
    expired: i64,
    in_review: i64,
    skipped: i64,
}

/// Ends what expired at `latest` or before.
fn end_expired(now: Instant, latest: Instant) -> Sum {
    let mut sum = Sum::default();
    let mut after = Some(Instant::EARLIEST);
    while let Some(expired_after) = after {
        let args = [
            expired_after.into(),
            latest.into(),
            now.into(),
            BATCH.into(),
            settings::notify().into(),
        ];
        let rows = END_BATCH.with(|end| {
            end.rows(&args, |row| match row.get(1) {
                Some(found) => Ended::Batch {
                    found,
                    last: row.get(2),
                    expired: row.must(3),
                    in_review: row.must(4),
                },
                None => Ended::Claim(notify::Change {
                    slot_id: row.get(5),
                    key: None,
                    token: row.must(6),
                    holder: row.get(7),
                    status: if row.must(8) { "review" } else { "expired" },
                }),
            })
        });
        after = None;
        for row in rows {
            match row {
                Ended::Batch { found, last, expired, in_review } => {
                    sum.expired += expired;
                    sum.in_review += in_review;
                    sum.skipped += found - expired - in_review;
                    after = last.filter(|_| found >= BATCH);
                }
                Ended::Claim(change) => notify::of(&change),
            }
        }
    }
    sum
}

/// A row of [`END_BATCH`].
enum Ended {
    Batch { found: i64, last: Option<Instant>, expired: i64, in_review: i64 },
    Claim(notify::Change),
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
    ///
    /// OFFSET 0 keeps the two questions what they are, one probe for each row; without it
    /// they become joins.
    PURGE_CLAIMS =
        "WITH old AS MATERIALIZED (
             SELECT count(*) AS claims, max(ended_at) AS last
             FROM (SELECT ended_at FROM claims.slot_claims
                   WHERE ended_at > $1 AND ended_at < $2
                   ORDER BY ended_at FETCH FIRST $3 ROWS WITH TIES) AS batch),
         gone AS (
             DELETE FROM claims.slot_claims AS claim
             USING (SELECT ctid AS place FROM claims.slot_claims AS claim
                    WHERE ended_at > $1 AND ended_at <= (SELECT last FROM old)
                      AND EXISTS (SELECT FROM claims.slot_claims AS later
                                  WHERE later.slot_id = claim.slot_id AND later.token > claim.token
                                  OFFSET 0)
                      AND NOT EXISTS (SELECT FROM claims.slot_claims AS late
                                      WHERE late.slot_id = claim.slot_id AND late.ended_at IS NULL
                                        AND late.origin = coalesce(claim.origin, claim.token)
                                      OFFSET 0)
                    ORDER BY ended_at FOR UPDATE OF claim SKIP LOCKED) AS had
             WHERE claim.ctid = had.place
             RETURNING 1)
         SELECT claims, last, (SELECT count(*) FROM gone) FROM old";

    PURGE_KEYS =
        "WITH old AS MATERIALIZED (
             SELECT count(*) AS keys, max(finished_at) AS last
             FROM (SELECT finished_at FROM claims.keys
                   WHERE finished_at > $1 AND finished_at < $2
                   ORDER BY finished_at FETCH FIRST $3 ROWS WITH TIES) AS batch),
         gone AS (
             DELETE FROM claims.keys AS entry
             USING (SELECT ctid AS place FROM claims.keys
                    WHERE finished_at > $1 AND finished_at <= (SELECT last FROM old)
                    ORDER BY finished_at FOR UPDATE SKIP LOCKED) AS had
             WHERE entry.ctid = had.place
             RETURNING 1)
         SELECT keys, last, (SELECT count(*) FROM gone) FROM old";

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
    ended: &Sum,
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
