//! One connection, of which an answer can be lost: after the server has committed, or before anybody
//! could know whether it would.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, Error, NoTls, Row};

use crate::model::Answer;
use crate::{server, told};

pub struct Connection {
    pub client: Client,
    pub pid: i32,
    lose_answer: Arc<AtomicBool>,
    socket: AbortHandle,
}

impl Drop for Connection {
    /// Closes the socket at once, where the driver would say goodbye after the last answer.
    fn drop(&mut self) {
        self.socket.abort();
    }
}

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Heard,
    /// It has come, so the server has committed, and is thrown away with the connection.
    LostAfterCommit,
    /// The connection is closed this long after the call was sent.
    HungUp {
        after_us: u64,
    },
}

pub enum Reply {
    Answer(Answer),
    /// What the server raised. The connection is as good as before.
    Raised(String),
    /// It may have happened or not, and may still happen. The connection is gone.
    Nothing,
}

/// Nothing waits without a bound; a restart of the server ends a call at once.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

impl Connection {
    pub async fn open(database: &str, name: &str) -> Result<Self, Error> {
        let lose_answer = Arc::new(AtomicBool::new(false));
        // What a socket that nobody listens at says is an I/O error, told as the driver tells it.
        let inner = UnixStream::connect(server::socket()).await.ok();
        let stream = Lossy { inner, lose_answer: lose_answer.clone() };
        let mut config = Config::new();
        config.user("postgres").dbname(database).application_name(name);
        let (client, connection) = config.connect_raw(stream, NoTls).await?;
        let socket = tokio::spawn(connection).abort_handle();
        // Never a prepared statement: its end is one more message, whose answer would be lost instead.
        let pid = client.query_typed("SELECT pg_backend_pid()", &[]).await?[0].get(0);
        Ok(Self { client, pid, lose_answer, socket })
    }

    /// Runs statements whose failure is the test's own fault.
    pub async fn run(&self, sql: &str) {
        self.client.batch_execute(sql).await.unwrap_or_else(|e| panic!("{sql}: {}", told(&e)));
    }

    /// One call with parameters that are texts, in one message to the server and its answer.
    pub async fn call(&self, sql: &str, params: &[String], fate: Fate) -> Reply {
        // The instants are compared as numbers, in the server's own reading of them.
        let sql = format!(
            "SELECT answer, {} FROM {sql} AS answer",
            ["claimed_at", "started_at", "expires_at"]
                .map(|at| format!(
                    "(extract(epoch FROM (answer ->> '{at}')::timestamptz) * 1000000)::bigint"
                ))
                .join(", ")
        );
        self.lose_answer.store(fate == Fate::LostAfterCommit, Ordering::Relaxed);
        let patience = match fate {
            Fate::HungUp { after_us } => Duration::from_micros(after_us),
            _ => ANSWERED_WITHIN,
        };
        let params: Vec<_> = params.iter().map(|param| (param as _, Type::TEXT)).collect();
        let rows = timeout(patience, self.client.query_typed(&sql, &params)).await;
        match (rows, fate) {
            (_, Fate::HungUp { .. }) => Reply::Nothing,
            (Err(_), _) => Reply::Raised(format!("nothing within {patience:?}")),
            (Ok(Ok(rows)), _) if rows.len() == 1 => Reply::Answer(read_answer(&rows[0])),
            (Ok(Ok(rows)), _) => Reply::Raised(format!("{} rows", rows.len())),
            // Class 57: somebody has ended this backend or the server. It may have committed before.
            (Ok(Err(error)), _)
                if error.code().is_some_and(|code| !code.code().starts_with("57")) =>
            {
                Reply::Raised(told(&error))
            }
            (Ok(Err(_)), _) => Reply::Nothing,
        }
    }
}

fn read_answer(row: &Row) -> Answer {
    let answer: Value = row.get(0);
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    let claimed_us: Option<i64> = row.get(1);
    Answer {
        outcome: text("outcome").expect("an answer has an outcome"),
        token: answer["token"].as_i64(),
        other: text("held_by").or_else(|| text("lost_to")).or_else(|| text("previous_holder")),
        status: text("status"),
        attempt: answer["attempt"].as_i64(),
        replayed: answer["replayed"].as_bool().unwrap_or(false),
        result: answer.get("result").cloned(),
        began_us: claimed_us.or_else(|| row.get(2)),
        until_us: row.get(3),
    }
}

/// A socket that can throw away what comes next.
struct Lossy {
    inner: Option<UnixStream>,
    lose_answer: Arc<AtomicBool>,
}

impl Lossy {
    fn inner(self: Pin<&mut Self>) -> io::Result<Pin<&mut UnixStream>> {
        self.get_mut()
            .inner
            .as_mut()
            .map(Pin::new)
            .ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl AsyncRead for Lossy {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let lose_answer = self.lose_answer.clone();
        ready!(self.inner()?.poll_read(context, buffer))?;
        if lose_answer.load(Ordering::Relaxed) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Lossy {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.inner()?.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner()?.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner()?.poll_shutdown(context)
    }
}
