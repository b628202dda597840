//! The content of files that moves beside calls. A tool gets an [`Exchange`]: it takes one request of the backend at
//! a time and answers it. The stream behind it is opened again after a lost connection, so the tool waits and
//! continues with the file that it has open.

mod stream;
#[cfg(test)]
pub(crate) mod testing;

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use orion_catalog::Content;
use orion_domain::{CallId, Digest, ErrorCode, Hint, ToolError};
use orion_wire::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tonic::transport::Channel;

/// How many transfers this device runs at once.
const MAX_TRANSFERS: usize = 8;
/// How long a transfer waits for the next part. A lost connection is back earlier, or the person is gone.
const IDLE_TIMEOUT: Duration = Duration::from_mins(3);
/// How often a waiting tool checks whether to stop.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The largest file that is written by a transfer where the owner sets no other limit, in bytes.
const DEFAULT_MAX_BYTES: u64 = 64 * 1024 * 1024 * 1024;

/// What the other side wants of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ContentRequest {
    /// Answer with this part of the file.
    Read {
        /// Where the part begins.
        offset: u64,
        /// The most bytes of it.
        max_bytes: usize,
    },
    /// Write this part. Without content it asks how much is there.
    Write {
        /// Where the part belongs.
        offset: u64,
        /// The content.
        content: Bytes,
        /// Size of the whole file. 0 if it is not known.
        size: u64,
    },
    /// The receiver has everything, or the sender sent everything with this digest.
    Done(Option<Digest>),
    /// The other side failed.
    Failed(ToolError),
}

/// What a tool answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContentAnswer {
    /// A part of the file.
    Part {
        /// Where the part begins.
        offset: u64,
        /// The content. Empty at the end of the file.
        content: Vec<u8>,
        /// Size of the whole file.
        size: u64,
    },
    /// How many bytes are there, from the beginning.
    Received(u64),
}

/// A message with the number that joins request and answer.
type Numbered<T> = (u64, T);

/// The transfers of this device.
#[derive(Debug)]
pub struct Transfers {
    /// The connection to the backend. None while there is none.
    link: watch::Sender<Option<Channel>>,
    /// The runtime of the streams. None before the first connection.
    runtime: Mutex<Option<Handle>>,
    places: Arc<Semaphore>,
    max_bytes: u64,
    #[cfg(test)]
    peer: Mutex<Option<testing::Peer>>,
}

impl Default for Transfers {
    fn default() -> Self {
        Self::limited(DEFAULT_MAX_BYTES)
    }
}

impl Transfers {
    /// Creates the transfers of a device that writes no file of more bytes.
    #[must_use]
    pub fn limited(max_bytes: u64) -> Self {
        Self {
            link: watch::Sender::new(None),
            runtime: Mutex::new(None),
            places: Arc::new(Semaphore::new(MAX_TRANSFERS)),
            max_bytes,
            #[cfg(test)]
            peer: Mutex::new(None),
        }
    }

    /// Returns the size of the largest file that may be written, in bytes.
    #[must_use]
    pub const fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Continues transfers on a new connection. Must be called within a runtime.
    pub fn connected(&self, channel: Channel) {
        *self.runtime.lock().unwrap_or_else(PoisonError::into_inner) = Handle::try_current().ok();
        self.link.send_replace(Some(channel));
    }

    /// Lets transfers wait for a connection.
    pub fn disconnected(&self) {
        self.link.send_replace(None);
    }

    /// Begins to move the content of a call.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if so many transfers run already, `CONNECTION_LOST` if there was no connection yet.
    pub(crate) fn begin(&self, call: CallId, content: Content) -> Result<Exchange, ToolError> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return Err(ToolError::new(
                ErrorCode::ResourceExhausted,
                format!("{MAX_TRANSFERS} transfers run on this device already."),
            )
            .hint("try again when one of them has ended"));
        };
        let (ask, requests) = sync_channel(1);
        let (answers, answered) = mpsc::channel(1);
        #[cfg(test)]
        if let Some(peer) = self.peer.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            std::thread::spawn(move || peer.play(content, &ask, answered));
            return Ok(Exchange::new(content, requests, answers, place));
        }
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(runtime) = runtime else {
            return Err(ToolError::new(
                ErrorCode::Internal,
                "The device has no connection on which content could move.",
            ));
        };
        let stream = stream::Stream { call, content, requests: ask, answers: answered };
        runtime.spawn(stream.run(self.link.subscribe()));
        Ok(Exchange::new(content, requests, answers, place))
    }
}

