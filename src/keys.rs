//! Idempotency keys: begin_key, finish_key, check_key, extend_key, reset_key.
//!
//! One row is one key, changed in place. Two arbiters, as with slots: a key comes into
//! being by an INSERT that only one of the racers can make, and after that every change
//! is an UPDATE that repeats the token, the status and the lease that were read.
//!
//! A pending key is never freed by time. When its lease is over, its outcome is unknown,
//! and the next caller is told to find out (`verify`); only evidence resolves it.

use pgrx::datum::{DatumWithOid, Interval};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

use crate::backend::clock;
use crate::backend::lock::Subject;
use crate::backend::statement::Row;
use crate::backend::table::{Table, Unfit};
use crate::backend::value::{AnyIdentifier, Instant, Json, Reply};
use crate::error::Refusal;
use crate::input::{self, BegunKey};
#[cfg(feature = "mutant")]
use crate::mutant::{Part, leaves_out};
use crate::notify;
use crate::outcome::{Answer, Outcome};
use crate::statement;
use crate::turn::{Patience, Turn, take_turn, take_turns};

/// Begins what must happen once: of any number of simultaneous or repeated callers with
/// one key exactly one is told to go on.
///
/// Arguments:
///   key      what must happen once: the id of an event, an order, a message
///   holder   who begins, best 'workflow:execution'; pass the answer's holder and token on
///   request  what is asked for; another request under the same key is a mismatch, while
///            the order of its fields does not matter; NULL compares with nothing
///   lease    how long the holder may take, from 1 ms to pg_claims.max_ttl; NULL:
///            pg_claims.default_lease
///   call_id  names this very call: repeated by the same holder while its lease runs, it
///            gets the first answer again, with replayed: true
///
/// Outcomes: run (ok), wait (somebody is at it, retry_after_ms), verify (its outcome is
/// unknown, and the lease is now yours: look at the real system, then finish_key, or act
/// and then finish_key), replay (it is done or was rejected; with the stored result),
/// mismatch.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: the Idempotency-Key header, draft-ietf-httpapi-idempotency-key-header.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn begin_key(
    key: Option<AnyIdentifier>,
    holder: Option<String>,
    request: default!(Option<Json>, "NULL"),
    lease: default!(Option<Interval>, "NULL"),
    call_id: default!(Option<String>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let wanted = Wanted {
        key: input::identifier("key", key)?,
        holder: input::name("holder", holder)?,
        fingerprint: request.map(|request| request.fingerprint()),
        lease_ms: input::lease_ms(lease)?,
        call_id: input::optional_name("call_id", call_id)?,
    };
    input::writable("begin_key")?;
    let answer = wanted.begin();
    Ok(Reply::from(&Answer { key: Some(wanted.key), holder: Some(wanted.holder), ..answer }))
}

/// Says how it ended, with a result for everybody who asks again.
///
/// Arguments:
///   key, holder, token   as begin_key answered them; with a NULL token it is what the
///                        holder began last
///   result               what every later begin_key gets, at most 1 MB of JSON
///   outcome              'done': it happened; 'failed': it did not, and may run again;
///                        'rejected': it never will, and that is the answer for good;
///                        'unknown': nobody can tell yet, the next begin_key verifies
///   after                another answer of pg_claims: go on only if its ok is true; it
///                        comes back inside this answer
///
/// Outcomes: done, failed, rejected, unknown (all ok), already_finished (ok; the first
/// result stands), lost (somebody else was let in; lost_to), not_holder, absent,
/// not_reached, busy.
///
/// Raises 22004, 22023, 42804 or 54000 for bad input, 0A000 above READ COMMITTED, 25006
/// where nothing can be written.
///
/// Source: the Idempotency-Key header, draft-ietf-httpapi-idempotency-key-header.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn finish_key(
    key: Option<AnyIdentifier>,
    holder: Option<String>,
    token: Option<i64>,
    result: default!(Option<Json>, "NULL"),
    outcome: default!(Option<&str>, "'done'"),
    after: default!(Option<Json>, "'{\"ok\": true}'"),
) -> Result<Reply, ErrorReport> {
    let call = Call::new("finish_key", key, holder, token)?;
    let result = input::json("result", result)?;
    let ending = input::word("outcome", outcome, &ENDINGS)?;
    let after = input::after(after)?;
    let answer = if after.ok { call.finish(ending, result) } else { Answer::not_reached() };
    Ok(call.answer(Answer { after: after.answer, ..answer }))
}

