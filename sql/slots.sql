-- The schema and the table of claims.
-- Each file works with pg_catalog alone, so that no operator or function of somebody
-- else's can slip in, and then gives the functions' schema back.
SET LOCAL search_path TO pg_catalog, pg_temp;

DO $$
BEGIN
    IF pg_catalog.current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'pg_claims needs a database in UTF8'
            USING ERRCODE = 'feature_not_supported',
                  DETAIL = pg_catalog.format('The encoding of database %I is %s; identifiers could not be compared reliably.',
                                             pg_catalog.current_database(), pg_catalog.current_setting('server_encoding')),
                  HINT = 'Create the database with ENCODING ''UTF8''.';
    END IF;
END
$$;

-- Not IF NOT EXISTS: a schema that is there already belongs to somebody.
CREATE SCHEMA claims;
COMMENT ON SCHEMA claims IS 'pg_claims: its tables, its views, and who may use it';

CREATE TABLE claims.slot_claims (
    slot_id    text        NOT NULL,
    token      bigint      NOT NULL CHECK (token > 0),
    holder     text        NOT NULL,
    status     text        NOT NULL,
    period     tstzrange,
    units      integer     CHECK (units > 0),
    claimed_at timestamptz NOT NULL,
    expires_at timestamptz,
    on_expiry  text        NOT NULL CHECK (on_expiry IN ('release', 'review')),
    ended_at   timestamptz,
    ended_by   text,
    reason     text,
    origin     bigint      CHECK (origin < token),
    call_id    text,
    note       jsonb,
    result     jsonb,
    PRIMARY KEY (slot_id, token),
    EXCLUDE USING gist (slot_id WITH =, period WITH &&)
        WHERE (ended_at IS NULL AND period IS NOT NULL AND units IS NULL),
    CONSTRAINT slot_claims_status_check CHECK (
        CASE status
            WHEN 'claimed' THEN ended_at IS NULL AND expires_at IS NOT NULL
            WHEN 'review' THEN ended_at IS NULL
            WHEN 'booked' THEN ended_at IS NULL AND expires_at IS NULL
            WHEN 'released' THEN ended_at IS NOT NULL AND expires_at IS NULL
            WHEN 'expired' THEN ended_at IS NOT NULL AND expires_at IS NULL
            WHEN 'cancelled' THEN ended_at IS NOT NULL AND expires_at IS NULL
            WHEN 'moved' THEN ended_at IS NOT NULL AND expires_at IS NULL
            ELSE false
        END)
);

-- Whatever the functions do, the database itself refuses a second active plain claim.
CREATE UNIQUE INDEX slot_claims_active_key ON claims.slot_claims (slot_id)
    WHERE ended_at IS NULL AND period IS NULL AND units IS NULL;
-- The reaper's and release_holder's: open claims only, so it stays small.
CREATE INDEX slot_claims_expires_at_idx ON claims.slot_claims (expires_at)
    WHERE status = 'claimed';
-- Late confirms are rare; finding one must not walk the slot's history.
CREATE INDEX slot_claims_origin_idx ON claims.slot_claims (slot_id, origin, token)
    WHERE origin IS NOT NULL;
-- A holder's units of a pool, of which many can be open at once.
CREATE INDEX slot_claims_pool_idx ON claims.slot_claims (slot_id, holder)
    WHERE ended_at IS NULL AND units IS NOT NULL;
-- What has expired in a pool: its units are free, and are given back by the next claim.
CREATE INDEX slot_claims_pool_expires_at_idx ON claims.slot_claims (slot_id, expires_at)
    WHERE status = 'claimed' AND units IS NOT NULL AND period IS NULL;
-- A slot's periods by their begin, whether it has one or not. None overlaps the next, so what is
-- in the way of a period is found in one step, where the constraint's index takes many.
CREATE INDEX slot_claims_period_idx
    ON claims.slot_claims (slot_id, (coalesce(lower(period), '-infinity')))
    WHERE ended_at IS NULL AND period IS NOT NULL AND units IS NULL;
-- Units for a period: how many are taken at any instant of it.
CREATE INDEX slot_claims_pool_period_idx ON claims.slot_claims USING gist (slot_id, period)
    WHERE ended_at IS NULL AND period IS NOT NULL AND units IS NOT NULL;
