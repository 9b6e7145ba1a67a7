//! A tracked table as the caller's own statements see it.
//!
//! These statements run with the caller's rights and search_path, and are the only ones
//! whose text depends on the table. A table, a column, a type or an operator gets into it
//! as PostgreSQL itself writes it, in quotes where it needs them; everything else is a
//! parameter.

use pgrx::datum::DatumWithOid;
use serde_json::value::RawValue;

use super::image::{Image, text_of};
use super::ledger::Tracked;
use crate::backend::rights::{as_owner, in_plain_text};
use crate::backend::statement::{Dynamic, Row, catch_data_error};
use crate::backend::value::{AnyIdentifier, Json, Table, quoted};
use crate::error::{FieldFault, Refusal};
use crate::input::excerpt;
use crate::statement;

pub struct Target {
    pub tracked: Tracked,
    columns: Vec<Column>,
    /// What the statements call a row of the table, and the row of changes: names that no
    /// column has.
    row: String,
    change: String,
}

struct Column {
    name: String,
    /// With its length or precision, as in `numeric(10,2)`.
    type_name: String,
    /// Without: a cast to `character(3)` would cut what is too long.
    base_type: String,
    is_generated: bool,
    is_always_identity: bool,
    /// The operator by which the primary key tells two values apart.
    key_operator: Option<String>,
}

statement! {
    COLUMNS =
        "SELECT attribute.attname::text, format_type(atttypid, atttypmod), format_type(atttypid, -1),
                attgenerated <> '', attidentity = 'a', key.operator
         FROM pg_attribute AS attribute
         LEFT JOIN (SELECT index.indkey[n] AS attnum,
                           format('OPERATOR(%I.%s)', namespace.nspname, operator.oprname) AS operator
                    FROM pg_index AS index
                    CROSS JOIN generate_series(0, index.indnkeyatts - 1) AS n
                    JOIN pg_opclass AS class ON class.oid = index.indclass[n]
                    JOIN pg_amop AS member
                      ON member.amopfamily = class.opcfamily AND member.amopstrategy = 3
                     AND member.amoplefttype = class.opcintype AND member.amoprighttype = class.opcintype
                    JOIN pg_operator AS operator ON operator.oid = member.amopopr
                    JOIN pg_namespace AS namespace ON namespace.oid = operator.oprnamespace
                    WHERE index.indrelid = $1 AND index.indisprimary) AS key USING (attnum)
         WHERE attribute.attrelid = $1 AND attribute.attnum > 0 AND NOT attribute.attisdropped
         ORDER BY attribute.attnum";
}

impl Target {
    pub fn find(table: Option<Table>) -> Result<Self, Refusal> {
        let table = table.ok_or(NO_TABLE)?;
        let tracked = Tracked::find(table)
            .unwrap_or_else(|| Err(Refusal::NotTracked { table: table.name() }))?;
        let columns = as_owner(|| {
            COLUMNS.with(|columns| {
                columns.rows(&[tracked.table.into()], |row| Column {
                    name: row.must(1),
                    type_name: row.must(2),
                    base_type: row.must(3),
                    is_generated: row.must(4),
                    is_always_identity: row.must(5),
                    key_operator: row.get(6),
                })
            })
        });
        if !columns.iter().any(|column| column.name == tracked.version_column) {
            let (table, column) = (tracked.name, tracked.version_column);
            return Err(Refusal::NoVersion { table, column });
        }
        let free = |name: &str| {
            let mut name = name.to_owned();
            while columns.iter().any(|column| column.name == name) {
                name.push('_');
            }
            name
        };
        let (row, change) = (free("tracked_row"), free("change"));
        Ok(Self { tracked, columns, row, change })
    }

    /// Refuses a field that is not there, or that is not for anybody to change.
    pub fn check_field(&self, field: &str) -> Result<(), Refusal> {
        let fault = match self.columns.iter().find(|column| column.name == field) {
            None => FieldFault::Unknown { fields: self.fields().map(quoted).collect() },
            Some(_) if field == self.tracked.version_column => FieldFault::Version,
            Some(column) if column.key_operator.is_some() => FieldFault::Key,
            Some(column) if column.is_generated => FieldFault::Generated,
            Some(column) if column.is_always_identity => FieldFault::Identity,
            Some(_) => return Ok(()),
        };
        let table = self.tracked.name.clone();
        Err(Refusal::Field { table, field: excerpt(field), fault })
    }

