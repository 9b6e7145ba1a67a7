//! What serde can serialise, as a jsonb value: without the detour over a text that
//! PostgreSQL would parse.

use std::ffi::CString;
use std::fmt;

use pgrx::pg_sys::JsonbIteratorToken as Token;
use pgrx::{direct_function_call_as_datum, pg_sys};
use serde::ser::{self, Impossible, Serialize, Serializer};

use super::raw::{self, guarded};

/// The jsonb datum of a value, in the current memory context.
pub fn to_jsonb(value: &impl Serialize) -> pg_sys::Datum {
    let mut builder = Builder::default();
    value
        .serialize(Step { builder: &mut builder, token: Token::WJB_DONE, raw: false })
        .expect("an answer always serialises");
    builder.jsonb()
}

/// What is pushed into the jsonb, in the order in which PostgreSQL wants it.
struct Builder {
    steps: Vec<(Token::Type, Value)>,
    /// The texts that have been pushed. None of them is ever moved.
    texts: Vec<String>,
}

enum Value {
    /// Where something begins or ends.
    None,
    Whole(i64),
    Ready(pg_sys::JsonbValue),
}

impl Default for Builder {
    fn default() -> Self {
        Self { steps: Vec::with_capacity(32), texts: Vec::new() }
    }
}

impl Builder {
    fn jsonb(mut self) -> pg_sys::Datum {
        let mut state = std::ptr::null_mut();
        let mut root = std::ptr::null_mut();
        let steps = self.steps.as_mut_slice();
        assert!(matches!(steps, [(Token::WJB_BEGIN_OBJECT, _), ..]), "an answer is an object");
        // SAFETY: the tokens come in the order that serde's own rules make; what a value
        // points to is static, kept in `texts` or in the memory context, until it has been
        // copied.
        let jsonb = unsafe {
            guarded(|| {
                for (token, value) in steps {
                    let mut number = pg_sys::JsonbValue {
                        type_: pg_sys::jbvType::jbvNumeric,
                        ..Default::default()
                    };
                    let value = match value {
                        Value::None => std::ptr::null_mut(),
                        Value::Whole(whole) => {
                            number.val.numeric = raw::int64_to_numeric(*whole);
                            &raw mut number
                        }
                        Value::Ready(value) => value,
                    };
                    root = raw::pushJsonbValue(&mut state, *token, value);
                }
                raw::JsonbValueToJsonb(root)
            })
        };
        pg_sys::Datum::from(jsonb)
    }

    fn push(&mut self, token: Token::Type, value: Value) {
        self.steps.push((token, value));
    }

    fn key(&mut self, key: &'static str) {
        self.push(Token::WJB_KEY, text(key));
    }

    /// The copy of a text that stays where it is until the whole is made.
    fn keep(&mut self, value: &str) -> Value {
        const CHUNK: usize = 1024;
        let room = self.texts.last().map_or(0, |chunk| chunk.capacity() - chunk.len());
        if room < value.len() {
            self.texts.push(String::with_capacity(CHUNK.max(value.len())));
        }
        let chunk = self.texts.last_mut().expect("one was there, or has been pushed");
        let start = chunk.len();
        chunk.push_str(value);
        text(&chunk[start..])
    }
}

fn text(text: &str) -> Value {
    let mut value = pg_sys::JsonbValue { type_: pg_sys::jbvType::jbvString, ..Default::default() };
    value.val.string.len = text.len() as _;
    value.val.string.val = text.as_ptr().cast_mut().cast();
    Value::Ready(value)
}

/// Where the next value goes: behind a key, into a list, or it is the whole.
struct Step<'a> {
    builder: &'a mut Builder,
    token: Token::Type,
    /// The next value is JSON text, to be read.
    raw: bool,
}

impl Step<'_> {
    fn put(self, value: Value) -> Result<(), Fault> {
        self.builder.push(self.token, value);
        Ok(())
    }
}

#[derive(Debug)]
struct Fault(String);

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl ser::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

fn unsupported<T>(what: &str) -> Result<T, Fault> {
    Err(Fault(format!("no answer has {what}")))
}

/// Numbers that fit a bigint.
macro_rules! whole_numbers {
    ($($method:ident($type:ty))*) => {
        $(fn $method(self, value: $type) -> Result<(), Fault> {
            self.serialize_i64(value.into())
        })*
    };
}

impl<'a> Serializer for Step<'a> {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = List<'a>;
    type SerializeTuple = Impossible<(), Fault>;
    type SerializeTupleStruct = Impossible<(), Fault>;
    type SerializeTupleVariant = Impossible<(), Fault>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Impossible<(), Fault>;

