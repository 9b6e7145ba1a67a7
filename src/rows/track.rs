//! track_rows, untrack_rows

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::target::NO_TABLE;
use crate::backend::clock;
use crate::backend::lock::{TableLock, try_lock_table};
use crate::backend::rights::{as_owner, current_role, session_role};
use crate::backend::statement::Dynamic;
use crate::backend::value::{Reply, Table, literal, quoted};
use crate::error::{Refusal, TableFault};
use crate::input;
use crate::outcome::{Answer, Outcome};
use crate::statement;
use crate::turn::Patience;

/// Gives the rows of a table versions, so that no change of one is lost: a column that
/// rises with each change, and triggers that refuse a change made from an old version and
/// record who changed which field.
///
/// Arguments:
///   table_name       an ordinary or partitioned table with a primary key
///   version_column   a column of an integer type, or the name of one to add; the rows that
///                    are there begin at 1, without being rewritten
///   keep_values      whether claims.row_history keeps old and new values too, which then
///                    everybody can read who may use the extension; NULL: as it was, and at
///                    first not
///
/// Outcomes: tracked (ok), exists (ok; it was tracked like that already, and its triggers
/// have been made anew), mismatch (it is tracked by another column; nothing was done), busy
/// (the table is in use, for longer than pg_claims.lock_wait).
///
/// Called by the table's owner, whose rights it uses. Locks the table for a moment.
///
/// Raises 22004 or 22023 for bad input, 42501 for anybody but the owner, 55000 for a table
/// that cannot be tracked, 0A000 above READ COMMITTED, 25006 where nothing can be written.
///
/// Source: the version column of object-relational mappers, kept by the database.
#[pg_extern(volatile, parallel_unsafe)]
fn track_rows(
    table_name: Option<Table>,
    version_column: default!(Option<String>, "'version'"),
    keep_values: default!(Option<bool>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let table = table_name.ok_or(NO_TABLE)?;
    let column = input::name("version_column", version_column)?;
    input::writable("track_rows")?;
    let place = Place::look(table)?;
    place.check_owner()?;
    place.check_kind()?;
    let answer = match lock(table, TableLock::All) {
        true => track(&place, &column, keep_values)?,
        false => Answer::busy(),
    };
    Ok(Reply::from(&Answer { table_name: Some(place.name), ..answer }))
}

/// Ends what track_rows began: the triggers go, and all that is recorded of the table with
/// them. The version column stays, as others may read it by now.
///
/// Arguments:
///   table_name   the table
///
/// Outcomes: untracked (ok; version_column is what is left), absent (ok; it was not
/// tracked), busy (the table is in use, for longer than pg_claims.lock_wait).
///
/// Called by the table's owner. Locks the table for a moment.
///
/// Raises 22004 for NULL, 42501 for anybody but the owner, 0A000 above READ COMMITTED,
/// 25006 where nothing can be written.
#[pg_extern(volatile, parallel_unsafe)]
fn untrack_rows(table_name: Option<Table>) -> Result<Reply, ErrorReport> {
    let table = table_name.ok_or(NO_TABLE)?;
    input::writable("untrack_rows")?;
    let place = Place::look(table)?;
    place.check_owner()?;
    let answer = match (&place.tracked_by, lock(table, TableLock::All)) {
        (None, _) => Answer::yes(Outcome::Absent, "The table was not tracked."),
        (Some(_), false) => Answer::busy(),
        (Some(column), true) => {
            place.drop_triggers();
            as_owner(|| FORGET.with(|forget| forget.run(&[table.into()])));
            Answer {
                version_column: Some(column.clone()),
                ..Answer::yes(
                    Outcome::Untracked,
                    "The table is not tracked any more; its version column has stayed.",
                )
            }
        }
    };
    Ok(Reply::from(&Answer { table_name: Some(place.name), ..answer }))
}

/// Tries to get the table's lock within the call's patience.
pub fn lock(table: Table, lock: TableLock) -> bool {
    let mut patience = Patience::for_lock();
    loop {
        if try_lock_table(table.0, lock) {
            return true;
        }
        if !patience.pause() {
            return false;
        }
    }
}

statement! {
    LOOK =
        "SELECT class.oid::regclass::text, class.relkind::text, class.relpersistence::text,
                class.relispartition, class.relnamespace = 'claims'::regnamespace,
                class.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = class.oid),
                EXISTS (SELECT FROM pg_index WHERE indrelid = class.oid AND indisprimary),
                EXISTS (SELECT FROM pg_index AS index
                        JOIN pg_attribute AS attribute
                          ON attribute.attrelid = index.indrelid
                         AND attribute.attnum = ANY (index.indkey::int2[])
                        WHERE index.indrelid = class.oid AND index.indisprimary
                          AND attribute.attgenerated <> ''),
                (SELECT tracked.version_column FROM claims.tracked_tables AS tracked
                 WHERE tracked.table_name = class.oid),
                class.relowner
         FROM pg_class AS class WHERE class.oid = $1";

    OWNS = "SELECT pg_has_role($1::oid, $2::oid, 'USAGE')";

    COLUMN =
        "SELECT attribute.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype),
                attribute.attgenerated <> '' OR attribute.attidentity <> '',
                attribute.attnotnull, attribute.atthasdef,
                format_type(attribute.atttypid, attribute.atttypmod),
                EXISTS (SELECT FROM pg_index AS index
                        WHERE index.indrelid = $1 AND index.indisprimary
                          AND attribute.attnum = ANY (index.indkey::int2[]))
         FROM pg_attribute AS attribute
         WHERE attribute.attrelid = $1 AND attribute.attname = $2
           AND attribute.attnum > 0 AND NOT attribute.attisdropped";

    FORGET =
        "WITH fields AS (DELETE FROM claims.row_fields WHERE table_name = $1),
              history AS (DELETE FROM claims.row_history WHERE table_name = $1),
              owners AS (DELETE FROM claims.field_owners WHERE table_name = $1)
         DELETE FROM claims.tracked_tables WHERE table_name = $1";

    TRACK =
        "INSERT INTO claims.tracked_tables (table_name, version_column, keep_values, tracked_by, tracked_at)
         VALUES ($1, $2, coalesce($3, false), $4, $5)
         ON CONFLICT (table_name) DO UPDATE
         SET keep_values = coalesce($3, tracked_tables.keep_values)
         RETURNING keep_values";
}

