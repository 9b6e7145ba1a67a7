//! Numbers without gaps: create_series, next_number, void_number.

use serde_json::{Value, json};

use super::{Expected, Model, Per, no, yes};

#[derive(Debug, Clone)]
pub(super) struct Series {
    first: i64,
    label: String,
    per: Per,
    numbers: Vec<Number>,
}

#[derive(Debug, Clone)]
struct Number {
    number: i64,
    label: String,
    is_void: bool,
    holder: String,
    key: Option<String>,
}

impl Number {
    fn status_word(&self) -> &'static str {
        if self.is_void { "void" } else { "issued" }
    }

    fn told(&self, answer: Expected) -> Expected {
        answer
            .with("number", self.number)
            .with("label", self.label.as_str())
            .with("status", self.status_word())
    }
}

impl Model {
    pub(super) fn create_series(
        &mut self,
        series: &str,
        first: i64,
        label: &str,
        per: Per,
    ) -> Expected {
        match self.series.get(series) {
            None => {
                let new = Series { first, label: label.to_owned(), per, numbers: vec![] };
                self.series.insert(series.to_owned(), new);
                yes("created")
            }
            Some(found)
                if (found.first, found.label.as_str(), found.per) == (first, label, per) =>
            {
                yes("exists")
            }
            Some(_) => no("mismatch"),
        }
    }

    pub(super) fn next_number(
        &mut self,
        series: &str,
        holder: &str,
        key: Option<String>,
    ) -> Expected {
        let year = self.year;
        let Some(found) = self.series.get_mut(series) else { return Expected::Raises("42704") };
        if let Some(same) = found.numbers.iter().find(|n| key.is_some() && n.key == key) {
            return same.told(yes("replayed"));
        }
        let number = found.numbers.last().map_or(found.first, |last| last.number + 1);
        let label = labelled(&found.label, year, number);
        let issued = Number { number, label, is_void: false, holder: holder.to_owned(), key };
        let answer = issued.told(yes("issued")).with("holder", holder);
        found.numbers.push(issued);
        answer
    }

    pub(super) fn void_number(&mut self, series: &str, number: i64) -> Expected {
        let numbers = self.series.get_mut(series).map(|series| &mut series.numbers);
        match numbers.and_then(|numbers| numbers.iter_mut().find(|n| n.number == number)) {
            None => no("absent"),
            Some(found) if found.is_void => found.told(yes("already_void")),
            Some(found) => {
                found.is_void = true;
                found.told(yes("voided"))
            }
        }
    }

    /// As (series, span, number, label, status, holder, key).
    pub(super) fn number_rows(&self) -> Vec<Value> {
        let rows = self.series.iter().flat_map(|(name, series)| {
            let span = match series.per {
                Per::Forever => String::new(),
                Per::Year => self.year.to_string(),
            };
            series.numbers.iter().map(move |n| {
                json!([name, span, n.number, n.label, n.status_word(), n.holder, n.key])
            })
        });
        rows.collect()
    }
}

/// Of the labels there are, those that the sequences use.
fn labelled(label: &str, year: i32, number: i64) -> String {
    label
        .replace("{yyyy}", &year.to_string())
        .replace("{n:04}", &format!("{number:04}"))
        .replace("{n}", &number.to_string())
}
