//! Whose rights a statement runs with, and under which settings.
//!
//! The functions about rows run with the caller's rights, and so do the triggers: what
//! they do with a row may run code of the table's owner. Their bookkeeping runs as the
//! owner of the extension's tables, in [`as_owner`] and nowhere else, and consists of
//! constant statements that take texts, numbers and times.

use std::ffi::CStr;

use pgrx::pg_sys;

use super::value::text_of;

/// Runs `work` as the owner of the extension's tables, with the search_path that the
/// SECURITY DEFINER functions have.
///
/// `work` must run nothing but statements of the extension's own on its own tables and
/// the catalogs. A PostgreSQL error leaves the user and the settings as they are: the
/// abort of the transaction, or of the subtransaction that catches it, puts them back.
pub fn as_owner<T>(work: impl FnOnce() -> T) -> T {
    let owner = owner();
    let mut user = pg_sys::Oid::INVALID;
    let mut context = 0;
    // SAFETY: reads and sets what PostgreSQL's own wrapper of SECURITY DEFINER functions
    // does, with the same flag: until it is put back, nothing can SET ROLE.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        pg_sys::SetUserIdAndSecContext(
            owner,
            context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32,
        );
    }
    let answer = with_settings(&[(c"search_path", c"pg_catalog, pg_temp")], work);
    // SAFETY: puts back what was there.
    unsafe { pg_sys::SetUserIdAndSecContext(user, context) };
    answer
}

/// Runs `work` under settings in which a value has one text, whatever the session has
/// set: times in UTC, numbers with all their digits.
pub fn in_plain_text<T>(work: impl FnOnce() -> T) -> T {
    let settings = [
        (c"TimeZone", c"UTC"),
        (c"DateStyle", c"ISO"),
        (c"IntervalStyle", c"postgres"),
        (c"extra_float_digits", c"1"),
        (c"bytea_output", c"hex"),
    ];
    with_settings(&settings, work)
}

/// Plans and runs statements about a heap of rows, which are written for one walk of one
/// index, as just that: also where the table has grown since it was last counted, and
/// whatever the session has set.
pub fn walking_indexes<T>(work: impl FnOnce() -> T) -> T {
    let settings = [
        (c"enable_indexscan", c"on"),
        (c"enable_tidscan", c"on"),
        (c"enable_nestloop", c"on"),
        (c"enable_seqscan", c"off"),
        (c"enable_bitmapscan", c"off"),
        (c"enable_hashjoin", c"off"),
        (c"enable_mergejoin", c"off"),
        (c"enable_sort", c"off"),
    ];
    with_settings(&settings, work)
}

fn with_settings<T>(settings: &[(&CStr, &CStr)], work: impl FnOnce() -> T) -> T {
    // SAFETY: as PostgreSQL does for the SET clause of a function: every level that is
    // opened is closed, here or by the abort of the transaction.
    let level = unsafe { pg_sys::NewGUCNestLevel() };
    for (name, value) in settings {
        // SAFETY: both are NUL-terminated, and every user may set these.
        unsafe {
            pg_sys::set_config_option(
                name.as_ptr(),
                value.as_ptr(),
                pg_sys::GucContext::PGC_USERSET,
                pg_sys::GucSource::PGC_S_SESSION,
                pg_sys::GucAction::GUC_ACTION_SAVE,
                true,
                0,
                false,
            );
        }
    }
    let answer = work();
    // SAFETY: the level is the one opened above.
    unsafe { pg_sys::AtEOXact_GUC(true, level) };
    answer
}

/// The role that the session acts as: who logged in, or whom SET ROLE chose. Inside of a
/// SECURITY DEFINER function it is still the caller.
pub fn session_role() -> String {
    // SAFETY: the outer user is that of the session, and so has a name; the name is
    // copied.
    unsafe { text_of(pg_sys::GetUserNameFromId(pg_sys::GetOuterUserId(), false)) }
}

/// The role whose rights count now.
pub fn current_role() -> pg_sys::Oid {
    // SAFETY: a plain variable of this backend.
    unsafe { pg_sys::GetUserId() }
}

/// The owner of the extension's tables.
fn owner() -> pg_sys::Oid {
    // SAFETY: the names are NUL-terminated; the catalog row is copied from and released.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"claims".as_ptr(), false);
        let table = pg_sys::get_relname_relid(c"tracked_tables".as_ptr(), schema);
        let row = pg_sys::SearchSysCache1(
            pg_sys::SysCacheIdentifier::RELOID as _,
            pg_sys::Datum::from(table),
        );
        assert!(!row.is_null(), "claims.tracked_tables is not there");
        let class = pg_sys::GETSTRUCT(row).cast::<pg_sys::FormData_pg_class>();
        let owner = (*class).relowner;
        pg_sys::ReleaseSysCache(row);
        owner
    }
}