/// A table that is to be tracked, or not any more.
pub struct Place {
    table: Table,
    /// With its schema, quoted.
    pub name: String,
    kind: String,
    persistence: String,
    is_partition: bool,
    is_of_claims: bool,
    has_children: bool,
    has_key: bool,
    has_computed_key: bool,
    tracked_by: Option<String>,
    owner: pg_sys::Oid,
}

impl Place {
    pub fn look(table: Table) -> Result<Self, Refusal> {
        let found = as_owner(|| {
            LOOK.with(|look| {
                look.first(&[table.into()], |row| Self {
                    table,
                    name: row.must(1),
                    kind: row.must(2),
                    persistence: row.must(3),
                    is_partition: row.must(4),
                    is_of_claims: row.must(5),
                    has_children: row.must(6),
                    has_key: row.must(7),
                    has_computed_key: row.must(8),
                    tracked_by: row.get(9),
                    owner: row.must(10),
                })
            })
        });
        found.ok_or_else(|| Refusal::NoTable { table: table.name() })
    }

    /// As PostgreSQL does for ALTER TABLE.
    pub fn check_owner(&self) -> Result<(), Refusal> {
        let role = current_role();
        let owns: Option<bool> = as_owner(|| {
            OWNS.with(|owns| owns.first(&[role.into(), self.owner.into()], |row| row.must(1)))
        });
        match owns {
            Some(true) => Ok(()),
            _ => Err(Refusal::NotTableOwner { table: self.name.clone() }),
        }
    }

    fn check_kind(&self) -> Result<(), Refusal> {
        let fault = if !["r", "p"].contains(&self.kind.as_str()) {
            TableFault::Kind
        } else if self.is_of_claims {
            TableFault::OfClaims
        } else if self.is_partition {
            TableFault::Partition
        } else if self.persistence == "t" {
            TableFault::Temporary
        } else if self.has_children {
            TableFault::Inherited
        } else if !self.has_key {
            TableFault::NoKey
        } else if self.has_computed_key {
            TableFault::ComputedKey
        } else {
            return Ok(());
        };
        Err(Refusal::Table { table: self.name.clone(), fault })
    }

    fn alter(&self, what: &str) {
        Dynamic(format!("ALTER TABLE {} {what}", self.name)).run();
    }

    fn drop_triggers(&self) {
        for (name, _) in TRIGGERS {
            Dynamic(format!("DROP TRIGGER IF EXISTS {name} ON {}", self.name)).run();
        }
    }

