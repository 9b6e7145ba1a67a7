//! The triggers of a tracked table: guard_row before a row is written, record_row after.
//!
//! They run with the rights of whoever writes, and turn the row into JSON with those;
//! what they know and write down about it goes through the ledger.

use pgrx::heap_tuple::PgHeapTuple;
use pgrx::pg_sys::panic::{ErrorReport, ErrorReportable};
use pgrx::prelude::*;

use super::image::Image;
use super::ledger::{self, Change, Last, Tracked};
use super::writing::Author;
use crate::backend::rights::in_plain_text;
use crate::backend::tuple::{new_row, row_to_json, set_integer};
use crate::backend::value::{Table, quoted};
use crate::error::Refusal;

type NewRow<'a> = Option<PgHeapTuple<'a, AllocatedByRust>>;

#[pg_trigger(sql = false)]
fn guard_row<'a>(trigger: &'a PgTrigger<'a>) -> Result<NewRow<'a>, ErrorReport> {
    Ok(guard(trigger).map_err(ErrorReport::from).unwrap_or_report())
}

#[pg_trigger(sql = false)]
fn record_row<'a>(trigger: &'a PgTrigger<'a>) -> Result<NewRow<'a>, ErrorReport> {
    record(trigger).map_err(ErrorReport::from).unwrap_or_report();
    Ok(None)
}

fn guard<'a>(trigger: &'a PgTrigger<'a>) -> Result<NewRow<'a>, Refusal> {
    let Some(mut row) = new_row(trigger) else { return Ok(None) };
    let tracked = tracked_of(trigger)?;
    let (old, Some(new)) = images(trigger) else { return Ok(None) };
    if new.get(&tracked.version_column).is_none() {
        return Err(no_version(&tracked));
    }
    let given = new.integer(&tracked.version_column);
    let version = match old {
        Some(old) => updated_version(&tracked, &old, &new, given)?,
        None => inserted_version(&tracked, &new, given)?,
    };
    if given != Some(version) && !set_integer(&mut row, &tracked.version_column, version) {
        return Err(no_version(&tracked));
    }
    Ok(Some(row))
}

fn no_version(tracked: &Tracked) -> Refusal {
    let (table, column) = (tracked.name.clone(), tracked.version_column.clone());
    Refusal::NoVersion { table, column }
}

/// The version that a new row begins with: higher than any that the key has had, so that
/// nobody who has read an earlier row can take this one for it.
fn inserted_version(tracked: &Tracked, new: &Image, given: Option<i64>) -> Result<i64, Refusal> {
    const MOST: i64 = i64::MAX / 2;
    let row_id = new.row_id(&tracked.key);
    match (ledger::last_version(tracked, &row_id), given) {
        (_, Some(version)) if version > MOST => {
            let table = tracked.name.clone();
            Err(Refusal::VersionAhead { table, row_id, version, had: 0 })
        }
        // A row of that key is there: the INSERT fails, or ends in ON CONFLICT DO UPDATE,
        // and what it brings must stay as old as it is.
        (Some(Last { has_ended: false, .. }), given) => Ok(given.unwrap_or(0)),
        (Some(last), given) => Ok(given.unwrap_or(0).max(last.version + 1)),
        (None, given) => Ok(given.unwrap_or(0).max(1)),
    }
}

/// The version that a row has after an UPDATE.
fn updated_version(
    tracked: &Tracked,
    old: &Image,
    new: &Image,
    given: Option<i64>,
) -> Result<i64, Refusal> {
    let had = version_of(tracked, old);
    let changed = tracked.contents(new).differing(&tracked.contents(old));
    if changed.is_empty() {
        return Ok(had);
    }
    let row_id = old.row_id(&tracked.key);
    match given {
        // Not named, or named as it is.
        Some(version) if version == had => {}
        // Who counts versions itself has counted this one.
        Some(version) if Some(version) == had.checked_add(1) => {}
        Some(version) if version > had => {
            let table = tracked.name.clone();
            return Err(Refusal::VersionAhead { table, row_id, version, had });
        }
        _ => {
            let moved = ledger::marks_since(tracked, &row_id, given.unwrap_or(0));
            let table = tracked.name.clone();
            return Err(Refusal::Stale { table, row_id, version: given, had, moved });
        }
    }
    if tracked.is_enforced {
        check_owners(tracked, &row_id, &changed)?;
    }
    // Under its key there may have been a row with higher versions: one that was deleted
    // where the triggers did not see it, or that had this key before this one.
    let last = ledger::last_version(tracked, &new.row_id(&tracked.key));
    let most = last.map_or(had, |last| last.version.max(had));
    most.checked_add(1).ok_or_else(|| no_version(tracked))
}