/// Says how a key stands.
///
/// Arguments:
///   key   the key
///
/// Outcomes: absent (ok; begin_key would run it), failed (ok; begin_key would run it
/// again), pending (somebody is at it), overdue (its outcome is unknown, begin_key would
/// verify), done, rejected.
///
/// Raises 22004, 22023 or 42804 for bad input. Works on a standby, in a read-only
/// transaction and at every isolation level, as of the snapshot that it gets there.
///
/// Source: the Idempotency-Key header, draft-ietf-httpapi-idempotency-key-header.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn check_key(key: Option<AnyIdentifier>) -> Result<Reply, ErrorReport> {
    let key = input::identifier("key", key)?;
    let found = read_key(&key);
    let now = clock::now();
    let answer = match &found {
        None => Answer::yes(Outcome::Absent, "Nobody has ever begun that."),
        Some(entry) => {
            let answer = match entry.status {
                Status::Pending if entry.lease_runs(now) => Answer {
                    remaining_ms: Some(entry.lease_expires_at.ms_since(now)),
                    ..Answer::no(Outcome::Pending, "Somebody is at it.")
                },
                Status::Pending => Answer::no(
                    Outcome::Overdue,
                    "Whoever was at it has not come back; its outcome is unknown.",
                ),
                Status::Done => Answer::no(Outcome::Done, "It is done."),
                Status::Failed => Answer::yes(Outcome::Failed, "It failed, and may run again."),
                Status::Rejected => Answer::no(Outcome::Rejected, "It was rejected for good."),
            };
            Answer { holder: entry.holder.clone(), ..entry.tell(answer) }
        }
    };
    Ok(Reply::from(&Answer { key: Some(key), ..answer }))
}

/// Makes the lease of a pending key longer: the heartbeat of work that takes its time.
///
/// Arguments:
///   key, holder, token   as begin_key answered them; without a token it is what the
///                        holder began last
///   lease                the lease from now on, from 1 ms to pg_claims.max_ttl; it never
///                        makes a lease shorter; NULL: pg_claims.default_lease
///
/// Outcomes: extended (ok; also when the lease was over and nobody had been let in),
/// lost, finished, not_holder, absent, busy.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: leases, Gray and Cheriton 1989.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn extend_key(
    key: Option<AnyIdentifier>,
    holder: Option<String>,
    token: default!(Option<i64>, "NULL"),
    lease: default!(Option<Interval>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let call = Call::new("extend_key", key, holder, token)?;
    let lease_ms = input::lease_ms(lease)?;
    let answer = call.settle(|turn, entry, now| {
        if entry.status != Status::Pending {
            let message = "It is finished; there is no lease to extend.";
            return Some(entry.tell(Answer::no(Outcome::Finished, message)));
        }
        let lease_expires_at = entry.lease_expires_at.max(now.plus_ms(lease_ms));
        let extended = Entry { lease_expires_at, ..entry.clone() };
        let answer = Answer {
            lease_ms: Some(lease_ms),
            remaining_ms: Some(lease_expires_at.ms_since(now)),
            ..extended.tell(Answer::yes(Outcome::Extended, "The lease goes on."))
        };
        change(turn, &call.key, entry, &extended).then_some(answer)
    });
    Ok(call.answer(answer))
}

/// Lets a key run again whatever its state: for a person who knows better. The token
/// rises, so whoever was at it cannot finish it any more.
///
/// Arguments:
///   key      the key
///   holder   who resets it; recorded as finished_by
///   reason   kept with the key until it is begun again
///
/// Outcomes: reset (ok; previous_holder was at it or had finished it), absent, busy.
///
/// Raises 22004, 22023 or 42804 for bad input, 0A000 above READ COMMITTED, 25006 where
/// nothing can be written.
///
/// Source: fencing tokens, as in Chubby.
#[pg_extern(volatile, parallel_unsafe, security_definer)]
#[search_path(pg_catalog, pg_temp)]
fn reset_key(
    key: Option<AnyIdentifier>,
    holder: Option<String>,
    reason: default!(Option<String>, "NULL"),
) -> Result<Reply, ErrorReport> {
    let call = Call::new("reset_key", key, holder, None)?;
    let reason = input::reason(reason);
    let answer = call.take_turns(|turn| {
        let Some(entry) = read_key(&call.key) else { return Some(absent()) };
        let reset = Entry {
            status: Status::Failed,
            holder: None,
            token: entry.token + 1,
            verifying: false,
            fingerprint: None,
            finished_at: Some(clock::now()),
            finished_by: Some(call.holder.clone()),
            reason: reason.clone(),
            call_id: None,
            result: None,
            ..entry.clone()
        };
        let answer = Answer {
            previous_holder: entry.holder.clone(),
            ..reset.tell(Answer::yes(Outcome::Reset, "It may run again, from the beginning."))
        };
        change(turn, &call.key, &entry, &reset).then_some(answer)
    });
    Ok(call.answer(answer))
}

