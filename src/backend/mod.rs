//! The border to PostgreSQL: every `unsafe` of the crate lives here.
//!
//! | module      | what it wraps                                                        |
//! |-------------|----------------------------------------------------------------------|
//! | `statement` | prepared statements through SPI, one cache per backend               |
//! | `table`     | one row of the extension's own tables, without a statement            |
//! | `raw`       | functions of PostgreSQL under one guard, instead of one each          |
//! | `lock`      | the transaction-level advisory lock, and waking who waits for it     |
//! | `clock`     | the database's clock, sleeping, and what the transaction may do      |
//! | `server`    | what the server says of its other extensions, and of this one        |
//! | `publisher` | whether another server fills the tables, by logical replication      |
//! | `rights`    | whose rights a statement runs with, and under which settings         |
//! | `tuple`     | the rows that a trigger is about                                     |
//! | `jsonb`     | an answer as jsonb                                                   |
//! | `value`     | SQL values in and out: identifiers of any type, jsonb, instants      |

pub mod clock;
mod jsonb;
pub mod lock;
pub mod publisher;
mod raw;
pub mod rights;
pub mod server;
pub mod statement;
pub mod table;
pub mod tuple;
pub mod value;

/// Called once when the library is loaded.
///
/// pgrx appends a Rust backtrace to the DETAIL of every PostgreSQL error that
/// passes through Rust when the server runs with `RUST_BACKTRACE` set. n8n shows
/// its users nothing but the DETAIL, so they would read the backtrace instead of
/// PostgreSQL's own words.
pub fn init() {
    // SAFETY: PostgreSQL backends are single-threaded while a library is loaded.
    unsafe { std::env::set_var("RUST_LIB_BACKTRACE", "0") };
    // SAFETY: the argument is a NUL-terminated literal. From here on
    // `SET pg_claims.lock_wiat` is an error instead of a silent new setting.
    unsafe { pgrx::pg_sys::MarkGUCPrefixReserved(c"pg_claims".as_ptr()) };
    lock::init();
    publisher::init();
}
