//! Reads HTTP/2 frame headers from a byte stream that arrives in any pieces. A header gives the frame's kind,
//! and the stream that it opens or ends. Only the nine header bytes of each frame are read.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The client's connection preface.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Length of a frame header.
const HEADER_BYTES: usize = 9;
/// How many open streams are tracked. HTTP/2's own limit is much lower.
const MAX_STREAMS: usize = 4096;

const END_STREAM: u8 = 0x1;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// Part of a message.
    Data,
    /// The headers of a request or a response, or a response's trailers.
    Headers,
    /// `RST_STREAM`: ends a stream immediately.
    Reset,
    /// All other kinds: they carry no part of a request.
    Control,
}

/// A frame, by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    /// The frame's kind.
    pub(super) kind: FrameKind,
    /// Length of the frame's payload, in bytes.
    pub(super) len: usize,
    /// Whether the sender ends its side of the stream.
    pub(super) ends_stream: bool,
    /// The stream's id; 0 is the connection itself.
    pub(super) stream: u32,
}

impl Frame {
    fn read(header: [u8; HEADER_BYTES]) -> Self {
        let [a, b, c, kind, flags, s, t, u, v] = header;
        let kind = match kind {
            0x0 => FrameKind::Data,
            0x1 => FrameKind::Headers,
            0x3 => FrameKind::Reset,
            _ => FrameKind::Control,
        };
        let carries_end = matches!(kind, FrameKind::Data | FrameKind::Headers);
        Self {
            kind,
            len: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            ends_stream: carries_end && flags & END_STREAM != 0,
            stream: u32::from_be_bytes([s & 0x7f, t, u, v]),
        }
    }
}

/// Reads the frames of one direction.
#[derive(Debug)]
pub(super) struct FrameReader {
    /// How many bytes of the client's preface arrived.
    preface: usize,
    /// Whether the bytes are not of HTTP/2, so that they have no frames.
    is_http1: bool,
    /// How many bytes to skip until the next header.
    skip: usize,
    /// The bytes of the header that have arrived.
    header: [u8; HEADER_BYTES],
    filled: usize,
}

impl FrameReader {
    /// Creates a reader for a client's bytes, which start with the preface.
    #[must_use]
    pub(super) const fn of_client() -> Self {
        Self { preface: 0, ..Self::of_server() }
    }

    /// Returns whether the connection is of HTTP/1.
    #[must_use]
    pub(super) const fn is_http1(&self) -> bool {
        self.is_http1
    }

    /// Creates a reader for a server's bytes.
    #[must_use]
    pub(super) const fn of_server() -> Self {
        Self {
            preface: PREFACE.len(),
            is_http1: false,
            skip: 0,
            header: [0; HEADER_BYTES],
            filled: 0,
        }
    }

    /// Returns the next frame whose header ends in `bytes`, and advances `bytes` past the header. `None`
    /// where more bytes are needed.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Option<Frame> {
        while !self.is_http1
            && let Some(expected) = PREFACE.get(self.preface)
        {
            let (byte, rest) = bytes.split_first()?;
            self.is_http1 = byte != expected;
            self.preface += 1;
            *bytes = rest;
        }
        if self.is_http1 {
            return None;
        }
        let passed = self.skip.min(bytes.len());
        *bytes = bytes.get(passed..).unwrap_or_default();
        self.skip -= passed;
        while let Some((&byte, rest)) = bytes.split_first() {
            if let Some(place) = self.header.get_mut(self.filled) {
                *place = byte;
            }
            *bytes = rest;
            self.filled += 1;
            if self.filled == HEADER_BYTES {
                self.filled = 0;
                let frame = Frame::read(self.header);
                self.skip = frame.len;
                return Some(frame);
            }
        }
        None
    }
}

/// The open streams of a connection in both directions, with the time of each stream's last server frame. A
/// stream is removed once the server ends it or either side resets it.
#[derive(Debug, Default)]
pub(super) struct OpenStreams {
    open: HashMap<u32, Instant>,
    newest: u32,
}

impl OpenStreams {
    /// Tracks a frame of the client. `false` where too many streams are open.
    #[must_use]
    pub(super) fn received(&mut self, frame: Frame, now: Instant) -> bool {
        match frame.kind {
            FrameKind::Headers if frame.stream > self.newest => {
                self.newest = frame.stream;
                self.open.insert(frame.stream, now);
            }
            FrameKind::Reset => {
                self.open.remove(&frame.stream);
            }
            FrameKind::Headers | FrameKind::Data | FrameKind::Control => {}
        }
        self.open.len() <= MAX_STREAMS
    }

