//! The content of files on its way through the backend. The device of each running transfer has a stream here; a part
//! is handed to it, and its answer is waited for. Nothing is kept: the backend holds one part of each transfer at a
//! time, and which parts are missing is what the receiver says.

mod places;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::{DashMap, DashSet};
use orion_domain::{CallId, Digest, ToolError};
use orion_wire::Bytes;
use tokio::sync::{mpsc, oneshot, watch};

pub use places::{Place, Places};

/// What is wanted of the device of a transfer.
#[derive(Debug, Clone)]
pub enum ContentRequest {
    /// Its file's part at this offset.
    Read {
        /// Where the part begins.
        offset: u64,
    },
    /// That it writes this part. Without content it says how much it has.
    Write {
        /// Where the part belongs.
        offset: u64,
        /// The content.
        content: Bytes,
        /// Size of the whole file. 0 if it is not known.
        size: u64,
    },
    /// That it ends: the other side has everything, or sent everything with this digest.
    Done(Option<Digest>),
    /// That it ends with this error.
    Failed(ToolError),
}

/// What a device answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentAnswer {
    /// A part of its file.
    Part {
        /// The content. Empty at the end of the file.
        content: Bytes,
        /// Size of the whole file.
        size: u64,
    },
    /// How many bytes it has, from the beginning.
    Received(u64),
}

/// A request on its way to a device.
#[derive(Debug)]
pub struct Order {
    /// The number that joins request and answer.
    pub number: u64,
    /// The request.
    pub request: ContentRequest,
    /// Takes the answer.
    pub reply: oneshot::Sender<ContentAnswer>,
}

/// The streams of the running transfers.
#[derive(Debug)]
pub struct Transfers {
    streams: DashMap<CallId, (u64, mpsc::Sender<Order>)>,
    attached: watch::Sender<()>,
    numbers: AtomicU64,
    places: Arc<Places>,
    /// The calls whose content the backend brings from another device.
    bringing: DashSet<CallId>,
}

/// The stream of one transfer, for the task that serves it. Dropping it ends the stream.
#[derive(Debug)]
pub struct Stream {
    transfers: Arc<Transfers>,
    call: CallId,
    number: u64,
    orders: mpsc::Receiver<Order>,
}

impl Default for Transfers {
    fn default() -> Self {
        Self {
            streams: DashMap::new(),
            attached: watch::Sender::new(()),
            // Another process may have given the first numbers to the same device.
            numbers: AtomicU64::new(rand::random::<u32>().into()),
            places: Arc::default(),
            bringing: DashSet::new(),
        }
    }
}

impl Transfers {
    /// Returns the places of transfers.
    #[must_use]
    pub const fn places(&self) -> &Arc<Places> {
        &self.places
    }

    /// Marks a call whose content the backend brings from now on. Returns whether it was not marked.
    pub fn begin_bringing(&self, call: CallId) -> bool {
        self.bringing.insert(call)
    }

    /// Removes the mark.
    pub fn end_bringing(&self, call: CallId) {
        self.bringing.remove(&call);
    }

    /// Makes a stream of the device the one of its call. An older stream of the call ends.
    #[must_use]
    pub fn attach(self: &Arc<Self>, call: CallId) -> Stream {
        let (sender, orders) = mpsc::channel(1);
        let number = self.next_number();
        self.streams.insert(call, (number, sender));
        self.attached.send_replace(());
        Stream { transfers: Arc::clone(self), call, number, orders }
    }

    /// Returns the answer of the call's device. Waits for the device if it has no stream, and asks again on its next
    /// one if a stream ends. Never resolves if the device does not come: the caller sets the limit.
    pub async fn exchange(&self, call: CallId, request: ContentRequest) -> ContentAnswer {
        let mut attached = self.attached.subscribe();
        loop {
            attached.mark_unchanged();
            let stream = self.streams.get(&call).map(|stream| (stream.0, stream.1.clone()));
            if let Some((number, orders)) = stream {
                let (reply, mut answer) = oneshot::channel();
                let order = Order { number: self.next_number(), request: request.clone(), reply };
                let is_sent = orders.send(order).await.is_ok();
                // A stream ends when nobody can send to it any more.
                drop(orders);
                while is_sent && self.current(call) == Some(number) {
                    tokio::select! {
                        answered = &mut answer => match answered {
                            Ok(answer) => return answer,
                            Err(_) => break,
                        },
                        _ = attached.changed() => {}
                    }
                }
                if self.current(call).is_some_and(|now| now != number) {
                    continue;
                }
            }
            if attached.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Returns the number of the call's stream.
    fn current(&self, call: CallId) -> Option<u64> {
        self.streams.get(&call).map(|stream| stream.0)
    }

    fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }
}

impl Stream {
    /// Waits for the next order. None once another stream of the call took over.
    pub async fn next(&mut self) -> Option<Order> {
        self.orders.recv().await
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.transfers.streams.remove_if(&self.call, |_, stream| stream.0 == self.number);
    }
}
