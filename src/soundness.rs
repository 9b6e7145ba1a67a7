//! check_claims: looks through the tables for what must not be.
//!
//! Constraints refuse most of it. What is looked for here is what a restore, a disabled
//! constraint, a hand in the tables or a fault of the extension itself can leave behind.

use std::thread::LocalKey;

use pgrx::prelude::*;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::backend::clock;
use crate::backend::statement::Statement;
use crate::backend::value::Reply;
use crate::outcome::{Answer, Outcome};
use crate::statement;

/// Looks through all claims and keys for what must not be, whatever the callers do. It
/// reads the tables whole: for a person or a nightly job, not for a workflow.
///
/// Outcomes: sound (ok), unsound (violation_count says how many things are wrong, and
/// violations has the first ten of each kind: what, what it means, and where: slot_id or
/// key with its tokens, or name).
///
/// Works on a standby, in a read-only transaction and at every isolation level, as of the
/// snapshot that it gets there.
///
/// Source: PostgreSQL's amcheck.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn check_claims() -> Reply {
    let mut count = 0;
    let mut violations = Vec::new();
    for check in CHECKS {
        let (found, first) = check.look();
        count += found;
        violations.extend(first);
    }
    let answer = match count {
        0 => Answer::yes(Outcome::Sound, "Everything is as it must be."),
        _ => Answer::no(Outcome::Unsound, "Some claims or keys are as they must never be."),
    };
    Reply::from(&Answer { violation_count: Some(count), violations: Some(violations), ..answer })
}

/// Of one kind. Where there are more, the first ones say what has happened.
const MOST_SHOWN: i64 = 10;

/// One thing that must not be, where it was found.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct Violation {
    what: &'static str,
    means: &'static str,
    slot_id: Option<String>,
    key: Option<String>,
    name: Option<String>,
    tokens: Option<Vec<Option<i64>>>,
}

/// Something to look for.
struct Check {
    /// One word for a program.
    what: &'static str,
    /// One sentence for a person.
    means: &'static str,
    /// `$1` is the clock, `$2` how many to show. A row is slot_id, key, name and tokens, of
    /// which those that do not apply are NULL, and how many there are in all.
    statement: &'static LocalKey<Statement>,
}

impl Check {
    /// How many there are, and the first of them.
    fn look(&self) -> (i64, impl Iterator<Item = Violation>) {
        let args = [clock::now().into(), MOST_SHOWN.into()];
        let found = self.statement.with(|look| {
            look.rows(&args, |row| {
                let violation = Violation {
                    what: self.what,
                    means: self.means,
                    slot_id: row.get(1),
                    key: row.get(2),
                    name: row.get(3),
                    tokens: row.get(4),
                };
                (row.must::<i64>(5), violation)
            })
        });
        let count = found.first().map_or(0, |(count, _)| *count);
        (count, found.into_iter().map(|(_, violation)| violation))
    }
}

/// A statement of a [`Check`], around the query that finds what is wrong.
macro_rules! finding {
    ($columns:expr, $query:expr) => {
        concat!(
            "SELECT ",
            $columns,
            ", count(*) OVER () FROM (",
            $query,
            ") AS found
             ORDER BY 1, 2, 3, 4 LIMIT $2"
        )
    };
}

/// About single claims: the condition under which one is wrong.
macro_rules! claims_where {
    ($condition:literal) => {
        finding!(
            "slot_id, NULL::text, NULL::text, ARRAY[token]",
            concat!("SELECT slot_id, token FROM claims.slot_claims WHERE ", $condition)
        )
    };
}

/// About single keys: the condition under which one is wrong.
macro_rules! keys_where {
    ($condition:literal) => {
        finding!(
            "NULL::text, key, NULL::text, ARRAY[token]",
            concat!("SELECT key, token FROM claims.keys WHERE ", $condition)
        )
    };
}