    pub fn has_column(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// The fields that can be changed.
    fn fields(&self) -> impl Iterator<Item = &str> {
        self.columns
            .iter()
            .filter(|column| {
                column.name != self.tracked.version_column
                    && column.key_operator.is_none()
                    && !column.is_generated
                    && !column.is_always_identity
            })
            .map(|column| column.name.as_str())
    }

    /// The changes as the columns' types show them, to be compared with a row. Each is looked at on its own, so that
    /// one that does not fit can be named.
    pub fn fit(&self, changes: &Image) -> Result<Image, Refusal> {
        let mut fitted = Image::default();
        for field in changes.fields() {
            self.check_field(&field)?;
            let change = Json::from(&changes.only(|name| name == field));
            let statement = Dynamic(format!(
                "SELECT {} FROM {}",
                self.change,
                self.changed_columns(std::slice::from_ref(&field), 1)
            ));
            let read = || statement.first(&[change.clone().into()], image);
            let value = catch_data_error(read).map_err(|reason| Refusal::Value {
                field: field.clone(),
                type_name: self.column(&field).type_name.clone(),
                value: excerpt(&changes.get(&field).map(text_of).unwrap_or_default()),
                reason,
            })?;
            let value = value.unwrap_or_default();
            fitted.push(&field, value.get(&field).unwrap_or(RawValue::NULL));
        }
        Ok(fitted)
    }

    /// The row under a key, as it is now.
    pub fn read(&self, key: &Key) -> Result<Option<Image>, Refusal> {
        catch_data_error(|| self.look(key, "")).map_err(|reason| self.bad_key(&key.given, reason))
    }

    /// The same, locked to the end of the transaction. `None` also when somebody else has
    /// locked it.
    pub fn read_locked(&self, key: &Key) -> Option<Image> {
        self.look(key, &format!("FOR NO KEY UPDATE OF {} SKIP LOCKED", self.row))
    }

    fn look(&self, key: &Key, lock: &str) -> Option<Image> {
        let Self { tracked, row, .. } = self;
        let (table, is_key) = (&tracked.name, self.is_key(1));
        Dynamic(format!("SELECT {row} FROM {table} AS {row} WHERE {is_key} {lock}"))
            .first(&key.args(), image)
    }

    /// Changes the fields of a row that has a version; the row as it is then, `None` when
    /// it was not to be had.
    pub fn update(&self, key: &Key, version: i64, changes: &Image) -> Option<Image> {
        let fields = changes.fields();
        let Self { tracked, row, change, .. } = self;
        let set: Vec<String> =
            fields.iter().map(|field| format!("{0} = {change}.{0}", quoted(field))).collect();
        let statement = Dynamic(format!(
            "UPDATE {} AS {row} SET {} FROM {} \
             WHERE {} AND {row}.{} OPERATOR(pg_catalog.=) $2 RETURNING {row}",
            tracked.name,
            set.join(", "),
            self.changed_columns(&fields, 1),
            self.is_key(3),
            quoted(&tracked.version_column)
        ));
        let mut args = vec![Json::from(changes).into(), version.into()];
        args.extend(key.args());
        statement.first(&args, image)
    }

    /// Makes a row; `None` when one of its key is there.
    pub fn insert(&self, key: &Key, changes: &Image) -> Option<Image> {
        let fields = changes.fields();
        let Self { tracked, row, change, .. } = self;
        let columns: Vec<String> = self
            .key()
            .map(|column| quoted(&column.name))
            .chain(fields.iter().map(|f| quoted(f)))
            .collect();
        let values: Vec<String> = self
            .key()
            .enumerate()
            .map(|(n, column)| format!("CAST(${} AS {})", n + 2, column.base_type))
            .chain(fields.iter().map(|field| format!("{change}.{}", quoted(field))))
            .collect();
        let statement = Dynamic(format!(
            "INSERT INTO {} AS {row} ({}) SELECT {} FROM {} \
             ON CONFLICT ({}) DO NOTHING RETURNING {row}",
            tracked.name,
            columns.join(", "),
            values.join(", "),
            self.changed_columns(&fields, 1),
            columns[..self.tracked.key.len()].join(", ")
        ));
        let mut args = vec![Json::from(changes).into()];
        args.extend(key.args());
        statement.first(&args, image)
    }

    /// The key that a caller means.
    pub fn key_of(&self, row_id: Option<AnyIdentifier>) -> Result<Key, Refusal> {
        let row_id = row_id.ok_or(Refusal::Null {
            argument: "row_id",
            hint: "Pass the key of the row; in n8n, check that the field exists in the item that \
                   reaches the node.",
        })?;
        let given = row_id
            .row_text()
            .map_err(|type_name| Refusal::IdentifierType { argument: "row_id", type_name })?;
        let [_] = self.tracked.key.as_slice() else {
            let parts = self.parts(&given).map_err(|reason| self.bad_key(&given, reason))?;
            return Ok(Key { given, parts });
        };
        Ok(Key { parts: vec![given.clone()], given })
    }

    /// The values of a composite key.
    fn parts(&self, given: &str) -> Result<Vec<String>, String> {
        let columns = &self.tracked.key;
        let object = Image::parse(given)
            .ok_or_else(|| format!("it is no JSON object of the columns {}", columns.join(", ")))?;
        if let Some(other) = object.fields().iter().find(|field| !columns.contains(field)) {
            return Err(format!("it names {}, which is no column of the key", excerpt(other)));
        }
        columns
            .iter()
            .map(|column| match object.get(column) {
                Some(value) if value.get() != "null" => Ok(text_of(value)),
                _ => Err(format!("it has no value for the column {column}")),
            })
            .collect()
    }

    fn bad_key(&self, given: &str, reason: String) -> Refusal {
        Refusal::RowId {
            table: self.tracked.name.clone(),
            row_id: excerpt(given),
            reason,
            key: self.key().map(|column| (column.name.clone(), column.type_name.clone())).collect(),
        }
    }

    /// The key's columns, in its order.
    fn key(&self) -> impl Iterator<Item = &Column> {
        self.tracked.key.iter().map(|name| self.column(name))
    }

    fn column(&self, name: &str) -> &Column {
        let found = self.columns.iter().find(|column| column.name == name);
        found.unwrap_or_else(|| panic!("column {name:?} is not there any more"))
    }

    /// The condition that a row has the key whose texts are parameters from `first` on.
    fn is_key(&self, first: usize) -> String {
        let conditions: Vec<String> = self
            .key()
            .enumerate()
            .map(|(n, column)| {
                format!(
                    "{}.{} {} CAST(${} AS {})",
                    self.row,
                    quoted(&column.name),
                    column.key_operator.as_deref().unwrap_or("OPERATOR(pg_catalog.=)"),
                    first + n,
                    column.base_type
                )
            })
            .collect();
        conditions.join(" AND ")
    }

    /// The changes in a parameter as a row of the columns' own types.
    fn changed_columns(&self, fields: &[String], parameter: usize) -> String {
        let columns: Vec<String> = fields
            .iter()
            .map(|field| format!("{} {}", quoted(field), self.column(field).type_name))
            .collect();
        format!(
            "pg_catalog.jsonb_to_record(${parameter}) AS {} ({})",
            self.change,
            columns.join(", ")
        )
    }
}

/// The key of a row, as texts.
pub struct Key {
    pub given: String,
    parts: Vec<String>,
}

impl Key {
    fn args(&self) -> Vec<DatumWithOid<'_>> {
        self.parts.iter().map(|part| part.as_str().into()).collect()
    }
}

pub const NO_TABLE: Refusal = Refusal::Null {
    argument: "table_name",
    hint: "Write the name of the table, such as 'customers' or 'crm.customers'.",
};

/// The row that is the first column of a result.
fn image(row: &Row) -> Image {
    Image::parse(&in_plain_text(|| row.json_of_row(1))).expect("a row's JSON is an object")
}
