//! Prepared statements: parsed and planned once per backend, or once per call where the
//! table is the user's; and the only place that touches SPI.
//!
//! pgrx's own SPI client is not used, for two reasons that the protocol depends on:
//! its `select` reads on the snapshot of the calling query, so a second look after a
//! wait sees nothing new; its `update` assigns a transaction id before it knows
//! whether there is anything to write. Here every execution takes a fresh snapshot,
//! and only a statement that really changes a row gets a transaction id: losing a
//! claim writes nothing at all.

use std::cell::Cell;
use std::ffi::CString;
use std::panic::AssertUnwindSafe;
use std::ptr;

use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::panic::{CaughtError, ErrorReport, ErrorReportable};
use pgrx::{FromDatum, PgSqlErrorCode, PgTryBuilder, pg_sys};

use super::table::Column;
use super::tuple::datum_to_json;
use crate::error::Refusal;

/// One SQL statement, prepared at its first use in a backend and kept.
pub struct Statement {
    sql: &'static str,
    plan: Cell<pg_sys::SPIPlanPtr>,
}

/// Names a statement beside its only user:
/// `statement! { READ_LAST = "SELECT …" }`.
#[macro_export]
macro_rules! statement {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)+) => {
        thread_local! {
            $($(#[$doc])* static $name: $crate::backend::statement::Statement =
                const { $crate::backend::statement::Statement::new($sql) };)+
        }
    };
}

/// A row of a result, readable only while the statement's result is alive.
pub struct Row(Source);

enum Source {
    Result { tuple: pg_sys::HeapTuple, shape: pg_sys::TupleDesc },
    Slot { slot: *mut pg_sys::TupleTableSlot, columns: *const [Column] },
}

impl Row {
    /// The row in a slot: readable until the slot is cleared.
    pub(super) fn of_slot(slot: *mut pg_sys::TupleTableSlot, columns: &[Column]) -> Self {
        Self(Source::Slot { slot, columns: ptr::from_ref(columns) })
    }

    /// The value of column `number` (from 1), `None` for NULL.
    pub fn get<T: FromDatum>(&self, number: i32) -> Option<T> {
        let (value, is_null, type_oid) = self.value(number);
        // SAFETY: the datum is of that type.
        unsafe { T::from_polymorphic_datum(value, is_null, type_oid) }
    }

    fn value(&self, number: i32) -> (pg_sys::Datum, bool, pg_sys::Oid) {
        let mut is_null = true;
        // SAFETY: tuple and descriptor belong to the live result that `Statement::rows`
        // is walking, and a column number out of range gives NULL; a slot has been filled
        // as far as its columns go.
        unsafe {
            match self.0 {
                Source::Result { tuple, shape } => {
                    let value = pg_sys::SPI_getbinval(tuple, shape, number, &mut is_null);
                    (value, is_null, pg_sys::SPI_gettypeid(shape, number))
                }
                Source::Slot { slot, columns } => {
                    let column = &(*columns)[number as usize - 1];
                    let value = *(*slot).tts_values.add(column.place);
                    (value, *(*slot).tts_isnull.add(column.place), column.type_oid)
                }
            }
        }
    }

    /// A column that is a whole row itself, as PostgreSQL's row_to_json writes it.
    pub fn json_of_row(&self, number: i32) -> String {
        let (row, is_null, _) = self.value(number);
        datum_to_json((!is_null).then_some(row))
    }

    /// The value of a column that is NOT NULL.
    pub fn must<T: FromDatum>(&self, number: i32) -> T {
        self.get(number)
            .unwrap_or_else(|| panic!("column {number} of a claims table is unexpectedly NULL"))
    }
}

impl Statement {
    pub const fn new(sql: &'static str) -> Self {
        Self { sql, plan: Cell::new(ptr::null_mut()) }
    }

    /// Runs the statement on a fresh snapshot and reads every row it returns.
    pub fn rows<T>(&self, args: &[DatumWithOid], read: impl Fn(&Row) -> T) -> Vec<T> {
        self.execute(args, |_, rows| rows.map(|row| read(&row)).collect())
    }

    /// Runs the statement on a fresh snapshot and reads its first row, if there is one.
    pub fn first<T>(&self, args: &[DatumWithOid], read: impl Fn(&Row) -> T) -> Option<T> {
        self.execute(args, |_, rows| rows.next().map(|row| read(&row)))
    }

    /// Runs the statement and says how many rows it changed.
    pub fn run(&self, args: &[DatumWithOid]) -> u64 {
        self.execute(args, |changed, _| changed)
    }

    fn execute<T>(
        &self,
        args: &[DatumWithOid],
        read: impl FnOnce(u64, &mut dyn Iterator<Item = Row>) -> T,
    ) -> T {
        in_spi(args, || self.plan(args), read)
    }

    /// The kept plan. A generic plan at once: each statement is one walk down an index,
    /// whatever its parameters are, so planning it anew for every call buys nothing.
    fn plan(&self, args: &[DatumWithOid]) -> pg_sys::SPIPlanPtr {
        if self.plan.get().is_null() {
            // SAFETY: called while SPI is connected; SPI_keepplan moves the plan to a
            // context that lives as long as the backend, so the pointer stays good.
            unsafe {
                let plan = catch_other_version(|| {
                    prepare(self.sql, args, pg_sys::CURSOR_OPT_GENERIC_PLAN)
                });
                check(pg_sys::SPI_keepplan(plan), "SPI_keepplan");
                self.plan.set(plan);
            }
        }
        self.plan.get()
    }
}

