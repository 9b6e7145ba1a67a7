//! What the server says of its other extensions, and of this one.

use std::ffi::CStr;

use pgrx::pg_sys;

use super::value::text_of;

/// The value of a setting that a loaded library has defined; `None` where it is not
/// loaded, even if a configuration file sets it. Whoever asks need not be allowed to see
/// it: only a superuser is shown where pg_cron lives, and everybody has to be told where
/// to go.
pub fn setting(name: &CStr) -> Option<String> {
    // SAFETY: the name is NUL-terminated, an unknown one is allowed, and the value is
    // copied before anything can change it.
    unsafe {
        let flags = pg_sys::GetConfigOptionFlags(name.as_ptr(), true);
        if flags & pg_sys::GUC_CUSTOM_PLACEHOLDER as i32 != 0 {
            return None;
        }
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| text_of(value))
    }
}

/// The table of the extension, or InvalidOid. Between the installation of a new library and
/// ALTER EXTENSION pg_claims UPDATE it is still an older version, without the tables that
/// are new.
pub fn table_oid(name: &CStr) -> pg_sys::Oid {
    // SAFETY: two look-ups in the caches of the catalog, inside a transaction as every
    // function call is; the names are NUL-terminated, and what is missing is InvalidOid.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"claims".as_ptr(), true);
        pg_sys::get_relname_relid(name.as_ptr(), schema)
    }
}

pub fn has_table(name: &CStr) -> bool {
    table_oid(name) != pg_sys::Oid::INVALID
}
