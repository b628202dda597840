//! A stream that remembers why TLS failed on it. In TLS 1.3 the backend checks the device's
//! certificate after the handshake, and its verdict arrives as an error on some later read, which
//! HTTP/2 turns into a message without a cause.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use orion_mtls::Refusal;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The first TLS refusal on a stream.
pub(super) type Verdict = Arc<OnceLock<Refusal>>;

/// A stream that records its first TLS refusal.
#[derive(Debug)]
pub(super) struct Watched<S> {
    pub(super) stream: S,
    pub(super) verdict: Verdict,
}

impl<S> Watched<S> {
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && let Some(refusal) = Refusal::find(error)
        {
            // Only the first refusal is the cause.
            self.verdict.get_or_init(|| refusal);
        }
        result
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = ready!(Pin::new(&mut self.stream).poll_read(cx, buf));
        Poll::Ready(self.note(result))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.stream).poll_write(cx, buf));
        Poll::Ready(self.note(result))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = ready!(Pin::new(&mut self.stream).poll_flush(cx));
        Poll::Ready(self.note(result))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = ready!(Pin::new(&mut self.stream).poll_shutdown(cx));
        Poll::Ready(self.note(result))
    }
}
