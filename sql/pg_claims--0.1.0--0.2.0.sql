-- From 0.1.0 (slots, keys, the reaper) to 0.2.0 (periods, pools, numbers, tracked rows).
SET LOCAL search_path TO pg_catalog, pg_temp;

-- What the extension has by now. Whatever it has more at the end is new, and has to be
-- given to those who were let in.
SELECT pg_catalog.set_config('claims_update.known',
    (SELECT pg_catalog.array_agg(pg_catalog.concat_ws('/', d.classid, d.objid))::text FROM pg_catalog.pg_depend AS d
     JOIN pg_catalog.pg_extension AS e ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid
     WHERE e.extname = 'pg_claims' AND d.deptype = 'e'), true);

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

CREATE TABLE claims.series (
    series     text        PRIMARY KEY,
    first      bigint      NOT NULL CHECK (first >= 0),
    label      text        NOT NULL,
    per        text        NOT NULL CHECK (per IN ('forever', 'year', 'month')),
    zone       text        NOT NULL,
    span       text,
    last       bigint,
    created_at timestamptz NOT NULL,
    CHECK ((span IS NULL) = (last IS NULL))
);

CREATE TABLE claims.numbers (
    series    text        NOT NULL,
    span      text        NOT NULL,
    number    bigint      NOT NULL,
    label     text        NOT NULL,
    status    text        NOT NULL CHECK (status IN ('issued', 'void')),
    holder    text        NOT NULL,
    key       text,
    issued_at timestamptz NOT NULL,
    void_at   timestamptz,
    reason    text,
    note      jsonb,
    PRIMARY KEY (series, span, number),
    CHECK ((status = 'void') = (void_at IS NOT NULL))
);

CREATE UNIQUE INDEX numbers_key_key ON claims.numbers (series, key) WHERE key IS NOT NULL;

SELECT pg_catalog.pg_extension_config_dump('claims.series', '');
SELECT pg_catalog.pg_extension_config_dump('claims.numbers', '');

COMMENT ON TABLE claims.series IS
    'Series of numbers without gaps, and how far each has got. Written by the functions of pg_claims only.';
COMMENT ON COLUMN claims.series.series IS 'the name of the series';
COMMENT ON COLUMN claims.series.first IS 'the number that each span begins with';
COMMENT ON COLUMN claims.series.label IS 'how a number is written, such as INV-{yyyy}-{n:05}';
COMMENT ON COLUMN claims.series.per IS 'when counting starts anew: forever (never), year or month';
COMMENT ON COLUMN claims.series.zone IS 'the time zone whose years and months count';
COMMENT ON COLUMN claims.series.span IS 'the year or month of the last number; empty when counting never starts anew';
COMMENT ON COLUMN claims.series.last IS 'the last number issued in that span';
COMMENT ON COLUMN claims.series.created_at IS 'when the series was made';
COMMENT ON TABLE claims.numbers IS
    'Every number issued, one row each; a void one stays and is never issued again. Written by the functions of pg_claims only.';
COMMENT ON COLUMN claims.numbers.series IS 'the series';
COMMENT ON COLUMN claims.numbers.span IS 'the year or month it was counted in; empty when counting never starts anew';
COMMENT ON COLUMN claims.numbers.number IS 'the number';
COMMENT ON COLUMN claims.numbers.label IS 'the number as it is written';
COMMENT ON COLUMN claims.numbers.status IS 'issued or void';
COMMENT ON COLUMN claims.numbers.holder IS 'who got it';
COMMENT ON COLUMN claims.numbers.key IS 'what it was issued for: the same key gets the same number';
COMMENT ON COLUMN claims.numbers.issued_at IS 'when it was issued';
COMMENT ON COLUMN claims.numbers.void_at IS 'when it was made void';
COMMENT ON COLUMN claims.numbers.reason IS 'why it was made void';
COMMENT ON COLUMN claims.numbers.note IS 'whatever its holder wanted to keep with it';
COMMENT ON INDEX claims.numbers_key_key IS 'one number for one key';

CREATE TABLE claims.tracked_tables (
    table_name     regclass    PRIMARY KEY,
    version_column text        NOT NULL,
    keep_values    boolean     NOT NULL,
    tracked_by     text        NOT NULL,
    tracked_at     timestamptz NOT NULL
);

CREATE TABLE claims.row_fields (
    table_name regclass    NOT NULL,
    row_id     text        NOT NULL,
    field      text        NOT NULL,
    version    bigint      NOT NULL,
    writer     text        NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (table_name, row_id, field)
);

CREATE TABLE claims.row_history (
    table_name regclass    NOT NULL,
    row_id     text        NOT NULL,
    version    bigint      NOT NULL,
    action     text        NOT NULL CHECK (action IN ('insert', 'update', 'delete', 'rename', 'truncate')),
    fields     text[]      NOT NULL,
    old_values jsonb,
    new_values jsonb,
    writer     text        NOT NULL,
    changed_at timestamptz NOT NULL,
    note       jsonb,
    forced     boolean     NOT NULL
);

-- It has no key. Without this, nothing could be deleted from it where all tables are published.
ALTER TABLE claims.row_history REPLICA IDENTITY FULL;

-- A row's own history, newest first.
CREATE INDEX row_history_row_idx ON claims.row_history (table_name, row_id, version, changed_at);
-- What the retention looks through.
CREATE INDEX row_history_changed_at_idx ON claims.row_history (changed_at);

CREATE TABLE claims.field_owners (
    table_name regclass    NOT NULL,
    field      text        NOT NULL,
    writer     text        NOT NULL,
    enforce    text        NOT NULL CHECK (enforce IN ('patches', 'all')),
    owned_at   timestamptz NOT NULL,
    PRIMARY KEY (table_name, field)
);

