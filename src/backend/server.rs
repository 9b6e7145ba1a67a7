//! What the server says of its other extensions.

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
