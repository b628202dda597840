//! Executes `read_file`: by lines as text, or by blocks of 4096 bytes as base64. Reads a bounded part of a
//! file of any size, even of one that grows.

use std::io::{Read, Seek, SeekFrom};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cap_std::fs::{File, OpenOptions};
use orion_catalog::tools::read_file::{Arguments, Encoding, ReadFile, Returns};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::{Context, FileContext, FileTool, Outcome, invalid, nearby};
use crate::call::reserve_memory;
use crate::roots::{Wanted, io_failure};

/// Maximum content of one call as JSON, in bytes.
const MAX_CONTENT_BYTES: usize = 1024 * 1024;
/// Maximum part of a file that is read to find and count its lines, in bytes.
const MAX_SCANNED_BYTES: u64 = 64 * 1024 * 1024;
/// Unit of offset and limit in base64, in bytes.
const BLOCK_BYTES: u64 = 4096;
/// Maximum number of blocks whose base64 fits the content.
const MAX_BLOCKS: u64 = 192;
const MAX_LIMIT: u64 = 100_000;

impl FileTool for ReadFile {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        if !(1..=MAX_LIMIT).contains(&arguments.limit) {
            return Err(invalid(format!(
                "limit is {}, and has to be from 1 to {MAX_LIMIT}.",
                arguments.limit
            )));
        }
        let located = context.locate(&arguments.path, Access::Read)?;
        let path = &located.asked;
        let mut options = OpenOptions::new();
        let (mut file, metadata) = nearby::open(&located, options.read(true), context)?;
        // The content exists as bytes, as text and in the result.
        reserve_memory(context, 64 * 1024 + 4 * metadata.len().min(MAX_CONTENT_BYTES as u64))?;
        let part = match arguments.encoding {
            Encoding::Utf8 => lines(&mut file, &arguments, path, context)?,
            Encoding::Base64 => blocks(&mut file, metadata.len(), &arguments, path)?,
        };
        let unit = match arguments.encoding {
            Encoding::Utf8 => "line",
            Encoding::Base64 => "block",
        };
        let more = if part.truncated { ", and there is more" } else { "" };
        let message = format!("{path}: {}{more}.", part.range(unit, arguments.offset));
        let data = Returns {
            path: path.to_string(),
            content: part.content,
            size_bytes: metadata.len(),
            lines: part.units,
            total_lines: part.total,
            truncated: part.truncated,
            encoding: arguments.encoding,
            replaced: part.replaced,
        };
        Ok(Outcome::new(message, data).cut(part.truncated))
    }
}

/// The part of a file that was read.
struct Part {
    content: String,
    /// Returned lines or blocks.
    units: u64,
    /// Lines or blocks in the file. `None` if its end was not reached.
    total: Option<u64>,
    truncated: bool,
    replaced: bool,
}

impl Part {
    /// Returns which lines or blocks it has, counted from 1: `lines 3 to 5 of 9`.
    fn range(&self, unit: &str, before: u64) -> String {
        let (first, last) = (before.saturating_add(1), before.saturating_add(self.units));
        let units = match self.units {
            0 => return format!("no {unit}s"),
            1 => format!("{unit} {first}"),
            _ => format!("{unit}s {first} to {last}"),
        };
        self.total.map_or(units.clone(), |total| format!("{units} of {total}"))
    }
}

/// Selects lines from a stream of bytes.
#[derive(Default)]
struct Lines {
    content: Vec<u8>,
    /// Size of the content as JSON, in bytes.
    written: usize,
    /// Line ends so far.
    ends: u64,
    /// Whether bytes follow the last line end.
    open: bool,
    /// Lines of which at least a part was selected.
    taken: u64,
    /// Whether a requested line did not fit.
    full: bool,
}