-- Of a table that has been dropped nothing is dumped: its number may be another's there.
SELECT pg_catalog.pg_extension_config_dump('claims.tracked_tables',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = table_name)');
SELECT pg_catalog.pg_extension_config_dump('claims.row_fields',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = table_name)');
SELECT pg_catalog.pg_extension_config_dump('claims.row_history',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = table_name)');
SELECT pg_catalog.pg_extension_config_dump('claims.field_owners',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = table_name)');

COMMENT ON TABLE claims.tracked_tables IS
    'The tables whose rows have versions, by track_rows. Written by the functions of pg_claims only.';
COMMENT ON COLUMN claims.tracked_tables.table_name IS 'the table; of a partitioned one, its root';
COMMENT ON COLUMN claims.tracked_tables.version_column IS 'the column that has the version of the row';
COMMENT ON COLUMN claims.tracked_tables.keep_values IS
    'whether claims.row_history has old and new values too; whoever may read that may then read them';
COMMENT ON COLUMN claims.tracked_tables.tracked_by IS 'the role that called track_rows';
COMMENT ON COLUMN claims.tracked_tables.tracked_at IS 'when it did';
COMMENT ON TABLE claims.row_fields IS
    'When each field of a tracked row was last changed, and by whom; a field never changed has no row. Written by the triggers of pg_claims only.';
COMMENT ON COLUMN claims.row_fields.table_name IS 'the table';
COMMENT ON COLUMN claims.row_fields.row_id IS 'the row: the text of its key, or a JSON object of its key columns';
COMMENT ON COLUMN claims.row_fields.field IS 'the column';
COMMENT ON COLUMN claims.row_fields.version IS 'the version that the change made';
COMMENT ON COLUMN claims.row_fields.writer IS 'who made it, as the writer called itself';
COMMENT ON COLUMN claims.row_fields.changed_at IS 'when';
COMMENT ON TABLE claims.row_history IS
    'Every change of a tracked row within pg_claims.retention, one row each. Written by the triggers of pg_claims only.';
COMMENT ON COLUMN claims.row_history.table_name IS 'the table';
COMMENT ON COLUMN claims.row_history.row_id IS 'the row: the text of its key, or a JSON object of its key columns';
COMMENT ON COLUMN claims.row_history.version IS 'the version that the change made';
COMMENT ON COLUMN claims.row_history.action IS
    'insert, update, delete, truncate, or rename: the row has gone on under another key';
COMMENT ON COLUMN claims.row_history.fields IS
    'which columns changed; of an insert or delete, those that were not NULL';
COMMENT ON COLUMN claims.row_history.old_values IS 'their values before, with keep_values';
COMMENT ON COLUMN claims.row_history.new_values IS 'their values after, with keep_values';
COMMENT ON COLUMN claims.row_history.writer IS
    'who: the writer of patch_row, or pg_claims.writer, or the database role';
COMMENT ON COLUMN claims.row_history.changed_at IS 'when';
COMMENT ON COLUMN claims.row_history.note IS 'the note of patch_row';
COMMENT ON COLUMN claims.row_history.forced IS 'whether patch_row took a field over from its owner';
COMMENT ON TABLE claims.field_owners IS
    'Which writer alone may change a field, by own_fields. Written by the functions of pg_claims only.';
COMMENT ON COLUMN claims.field_owners.table_name IS 'the table';
COMMENT ON COLUMN claims.field_owners.field IS 'the column';
COMMENT ON COLUMN claims.field_owners.writer IS 'its owner';
COMMENT ON COLUMN claims.field_owners.enforce IS
    'patches: patch_row obeys; all: every UPDATE does';
COMMENT ON COLUMN claims.field_owners.owned_at IS 'since when';
COMMENT ON INDEX claims.row_history_row_idx IS 'the history of a row';
COMMENT ON INDEX claims.row_history_changed_at_idx IS 'the history by age, for the retention';

-- Not SECURITY DEFINER: turning a row into JSON may run a cast of its owner's, which
-- must not get more rights than whoever writes the row. Only the bookkeeping, which
-- takes texts and numbers, is done with the rights of the extension's owner.
CREATE FUNCTION claims.guard_row() RETURNS trigger
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'guard_row_wrapper';
CREATE FUNCTION claims.record_row() RETURNS trigger
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'record_row_wrapper';

COMMENT ON FUNCTION claims.guard_row IS
    'The trigger of a tracked table that gives each change its version and refuses one that was made from an old version';
COMMENT ON FUNCTION claims.record_row IS
    'The trigger of a tracked table that records each change in claims.row_fields and claims.row_history';

CREATE OR REPLACE FUNCTION claims.set_access(role pg_catalog.regrole, granted boolean) RETURNS pg_catalog.jsonb
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    verb pg_catalog.text := CASE WHEN granted THEN 'GRANT' ELSE 'REVOKE' END;
    preposition pg_catalog.text := CASE WHEN granted THEN 'TO' ELSE 'FROM' END;
    what pg_catalog.text;
