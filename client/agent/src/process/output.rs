//! Keeps the beginning and the end of a program's output, so that output without end takes bounded memory.

use std::collections::VecDeque;

/// Bytes of the beginning that are kept.
const HEAD: usize = 192 * 1024;
/// Bytes of the end that are kept.
const TAIL: usize = 64 * 1024;

/// The output of a program on one stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// All bytes that were written.
    total: u64,
}

impl Captured {
    /// Adds the output of another program. What that left out is left out here too.
    pub(crate) fn append(&mut self, other: &Self) {
        self.push(&other.head);
        // Something was left out only behind a full head, so that the rest goes to the tail.
        self.total = self.total.saturating_add(other.left_out());
        let (first, second) = other.tail.as_slices();
        self.push(first);
        self.push(second);
    }

    /// Adds output.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = HEAD.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Of what is longer than the tail, only its end can stay.
        let rest = rest.get(rest.len().saturating_sub(TAIL)..).unwrap_or_default();
        let excess = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// Returns the number of bytes that were left out in the middle.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Returns the output as text. A note stands for what was left out.
    #[must_use]
    pub fn text(&self) -> String {
        let (mut bytes, left_out) = (self.head.clone(), self.left_out());
        if left_out > 0 {
            bytes.extend_from_slice(format!("\n[… {left_out} bytes left out …]\n").as_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the last bytes.
    #[must_use]
    pub fn last(&self) -> Vec<u8> {
        if self.tail.is_empty() { self.head.clone() } else { self.tail.iter().copied().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_one_after_the_other_have_one_note_with_all_that_was_left_out() {
        let of = |bytes: &[u8]| {
            let mut one = Captured::default();
            one.push(bytes);
            one
        };
        let (short, long) = (of(b"short\n"), of(&vec![b'x'; HEAD + TAIL + 10]));
        let mut all = Captured::default();
        all.append(&long);
        assert_eq!(all, long, "the first is taken as it is");
        all.append(&short);
        assert_eq!(all.left_out(), 16);
        assert!(all.text().ends_with("xshort\n"));
        let mut all = Captured::default();
        for one in [&short, &short, &long] {
            all.append(one);
        }
        let (text, total) = (all.text(), 12 + HEAD + TAIL + 10);
        assert!(text.starts_with("short\nshort\nx"));
        assert_eq!(text.matches("bytes left out").count(), 1);
        assert_eq!(all.left_out(), (total - HEAD - TAIL) as u64);
    }

    #[test]
    fn short_output_is_kept_whole_and_of_endless_output_the_beginning_and_the_end() {
        let mut short = Captured::default();
        short.push(b"one\n");
        short.push(b"two\n");
        assert_eq!((short.text().as_str(), short.left_out()), ("one\ntwo\n", 0));
        assert_eq!(short.last(), b"one\ntwo\n");

        for piece in [1, 1000, HEAD + TAIL, HEAD * 10] {
            let mut long = Captured::default();
            let total = (HEAD + TAIL) * 2 + piece;
            let bytes: Vec<u8> = (b'a'..b'x').cycle().take(total).collect();
            for part in bytes.chunks(piece) {
                long.push(part);
            }
            assert_eq!(long.left_out(), (total - HEAD - TAIL) as u64, "{piece}");
            assert_eq!(long.last(), bytes[total - TAIL..], "{piece}");
            assert!(long.text().as_bytes().starts_with(&bytes[..HEAD]), "{piece}");
            assert!(long.text().contains("bytes left out"), "{piece}");
        }
    }
}