/// `status` of a key, as the table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Pending,
    Done,
    Failed,
    Rejected,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
        }
    }

    fn from_word(word: &str) -> Self {
        match word {
            "pending" => Self::Pending,
            "done" => Self::Done,
            "failed" => Self::Failed,
            "rejected" => Self::Rejected,
            _ => panic!("unknown status {word:?} in claims.keys"),
        }
    }
}

/// One row of `claims.keys`.
#[derive(Clone, Debug)]
struct Entry {
    status: Status,
    holder: Option<String>,
    token: i64,
    attempt: i32,
    verifying: bool,
    fingerprint: Option<Vec<u8>>,
    started_at: Instant,
    lease_expires_at: Instant,
    finished_at: Option<Instant>,
    finished_by: Option<String>,
    reason: Option<String>,
    call_id: Option<String>,
    result: Option<Json>,
}

impl Entry {
    fn read(row: &Row) -> Self {
        Self {
            status: Status::from_word(row.must(1)),
            holder: row.get(2),
            token: row.must(3),
            attempt: row.must(4),
            verifying: row.must(5),
            fingerprint: row.get(6),
            started_at: row.must(7),
            lease_expires_at: row.must(8),
            finished_at: row.get(9),
            finished_by: row.get(10),
            reason: row.get(11),
            call_id: row.get(12),
            result: row.get(13),
        }
    }

    /// All but the key, in the order in which they are read.
    fn columns(&self) -> [DatumWithOid<'_>; 13] {
        [
            self.status.word().into(),
            self.holder.as_deref().into(),
            self.token.into(),
            self.attempt.into(),
            self.verifying.into(),
            self.fingerprint.clone().into(),
            self.started_at.into(),
            self.lease_expires_at.into(),
            self.finished_at.into(),
            self.finished_by.as_deref().into(),
            self.reason.as_deref().into(),
            self.call_id.as_deref().into(),
            self.result.clone().into(),
        ]
    }

    fn lease_runs(&self, now: Instant) -> bool {
        self.status == Status::Pending && self.lease_expires_at > now
    }

    /// Adds the key's state to an answer.
    fn tell(&self, answer: Answer) -> Answer {
        Answer {
            token: Some(self.token),
            status: Some(self.status.word()),
            attempt: Some(self.attempt),
            started_at: Some(self.started_at),
            expires_at: Some(self.lease_expires_at).filter(|_| self.status == Status::Pending),
            finished_at: self.finished_at,
            reason: self.reason.clone(),
            // Stored where a result was left out, so that it is told from a lost one.
            result: self.result.clone().filter(|result| result.get() != "null"),
            ..answer
        }
    }
}

statement! {
    READ =
        "SELECT status, holder, token, attempt, verifying, fingerprint, started_at,
                lease_expires_at, finished_at, finished_by, reason, call_id, result
         FROM claims.keys WHERE key = $1";

    CREATE =
        "INSERT INTO claims.keys
             (status, holder, token, attempt, verifying, fingerprint, started_at,
              lease_expires_at, finished_at, finished_by, reason, call_id, result, key)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
         ON CONFLICT DO NOTHING";

    /// As with slots: the row is taken without waiting for it, and is changed only if it
    /// is exactly as it was read. The token alone would do, were it not for the lease,
    /// which is extended under one token.
    CHANGE =
        "UPDATE claims.keys
         SET status = $1, holder = $2, token = $3, attempt = $4, verifying = $5,
             fingerprint = $6, started_at = $7, lease_expires_at = $8, finished_at = $9,
             finished_by = $10, reason = $11, call_id = $12, result = $13
         WHERE key = (SELECT key FROM claims.keys
                      WHERE key = $14 AND token = $15 AND status = $16
                        AND lease_expires_at = $17
                      FOR NO KEY UPDATE SKIP LOCKED)
           AND token = $15 AND status = $16 AND lease_expires_at = $17";
}

