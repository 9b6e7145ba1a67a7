//! SQL values in and out.

use std::ffi::CStr;

use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::{Datum, Range, RangeBound, TimestampWithTimeZone};
use pgrx::pgrx_sql_entity_graph::metadata::{
    ArgumentError, ReturnsError, ReturnsRef, SqlMappingRef, SqlTranslatable, TypeOrigin,
};
use pgrx::{FromDatum, IntoDatum, direct_function_call_as_datum, pg_sys};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::jsonb::to_jsonb;

/// The first identifier of a call, declared `anycompatible`: a text, or a number or a
/// uuid as n8n inlines them.
#[derive(Clone, Copy)]
pub struct AnyIdentifier {
    datum: pg_sys::Datum,
    type_oid: pg_sys::Oid,
}

impl AnyIdentifier {
    /// The identifier's text, or the name of its type when that type has no text that
    /// is the same in every session.
    pub fn text(self) -> Result<String, String> {
        // SAFETY: the datum is the argument itself, of the type that the caller's query
        // gave it. A domain has its base type's representation.
        unsafe {
            let base = match self.type_oid {
                pg_sys::TEXTOID => pg_sys::TEXTOID,
                other => pg_sys::getBaseType(other),
            };
            match base {
                pg_sys::TEXTOID | pg_sys::VARCHAROID => {
                    Ok(String::from_datum(self.datum, false).expect("the argument is not NULL"))
                }
                pg_sys::NAMEOID
                | pg_sys::INT2OID
                | pg_sys::INT4OID
                | pg_sys::INT8OID
                | pg_sys::UUIDOID => Ok(self.output(base)),
                // As PostgreSQL's own cast to text does: the padding is not content.
                pg_sys::BPCHAROID => Ok(self.output(base).trim_end_matches(' ').to_owned()),
                // 42 and 42.00 are one number, so they are one identifier.
                pg_sys::NUMERICOID => {
                    let trimmed = direct_function_call_as_datum(
                        pg_sys::numeric_trim_scale,
                        &[Some(self.datum)],
                    );
                    let datum = trimmed.unwrap_or(self.datum);
                    Ok(Self { datum, ..self }.output(base))
                }
                _ if pg_sys::type_is_enum(base) => Ok(self.output(base)),
                _ => Err(text_of(pg_sys::format_type_be(self.type_oid))),
            }
        }
    }

    /// The text of a row's key: as [`text`](Self::text), or the JSON object of a composite
    /// key.
    pub fn row_text(self) -> Result<String, String> {
        match self.type_oid {
            // SAFETY: the datum is of that type.
            pg_sys::JSONOID | pg_sys::JSONBOID => Ok(unsafe { self.output(self.type_oid) }),
            _ => self.text(),
        }
    }

    /// # Safety
    /// `type_oid` must be the type of the datum.
    unsafe fn output(self, type_oid: pg_sys::Oid) -> String {
        let mut function = pg_sys::Oid::INVALID;
        let mut is_varlena = false;
        // SAFETY: the caller's promise.
        unsafe {
            pg_sys::getTypeOutputInfo(type_oid, &mut function, &mut is_varlena);
            text_of(pg_sys::OidOutputFunctionCall(function, self.datum))
        }
    }
}

/// # Safety
/// `text` must be a NUL-terminated string that PostgreSQL has made in this database,
/// which is UTF-8: the extension refuses to be created in another encoding.
pub(super) unsafe fn text_of(text: *const std::ffi::c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

// SAFETY: the argument is kept as the datum it is, beside the type the query gave it.
unsafe impl<'fcx> ArgAbi<'fcx> for AnyIdentifier {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        let type_oid = arg.raw_oid();
        // SAFETY: pgrx asks this only of an argument that is not NULL, or wraps it in Option.
        let any = unsafe { arg.unbox_arg_using_from_datum::<pgrx::AnyElement>() };
        Self { datum: any.map_or(pg_sys::Datum::null(), |any| any.datum()), type_oid }
    }
}

// SAFETY: PostgreSQL resolves anycompatible to a real type before the call.
unsafe impl SqlTranslatable for AnyIdentifier {
    const TYPE_IDENT: &'static str = pgrx::pgrx_resolved_type!(AnyIdentifier);
    const TYPE_ORIGIN: TypeOrigin = TypeOrigin::External;
    const ARGUMENT_SQL: Result<SqlMappingRef, ArgumentError> =
        Ok(SqlMappingRef::literal("anycompatible"));
    const RETURN_SQL: Result<ReturnsRef, ReturnsError> =
        Ok(ReturnsRef::One(SqlMappingRef::literal("anycompatible")));
}

