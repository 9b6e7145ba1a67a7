//! Who is writing: what patch_row tells the triggers, and what they find otherwise.

use std::cell::RefCell;

use crate::backend::clock;
use crate::backend::rights::session_role;
use crate::backend::value::{Instant, Json, Table};
use crate::error::Refusal;
use crate::input;
use crate::settings;

/// Who makes a change, and what they say about it.
#[derive(Clone)]
pub struct Author {
    pub writer: String,
    pub note: Option<Json>,
    /// Whether it takes fields over from their owners.
    pub is_forced: bool,
    /// When: one time for all that is written down of a change.
    pub at: Instant,
}

thread_local! {
    /// The patch at work, and of which table.
    static PATCH: RefCell<Option<(Table, Author)>> = const { RefCell::new(None) };
}

/// The author of a patch, for the triggers to find while this lives.
pub struct Writing {
    before: Option<(Table, Author)>,
}

impl Writing {
    pub fn begin(table: Table, author: Author) -> Self {
        Self { before: PATCH.replace(Some((table, author))) }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        PATCH.set(self.before.take());
    }
}

impl Author {
    /// Whoever is writing to a table now: the patch at work, or the writer that the session
    /// has named, or its role. A trigger of the user's may write to other tables while a
    /// patch is at work, and that is the same writer's doing; but a patch is forced, and
    /// noted, only in its own table.
    pub fn here(table: Table) -> Result<Self, Refusal> {
        if let Some((patched, author)) = PATCH.with_borrow(Clone::clone) {
            let is_patched = patched == table;
            return Ok(Self {
                writer: author.writer,
                note: author.note.filter(|_| is_patched),
                is_forced: author.is_forced && is_patched,
                at: clock::now(),
            });
        }
        let writer = match settings::writer() {
            Some(writer) => input::name("pg_claims.writer", Some(writer))?,
            None => session_role(),
        };
        Ok(Self { writer, note: None, is_forced: false, at: clock::now() })
    }
}
