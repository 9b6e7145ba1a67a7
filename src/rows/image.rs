//! A row as JSON: its fields in order, each value as the text that PostgreSQL gives it.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::backend::value::Json;

/// Fields and their values.
#[derive(Clone, Debug, Default)]
pub struct Image(Vec<(String, Box<RawValue>)>);

impl Image {
    /// From the JSON text of an object; `None` when it is something else.
    pub fn parse(json: &str) -> Option<Self> {
        let mut image: Self = serde_json::from_str(json).ok()?;
        for (_, value) in &mut image.0 {
            // A column of type json can hold this, and jsonb, in which answers and history
            // are kept, cannot: there it is the text of the value.
            if value.get().contains("\\u0000") {
                *value = serde_json::value::to_raw_value(value.get()).unwrap_or_default();
            }
        }
        Some(image)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn fields(&self) -> Vec<String> {
        self.0.iter().map(|(field, _)| field.clone()).collect()
    }

    pub fn get(&self, field: &str) -> Option<&RawValue> {
        self.0.iter().find(|(name, _)| name == field).map(|(_, value)| value.as_ref())
    }

    pub fn json(&self, field: &str) -> Json {
        self.get(field).map_or_else(Json::null, Json::raw)
    }

    pub fn push(&mut self, field: &str, value: &RawValue) {
        self.0.push((field.to_owned(), value.to_owned()));
    }

    /// A whole number; `None` for NULL.
    pub fn integer(&self, field: &str) -> Option<i64> {
        self.get(field)?.get().parse().ok()
    }

    /// The fields for which `wanted` holds, with their values.
    pub fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|(field, _)| wanted(field)).cloned().collect())
    }

    /// The fields whose values are not NULL.
    pub fn filled(&self) -> Vec<String> {
        let filled = self.0.iter().filter(|(_, value)| value.get() != "null");
        filled.map(|(field, _)| field.clone()).collect()
    }

    /// The fields that have another value in the other row.
    pub fn differing(&self, other: &Self) -> Vec<String> {
        let is_other = |field: &str, value: &RawValue| {
            other.get(field).map(RawValue::get) != Some(value.get())
        };
        self.0
            .iter()
            .filter(|(field, value)| is_other(field, value))
            .map(|(field, _)| field.clone())
            .collect()
    }

    /// The row's identifier: the text of its one key column, or the JSON object of several.
    pub fn row_id(&self, key: &[String]) -> String {
        match key {
            [column] => self.get(column).map(text_of).unwrap_or_default(),
            _ => {
                let mut columns = Self::default();
                key.iter().for_each(|name| {
                    columns.push(name, self.get(name).unwrap_or(RawValue::NULL));
                });
                columns.to_string()
            }
        }
    }
}

/// A JSON value as a text that PostgreSQL's input functions read: a string's content,
/// and everything else as it is.
pub fn text_of(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

impl fmt::Display for Image {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Json::from(self).get())
    }
}

impl Serialize for Image {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (field, value) in &self.0 {
            map.serialize_entry(field, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Image {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Image;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Image, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Image(fields))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}
