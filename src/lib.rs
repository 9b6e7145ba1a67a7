//! pg_claims: atomic claims, leases, fencing tokens and idempotency keys inside
//! PostgreSQL, so that two workflow runs never do one thing twice.
//!
//! # Layout
//!
//! - `slots/`: a claim and everything that can happen to it; one file a command or a few
//!   of one shape. Its `mod.rs` has the row, the two arbiters and the protocol.
//! - `keys`: idempotency keys: what a resent request finds.
//! - `numbers`: series of numbers without gaps.
//! - `rows/`: rows of the user's own tables, no change of which is lost.
//! - `reaper`: reap_stale_claims; `schedule`: the reaper as a job of pg_cron.
//! - `soundness`: check_claims, which looks for what must not be.
//! - `turn`: the way of every writing call: look, lock, look again, write.
//! - `outcome`: the JSON contract, what every function answers.
//! - `input`: what is refused, before anything is read; `error`: how that is said.
//! - `notify`: pg_claims.notify, a notification at each change of state.
//! - `settings`: every `pg_claims.*` setting.
//! - `mutant`: not in what is shipped: parts of the protocol left out, for the tests.
//! - `backend/`: the border to PostgreSQL (SPI, locks, clock, values), and all of the
//!   crate's `unsafe`.
//!
//! # SQL
//!
//! The installation script is, in this order: `sql/slots.sql` (the schema, claims and
//! pools), `sql/keys.sql`, `sql/numbers.sql`, `sql/rows.sql`, `sql/views.sql`,
//! `sql/reaper.sql`, the functions that stand in `src/`, and last what concerns all of
//! them: their comments, which `build.rs` takes from the doc comments, and
//! `sql/access.sql`.

mod backend;
mod error;
mod input;
mod keys;
#[cfg(feature = "mutant")]
mod mutant;
mod notify;
mod numbers;
mod outcome;
mod reaper;
mod rows;
mod schedule;
mod settings;
mod slots;
mod soundness;
mod turn;

pgrx::pg_module_magic!();

pgrx::extension_sql_file!("../sql/slots.sql", name = "slots", bootstrap);
pgrx::extension_sql_file!("../sql/keys.sql", name = "keys", requires = ["slots"]);
pgrx::extension_sql_file!("../sql/numbers.sql", name = "numbers", requires = ["slots"]);
pgrx::extension_sql_file!("../sql/rows.sql", name = "rows", requires = ["slots"]);
pgrx::extension_sql_file!("../sql/views.sql", name = "views", requires = ["keys"]);
pgrx::extension_sql_file!("../sql/reaper.sql", name = "reaper", requires = ["views"]);
include!(concat!(env!("OUT_DIR"), "/last.rs"));

#[pgrx::pg_guard]
extern "C-unwind" fn _PG_init() {
    settings::init();
    #[cfg(feature = "mutant")]
    mutant::init();
    backend::init();
}