const CHECKS: &[Check] = &[
    Check {
        what: "guard_missing",
        means: "A constraint or index is missing or invalid that refuses a second active claim.",
        statement: &GUARD_MISSING,
    },
    Check {
        what: "two_active_claims",
        means: "A slot has more than one active claim: it may be booked twice.",
        statement: &TWO_ACTIVE,
    },
    Check {
        what: "overlapping_periods",
        means: "Two active claims of one slot overlap in time: it may be booked twice.",
        statement: &OVERLAPPING_PERIODS,
    },
    Check {
        what: "whole_and_period",
        means: "A slot is held as a whole and, at the same time, for a period: it may be booked \
                twice.",
        statement: &WHOLE_AND_PERIOD,
    },
    Check {
        what: "active_below_last",
        means: "A claim is active although a later one was made: a fence that goes by the token \
                lets both through.",
        statement: &ACTIVE_BELOW_LAST,
    },
    Check {
        what: "token_twice",
        means: "Two claims of a slot have one token: a fence cannot tell them apart.",
        statement: &TOKEN_TWICE,
    },
    Check {
        what: "token_not_positive",
        means: "A token is missing or below 1: tokens are counted from 1.",
        statement: &TOKEN_NOT_POSITIVE,
    },
    Check {
        what: "unknown_status",
        means: "A claim has a status that pg_claims does not know: every call about it fails.",
        statement: &UNKNOWN_STATUS,
    },
    Check {
        what: "open_without_expiry",
        means: "A claim has no end to its lease: its slot is blocked for ever.",
        statement: &OPEN_WITHOUT_EXPIRY,
    },
    Check {
        what: "booked_with_expiry",
        means: "A booking has an expiry, but never expires.",
        statement: &BOOKED_WITH_EXPIRY,
    },
    Check {
        what: "ended_without_time",
        means: "A claim has ended, but not when: it still counts as active in the indexes.",
        statement: &ENDED_WITHOUT_TIME,
    },
    Check {
        what: "ended_but_active",
        means: "A claim has ended by its time, but is active by its status: it blocks the slot, \
                and no index refuses another.",
        statement: &ENDED_BUT_ACTIVE,
    },
    Check {
        what: "ended_with_expiry",
        means: "A claim has ended, but its lease has not.",
        statement: &ENDED_WITH_EXPIRY,
    },
    Check {
        what: "empty_period",
        means: "A claim is of a period without any time in it: it keeps nobody out.",
        statement: &EMPTY_PERIOD,
    },
    Check {
        what: "origin_not_earlier",
        means: "A late confirm names a claim that is not earlier than itself.",
        statement: &ORIGIN_NOT_EARLIER,
    },
    Check {
        what: "blank_identifier",
        means: "A claim has a blank slot_id or holder: whoever made it is not known.",
        statement: &BLANK_IDENTIFIER,
    },
    Check {
        what: "pool_count",
        means: "A pool's taken is not the sum of its active claims: units are lost, or sold twice.",
        statement: &POOL_COUNT,
    },
    Check {
        what: "units_without_pool",
        means: "Units are claimed of a slot that is no pool: nothing limits them.",
        statement: &UNITS_WITHOUT_POOL,
    },
    Check {
        what: "number_gap",
        means: "A series has a gap, or its numbers do not end where its counter stands.",
        statement: &NUMBER_GAP,
    },
    Check {
        what: "row_guard_missing",
        means: "A tracked table has lost a trigger or its version column: changes of its rows can \
                be lost.",
        statement: &ROW_GUARD_MISSING,
    },
    Check {
        what: "key_twice",
        means: "A key is there twice: what must happen once may happen twice.",
        statement: &KEY_TWICE,
    },
    Check {
        what: "key_token_not_positive",
        means: "A key's token or attempt is missing or below 1: both are counted from 1.",
        statement: &KEY_TOKEN_NOT_POSITIVE,
    },
    Check {
        what: "key_unknown_status",
        means: "A key has a status that pg_claims does not know: every call about it fails.",
        statement: &KEY_UNKNOWN_STATUS,
    },
    Check {
        what: "key_without_holder",
        means: "Somebody is at work on a key or has finished it, and it is not known who.",
        statement: &KEY_WITHOUT_HOLDER,
    },
    Check {
        what: "key_pending_but_finished",
        means: "A pending key says when it was finished.",
        statement: &KEY_PENDING_BUT_FINISHED,
    },
    Check {
        what: "key_pending_without_lease",
        means: "A pending key has no lease: nobody is ever told to verify it.",
        statement: &KEY_PENDING_WITHOUT_LEASE,
    },
    Check {
        what: "key_finished_without_time",
        means: "A key is finished, but not when: the retention never deletes it.",
        statement: &KEY_FINISHED_WITHOUT_TIME,
    },
    Check {
        what: "key_finished_without_result",
        means: "A key is finished for good without a result: a resent request gets none.",
        statement: &KEY_FINISHED_WITHOUT_RESULT,
    },
    Check {
        what: "key_blank_identifier",
        means: "A key or its holder is blank: many requests may share it.",
        statement: &KEY_BLANK_IDENTIFIER,
    },
];