/// A statement about a user's own table, whose text is made for the call: prepared, run
/// once, and not kept. Everything in the text that is not the extension's own is quoted by
/// PostgreSQL; values are parameters.
pub struct Dynamic(pub String);

impl Dynamic {
    /// Runs the statement on a fresh snapshot and reads its first row, if there is one.
    pub fn first<T>(&self, args: &[DatumWithOid], read: impl Fn(&Row) -> T) -> Option<T> {
        self.execute(args, |_, rows| rows.next().map(|row| read(&row)))
    }

    /// Runs the statement.
    pub fn run(&self) {
        self.execute(&[], |_, _| ());
    }

    fn execute<T>(
        &self,
        args: &[DatumWithOid],
        read: impl FnOnce(u64, &mut dyn Iterator<Item = Row>) -> T,
    ) -> T {
        // SAFETY: called while SPI is connected, and run before it is finished.
        in_spi(args, || unsafe { prepare(&self.0, args, 0) }, read)
    }
}

/// # Safety
/// SPI must be connected. The plan lives until SPI is finished, unless it is kept.
unsafe fn prepare(sql: &str, args: &[DatumWithOid], options: u32) -> pg_sys::SPIPlanPtr {
    let text = CString::new(sql).expect("a statement's text has no NUL");
    let mut types: Vec<pg_sys::Oid> = args.iter().map(DatumWithOid::oid).collect();
    // SAFETY: the text is NUL-terminated, and there are as many types as it is told.
    let plan = unsafe {
        pg_sys::SPI_prepare_cursor(
            text.as_ptr(),
            types.len() as _,
            types.as_mut_ptr(),
            options as _,
        )
    };
    assert!(!plan.is_null(), "cannot prepare {sql:?}");
    plan
}

fn in_spi<T>(
    args: &[DatumWithOid],
    plan: impl FnOnce() -> pg_sys::SPIPlanPtr,
    read: impl FnOnce(u64, &mut dyn Iterator<Item = Row>) -> T,
) -> T {
    let nulls: Vec<std::ffi::c_char> =
        args.iter().map(|arg| if arg.datum().is_some() { b' ' } else { b'n' } as _).collect();
    let mut values: Vec<pg_sys::Datum> = args
        .iter()
        .map(|arg| arg.datum().map_or(pg_sys::Datum::null(), |datum| datum.sans_lifetime()))
        .collect();
    // SAFETY: SPI is connected and finished in pairs; a PostgreSQL error in between
    // unwinds to the function's border, and the abort of the transaction cleans the
    // SPI stack. The result is read before SPI_finish frees it, and `read` returns
    // owned values only, as its rows cannot outlive the iterator's borrow.
    unsafe {
        check(pg_sys::SPI_connect(), "SPI_connect");
        let code = pg_sys::SPI_execute_plan(
            plan(),
            values.as_mut_ptr(),
            nulls.as_ptr(),
            false, // not "read-only": that would reuse the calling query's snapshot
            0,
        );
        check(code, "SPI_execute_plan");
        let changed = pg_sys::SPI_processed;
        let table = pg_sys::SPI_tuptable;
        let found = if table.is_null() { 0 } else { changed as usize };
        let answer = read(
            changed,
            &mut (0..found).map(|i| {
                Row(Source::Result { tuple: *(*table).vals.add(i), shape: (*table).tupdesc })
            }),
        );
        check(pg_sys::SPI_finish(), "SPI_finish");
        answer
    }
}

fn check(code: i32, what: &str) {
    assert!(code >= 0, "{what} failed with code {code}");
}

/// Runs statements with a user's values in them; where one does not fit its type or its
/// domain, what PostgreSQL says of that.
///
/// The error has left the transaction unusable: the caller must refuse at once, and only
/// knows better what was wrong.
pub fn catch_data_error<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    const CLASS: i32 = 0xfff;
    let is_of =
        |error: PgSqlErrorCode, class: PgSqlErrorCode| error as i32 & CLASS == class as i32 & CLASS;
    PgTryBuilder::new(AssertUnwindSafe(|| Ok(work())))
        .catch_others(|caught| match &caught {
            CaughtError::PostgresError(error) | CaughtError::ErrorReport(error)
                if is_of(error.sql_error_code(), PgSqlErrorCode::ERRCODE_DATA_EXCEPTION)
                    || is_of(
                        error.sql_error_code(),
                        PgSqlErrorCode::ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION,
                    ) =>
            {
                Err(error.message().to_owned())
            }
            _ => caught.rethrow(),
        })
        .execute()
}

/// Prepares a statement about the extension's own tables. Between the installation of a new
/// library and ALTER EXTENSION pg_claims UPDATE they are still those of an older version; the
/// error says so, instead of naming a table that nobody knows.
fn catch_other_version<T>(prepare: impl FnOnce() -> T) -> T {
    PgTryBuilder::new(AssertUnwindSafe(|| Ok(prepare())))
        .catch_others(|caught| match &caught {
            CaughtError::PostgresError(error)
                if matches!(
                    error.sql_error_code(),
                    PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE
                        | PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN
                ) =>
            {
                Err(ErrorReport::from(Refusal::OtherVersion {
                    missing: error.message().to_owned(),
                }))
            }
            _ => caught.rethrow(),
        })
        .execute()
        .unwrap_or_report()
}
