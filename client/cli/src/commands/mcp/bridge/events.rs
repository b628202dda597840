//! A stream of server-sent events, decoded piece by piece.

/// Maximum size of one message of the backend, in bytes.
pub(super) const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// What has come of an event that is not complete.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
}

/// An event is larger than [`MAX_MESSAGE_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Events {
    /// Takes the next piece of the stream. Returns the data of each event that is complete.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<Vec<Vec<u8>>, TooLarge> {
        let mut complete = Vec::new();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + self.data.len() + part.len() > MAX_MESSAGE_BYTES {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(part);
            if !part.ends_with(b"\n") {
                break;
            }
            let line = std::mem::take(&mut self.line);
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                let data = std::mem::take(&mut self.data);
                complete.extend((!data.is_empty()).then_some(data));
            } else if let Some(data) = line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
        Ok(complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_stream_is_cut() {
        let stream = "data:\nid: 0\n\n: waiting\n\nevent: message\ndata: {\"a\":\r\ndata: \"é\"}\r\n\r\ndata:  x\n\ndata: unfinished\n";
        for size in 1..stream.len() {
            let (mut events, mut found) = (Events::default(), Vec::new());
            for piece in stream.as_bytes().chunks(size) {
                found.extend(events.push(piece).unwrap());
            }
            let found: Vec<_> =
                found.into_iter().map(|it| String::from_utf8(it).unwrap()).collect();
            assert_eq!(found, ["{\"a\":\n\"é\"}", " x"], "{size}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_refused_and_no_byte_is_read_twice() {
        for start in ["data: ", "", "data: x\ndata: "] {
            let mut events = Events::default();
            events.push(start.as_bytes()).unwrap();
            let piece = vec![b'x'; 64 * 1024];
            let began = std::time::Instant::now();
            let pieces = (0..1000).take_while(|_| events.push(&piece).is_ok()).count();
            let most = MAX_MESSAGE_BYTES / piece.len();
            assert!((most - 1..=most).contains(&pieces), "{start}: {pieces}");
            assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
        }
    }
}
