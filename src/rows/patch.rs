//! read_row, patch_row
//!
//! A patch looks first, and what needs no writing is answered without. Then it locks the
//! row, never waiting in the lock's queue, looks again and decides anew: whoever has the
//! row locked is the only one who can change it, or what the ledger says of it. The UPDATE
//! repeats the version all the same, so that the row itself has the last word.

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use super::image::Image;
use super::ledger::{self, Mark, Owned};
use super::target::{Key, Target};
use super::writing::{Author, Writing};
use crate::backend::clock;
use crate::backend::lock::{Subject, TableLock, try_lock_table};
use crate::backend::value::{AnyIdentifier, Json, Reply, Table};
use crate::error::Refusal;
use crate::input;
use crate::outcome::{Answer, Conflict, Outcome};
use crate::turn::{Patience, take_turn};

/// Reads a row of a tracked table, with its version.
///
/// Arguments:
///   table_name   the table
///   row_id       its key: a text, number or uuid; of several columns a JSON object of them
///
/// Outcomes: found (ok; row, version), absent (there is no such row, or none that the
/// caller may see).
///
/// Runs with the caller's rights on the table, row security too. Works on a standby, in a
/// read-only transaction and at every isolation level, as of the snapshot that it gets.
///
/// Raises 22004, 22023 or 42804 for bad input, 55000 for a table that is not tracked or has
/// no primary key, 42501 without the right to read it.
///
/// Source: an HTTP GET and its ETag.
#[pg_extern(volatile, parallel_unsafe)]
fn read_row(
    table_name: Option<Table>,
    row_id: Option<AnyIdentifier>,
) -> Result<Reply, ErrorReport> {
    let target = Target::find(table_name)?;
    let key = target.key_of(row_id)?;
    let answer = match target.read(&key)? {
        Some(row) => about(&target, &row, Answer::yes(Outcome::Found, "This is the row now.")),
        None => absent(&target, &key),
    };
    Ok(Reply::from(&answer))
}

/// Changes fields of a row, if nobody has changed them since the caller read it.
///
/// Arguments:
///   table_name         the table, tracked by track_rows
///   row_id             its key: a text, number or uuid; of several columns a JSON object
///   base_version       the version that read_row answered and the changes were made from
///   changes            a JSON object of fields and their new values; null sets NULL, and a
///                      field that is not named stays as it is
///   writer             who changes, such as 'billing'; recorded, and compared with owners
///   merge              whether others may have changed other fields meanwhile
///   note               anything you want to find in claims.row_history
///   create_if_absent   whether to make the row when it is not there; base_version is 0 then
///   force              whether to take fields over from their owners
///
/// Outcomes: applied (ok; the row and its new version), merged (ok; the same, and moved
/// names the fields that others had changed meanwhile), created (ok), unchanged (ok; every
/// value was so already, as when the answer was lost and the call is repeated), conflict
/// (row, version, and conflicts: of each field yours and theirs, changed_by and changed_at,
/// and base where the history keeps values), not_owner (field and owner), absent, busy
/// (somebody has the row locked, for longer than pg_claims.lock_wait).
///
/// After a conflict read conflicts or the row, decide, and call again with that version:
/// the same call again is the same conflict.
///
/// Runs with the caller's rights on the table, row security too: it needs SELECT on the
/// table and UPDATE on the fields, and INSERT to create.
///
/// Raises 22004, 22023 or 42804 for bad input, 42703 for an unknown field, 55000 for a
/// table that is not tracked or has no primary key, 42501 without the rights, 0A000 above
/// READ COMMITTED, 25006 where nothing can be written, and what the table's own constraints
/// and triggers raise.
///
/// Source: optimistic concurrency control, and the If-Match of HTTP.
#[pg_extern(volatile, parallel_unsafe)]
#[allow(clippy::too_many_arguments)]
fn patch_row(
    table_name: Option<Table>,
    row_id: Option<AnyIdentifier>,
    base_version: Option<i64>,
    changes: Option<Json>,
    writer: Option<String>,
    merge: default!(Option<bool>, "true"),
    note: default!(Option<Json>, "NULL"),
    create_if_absent: default!(Option<bool>, "false"),
    force: default!(Option<bool>, "false"),
) -> Result<Reply, ErrorReport> {
    let base = base_version.ok_or(Refusal::Null {
        argument: "base_version",
        hint: "Pass the version that read_row answered; a retry begins with reading the row \
               again. For a row that may not be there yet: 0, with create_if_absent => true.",
    })?;
    if base < 0 {
        let (argument, given, least) = ("base_version", base, 0);
        return Err(Refusal::Count { argument, given, least }.into());
    }
    let author = Author {
        writer: input::name("writer", writer)?,
        note: input::json("note", note)?,
        is_forced: input::flag("force", force)?,
        at: clock::now(),
    };
    let is_merging = input::flag("merge", merge)?;
    let may_create = input::flag("create_if_absent", create_if_absent)? && base == 0;
    let changes = input::changes(changes)?;
    let target = Target::find(table_name)?;
    let key = target.key_of(row_id)?;
    input::writable("patch_row")?;
    let fitted = target.fit(&changes)?;
    let patch = Patch { target, key, base, changes, fitted, author, is_merging, may_create };
    Ok(Reply::from(&patch.write()?))
}

