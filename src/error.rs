//! What is refused, and how it is said: one variant a refusal, and one `match` for its
//! SQLSTATE, its DETAIL and its HINT.
//!
//! An expected outcome (taken, lost, busy) is an answer and never comes through here.
//! n8n shows its users the DETAIL and nothing else, so every refusal has one that can
//! be understood alone.

use pgrx::PgSqlErrorCode as Code;
use pgrx::pg_sys::panic::ErrorReport;
use thiserror::Error;

use crate::backend::value::{Json, literal, quoted};
use crate::rows::Mark;

#[derive(Debug, Error)]
pub enum Refusal {
    #[error("{argument} must not be NULL")]
    Null { argument: &'static str, hint: &'static str },

    #[error("invalid {argument}: {value}")]
    Identifier { argument: &'static str, value: String, fault: IdentifierFault },

    #[error("{argument} must not be NULL")]
    NoWord { argument: &'static str, words: Vec<&'static str> },

    #[error("{argument} cannot be of type {type_name}")]
    IdentifierType { argument: &'static str, type_name: String },

    #[error("{argument} out of range")]
    Duration {
        argument: &'static str,
        given_us: i128,
        least_ms: i64,
        most_ms: Option<i64>,
        limit: &'static str,
    },

    #[error("invalid {argument}: {value}")]
    Word { argument: &'static str, value: String, words: Vec<&'static str> },

    #[error("invalid after: no answer of pg_claims")]
    After { fault: &'static str },

    #[error("slot \"{slot_id}\" is a pool")]
    IsPool { slot_id: String },

    #[error("slot \"{slot_id}\" is no pool")]
    NoPool { slot_id: String },

    #[error("invalid {argument}: {given}")]
    Count { argument: &'static str, given: i64, least: i64 },

    #[error("invalid {argument}: {value}")]
    Time { argument: &'static str, value: String, fault: TimeFault },

    #[error("invalid label: \"{label}\"")]
    Label { label: String, fault: String },

    #[error("time zone \"{zone}\" not recognized")]
    Zone { zone: String },

    #[error("series \"{series}\" does not exist")]
    UnknownSeries { series: String },

    #[error("too many starts in the window")]
    TooManyStarts { starts: i64, most: i64 },

    #[error("invalid {argument}: {fault}")]
    Requests { argument: &'static str, fault: String },

    #[error("table {table} is not tracked")]
    NotTracked { table: String },

    #[error("table {table} has no primary key")]
    NoKey { table: String },

    #[error("table {table} has no version column {column}")]
    NoVersion { table: String, column: String },

    #[error("relation {table} does not exist")]
    NoTable { table: String },

    #[error("must be owner of table {table}")]
    NotTableOwner { table: String },

    #[error("table {table} cannot be tracked")]
    Table { table: String, fault: TableFault },

    #[error("invalid changes: {value}")]
    Changes { value: String, fault: &'static str },

    #[error("fields must name a field")]
    NoFields,

    #[error("invalid row_id of table {table}: {row_id}")]
    RowId { table: String, row_id: String, reason: String, key: Vec<(String, String)> },

    #[error("{}", fault.message(table, field))]
    Field { table: String, field: String, fault: FieldFault },

    #[error("invalid value for field \"{field}\" of type {type_name}: {value}")]
    Value { field: String, type_name: String, value: String, reason: String },

    #[error("row {row_id} of table {table} was not written")]
    NotWritten { table: String, row_id: String },

    #[error("table {table} is not guarded")]
    Unguarded { table: String },

    #[error("stale update of row {row_id} of table {table}: it has version {had}, and the update carries {}",
            version.map_or("none".into(), |version| format!("version {version}")))]
    Stale { table: String, row_id: String, version: Option<i64>, had: i64, moved: Vec<Mark> },

    #[error("invalid version {version} of row {row_id} of table {table}")]
    VersionAhead { table: String, row_id: String, version: i64, had: i64 },

    #[error("field \"{field}\" of table {table} is owned by \"{owner}\"")]
    OwnedField { table: String, row_id: String, field: String, owner: String, writer: String },

    #[error("the claim is not of a period")]
    NoPeriod { slot_id: String, token: i64 },

    #[error("series \"{series}\" is exhausted")]
    Exhausted { series: String },

    #[error("{argument} is too large")]
    JsonTooLarge { argument: &'static str, bytes: usize },

    #[error("{function} needs the isolation level READ COMMITTED")]
    Isolation { function: &'static str },

    #[error("cannot execute {function} in a read-only transaction")]
    ReadOnly { function: &'static str },

    #[error("cannot execute {function} on a subscriber")]
    Subscriber { function: &'static str },

    #[error("slot \"{slot_id}\" is not held by \"{holder}\"")]
    NotHeld { slot_id: String, holder: String, detail: &'static str, hint: &'static str },

    #[error("{}", fault.message(database))]
    Cron { database: String, fault: CronFault },

    #[error("role \"{role}\" cannot use pg_cron")]
    CronRights { role: String, database: String },

    #[error("role \"{role}\" cannot run the reaper")]
    ReaperRights { role: String },

    #[error("this database has another version of pg_claims than the server")]
    OtherVersion { missing: String },
}

/// Why pg_cron cannot run a job for a database.
#[derive(Debug)]
pub enum CronFault {
    NotInstalled { command: String },
    NotLoaded,
    NotCreated,
    Elsewhere { database: String, statement: String },
}

/// Why a table cannot be tracked.
#[derive(Debug)]
pub enum TableFault {
    Kind,
    OfClaims,
    Partition,
    Temporary,
    Inherited,
    NoKey,
    ComputedKey,
    Column { column: String, type_name: String },
    NullVersions { column: String },
}

/// Why a field is not for anybody to change.
#[derive(Debug)]
pub enum FieldFault {
    Unknown { fields: Vec<String> },
    Version,
    Key,
    Generated,
    Identity,
}

/// What is wrong with a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeFault {
    NoOffset,
    Infinite,
    OutOfRange,
    NoTime,
    NotAfterStart,
}

/// What is wrong with an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentifierFault {
    Blank,
    OuterSpace,
    OuterQuotes,
    TooLong { bytes: usize },
    ControlCharacter,
    BrokenExpression,
}

pub const MOST_IDENTIFIER_BYTES: usize = 500;
pub const MOST_JSON_BYTES: usize = 1024 * 1024;

impl Refusal {
    fn code(&self) -> Code {
        match self {
            Self::Null { .. } | Self::NoWord { .. } => Code::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            Self::Identifier { .. }
            | Self::Duration { .. }
            | Self::Word { .. }
            | Self::After { .. } => Code::ERRCODE_INVALID_PARAMETER_VALUE,
            Self::Count { .. }
            | Self::Time { .. }
            | Self::Requests { .. }
            | Self::Label { .. }
            | Self::Zone { .. } => Code::ERRCODE_INVALID_PARAMETER_VALUE,
            Self::IsPool { .. } | Self::NoPool { .. } => {
                Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE
            }
            Self::Changes { .. } | Self::NoFields | Self::RowId { .. } | Self::Value { .. } => {
                Code::ERRCODE_INVALID_PARAMETER_VALUE
            }
            Self::Field { fault: FieldFault::Unknown { .. }, .. } => Code::ERRCODE_UNDEFINED_COLUMN,
            Self::Field { .. } => Code::ERRCODE_INVALID_PARAMETER_VALUE,
            Self::NotTracked { .. }
            | Self::NoKey { .. }
            | Self::NoVersion { .. }
            | Self::Table { .. }
            | Self::Unguarded { .. }
            | Self::NotWritten { .. } => Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            Self::NoTable { .. } => Code::ERRCODE_UNDEFINED_TABLE,
            // Not 40001, on which drivers repeat the very same statement.
            Self::Stale { .. } | Self::VersionAhead { .. } => {
                Code::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION
            }
            Self::NotTableOwner { .. } | Self::OwnedField { .. } => {
                Code::ERRCODE_INSUFFICIENT_PRIVILEGE
            }
            Self::UnknownSeries { .. } => Code::ERRCODE_UNDEFINED_OBJECT,
            Self::NoPeriod { .. } => Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            Self::Exhausted { .. } => Code::ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
            Self::TooManyStarts { .. } => Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            Self::JsonTooLarge { .. } => Code::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            Self::IdentifierType { .. } => Code::ERRCODE_DATATYPE_MISMATCH,
            Self::Isolation { .. } => Code::ERRCODE_FEATURE_NOT_SUPPORTED,
            Self::ReadOnly { .. } | Self::Subscriber { .. } => {
                Code::ERRCODE_READ_ONLY_SQL_TRANSACTION
            }
            Self::NotHeld { .. } | Self::Cron { .. } | Self::OtherVersion { .. } => {
                Code::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE
            }
            Self::CronRights { .. } | Self::ReaperRights { .. } => {
                Code::ERRCODE_INSUFFICIENT_PRIVILEGE
            }
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::Null { argument, .. } | Self::NoWord { argument, .. } => {
                format!("The argument {argument} is NULL: nothing was done.")
            }
            Self::Identifier { argument, fault, .. } => fault.detail(argument),
            Self::IdentifierType { argument, type_name } => format!(
                "How a value of type {type_name} is written depends on the session or is not \
                 unique, so two callers could mean one {argument} and name two."
            ),
            Self::Duration { argument, given_us, least_ms, most_ms: Some(most_ms), limit } => {
                let given = milliseconds(*given_us);
                format!(
                    "The argument {argument} is {given}; it can be from {least_ms} ms to \
                     {most_ms} ms{limit}."
                )
            }
            Self::Duration { argument, given_us, least_ms, most_ms: None, limit } => format!(
                "The argument {argument} is {}; it can be {least_ms} ms or more{limit}.",
                milliseconds(*given_us)
            ),
            Self::Word { argument, value, words } => {
                format!("The argument {argument} is {value}; it can be {}.", alternatives(words))
            }
            Self::After { fault } => format!("The argument after {fault}: nothing was done."),
            Self::IsPool { slot_id } => format!(
                "Slot \"{slot_id}\" has a capacity, so units of it are claimed and not the whole."
            ),
            Self::NoPool { slot_id } => {
                format!("Slot \"{slot_id}\" has no capacity, so there are no units of it.")
            }
            Self::Count { argument, given, least } => {
                format!("The argument {argument} is {given}; it must be {least} or more.")
            }
            Self::Time { argument, value, fault } => match fault {
                TimeFault::NoOffset => format!(
                    "The time {value} has no offset, so it means another instant in another \
                     session and in another season."
                ),
                TimeFault::Infinite => {
                    format!("The argument {argument} is {value}: a period has two ends.")
                }
                TimeFault::OutOfRange => format!(
                    "The argument {argument} is {value}; it can be from 0001-01-01 to 9999-12-30."
                ),
                TimeFault::NoTime => {
                    format!("The argument {argument} is {value}, which is no time.")
                }
                TimeFault::NotAfterStart => {
                    format!("The argument ends_at, {value}, is not after starts_at.")
                }
            },
            Self::Label { label, fault } => format!("The label \"{label}\" {fault}."),
            Self::Zone { zone } => format!("The server knows no time zone \"{zone}\"."),
            Self::UnknownSeries { series } => {
                format!("Nobody has made a series \"{series}\"; no number was issued.")
            }
            Self::NoPeriod { slot_id, token } => {
                format!(
                    "Claim {token} of slot \"{slot_id}\" is not of a period, so it cannot move."
                )
            }
            Self::Exhausted { series } => {
                format!("The last number of series \"{series}\" is the greatest there is.")
            }
            Self::TooManyStarts { starts, most } => {
                format!("The window has {starts} starts; it can have {most} at the most.")
            }
            Self::Requests { argument, fault } => format!("The argument {argument}: {fault}."),
            Self::NotTracked { table } => format!(
                "Nobody has called track_rows for table {table}, so its rows have no versions: \
                 nothing was done."
            ),
            Self::NoKey { table } => format!(
                "Without a primary key no row of table {table} can be told from another: nothing \
                 was done."
            ),
            Self::NoVersion { table, column } => format!(
                "Table {table} is tracked by a column {column} that has been renamed or dropped, \
                 or can take no higher version: nothing was written."
            ),
            Self::NoTable { table } => format!("There is no table {table} (any more)."),
            Self::NotTableOwner { table } => {
                format!("Only the owner of table {table} can do this: nothing was done.")
            }
            Self::Table { table, fault } => fault.detail(table),
            Self::Changes { fault, .. } => {
                format!("The argument changes {fault}: nothing was done.")
            }
            Self::NoFields => {
                "The argument fields is NULL, is empty, or has NULL in it: nothing was done.".into()
            }
            Self::RowId { row_id, reason, .. } => {
                format!("The argument row_id is {row_id}: {reason}.")
            }
            Self::Field { table, field, fault } => fault.detail(table, field),
            Self::Value { field, type_name, value, reason } => format!(
                "The value {value} does not fit the field \"{field}\" of type {type_name}: \
                 {reason}."
            ),
            Self::NotWritten { .. } => "The row is there and was locked, but the UPDATE has \
                 changed none: a trigger or rule of the table has kept it from being written."
                .into(),
            Self::Unguarded { .. } => "The row was written, and its version has not risen: the \
                 trigger zzz_pg_claims_guard is disabled, is not there for this row, or is \
                 undone by a later one. The write is taken back."
                .into(),
            Self::Stale { version, moved, .. } => stale_detail(*version, moved),
            Self::VersionAhead { version, had, .. } => format!(
                "The row has version {had}, and the update carries {version}, which it never had: \
                 nothing was written."
            ),
            Self::OwnedField { table, row_id, field, owner, writer } => format!(
                "Only \"{owner}\" may change the field \"{field}\" of table {table}, and the \
                 update of row {row_id} comes from \"{writer}\": nothing was written."
            ),
            Self::JsonTooLarge { argument, bytes } => format!(
                "The {argument} has {bytes} bytes of JSON text; it can have {MOST_JSON_BYTES} at \
                 the most."
            ),
            Self::Isolation { .. } => "The transaction's snapshot may be older than the claim \
                 that it would answer about, so the answer could be wrong without any \
                 serialization failure."
                .into(),
            Self::ReadOnly { .. } => "The server is a standby or the transaction was started \
                 READ ONLY, and the function may have to write."
                .into(),
            Self::Subscriber { .. } => "Logical replication fills the tables of pg_claims from \
                 another server, which would not see what is claimed here: both would say yes."
                .into(),
            Self::NotHeld { detail, .. } => (*detail).into(),
            Self::Cron { database, fault } => fault.detail(database),
            Self::CronRights { .. } => "It has no USAGE on the schema cron, or no EXECUTE on its \
                 functions schedule and unschedule: nothing was done."
                .into(),
            Self::ReaperRights { .. } => "A job runs with the rights of the role that schedules \
                 it, and this one has no EXECUTE on reap_stale_claims: nothing was done."
                .into(),
            Self::OtherVersion { missing } => format!(
                "The server has the library of {}, and the extension in this database has not \
                 been updated to it ({missing}): nothing was done.",
                env!("CARGO_PKG_VERSION")
            ),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Null { hint, .. } => (*hint).into(),
            Self::Identifier { argument, fault, .. } => fault.hint(argument),
            Self::IdentifierType { argument, .. } => format!(
                "Pass the {argument} as text, a whole number or a uuid. A time is claimed as a \
                 text that is always written in one way, such as '2026-01-02T15:00:00Z'."
            ),
            Self::Duration { .. } => "Write an interval with its unit, such as '30 seconds' or \
                 '5 minutes' ('5:00' is five hours)."
                .into(),
            Self::Word { words, .. } | Self::NoWord { words, .. } => {
                format!("Write {}.", alternatives(words))
            }
            Self::After { .. } => "Pass the call itself, as in claim_slot(…, after => \
                 begin_key(…)), or the jsonb that an earlier call answered."
                .into(),
            Self::IsPool { .. } => {
                "Call claim_units(slot_id, holder, units), or claim_period(…, units => 1).".into()
            }
            Self::NoPool { .. } => {
                "Call set_capacity(slot_id, capacity) once, or claim_slot or claim_period without \
                 units."
                    .into()
            }
            Self::Count { argument, least, .. } => {
                format!("Write a whole number for {argument}, {least} or more.")
            }
            Self::Time { fault: TimeFault::OutOfRange, .. } => {
                "For a period without an end, claim the slot as a whole.".into()
            }
            Self::Time { fault: TimeFault::NotAfterStart, .. } => {
                "Pass the start first; touching periods may share an instant.".into()
            }
            Self::Time { .. } => "Write the time with Z or its offset, such as \
                 '2026-01-02T15:00:00+01:00'; in n8n, {{ $now.toISO() }}."
                .into(),
            Self::Label { .. } => "Write a label such as 'INV-{yyyy}-{n:05}'; its fields are {n}, \
                 {n:05}, {yyyy}, {yy} and {mm}."
                .into(),
            Self::Zone { .. } => {
                "Write a name such as 'Europe/Berlin', as pg_timezone_names has it.".into()
            }
            Self::UnknownSeries { series } => {
                format!("Call create_series({}) once, with its label.", literal(series))
            }
            Self::NoPeriod { .. } => "Release it, and call claim_period.".into(),
            Self::Exhausted { .. } => "Make another series.".into(),
            Self::TooManyStarts { .. } => "Ask for a shorter window or a longer step.".into(),
            Self::Requests { .. } => "Write a JSON array such as [{\"slot_id\": \"room\", \
                 \"starts_at\": …, \"ends_at\": …}, {\"slot_id\": \"stock\", \"units\": 2}]; for \
                 confirm_many and release_many, the claims that claim_many answered."
                .into(),
            Self::NotTracked { table } => {
                format!("As the table's owner run, once: SELECT track_rows({})", literal(table))
            }
            Self::NoKey { table } => format!(
                "Give it one: ALTER TABLE {table} ADD PRIMARY KEY (…); or end its tracking: \
                 SELECT untrack_rows({})",
                literal(table)
            ),
            Self::NoVersion { table, .. } => format!(
                "Name the column as it was, or begin anew: SELECT untrack_rows({0}), and then \
                 track_rows({0}, version_column => …)",
                literal(table)
            ),
            Self::NoTable { .. } => "Check its name, and that it has not been dropped.".into(),
            Self::NotTableOwner { .. } => {
                "Call it as the role that owns the table, or as a member of that role.".into()
            }
            Self::Table { table, fault } => fault.hint(table),
            Self::Changes { .. } => "Pass a JSON object of the fields to change, such as \
                 {\"plan\": \"pro\"}; in n8n, JSON.stringify({ plan: $json.plan }), which leaves \
                 out what is undefined."
                .into(),
            Self::NoFields => "Pass the fields as an array, such as ARRAY['plan', 'email'].".into(),
            Self::RowId { key, .. } => match key.as_slice() {
                [(column, type_name)] => {
                    format!("Pass the value of the key, {column}, of type {type_name}.")
                }
                columns => {
                    let columns: Vec<_> = columns
                        .iter()
                        .map(|(column, type_name)| format!("\"{column}\": {type_name}"))
                        .collect();
                    format!("Pass the key as a JSON object: {{{}}}.", columns.join(", "))
                }
            },
            Self::Field { fault, .. } => fault.hint(),
            Self::Value { type_name, .. } => {
                format!("Pass a value that a column of type {type_name} can have, or null.")
            }
            Self::NotWritten { .. } => {
                "Look at the table's triggers BEFORE UPDATE that return NULL.".into()
            }
            Self::Unguarded { table } => format!(
                "Look at the table's triggers, and call track_rows({}) anew.",
                literal(table)
            ),
            Self::Stale { table, row_id, .. } => format!(
                "Read the row again, make the change on that, and write it; or write only what \
                 changes: SELECT patch_row({}, {}, …)",
                literal(table),
                literal(row_id)
            ),
            Self::VersionAhead { .. } => "Leave the version column out of the update, or carry \
                 the version that was read."
                .into(),
            Self::OwnedField { table, owner, .. } => format!(
                "Leave the field out of the update. Who owns what is in claims.field_owners; the \
                 table's owner ends it by: SELECT disown_fields({}, {})",
                literal(table),
                literal(owner)
            ),
            Self::JsonTooLarge { .. } => {
                "Store the document elsewhere and pass its address.".into()
            }
            Self::Isolation { .. } => "Call it in a transaction of the default isolation level: \
                 BEGIN ISOLATION LEVEL READ COMMITTED."
                .into(),
            Self::ReadOnly { .. } => "Call it on the primary server, in a READ WRITE \
                 transaction. check_slot, check_key, check_period and free_periods work here."
                .into(),
            Self::Subscriber { .. } => "Call it on the publisher. To go on here instead, let \
                 nobody write there any more, then DROP SUBSCRIPTION here. check_slot, check_key, \
                 check_period and free_periods work here."
                .into(),
            Self::NotHeld { hint, .. } => (*hint).into(),
            Self::Cron { database, fault } => fault.hint(database),
            Self::CronRights { role, database } => {
                let (role, database) = (quoted(role), quoted(database));
                format!(
                    "As a superuser in database {database} run: GRANT USAGE ON SCHEMA cron TO \
                     {role}; GRANT EXECUTE ON FUNCTION cron.schedule(text, text, text), \
                     cron.unschedule(bigint) TO {role}"
                )
            }
            Self::ReaperRights { role } => format!(
                "As the owner of the extension run: SELECT claims.grant_access({})",
                literal(&quoted(role))
            ),
            Self::OtherVersion { .. } => "As the role that owns the extension run: ALTER \
                 EXTENSION pg_claims UPDATE"
                .into(),
        }
    }
}

impl IdentifierFault {
    fn detail(self, argument: &str) -> String {
        match self {
            Self::Blank => format!("The {argument} is empty or blank."),
            Self::OuterSpace => format!("The {argument} begins or ends with white space."),
            Self::OuterQuotes => format!("The {argument} stands in double quotes."),
            Self::TooLong { bytes } => format!(
                "The {argument} has {bytes} bytes; it can have {MOST_IDENTIFIER_BYTES} at the most."
            ),
            Self::ControlCharacter => {
                format!(
                    "The {argument} contains a control character, such as a line break or a tab."
                )
            }
            Self::BrokenExpression => format!(
                "This {argument} is what a broken expression leaves behind; every request would \
                 share it."
            ),
        }
    }

    fn hint(self, argument: &str) -> String {
        match self {
            Self::Blank | Self::BrokenExpression => format!(
                "Check the expression that fills {argument}; in n8n, that the field exists in \
                 the item that reaches the node."
            ),
            Self::OuterSpace => format!("Trim the {argument} before the call."),
            Self::OuterQuotes => format!(
                "Pass the {argument} without the quotes; in n8n, {{{{ $json.field }}}} and not \
                 JSON.stringify($json.field)."
            ),
            Self::TooLong { .. } => "Pass a short name, or a hash of the long one.".into(),
            Self::ControlCharacter => format!("Remove it from the {argument} before the call."),
        }
    }
}

impl TableFault {
    fn detail(&self, table: &str) -> String {
        match self {
            Self::Kind => format!("{table} is no ordinary or partitioned table."),
            Self::OfClaims => format!("Table {table} belongs to pg_claims itself."),
            Self::Partition => format!("Table {table} is a partition of another one."),
            Self::Temporary => format!("Table {table} is temporary."),
            Self::Inherited => format!(
                "Other tables inherit from {table}, and its triggers would not see their rows."
            ),
            Self::NoKey => format!(
                "Table {table} has no primary key, so no row of it can be told from another."
            ),
            Self::ComputedKey => format!(
                "The key of table {table} is computed from other columns, and only after its \
                 triggers have run."
            ),
            Self::Column { column, type_name } => format!(
                "Its column \"{column}\" is of type {type_name}, is computed or is part of the \
                 key, so it can be no version."
            ),
            Self::NullVersions { column } => {
                format!("Some rows of table {table} have NULL in the column {column}.")
            }
        }
    }

    fn hint(&self, table: &str) -> String {
        match self {
            Self::Kind | Self::OfClaims | Self::Temporary | Self::Inherited => {
                "Track the ordinary tables that the rows are written to.".into()
            }
            Self::ComputedKey => {
                "Let the key be an ordinary column, filled by a trigger of the table's own.".into()
            }
            Self::Partition => "Track the partitioned table itself.".into(),
            Self::NoKey => format!("Give it one: ALTER TABLE {table} ADD PRIMARY KEY (…)"),
            Self::Column { .. } => format!(
                "Name another column, which is added if it is not there: SELECT track_rows({}, \
                 version_column => 'row_version')",
                literal(table)
            ),
            Self::NullVersions { column } => format!(
                "First give them a version: UPDATE {table} SET {column} = 1 WHERE {column} IS NULL"
            ),
        }
    }
}

impl FieldFault {
    fn message(&self, table: &str, field: &str) -> String {
        match self {
            Self::Unknown { .. } => format!("table {table} has no field {field}"),
            _ => format!("field {field} of table {table} cannot be patched"),
        }
    }

    fn detail(&self, table: &str, field: &str) -> String {
        match self {
            Self::Unknown { .. } => {
                format!("Table {table} has no column {field}: nothing was done.")
            }
            Self::Version => format!("The column {field} has the version of the row."),
            Self::Key => format!("The column {field} is part of the key of the row."),
            Self::Generated => format!("The column {field} is computed from others."),
            Self::Identity => format!("The column {field} is numbered by PostgreSQL alone."),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Unknown { fields } => format!(
                "Write the name as the table has it, capitals included. These can be changed: {}.",
                fields.join(", ")
            ),
            Self::Version => {
                "Pass the version as base_version, and leave it out of the changes.".into()
            }
            _ => "Leave it out of the changes.".into(),
        }
    }
}

/// What others have changed since the version that an update carries. n8n shows nothing
/// else.
fn stale_detail(version: Option<i64>, moved: &[Mark]) -> String {
    const MOST_SHOWN: usize = 10;
    let since = match version {
        Some(version) => format!("since version {version}"),
        None => "since then".into(),
    };
    if moved.is_empty() {
        return format!("What has changed {since} is not known; nothing was written.");
    }
    let mut changes: Vec<String> = moved
        .iter()
        .take(MOST_SHOWN)
        .map(|mark| {
            let Mark { field, version, writer, changed_at } = mark;
            let at = Json::from(changed_at);
            format!("{field} (version {version}, by {writer}, {})", at.get().trim_matches('"'))
        })
        .collect();
    if moved.len() > MOST_SHOWN {
        changes.push(format!("{} more", moved.len() - MOST_SHOWN));
    }
    format!("Others have changed {since}: {}. Nothing was written.", changes.join(", "))
}

impl CronFault {
    /// Whether there is no pg_cron that could have a job for this database.
    pub fn is_absence(&self) -> bool {
        !matches!(self, Self::Elsewhere { .. })
    }

    fn message(&self, database: &str) -> String {
        match self {
            Self::NotInstalled { .. } => "pg_cron is not installed on this server".into(),
            Self::NotLoaded => "pg_cron is not loaded by this server".into(),
            Self::NotCreated => format!("pg_cron is not created in database \"{database}\""),
            Self::Elsewhere { database, .. } => format!("pg_cron lives in database \"{database}\""),
        }
    }

    fn detail(&self, database: &str) -> String {
        match self {
            Self::NotInstalled { .. } => "PostgreSQL finds no extension pg_cron among those that \
                 can be created: nothing was done."
                .into(),
            Self::NotLoaded => "The setting shared_preload_libraries does not name it, so nobody \
                 would run the job: nothing was done."
                .into(),
            Self::NotCreated => "The server has loaded it, and the setting cron.database_name \
                 names this database, but the extension is missing here: nothing was done."
                .into(),
            Self::Elsewhere { .. } => format!(
                "A server has one database that jobs are made in, the setting \
                 cron.database_name, and it is not \"{database}\": nothing was done."
            ),
        }
    }

    fn hint(&self, database: &str) -> String {
        let in_conf = format!(
            "in postgresql.conf add pg_cron to shared_preload_libraries and set \
             cron.database_name = {}, restart the server and, as a superuser in that database, \
             run: CREATE EXTENSION IF NOT EXISTS pg_cron",
            literal(database)
        );
        match self {
            Self::NotInstalled { command } => format!(
                "Install its package (postgresql-{}-cron on Debian), {in_conf}. Or let any other \
                 scheduler run: {command}",
                pgrx::pg_sys::PG_MAJORVERSION_NUM
            ),
            Self::NotLoaded => format!("As the server's administrator {in_conf}"),
            Self::NotCreated => format!(
                "As a superuser in database {} run: CREATE EXTENSION pg_cron",
                quoted(database)
            ),
            Self::Elsewhere { database, statement } => {
                format!("As a superuser in database {} run: {statement}", quoted(database))
            }
        }
    }
}

impl From<Refusal> for ErrorReport {
    fn from(refusal: Refusal) -> Self {
        ErrorReport::new(refusal.code(), refusal.to_string(), "pg_claims")
            .set_detail(refusal.detail())
            .set_hint(refusal.hint())
    }
}

fn milliseconds(us: i128) -> String {
    match us % 1000 {
        0 => format!("{} ms", us / 1000),
        _ => format!("{us} microseconds"),
    }
}

/// `'a', 'b' or 'c'`
fn alternatives(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => format!("'{one}'"),
        [head @ .., last] => {
            let head: Vec<_> = head.iter().map(|word| format!("'{word}'")).collect();
            format!("{} or '{last}'", head.join(", "))
        }
    }
}