impl Lines {
    fn feed(&mut self, chunk: &[u8], wanted: &std::ops::Range<u64>) {
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            if wanted.contains(&self.ends) && !self.full {
                self.take(piece);
            }
            self.open = piece.last() != Some(&b'\n');
            if !self.open {
                self.ends += 1;
            }
        }
    }

    fn take(&mut self, piece: &[u8]) {
        let before = self.content.len();
        let left = MAX_CONTENT_BYTES.saturating_sub(self.written);
        let mut taken = piece;
        let mut written: usize = piece.iter().copied().map(written_as_json).sum();
        if written > left {
            self.full = true;
            (taken, written) = fitting(piece, left);
        }
        self.written += written;
        self.content.extend_from_slice(taken);
        // A line in several chunks is one line.
        if self.content.len() > before && (!self.open || before == 0) {
            self.taken += 1;
        }
    }
}

/// Returns the beginning of `piece` that fits `left` bytes of JSON, and its size as JSON.
fn fitting(piece: &[u8], left: usize) -> (&[u8], usize) {
    let mut written = 0;
    for (at, &byte) in piece.iter().enumerate() {
        let with_it = written + written_as_json(byte);
        if with_it > left {
            return (piece.get(..at).unwrap_or_default(), written);
        }
        written = with_it;
    }
    (piece, written)
}

/// Returns the size of a byte of content as JSON.
fn written_as_json(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..0x20 => 6,
        // An invalid byte becomes a replacement character of three bytes.
        0x80.. => 3,
        _ => 1,
    }
}

fn lines(
    file: &mut File,
    arguments: &Arguments,
    path: &DevicePath,
    context: &Context<'_>,
) -> Result<Part, ToolError> {
    let wanted = arguments.offset..arguments.offset.saturating_add(arguments.limit);
    let mut lines = Lines::default();
    let mut chunk = vec![0; 64 * 1024];
    let mut scanned = 0_u64;
    let mut at_end = false;
    while scanned < MAX_SCANNED_BYTES {
        context.check()?;
        let read = match file.read(&mut chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(io_failure(&error, Wanted::File, path)),
        };
        if read == 0 {
            at_end = true;
            break;
        }
        scanned += read as u64;
        lines.feed(chunk.get(..read).unwrap_or_default(), &wanted);
    }
    if !at_end && lines.taken == 0 {
        return Err(ToolError::new(
            ErrorCode::ResourceExhausted,
            format!(
                "{path}: line {} is not within its first 64 MiB, which hold {} line ends.",
                arguments.offset, lines.ends
            ),
        ).hint("read the part that is meant with encoding base64, where offset counts blocks of 4096 bytes")
        .with("attempted_path", path.to_string()));
    }
    let total = at_end.then(|| lines.ends + u64::from(lines.open));
    let truncated = lines.full || total.is_none_or(|total| total > wanted.end);
    let (content, replaced) = text(lines.content, lines.full);
    Ok(Part { content, units: lines.taken, total, truncated, replaced })
}

/// Converts bytes to text. Drops a character that the limit cut in two.
fn text(mut bytes: Vec<u8>, cut: bool) -> (String, bool) {
    if cut && let Err(error) = std::str::from_utf8(&bytes) {
        let tail = bytes.len() - error.valid_up_to();
        if error.error_len().is_none() && tail < 4 {
            bytes.truncate(error.valid_up_to());
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    }
}

fn blocks(
    file: &mut File,
    size: u64,
    arguments: &Arguments,
    path: &DevicePath,
) -> Result<Part, ToolError> {
    let failed = |error: &std::io::Error| io_failure(error, Wanted::File, path);
    let start = arguments.offset.checked_mul(BLOCK_BYTES).filter(|&start| start <= size);
    let start = start.unwrap_or(size);
    file.seek(SeekFrom::Start(start)).map_err(|error| failed(&error))?;
    let most = arguments.limit.min(MAX_BLOCKS) * BLOCK_BYTES;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    let read = bytes.len() as u64;
    Ok(Part {
        content: STANDARD.encode(&bytes),
        units: read.div_ceil(BLOCK_BYTES),
        total: Some(size.div_ceil(BLOCK_BYTES)),
        truncated: start + read < size,
        replaced: false,
    })
}

#[cfg(test)]
mod tests;
