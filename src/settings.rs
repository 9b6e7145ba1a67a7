//! The settings, all of them: `SHOW pg_claims.lock_wait`,
//! `ALTER DATABASE … SET pg_claims.default_ttl = '10min'`.

use std::ffi::CString;

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting};

const DAY_MS: i32 = 24 * 60 * 60 * 1000;

static DEFAULT_TTL_MS: GucSetting<i32> = GucSetting::<i32>::new(5 * 60 * 1000);
static MAX_TTL_MS: GucSetting<i32> = GucSetting::<i32>::new(DAY_MS);
static DEFAULT_LEASE_MS: GucSetting<i32> = GucSetting::<i32>::new(5 * 60 * 1000);
static LOCK_WAIT_MS: GucSetting<i32> = GucSetting::<i32>::new(1000);
static RETENTION_MIN: GucSetting<i32> = GucSetting::<i32>::new(30 * 24 * 60);
static NOTIFY: GucSetting<bool> = GucSetting::<bool>::new(false);

static WRITER: GucSetting<Option<CString>> = GucSetting::<Option<CString>>::new(None);

/// The lease of a claim whose call names none.
pub fn default_ttl_ms() -> i64 {
    DEFAULT_TTL_MS.get().into()
}

/// The longest lease.
pub fn max_ttl_ms() -> i64 {
    MAX_TTL_MS.get().into()
}

/// The lease of a key whose call names none.
pub fn default_lease_ms() -> i64 {
    DEFAULT_LEASE_MS.get().into()
}

/// How long ended claims, finished keys and the history of rows are kept.
pub fn retention_ms() -> i64 {
    i64::from(RETENTION_MIN.get()) * 60 * 1000
}

/// Whether each change of state is sent to the channel pg_claims.
pub fn notify() -> bool {
    NOTIFY.get()
}

/// How long a call tries to get a lock before it answers `busy`.
pub fn lock_wait_ms() -> i64 {
    LOCK_WAIT_MS.get().into()
}

/// Who writes to tracked tables, as it calls itself; `None` when nobody has said so.
pub fn writer() -> Option<String> {
    let writer = WRITER.get()?;
    (!writer.is_empty()).then(|| writer.to_string_lossy().into_owned())
}

pub fn init() {
    GucRegistry::define_int_guc(
        c"pg_claims.default_ttl",
        c"The lease of a claim whose call names no ttl.",
        c"Longer than pg_claims.max_ttl, it is cut to that.",
        &DEFAULT_TTL_MS,
        1,
        i32::MAX,
        GucContext::Userset,
        GucFlags::UNIT_MS,
    );
    // A superuser's, as it protects everybody from a slot that is blocked for weeks.
    GucRegistry::define_int_guc(
        c"pg_claims.max_ttl",
        c"The longest lease that a call can ask for.",
        c"A ttl above it is refused.",
        &MAX_TTL_MS,
        1,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_int_guc(
        c"pg_claims.lock_wait",
        c"How long a call tries to get a slot's lock before it answers busy.",
        c"It bounds the whole call. 0 tries once.",
        &LOCK_WAIT_MS,
        0,
        60 * 1000,
        GucContext::Userset,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_int_guc(
        c"pg_claims.default_lease",
        c"The lease of an idempotency key whose call names none.",
        c"Longer than pg_claims.max_ttl, it is cut to that.",
        &DEFAULT_LEASE_MS,
        1,
        i32::MAX,
        GucContext::Userset,
        GucFlags::UNIT_MS,
    );
    // A superuser's, so that nobody who may call the reaper can make it delete the history.
    GucRegistry::define_int_guc(
        c"pg_claims.retention",
        c"How long reap_stale_claims keeps ended claims, finished keys and the history of rows.",
        c"A slot's last claim is kept for ever, and nothing younger than an hour is deleted.",
        &RETENTION_MIN,
        60,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_MIN,
    );
    GucRegistry::define_bool_guc(
        c"pg_claims.notify",
        c"Sends a notification to the channel pg_claims at each change of state.",
        c"NOTIFY makes commits wait for each other, so it is off by default.",
        &NOTIFY,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_string_guc(
        c"pg_claims.writer",
        c"Who writes to tracked tables by plain statements.",
        c"Recorded with each change, and compared with the owners of fields. Empty, it is the \
          database role.",
        &WRITER,
        GucContext::Userset,
        GucFlags::default(),
    );
}