BEGIN
    IF role IS NULL THEN
        RAISE EXCEPTION 'role must not be NULL'
            USING ERRCODE = 'null_value_not_allowed',
                  DETAIL = 'The argument role is NULL: nothing was done.',
                  HINT = 'Name the role that n8n connects as, such as SELECT claims.grant_access(''n8n'').';
    END IF;
    IF NOT granted AND role = (SELECT extowner FROM pg_catalog.pg_extension WHERE extname = 'pg_claims') THEN
        RAISE EXCEPTION 'role % owns the extension', role
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  DETAIL = 'Without its access nobody but a superuser could let others in.',
                  HINT = 'Revoke the access of the roles that the owner has let in.';
    END IF;
    FOR what IN
        SELECT CASE
                   WHEN d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
                       THEN pg_catalog.format('EXECUTE ON FUNCTION %s', d.objid::pg_catalog.regprocedure)
                   WHEN d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
                       THEN pg_catalog.format('SELECT ON TABLE %s', d.objid::pg_catalog.regclass)
                   ELSE pg_catalog.format('USAGE ON SCHEMA %s', d.objid::pg_catalog.regnamespace)
               END
        FROM pg_catalog.pg_depend AS d
        JOIN pg_catalog.pg_extension AS e ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid
        LEFT JOIN pg_catalog.pg_proc AS p ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
        LEFT JOIN pg_catalog.pg_class AS c ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid
        WHERE e.extname = 'pg_claims' AND d.deptype = 'e'
          AND (d.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
               OR c.relkind IN ('r', 'v')
               -- Letting others in stays with whoever was let in by CREATE EXTENSION.
               OR p.oid IS NOT NULL AND p.proname NOT IN ('set_access', 'grant_access', 'revoke_access'))
    LOOP
        EXECUTE pg_catalog.format('%s %s %s %s', verb, what, preposition, role);
    END LOOP;
    RETURN pg_catalog.jsonb_build_object(
        'ok', true,
        'outcome', CASE WHEN granted THEN 'granted' ELSE 'revoked' END,
        'message', CASE WHEN granted THEN 'The role may call the functions and read the tables of pg_claims.'
                        ELSE 'The role may no longer use pg_claims.' END,
        'role', role::pg_catalog.text);
END
$function$;

COMMENT ON FUNCTION claims.revoke_access IS
'Takes back what grant_access gave.

Arguments:
  role   the role

Outcomes: revoked (ok).

Raises 22004 for NULL, 42704 for a role that does not exist, 55000 for the role that
owns the extension.';

SET LOCAL search_path TO @extschema@, pg_temp;

-- It sets these for itself now.
ALTER FUNCTION @extschema@.reap_stale_claims RESET enable_seqscan;
ALTER FUNCTION @extschema@.reap_stale_claims RESET enable_bitmapscan;
ALTER FUNCTION @extschema@.reap_stale_claims RESET enable_hashjoin;
ALTER FUNCTION @extschema@.reap_stale_claims RESET enable_mergejoin;

-- Written by scripts/upgrade.py, to the next mark.

