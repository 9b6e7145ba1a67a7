-- Tracked tables: which versions their rows have, who changed what, and who may.
SET LOCAL search_path TO pg_catalog, pg_temp;

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

SET LOCAL search_path TO @extschema@, pg_temp;
