//! Sixteen connections on few slots and keys while the server is killed, stopped, and told the wrong
//! time: everything that was answered can be explained. With a part of the protocol left out it cannot.
//!
//! `make test-crash SEED=… MINUTES=…` plays the calls and disturbances of a seed again, or more of them;
//! which of the calls meet is up to the machine.

use std::env;
use std::io::{Write, stderr};
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use crashes::plan::Weather;
use crashes::run::{Report, Run};

/// There is one server for all of them.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn whatever_happens_to_the_server_every_answer_can_be_explained() {
    let length = Duration::from_secs_f64(number("MINUTES").unwrap_or(0.75) * 60.0);
    let report = play(Run { seed: seed(), weather: Weather::Storm, length, leave_out: None });
    assert_explained(&report);
    for what in MUST_HAPPEN {
        assert!(report.counts.contains_key(*what), "nothing was found out about: {what}");
    }
}

const MUST_HAPPEN: &[&str] = &[
    "killserver",
    "killbackend",
    "terminate",
    "stop",
    "setclock",
    "unheard",
    "hung up",
    "claim claimed",
    "claim reclaimed",
    "claim taken",
    "confirm confirmed",
    "confirm confirmed_late",
    "confirm lost",
    "release released",
    "extend extended",
    "cancel cancelled",
    "begin run",
    "begin verify",
    "begin replay",
    "finish done",
    "finish failed",
    "finish lost",
];

/// Or else it would not be the missing part that is found below.
#[test]
fn with_nothing_left_out_every_answer_of_the_mutant_can_be_explained() {
    let (length, leave_out) = (Duration::from_secs(10), Some("nothing"));
    let run = Run { seed: seed(), weather: Weather::Gusts, length, leave_out };
    assert_explained(&play(run));
}

#[test]
fn a_takeover_that_ignores_what_it_read_is_found() {
    assert_found("row_guard");
}

#[test]
fn a_claim_that_is_taken_for_another_of_its_holder_is_found() {
    assert_found("token");
}

#[test]
fn a_key_that_is_finished_under_an_old_token_is_found() {
    assert_found("key_token");
}

#[test]
fn a_late_confirm_that_does_not_say_what_it_confirms_is_found() {
    assert_found("late_origin");
}

#[test]
fn a_key_that_is_granted_again_under_its_old_token_is_found() {
    assert_found("key_rise");
}

fn assert_explained(report: &Report) {
    assert!(report.faults.is_empty(), "{}", report.faults[0]);
    assert_eq!(report.undecided, 0, "every history must be decided");
}

fn assert_found(part: &'static str) {
    let length = Duration::from_secs(180);
    let report = play(Run { seed: seed(), weather: Weather::Gusts, length, leave_out: Some(part) });
    assert!(!report.faults.is_empty(), "nobody noticed that {part} is left out");
}

fn play(run: Run) -> Report {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let seed = run.seed;
    let what = run.leave_out.map_or(String::new(), |part| format!(" with {part} left out"));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    say(&format!("SEED={seed}{what}\n"));
    let report = runtime.expect("a runtime").block_on(run.play());
    let Report { rounds, calls, undecided, faults, .. } = &report;
    say(&format!(
        "SEED={seed}{what}: {rounds} rounds, {calls} calls, {undecided} histories undecided, {} faults\n",
        faults.len()
    ));
    for (what, count) in &report.counts {
        println!("{count:>8} {what}");
    }
    for fault in faults {
        println!("{fault}");
    }
    report
}

/// In one piece, to where the test's own output is not held back.
fn say(line: &str) {
    stderr().write_all(line.as_bytes()).expect("stderr");
}

fn seed() -> u64 {
    number("SEED").unwrap_or_else(|| fastrand::u64(..))
}

fn number<T: FromStr>(name: &str) -> Option<T> {
    let set = env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(set.parse().unwrap_or_else(|_| panic!("{name} must be a number: {set}")))
}
