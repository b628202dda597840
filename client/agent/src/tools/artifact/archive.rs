//! Unpacks an archive, which others made: a `.tar.gz` with files and folders and nothing else.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};

use cap_std::fs::{Dir, OpenOptions, Permissions};
use flate2::read::GzDecoder;
use orion_domain::{ErrorCode, ToolError};
use std::os::unix::fs::PermissionsExt as _;
use tar::{Archive, Entry, EntryType, PaxExtensions};

use super::name::InnerName;
use super::{disk, unfit};
use crate::call::Context;

/// The most entries of an archive.
const MAX_ENTRIES: u64 = 20_000;
/// The most bytes that an archive unpacks to.
const MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// How many times its size an archive may unpack to, beyond what any archive may.
const MAX_RATIO: u64 = 100;
/// What any archive may unpack to, in bytes.
const FREE_BYTES: u64 = 16 * 1024 * 1024;
/// The most bytes of what is written about an entry beside its header.
const MAX_EXTENSION_BYTES: u64 = 64 * 1024;

/// What an archive had in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::tools) struct Unpacked {
    /// The number of files.
    pub(in crate::tools) files: u64,
    /// Their bytes together.
    pub(in crate::tools) bytes: u64,
}

/// Unpacks an archive of this size into an empty folder.
///
/// # Errors
/// An archive that is damaged, too large or no such archive, an entry that is neither a file nor a folder, or whose
/// name leads elsewhere, `CANCELLED` and `TIMEOUT`. The folder then has some of the files.
pub(in crate::tools) fn unpack(
    archive: &File,
    size: u64,
    into: &Dir,
    context: &Context<'_>,
) -> Result<Unpacked, ToolError> {
    let most = size.saturating_mul(MAX_RATIO).saturating_add(FREE_BYTES).min(MAX_BYTES);
    let stopped = RefCell::new(None);
    let stream = Bounded { inner: GzDecoder::new(archive), left: most, context, stopped: &stopped };
    let done = entries(&mut Archive::new(stream), into, context);
    // Why the stream stopped says more than what became of the entry.
    match stopped.into_inner() {
        Some(error) => Err(error),
        None => done,
    }
}

/// A stream of so many bytes, which ends when the call must stop.
struct Bounded<'a, R> {
    inner: R,
    left: u64,
    context: &'a Context<'a>,
    stopped: &'a RefCell<Option<ToolError>>,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stop = |error| {
            *self.stopped.borrow_mut() = Some(error);
            Err(io::Error::other("stopped"))
        };
        if let Err(error) = self.context.check() {
            return stop(error);
        }
        let length = self.inner.read(buffer)?;
        match self.left.checked_sub(length as u64) {
            Some(left) => self.left = left,
            None => return stop(too_large()),
        }
        Ok(length)
    }
}

fn entries<R: Read>(
    archive: &mut Archive<R>,
    into: &Dir,
    context: &Context<'_>,
) -> Result<Unpacked, ToolError> {
    let mut unpacked = Unpacked::default();
    let mut named = None;
    let mut count = 0;
    // The entries as they are: the library would read what is written about one without a limit.
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        count += 1;
        if count > MAX_ENTRIES {
            return Err(too_many());
        }
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        if kind == EntryType::XHeader {
            named = name_of_extension(&extension(&mut entry)?)?.or(named);
            continue;
        }
        if kind == EntryType::GNULongName {
            let bytes = extension(&mut entry)?;
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            named = Some(text(bytes.get(..end).unwrap_or_default())?);
            continue;
        }
        if kind != EntryType::Regular && kind != EntryType::Directory {
            return Err(not_a_file());
        }
        let name = match named.take() {
            Some(name) => name,
            None => text(&entry.path_bytes())?,
        };
        let Some(inner) = InnerName::parse(&name)? else { continue };
        if kind == EntryType::Directory {
            folder(into, &inner)?;
        } else if name.ends_with('/') {
            return Err(unfit(format!("The archive has the file `{inner}` as a folder.")));
        } else {
            unpacked.bytes += file(&mut entry, into, &inner)?;
            unpacked.files += 1;
            (context.progress)(unpacked.files, None, "files unpacked");
        }
    }
    Ok(unpacked)
}

