//! The rows that a trigger is about.

use pgrx::heap_tuple::PgHeapTuple;
use pgrx::{AllocatedByRust, FromDatum, PgTrigger, WhoAllocated, pg_sys};
use pgrx::{IntoDatum, direct_function_call_as_datum};

/// A row as PostgreSQL's row_to_json writes it. It may run a cast to json that belongs to
/// a type of the table's owner, so never call it with more rights than the writer has.
pub fn row_to_json<A: WhoAllocated>(row: PgHeapTuple<'_, A>) -> String {
    datum_to_json(row.into_composite_datum())
}

/// The same for a composite value.
pub(super) fn datum_to_json(row: Option<pg_sys::Datum>) -> String {
    // SAFETY: the argument is a composite value, and the result a text (json is one).
    let json = unsafe {
        let json = direct_function_call_as_datum(pg_sys::row_to_json, &[row]);
        json.and_then(|json| String::from_datum(json, false))
    };
    json.expect("row_to_json never returns NULL for a row")
}

/// The new row of a trigger, as a copy that can be changed.
pub fn new_row<'a>(trigger: &'a PgTrigger<'a>) -> Option<PgHeapTuple<'a, AllocatedByRust>> {
    trigger.new().map(PgHeapTuple::into_owned)
}

/// Puts a whole number into a column of any integer type; false if it cannot.
pub fn set_integer(row: &mut PgHeapTuple<'_, AllocatedByRust>, column: &str, value: i64) -> bool {
    let Some((number, attribute)) = row.get_attribute_by_name(column) else {
        return false;
    };
    let type_oid = attribute.atttypid;
    let datum = match type_oid {
        pg_sys::INT8OID => value.into_datum(),
        pg_sys::INT4OID => i32::try_from(value).ok().and_then(IntoDatum::into_datum),
        pg_sys::INT2OID => i16::try_from(value).ok().and_then(IntoDatum::into_datum),
        _ => None,
    };
    // SAFETY: the datum is of the column's type.
    datum.map(|datum| unsafe { row.set_by_index_unchecked(number, Some(datum)) }).is_some()
}
