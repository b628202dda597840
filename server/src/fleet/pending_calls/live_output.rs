//! The newest output of a call, for those who watch it. Bounded for each call; what all running calls keep
//! together is bounded by the caller.

use std::collections::VecDeque;

use super::OutputPiece;

/// How many bytes of a call's output are kept.
const MAX_KEPT: usize = 64 * 1024;

/// The newest output of a running call.
#[derive(Debug, Default)]
pub struct LiveOutput {
    /// The position of the first kept byte.
    offset: u64,
    kept: VecDeque<u8>,
}

impl LiveOutput {
    /// Adds a piece. What is before the end of the last piece is a repetition, and ignored, and so is what has no
    /// end among the numbers. Returns whether anything was added.
    pub(super) fn add(&mut self, piece: &OutputPiece) -> bool {
        let OutputPiece { offset, data } = piece;
        if *offset < self.end()
            || data.is_empty()
            || offset.checked_add(data.len() as u64).is_none()
        {
            return false;
        }
        if *offset > self.end() {
            self.kept.clear();
            self.offset = *offset;
        }
        // Room is made first, so that it never holds more than it keeps.
        let data = data.get(data.len().saturating_sub(MAX_KEPT)..).unwrap_or_default();
        let excess = (self.kept.len() + data.len()).saturating_sub(MAX_KEPT);
        self.kept.drain(..excess);
        self.kept.extend(data);
        self.offset = offset.saturating_add(piece.data.len() as u64) - self.kept.len() as u64;
        true
    }

    /// Returns how many bytes more would be kept with such a piece.
    pub(super) fn growth(&self, piece: &OutputPiece) -> usize {
        piece.data.len().min(MAX_KEPT - self.kept.len())
    }

    /// Returns what is kept from a position on. `None` where nothing is.
    #[must_use]
    pub fn since(&self, position: u64) -> Option<OutputPiece> {
        let offset = position.max(self.offset);
        let skipped = usize::try_from(offset - self.offset).ok()?;
        let data: Vec<u8> = self.kept.iter().skip(skipped).copied().collect();
        (!data.is_empty()).then_some(OutputPiece { offset, data })
    }

    /// Returns the number of bytes that are kept.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    fn end(&self) -> u64 {
        self.offset.saturating_add(self.kept.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offset: u64, data: &[u8]) -> OutputPiece {
        OutputPiece { offset, data: data.to_vec() }
    }

    #[test]
    fn a_watcher_reads_on_where_it_was_and_sees_what_is_missing() {
        let mut output = LiveOutput::default();
        assert_eq!(output.since(0), None);
        assert!(output.add(&piece(0, b"one ")) && output.add(&piece(4, b"two ")));
        assert_eq!(output.since(0), Some(piece(0, b"one two ")));
        assert_eq!(output.since(4), Some(piece(4, b"two ")));
        assert_eq!(output.since(8), None);
        assert!(!output.add(&piece(4, b"again")), "a repetition was added");
        assert!(output.add(&piece(100, b"later")));
        assert_eq!(output.since(8), Some(piece(100, b"later")));
        assert_eq!(output.since(u64::MAX), None);
    }

    #[test]
    fn no_more_than_the_newest_is_kept() {
        let mut output = LiveOutput::default();
        for number in 0..100_u64 {
            assert!(output.add(&piece(number * 10_000, &vec![b'x'; 10_000])));
            assert!(output.len() <= MAX_KEPT);
        }
        let kept = output.since(0).unwrap();
        assert_eq!((kept.offset, kept.data.len()), (1_000_000 - MAX_KEPT as u64, MAX_KEPT));
        assert!(!output.add(&piece(u64::MAX - 1, b"beyond the end of all numbers")));
        assert!(output.add(&piece(u64::MAX - 3, b"end")));
        assert_eq!(output.since(0), Some(piece(u64::MAX - 3, b"end")));
        assert_eq!(output.since(u64::MAX), None);
        assert!(!output.add(&piece(0, b"x")) && !output.add(&piece(u64::MAX, b"x")));
    }
}
