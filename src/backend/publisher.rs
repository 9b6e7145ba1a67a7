//! Whether logical replication fills the tables of this extension from another server.

use std::cell::Cell;
use std::ffi::CStr;

use pgrx::pg_sys;

use super::server::table_oid;

/// Enough to tell: nobody replicates the other tables without one of these.
const TABLES: [&CStr; 6] =
    [c"slot_claims", c"pools", c"keys", c"series", c"numbers", c"row_fields"];

thread_local! {
    /// What was found last, until a subscription changes: a call costs no look-up.
    static FOUND: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Called once when the library is loaded.
pub fn init() {
    // SAFETY: the callback only sets a variable of this backend.
    unsafe {
        pg_sys::CacheRegisterSyscacheCallback(
            pg_sys::SysCacheIdentifier::SUBSCRIPTIONRELMAP as _,
            Some(forget),
            pg_sys::Datum::null(),
        );
    }
}

unsafe extern "C-unwind" fn forget(_: pg_sys::Datum, _: i32, _: u32) {
    FOUND.set(None);
}

/// True from CREATE SUBSCRIPTION to DROP SUBSCRIPTION, also while it is disabled.
pub fn fills_our_tables() -> bool {
    if let Some(found) = FOUND.get() {
        return found;
    }
    // What changes while we look is forgotten again, and looked up by the next call.
    FOUND.set(Some(false));
    let found = TABLES.into_iter().any(is_filled);
    if FOUND.get().is_some() {
        FOUND.set(Some(found));
    }
    found
}

fn is_filled(table: &CStr) -> bool {
    // SAFETY: a look-up in the cache of the catalog, inside a transaction as every function
    // call is; the list is given back.
    unsafe {
        let subscriptions = pg_sys::SearchSysCacheList(
            pg_sys::SysCacheIdentifier::SUBSCRIPTIONRELMAP as _,
            1,
            table_oid(table).into(),
            pg_sys::Datum::null(),
            pg_sys::Datum::null(),
        );
        let is_filled = (*subscriptions).n_members > 0;
        pg_sys::ReleaseCatCacheList(subscriptions);
        is_filled
    }
}
