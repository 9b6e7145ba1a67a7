//! Whether a history can be explained: stateright's tester looks for an order of the calls, each
//! between its being sent and its being over, in which the model allows every answer.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::rc::Rc;

use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

use crate::model::{Model, Op, Ret};

/// What happened to one slot or key, in the order in which the driver saw it.
pub type History<M> = Vec<Event<M>>;

#[derive(Clone, Debug)]
pub enum Event<M: Model> {
    Sent(usize, Op<M>),
    /// Its end: what was sent is over by now, whatever came of it.
    Over(usize, Ret<M>),
}

pub enum Finding {
    Explained,
    /// There is no such order.
    Impossible(String),
    /// The search was given up.
    Undecided,
}

pub fn check<M: Model>(name: &str, history: &History<M>) -> Finding {
    let search = Rc::new(RefCell::new(Search { seen: HashSet::new(), steps_left: STEPS_AT_MOST }));
    let mut tester = LinearizabilityTester::new(Possible::<M>::new(search.clone()));
    let mut lanes = Lanes::default();
    for (number, event) in history.iter().enumerate() {
        let recorded = match event {
            Event::Sent(caller, op) => tester.on_invoke(lanes.enter(*caller), (number, op.clone())),
            Event::Over(caller, ret) => tester.on_return(lanes.leave(*caller), ret.clone()),
        };
        recorded.expect("a lane has one call at a time");
    }
    if tester.is_consistent() {
        Finding::Explained
    } else if search.borrow().steps_left == 0 {
        Finding::Undecided
    } else {
        Finding::Impossible(tell(name, history))
    }
}

/// Minutes of searching.
const STEPS_AT_MOST: u64 = 1_000_000;

struct Search<M> {
    /// Which calls were taken into the order, and to which states that led. Coming there again by
    /// another order leads nowhere: it was tried before.
    seen: HashSet<(BTreeSet<usize>, BTreeSet<M>)>,
    steps_left: u64,
}

/// All the states that a model may be in after the calls that are in the order so far. So a model may
/// leave things open that only later answers decide, and a call that nobody heard the answer of may
/// have happened or not.
#[derive(Clone)]
struct Possible<M> {
    states: BTreeSet<M>,
    in_order: BTreeSet<usize>,
    search: Rc<RefCell<Search<M>>>,
}

impl<M: Model> Possible<M> {
    fn new(search: Rc<RefCell<Search<M>>>) -> Self {
        Self { states: BTreeSet::from([M::default()]), in_order: BTreeSet::new(), search }
    }

    fn let_the_reaper_in(&mut self) {
        let reaped: Vec<M> = self.states.iter().filter_map(Model::reaped).collect();
        self.states.extend(reaped);
    }

    fn step(&mut self, op: &Op<M>, ret: &Ret<M>) {
        self.let_the_reaper_in();
        match (op, ret) {
            (Op::Call(call), Ret::Answer(answer)) => {
                let mut after = BTreeSet::new();
                for state in &self.states {
                    let fitting = state.may(call).into_iter().filter(|(may, _)| may.fits(answer));
                    after.extend(fitting.filter_map(|(_, next)| M::learn(state, next, answer)));
                }
                self.states = after;
            }
            (Op::Call(call), Ret::Unknown) => {
                let may = self.states.iter().flat_map(|state| state.may(call));
                let after: Vec<M> = may.map(|(_, after)| after).collect();
                self.states.extend(after);
            }
            (Op::Read, Ret::Rows(rows)) => self.states.retain(|state| state.rows() == *rows),
            _ => self.states.clear(),
        }
    }
}

impl<M: Model> SequentialSpec for Possible<M> {
    type Op = (usize, Op<M>);
    type Ret = Ret<M>;

    /// Not used by the tester, as every call in a history is over.
    fn invoke(&mut self, (_, op): &Self::Op) -> Ret<M> {
        self.step(op, &Ret::Unknown);
        Ret::Unknown
    }

    fn is_valid_step(&mut self, (number, op): &Self::Op, ret: &Ret<M>) -> bool {
        let mut search = self.search.borrow_mut();
        let Some(steps_left) = search.steps_left.checked_sub(1) else { return false };
        search.steps_left = steps_left;
        drop(search);
        self.step(op, ret);
        self.in_order.insert(*number);
        let here = (self.in_order.clone(), self.states.clone());
        !self.states.is_empty() && self.search.borrow_mut().seen.insert(here)
    }
}

/// The fewer threads, the shorter the search. Who calls makes no difference to it, only what was over
/// before what was sent; so as many lanes do as there are calls at once.
#[derive(Default)]
struct Lanes(Vec<Option<usize>>);

impl Lanes {
    fn enter(&mut self, caller: usize) -> usize {
        let lane = self.0.iter().position(Option::is_none).unwrap_or_else(|| {
            self.0.push(None);
            self.0.len() - 1
        });
        self.0[lane] = Some(caller);
        lane
    }

    fn leave(&mut self, caller: usize) -> usize {
        let is_there = |there: &Option<usize>| *there == Some(caller);
        let lane = self.0.iter().position(is_there).expect("what is over was sent");
        self.0[lane] = None;
        lane
    }
}

fn tell<M: Model>(name: &str, history: &History<M>) -> String {
    let mut told = format!("no order of these calls explains what {name} answered:");
    for event in history {
        match event {
            Event::Sent(caller, op) => write!(told, "\n  {caller:>3} > {op:?}"),
            Event::Over(caller, ret) => write!(told, "\n  {caller:>3} < {ret:?}"),
        }
        .expect("a string can be written to");
    }
    told
}

/// Without the calls that were told to come back later: they change nothing, and may be told so at any
/// time.
pub fn without_busy<M: Model>(history: History<M>) -> History<M> {
    let mut kept: History<M> = Vec::new();
    for event in history {
        match &event {
            Event::Over(caller, Ret::Answer(answer))
                if answer.outcome == "busy"
                    || answer.outcome == "wait" && answer.other.is_none() =>
            {
                let is_its_call =
                    |event: &Event<M>| matches!(event, Event::Sent(sent, _) if sent == caller);
                let sent = kept.iter().rposition(is_its_call).expect("what is over was sent");
                kept.remove(sent);
            }
            _ => kept.push(event),
        }
    }
    kept
}
