//! The bookkeeping of tracked rows, and the only statements about it.
//!
//! All of it runs as the owner of the extension's tables ([`as_owner`]), whoever calls.
//! Nothing of a row gets in here but texts: what has become of it as JSON.

use pgrx::datum::DatumWithOid;

use super::image::Image;
use super::writing::Author;
use crate::backend::clock;
use crate::backend::rights::as_owner;
use crate::backend::server::has_table;
use crate::backend::statement::Row;
use crate::backend::value::{Instant, Json, Table};
use crate::error::Refusal;
use crate::statement;

/// A tracked table, as its triggers need to know it.
pub struct Tracked {
    /// The table itself; of a partition, its root.
    pub table: Table,
    /// Its name with its schema, quoted.
    pub name: String,
    pub version_column: String,
    pub keep_values: bool,
    /// Whether plain UPDATEs obey the owners of fields.
    pub is_enforced: bool,
    pub key: Vec<String>,
    pub generated: Vec<String>,
}

statement! {
    LOOK_UP =
        "SELECT tracked.table_name, tracked.table_name::text, tracked.version_column,
                tracked.keep_values,
                EXISTS (SELECT FROM claims.field_owners AS owned
                        WHERE owned.table_name = tracked.table_name AND owned.enforce = 'all'),
                ARRAY(SELECT attribute.attname::text
                      FROM pg_index AS index, unnest(index.indkey::int2[]) WITH ORDINALITY AS key (attnum, n)
                      JOIN pg_attribute AS attribute USING (attnum)
                      WHERE index.indrelid = tracked.table_name AND index.indisprimary
                        AND attribute.attrelid = tracked.table_name
                        AND key.n <= index.indnkeyatts
                      ORDER BY key.n),
                ARRAY(SELECT attname::text FROM pg_attribute
                      WHERE attrelid = tracked.table_name AND attgenerated <> '')
         FROM claims.tracked_tables AS tracked
         WHERE tracked.table_name = coalesce(pg_partition_root($1), $1)";
}

impl Tracked {
    /// `None` when neither the table nor the one it is a partition of is tracked.
    pub fn find(table: Table) -> Option<Result<Self, Refusal>> {
        let found = as_owner(|| {
            LOOK_UP.with(|look| {
                look.first(&[table.into()], |row| Self {
                    table: row.must(1),
                    name: row.must(2),
                    version_column: row.must(3),
                    keep_values: row.must(4),
                    is_enforced: row.must(5),
                    key: row.must(6),
                    generated: row.must(7),
                })
            })
        })?;
        Some(match found.key.as_slice() {
            [] => Err(Refusal::NoKey { table: found.name }),
            _ => Ok(found),
        })
    }

    /// The fields of a row that anybody can change: not the version, and nothing that
    /// PostgreSQL computes.
    pub fn contents(&self, image: &Image) -> Image {
        image.only(|field| {
            field != self.version_column && !self.generated.iter().any(|name| name == field)
        })
    }
}

/// A change of a row that has happened.
pub struct Change {
    pub action: &'static str,
    pub version: i64,
    pub fields: Vec<String>,
    pub old: Option<Image>,
    pub new: Option<Image>,
}

statement! {
    ADD_ENTRY =
        "INSERT INTO claims.row_history
             (table_name, row_id, version, action, fields, old_values, new_values, writer,
              changed_at, note, forced)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";

    /// Only who has the row itself locked comes here for it.
    MARK_FIELDS =
        "INSERT INTO claims.row_fields (table_name, row_id, field, version, writer, changed_at)
         SELECT $1, $2, field, $3, $4, $5 FROM unnest($6) AS field
         ON CONFLICT (table_name, row_id, field) DO UPDATE
         SET version = excluded.version, writer = excluded.writer, changed_at = excluded.changed_at";

    FORGET_FIELDS =
        "DELETE FROM claims.row_fields WHERE table_name = $1 AND row_id = $2 AND version <= $3";
}

/// Writes a change down.
pub fn record(tracked: &Tracked, author: &Author, row_id: &str, change: &Change) {
    let kept = |image: &Option<Image>| {
        let image = image.as_ref().filter(|_| tracked.keep_values)?;
        Some(Json::from(&image.only(|field| change.fields.iter().any(|name| name == field))))
    };
    let args: [DatumWithOid; 11] = [
        tracked.table.into(),
        row_id.into(),
        change.version.into(),
        change.action.into(),
        change.fields.clone().into(),
        kept(&change.old).into(),
        kept(&change.new).into(),
        author.writer.as_str().into(),
        author.at.into(),
        author.note.clone().into(),
        author.is_forced.into(),
    ];
    as_owner(|| ADD_ENTRY.with(|add| add.run(&args)));
}

/// Notes which fields of a row a version has changed.
pub fn mark(tracked: &Tracked, author: &Author, row_id: &str, version: i64, fields: &[String]) {
    let args = [
        tracked.table.into(),
        row_id.into(),
        version.into(),
        author.writer.as_str().into(),
        author.at.into(),
        fields.to_vec().into(),
    ];
    as_owner(|| MARK_FIELDS.with(|mark| mark.run(&args)));
}

/// Drops what is known of the fields of a row that is gone. What a later version has
/// noted there is about another row, which has got the same key meanwhile.
pub fn forget(tracked: &Tracked, row_id: &str, version: i64) {
    let args = [tracked.table.into(), row_id.into(), version.into()];
    as_owner(|| FORGET_FIELDS.with(|forget| forget.run(&args)));
}