CREATE FUNCTION "check_period"(
	"slot_id" anycompatible, /* Option < AnyIdentifier > */
	"starts_at" TEXT, /* Option < String > */
	"ends_at" TEXT /* Option < String > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'check_period_wrapper';

CREATE FUNCTION "claim_many"(
	"requests" jsonb, /* Option < Json > */
	"holder" TEXT, /* Option < String > */
	"ttl" interval DEFAULT NULL, /* Option < Interval > */
	"wait" interval DEFAULT '0', /* Option < Interval > */
	"on_expiry" TEXT DEFAULT 'release', /* Option < & str > */
	"note" jsonb DEFAULT NULL, /* Option < Json > */
	"call_id" TEXT DEFAULT NULL, /* Option < String > */
	"after" jsonb DEFAULT '{"ok": true}' /* Option < Json > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'claim_many_wrapper';

CREATE FUNCTION "claim_period"(
	"slot_id" anycompatible, /* Option < AnyIdentifier > */
	"holder" TEXT, /* Option < String > */
	"starts_at" TEXT, /* Option < String > */
	"ends_at" TEXT, /* Option < String > */
	"units" INT DEFAULT NULL, /* Option < i32 > */
	"ttl" interval DEFAULT NULL, /* Option < Interval > */
	"wait" interval DEFAULT '0', /* Option < Interval > */
	"on_expiry" TEXT DEFAULT 'release', /* Option < & str > */
	"note" jsonb DEFAULT NULL, /* Option < Json > */
	"call_id" TEXT DEFAULT NULL, /* Option < String > */
	"after" jsonb DEFAULT '{"ok": true}' /* Option < Json > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'claim_period_wrapper';

CREATE FUNCTION "claim_units"(
	"slot_id" anycompatible, /* Option < AnyIdentifier > */
	"holder" TEXT, /* Option < String > */
	"units" INT DEFAULT 1, /* Option < i32 > */
	"ttl" interval DEFAULT NULL, /* Option < Interval > */
	"wait" interval DEFAULT '0', /* Option < Interval > */
	"on_expiry" TEXT DEFAULT 'release', /* Option < & str > */
	"note" jsonb DEFAULT NULL, /* Option < Json > */
	"call_id" TEXT DEFAULT NULL, /* Option < String > */
	"after" jsonb DEFAULT '{"ok": true}' /* Option < Json > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'claim_units_wrapper';

CREATE FUNCTION "confirm_many"(
	"claims" jsonb, /* Option < Json > */
	"holder" TEXT, /* Option < String > */
	"result" jsonb DEFAULT NULL /* Option < Json > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'confirm_many_wrapper';

CREATE FUNCTION "create_series"(
	"series" anycompatible, /* Option < AnyIdentifier > */
	"first" bigint DEFAULT 1, /* Option < i64 > */
	"label" TEXT DEFAULT NULL, /* Option < String > */
	"per" TEXT DEFAULT 'forever', /* Option < & str > */
	"zone" TEXT DEFAULT 'UTC' /* Option < String > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'create_series_wrapper';

CREATE FUNCTION "disown_fields"(
	"table_name" regclass, /* Option < Table > */
	"writer" TEXT, /* Option < String > */
	"fields" TEXT[] DEFAULT NULL /* :: std :: option :: Option < Vec < Option < String > > > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE PARALLEL UNSAFE
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'disown_fields_wrapper';

CREATE FUNCTION "free_periods"(
	"slot_id" anycompatible, /* Option < AnyIdentifier > */
	"starts_at" TEXT, /* Option < String > */
	"ends_at" TEXT, /* Option < String > */
	"length" interval, /* Option < Interval > */
	"step" interval DEFAULT NULL /* Option < Interval > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'free_periods_wrapper';

CREATE FUNCTION "move_period"(
	"slot_id" anycompatible, /* Option < AnyIdentifier > */
	"holder" TEXT, /* Option < String > */
	"token" bigint, /* Option < i64 > */
	"starts_at" TEXT, /* Option < String > */
	"ends_at" TEXT /* Option < String > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'move_period_wrapper';

CREATE FUNCTION "next_number"(
	"series" anycompatible, /* Option < AnyIdentifier > */
	"holder" TEXT, /* Option < String > */
	"key" TEXT DEFAULT NULL, /* Option < String > */
	"note" jsonb DEFAULT NULL /* Option < Json > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'next_number_wrapper';

CREATE FUNCTION "own_fields"(
	"table_name" regclass, /* Option < Table > */
	"writer" TEXT, /* Option < String > */
	"fields" TEXT[], /* :: std :: option :: Option < Vec < Option < String > > > */
	"enforce" TEXT DEFAULT 'patches' /* Option < & str > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE PARALLEL UNSAFE
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'own_fields_wrapper';

CREATE FUNCTION "patch_row"(
	"table_name" regclass, /* Option < Table > */
	"row_id" anycompatible, /* Option < AnyIdentifier > */
	"base_version" bigint, /* Option < i64 > */
	"changes" jsonb, /* Option < Json > */
	"writer" TEXT, /* Option < String > */
	"merge" bool DEFAULT true, /* Option < bool > */
	"note" jsonb DEFAULT NULL, /* Option < Json > */
	"create_if_absent" bool DEFAULT false, /* Option < bool > */
	"force" bool DEFAULT false /* Option < bool > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE PARALLEL UNSAFE
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'patch_row_wrapper';

CREATE FUNCTION "read_row"(
	"table_name" regclass, /* Option < Table > */
	"row_id" anycompatible /* Option < AnyIdentifier > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE PARALLEL UNSAFE
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'read_row_wrapper';

CREATE FUNCTION "release_many"(
	"claims" jsonb, /* Option < Json > */
	"holder" TEXT, /* Option < String > */
	"reason" TEXT DEFAULT NULL, /* Option < String > */
	"in_doubt" bool DEFAULT false /* Option < bool > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'release_many_wrapper';

CREATE FUNCTION "set_capacity"(
	"slot_id" anycompatible, /* Option < AnyIdentifier > */
	"capacity" INT /* Option < i32 > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'set_capacity_wrapper';

CREATE FUNCTION "track_rows"(
	"table_name" regclass, /* Option < Table > */
	"version_column" TEXT DEFAULT 'version', /* Option < String > */
	"keep_values" bool DEFAULT NULL /* Option < bool > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE PARALLEL UNSAFE
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'track_rows_wrapper';

CREATE FUNCTION "untrack_rows"(
	"table_name" regclass /* Option < Table > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE PARALLEL UNSAFE
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'untrack_rows_wrapper';

CREATE FUNCTION "void_number"(
	"series" anycompatible, /* Option < AnyIdentifier > */
	"number" bigint, /* Option < i64 > */
	"reason" TEXT DEFAULT NULL, /* Option < String > */
	"span" TEXT DEFAULT NULL /* Option < String > */
) RETURNS jsonb /* Result < Json, ErrorReport > */
VOLATILE SECURITY DEFINER PARALLEL UNSAFE
SET search_path TO pg_catalog, pg_temp
LANGUAGE c /* Rust */
AS 'MODULE_PATHNAME', 'void_number_wrapper';

COMMENT ON FUNCTION @extschema@.create_series IS $comment$Makes a series of numbers, unless it is there.

Arguments:
  series   its name
  first    the number it begins with, 0 or more
  label    how a number is written: {n} is the number, {n:05} with zeros to five digits,
           {yyyy}, {yy} and {mm} the year and month; NULL: {n}, {yyyy}-{n} or
           {yyyy}-{mm}-{n}
  per      when counting starts anew: 'forever' (never), 'year' or 'month'; then the
           label must name the year, or the year and the month
  zone     the time zone whose years and months count

Outcomes: created (ok), exists (ok; the same definition), mismatch (another definition;
nothing was changed), busy.

Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
nothing can be written.

Source: invoice numbering without gaps, as tax laws ask for it.$comment$;

COMMENT ON FUNCTION @extschema@.next_number IS $comment$Issues the next number of a series, without gaps: when the transaction is rolled back,
the next call gets the same number.

Arguments:
  series   the series
  holder   who gets it, best 'workflow:execution'
  key      what it is for, such as the order: the same key gets the same number; NULL:
           every call gets another
  note     anything you want to find in claims.numbers

Outcomes: issued (ok; number, label), replayed (ok; the key's number, with its status:
issued or void), busy (another transaction has a number that is not yet committed).

Raises 22004, 22023 or 42804 for bad input, 42704 for an unknown series, 0A000 above
READ COMMITTED, 25006 where nothing can be written.

Source: the counter row, locked to the end of the transaction; a sequence leaves gaps.$comment$;

COMMENT ON FUNCTION @extschema@.void_number IS $comment$Makes a number void: it stays in claims.numbers and is never issued again.