    /// Tracks a frame of the server.
    pub(super) fn sent(&mut self, frame: Frame, now: Instant) {
        if frame.ends_stream || frame.kind == FrameKind::Reset {
            self.open.remove(&frame.stream);
        } else if let Some(moved) = self.open.get_mut(&frame.stream) {
            *moved = now;
        }
    }

    /// Returns whether no stream is open.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns how many streams got nothing from the server for this long.
    #[must_use]
    pub(super) fn silent(&self, now: Instant, long: Duration) -> usize {
        let silent = |moved: &&Instant| now.saturating_duration_since(**moved) >= long;
        self.open.values().filter(silent).count()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame_bytes(kind: u8, flags: u8, stream: u32, len: usize) -> Vec<u8> {
        let mut bytes = u32::try_from(len).unwrap().to_be_bytes()[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        // Payload that looks like a header must not be read as one.
        bytes.extend(std::iter::repeat_n(0, len));
        bytes
    }

    fn read(reader: &mut FrameReader, mut bytes: &[u8]) -> Vec<Frame> {
        std::iter::from_fn(|| reader.next(&mut bytes)).collect()
    }

    #[test]
    fn the_streams_that_a_server_has_not_ended_are_open_and_silent_where_it_sends_nothing() {
        let (began, long) = (Instant::now(), Duration::from_secs(60));
        let frame = |kind, ends_stream, stream| Frame { kind, len: 0, ends_stream, stream };
        let mut streams = OpenStreams::default();
        for stream in [1, 3, 5] {
            assert!(streams.received(frame(FrameKind::Headers, true, stream), began));
        }
        let later = began + long;
        // Trailers open no stream.
        assert!(streams.received(frame(FrameKind::Headers, true, 5), later));
        assert_eq!(streams.silent(later, long), 3);
        streams.sent(frame(FrameKind::Headers, false, 1), later);
        assert_eq!(streams.silent(later, long), 2);
        streams.sent(frame(FrameKind::Data, true, 1), later);
        streams.sent(frame(FrameKind::Reset, false, 3), later);
        assert!(!streams.is_empty());
        assert!(streams.received(frame(FrameKind::Reset, false, 5), later));
        assert!(streams.is_empty());
        let most = u32::try_from(MAX_STREAMS).unwrap();
        let opening = |n| frame(FrameKind::Headers, true, 7 + 2 * n);
        let told_apart = (0..=most).filter(|n| streams.received(opening(*n), later));
        assert_eq!(told_apart.count(), MAX_STREAMS);
    }

    #[test]
    fn bytes_without_the_preface_have_no_frames() {
        for text in ["GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r!"] {
            let mut reader = FrameReader::of_client();
            let bytes = [text.as_bytes(), &frame_bytes(4, 0, 0, 9)].concat();
            for half in bytes.chunks(7) {
                assert_eq!(read(&mut reader, half), []);
            }
            assert!(reader.is_http1(), "{text:?}");
        }
        assert!(!FrameReader::of_client().is_http1());
    }

    proptest! {
        #[test]
        fn frames_are_read_the_same_however_their_bytes_are_split(
            frames in prop::collection::vec((0_u8..12, any::<u8>(), any::<u32>(), 0_usize..40), 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
            for (kind, flags, stream, len) in &frames {
                bytes.extend(frame_bytes(*kind, *flags, *stream, *len));
            }
            let mut reader = FrameReader::of_client();
            let whole = read(&mut reader, &bytes);
            let told: Vec<_> = whole.iter().map(|frame| (frame.stream, frame.len)).collect();
            let sent: Vec<_> =
                frames.iter().map(|(_, _, stream, len)| (stream & 0x7fff_ffff, *len)).collect();
            prop_assert_eq!(told, sent);

            let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let (mut reader, mut pieces) = (FrameReader::of_client(), Vec::new());
            for ends in at.windows(2) {
                pieces.extend(read(&mut reader, &bytes[ends[0]..ends[1]]));
            }
            prop_assert_eq!(pieces, whole);
        }
    }
}
