-- What the reaper did, and how things stand: for a monitor.

CREATE TABLE claims.reaper_runs (
    started_at    timestamptz PRIMARY KEY,
    took_ms       bigint      NOT NULL,
    role          text        NOT NULL,
    older_than    interval    NOT NULL,
    expired       bigint      NOT NULL,
    in_review     bigint      NOT NULL,
    skipped       bigint      NOT NULL,
    keys_overdue  bigint      NOT NULL,
    purged_claims bigint,
    purged_keys   bigint
);

-- Not dumped: a restored database has had no reaper yet, and its monitor should say so.

COMMENT ON TABLE claims.reaper_runs IS
    'Every run of reap_stale_claims within pg_claims.retention, one row each. Not part of a dump';
COMMENT ON COLUMN claims.reaper_runs.started_at IS 'when it began';
COMMENT ON COLUMN claims.reaper_runs.took_ms IS 'how long it took, in milliseconds';
COMMENT ON COLUMN claims.reaper_runs.role IS 'who called it: of a scheduled run, the role that scheduled it';
COMMENT ON COLUMN claims.reaper_runs.older_than IS 'its argument';
COMMENT ON COLUMN claims.reaper_runs.expired IS 'how many claims it ended';
COMMENT ON COLUMN claims.reaper_runs.in_review IS 'how many claims it put into review';
COMMENT ON COLUMN claims.reaper_runs.skipped IS 'how many expired claims somebody else was at work on';
COMMENT ON COLUMN claims.reaper_runs.keys_overdue IS 'how many pending keys were past their lease; it leaves them alone';
COMMENT ON COLUMN claims.reaper_runs.purged_claims IS
    'how many ended claims it deleted; NULL when it did not look, as it does that once an hour';
COMMENT ON COLUMN claims.reaper_runs.purged_keys IS 'how many finished keys it deleted; NULL when it did not look';

-- The claims in review are few, and nobody should have to look through the bookings for them.
CREATE INDEX slot_claims_review_idx ON claims.slot_claims (slot_id, token) WHERE status = 'review';
COMMENT ON INDEX claims.slot_claims_review_idx IS 'the claims in review';

-- Only partial indexes of open claims and keys are read, whatever else the tables hold.
CREATE VIEW claims.health AS
    WITH clock AS MATERIALIZED (SELECT pg_catalog.clock_timestamp() AS now)
    SELECT claimed.open_claims, claimed.expired_not_reaped,
           claimed.in_review_unwritten + review.in_review AS in_review,
           pending.keys_pending, pending.keys_unknown,
           reaper.last_reap_at, clock.now - reaper.last_reap_at AS last_reap_age,
           claimed.oldest_open_claim
    FROM clock
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE expires_at > clock.now) AS open_claims,
               count(*) FILTER (WHERE expires_at <= clock.now AND on_expiry = 'release') AS expired_not_reaped,
               count(*) FILTER (WHERE expires_at <= clock.now AND on_expiry = 'review') AS in_review_unwritten,
               min(claimed_at) FILTER (WHERE expires_at > clock.now) AS oldest_open_claim
        FROM claims.slot_claims WHERE status = 'claimed') AS claimed
    CROSS JOIN LATERAL (
        SELECT count(*) AS in_review FROM claims.slot_claims WHERE status = 'review') AS review
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE lease_expires_at > clock.now) AS keys_pending,
               count(*) FILTER (WHERE lease_expires_at <= clock.now) AS keys_unknown
        FROM claims.keys WHERE status = 'pending') AS pending
    CROSS JOIN LATERAL (
        SELECT max(started_at) AS last_reap_at FROM claims.reaper_runs) AS reaper;

COMMENT ON VIEW claims.health IS 'How things stand, in one row, for a monitor';
COMMENT ON COLUMN claims.health.open_claims IS 'claims whose lease is running';
COMMENT ON COLUMN claims.health.expired_not_reaped IS
    'claims whose lease is over and that nobody has ended yet; they block nothing. Many: the reaper does not run';
COMMENT ON COLUMN claims.health.in_review IS
    'claims that block their slot until somebody has looked at the real calendar: claims.needs_check';
COMMENT ON COLUMN claims.health.keys_pending IS 'keys that somebody is at work on';
COMMENT ON COLUMN claims.health.keys_unknown IS
    'pending keys past their lease: what became of them is unknown until a begin_key is told to verify';
COMMENT ON COLUMN claims.health.last_reap_at IS 'when the reaper last ran; NULL: never';
COMMENT ON COLUMN claims.health.last_reap_age IS 'how long ago that is';
COMMENT ON COLUMN claims.health.oldest_open_claim IS 'when the oldest of the open claims was made; NULL: there is none';
