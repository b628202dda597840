//! A connection that counts every HTTP/2 frame that passes, and notices a peer that does not read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Stream;
use super::budget::FrameBudget;
use super::connections::{CloseReason, ConnectionState};
use super::frames::{FrameKind, FrameReader};

/// A metered connection.
#[derive(Debug)]
pub(super) struct Metered {
    inner: Stream,
    state: Arc<ConnectionState>,
    incoming: FrameReader,
    outgoing: FrameReader,
    budget: FrameBudget,
    has_spoken: bool,
    is_blocked: bool,
}

impl Metered {
    pub(super) fn new(inner: Stream, state: Arc<ConnectionState>) -> Self {
        Self {
            inner,
            state,
            incoming: FrameReader::of_client(),
            outgoing: FrameReader::of_server(),
            budget: FrameBudget::new(0),
            has_spoken: false,
            is_blocked: false,
        }
    }

    /// Counts the frames that arrived.
    fn received(&mut self, mut bytes: &[u8]) -> Result<(), CloseReason> {
        let (now, is_signed_in) = (Instant::now(), self.state.is_signed_in());
        let since = now.saturating_duration_since(self.state.since()).as_millis();
        let since_ms = u64::try_from(since).unwrap_or(u64::MAX);
        let Self { state, incoming, budget, has_spoken, .. } = self;
        state.with_streams(|streams| {
            while let Some(frame) = incoming.next(&mut bytes) {
                *has_spoken = true;
                if !budget.received(frame, is_signed_in, since_ms) {
                    return Err(CloseReason::Frames);
                }
                if !streams.received(frame, now) {
                    return Err(CloseReason::Streams);
                }
            }
            Ok(())
        })
    }

    /// Counts the frames that were written.
    fn sent(&mut self, mut bytes: &[u8]) {
        if self.incoming.is_http1() {
            return;
        }
        let now = Instant::now();
        let Self { state, outgoing, budget, .. } = self;
        state.with_streams(|streams| {
            while let Some(frame) = outgoing.next(&mut bytes) {
                if frame.kind == FrameKind::Data {
                    budget.passed(frame.len);
                }
                streams.sent(frame, now);
            }
        });
    }

    fn wrote<T>(&mut self, written: &Poll<io::Result<T>>) {
        if self.is_blocked != written.is_pending() {
            self.is_blocked = written.is_pending();
            self.state.wrote(self.is_blocked, Instant::now());
        }
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = &read {
            let had_spoken = self.has_spoken;
            let bytes = buffer.filled().get(before..).unwrap_or_default();
            if let Err(reason) = self.received(bytes) {
                self.state.close(reason);
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, reason)));
            }
            if self.has_spoken && !had_spoken {
                self.state.spoke();
            }
        }
        read
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.wrote(&written);
        if let Poll::Ready(Ok(count)) = written {
            self.sent(bytes.get(..count).unwrap_or_default());
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.wrote(&flushed);
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