/// That whoever writes may change these fields by any statement.
fn check_owners(tracked: &Tracked, row_id: &str, fields: &[String]) -> Result<(), Refusal> {
    let author = Author::here(tracked.table)?;
    if author.is_forced {
        return Ok(());
    }
    let writer = author.writer;
    let others = ledger::owners(tracked, fields);
    match others.into_iter().find(|owned| owned.is_enforced && owned.writer != writer) {
        None => Ok(()),
        Some(owned) => Err(Refusal::OwnedField {
            table: tracked.name.clone(),
            row_id: row_id.to_owned(),
            field: owned.field,
            owner: owned.writer,
            writer,
        }),
    }
}

fn record<'a>(trigger: &'a PgTrigger<'a>) -> Result<(), Refusal> {
    let tracked = match tracked_of(trigger) {
        Ok(tracked) => tracked,
        // Nothing that could be lost: the row is gone.
        Err(_) if trigger.new().is_none() => return Ok(()),
        Err(refusal) => return Err(refusal),
    };
    let author = Author::here(tracked.table)?;
    match images(trigger) {
        (None, Some(new)) => inserted(&tracked, &author, new),
        (Some(old), Some(new)) => updated(&tracked, &author, old, new),
        (Some(old), None) => deleted(&tracked, &author, old),
        (None, None) => ledger::record_truncate(&tracked, &author),
    }
    Ok(())
}

fn inserted(tracked: &Tracked, author: &Author, new: Image) {
    let row_id = new.row_id(&tracked.key);
    let (version, contents) = (version_of(tracked, &new), tracked.contents(&new));
    // A row that goes on where another one was: to whoever has read that one, all of it
    // has changed.
    if version > 1 {
        ledger::mark(tracked, author, &row_id, version, &contents.fields());
    }
    let fields = contents.filled();
    let change = Change { action: "insert", version, fields, old: None, new: Some(contents) };
    ledger::record(tracked, author, &row_id, &change);
}

fn updated(tracked: &Tracked, author: &Author, old: Image, new: Image) {
    let (old_id, row_id) = (old.row_id(&tracked.key), new.row_id(&tracked.key));
    let (had, version) = (version_of(tracked, &old), version_of(tracked, &new));
    let (old, new) = (tracked.contents(&old), tracked.contents(&new));
    let fields = new.differing(&old);
    if fields.is_empty() {
        return;
    }
    let all = new.fields();
    let change = Change { action: "update", version, fields, old: Some(old), new: Some(new) };
    ledger::record(tracked, author, &row_id, &change);
    if old_id == row_id {
        ledger::mark(tracked, author, &row_id, version, &change.fields);
        return;
    }
    ledger::forget(tracked, &old_id, had);
    ledger::record(tracked, author, &old_id, &Change { action: "rename", ..change });
    // To whoever knows another row by the new key, all of it has changed.
    ledger::mark(tracked, author, &row_id, version, &all);
}

fn deleted(tracked: &Tracked, author: &Author, old: Image) {
    let row_id = old.row_id(&tracked.key);
    let (version, contents) = (version_of(tracked, &old), tracked.contents(&old));
    ledger::forget(tracked, &row_id, version);
    let (version, fields) = (version + 1, contents.filled());
    let change = Change { action: "delete", version, fields, old: Some(contents), new: None };
    ledger::record(tracked, author, &row_id, &change);
}

fn version_of(tracked: &Tracked, image: &Image) -> i64 {
    image.integer(&tracked.version_column).unwrap_or(0)
}

fn tracked_of(trigger: &PgTrigger) -> Result<Tracked, Refusal> {
    let relation = trigger.relation().unwrap_or_report();
    Tracked::find(Table(relation.oid())).unwrap_or_else(|| {
        let table = format!("{}.{}", quoted(relation.namespace()), quoted(relation.name()));
        Err(Refusal::NotTracked { table })
    })
}

/// The row before and after.
fn images<'a>(trigger: &'a PgTrigger<'a>) -> (Option<Image>, Option<Image>) {
    in_plain_text(|| (trigger.old().map(image), trigger.new().map(image)))
}

fn image(row: PgHeapTuple<'_, AllocatedByPostgres>) -> Image {
    Image::parse(&row_to_json(row)).expect("a row's JSON is an object")
}
