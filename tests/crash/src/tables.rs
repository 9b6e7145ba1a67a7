//! The tables, as anybody can read them.

use std::collections::HashMap;

use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use crate::connection::Connection;
use crate::model::{ClaimRow, KeyRow};

#[derive(Default)]
pub struct Tables {
    claims: HashMap<String, Vec<ClaimRow>>,
    keys: HashMap<String, KeyRow>,
}

const CLAIMS: &str = "
    SELECT slot_id, token, holder, status, origin FROM claims.slot_claims
    WHERE starts_with(slot_id, $1) ORDER BY slot_id, token";

const KEYS: &str = "
    SELECT key, status, holder, token, (result #>> '{}')::bigint FROM claims.keys
    WHERE starts_with(key, $1)";

impl Tables {
    /// The slots and keys whose names start like that.
    pub async fn read(admin: &Connection, prefix: &str) -> Result<Self, Error> {
        let mut tables = Self::default();
        for row in query(admin, CLAIMS, prefix).await? {
            let claim = (row.get(1), row.get(2), row.get(3), row.get(4));
            tables.claims.entry(row.get(0)).or_default().push(claim);
        }
        for row in query(admin, KEYS, prefix).await? {
            let key = (row.get(1), row.get(2), row.get(3), row.get(4));
            tables.keys.insert(row.get(0), key);
        }
        Ok(tables)
    }

    pub fn claims(&self, slot: &str) -> &[ClaimRow] {
        self.claims.get(slot).map_or(&[], Vec::as_slice)
    }

    pub fn key(&self, key: &str) -> Option<&KeyRow> {
        self.keys.get(key)
    }
}

async fn query(admin: &Connection, sql: &str, prefix: &str) -> Result<Vec<Row>, Error> {
    admin.client.query_typed(sql, &[(&prefix, Type::TEXT)]).await
}