/// A table, declared `regclass`: PostgreSQL itself reads its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table(pub pg_sys::Oid);

impl Table {
    /// As the session writes it: with its schema where that is needed, and in quotes.
    pub fn name(self) -> String {
        // SAFETY: the argument is a regclass, and the result a cstring; an oid that is no
        // table's comes back as a number.
        unsafe {
            let name = direct_function_call_as_datum(pg_sys::regclassout, &[Some(self.0.into())]);
            name.map_or_else(String::new, |name| text_of(name.cast_mut_ptr()))
        }
    }
}

impl FromDatum for Table {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _: pg_sys::Oid,
    ) -> Option<Self> {
        (!is_null).then(|| Self(pg_sys::Oid::from(datum.value() as u32)))
    }
}

impl IntoDatum for Table {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        Some(self.0.into())
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::REGCLASSOID
    }
}

// SAFETY: read by FromDatum above.
unsafe impl<'fcx> ArgAbi<'fcx> for Table {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: declared as regclass, so it is one.
        unsafe { arg.unbox_arg_using_from_datum() }.expect("a NULL is taken by Option")
    }
}

// SAFETY: the SQL type is regclass in both directions.
unsafe impl SqlTranslatable for Table {
    const TYPE_IDENT: &'static str = pgrx::pgrx_resolved_type!(Table);
    const TYPE_ORIGIN: TypeOrigin = TypeOrigin::External;
    const ARGUMENT_SQL: Result<SqlMappingRef, ArgumentError> =
        Ok(SqlMappingRef::literal("regclass"));
    const RETURN_SQL: Result<ReturnsRef, ReturnsError> =
        Ok(ReturnsRef::One(SqlMappingRef::literal("regclass")));
}

/// A user's jsonb, carried as text and never read into Rust's own numbers, so that it
/// comes back digit for digit.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// What a jsonb value serialises to, from any type that serde knows.
    pub fn from(value: &impl Serialize) -> Self {
        Self(serde_json::value::to_raw_value(value).expect("an answer always serialises"))
    }

    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// JSON text as it is.
    pub fn raw(text: &RawValue) -> Self {
        Self(text.to_owned())
    }

    /// A 128-bit hash that is the same for equal jsonb: the order of fields and the
    /// trailing zeros of numbers do not matter.
    pub fn fingerprint(&self) -> Vec<u8> {
        let jsonb = self.clone().into_datum();
        (0..2)
            .flat_map(|seed: i64| {
                // SAFETY: the arguments are a jsonb and a bigint, and so is the result.
                let hash = unsafe {
                    direct_function_call_as_datum(
                        pg_sys::jsonb_hash_extended,
                        &[jsonb, Some(seed.into())],
                    )
                };
                hash.map_or(0, |hash| hash.value() as u64).to_be_bytes()
            })
            .collect()
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

impl FromDatum for Json {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _: pg_sys::Oid,
    ) -> Option<Self> {
        if is_null {
            return None;
        }
        // SAFETY: the datum is a jsonb, and jsonb_out returns a cstring.
        let text = unsafe {
            let text = direct_function_call_as_datum(pg_sys::jsonb_out, &[Some(datum)])?;
            text_of(text.cast_mut_ptr())
        };
        Some(Self(RawValue::from_string(text).expect("jsonb_out writes valid JSON")))
    }
}

impl IntoDatum for Json {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        let text = std::ffi::CString::new(self.get()).expect("JSON text has no NUL");
        // SAFETY: jsonb_in takes a cstring, and copies what it needs of it.
        unsafe { direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(text.as_ptr().into())]) }
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::JSONBOID
    }
}

// SAFETY: read by FromDatum above, which copies.
unsafe impl<'fcx> ArgAbi<'fcx> for Json {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: declared as jsonb, so it is one.
        unsafe { arg.unbox_arg_using_from_datum() }.expect("a NULL is taken by Option")
    }
}

/// What a function answers: a jsonb.
pub struct Reply(pg_sys::Datum);

impl Reply {
    pub fn from(answer: &impl Serialize) -> Self {
        Self(to_jsonb(answer))
    }
}

// SAFETY: a jsonb, as declared.
unsafe impl BoxRet for Reply {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        // SAFETY: allocated in the function's own context.
        unsafe { fcinfo.return_raw_datum(self.0) }
    }
}

