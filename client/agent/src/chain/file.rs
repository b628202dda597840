//! The chain's files: the one that is written, and the older one that it took over from.
//!
//! A new file is made beside the one that is full, and both then get their names: at each moment in which
//! the agent may die, what is there says how to go on ([`open`]), and a reader finds all of it ([`read`]).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use orion_audit::device::{ChainHeader, ChainLine, ChainProblem, DeviceChain};
use orion_domain::audit::AuditHead;

/// The file that is written.
pub const FILE: &str = "audit.jsonl";
/// The one before.
pub const OLDER: &str = "audit.1.jsonl";
/// The one that is to take over; it holds no entry yet.
pub(super) const NEW: &str = "audit.jsonl.new";
/// What could not be read.
const ASIDE: &str = "audit.damaged.jsonl";
/// The largest file that is read, and written, in bytes: several times what one grows to.
pub(super) const LARGEST: u64 = 64 * 1024 * 1024;

/// The file as it was found or begun.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) bytes: u64,
    /// What is in it, and in the older one.
    pub(super) kept: DeviceChain,
}

/// Why a chain cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{path} can't be read: {source}", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What is in it is no whole chain.
    #[error("{path}: {problem}", path = path.display())]
    Broken {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: ChainProblem,
    },
    /// The older file does not end where the newer begins.
    #[error("{OLDER} does not end where {FILE} begins; one of them was replaced")]
    Apart,
}

/// Reads what is kept of the chain in this folder, whether or not an agent is writing it; `None` where
/// nothing was noted yet.
///
/// # Errors
/// [`ReadError`].
pub fn read(folder: &Path) -> Result<Option<DeviceChain>, ReadError> {
    // While a new file takes over, for a moment there is the older one alone.
    let Some(newer) = follow(&folder.join(FILE))? else { return follow(&folder.join(OLDER)) };
    if newer.header.from == AuditHead::EMPTY {
        return Ok(Some(newer));
    }
    match follow(&folder.join(OLDER))? {
        Some(older) => both(older, newer).map(Some),
        None => Ok(Some(newer)),
    }
}

/// Both files as one chain.
fn both(older: DeviceChain, newer: DeviceChain) -> Result<DeviceChain, ReadError> {
    // The same file under both names: it was renamed between one reading and the other.
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

/// All of the file. One that is longer than any agent writes is an error: a part of it would be a chain
/// that ran backwards.
fn text(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LARGEST {
        let why = "it is larger than 64 MiB, which no agent writes; move it away, and the agent begins another";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}

/// Without a last line that was torn by a power cut, or is being written.
fn whole_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    text.get(..end).unwrap_or_default()
}

/// Opens the file to go on with it. One that is not whole, or another device's, is put aside, and a new
/// chain begins: the backend notices that by itself. Where there is none, because the agent died while
/// a new file took over, one goes on from the older.
pub(super) fn open(folder: &Path, device: &str) -> io::Result<Opened> {
    let path = folder.join(FILE);
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
                Ok(_) => {}
                Err(problem) => {
                    tracing::error!(%problem, "the device's audit can't be gone on with; it is kept as {ASIDE}");
                }
            }
            fs::rename(&path, folder.join(ASIDE))?;
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
    fs::rename(folder.join(NEW), path)?;
    sync_folder(folder)?;
    Ok(Opened { file, bytes, kept })
}

/// What is kept in both files, or in the newer alone where the older does not belong to it.
fn with_older(folder: &Path, newer: DeviceChain) -> DeviceChain {
    let is_first = newer.header.from == AuditHead::EMPTY;
    match older(folder, &newer.header.device).filter(|_| !is_first) {
        Some(older) => both(older, newer.clone()).unwrap_or(newer),
        None => newer,
    }
}

/// The older file, where it is this device's and whole.
fn older(folder: &Path, device: &str) -> Option<DeviceChain> {
    match follow(&folder.join(OLDER)) {
        Ok(older) => older.filter(|older| older.header.device == device),
        Err(error) => {
            tracing::error!(%error, "the older part of the device's audit can't be read");
            None
        }
    }
}

/// Makes the file that is to take over, whole and on disk, under a name of its own.
pub(super) fn prepare(folder: &Path, header: &ChainHeader) -> io::Result<(File, u64)> {
    let line = ChainLine::Header(header.clone()).to_line();
    let new = folder.join(NEW);
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

#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