/// Reads what is written about the next entry.
fn extension<R: Read>(entry: &mut Entry<'_, R>) -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    entry.take(MAX_EXTENSION_BYTES + 1).read_to_end(&mut bytes).map_err(damaged)?;
    if bytes.len() as u64 > MAX_EXTENSION_BYTES {
        return Err(unfit("The archive says too much about one of its files."));
    }
    Ok(bytes)
}

/// Returns the name that an extension gives to the next entry. `None` if it gives none.
fn name_of_extension(bytes: &[u8]) -> Result<Option<String>, ToolError> {
    let mut named = None;
    for extension in PaxExtensions::new(bytes) {
        let extension = extension.map_err(damaged)?;
        match extension.key().unwrap_or_default() {
            "path" => named = Some(text(extension.value_bytes())?),
            "linkpath" => return Err(not_a_file()),
            // Another size than that of the header would give the stream another meaning.
            key if key == "size" || key.starts_with("GNU.sparse") => {
                return Err(unfit("The archive has a sparse file or one of more than 8 GiB."));
            }
            _ => {}
        }
    }
    Ok(named)
}

fn folder(into: &Dir, name: &InnerName) -> Result<(), ToolError> {
    into.create_dir_all(name.path()).map_err(|error| failed(name, &error))?;
    let mode = Permissions::from_std(std::fs::Permissions::from_mode(0o755));
    into.set_permissions(name.path(), mode).map_err(|error| failed(name, &error))
}

/// Writes a file and returns its size.
fn file<R: Read>(entry: &mut Entry<'_, R>, into: &Dir, name: &InnerName) -> Result<u64, ToolError> {
    let (size, mode) = (entry.size(), entry.header().mode().map_err(damaged)?);
    if let Some(parent) = name.path().parent().filter(|it| !it.as_os_str().is_empty()) {
        into.create_dir_all(parent).map_err(|error| failed(name, &error))?;
    }
    let mut file = into
        .open_with(name.path(), OpenOptions::new().write(true).create_new(true))
        .map_err(|error| failed(name, &error))?;
    let written = io::copy(entry, &mut file).map_err(|error| failed(name, &error))?;
    if written != size {
        return Err(unfit(format!("The archive ends in the middle of `{name}`.")));
    }
    // No file keeps more than the right to be executed.
    let mode = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
    let mode = Permissions::from_std(std::fs::Permissions::from_mode(mode));
    file.set_permissions(mode).map_err(|error| failed(name, &error))?;
    Ok(size)
}

fn text(bytes: &[u8]) -> Result<String, ToolError> {
    let text = std::str::from_utf8(bytes);
    text.map(ToOwned::to_owned).map_err(|_| unfit("The archive has a name that is not UTF-8."))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn damaged(error: io::Error) -> ToolError {
    let message = format!("The archive is damaged, or is no .tar.gz: {}.", error.kind());
    unfit(message)
}

fn failed(name: &InnerName, error: &io::Error) -> ToolError {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return unfit(format!("The archive has `{name}` twice."));
    }
    disk(&format!("`{name}` cannot be unpacked"), error)
}

fn not_a_file() -> ToolError {
    unfit("The archive has a link, a device or something else that is neither a file nor a folder.")
}

fn too_many() -> ToolError {
    let message = format!("The archive has more than {MAX_ENTRIES} entries.");
    ToolError::new(ErrorCode::ResourceExhausted, message)
}

fn too_large() -> ToolError {
    let message = "The archive unpacks to more than it may: 16 MiB and 100 times its size, and 4 GiB at most.";
    ToolError::new(ErrorCode::ResourceExhausted, message)
}

#[cfg(test)]
mod tests;
