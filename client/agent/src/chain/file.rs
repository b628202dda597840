//! The chain's files: the one that is written, and the older one that it took over from.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use orion_audit::device::{ChainHeader, ChainLine, ChainProblem, DeviceChain};
use orion_domain::audit::AuditHead;

/// The file that is written.
pub const FILE: &str = "audit.jsonl";
/// The one before.
pub const OLDER: &str = "audit.1.jsonl";
/// What could not be read.
const ASIDE: &str = "audit.damaged.jsonl";
/// The largest file that is read, in bytes: several times what one grows to.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The file as it was found or begun.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) bytes: u64,
    /// What is in it.
    pub(super) chain: DeviceChain,
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
    let Some(newer) = follow(&folder.join(FILE))? else { return Ok(None) };
    if newer.header.from == AuditHead::EMPTY {
        return Ok(Some(newer));
    }
    let Some(older) = follow(&folder.join(OLDER))? else { return Ok(Some(newer)) };
    if older.header.device != newer.header.device {
        return Ok(Some(newer));
    }
    if older.head() != newer.header.from {
        return Err(ReadError::Apart);
    }
    let entries = older.entries.into_iter().chain(newer.entries).collect();
    Ok(Some(DeviceChain { header: older.header, entries }))
}

fn follow(path: &Path) -> Result<Option<DeviceChain>, ReadError> {
    let text = match text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ReadError::Io { path: path.to_owned(), source }),
    };
    let failed = |problem| ReadError::Broken { path: path.to_owned(), problem };
    DeviceChain::read(whole_lines(&text), false).map(Some).map_err(failed)
}

fn text(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

/// Without a last line that was torn by a power cut, or is being written.
fn whole_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    text.get(..end).unwrap_or_default()
}

/// Opens the file to go on with it. One that is not whole, or another device's, is put aside, and a new
/// chain begins: the backend notices that by itself.
pub(super) fn open(folder: &Path, device: &str) -> io::Result<Opened> {
    let path = folder.join(FILE);
    match text(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(text) => {
            let whole = whole_lines(&text);
            match DeviceChain::read(whole, false) {
                Ok(chain) if chain.header.device == device => {
                    let file = OpenOptions::new().append(true).open(&path)?;
                    let bytes = whole.len() as u64;
                    file.set_len(bytes)?;
                    file.sync_all()?;
                    return Ok(Opened { file, bytes, chain });
                }
                Ok(_) => {}
                Err(problem) => {
                    tracing::error!(%problem, "the device's audit can't be gone on with; it is kept as {ASIDE}");
                }
            }
            fs::rename(&path, folder.join(ASIDE))?;
        }
    }
    let header = ChainHeader::new(device, AuditHead::EMPTY);
    let (file, bytes) = begin(folder, &header)?;
    Ok(Opened { file, bytes, chain: DeviceChain { header, entries: Vec::new() } })
}

/// Begins a file, which appears whole.
pub(super) fn begin(folder: &Path, header: &ChainHeader) -> io::Result<(File, u64)> {
    let line = ChainLine::Header(header.clone()).to_line();
    let (path, new) = (folder.join(FILE), folder.join("audit.jsonl.new"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    io::Write::write_all(&mut file, line.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, &path)?;
    sync_folder(folder)?;
    Ok((OpenOptions::new().append(true).open(&path)?, line.len() as u64))
}

#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