    whole_numbers! {
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32)
    }

    fn serialize_i64(self, value: i64) -> Result<(), Fault> {
        self.put(Value::Whole(value))
    }

    fn serialize_u64(self, value: u64) -> Result<(), Fault> {
        match i64::try_from(value) {
            Ok(value) => self.serialize_i64(value),
            Err(_) => unsupported("so large a number"),
        }
    }

    fn serialize_bool(self, value: bool) -> Result<(), Fault> {
        let mut truth =
            pg_sys::JsonbValue { type_: pg_sys::jbvType::jbvBool, ..Default::default() };
        truth.val.boolean = value;
        self.put(Value::Ready(truth))
    }

    fn serialize_str(self, value: &str) -> Result<(), Fault> {
        let value = match self.raw {
            true => read(value),
            false => self.builder.keep(value),
        };
        self.put(value)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Fault> {
        self.serialize_str(variant)
    }

    fn serialize_unit(self) -> Result<(), Fault> {
        let null = pg_sys::JsonbValue { type_: pg_sys::jbvType::jbvNull, ..Default::default() };
        self.put(Value::Ready(null))
    }

    fn serialize_none(self) -> Result<(), Fault> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<List<'a>, Fault> {
        self.builder.push(Token::WJB_BEGIN_ARRAY, Value::None);
        Ok(List(self.builder))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a>, Fault> {
        self.builder.push(Token::WJB_BEGIN_OBJECT, Value::None);
        Ok(Object::Fields(self.builder))
    }

    fn serialize_struct(self, name: &'static str, length: usize) -> Result<Object<'a>, Fault> {
        match name {
            RAW_VALUE => Ok(Object::Raw(self)),
            _ => self.serialize_map(Some(length)),
        }
    }

    fn serialize_f32(self, _: f32) -> Result<(), Fault> {
        unsupported("a float")
    }

    fn serialize_f64(self, _: f64) -> Result<(), Fault> {
        unsupported("a float")
    }

    fn serialize_char(self, value: char) -> Result<(), Fault> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Fault> {
        unsupported("bytes")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Fault> {
        self.serialize_unit()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Fault> {
        unsupported("a variant with a value")
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Fault> {
        unsupported("a tuple")
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Fault> {
        unsupported("a tuple")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Fault> {
        unsupported("a tuple")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Fault> {
        unsupported("a variant with fields")
    }
}

struct List<'a>(&'a mut Builder);

impl ser::SerializeSeq for List<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        value.serialize(Step { builder: self.0, token: Token::WJB_ELEM, raw: false })
    }

    fn end(self) -> Result<(), Fault> {
        self.0.push(Token::WJB_END_ARRAY, Value::None);
        Ok(())
    }
}

/// The name under which serde_json hands on JSON text that it has not read.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

enum Object<'a> {
    Fields(&'a mut Builder),
    Raw(Step<'a>),
}

impl Object<'_> {
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let step = match self {
            Self::Fields(builder) => Step { builder, token: Token::WJB_VALUE, raw: false },
            Self::Raw(step) => Step { builder: step.builder, token: step.token, raw: true },
        };
        value.serialize(step)
    }

    fn close(self) -> Result<(), Fault> {
        if let Self::Fields(builder) = self {
            builder.push(Token::WJB_END_OBJECT, Value::None);
        }
        Ok(())
    }
}

impl ser::SerializeStruct for Object<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        if let Self::Fields(builder) = self {
            builder.key(key);
        }
        self.value(value)
    }

    fn end(self) -> Result<(), Fault> {
        self.close()
    }
}

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        match self {
            Self::Fields(builder) => {
                key.serialize(Step { builder, token: Token::WJB_KEY, raw: false })
            }
            Self::Raw(_) => unsupported("keys in a text"),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        self.value(value)
    }

    fn end(self) -> Result<(), Fault> {
        self.close()
    }
}

/// JSON text as PostgreSQL reads it.
fn read(text: &str) -> Value {
    let text = CString::new(text).expect("JSON text has no NUL");
    let mut value = pg_sys::JsonbValue { type_: pg_sys::jbvType::jbvBinary, ..Default::default() };
    // SAFETY: the argument is a cstring and the result a jsonb, palloc'd in one piece.
    unsafe {
        let jsonb = direct_function_call_as_datum(pg_sys::jsonb_in, &[Some(text.as_ptr().into())])
            .expect("jsonb_in never returns NULL")
            .cast_mut_ptr::<pg_sys::Jsonb>();
        let header = std::mem::offset_of!(pg_sys::Jsonb, root);
        value.val.binary.len = (pgrx::varsize(jsonb.cast()) - header) as _;
        value.val.binary.data = &raw mut (*jsonb).root;
    }
    Value::Ready(value)
}
