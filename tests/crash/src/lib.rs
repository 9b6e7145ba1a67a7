//! Histories of a pg_claims to which everything happens that can happen to a server, and whether they
//! can be explained.
//!
//! # Layout
//!
//! - `plan`: what the sixteen workers do in a round and what is done to the server meanwhile, from a seed
//! - `server`: a server of our own, to kill, to stop, and to tell what time it is
//! - `call`: a call, and how it is sent
//! - `connection`: one connection, of which an answer can be lost
//! - `round`: carries a plan out and records what was called and answered
//! - [`model`]: what a call may be answered
//! - `check`: whether a history can be explained by the model; stateright is the judge
//! - `ledger`: whether what was acknowledged is in the tables
//! - [`run`]: rounds, one after the other
//!
//! A call whose answer was lost may have happened, at any time until its backend is gone, or not at
//! all. At the end of a round no backend of such a call is left, and the tables are read as one more
//! call, whose answer has to be explained too.

mod call;
mod check;
mod connection;
mod ledger;
pub mod model;
pub mod plan;
mod round;
pub mod run;
mod server;
mod tables;

use std::fmt;

use tokio_postgres::Error;

/// What must not have happened, in words.
#[derive(Debug)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Everything the server said about an error, where `Display` says only "db error".
fn told(error: &Error) -> String {
    match error.as_db_error() {
        Some(e) => format!("{} {} ({})", e.code().code(), e.message(), e.detail().unwrap_or("-")),
        None => error.to_string(),
    }
}
