//! What happens in a round: a function of the seed and the round's number, and of nothing else.

use fastrand::Rng;

use crate::connection::Fate;
use crate::model::Verdict;

pub const WORKERS: usize = 16;
/// Few, so that everybody meets.
pub const SLOTS: usize = 3;
pub const KEYS: usize = 2;
/// A history is searched for an order that explains it, and the search is exponential in what happens
/// at once. So a round is short, and the next one has slots and keys of its own.
const STEPS: usize = 8;

pub struct Plan {
    pub workers: Vec<Vec<Step>>,
    /// What is done to the server, and after how many calls of the round.
    pub disturbances: Vec<(usize, Disturbance)>,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub pause_us: u64,
    pub what: What,
    pub fate: Fate,
}

#[derive(Clone, Debug)]
pub enum What {
    Claim {
        slot: usize,
        lease_ms: u64,
        review: bool,
    },
    Begin {
        key: usize,
        lease_ms: u64,
    },
    /// About a claim that somebody was granted before, or else a claim.
    Settle {
        slot: usize,
        grant: Pick,
        how: Settle,
    },
    /// About a key that somebody was let in to before, or else a begin.
    Finish {
        key: usize,
        grant: Pick,
        how: Finish,
    },
    /// The last call once more, for whoever has not heard its answer.
    Repeat,
}

/// Which of the grants that were acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// The last one of one's own, wherever that is.
    pub latest: bool,
    /// Else one of one's own, or anybody's.
    pub own: bool,
    /// Counted back from the last one, round and round.
    pub back: usize,
}

#[derive(Clone, Copy, Debug)]
pub enum Settle {
    Confirm,
    Release { in_doubt: bool },
    Extend { lease_ms: u64 },
    Cancel,
    Resolve { verdict: Verdict },
}

#[derive(Clone, Copy, Debug)]
pub enum Finish {
    As(&'static str),
    Extend { lease_ms: u64 },
    Reset,
}

#[derive(Clone, Copy, Debug)]
pub enum Disturbance {
    /// pg_terminate_backend for these workers.
    Terminate { first: usize, workers: usize },
    /// SIGKILL for the postmaster alone or for everybody, and a restart.
    KillServer { all: bool },
    /// SIGKILL for one worker's backend: the postmaster ends all others and starts anew.
    KillBackend { worker: usize },
    /// SIGSTOP for some of the server's processes, and SIGCONT.
    Stop { share: u32, for_ms: u64, pick: u64 },
    /// The server's clock from now on, ahead of the machine's.
    SetClock { ahead_ms: i64 },
}

/// How hard the server is treated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weather {
    /// With crashes and restarts.
    Storm,
    /// Without: a restart takes seconds in which nothing else can be found out.
    Gusts,
}

impl Plan {
    pub fn new(seed: u64, round: u64, weather: Weather) -> Self {
        let mut rng = Rng::with_seed(seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let workers =
            (0..WORKERS).map(|_| (0..STEPS).map(|_| Step::random(&mut rng)).collect()).collect();
        let disturbances = disturb(&mut rng, round, weather);
        Self { workers, disturbances }
    }
}

impl Step {
    fn random(rng: &mut Rng) -> Self {
        let pause_us = [0, rng.u64(..2_000), rng.u64(..10_000)][rng.usize(..3)];
        let fate = match rng.u8(..20) {
            0 => Fate::LostAfterCommit,
            1 => Fate::HungUp { after_us: rng.u64(..3_000) },
            _ => Fate::Heard,
        };
        let what = match rng.u8(..20) {
            0..5 => What::Claim {
                slot: rng.usize(..SLOTS),
                lease_ms: lease_ms(rng),
                review: rng.u8(..6) == 0,
            },
            5..13 => {
                let how = Settle::random(rng);
                // Anybody may cancel. Whoever tries that with another call is refused.
                let own = !matches!(how, Settle::Cancel) && rng.u8(..10) > 0;
                What::Settle { slot: rng.usize(..SLOTS), grant: Pick::random(rng, own), how }
            }
            13..15 => What::Begin { key: rng.usize(..KEYS), lease_ms: lease_ms(rng) },
            15..19 => {
                let (key, own) = (rng.usize(..KEYS), rng.u8(..10) > 0);
                What::Finish { key, grant: Pick::random(rng, own), how: Finish::random(rng) }
            }
            _ => What::Repeat,
        };
        Self { pause_us, what, fate }
    }
}

/// Short enough to be over in the middle of a round, mostly.
fn lease_ms(rng: &mut Rng) -> u64 {
    if rng.u8(..3) == 0 { rng.u64(1..10) } else { rng.u64(10..200) }
}

impl Pick {
    /// Mostly the last one, whose lease may be running out just now.
    fn random(rng: &mut Rng, own: bool) -> Self {
        Self { latest: own && rng.u8(..3) > 0, own, back: rng.usize(..4) }
    }
}

impl Settle {
    fn random(rng: &mut Rng) -> Self {
        match rng.u8(..20) {
            0..9 => Self::Confirm,
            9..12 => Self::Release { in_doubt: rng.u8(..4) == 0 },
            12..14 => Self::Extend { lease_ms: lease_ms(rng) },
            14..18 => Self::Cancel,
            _ => Self::Resolve {
                verdict: if rng.bool() { Verdict::Booked } else { Verdict::Released },
            },
        }
    }
}

impl Finish {
    fn random(rng: &mut Rng) -> Self {
        match rng.u8(..20) {
            0..4 => Self::As("done"),
            4..10 => Self::As("failed"),
            10..11 => Self::As("rejected"),
            11..14 => Self::As("unknown"),
            14..17 => Self::Extend { lease_ms: lease_ms(rng) },
            _ => Self::Reset,
        }
    }
}

fn disturb(rng: &mut Rng, round: u64, weather: Weather) -> Vec<(usize, Disturbance)> {
    let calls = WORKERS * STEPS;
    let mut all: Vec<(usize, Disturbance)> = (0..rng.usize(1..4))
        .map(|_| {
            let what = match rng.u8(..10) {
                0..3 => {
                    let (first, workers) = (rng.usize(..WORKERS), rng.usize(1..5));
                    Disturbance::Terminate { first, workers }
                }
                3..7 => Disturbance::SetClock {
                    ahead_ms: rng.i64(-100_000..100_000) / [1, 1_000, 10_000][rng.usize(..3)],
                },
                _ => Disturbance::Stop {
                    share: rng.u32(1..6),
                    for_ms: rng.u64(1..60),
                    pick: rng.u64(..),
                },
            };
            (rng.usize(..calls), what)
        })
        .collect();
    // A restart takes longer than all the rest of a round, so not every round has one.
    if weather == Weather::Storm && round.is_multiple_of(4) {
        let what = match round / 4 % 3 {
            0 => Disturbance::KillServer { all: false },
            1 => Disturbance::KillServer { all: true },
            _ => Disturbance::KillBackend { worker: rng.usize(..WORKERS) },
        };
        all.push((rng.usize(..calls), what));
    }
    all.sort_by_key(|(after, _)| *after);
    all
}
