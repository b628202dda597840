//! The chain's files: the current file, and the older file that it continues.
//!
//! Rotation makes a new file beside the full one, then renames both. Wherever the agent dies in between,
//! the files show how to continue ([`open`]), and a reader finds every entry ([`read`]).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use orion_audit::device::{ChainHeader, ChainLine, ChainProblem, DeviceChain};
use orion_domain::audit::AuditHead;

use crate::owner_file::{open as open_file, sync_folder};
use crate::state::names::{AUDIT, AUDIT_BEFORE, AUDIT_DAMAGED, AUDIT_NEW, AUDIT_OLDER};

/// The largest file that is read or written, in bytes: several times the rotation size.
pub(super) const LARGEST: u64 = 64 * 1024 * 1024;

/// The current file, found or created.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) bytes: u64,
    /// The entries of the current and the older file.
    pub(super) kept: DeviceChain,
}

/// Why a chain cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{path} can't be read: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file's content is not a valid chain.
    #[error("{path}: {problem}", path = path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: ChainProblem,
    },
    /// The older file does not end where the newer begins.
    #[error("{AUDIT_OLDER} does not end where {AUDIT} begins; one of them was replaced")]
    Apart,
}

/// Reads the chain in this folder, also while an agent writes it. Returns `None` if there is no file.
///
/// # Errors
/// [`ReadError`].
pub fn read(folder: &Path) -> Result<Option<DeviceChain>, ReadError> {
    // During a rotation, for a moment only the older file has its name.
    let Some(newer) = follow(&folder.join(AUDIT))? else {
        return follow(&folder.join(AUDIT_OLDER));
    };
    if newer.header.from == AuditHead::EMPTY {
        return Ok(Some(newer));
    }
    match follow(&folder.join(AUDIT_OLDER))? {
        Some(older) => both(older, newer).map(Some),
        None => Ok(Some(newer)),
    }
}

/// Joins both files into one chain.
fn both(older: DeviceChain, newer: DeviceChain) -> Result<DeviceChain, ReadError> {
    // Both names gave the same file: it was renamed between the two reads.
    if older.header.device != newer.header.device || older.header == newer.header {
        return Ok(newer);
    }
    if older.head() != newer.header.from {
        return Err(ReadError::Apart);
    }
    let entries = older.entries.into_iter().chain(newer.entries).collect();
    Ok(DeviceChain { header: older.header, entries })
}

fn follow(path: &Path) -> Result<Option<DeviceChain>, ReadError> {
    let text = match text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ReadError::Io { path: path.to_owned(), source }),
    };
    let failed = |problem| ReadError::Broken { path: path.to_owned(), problem };
    DeviceChain::read(whole_lines(&text)).map(Some).map_err(failed)
}

/// Reads the whole file. A file larger than any agent writes is an error: a part of it would look like a
/// chain that was cut back.
fn text(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    // Root reads the folder of another account, which may have put a link there.
    open_file(path)?.take(LARGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        let why = "it is larger than 64 MiB, which no agent writes; move it away, and the agent begins another";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}

/// Returns the text without an incomplete last line: one torn by a power cut, or being written.
fn whole_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    text.get(..end).unwrap_or_default()
}

fn aside(folder: &Path, stem: &str, number: u32) -> PathBuf {
    match number {
        1 => folder.join(format!("{stem}.jsonl")),
        number => folder.join(format!("{stem}-{number}.jsonl")),
    }
}

/// Moves a file aside under the first free name: `audit.before.jsonl`, `audit.before-2.jsonl`, …, so that no earlier one is
/// lost.
fn put_aside(folder: &Path, path: &Path, stem: &str) -> io::Result<PathBuf> {
    let free = (1..10_000)
        .map(|number| aside(folder, stem, number))
        .find(|it| it.symlink_metadata().is_err());
    let free = free.ok_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists))?;
    fs::rename(path, &free)?;
    Ok(free)
}

/// Returns the first file of an earlier enrolment, if there is one.
#[must_use]
pub fn earlier(folder: &Path) -> Option<PathBuf> {
    Some(aside(folder, AUDIT_BEFORE, 1)).filter(|path| path.exists())
}

/// Opens the current file to append to it. A damaged file, or another device's, is moved aside, and a new
/// chain begins: the backend detects that by itself. If the current file is missing because the agent
/// died during a rotation, a new one continues the older file.
pub(super) fn open(folder: &Path, device: &str) -> io::Result<Opened> {
    let path = folder.join(AUDIT);
    let kept = match text(&path) {
        Ok(text) => {
            let whole = whole_lines(&text);
            match DeviceChain::read(whole) {
                Ok(newer) if newer.header.device == device => {
                    let file = OpenOptions::new().append(true).open(&path)?;
                    let bytes = whole.len() as u64;
                    file.set_len(bytes)?;
                    file.sync_all()?;
                    let kept = with_older(folder, newer);
                    return Ok(Opened { file, bytes, kept });
                }
                Ok(_) => {
                    let kept = put_aside(folder, &path, AUDIT_BEFORE)?;
                    tracing::warn!(file = %kept.display(), "the device has enrolled again; the audit of before is kept");
                }
                Err(problem) => {
                    let kept = put_aside(folder, &path, AUDIT_DAMAGED)?;
                    tracing::error!(%problem, file = %kept.display(), "the device's audit can't be gone on with; it is kept");
                }
            }
            None
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => older(folder, device),
        Err(error) => return Err(error),
    };
    let kept = kept.unwrap_or_else(|| DeviceChain {
        header: ChainHeader::new(device, AuditHead::EMPTY),
        entries: Vec::new(),
    });
    let (file, bytes) = prepare(folder, &ChainHeader::new(device, kept.head()))?;
    fs::rename(folder.join(AUDIT_NEW), path)?;
    sync_folder(folder)?;
    Ok(Opened { file, bytes, kept })
}

/// Returns the entries of both files, or of the newer alone if the older does not precede it.
fn with_older(folder: &Path, newer: DeviceChain) -> DeviceChain {
    let is_first = newer.header.from == AuditHead::EMPTY;
    match older(folder, &newer.header.device).filter(|_| !is_first) {
        Some(older) => both(older, newer.clone()).unwrap_or(newer),
        None => newer,
    }
}

/// Reads the older file. None if it is missing, damaged or another device's.
fn older(folder: &Path, device: &str) -> Option<DeviceChain> {
    match follow(&folder.join(AUDIT_OLDER)) {
        Ok(older) => older.filter(|older| older.header.device == device),
        Err(error) => {
            tracing::error!(%error, "the older part of the device's audit can't be read");
            None
        }
    }
}

/// Creates the next file under a temporary name, complete and synced.
pub(super) fn prepare(folder: &Path, header: &ChainHeader) -> io::Result<(File, u64)> {
    let line = ChainLine::Header(header.clone()).to_line();
    let new = folder.join(AUDIT_NEW);
    if let Err(error) = fs::remove_file(&new)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    file.write_all(line.as_bytes())?;
    file.sync_all()?;
    Ok((file, line.len() as u64))
}