statement! {
    GUARD_MISSING = finding!(
        "NULL::text, NULL::text, name, NULL::bigint[]",
        "SELECT wanted.name
         FROM (VALUES ('slot_claims', 'primary', 'claims.slot_claims: primary key (slot_id, token)'),
                      ('slot_claims', 'unique', 'claims.slot_claims: unique index slot_claims_active_key'),
                      ('slot_claims', 'exclusion', 'claims.slot_claims: exclusion constraint of periods'),
                      ('keys', 'primary', 'claims.keys: primary key (key)')) AS wanted (of_table, kind, name)
         WHERE NOT EXISTS (
             SELECT FROM pg_index AS index
             JOIN pg_class AS claimed ON claimed.oid = index.indrelid
             JOIN pg_namespace AS namespace ON namespace.oid = claimed.relnamespace
             WHERE namespace.nspname = 'claims' AND claimed.relname = wanted.of_table
               AND index.indisvalid AND index.indislive
               AND CASE wanted.kind
                       WHEN 'primary' THEN index.indisprimary
                       WHEN 'exclusion' THEN index.indisexclusion
                       ELSE index.indisunique AND NOT index.indisprimary END)");

    TWO_ACTIVE = finding!(
        "slot_id, NULL::text, NULL::text, tokens",
        "SELECT slot_id, array_agg(token ORDER BY token) AS tokens FROM claims.slot_claims
         WHERE ended_at IS NULL AND period IS NULL AND units IS NULL
         GROUP BY slot_id HAVING count(*) > 1");

    OVERLAPPING_PERIODS = finding!(
        "slot_id, NULL::text, NULL::text, tokens",
        "SELECT one.slot_id, ARRAY[one.token, other.token] AS tokens
         FROM claims.slot_claims AS one JOIN claims.slot_claims AS other
           ON other.slot_id = one.slot_id AND other.token > one.token AND other.period && one.period
         WHERE one.ended_at IS NULL AND one.units IS NULL
           AND other.ended_at IS NULL AND other.units IS NULL");

    /// Only among those that keep others out now: an expired claim is ended by its taker,
    /// and until then it is nobody's.
    WHOLE_AND_PERIOD = finding!(
        "slot_id, NULL::text, NULL::text, tokens",
        "SELECT slot_id, array_agg(token ORDER BY token) AS tokens FROM claims.slot_claims
         WHERE ended_at IS NULL AND units IS NULL
           AND NOT (status = 'claimed' AND on_expiry = 'release' AND expires_at <= $1)
         GROUP BY slot_id HAVING bool_or(period IS NULL) AND bool_or(period IS NOT NULL)");

    ACTIVE_BELOW_LAST = finding!(
        "slot_id, NULL::text, NULL::text, ARRAY[token, last]",
        "SELECT slot_id, token, last
         FROM (SELECT slot_id, token, ended_at, period, units,
                      max(token) OVER (PARTITION BY slot_id) AS last
               FROM claims.slot_claims) AS claim
         WHERE token < last AND ended_at IS NULL AND period IS NULL AND units IS NULL");

    TOKEN_TWICE = finding!(
        "slot_id, NULL::text, NULL::text, ARRAY[token]",
        "SELECT slot_id, token FROM claims.slot_claims GROUP BY slot_id, token HAVING count(*) > 1");

    TOKEN_NOT_POSITIVE = claims_where!("(token > 0) IS NOT TRUE");

    UNKNOWN_STATUS = claims_where!(
        "(status IN ('claimed', 'booked', 'review', 'released', 'expired', 'cancelled', 'moved'))
         IS NOT TRUE");

    OPEN_WITHOUT_EXPIRY = claims_where!("status = 'claimed' AND expires_at IS NULL");

    BOOKED_WITH_EXPIRY = claims_where!("status = 'booked' AND expires_at IS NOT NULL");

    ENDED_WITHOUT_TIME = claims_where!(
        "status IN ('released', 'expired', 'cancelled', 'moved') AND ended_at IS NULL");

    ENDED_BUT_ACTIVE = claims_where!(
        "status IN ('claimed', 'booked', 'review') AND ended_at IS NOT NULL");

    ENDED_WITH_EXPIRY = claims_where!(
        "status IN ('released', 'expired', 'cancelled', 'moved') AND expires_at IS NOT NULL");

    EMPTY_PERIOD = claims_where!("isempty(period)");

    /// The earlier claim itself may have been deleted by the retention.
    ORIGIN_NOT_EARLIER = claims_where!("origin >= token");

    BLANK_IDENTIFIER = claims_where!(
        "(slot_id ~ '[^[:space:]]' AND holder ~ '[^[:space:]]') IS NOT TRUE");

    POOL_COUNT = finding!(
        "slot_id, NULL::text, NULL::text, NULL::bigint[]",
        "SELECT slot_id FROM claims.pools AS pool
         WHERE taken <> (SELECT coalesce(sum(units), 0) FROM claims.slot_claims AS claim
                         WHERE claim.slot_id = pool.slot_id AND claim.ended_at IS NULL
                           AND claim.units IS NOT NULL AND claim.period IS NULL)");

    UNITS_WITHOUT_POOL = claims_where!(
        "units IS NOT NULL AND ended_at IS NULL
         AND NOT EXISTS (SELECT FROM claims.pools WHERE pools.slot_id = slot_claims.slot_id)");

    NUMBER_GAP = finding!(
        "NULL::text, NULL::text, series || CASE span WHEN '' THEN '' ELSE ' ' || span END, NULL::bigint[]",
        "SELECT series.series, number.span
         FROM claims.series AS series
         JOIN (SELECT series, span, min(number) AS least, max(number) AS most, count(*) AS count
               FROM claims.numbers GROUP BY series, span) AS number USING (series)
         WHERE number.least <> series.first OR number.count <> number.most - number.least + 1
            OR number.span = series.span AND number.most <> series.last
         UNION ALL
         SELECT series, coalesce(span, '') FROM claims.series AS series
         WHERE last IS NOT NULL
           AND NOT EXISTS (SELECT FROM claims.numbers AS number
                           WHERE number.series = series.series AND number.span = series.span)");

    /// A table that has been dropped is no harm: the reaper deletes what is left of it. The
    /// numbers are PostgreSQL's: for each row, before INSERT and UPDATE; for each row, after
    /// INSERT, DELETE and UPDATE.
    ROW_GUARD_MISSING = finding!(
        "NULL::text, NULL::text, name, NULL::bigint[]",
        "SELECT tracked.table_name::text AS name
         FROM claims.tracked_tables AS tracked JOIN pg_class ON pg_class.oid = tracked.table_name
         WHERE NOT EXISTS (SELECT FROM pg_attribute
                           WHERE attrelid = tracked.table_name AND attname = tracked.version_column
                             AND NOT attisdropped)
            OR 2 > (SELECT count(DISTINCT function.proname)
                    FROM pg_trigger JOIN pg_proc AS function ON function.oid = pg_trigger.tgfoid
                    WHERE pg_trigger.tgrelid = tracked.table_name AND pg_trigger.tgenabled IN ('O', 'A')
                      AND function.pronamespace = 'claims'::regnamespace
                      AND (function.proname = 'guard_row' AND pg_trigger.tgtype & 31 = 23
                           OR function.proname = 'record_row' AND pg_trigger.tgtype & 31 = 29))");

    KEY_TWICE = finding!(
        "NULL::text, key, NULL::text, tokens",
        "SELECT key, array_agg(token ORDER BY token) AS tokens FROM claims.keys
         GROUP BY key HAVING count(*) > 1");

    KEY_TOKEN_NOT_POSITIVE = keys_where!("(token > 0 AND attempt > 0) IS NOT TRUE");

    KEY_UNKNOWN_STATUS = keys_where!(
        "(status IN ('pending', 'done', 'failed', 'rejected')) IS NOT TRUE");

    /// A key that was reset is failed, and nobody's.
    KEY_WITHOUT_HOLDER = keys_where!("status IN ('pending', 'done', 'rejected') AND holder IS NULL");

    KEY_PENDING_BUT_FINISHED = keys_where!("status = 'pending' AND finished_at IS NOT NULL");

    KEY_PENDING_WITHOUT_LEASE = keys_where!("status = 'pending' AND lease_expires_at IS NULL");

    KEY_FINISHED_WITHOUT_TIME = keys_where!(
        "status IN ('done', 'failed', 'rejected') AND finished_at IS NULL");

    /// A caller that gives no result stores a JSON null.
    KEY_FINISHED_WITHOUT_RESULT = keys_where!("status IN ('done', 'rejected') AND result IS NULL");

    KEY_BLANK_IDENTIFIER = keys_where!(
        "(key ~ '[^[:space:]]' AND (holder IS NULL OR holder ~ '[^[:space:]]')) IS NOT TRUE");
}
