//! Carries messages between standard input and output and the backend's `/mcp`. Each message is a request of its own;
//! its answer, or the stream of its answers, comes back line by line.

mod events;
mod exchange;
mod lines;
mod message;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use self::exchange::Backend;
use self::lines::Line;
use self::message::{INVALID, Kind};
use crate::client::Client;
use crate::failure::Failure;

/// How long requests may take once standard input has ended, and then the program to read their answers.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(2);
/// How many messages are under way at once.
const MAX_MESSAGES: usize = 64;
/// How many answers wait for the program to read them.
const MAX_LINES: usize = 8;
/// The code of an error of the bridge or of the backend.
const FAILED: i64 = -32000;

/// What the messages of a program share.
struct Bridge<B> {
    backend: B,
    lines: mpsc::Sender<String>,
    room: Arc<Semaphore>,
    /// The version that the program and the backend agreed on at `initialize`.
    version: Mutex<Option<String>>,
    /// The requests under way, by their ids as JSON.
    open: Mutex<HashMap<String, AbortHandle>>,
}

/// Serves until standard input ends, or nobody reads standard output.
pub(super) async fn run(client: &Client) -> Result<(), Failure> {
    let input = BufReader::new(tokio::io::stdin());
    serve(client.clone(), input, tokio::io::stdout()).await
}

async fn serve<B: Backend>(
    backend: B,
    mut input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), Failure> {
    let (lines, ready) = mpsc::channel(MAX_LINES);
    let bridge = Arc::new(Bridge {
        backend,
        lines,
        room: Arc::new(Semaphore::new(MAX_MESSAGES)),
        version: Mutex::default(),
        open: Mutex::default(),
    });
    let writer = tokio::spawn(write(output, ready));
    let mut requests = JoinSet::new();
    let ended = loop {
        let line = tokio::select! {
            line = lines::next(&mut input) => line,
            () = bridge.lines.closed() => break Ok(()),
        };
        while requests.try_join_next().is_some() {}
        match line {
            Ok(Some(Line::Whole(line))) => bridge.take(&line, &mut requests).await,
            Ok(Some(Line::TooLong)) => {
                let why = "This message is longer than 1 MiB, which is the most that is read.";
                bridge.fail(&Value::Null, INVALID, why).await;
            }
            Ok(None) => break Ok(()),
            Err(error) => {
                let why = format!("standard input cannot be read: {error}");
                break Err(Failure::Failed(why));
            }
        }
    };
    // The program has left. What it asked last is answered if that is soon, and else cancelled.
    let answered = async { while requests.join_next().await.is_some() {} };
    tokio::time::timeout(LAST_ANSWERS_TIMEOUT, answered).await.ok();
    requests.shutdown().await;
    drop(bridge);
    tokio::time::timeout(LAST_ANSWERS_TIMEOUT, writer).await.ok();
    ended
}

/// Writes each line until there are no more, or nobody reads them.
async fn write(mut output: impl AsyncWrite + Unpin, mut ready: mpsc::Receiver<String>) {
    while let Some(line) = ready.recv().await {
        let written = output.write_all(format!("{line}\n").as_bytes()).await;
        if written.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

impl<B: Backend> Bridge<B> {
    fn opened(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a line of the program, and sends it where it is a message.
    async fn take(self: &Arc<Self>, line: &[u8], requests: &mut JoinSet<()>) {
        let (kind, message) = match message::read(line) {
            Ok(Some(read)) => read,
            Ok(None) => return,
            Err((code, why)) => return self.fail(&Value::Null, code, &why).await,
        };
        if let Kind::Cancels(id) = &kind {
            // The end of its stream cancels a request, which is not answered any more.
            if let Some(task) = self.opened().remove(id) {
                task.abort();
            }
            return;
        }
        let id = message["id"].clone();
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else {
            let why = format!(
                "{MAX_MESSAGES} messages are under way. Send this one again once some are answered."
            );
            return self.fail(&id, FAILED, &why).await;
        };
        let is_request = kind == Kind::Request;
        let key = id.to_string();
        if is_request && self.opened().contains_key(&key) {
            // Answered with this id, the error would be taken for the answer to the first one.
            let why = format!("The id {key} is that of a request under way. Give each its own.");
            return self.fail(&Value::Null, INVALID, &why).await;
        }
        let shared = Arc::clone(self);
        // The lock is held until the request is listed, so that it cannot end before.
        let mut open = self.opened();
        let task = requests.spawn(async move {
            shared.carry(&message, is_request).await;
            drop(place);
        });
        if is_request {
            open.insert(key, task);
        }
    }

    /// Sends a message, and writes what comes back.
    async fn carry(&self, message: &Value, is_request: bool) {
        let failed = self.exchange(message, is_request).await;
        // What is no request has no answer.
        if is_request {
            if let Err(why) = failed {
                self.fail(&message["id"], FAILED, &why).await;
            }
            self.opened().remove(&message["id"].to_string());
        }
    }

    /// Writes a message. Nobody reads it where the program has closed its end.
    async fn write(&self, message: &Value) {
        let _ = self.lines.send(message.to_string()).await;
    }

    async fn fail(&self, id: &Value, code: i64, why: &str) {
        let error = json!({"code": code, "message": why});
        self.write(&json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
    }
}