struct Patch {
    target: Target,
    key: Key,
    base: i64,
    /// As they were given.
    changes: Image,
    /// As the columns would show them.
    fitted: Image,
    author: Author,
    is_merging: bool,
    may_create: bool,
}

/// What is to be done about a row as it is.
enum Decision {
    Answer(Box<Answer>),
    Write {
        /// Those of the changes that change anything.
        changes: Image,
        /// What others have changed since the base.
        moved: Vec<String>,
        /// What is taken over from its owners.
        taken: Vec<String>,
    },
}

impl Patch {
    fn write(&self) -> Result<Answer, Refusal> {
        let mut patience = Patience::for_lock();
        loop {
            if let Some(answer) = self.attempt(&mut patience)? {
                return Ok(answer);
            }
            if !patience.pause() {
                return Ok(self.named(Answer::busy()));
            }
        }
    }

    /// `None` to look again: somebody has locked the row or its table, or is making the row.
    fn attempt(&self, patience: &mut Patience) -> Result<Option<Answer>, Refusal> {
        let Some(row) = self.target.read(&self.key)? else {
            return Ok(match self.may_create {
                true => self.create(patience),
                false => Some(absent(&self.target, &self.key)),
            });
        };
        if let Decision::Answer(answer) = self.decide(&row) {
            return Ok(Some(*answer));
        }
        // The row's lock needs the table's, for which the statement itself would wait.
        if !try_lock_table(self.target.tracked.table.0, TableLock::Rows) {
            return Ok(None);
        }
        let Some(row) = self.target.read_locked(&self.key) else {
            return Ok(None);
        };
        match self.decide(&row) {
            Decision::Answer(answer) => Ok(Some(*answer)),
            Decision::Write { changes, moved, taken } => {
                self.apply(&row, &changes, moved, &taken).map(Some)
            }
        }
    }

    fn decide(&self, row: &Image) -> Decision {
        let tracked = &self.target.tracked;
        let version = self.version_of(row);
        let differing = self.fitted.differing(row);
        if differing.is_empty() {
            let answer = Answer::yes(Outcome::Unchanged, "The row has these values already.");
            return Decision::Answer(Box::new(self.about(row, answer)));
        }
        if let Some(refused) = self.owned_by_another(&differing) {
            return Decision::Answer(Box::new(self.about(row, refused)));
        }
        let row_id = row.row_id(&tracked.key);
        let marks = match version == self.base {
            true => Vec::new(),
            false => ledger::marks_since(tracked, &row_id, self.base),
        };
        let conflicting = self.conflicting(version, &differing, &marks);
        if !conflicting.is_empty() {
            let answer = self.conflict(row, &row_id, &conflicting, &marks);
            return Decision::Answer(Box::new(self.about(row, answer)));
        }
        Decision::Write {
            changes: self.changes.only(|field| differing.iter().any(|name| name == field)),
            moved: marks.into_iter().map(|mark| mark.field).collect(),
            taken: self.others(&differing).into_iter().map(|owned| owned.field).collect(),
        }
    }

    /// Those of the fields that another writer owns.
    fn others(&self, fields: &[String]) -> Vec<Owned> {
        let mut owned = ledger::owners(&self.target.tracked, fields);
        owned.retain(|owned| owned.writer != self.author.writer);
        owned
    }

    fn owned_by_another(&self, fields: &[String]) -> Option<Answer> {
        if self.author.is_forced {
            return None;
        }
        let owned = self.others(fields).into_iter().next()?;
        Some(Answer {
            field: Some(owned.field),
            owner: Some(owned.writer),
            ..Answer::no(Outcome::NotOwner, "Only its owner may change that field.")
        })
    }