// SAFETY: the SQL type is jsonb.
unsafe impl SqlTranslatable for Reply {
    const TYPE_IDENT: &'static str = pgrx::pgrx_resolved_type!(Reply);
    const TYPE_ORIGIN: TypeOrigin = TypeOrigin::External;
    const ARGUMENT_SQL: Result<SqlMappingRef, ArgumentError> = Ok(SqlMappingRef::literal("jsonb"));
    const RETURN_SQL: Result<ReturnsRef, ReturnsError> =
        Ok(ReturnsRef::One(SqlMappingRef::literal("jsonb")));
}

// SAFETY: the SQL type is jsonb in both directions.
unsafe impl SqlTranslatable for Json {
    const TYPE_IDENT: &'static str = pgrx::pgrx_resolved_type!(Json);
    const TYPE_ORIGIN: TypeOrigin = TypeOrigin::External;
    const ARGUMENT_SQL: Result<SqlMappingRef, ArgumentError> = Ok(SqlMappingRef::literal("jsonb"));
    const RETURN_SQL: Result<ReturnsRef, ReturnsError> =
        Ok(ReturnsRef::One(SqlMappingRef::literal("jsonb")));
}

/// An instant in PostgreSQL's own count: microseconds since 2000-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(pub i64);

/// From 1970-01-01 to 2000-01-01.
const UNIX_TO_POSTGRES_US: i64 = 946_684_800_000_000;

impl Instant {
    /// Before everything: `-infinity`.
    pub const EARLIEST: Self = Self(i64::MIN);

    pub fn from_unix_us(us: i64) -> Self {
        Self(us - UNIX_TO_POSTGRES_US)
    }

    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0 + ms * 1000)
    }

    /// Milliseconds from `earlier` to this instant, rounded up; 0 when it is not later.
    pub fn ms_since(self, earlier: Self) -> i64 {
        ((self.0 - earlier.0).max(0) + 999) / 1000
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unix_us = self.0.saturating_add(UNIX_TO_POSTGRES_US);
        match jiff::Timestamp::from_microsecond(unix_us) {
            // Always six digits, so that the texts sort as the instants do.
            Ok(timestamp) => serializer.collect_str(&format_args!("{timestamp:.6}")),
            Err(error) => Err(serde::ser::Error::custom(error)),
        }
    }
}

impl FromDatum for Instant {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _: pg_sys::Oid,
    ) -> Option<Self> {
        (!is_null).then(|| Self(datum.value() as i64))
    }
}

impl IntoDatum for Instant {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        Some(self.0.into())
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::TIMESTAMPTZOID
    }
}

/// A tstzrange with both ends: from an instant up to, but not including, another.
#[derive(Clone, Copy)]
pub struct TimeRange {
    pub from: Instant,
    pub to: Instant,
}

impl FromDatum for TimeRange {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        type_oid: pg_sys::Oid,
    ) -> Option<Self> {
        // SAFETY: the datum is a tstzrange.
        let range = unsafe {
            Range::<TimestampWithTimeZone>::from_polymorphic_datum(datum, is_null, type_oid)
        }?;
        let end = |bound: Option<&RangeBound<TimestampWithTimeZone>>| {
            Some(Instant(pg_sys::TimestampTz::from(*bound?.get()?)))
        };
        Some(Self { from: end(range.lower())?, to: end(range.upper())? })
    }
}

impl IntoDatum for TimeRange {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        let end = |Instant(us)| TimestampWithTimeZone::try_from(us).ok();
        Range::new(end(self.from)?, RangeBound::Exclusive(end(self.to)?)).into_datum()
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::TSTZRANGEOID
    }
}

/// A text as an SQL literal, quoted by PostgreSQL itself.
pub fn literal(text: &str) -> String {
    let text = std::ffi::CString::new(text).expect("PostgreSQL's text has no NUL");
    // SAFETY: the argument is NUL-terminated, and so is the palloc'd copy that comes back.
    unsafe { text_of(pg_sys::quote_literal_cstr(text.as_ptr())) }
}

/// A name as SQL writes it, in quotes where it needs them.
pub fn quoted(name: &str) -> String {
    let name = std::ffi::CString::new(name).expect("PostgreSQL's text has no NUL");
    // SAFETY: the argument is NUL-terminated; the result is it or a palloc'd copy.
    unsafe { text_of(pg_sys::quote_identifier(name.as_ptr())) }
}