    fn create_triggers(&self) {
        for (name, what) in TRIGGERS {
            Dynamic(format!(
                "CREATE OR REPLACE TRIGGER {name} {}",
                what.replace("TABLE", &self.name)
            ))
            .run();
        }
    }
}

/// PostgreSQL runs triggers in the order of their names, and these are to have the last
/// word.
const TRIGGERS: [(&str, &str); 3] = [
    (
        "zzz_pg_claims_guard",
        "BEFORE INSERT OR UPDATE ON TABLE FOR EACH ROW EXECUTE FUNCTION claims.guard_row()",
    ),
    (
        "zzz_pg_claims_record",
        "AFTER INSERT OR UPDATE OR DELETE ON TABLE FOR EACH ROW EXECUTE FUNCTION claims.record_row()",
    ),
    (
        "zzz_pg_claims_truncate",
        "AFTER TRUNCATE ON TABLE FOR EACH STATEMENT EXECUTE FUNCTION claims.record_row()",
    ),
];

fn track(place: &Place, column: &str, keep_values: Option<bool>) -> Result<Answer, Refusal> {
    let table = place.table;
    let about =
        |answer: Answer, column: &str| Answer { version_column: Some(column.to_owned()), ..answer };
    if let Some(tracked_by) = place.tracked_by.as_deref().filter(|tracked_by| *tracked_by != column)
    {
        let message = "The table is tracked by another column.";
        return Ok(about(Answer::no(Outcome::Mismatch, message), tracked_by));
    }
    prepare_column(place, column)?;
    if place.tracked_by.is_none() {
        // Whatever is there is of a table that is gone, and that had this one's number.
        as_owner(|| FORGET.with(|forget| forget.run(&[table.into()])));
    }
    place.create_triggers();
    let role = session_role();
    let args = [
        table.into(),
        column.into(),
        keep_values.into(),
        role.as_str().into(),
        clock::now().into(),
    ];
    let keep_values = as_owner(|| TRACK.with(|track| track.first(&args, |row| row.must(1))));
    let answer = match place.tracked_by {
        None => Answer::yes(Outcome::Tracked, "From now on no change of a row is lost."),
        Some(_) => Answer::yes(Outcome::Exists, "The table was tracked already."),
    };
    Ok(about(Answer { keep_values, ..answer }, column))
}

/// Sees to it that the version column is there.
fn prepare_column(place: &Place, column: &str) -> Result<(), Refusal> {
    struct Found {
        is_integer: bool,
        is_computed: bool,
        is_not_null: bool,
        has_default: bool,
        type_name: String,
        is_key: bool,
    }
    let found = as_owner(|| {
        COLUMN.with(|find| {
            find.first(&[place.table.into(), column.into()], |row| Found {
                is_integer: row.must(1),
                is_computed: row.must(2),
                is_not_null: row.must(3),
                has_default: row.must(4),
                type_name: row.must(5),
                is_key: row.must(6),
            })
        })
    });
    let name = quoted(column);
    let Some(found) = found else {
        // A constant default is kept beside the table, so no row is rewritten.
        place.alter(&format!("ADD COLUMN {name} bigint NOT NULL DEFAULT 1"));
        place.alter(&format!("ALTER COLUMN {name} SET DEFAULT 0"));
        let meaning = "pg_claims: the version of the row, one more at each change. The trigger \
                       gives a new row its first one";
        Dynamic(format!("COMMENT ON COLUMN {}.{name} IS {}", place.name, literal(meaning))).run();
        return Ok(());
    };
    let refuse = |fault: TableFault| Refusal::Table { table: place.name.clone(), fault };
    if !found.is_integer || found.is_computed || found.is_key {
        let (column, type_name) = (column.to_owned(), found.type_name);
        return Err(refuse(TableFault::Column { column, type_name }));
    }
    if !found.is_not_null {
        let has_null = Dynamic(format!(
            "SELECT true FROM {} AS tracked WHERE tracked.{name} IS NULL LIMIT 1",
            place.name
        ));
        if has_null.first(&[], |row| row.must::<bool>(1)).is_some() {
            let column = name;
            return Err(refuse(TableFault::NullVersions { column }));
        }
        place.alter(&format!("ALTER COLUMN {name} SET NOT NULL"));
    }
    if !found.has_default {
        place.alter(&format!("ALTER COLUMN {name} SET DEFAULT 0"));
    }
    Ok(())
}
