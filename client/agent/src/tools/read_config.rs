//! Executes `read_config`.

use std::io::Read;

use cap_std::fs::{File, Metadata, OpenOptions};
use orion_catalog::tools::read_config::{Arguments, ReadConfig, Returns};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};
use serde_json::Value;

use super::config_format::{MAX_BYTES, Reading, format_of, read};
use super::counted::counted;
use super::list_directory::json_bytes;
use super::{Context, FileContext, FileTool, Outcome, nearby};
use crate::call::{MAX_RESULT_BYTES, reserve_memory};
use crate::roots::{Located, Wanted, io_failure};

/// Maximum size of text and values in the result, in bytes. Leaves space for the other fields.
const MAX_DATA_BYTES: usize = MAX_RESULT_BYTES - 64 * 1024;

/// Returns the memory for parsing a file of this size, in bytes. Values take about a hundred times their
/// text, so that large files are parsed one at a time.
pub(super) const fn room_bytes(size: u64) -> u64 {
    256 * 1024 + size.saturating_mul(300)
}

impl FileTool for ReadConfig {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let located = context.locate(&arguments.path, Access::Read)?;
        let mut options = OpenOptions::new();
        let (mut file, metadata) = open(&located, options.read(true), context)?;
        let path = &located.asked;
        reserve_memory(context, room_bytes(metadata.len()))?;
        let bytes = bytes(&mut file, path)?;
        context.check()?;
        let name = path.file_name().unwrap_or_default();
        let (content, is_text) = match String::from_utf8(bytes) {
            Ok(content) => (content, true),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), false),
        };
        let room = MAX_DATA_BYTES.checked_sub(json_bytes(&content)).ok_or_else(|| large(path))?;
        let format = format_of(name, &content);
        let reading = if is_text {
            read(format, &content)
        } else {
            Reading::Broken("It is not text in UTF-8; \u{fffd} stands for what is not.".to_owned())
        };
        let (parsed, problem) = match reading {
            Reading::Values(values) if values.to_string().len() > room => {
                (Value::Null, Some("Its values do not fit the answer beside its text.".to_owned()))
            }
            Reading::Values(values) => (values, None),
            Reading::Broken(problem) | Reading::TooMuch(problem) => (Value::Null, Some(problem)),
            Reading::Unknown => (Value::Null, None),
        };
        let lines = counted(content.lines().count() as u64, "line");
        let message = match &problem {
            Some(problem) => format!("{path}: {lines}, without values. {problem}"),
            None => format!("{path}: {lines}."),
        };
        let path = path.to_string();
        Ok(Outcome::new(message, Returns { path, format, parsed, problem, content }))
    }
}

/// Opens the file at a path if it is small enough for a configuration.
pub(super) fn open(
    located: &Located,
    options: &mut OpenOptions,
    context: &Context<'_>,
) -> Result<(File, Metadata), ToolError> {
    let (file, metadata) = nearby::open(located, options, context)?;
    if metadata.len() > MAX_BYTES as u64 {
        Err(large(&located.asked))
    } else {
        Ok((file, metadata))
    }
}

/// Reads the whole file.
pub(super) fn bytes(file: &mut File, path: &DevicePath) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| io_failure(&error, Wanted::File, path))?;
    if bytes.len() > MAX_BYTES { Err(large(path)) } else { Ok(bytes) }
}

fn large(path: &DevicePath) -> ToolError {
    ToolError::new(
        ErrorCode::ResourceExhausted,
        format!("{path} is larger than the 1 MiB up to which a file is read as configuration."),
    )
    .hint("use read_file to read it in parts, and edit_file to change it")
    .with("attempted_path", path.to_string())
}

#[cfg(test)]
mod tests;