thread_local! {
    /// The columns in the order of [`READ`], and the key's name.
    static KEYS: Table = const {
        Table::new(c"keys", &[c"keys_pkey"], &[
            c"status", c"holder", c"token", c"attempt", c"verifying", c"fingerprint",
            c"started_at", c"lease_expires_at", c"finished_at", c"finished_by", c"reason",
            c"call_id", c"result", c"key",
        ])
    };
}

fn read_key(key: &str) -> Option<Entry> {
    let args = [key.into()];
    KEYS.with(|keys| keys.last(&args, Entry::read))
        .unwrap_or_else(|Unfit| READ.with(|read| read.first(&args, Entry::read)))
}

/// Changes a key, provided that it is as it was read. False: it is not, or somebody holds
/// its row; nothing was written.
#[must_use]
fn change(turn: &mut Turn, key: &str, from: &Entry, to: &Entry) -> bool {
    let is_as_read = |row: &Row| {
        (row.must::<&str>(1), row.must(3), row.must(8))
            == (from.status.word(), from.token, from.lease_expires_at)
    };
    let values = |_: &Row| (1..).zip(to.columns()).collect();
    let changed = match KEYS.with(|keys| keys.change(&[key.into()], is_as_read, values)) {
        Ok(changed) => turn.wrote(changed),
        Err(Unfit) => {
            let mut args = Vec::from(to.columns());
            args.extend([
                key.into(),
                from.token.into(),
                from.status.word().into(),
                from.lease_expires_at.into(),
            ]);
            turn.write(&CHANGE, &args)
        }
    };
    if changed && (from.status, from.token) != (to.status, to.token) {
        turn.tell(news(key, to.token, to.holder.as_deref(), to.status));
    }
    changed
}

fn news(key: &str, token: i64, holder: Option<&str>, status: Status) -> notify::Change {
    notify::Change {
        slot_id: None,
        key: Some(key.to_owned()),
        token,
        holder: holder.map(str::to_owned),
        status: status.word(),
    }
}

/// A key that somebody would like to begin.
struct Wanted {
    key: String,
    holder: String,
    fingerprint: Option<Vec<u8>>,
    lease_ms: i64,
    call_id: Option<String>,
}

impl Wanted {
    fn begin(&self) -> Answer {
        let mut patience = Patience::for_lock();
        loop {
            let found = read_key(&self.key);
            if let Some(answer) = self.look(found.as_ref(), clock::now()) {
                return answer;
            }
            let subject = [Subject::Key(&self.key)];
            if let Some(answer) =
                take_turn(&subject, &mut patience, |turn| self.attempt(turn, found))
            {
                return answer;
            }
            if !patience.pause() {
                return Answer { outcome: Outcome::Wait, ..Answer::busy() };
            }
        }
    }

    /// Under the lock: the clock, and the write, which finds the key as it was seen, or does
    /// nothing. `None`: look again.
    fn attempt(&self, turn: &mut Turn, seen: Option<Entry>) -> Option<Answer> {
        let found = if turn.at_once { seen } else { read_key(&self.key) };
        let now = clock::now();
        if !turn.at_once
            && let Some(answer) = self.look(found.as_ref(), now)
        {
            return Some(answer);
        }
        let granted = self.grant(found.as_ref(), now);
        let written = match &found {
            None => self.create(turn, &granted),
            Some(found) => change(turn, &self.key, found, &granted),
        };
        written.then(|| self.granted(&granted))
    }

    /// The answer that needs no write, if there is one.
    fn look(&self, found: Option<&Entry>, now: Instant) -> Option<Answer> {
        let found = found?;
        let same_request = match (&self.fingerprint, &found.fingerprint) {
            (Some(asked), Some(stored)) => asked == stored,
            _ => true,
        };
        let yours = found.holder.as_deref() == Some(self.holder.as_str());
        match found.status {
            _ if !same_request => Some(Answer {
                status: Some(found.status.word()),
                ..Answer::no(Outcome::Mismatch, "That key was used for another request.")
            }),
            Status::Done => {
                let done = Answer::no(Outcome::Replay, "It was done already; here is its result.");
                // Not the token: whoever is told of a replay has nothing to finish.
                Some(Answer { token: None, ..found.tell(done) })
            }
            Status::Rejected => {
                let rejected = Answer::no(Outcome::Replay, "It was rejected already, for good.");
                Some(Answer { token: None, ..found.tell(rejected) })
            }
            Status::Failed => None,
            Status::Pending if !found.lease_runs(now) => None,
            Status::Pending if yours && self.call_id.is_some() && self.call_id == found.call_id => {
                Some(Answer { replayed: Some(true), ..self.granted(found) })
            }
            Status::Pending => Some(Answer {
                status: Some(found.status.word()),
                attempt: Some(found.attempt),
                started_at: Some(found.started_at),
                expires_at: Some(found.lease_expires_at),
                retry_after_ms: Some(found.lease_expires_at.ms_since(now)),
                held_by: found.holder.clone(),
                yours: yours.then_some(true),
                ..Answer::no(Outcome::Wait, "Somebody is at it right now.")
            }),
        }
    }