Arguments:
  series   the series
  number   the number
  reason   kept with it
  span     the year or month it was counted in, as claims.numbers has it; NULL: the only
           one that has such a number

Outcomes: voided (ok), already_void (ok), absent, ambiguous (several years or months
have that number; name the span), busy.

Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
nothing can be written.

Source: invoice numbering without gaps, as tax laws ask for it.$comment$;

COMMENT ON FUNCTION @extschema@.reap_stale_claims IS $comment$Ends the claims whose lease has run out, by their own on_expiry: released, or into
review. Once an hour it also deletes ended claims, finished keys and the history of rows
that are older than pg_claims.retention, but never the last claim of a slot. A pending key past its lease
is counted and left alone: only evidence resolves it.

Arguments:
  older_than   only claims whose lease ran out longer ago than that, from 0 to 100 years

Outcomes: reaped (ok; expired and in_review say how many claims ended, skipped how many
somebody else was at work on, keys_overdue how many keys begin_key would verify,
purged_claims and purged_keys how many were deleted, if it was time for that), busy
(another call is at it).

Each run is recorded in claims.reaper_runs. The claims that it ends stay locked until
its transaction ends, so it is called alone.

Raises 22004 or 22023 for bad input, 0A000 above READ COMMITTED, 25006 where nothing
can be written.

Source: the rescuer and the cleaner of job queues, as in River.$comment$;

COMMENT ON FUNCTION @extschema@.own_fields IS $comment$Lets only one writer change some fields of a tracked table.

Arguments:
  table_name   the table
  writer       their owner, as patch_row names it
  fields       the fields
  enforce      who obeys: 'patches' (patch_row), or 'all' (every UPDATE, whose writer is
               the setting pg_claims.writer, or else the database role)

Outcomes: owned (ok; fields; those that were its own already are enforced anew),
not_owner (a field has another owner, who has to be disowned first: field, owner;
nothing was done), busy (somebody is writing to the table, for longer than
pg_claims.lock_wait).

A writer is a name that callers give themselves: this keeps workflows from overwriting
each other by mistake, and takes no right from anybody. A new row may have any values,
and a row may be deleted.

Called by the table's owner. Nobody writes to the table until its transaction ends.

Raises 22004 or 22023 for bad input, 42703 for an unknown field, 42501 for anybody but
the owner, 55000 for a table that is not tracked, 0A000 above READ COMMITTED, 25006 where
nothing can be written.

Source: the owner of a field in Kubernetes' server-side apply.$comment$;

COMMENT ON FUNCTION @extschema@.disown_fields IS $comment$Takes back what own_fields did.

Arguments:
  table_name   the table
  writer       the owner
  fields       the fields; NULL: all that the writer owns

Outcomes: disowned (ok; fields: those that were its own), absent (ok; none was), busy
(somebody is writing to the table, for longer than pg_claims.lock_wait).

Called by the table's owner. Nobody writes to the table until its transaction ends.

Raises 22004 or 22023 for bad input, 42501 for anybody but the owner, 55000 for a table
that is not tracked, 0A000 above READ COMMITTED, 25006 where nothing can be written.$comment$;

COMMENT ON FUNCTION @extschema@.read_row IS $comment$Reads a row of a tracked table, with its version.

Arguments:
  table_name   the table
  row_id       its key: a text, number or uuid; of several columns a JSON object of them

Outcomes: found (ok; row, version), absent (there is no such row, or none that the
caller may see).

Runs with the caller's rights on the table, row security too. Works on a standby, in a
read-only transaction and at every isolation level, as of the snapshot that it gets.

Raises 22004, 22023 or 42804 for bad input, 55000 for a table that is not tracked or has
no primary key, 42501 without the right to read it.

Source: an HTTP GET and its ETag.$comment$;

COMMENT ON FUNCTION @extschema@.patch_row IS $comment$Changes fields of a row, if nobody has changed them since the caller read it.

Arguments:
  table_name         the table, tracked by track_rows
  row_id             its key: a text, number or uuid; of several columns a JSON object
  base_version       the version that read_row answered and the changes were made from
  changes            a JSON object of fields and their new values; null sets NULL, and a
                     field that is not named stays as it is
  writer             who changes, such as 'billing'; recorded, and compared with owners
  merge              whether others may have changed other fields meanwhile
  note               anything you want to find in claims.row_history
  create_if_absent   whether to make the row when it is not there; base_version is 0 then
  force              whether to take fields over from their owners

Outcomes: applied (ok; the row and its new version), merged (ok; the same, and moved
names the fields that others had changed meanwhile), created (ok), unchanged (ok; every
value was so already, as when the answer was lost and the call is repeated), conflict
(row, version, and conflicts: of each field yours and theirs, changed_by and changed_at,
and base where the history keeps values), not_owner (field and owner), absent, busy
(somebody has the row locked, for longer than pg_claims.lock_wait).

After a conflict read conflicts or the row, decide, and call again with that version:
the same call again is the same conflict.

Runs with the caller's rights on the table, row security too: it needs SELECT on the
table and UPDATE on the fields, and INSERT to create.

Raises 22004, 22023 or 42804 for bad input, 42703 for an unknown field, 55000 for a
table that is not tracked or has no primary key, 42501 without the rights, 0A000 above
READ COMMITTED, 25006 where nothing can be written, and what the table's own constraints
and triggers raise.

Source: optimistic concurrency control, and the If-Match of HTTP.$comment$;

COMMENT ON FUNCTION @extschema@.track_rows IS $comment$Gives the rows of a table versions, so that no change of one is lost: a column that
rises with each change, and triggers that refuse a change made from an old version and
record who changed which field.

