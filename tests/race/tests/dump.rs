//! pg_dump carries the claims: history, bookings and the next token are the same after a restore.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use races::{connect, fresh_database};

/// A client program: of the server's own version where PGBIN names its folder.
fn program(name: &str) -> Command {
    Command::new(
        env::var("PGBIN").map_or_else(|_| PathBuf::from(name), |bin| PathBuf::from(bin).join(name)),
    )
}

const HISTORY: &str =
    "SELECT string_agg(c::text, E'\\n' ORDER BY slot_id, token) FROM claims.slot_claims c";

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