statement! {
    LAST_ENTRY =
        "SELECT version, action FROM claims.row_history
         WHERE table_name = $1 AND row_id = $2
         ORDER BY version DESC, changed_at DESC LIMIT 1";
}

/// What the history says last of a key.
pub struct Last {
    pub version: i64,
    /// Whether the row that had the key is gone.
    pub has_ended: bool,
}

pub fn last_version(tracked: &Tracked, row_id: &str) -> Option<Last> {
    let args = [tracked.table.into(), row_id.into()];
    as_owner(|| {
        LAST_ENTRY.with(|last| {
            last.first(&args, |row| Last {
                version: row.must(1),
                has_ended: !["insert", "update"].contains(&row.must(2)),
            })
        })
    })
}

statement! {
    TRUNCATE =
        "WITH gone AS (DELETE FROM claims.row_fields WHERE table_name = $1)
         INSERT INTO claims.row_history
             (table_name, row_id, version, action, fields, writer, changed_at, forced)
         SELECT $1, row_id, version + 1, 'truncate', '{}', $2, $3, false
         FROM (SELECT DISTINCT ON (row_id) row_id, version, action FROM claims.row_history
               WHERE table_name = $1 ORDER BY row_id, version DESC, changed_at DESC) AS last
         WHERE action IN ('insert', 'update')";
}

/// Writes down that all rows are gone.
pub fn record_truncate(tracked: &Tracked, author: &Author) {
    let args = [tracked.table.into(), author.writer.as_str().into(), author.at.into()];
    as_owner(|| TRUNCATE.with(|truncate| truncate.run(&args)));
}

/// When a field was last changed.
#[derive(Debug)]
pub struct Mark {
    pub field: String,
    pub version: i64,
    pub writer: String,
    pub changed_at: Instant,
}

impl Mark {
    fn read(row: &Row) -> Self {
        Self {
            field: row.must(1),
            version: row.must(2),
            writer: row.must(3),
            changed_at: row.must(4),
        }
    }
}

statement! {
    MARKS_SINCE =
        "SELECT field, version, writer, changed_at FROM claims.row_fields
         WHERE table_name = $1 AND row_id = $2 AND version > $3
         ORDER BY version, field";

    VALUE_BEFORE =
        "SELECT old_values -> $4 FROM claims.row_history
         WHERE table_name = $1 AND row_id = $2 AND version > $3 AND $4 = ANY (fields)
         ORDER BY version, changed_at LIMIT 1";
}

/// The fields that have changed since a version.
pub fn marks_since(tracked: &Tracked, row_id: &str, version: i64) -> Vec<Mark> {
    let args = [tracked.table.into(), row_id.into(), version.into()];
    as_owner(|| MARKS_SINCE.with(|marks| marks.rows(&args, Mark::read)))
}

/// The value that a field had at a version, where the history has kept it.
pub fn value_at(tracked: &Tracked, row_id: &str, version: i64, field: &str) -> Option<Json> {
    let args = [tracked.table.into(), row_id.into(), version.into(), field.into()];
    as_owner(|| VALUE_BEFORE.with(|value| value.first(&args, |row| row.get(1)))).flatten()
}

/// A field that only one writer may change.
pub struct Owned {
    pub field: String,
    pub writer: String,
    pub is_enforced: bool,
}

statement! {
    OWNERS =
        "SELECT field, writer, enforce = 'all' FROM claims.field_owners
         WHERE table_name = $1 AND field = ANY ($2) ORDER BY field";

    TAKE_OVER =
        "UPDATE claims.field_owners SET writer = $3, owned_at = $4
         WHERE table_name = $1 AND field = ANY ($2)";
}

/// Those of the fields that somebody owns.
pub fn owners(tracked: &Tracked, fields: &[String]) -> Vec<Owned> {
    let args = [tracked.table.into(), fields.to_vec().into()];
    as_owner(|| {
        OWNERS.with(|owners| {
            owners.rows(&args, |row| Owned {
                field: row.must(1),
                writer: row.must(2),
                is_enforced: row.must(3),
            })
        })
    })
}

/// Makes a writer the owner of fields that others own.
pub fn take_over(tracked: &Tracked, fields: &[String], writer: &str) {
    let args = [tracked.table.into(), fields.to_vec().into(), writer.into(), clock::now().into()];
    as_owner(|| TAKE_OVER.with(|take| take.run(&args)));
}

statement! {
    PURGE_HISTORY = "DELETE FROM claims.row_history WHERE changed_at < $1";

    /// What is left of tables that have been dropped.
    PURGE_DROPPED =
        "WITH dropped AS (
             DELETE FROM claims.tracked_tables AS tracked
             WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = tracked.table_name)
             RETURNING table_name),
         fields AS (DELETE FROM claims.row_fields AS field USING dropped
                    WHERE field.table_name = dropped.table_name),
         history AS (DELETE FROM claims.row_history AS entry USING dropped
                     WHERE entry.table_name = dropped.table_name)
         DELETE FROM claims.field_owners AS owned USING dropped
         WHERE owned.table_name = dropped.table_name";
}

/// Deletes what nobody asks for any more: the history before `oldest`, and all about
/// tables that are not there.
pub fn purge(oldest: Instant) {
    if !has_table(c"tracked_tables") {
        return;
    }
    PURGE_HISTORY.with(|purge| purge.run(&[oldest.into()]));
    PURGE_DROPPED.with(|purge| purge.run(&[]));
}