-- What the retention looks through.
CREATE INDEX slot_claims_ended_at_idx ON claims.slot_claims (ended_at)
    WHERE ended_at IS NOT NULL;

SELECT pg_catalog.pg_extension_config_dump('claims.slot_claims', '');

COMMENT ON TABLE claims.slot_claims IS
    'Every claim ever made, one row each, never overwritten: the state and the history in one. Written by the functions of pg_claims only.';
COMMENT ON COLUMN claims.slot_claims.slot_id IS 'what is claimed';
COMMENT ON COLUMN claims.slot_claims.token IS 'the fencing token: 1, 2, 3 … on each slot, never lower again';
COMMENT ON COLUMN claims.slot_claims.holder IS 'who claimed it, best workflow:execution';
COMMENT ON COLUMN claims.slot_claims.status IS
    'claimed, booked or review while active; then released, expired, cancelled or moved. A claim whose expires_at has passed counts as expired, or as in review, although it still says claimed';
COMMENT ON COLUMN claims.slot_claims.period IS 'the time span, when only a part of the slot''s time is claimed';
COMMENT ON COLUMN claims.slot_claims.units IS 'how many units, when the slot is a pool';
COMMENT ON COLUMN claims.slot_claims.claimed_at IS 'when the claim was made';
COMMENT ON COLUMN claims.slot_claims.expires_at IS
    'when the lease ends; in review: when it ended; NULL once booked or ended';
COMMENT ON COLUMN claims.slot_claims.on_expiry IS
    'what becomes of the claim when the lease runs out: release (the slot is free) or review (blocked until resolve_slot)';
COMMENT ON COLUMN claims.slot_claims.ended_at IS 'when the claim ended; NULL while it is active';
COMMENT ON COLUMN claims.slot_claims.ended_by IS 'who ended it: the holder, a canceller, whoever took it over, or the reaper';
COMMENT ON COLUMN claims.slot_claims.reason IS 'why, as the caller said';
COMMENT ON COLUMN claims.slot_claims.origin IS 'of a late confirm: the token of the claim that it confirms';
COMMENT ON COLUMN claims.slot_claims.call_id IS 'the name of the very call that made the claim, so that its repetition gets the same answer';
COMMENT ON COLUMN claims.slot_claims.note IS 'whatever the claimant wanted to keep with the claim';
COMMENT ON COLUMN claims.slot_claims.result IS 'what confirm_slot or resolve_slot recorded';
COMMENT ON INDEX claims.slot_claims_active_key IS 'at most one active plain claim of a slot';
COMMENT ON INDEX claims.slot_claims_expires_at_idx IS 'open claims by the end of their lease';
COMMENT ON INDEX claims.slot_claims_origin_idx IS 'from a token to its late confirm';
COMMENT ON INDEX claims.slot_claims_pool_idx IS 'a holder''s open units of a pool';
COMMENT ON INDEX claims.slot_claims_pool_expires_at_idx IS 'open units of a pool by the end of their lease';
COMMENT ON INDEX claims.slot_claims_period_idx IS 'a slot''s open periods by their begin';
COMMENT ON INDEX claims.slot_claims_pool_period_idx IS 'units of a pool by the period they are taken for';
COMMENT ON INDEX claims.slot_claims_ended_at_idx IS 'ended claims by age, for the retention';

CREATE TABLE claims.pools (
    slot_id  text    PRIMARY KEY,
    capacity integer NOT NULL CHECK (capacity >= 0),
    taken    integer NOT NULL CHECK (taken >= 0)
);

SELECT pg_catalog.pg_extension_config_dump('claims.pools', '');

COMMENT ON TABLE claims.pools IS
    'The slots of which units are claimed: how many there are, and how many are taken. Written by the functions of pg_claims only.';
COMMENT ON COLUMN claims.pools.slot_id IS 'the pool';
COMMENT ON COLUMN claims.pools.capacity IS 'how many units there are';
COMMENT ON COLUMN claims.pools.taken IS
    'the sum of the units of its active claims without a period; expired ones count until somebody ends them';

SET LOCAL search_path TO @extschema@, pg_temp;
