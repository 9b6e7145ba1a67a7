-- The table of idempotency keys.
SET LOCAL search_path TO pg_catalog, pg_temp;

CREATE TABLE claims.keys (
    key              text        PRIMARY KEY,
    status           text        NOT NULL,
    holder           text,
    token            bigint      NOT NULL CHECK (token > 0),
    attempt          integer     NOT NULL CHECK (attempt > 0),
    verifying        boolean     NOT NULL DEFAULT false,
    fingerprint      bytea,
    started_at       timestamptz NOT NULL,
    lease_expires_at timestamptz NOT NULL,
    finished_at      timestamptz,
    finished_by      text,
    reason           text,
    call_id          text,
    result           jsonb,
    CONSTRAINT keys_status_check CHECK (
        CASE status
            WHEN 'pending' THEN finished_at IS NULL AND holder IS NOT NULL
            WHEN 'done' THEN finished_at IS NOT NULL AND holder IS NOT NULL
            WHEN 'rejected' THEN finished_at IS NOT NULL AND holder IS NOT NULL
            WHEN 'failed' THEN finished_at IS NOT NULL
            ELSE false
        END)
);

-- Keys whose outcome is open: few, whatever the table's size.
CREATE INDEX keys_lease_expires_at_idx ON claims.keys (lease_expires_at) WHERE status = 'pending';
-- What the retention looks through.
CREATE INDEX keys_finished_at_idx ON claims.keys (finished_at) WHERE finished_at IS NOT NULL;

SELECT pg_catalog.pg_extension_config_dump('claims.keys', '');

COMMENT ON TABLE claims.keys IS
    'Idempotency keys, one row each, changed in place: what a resent request finds. Written by the functions of pg_claims only.';
COMMENT ON COLUMN claims.keys.key IS 'what must happen once, such as the id of an event';
COMMENT ON COLUMN claims.keys.status IS
    'pending (begun, outcome open), done, failed (may run again) or rejected (final). Pending with its lease over means that the outcome is unknown';
COMMENT ON COLUMN claims.keys.holder IS 'who was let in last; NULL after reset_key';
COMMENT ON COLUMN claims.keys.token IS 'the fencing token: one more at every grant (run, verify, reset)';
COMMENT ON COLUMN claims.keys.attempt IS 'how often it has been run';
COMMENT ON COLUMN claims.keys.verifying IS 'whether the holder was let in to find out what had happened, instead of to run';
COMMENT ON COLUMN claims.keys.fingerprint IS 'a hash of the request, so that another request under the same key is noticed';
COMMENT ON COLUMN claims.keys.started_at IS 'when the holder was let in';
COMMENT ON COLUMN claims.keys.lease_expires_at IS 'when the holder''s lease ends or ended';
COMMENT ON COLUMN claims.keys.finished_at IS 'when it was finished or reset; NULL while pending';
COMMENT ON COLUMN claims.keys.finished_by IS 'who finished or reset it';
COMMENT ON COLUMN claims.keys.reason IS 'why it was reset, as the caller said';
COMMENT ON COLUMN claims.keys.call_id IS 'the name of the very call that was let in, so that its repetition gets the same answer';
COMMENT ON COLUMN claims.keys.result IS 'what finish_key stored, replayed to every later begin_key';
COMMENT ON INDEX claims.keys_lease_expires_at_idx IS 'pending keys by the end of their lease';
COMMENT ON INDEX claims.keys_finished_at_idx IS 'finished keys by age, for the retention';

SET LOCAL search_path TO @extschema@, pg_temp;
