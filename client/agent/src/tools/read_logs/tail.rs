//! The end of a log file, read backwards: a large file is not read whole.
//!
//! The file is opened once. One that is renamed while it is read, as by a rotation, stays the same file, and of one
//! that is cut to nothing the lines that were read so far are returned.

use std::io::{Read as _, Seek as _, SeekFrom};

use cap_std::fs::{File, OpenOptions};
use orion_catalog::tools::read_logs::LogLine;
use orion_domain::{Access, DevicePath, ToolError};

use super::Wanted;
use super::newest::{MAX_TEXT_BYTES, Newest};
use crate::roots::{Wanted as Kind, io_failure, regular};

/// Bytes that are read at a time.
const BLOCK: u64 = 64 * 1024;
/// The most bytes that are read of a file, from its end.
const MAX_READ: u64 = 64 * 1024 * 1024;

/// Reads the end of a file. Returns its path.
pub(super) fn read(path: &str, wanted: &mut Wanted<'_>) -> Result<String, ToolError> {
    let located = wanted.context.locate(path, Access::Read)?;
    regular::refuse_unfit(&located)?;
    let path = &located.asked;
    let Some(name) = located.name().filter(|_| located.found.is_some()) else {
        let kind = if located.rest.len() > 1 { Kind::Directory } else { Kind::File };
        return Err(kind.missing(path));
    };
    let mut options = OpenOptions::new();
    let (file, metadata) = regular::open(&located.dir, name, path, options.read(true))?;
    backwards(file, metadata.len(), path, wanted)?;
    Ok(path.to_string())
}

fn backwards(
    mut file: File,
    size: u64,
    path: &DevicePath,
    wanted: &mut Wanted<'_>,
) -> Result<(), ToolError> {
    let failed = |error: &std::io::Error| io_failure(error, Kind::File, path);
    let newest = &mut wanted.newest;
    // The beginning of the line that the block before this one ends with, and whether any of it was read.
    let mut line = Vec::new();
    let (mut end, mut is_last, mut is_open) = (size, true, false);
    let first = size.saturating_sub(MAX_READ);
    while end > first {
        wanted.context.check()?;
        let start = end.saturating_sub(BLOCK).max(first);
        let mut block = Vec::new();
        file.seek(SeekFrom::Start(start)).map_err(|error| failed(&error))?;
        let read = (&file).take(end - start).read_to_end(&mut block);
        if (read.map_err(|error| failed(&error))? as u64) < end - start {
            newest.truncated = true;
            return Ok(());
        }
        if is_last {
            is_last = false;
            // What follows the last line's end is no line.
            block.pop_if(|byte| *byte == b'\n');
            is_open = true;
        }
        let mut parts = block.rsplit(|&byte| byte == b'\n');
        let last = parts.next().unwrap_or_default();
        prepend(&mut line, last);
        for part in parts {
            if !push(newest, &line) {
                return Ok(());
            }
            line.clear();
            prepend(&mut line, part);
        }
        end = start;
    }
    if first > 0 {
        newest.truncated = true;
    } else if is_open {
        push(newest, &line);
    }
    Ok(())
}

/// Adds a part of a line before what is known of it. Only its beginning is kept.
fn prepend(line: &mut Vec<u8>, part: &[u8]) {
    line.splice(0..0, part.iter().copied());
    // One byte more than is returned, so that the line counts as cut.
    line.truncate(MAX_TEXT_BYTES + 1);
}

fn push(newest: &mut Newest, line: &[u8]) -> bool {
    let text = newest.text(line.strip_suffix(b"\r").unwrap_or(line));
    newest.push_older(LogLine { time: None, priority: None, text })
}
