//! pg_dump carries the claims: history, bookings and the next token are the same after a restore.
//! And it carries what is known of tracked rows.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use races::{Database, connect, fresh_database, sqlstate};

/// A client program: of the server's own version where PGBIN names its folder.
fn program(name: &str) -> Command {
    Command::new(
        env::var("PGBIN").map_or_else(|_| PathBuf::from(name), |bin| PathBuf::from(bin).join(name)),
    )
}

const HISTORY: &str =
    "SELECT string_agg(c::text, E'\\n' ORDER BY slot_id, token) FROM claims.slot_claims c";

/// Dumps the database and restores it into another one, whose name comes back.
async fn restored_copy(database: &Database) -> String {
    let copy = format!("{}_copy", database.name());
    database.create_empty(&copy).await;
    let mut dump = program("pg_dump")
        .arg(database.name())
        .stdout(Stdio::piped())
        .spawn()
        .expect("pg_dump must start");
    let restore = program("psql")
        .args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", &copy])
        .stdin(dump.stdout.take().unwrap())
        .output()
        .expect("psql must start");
    assert!(dump.wait().unwrap().success(), "pg_dump failed");
    assert!(
        restore.status.success(),
        "the restore failed: {}",
        String::from_utf8_lossy(&restore.stderr)
    );
    copy
}

#[tokio::test]
async fn a_restored_dump_has_the_history_and_goes_on_with_the_next_token() {
    let database = fresh_database("dump").await;
    let session = database.connect().await;
    for sql in [
        "SELECT claim_slot('booked', 'first', note => '{\"guest\": \"O''Neil \\\\ Söhne\"}')",
        "SELECT confirm_slot('booked', 'first', result => '{\"event\": 17}')",
        "SELECT claim_slot('released', 'first')",
        "SELECT release_slot('released', 'first', reason => 'tab\tand line\nend')",
        "SELECT claim_slot('released', 'second')",
        "SELECT release_slot('released', 'second')",
        "SELECT claim_slot('held', 'first', '1 h')",
    ] {
        assert!(session.ask_sql(sql, &[]).await.unwrap().ok(), "{sql}");
    }
    let before: String = session.value(HISTORY).await;

    let copy = restored_copy(&database).await;
    let restored = connect(&copy).await;
    assert_eq!(restored.value::<String>(HISTORY).await, before);
    let ask = async |sql| restored.ask_sql(sql, &[]).await.unwrap();
    let again = ask("SELECT claim_slot('released', 'third')").await;
    assert_eq!((again.outcome(), again.token()), ("claimed", 3), "{again}");
    let booked = ask("SELECT claim_slot('booked', 'third')").await;
    assert_eq!((booked.outcome(), booked.fact("status")), ("taken", &"booked".into()), "{booked}");
    let held = ask("SELECT confirm_slot('held', 'first', 1)").await;
    assert_eq!(held.outcome(), "confirmed", "{held}");
    drop(restored);
    database.drop_named(&copy).await;
    database.drop().await;
}

const ROWS: &str = "SELECT concat_ws(E'\\n',
        (SELECT string_agg(t::text, E'\\n' ORDER BY table_name::text) FROM claims.tracked_tables t),
        (SELECT string_agg(f::text, E'\\n' ORDER BY row_id, field) FROM claims.row_fields f),
        (SELECT string_agg(h::text, E'\\n' ORDER BY changed_at) FROM claims.row_history h),
        (SELECT string_agg(o::text, E'\\n' ORDER BY field) FROM claims.field_owners o))";

#[tokio::test]
async fn a_restored_dump_goes_on_tracking_the_rows() {
    let database = fresh_database("dump_rows").await;
    let session = database.connect().await;
    session
        .run(
            "CREATE TABLE gone (id int PRIMARY KEY);
             CREATE SCHEMA \"C R M\";
             CREATE TABLE \"C R M\".\"Customers\" (id int PRIMARY KEY, plan text, email text);
             INSERT INTO \"C R M\".\"Customers\" VALUES (1, 'free', 'old'), (2, 'free', 'old')",
        )
        .await;
    for sql in [
        "SELECT track_rows('gone')",
        "SELECT track_rows('\"C R M\".\"Customers\"', keep_values => true)",
        "SELECT patch_row('\"C R M\".\"Customers\"', 1, 1, '{\"plan\": \"pro\"}', 'billing')",
        "SELECT own_fields('\"C R M\".\"Customers\"', 'billing', ARRAY['plan'], 'all')",
    ] {
        assert!(session.ask_sql(sql, &[]).await.unwrap().ok(), "{sql}");
    }
    session.run("INSERT INTO gone VALUES (1); DROP TABLE gone").await;
    let copy = restored_copy(&database).await;

    // Of the table that is not there any more, nothing is; all else is as it was.
    session.run("DELETE FROM claims.row_history WHERE table_name::oid NOT IN (SELECT oid FROM pg_class)").await;
    session.run("DELETE FROM claims.tracked_tables WHERE table_name::oid NOT IN (SELECT oid FROM pg_class)").await;
    let before: String = session.value(ROWS).await;
    let restored = connect(&copy).await;
    assert_eq!(restored.value::<String>(ROWS).await, before);
    let ask = async |sql| restored.ask_sql(sql, &[]).await.unwrap();
    let sound = ask("SELECT check_claims()").await;
    assert!(sound.ok(), "{sound}");

    let customers = "\"C R M\".\"Customers\"";
    let stale = restored
        .execute(&format!("UPDATE {customers} SET email = 'x', version = 1 WHERE id = 1"), &[])
        .await;
    assert_eq!(sqlstate(&stale.unwrap_err()), "27000");
    let owned =
        restored.execute(&format!("UPDATE {customers} SET plan = 'x' WHERE id = 2"), &[]).await;
    assert_eq!(sqlstate(&owned.unwrap_err()), "42501");
    let conflict =
        ask("SELECT patch_row('\"C R M\".\"Customers\"', 1, 1, '{\"plan\": \"team\"}', 'billing')")
            .await;
    assert_eq!(conflict.outcome(), "conflict", "{conflict}");
    let merged =
        ask("SELECT patch_row('\"C R M\".\"Customers\"', 1, 1, '{\"email\": \"new\"}', 'form')")
            .await;
    assert_eq!((merged.outcome(), merged.fact("version")), ("merged", &3.into()), "{merged}");
    drop(restored);
    database.drop_named(&copy).await;
    database.drop().await;
}