Arguments:
  table_name       an ordinary or partitioned table with a primary key
  version_column   a column of an integer type, or the name of one to add; the rows that
                   are there begin at 1, without being rewritten
  keep_values      whether claims.row_history keeps old and new values too, which then
                   everybody can read who may use the extension; NULL: as it was, and at
                   first not

Outcomes: tracked (ok), exists (ok; it was tracked like that already, and its triggers
have been made anew), mismatch (it is tracked by another column; nothing was done), busy
(the table is in use, for longer than pg_claims.lock_wait).

Called by the table's owner, whose rights it uses. Locks the table for a moment.

Raises 22004 or 22023 for bad input, 42501 for anybody but the owner, 55000 for a table
that cannot be tracked, 0A000 above READ COMMITTED, 25006 where nothing can be written.

Source: the version column of object-relational mappers, kept by the database.$comment$;

COMMENT ON FUNCTION @extschema@.untrack_rows IS $comment$Ends what track_rows began: the triggers go, and all that is recorded of the table with
them. The version column stays, as others may read it by now.

Arguments:
  table_name   the table

Outcomes: untracked (ok; version_column is what is left), absent (ok; it was not
tracked), busy (the table is in use, for longer than pg_claims.lock_wait).

Called by the table's owner. Locks the table for a moment.

Raises 22004 for NULL, 42501 for anybody but the owner, 0A000 above READ COMMITTED,
25006 where nothing can be written.$comment$;

COMMENT ON FUNCTION @extschema@.check_slot IS $comment$Says whether a claim would succeed now, and if not, who has the slot. Never needed
before a claim: the claim itself decides.

Arguments:
  slot_id   the slot; of a pool it is one unit that is asked about

Outcomes: free (ok; also when a claim has expired that nobody has ended yet), absent
(ok; nobody ever claimed it, which is also what a misspelt name looks like), claimed,
booked, review; the last three with the claim's own holder and token, remaining_ms
while a lease runs, and hint: the call that would free the slot safely. Of a pool:
free or insufficient, with available and capacity.

Raises 22004, 22023 or 42804 for bad input. Works on a standby, in a read-only
transaction and at every isolation level, as of the snapshot that it gets there.

Source: the lease's holder and remaining time, as lock services report them.$comment$;

COMMENT ON FUNCTION @extschema@.check_period IS $comment$Says whether a claim of that period would succeed now, and if not, what is in its way.
Never needed before a claim: the claim itself decides.

Arguments:
  slot_id              the slot; of a pool it is one unit that is asked about
  starts_at, ends_at   the period, as for claim_period

Outcomes: free (ok), claimed, booked, review; the last three with the conflicting
claim's own holder, token and period, remaining_ms while a lease runs, and hint: the
call that would free it safely. Of a pool: free or insufficient, with available (at
the fullest instant) and capacity.

Raises 22004, 22023 or 42804 for bad input. Works on a standby, in a read-only
transaction and at every isolation level, as of the snapshot that it gets there.

Source: free/busy, as in iCalendar, RFC 5545.$comment$;

COMMENT ON FUNCTION @extschema@.free_periods IS $comment$Lists the times inside a window at which a claim of that length would succeed now, for
an agent to offer: the window is the caller's opening hours.

Arguments:
  slot_id              the slot
  starts_at, ends_at   the window, as for claim_period
  length               how long the appointment takes
  step                 from one offered start to the next, beginning with the window's
                       own start; NULL: length

Outcomes: free (ok; free has each with starts_at and ends_at, and of a pool with the
units available), taken (free is empty).

Raises 22004, 22023 or 42804 for bad input, among it a window of more than 1,000
starts. Works on a standby, in a read-only transaction and at every isolation level,
as of the snapshot that it gets there.

Source: free/busy, as in iCalendar, RFC 5545.$comment$;

COMMENT ON FUNCTION @extschema@.claim_period IS $comment$Claims a period of a slot, such as an appointment in a calendar: it fails when it
overlaps another claim. Touching periods do not overlap.

Arguments:
  slot_id    the calendar, room or person
  holder     who claims, best 'workflow:execution'; pass the answer's holder and token on
  starts_at  when it starts, as a text with an offset or Z: '2026-01-02T15:00:00+01:00'
  ends_at    when it ends, likewise; that instant is free again
  units      how many units of a pool (set_capacity) for that time, such as tables;
             NULL: the slot is no pool
  ttl, wait, on_expiry, note, call_id, after   as for claim_slot

Outcomes: claimed (ok), reclaimed (ok; an expired claim was taken over), taken (with
the conflicting period), insufficient (of a pool; with available), already_yours, busy,
not_reached.

Raises 22004, 22023 or 42804 for bad input, 55000 for units of a slot that is no pool
and the reverse, 0A000 above READ COMMITTED, 25006 where nothing can be written.

Source: exclusion constraints over ranges, as PostgreSQL's own documentation has them.$comment$;

COMMENT ON FUNCTION @extschema@.claim_units IS $comment$Claims units of a pool, such as the last pieces in stock: all of them or none.

Arguments:
  slot_id   the pool, which set_capacity has made
  holder    who claims, best 'workflow:execution'; pass the answer's holder and token on
  units     how many
  ttl, wait, on_expiry, note, after   as for claim_slot
  call_id   names this very call, as for claim_slot; with another call_id the same
            holder can claim again: that is another purchase

Outcomes: claimed (ok), insufficient (with available), already_yours, taken (somebody
has claimed the slot as a whole), busy, not_reached.

