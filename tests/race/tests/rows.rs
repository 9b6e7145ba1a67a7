//! No change of a tracked row is lost, however many write to it at once.

use std::collections::{HashMap, HashSet};

use fastrand::Rng;
use races::{Session, Text, fresh_database, sqlstate, told};
use serde_json::Value;

const SESSIONS: usize = 20;
const PATCHES: usize = 200;
const ROWS: i64 = 10;
const APPENDERS: usize = 8;
const APPENDS: usize = 50;
const FIELDS: [&str; 4] = ["plan", "email", "phone", "note"];

/// A change that patch_row has acknowledged.
struct Applied {
    row: i64,
    /// The version that the writer had seen.
    base: i64,
    version: i64,
    field: &'static str,
    value: String,
    writer: String,
}

async fn patch(
    session: &Session,
    writer: &str,
    row: i64,
    field: &str,
    value: &str,
    version: i64,
) -> Value {
    let changes = format!("{{\"{field}\": \"{value}\"}}");
    let args = [row.to_string(), version.to_string(), changes, writer.to_owned()].map(Text);
    let sql = "SELECT patch_row('customers', $1::int, $2::bigint, $3::jsonb, $4::text)";
    session.ask_sql(sql, &args).await.unwrap_or_else(|error| panic!("{}", told(&error))).0
}

/// Patches random fields of random rows, as a workflow does: read, patch, and on a conflict decide by
/// the row that came with it and patch again.
async fn work(session: Session, number: usize) -> Vec<Applied> {
    let mut random = Rng::with_seed(number as u64);
    let writer = format!("w{number}");
    let mut applied = Vec::new();
    for n in 0..PATCHES {
        let row = random.i64(1..=ROWS);
        let field = FIELDS[random.usize(..FIELDS.len())];
        let value = format!("{writer}:{n}");
        let read = session
            .ask_sql("SELECT read_row('customers', $1::int)", &[Text(row.to_string())])
            .await
            .unwrap();
        let mut version = read.fact("version").as_i64().unwrap();
        loop {
            let answer = patch(&session, &writer, row, field, &value, version).await;
            match answer["outcome"].as_str().unwrap() {
                "applied" | "merged" => {
                    let base = version;
                    let version = answer["version"].as_i64().unwrap();
                    assert_eq!(answer["row"][field], value.as_str(), "{answer}");
                    let writer = writer.clone();
                    applied.push(Applied { row, base, version, field, value, writer });
                    break;
                }
                "conflict" => {
                    let conflict = &answer["conflicts"][0];
                    assert_eq!(conflict["field"], field, "{answer}");
                    assert_eq!(conflict["theirs"], answer["row"][field], "{answer}");
                    version = answer["version"].as_i64().unwrap();
                }
                "busy" => {}
                _ => panic!("{answer}"),
            }
        }
    }
    applied
}

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_change_is_in_the_history_and_in_the_row_unless_a_later_one_replaced_it()
{
    let database = fresh_database("rows").await;
    let session = database.connect().await;
    session
        .run(&format!(
            "CREATE TABLE customers (id int PRIMARY KEY, plan text, email text, phone text, note text);
             INSERT INTO customers SELECT n FROM generate_series(1, {ROWS}) AS n;
             SELECT track_rows('customers', keep_values => true)"
        ))
        .await;
    let workers: Vec<_> = database
        .connect_many(SESSIONS)
        .await
        .into_iter()
        .enumerate()
        .map(|(number, session)| tokio::spawn(work(session, number)))
        .collect();
    let mut applied = Vec::new();
    for worker in workers {
        applied.extend(worker.await.unwrap());
    }
    assert_eq!(applied.len(), SESSIONS * PATCHES);

    // Each has a version of its own in the history, and nothing else is there.
    let history: HashMap<(String, i64), (Value, String)> = session
        .query("SELECT row_id, version, new_values, writer FROM claims.row_history", &[])
        .await
        .unwrap()
        .iter()
        .map(|row| ((row.get(0), row.get(1)), (row.get(2), row.get(3))))
        .collect();
    assert_eq!(history.len(), applied.len(), "two changes had one version, or one is not there");
    let mut last: HashMap<(i64, &str), &Applied> = HashMap::new();
    for change in &applied {
        let (values, writer) = &history[&(change.row.to_string(), change.version)];
        assert_eq!(values[change.field], change.value.as_str());
        assert_eq!(writer, &change.writer);
        let entry = last.entry((change.row, change.field)).or_insert(change);
        if change.version > entry.version {
            *entry = change;
        }
    }
    // Nobody has replaced a value that they had not seen.
    for change in &applied {
        let unseen = applied.iter().find(|other| {
            (other.row, other.field) == (change.row, change.field)
                && (change.base + 1..change.version).contains(&other.version)
        });
        assert!(unseen.is_none(), "{} had not seen {}", change.value, unseen.unwrap().value);
    }
    // The row has the last of them, and its version counts them all.
    for ((row, field), change) in last {
        let value: String =
            session.value(&format!("SELECT {field} FROM customers WHERE id = {row}")).await;
        assert_eq!(value, change.value, "row {row}, {field}");
    }
    let counted: bool = session
        .value(
            "SELECT bool_and(version = 1 + (SELECT count(*) FROM claims.row_history WHERE row_id = id::text))
             FROM customers",
        )
        .await;
    assert!(counted, "a version was given twice, or skipped");
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_rows_written_back_lose_nothing_either() {
    let database = fresh_database("whole_rows").await;
    let session = database.connect().await;
    session
        .run(
            "CREATE TABLE lists (id int PRIMARY KEY, a text, b text);
             INSERT INTO lists VALUES (1, '', '');
             SELECT track_rows('lists')",
        )
        .await;
    let append = async |session: Session, number: usize| {
        for n in 0..APPENDS {
            // As n8n's Update node does it: the whole row as it was read, with one field changed.
            loop {
                let row = session.query_one("SELECT a, b, version FROM lists", &[]).await.unwrap();
                let (mut a, mut b): (String, String) = (row.get(0), row.get(1));
                let version: i64 = row.get(2);
                let list = if number.is_multiple_of(2) { &mut a } else { &mut b };
                list.push_str(&format!(" {number}:{n}"));
                let sql = "UPDATE lists SET a = $1, b = $2, version = $3 WHERE id = 1";
                match session.execute(sql, &[&a, &b, &version]).await {
                    Ok(changed) => break assert_eq!(changed, 1),
                    Err(error) => assert_eq!(sqlstate(&error), "27000", "{}", told(&error)),
                }
            }
        }
    };
    let sessions = database.connect_many(APPENDERS).await;
    let workers: Vec<_> = sessions
        .into_iter()
        .enumerate()
        .map(|(number, session)| tokio::spawn(append(session, number)))
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    let row = session.query_one("SELECT a || b, version FROM lists", &[]).await.unwrap();
    let (lists, version): (String, i64) = (row.get(0), row.get(1));
    let items: HashSet<&str> = lists.split_whitespace().collect();
    assert_eq!(items.len(), APPENDERS * APPENDS);
    assert_eq!(version as usize, 1 + APPENDERS * APPENDS);
    database.drop().await;
}