/// The tool's side of a transfer. Dropping it ends the transfer.
#[derive(Debug)]
pub(crate) struct Exchange {
    content: Content,
    requests: Receiver<Numbered<ContentRequest>>,
    answers: mpsc::Sender<Numbered<ContentAnswer>>,
    /// The number of the request that is not answered yet.
    current: Option<u64>,
    /// How many bytes have moved, from the beginning of the file.
    moved: u64,
    /// How long to wait for more of it.
    idle_timeout: Duration,
    /// When the transfer ends if no more of it has moved.
    until: Instant,
    _place: OwnedSemaphorePermit,
}

impl Exchange {
    fn new(
        content: Content,
        requests: Receiver<Numbered<ContentRequest>>,
        answers: mpsc::Sender<Numbered<ContentAnswer>>,
        place: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            content,
            requests,
            answers,
            current: None,
            moved: 0,
            idle_timeout: IDLE_TIMEOUT,
            until: Instant::now() + IDLE_TIMEOUT,
            _place: place,
        }
    }

    /// Waits for the next request.
    ///
    /// # Errors
    /// The error of `check`, which says when to stop, and `TIMEOUT` if nothing more has moved for three minutes.
    pub(crate) fn next(
        &mut self,
        check: &dyn Fn() -> Result<(), ToolError>,
    ) -> Result<ContentRequest, ToolError> {
        loop {
            check()?;
            let request = self.requests.recv_timeout(CHECK_INTERVAL);
            if Instant::now() >= self.until {
                return Err(idle());
            }
            match request {
                Ok((number, request)) => {
                    self.current = Some(number);
                    return Ok(request);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(idle()),
            }
        }
    }

    /// Answers the last request.
    pub(crate) fn answer(&mut self, answer: ContentAnswer) {
        let Some(number) = self.current.take() else { return };
        let moved = match &answer {
            ContentAnswer::Part { offset, content, .. } => {
                offset.saturating_add(content.len() as u64)
            }
            ContentAnswer::Received(received) => *received,
        };
        // A person who repeats a part, or sends empty ones, keeps no place. The backend asks by empty parts while the
        // source of a transfer waits for its approval, which has an end of its own.
        if moved > self.moved || self.content == Content::FromDevice {
            self.until = Instant::now() + self.idle_timeout;
        }
        self.moved = self.moved.max(moved);
        // Where the stream has ended, the next request says what the other side has.
        drop(self.answers.blocking_send((number, answer)));
    }
}

fn idle() -> ToolError {
    ToolError::new(
        ErrorCode::Timeout,
        "The transfer was ended, because no content moved for three minutes.",
    )
    .hint(Hint::run("copy the file again", "orion cp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an exchange that waits this long, and after how many requests it ended of a side that sends this request
    /// every few milliseconds and gets these answers.
    fn requests_until_idle(
        content: Content,
        request: &ContentRequest,
        answer: impl Fn(u64) -> ContentAnswer,
    ) -> u64 {
        let (ask, requests) = sync_channel(1);
        let (answers, mut answered) = mpsc::channel(1);
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let mut exchange = Exchange::new(content, requests, answers, place);
        exchange.idle_timeout = Duration::from_millis(200);
        exchange.until = Instant::now() + exchange.idle_timeout;
        let request = request.clone();
        let other_side = std::thread::spawn(move || {
            for number in 0..60 {
                if ask.send((number, request.clone())).is_err() {
                    return;
                }
                drop(answered.blocking_recv());
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let mut count = 0;
        let ended = loop {
            match exchange.next(&|| Ok(())) {
                Ok(_) => exchange.answer(answer(count)),
                Err(error) => break error,
            }
            count += 1;
        };
        assert_eq!(ended.code, ErrorCode::Timeout);
        drop(exchange);
        other_side.join().unwrap();
        count
    }

    #[test]
    fn only_content_that_moves_keeps_a_transfer() {
        let empty = ContentRequest::Write { offset: 0, content: Bytes::new(), size: 0 };
        let read = ContentRequest::Read { offset: 0, max_bytes: 8 };
        let same_part = |_| ContentAnswer::Part { offset: 0, content: vec![1; 8], size: 99 };
        let count = |content, request, answer: &dyn Fn(u64) -> ContentAnswer| {
            requests_until_idle(content, request, answer)
        };
        assert!(count(Content::FromPerson, &empty, &|_| ContentAnswer::Received(5)) < 30);
        assert!(count(Content::ToPerson, &read, &same_part) < 30);
        assert_eq!(count(Content::FromPerson, &empty, &ContentAnswer::Received), 60);
        assert_eq!(count(Content::FromDevice, &empty, &|_| ContentAnswer::Received(0)), 60);
    }
}
