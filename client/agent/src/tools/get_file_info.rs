//! Executes `get_file_info`. Never opens an entry that is not a file.

mod accounts;
#[cfg(test)]
mod tests;

use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use orion_catalog::tools::get_file_info::{Arguments, GetFileInfo, Returns};
use orion_catalog::tools::list_directory::EntryKind;
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::counted::counted;
use super::list_directory::modified;
use super::{Context, FileContext, FileTool, Outcome, nearby, regular};
use crate::entry::{NoDigest, of_reader};
use crate::roots::{FileKind, Located, Wanted, io_failure};

#[cfg(unix)]
pub(super) use accounts::account_name;
pub use accounts::cache_accounts;
#[cfg(target_os = "linux")]
pub(crate) use accounts::{know_accounts, known_accounts};

/// Maximum size of a file that is hashed, in bytes.
const MAX_HASHED_BYTES: u64 = 64 * 1024 * 1024 * 1024;
/// Interval of progress reports, in bytes.
const PROGRESS_EVERY: u64 = 64 * 1024 * 1024;

impl FileTool for GetFileInfo {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let located = context.locate(&arguments.path, Access::Read)?;
        let path = &located.asked;
        let (metadata, sha256) = if arguments.sha256 {
            let (mut file, metadata) = open(&located, context)?;
            let sha256 = hash(&mut file, &metadata, path, context)?;
            (metadata, Some(sha256))
        } else {
            (metadata(&located, context)?, None)
        };
        let kind = match FileKind::of(metadata.file_type()) {
            FileKind::File => EntryKind::File,
            FileKind::Folder => EntryKind::Directory,
            FileKind::Link => EntryKind::Link,
            FileKind::Special => EntryKind::Other,
        };
        let size_bytes = if kind == EntryKind::File { metadata.len() } else { 0 };
        let message = match kind {
            EntryKind::File => format!("{path} is a file of {}.", counted(size_bytes, "byte")),
            EntryKind::Directory => format!("{path} is a folder."),
            EntryKind::Link => format!("{path} is a link."),
            EntryKind::Other => format!("{path} is a FIFO, a socket or a device."),
        };
        let returns = Returns {
            path: path.to_string(),
            kind,
            size_bytes,
            modified: modified(&metadata),
            mode: mode(&metadata),
            owner: accounts::owner(&metadata),
            sha256,
        };
        Ok(Outcome::new(message, returns))
    }
}

fn metadata(located: &Located, context: &Context<'_>) -> Result<Metadata, ToolError> {
    let failed = |error: &std::io::Error| io_failure(error, Wanted::Path, &located.asked);
    if located.is_folder() {
        return located.dir.dir_metadata().map_err(|error| failed(&error));
    }
    let name = named(located, context)?;
    located.dir.symlink_metadata(name).map_err(|error| failed(&error))
}

/// Opens the file to hash, and refuses anything but a file.
fn open(located: &Located, context: &Context<'_>) -> Result<(File, Metadata), ToolError> {
    regular::refuse_unfit(located)?;
    let name = named(located, context)?;
    let dir: &Dir = &located.dir;
    regular::open(dir, name, &located.asked, OpenOptions::new().read(true))
}

/// Returns the name of an entry that exists.
fn named<'a>(located: &'a Located, context: &Context<'_>) -> Result<&'a str, ToolError> {
    match (located.name(), located.found) {
        (Some(name), Some(_)) => Ok(name),
        (None, Some(_)) => Err(located.no_folder()),
        (_, None) => {
            let above = located.rest.len() > 1;
            let wanted = if above { Wanted::Directory } else { Wanted::Path };
            Err(nearby::suggest(wanted.missing(&located.asked), located, context))
        }
    }
}

fn hash(
    file: &mut File,
    metadata: &Metadata,
    path: &DevicePath,
    context: &Context<'_>,
) -> Result<String, ToolError> {
    let large = || {
        ToolError::new(
            ErrorCode::ResourceExhausted,
            format!("{path} is larger than the 64 GiB up to which a file is read for its SHA-256."),
        )
        .hint("ask without sha256")
        .with("attempted_path", path.to_string())
    };
    if metadata.len() > MAX_HASHED_BYTES {
        return Err(large());
    }
    let mut reported = 0;
    let digest = of_reader(file, &mut |done| {
        // The file may grow while it is read.
        if done > MAX_HASHED_BYTES {
            return Err(large());
        }
        if done / PROGRESS_EVERY > reported {
            reported = done / PROGRESS_EVERY;
            (context.progress)(done, Some(metadata.len()), "bytes read");
        }
        context.check()
    });
    digest.map(|digest| digest.to_string()).map_err(|no| match no {
        NoDigest::Io(error) => io_failure(&error, Wanted::File, path),
        NoDigest::Stopped(error) => error,
    })
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> Option<String> {
    use cap_fs_ext::OsMetadataExt;
    Some(format!("{:03o}", metadata.mode() & 0o7777))
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> Option<String> {
    None
}