    /// The key as it will be once this caller has been let in.
    fn grant(&self, found: Option<&Entry>, now: Instant) -> Entry {
        let overdue = found.is_some_and(|found| found.status == Status::Pending);
        let attempt = match found {
            None => 1,
            Some(found) if overdue => found.attempt,
            Some(found) => found.attempt.saturating_add(1),
        };
        let stored = found.and_then(|found| found.fingerprint.clone());
        Entry {
            status: Status::Pending,
            holder: Some(self.holder.clone()),
            token: found.map_or(1, |found| next_token(found.token)),
            attempt,
            verifying: overdue,
            fingerprint: self.fingerprint.clone().or(stored),
            started_at: now,
            lease_expires_at: now.plus_ms(self.lease_ms),
            finished_at: None,
            finished_by: None,
            reason: None,
            call_id: self.call_id.clone(),
            result: None,
        }
    }

    fn granted(&self, entry: &Entry) -> Answer {
        let answer = match entry.verifying {
            false => Answer::yes(Outcome::Run, "Go on: nobody else will."),
            true => Answer::no(
                Outcome::Verify,
                "An earlier run began this and never came back: find out what it did, then finish it.",
            ),
        };
        Answer {
            lease_ms: Some(entry.lease_expires_at.ms_since(entry.started_at)),
            ..entry.tell(answer)
        }
    }

    fn create(&self, turn: &mut Turn, entry: &Entry) -> bool {
        let mut row = Vec::from(entry.columns());
        row.push(self.key.as_str().into());
        let created = match KEYS.with(|keys| keys.insert(&row)) {
            Ok(inserted) => turn.wrote(inserted),
            Err(Unfit) => turn.write(&CREATE, &row),
        };
        if created {
            turn.tell(news(&self.key, entry.token, Some(&self.holder), entry.status));
        }
        created
    }
}

/// A grant voids the token of whoever was let in before.
fn next_token(token: i64) -> i64 {
    #[cfg(feature = "mutant")]
    if leaves_out(Part::KeyRise) {
        return token;
    }
    token + 1
}

/// How finish_key can end a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Final(Status),
    Unknown,
}

const ENDINGS: [(&str, Ending); 4] = [
    ("done", Ending::Final(Status::Done)),
    ("failed", Ending::Final(Status::Failed)),
    ("rejected", Ending::Final(Status::Rejected)),
    ("unknown", Ending::Unknown),
];

/// A call about a key that has been begun.
struct Call {
    key: String,
    holder: String,
    token: Option<i64>,
}

impl Call {
    fn new(
        function: &'static str,
        key: Option<AnyIdentifier>,
        holder: Option<String>,
        token: Option<i64>,
    ) -> Result<Self, Refusal> {
        let key = input::identifier("key", key)?;
        let holder = input::name("holder", holder)?;
        input::writable(function)?;
        Ok(Self { key, holder, token })
    }

    fn answer(&self, answer: Answer) -> Reply {
        let (key, holder) = (Some(self.key.clone()), Some(self.holder.clone()));
        Reply::from(&Answer { key, holder, ..answer })
    }

    fn take_turns(&self, attempt: impl Fn(&mut Turn) -> Option<Answer>) -> Answer {
        let mut patience = Patience::for_lock();
        take_turns(&[Subject::Key(&self.key)], &mut patience, attempt).unwrap_or_else(Answer::busy)
    }

    /// Finds the caller's key and lets `decide` settle it, unless it went to another.
    fn settle(&self, decide: impl Fn(&mut Turn, &Entry, Instant) -> Option<Answer>) -> Answer {
        self.take_turns(|turn| {
            let Some(entry) = read_key(&self.key) else { return Some(absent()) };
            let is_holder = entry.holder.as_deref() == Some(self.holder.as_str());
            let token = self.token;
            #[cfg(feature = "mutant")]
            let token = token.filter(|_| !leaves_out(Part::KeyToken));
            match token {
                Some(token) if token < entry.token => Some(lost(&entry, is_holder)),
                Some(token) if token > entry.token => Some(not_holder()),
                _ if !is_holder => Some(not_holder()),
                _ => decide(turn, &entry, clock::now()),
            }
        })
    }

