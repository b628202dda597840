//! A connection between a device and the backend: two directions, each with its messages in flight.

use std::collections::VecDeque;

use orion_wire::v1;
use tokio::sync::mpsc::error::{TryRecvError, TrySendError};
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use crate::call::Calls;
use crate::chance::Chance;
use crate::environment::{Ends, FromBackend};
use crate::label::Reports;

/// The maximum number of messages that wait for a reader.
const UNREAD: usize = 64;

/// A simulated connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) number: usize,
    pub(crate) device: usize,
    /// From the device to the backend.
    pub(crate) up: Direction<v1::LinkRequest, v1::LinkRequest>,
    /// From the backend to the device.
    pub(crate) down: Direction<FromBackend, v1::LinkResponse>,
    given: Option<oneshot::Receiver<mpsc::Receiver<v1::LinkRequest>>>,
}

/// One direction. `M` is the sent message, `T` the message that a reader gets without an error.
#[derive(Debug)]
pub(crate) struct Direction<M, T> {
    from: Writer<M>,
    flying: VecDeque<M>,
    /// The reader's channel. `None` once the end was delivered.
    to: Option<mpsc::Sender<Result<T, Status>>>,
    /// Whether sent messages are lost.
    pub(crate) is_broken: bool,
}

/// The sender of messages.
#[derive(Debug)]
enum Writer<M> {
    /// The writer is not connected yet.
    Nobody,
    Bounded(mpsc::Receiver<M>),
    Unbounded(mpsc::UnboundedReceiver<M>),
    /// The writer has disconnected.
    Gone,
}

impl Link {
    /// Creates a connection that is being opened: the device's ends, and where the backend will read.
    pub(crate) fn new(
        number: usize,
        device: usize,
    ) -> (Self, Ends, mpsc::Receiver<Result<v1::LinkRequest, Status>>) {
        let (to_device, incoming) = mpsc::channel(UNREAD);
        let (to_backend, read) = mpsc::channel(UNREAD);
        let (outgoing, given) = oneshot::channel();
        let link = Self {
            number,
            device,
            up: Direction::to(to_backend),
            down: Direction::to(to_device),
            given: Some(given),
        };
        (link, Ends { incoming, outgoing }, read)
    }

    /// Attaches the backend's messages.
    pub(crate) fn answered(&mut self, said: mpsc::UnboundedReceiver<FromBackend>) {
        self.down.from = Writer::Unbounded(said);
    }

    /// Collects what both sides have sent.
    pub(crate) fn take(&mut self, calls: &Calls) {
        if let Some(given) = &mut self.given {
            match given.try_recv() {
                Ok(said) => {
                    self.up.from = Writer::Bounded(said);
                    self.given = None;
                }
                Err(oneshot::error::TryRecvError::Empty) => {}
                Err(oneshot::error::TryRecvError::Closed) => {
                    self.up.from = Writer::Gone;
                    self.given = None;
                }
            }
        }
        self.up.take(calls);
        self.down.take(calls);
    }

    /// Returns whether both sides have disconnected.
    pub(crate) fn is_over(&self) -> bool {
        self.up.is_over() && self.down.is_over()
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.up.is_broken || self.down.is_broken
    }
}

impl<M, T> Direction<M, T> {
    fn to(reader: mpsc::Sender<Result<T, Status>>) -> Self {
        Self { from: Writer::Nobody, flying: VecDeque::new(), to: Some(reader), is_broken: false }
    }

    const fn is_over(&self) -> bool {
        self.to.is_none() && matches!(self.from, Writer::Gone)
    }

    /// Returns whether a message, or the end, can be delivered.
    pub(crate) fn is_busy(&self) -> bool {
        let has_ended = matches!(self.from, Writer::Gone) && !self.is_broken;
        self.to.is_some() && (!self.flying.is_empty() || has_ended)
    }

    /// Returns whether its reader still uses it.
    pub(crate) const fn is_read(&self) -> bool {
        self.to.is_some()
    }

    /// Stops all deliveries.
    pub(crate) fn cut(&mut self) {
        self.is_broken = true;
        self.flying.clear();
    }

    /// Handles the death of the writer's machine; sent messages may arrive or not.
    pub(crate) fn orphan(&mut self, chance: &mut Chance) {
        self.from = Writer::Gone;
        let kept = chance.below(self.flying.len() + 1);
        self.flying.truncate(kept);
    }

    /// Handles the writer's disconnect; sent messages arrive.
    pub(crate) fn hung_up(&mut self) {
        self.from = Writer::Gone;
    }

    /// Handles the death of the reader's machine.
    pub(crate) fn unread(&mut self) {
        self.to = None;
        self.flying.clear();
    }

    /// Lets the reader notice that the connection is broken.
    pub(crate) fn notice(&mut self) {
        if let Some(to) = self.to.take() {
            drop(to.try_send(Err(Status::unavailable("the connection is gone"))));
        }
        self.flying.clear();
    }

    fn received(&mut self) -> Option<M> {
        let got = match &mut self.from {
            Writer::Nobody | Writer::Gone => return None,
            Writer::Bounded(from) => from.try_recv(),
            Writer::Unbounded(from) => from.try_recv(),
        };
        if matches!(got, Err(TryRecvError::Disconnected)) {
            self.from = Writer::Gone;
        }
        got.ok()
    }
}

impl<M: Reports + Into<Carried<T>>, T> Direction<M, T> {
    fn take(&mut self, calls: &Calls) {
        let mut new: Vec<M> = std::iter::from_fn(|| self.received()).collect();
        // Messages about several calls that were sent in one moment came from separate tasks, in the
        // order in which threads finished: any order is valid, and this one is deterministic.
        for run in new.chunk_by_mut(|a, b| a.call().is_some() && b.call().is_some()) {
            run.sort_by_key(|message| message.call().and_then(|id| calls.number(id)));
        }
        if !self.is_broken && self.to.is_some() {
            self.flying.extend(new);
        }
    }

    /// Delivers the next message, or the end. Returns its label.
    pub(crate) fn deliver(&mut self, calls: &Calls) -> (String, Option<String>) {
        let Some(message) = self.flying.pop_front() else {
            self.to = None;
            return ("the end".to_owned(), None);
        };
        let (label, call) = (message.label(calls), message.call().map(str::to_owned));
        let Carried(carried) = message.into();
        match self.to.as_ref().map(|to| to.try_send(carried)) {
            None | Some(Ok(())) => {}
            Some(Err(TrySendError::Closed(_))) => self.unread(),
            Some(Err(TrySendError::Full(_))) => panic!("a reader does not read"),
        }
        (label, call)
    }
}

/// A message as its reader receives it.
#[derive(Debug)]
pub(crate) struct Carried<T>(Result<T, Status>);

impl From<v1::LinkRequest> for Carried<v1::LinkRequest> {
    fn from(message: v1::LinkRequest) -> Self {
        Self(Ok(message))
    }
}

impl From<FromBackend> for Carried<v1::LinkResponse> {
    fn from(message: FromBackend) -> Self {
        Self(message)
    }
}