Raises 22004, 22023 or 42804 for bad input, 55000 for a slot that is no pool, 0A000
above READ COMMITTED, 25006 where nothing can be written.

Source: counting semaphores, Dijkstra 1965, with a lease.$comment$;

COMMENT ON FUNCTION @extschema@.release_holder IS $comment$Ends what a dead run has left behind, for an error workflow: each unconfirmed claim
of the holder ends as its own on_expiry says (released, or into review), and the leases of its
pending keys end, so that the next begin_key is told to verify at once. What is booked
stays booked.

Arguments:
  holder   the holder whose claims end; NULL: nothing is done (a workflow that failed
           to start has no execution)
  reason   kept in claims.history

Outcomes: released (ok; released, in_review and keys say how many), busy (skipped
says how many somebody else was at work on, or how many are left
after a thousand: call again).

Raises 22023 for a bad holder, 0A000 above READ COMMITTED, 25006 where nothing can be
written.

Source: n8n's error workflow, which gets execution.id and knows nothing else.$comment$;

COMMENT ON FUNCTION @extschema@.claim_many IS $comment$Claims several things at once, such as a room and a person: all or none of them.

Arguments:
  requests  a JSON array of at most 1,000 objects: {"slot_id": …} for a slot, with
            "starts_at" and "ends_at" for a period, with "units" for units of a pool;
            units of one pool are added up, and otherwise no slot can stand there twice
  holder    who claims, best 'workflow:execution'
  ttl, wait, on_expiry, note, call_id, after   as for claim_slot, for all of them

Outcomes: claimed (ok; claims has each with its token, for confirm_many and
release_many), taken, insufficient, already_yours (slot_id is the first that was
refused), busy, not_reached.

Raises 22004 or 22023 for bad input, 55000 for units of a slot that is no pool and the
reverse, 0A000 above READ COMMITTED, 25006 where nothing can be written.

Source: atomic multi-resource acquisition, with locks that are tried and never waited
for, so that two orders of the same things cannot deadlock.$comment$;

COMMENT ON FUNCTION @extschema@.confirm_many IS $comment$Confirms several claims at once: all are booked, or none is.

Arguments:
  claims   the claims that claim_many answered: a JSON array of objects with slot_id
           and token
  holder   who claimed them
  result   what to keep with each booking