    fn finish(&self, ending: Ending, result: Option<Json>) -> Answer {
        self.settle(|turn, entry, now| {
            let finished = match ending {
                // Failed, and then it turns out to have happened: the evidence counts, as
                // long as nobody else has been let in.
                _ if !matches!(entry.status, Status::Pending | Status::Failed) => None,
                Ending::Final(Status::Failed) if entry.status == Status::Failed => None,
                Ending::Final(status) => Some(Entry {
                    status,
                    finished_at: Some(now),
                    finished_by: Some(self.holder.clone()),
                    result: Some(result.clone().unwrap_or_else(Json::null)),
                    ..entry.clone()
                }),
                Ending::Unknown => Some(Entry {
                    status: Status::Pending,
                    lease_expires_at: entry.lease_expires_at.min(now),
                    finished_at: None,
                    finished_by: None,
                    result: result.clone(),
                    ..entry.clone()
                }),
            };
            let Some(finished) = finished else {
                let message = "It was finished already; the first result stands.";
                return Some(entry.tell(Answer::yes(Outcome::AlreadyFinished, message)));
            };
            let answer = match ending {
                Ending::Final(Status::Done) => Answer::yes(Outcome::Done, "It is done."),
                Ending::Final(Status::Rejected) => {
                    Answer::yes(Outcome::Rejected, "It is rejected for good.")
                }
                Ending::Final(_) => Answer::yes(Outcome::Failed, "It failed, and may run again."),
                Ending::Unknown => Answer::yes(
                    Outcome::Unknown,
                    "Its outcome is unknown; the next caller is told to find out.",
                ),
            };
            change(turn, &self.key, entry, &finished).then(|| finished.tell(answer))
        })
    }
}

/// The token is an earlier one: the key went to another, or was reset.
fn lost(entry: &Entry, is_holder: bool) -> Answer {
    let since = match &entry.holder {
        Some(_) => Some(entry.started_at),
        None => entry.finished_at,
    };
    let message = match &entry.holder {
        Some(_) => "The lease was over, and somebody else has been let in.",
        None => "The key has been reset.",
    };
    Answer {
        status: Some(entry.status.word()),
        lost_to: entry.holder.clone(),
        lost_since: since,
        yours: is_holder.then_some(true),
        ..Answer::no(Outcome::Lost, message)
    }
}

fn absent() -> Answer {
    Answer::no(Outcome::Absent, "Nobody has ever begun that.")
}

fn not_holder() -> Answer {
    Answer::no(Outcome::NotHolder, "You have not begun that with this holder and token.")
}

/// The claim that was to follow begin_key was refused: nothing has happened, so the key
/// may run again. Says what became of it, if it was still the caller's.
pub fn give_up(begun: &BegunKey) -> Option<&'static str> {
    let call =
        Call { key: begun.key.clone(), holder: begun.holder.clone(), token: Some(begun.token) };
    let answer = call.finish(Ending::Final(Status::Failed), None);
    answer.ok.then_some(answer.status).flatten()
}

statement! {
    READ_OPEN =
        "SELECT key FROM claims.keys
         WHERE status = 'pending' AND lease_expires_at > $2 AND holder = $1 ORDER BY key";
}

/// Ends the leases of a dead holder's pending keys, so that the next begin_key is told to
/// verify at once. Says how many, and how many somebody else was at work on.
pub fn end_leases(holder: &str, patience: &mut Patience) -> (u64, u64) {
    let args = [holder.into(), clock::now().into()];
    let keys: Vec<String> = READ_OPEN.with(|read| read.rows(&args, |row| row.must(1)));
    let (mut ended, mut skipped) = (0, 0);
    for key in &keys {
        let became = take_turns(&[Subject::Key(key)], patience, |turn| {
            let now = clock::now();
            let open = read_key(key)
                .filter(|entry| entry.lease_runs(now) && entry.holder.as_deref() == Some(holder));
            let Some(entry) = open else { return Some(0) };
            let over = Entry { lease_expires_at: now, ..entry.clone() };
            change(turn, key, &entry, &over).then_some(1)
        });
        match became {
            Some(count) => ended += count,
            None => skipped += 1,
        }
    }
    (ended, skipped)
}
