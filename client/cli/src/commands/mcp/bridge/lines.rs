//! Lines of standard input, in bounded memory.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Maximum length of a line of the program, in bytes; the backend reads no more.
pub(super) const MAX_LINE_BYTES: usize = 1024 * 1024;

/// A line of the program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// A line that is longer than [`MAX_LINE_BYTES`]. It was read to its end and is not kept.
    TooLong,
}

/// Returns the next line; the last one may be without an end. `None` at the end of the input.
///
/// # Errors
/// The input cannot be read.
pub(super) async fn next(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Line>> {
    let (mut line, mut is_too_long, mut is_begun) = (Vec::new(), false, false);
    loop {
        let read = input.fill_buf().await?;
        let end = read.iter().position(|byte| *byte == b'\n');
        let piece = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
        is_begun |= !read.is_empty();
        is_too_long |= line.len() + piece.len() > MAX_LINE_BYTES;
        if is_too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(piece);
        }
        let (is_end, used) =
            (end.is_some() || read.is_empty(), end.map_or(read.len(), |at| at + 1));
        input.consume(used);
        if is_end && !is_begun {
            return Ok(None);
        }
        if is_end {
            return Ok(Some(if is_too_long { Line::TooLong } else { Line::Whole(line) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_whole_the_last_without_an_end_and_one_that_is_too_long_is_left_out() {
        let long = "x".repeat(MAX_LINE_BYTES);
        let text = format!("one\n\n{long}\n{long}y\ntwo\r\n{long}yy");
        for buffer in [1, 7, 8192] {
            let mut input = tokio::io::BufReader::with_capacity(buffer, text.as_bytes());
            let mut found = Vec::new();
            while let Some(line) = next(&mut input).await.unwrap() {
                found.push(line);
            }
            let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
            let (long, two) = (whole(&long), whole("two\r"));
            let expected = [whole("one"), whole(""), long, Line::TooLong, two, Line::TooLong];
            assert!(found == expected, "{buffer}: {} lines", found.len());
        }
        assert_eq!(next(&mut &b"last"[..]).await.unwrap(), Some(Line::Whole(b"last".to_vec())));
        assert_eq!(next(&mut &b""[..]).await.unwrap(), None);
    }
}
