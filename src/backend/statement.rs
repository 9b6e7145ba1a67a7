//! Prepared statements: parsed and planned once per backend, and the only place
//! that touches SPI.
//!
//! pgrx's own SPI client is not used, for two reasons that the protocol depends on:
//! its `select` reads on the snapshot of the calling query, so a second look after a
//! wait sees nothing new; its `update` assigns a transaction id before it knows
//! whether there is anything to write. Here every execution takes a fresh snapshot,
//! and only a statement that really changes a row gets a transaction id: losing a
//! claim writes nothing at all.

use std::cell::Cell;
use std::ffi::CString;
use std::ptr;

use pgrx::datum::DatumWithOid;
use pgrx::{FromDatum, pg_sys};

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
pub struct Row {
    tuple: pg_sys::HeapTuple,
    shape: pg_sys::TupleDesc,
}

impl Row {
    /// The value of column `number` (from 1), `None` for NULL.
    pub fn get<T: FromDatum>(&self, number: i32) -> Option<T> {
        let mut is_null = true;
        // SAFETY: tuple and descriptor belong to the live result that `Statement::rows`
        // is walking; a column number out of range gives NULL.
        unsafe {
            let value = pg_sys::SPI_getbinval(self.tuple, self.shape, number, &mut is_null);
            T::from_polymorphic_datum(value, is_null, pg_sys::SPI_gettypeid(self.shape, number))
        }
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
                self.plan(args),
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
                &mut (0..found)
                    .map(|i| Row { tuple: *(*table).vals.add(i), shape: (*table).tupdesc }),
            );
            check(pg_sys::SPI_finish(), "SPI_finish");
            answer
        }
    }

    /// The kept plan. A generic plan at once: each statement is one walk down an index,
    /// whatever its parameters are, so planning it anew for every call buys nothing.
    fn plan(&self, args: &[DatumWithOid]) -> pg_sys::SPIPlanPtr {
        if self.plan.get().is_null() {
            let sql = CString::new(self.sql).expect("a statement's text has no NUL");
            let mut types: Vec<pg_sys::Oid> = args.iter().map(DatumWithOid::oid).collect();
            // SAFETY: called while SPI is connected; SPI_keepplan moves the plan to a
            // context that lives as long as the backend, so the pointer stays good.
            unsafe {
                let plan = pg_sys::SPI_prepare_cursor(
                    sql.as_ptr(),
                    types.len() as _,
                    types.as_mut_ptr(),
                    pg_sys::CURSOR_OPT_GENERIC_PLAN as _,
                );
                assert!(!plan.is_null(), "cannot prepare {:?}", self.sql);
                check(pg_sys::SPI_keepplan(plan), "SPI_keepplan");
                self.plan.set(plan);
            }
        }
        self.plan.get()
    }
}

fn check(code: i32, what: &str) {
    assert!(code >= 0, "{what} failed with code {code}");
}