    /// Which of the fields somebody has changed since the base.
    fn conflicting(&self, version: i64, differing: &[String], marks: &[Mark]) -> Vec<String> {
        if version == self.base {
            return Vec::new();
        }
        // Each version has changed some field, so the newest is among the marks. Else the
        // ledger does not know this row's story, or the base is not of this row's past.
        // And a field that has another name by now can be any of them.
        let is_known = version > self.base
            && marks.iter().any(|mark| mark.version >= version)
            && marks.iter().all(|mark| self.target.has_column(&mark.field));
        let is_conflicting = |field: &&String| {
            !self.is_merging || !is_known || marks.iter().any(|mark| mark.field == **field)
        };
        differing.iter().filter(is_conflicting).cloned().collect()
    }

    fn conflict(&self, row: &Image, row_id: &str, fields: &[String], marks: &[Mark]) -> Answer {
        let conflicts = fields.iter().map(|field| {
            let mark = marks.iter().find(|mark| mark.field == *field);
            Conflict {
                field: field.clone(),
                yours: self.fitted.json(field),
                theirs: row.json(field),
                base: mark
                    .and_then(|_| ledger::value_at(&self.target.tracked, row_id, self.base, field)),
                changed_by: mark.map(|mark| mark.writer.clone()),
                changed_at: mark.map(|mark| mark.changed_at),
            }
        });
        Answer {
            conflicts: Some(conflicts.collect()),
            ..Answer::no(
                Outcome::Conflict,
                "Somebody has changed that since you read it; nothing was written.",
            )
        }
    }

    fn apply(
        &self,
        row: &Image,
        changes: &Image,
        moved: Vec<String>,
        taken: &[String],
    ) -> Result<Answer, Refusal> {
        let tracked = &self.target.tracked;
        let had = self.version_of(row);
        let written = {
            let author = Author { is_forced: !taken.is_empty(), ..self.author.clone() };
            let _until_it_is_written = Writing::begin(tracked.table, author);
            self.target.update(&self.key, had, changes)
        };
        let row = written.ok_or_else(|| Refusal::NotWritten {
            table: tracked.name.clone(),
            row_id: row.row_id(&tracked.key),
        })?;
        // Without a higher version the next patch could not see this one.
        if self.version_of(&row) <= had {
            return Err(Refusal::Unguarded { table: tracked.name.clone() });
        }
        if !taken.is_empty() {
            ledger::take_over(tracked, taken, &self.author.writer);
        }
        let answer = match moved.is_empty() {
            true => Answer::yes(Outcome::Applied, "Your changes are in the row."),
            false => Answer {
                moved: Some(moved),
                ..Answer::yes(
                    Outcome::Merged,
                    "Your changes are in the row, beside those that others have made meanwhile.",
                )
            },
        };
        let answer = Answer { fields: Some(changes.fields()), ..answer };
        Ok(self.about(&row, answer))
    }

    /// Makes the row; `None` when somebody else is at it.
    fn create(&self, patience: &mut Patience) -> Option<Answer> {
        let tracked = &self.target.tracked;
        if let Some(refused) = self.owned_by_another(&self.changes.fields()) {
            return Some(self.named(refused));
        }
        let subject = Subject::NewRow(tracked.table.0.to_u32(), &self.key.given);
        let row = take_turn(&[subject], patience, |turn| {
            let _until_it_is_written = Writing::begin(tracked.table, self.author.clone());
            turn.write_with(|| self.target.insert(&self.key, &self.changes))
        })?;
        let answer = Answer {
            fields: Some(self.changes.fields()),
            ..Answer::yes(Outcome::Created, "The row was not there, and has been made.")
        };
        Some(self.about(&row, answer))
    }

    fn version_of(&self, row: &Image) -> i64 {
        row.integer(&self.target.tracked.version_column).unwrap_or(0)
    }

    fn about(&self, row: &Image, answer: Answer) -> Answer {
        about(&self.target, row, self.named(answer))
    }

    fn named(&self, answer: Answer) -> Answer {
        Answer {
            table_name: Some(self.target.tracked.name.clone()),
            row_id: Some(self.key.given.clone()),
            base_version: Some(self.base),
            writer: Some(self.author.writer.clone()),
            ..answer
        }
    }
}

fn about(target: &Target, row: &Image, answer: Answer) -> Answer {
    let tracked = &target.tracked;
    Answer {
        table_name: Some(tracked.name.clone()),
        row_id: Some(row.row_id(&tracked.key)),
        version: Some(row.integer(&tracked.version_column).unwrap_or(0)),
        row: Some(Json::from(row)),
        ..answer
    }
}

fn absent(target: &Target, key: &Key) -> Answer {
    Answer {
        table_name: Some(target.tracked.name.clone()),
        row_id: Some(key.given.clone()),
        ..Answer::no(Outcome::Absent, "There is no such row.")
    }
}
