//! own_fields, disown_fields

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::ledger;
use super::target::Target;
use super::track::{Place, lock};
use crate::backend::clock;
use crate::backend::lock::TableLock;
use crate::backend::rights::as_owner;
use crate::backend::value::{Reply, Table};
use crate::input;
use crate::outcome::{Answer, Outcome};
use crate::statement;

/// Lets only one writer change some fields of a tracked table.
///
/// Arguments:
///   table_name   the table
///   writer       their owner, as patch_row names it
///   fields       the fields
///   enforce      who obeys: 'patches' (patch_row), or 'all' (every UPDATE, whose writer is
///                the setting pg_claims.writer, or else the database role)
///
/// Outcomes: owned (ok; fields; those that were its own already are enforced anew),
/// not_owner (a field has another owner, who has to be disowned first: field, owner;
/// nothing was done), busy (somebody is writing to the table, for longer than
/// pg_claims.lock_wait).
///
/// A writer is a name that callers give themselves: this keeps workflows from overwriting
/// each other by mistake, and takes no right from anybody. A new row may have any values,
/// and a row may be deleted.
///
/// Called by the table's owner. Nobody writes to the table until its transaction ends.
///
/// Raises 22004 or 22023 for bad input, 42703 for an unknown field, 42501 for anybody but
/// the owner, 55000 for a table that is not tracked, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: the owner of a field in Kubernetes' server-side apply.
#[pg_extern(volatile, parallel_unsafe)]
fn own_fields(
    table_name: Option<Table>,
    writer: Option<String>,
    fields: Option<Vec<Option<String>>>,
    enforce: default!(Option<&str>, "'patches'"),
) -> Result<Reply, ErrorReport> {
    let writer = input::name("writer", writer)?;
    let fields = input::fields(fields)?;
    let enforce = input::word("enforce", enforce, &[("patches", "patches"), ("all", "all")])?;
    input::writable("own_fields")?;
    let target = Target::find(table_name)?;
    let table = target.tracked.table;
    Place::look(table)?.check_owner()?;
    for field in &fields {
        target.check_field(field)?;
    }
    let answer = if lock(table, TableLock::Writers) {
        let owners = ledger::owners(&target.tracked, &fields);
        match owners.into_iter().find(|owned| owned.writer != writer) {
            Some(owned) => Answer {
                field: Some(owned.field),
                owner: Some(owned.writer),
                ..Answer::no(Outcome::NotOwner, "That field has another owner.")
            },
            None => {
                let args = [
                    table.into(),
                    fields.clone().into(),
                    writer.as_str().into(),
                    enforce.into(),
                    clock::now().into(),
                ];
                as_owner(|| OWN.with(|own| own.run(&args)));
                Answer {
                    fields: Some(fields),
                    ..Answer::yes(Outcome::Owned, "Only that writer may change these fields now.")
                }
            }
        }
    } else {
        Answer::busy()
    };
    let table_name = Some(target.tracked.name);
    Ok(Reply::from(&Answer { table_name, writer: Some(writer), ..answer }))
}

/// Takes back what own_fields did.
///
/// Arguments:
///   table_name   the table
///   writer       the owner
///   fields       the fields; NULL: all that the writer owns
///
/// Outcomes: disowned (ok; fields: those that were its own), absent (ok; none was), busy
/// (somebody is writing to the table, for longer than pg_claims.lock_wait).
///
/// Called by the table's owner. Nobody writes to the table until its transaction ends.
///
/// Raises 22004 or 22023 for bad input, 42501 for anybody but the owner, 55000 for a table
/// that is not tracked, 0A000 above READ COMMITTED, 25006 where nothing can be written.
#[pg_extern(volatile, parallel_unsafe)]
fn disown_fields(
    table_name: Option<Table>,
    writer: Option<String>,
    fields: default!(Option<Vec<Option<String>>>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let writer = input::name("writer", writer)?;
    let fields = fields.map(|fields| input::fields(Some(fields))).transpose()?;
    input::writable("disown_fields")?;
    let target = Target::find(table_name)?;
    let table = target.tracked.table;
    Place::look(table)?.check_owner()?;
    let answer = if lock(table, TableLock::Writers) {
        let args = [table.into(), writer.as_str().into(), fields.into()];
        let fields: Vec<String> =
            as_owner(|| DISOWN.with(|disown| disown.rows(&args, |row| row.must(1))));
        match fields.is_empty() {
            true => Answer::yes(Outcome::Absent, "That writer owns none of these fields."),
            false => Answer {
                fields: Some(fields),
                ..Answer::yes(Outcome::Disowned, "Anybody may change these fields now.")
            },
        }
    } else {
        Answer::busy()
    };
    let table_name = Some(target.tracked.name);
    Ok(Reply::from(&Answer { table_name, writer: Some(writer), ..answer }))
}

statement! {
    OWN =
        "INSERT INTO claims.field_owners (table_name, field, writer, enforce, owned_at)
         SELECT $1, field, $3, $4, $5 FROM unnest($2) AS field
         ON CONFLICT (table_name, field) DO UPDATE SET enforce = excluded.enforce";

    DISOWN =
        "WITH gone AS (
             DELETE FROM claims.field_owners
             WHERE table_name = $1 AND writer = $2 AND ($3 IS NULL OR field = ANY ($3))
             RETURNING field)
         SELECT field FROM gone ORDER BY field";
}