Outcomes: confirmed (ok; claims has each one's own answer), or the outcome of the first
that confirm_slot would refuse, with its slot_id: lost, cancelled, insufficient,
not_holder, busy.

Raises 22004 or 22023 for bad input, 0A000 above READ COMMITTED, 25006 where nothing
can be written.

Source: as claim_many.$comment$;

COMMENT ON FUNCTION @extschema@.release_many IS $comment$Gives several claims back at once, or puts them in doubt: all or none.

Arguments:
  claims    the claims that claim_many answered: a JSON array of objects with slot_id
            and token
  holder    who claimed them
  reason, in_doubt   as for release_slot

Outcomes: released, or review when in doubt (ok; claims has each one's own answer), or the outcome of the first
that release_slot would refuse, with its slot_id: booked, lost, insufficient,
not_holder, busy.

Raises 22004 or 22023 for bad input, 0A000 above READ COMMITTED, 25006 where nothing
can be written.

Source: as claim_many.$comment$;

COMMENT ON FUNCTION @extschema@.move_period IS $comment$Moves a claim or a booking to another period, in one step: the old one ends and the
new one has its status and its lease. It may overlap its old self. The old token goes
on meaning it.

Arguments:
  slot_id, holder, token   as claim_period answered them; with a NULL token it is the
                           holder's one open claim of the slot
  starts_at, ends_at       the new period, as for claim_period

Outcomes: moved (ok; with the new token), taken (with the conflicting period),
insufficient (of a pool), expired, review, lost, not_holder, ambiguous, busy.

Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
nothing can be written.

Source: rescheduling, as calendars know it, made one transaction.$comment$;

COMMENT ON FUNCTION @extschema@.set_capacity IS $comment$Makes a slot a pool of so many units, or changes how many. It may be lowered below
what is taken: then no claim succeeds until enough has been given back.

Arguments:
  slot_id    the pool
  capacity   how many units there are, 0 or more

Outcomes: set (ok; with taken, available, and overhang when more is taken than there
is), taken (somebody has claimed the slot as a whole or a period of all of it), busy.

Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
nothing can be written.

Source: counting semaphores, Dijkstra 1965.$comment$;

COMMENT ON FUNCTION @extschema@.confirm_slot IS $comment$Confirms that what the claim was for has happened: the slot is booked.

Arguments:
  slot_id, holder, token   as claim_slot answered them; without a token it is the
                           holder's one open claim of the slot
  result                   what to keep with the booking, such as the calendar's id

Outcomes: confirmed (ok), already_confirmed (ok), confirmed_late (ok; the lease was
over or the claim had ended, and nobody else had taken the slot), lost (lost_to has
it now: apologise or refund), cancelled, insufficient (late, and the pool has no room),
not_holder, ambiguous (several open claims: name the token), busy.

Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
nothing can be written.

Source: fencing tokens, as in Chubby; the late confirm answers the calendar call that
succeeds after its lease.$comment$;

COMMENT ON FUNCTION @extschema@.release_slot IS $comment$Gives a claim back, or puts it in doubt.

Arguments:
  slot_id, holder, token   as claim_slot answered them; without a token it is the
                           holder's one open claim of the slot
  reason                   kept in claims.history
  in_doubt                 true when the booking may have happened all the same (a
                           timeout proves nothing): the slot stays blocked, in review,
                           until resolve_slot says what really happened

Outcomes: released (ok), already_released (ok), review (ok; in doubt, or it was in
review and stays there), booked (use cancel_slot), lost, insufficient (late and in
doubt, and the pool has no room), not_holder, ambiguous, busy.

Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
nothing can be written.

Source: releasing a lease by its fencing token, so that a late release never frees
the next holder's.$comment$;

COMMENT ON FUNCTION @extschema@.extend_slot IS $comment$Makes a running lease longer: the heartbeat of work that takes its time.

Arguments:
  slot_id, holder, token   as claim_slot answered them; without a token it is the
                           holder's one open claim of the slot
  ttl                      the lease from now on, from 1 ms to pg_claims.max_ttl; it
                           never makes a lease shorter; NULL: pg_claims.default_ttl

Outcomes: extended (ok), expired (reaped or not: claim again), lost, booked, review,
not_holder, ambiguous, busy.

Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
nothing can be written.

Source: leases, Gray and Cheriton 1989.$comment$;

COMMENT ON FUNCTION @extschema@.resolve_slot IS $comment$Decides a claim in review: what the real calendar says becomes what the table says.

Arguments:
  slot_id, holder, token   as claims.needs_check lists them
  verdict                  'booked' or 'released'
  evidence                 what was seen; kept as the claim's result

Outcomes: booked (ok), released (ok), not_in_review, lost, not_holder, ambiguous,
busy.

Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
nothing can be written.

Source: in-doubt transactions of two-phase commit: only evidence resolves them.$comment$;

-- The end of what scripts/upgrade.py has written.

SET LOCAL search_path TO pg_catalog, pg_temp;

-- What is new belongs to the owner of the rest, whoever runs this, and is for the roles that
-- have all of the old functions: CREATE EXTENSION or grant_access has let them in. A role
-- that somebody gave less has that and no more.
DO $$
DECLARE
    known pg_catalog.text[] := pg_catalog.current_setting('claims_update.known');
    owner pg_catalog.regrole := (SELECT nspowner FROM pg_catalog.pg_namespace WHERE nspname = 'claims');
    installer pg_catalog.oid := (SELECT extowner FROM pg_catalog.pg_extension WHERE extname = 'pg_claims');
    let_in pg_catalog.oid[];
    grantee pg_catalog.regrole;
    member pg_catalog.record;
BEGIN
    WITH old AS (
        SELECT oid, proacl FROM pg_catalog.pg_proc
        WHERE pg_catalog.concat_ws('/', tableoid, oid) = ANY (known)
          AND proname NOT IN ('set_access', 'grant_access', 'revoke_access'))
    SELECT ARRAY(SELECT acl.grantee FROM old, pg_catalog.aclexplode(old.proacl) AS acl
                 WHERE acl.grantee <> 0
                 GROUP BY acl.grantee HAVING count(DISTINCT old.oid) = (SELECT count(*) FROM old))
    INTO let_in;
    FOR member IN
        SELECT d.classid, d.objid, p.oid IS NOT NULL AS is_function,
               CASE WHEN p.oid IS NOT NULL THEN pg_catalog.format('FUNCTION %s', d.objid::pg_catalog.regprocedure)
                    ELSE pg_catalog.format('TABLE %s', d.objid::pg_catalog.regclass) END AS name
        FROM pg_catalog.pg_depend AS d
        JOIN pg_catalog.pg_extension AS e ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid
        LEFT JOIN pg_catalog.pg_proc AS p ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
        LEFT JOIN pg_catalog.pg_class AS c ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid
        WHERE e.extname = 'pg_claims' AND d.deptype = 'e'
          AND pg_catalog.concat_ws('/', d.classid, d.objid) <> ALL (known)
          AND (p.oid IS NOT NULL OR c.relkind IN ('r', 'v'))
    LOOP
        EXECUTE pg_catalog.format('ALTER %s OWNER TO %s', member.name, owner);
        IF member.is_function THEN
            EXECUTE pg_catalog.format('REVOKE EXECUTE ON %s FROM PUBLIC', member.name);
        END IF;
        FOREACH grantee IN ARRAY let_in
        LOOP
            EXECUTE pg_catalog.format('GRANT %s ON %s TO %s',
                CASE WHEN member.is_function THEN 'EXECUTE' ELSE 'SELECT' END, member.name, grantee);
        END LOOP;
        -- A grant made in a script counts as the extension's own: pg_dump leaves it out, and
        -- PostgreSQL 17 and later keep the role from being dropped even when it is revoked.
        -- But only the installing role gets its rights from CREATE EXTENSION.
        UPDATE pg_catalog.pg_init_privs AS i
        SET initprivs = ARRAY(SELECT item FROM pg_catalog.unnest(i.initprivs) AS item
                              WHERE EXISTS (SELECT FROM pg_catalog.aclexplode(ARRAY[item]) AS acl
                                            WHERE acl.grantee IN (owner, installer)))
        WHERE i.classoid = member.classid AND i.objoid = member.objid;
        DELETE FROM pg_catalog.pg_shdepend AS d
        WHERE d.dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
          AND d.classid = member.classid AND d.objid = member.objid
          AND d.deptype = 'i' AND d.refobjid NOT IN (owner, installer);
    END LOOP;
END
$$;

-- Last, since they keep claims from being written until all of this is committed. The
-- table is read once for each; none of its rows is in either yet.
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

COMMENT ON INDEX claims.slot_claims_pool_expires_at_idx IS 'open units of a pool by the end of their lease';
COMMENT ON INDEX claims.slot_claims_period_idx IS 'a slot''s open periods by their begin';
COMMENT ON INDEX claims.slot_claims_pool_period_idx IS 'units of a pool by the period they are taken for';

SET LOCAL search_path TO @extschema@, pg_temp;
