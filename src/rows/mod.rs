//! Rows of the user's own tables, no change of which is lost.
//!
//! A tracked table has a version column and two triggers. [`guard`] gives each change of a
//! row the next version and refuses one that was made from an old version; then it writes
//! down in the ledger which fields changed, at which version and by whom. So patch_row can
//! tell a change of the same field (a conflict) from one of another field (merged).
//!
//! - `track`: track_rows, untrack_rows; `owners`: own_fields, disown_fields
//! - `patch`: read_row, patch_row; `target`: the statements about the user's table
//! - `guard`: the triggers; `writing`: who is writing
//! - `ledger`: the bookkeeping; `image`: a row as JSON
//!
//! # Rights
//!
//! The functions are not SECURITY DEFINER, nor are the triggers: the user's table is read
//! and written with the caller's own rights. Row security and the user's triggers work as
//! ever, and whatever code a type or a trigger of the table brings along gets no more
//! rights than it has. Only the ledger's constant statements run as the owner of the
//! extension's tables.

mod guard;
mod image;
mod ledger;
mod owners;
mod patch;
mod target;
mod track;
mod writing;

pub use image::Image;
pub use ledger::{Mark, purge};
