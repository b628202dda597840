//! Opens regular files for their content, and refuses anything else.

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use orion_domain::{DevicePath, ErrorCode, ToolError};

use super::{FileKind, Located, Wanted, io_failure};

/// Opens a file that was found. Refuses FIFOs, sockets and devices before the open, and again on the handle,
/// because the name may change in between. So the open neither follows a link nor blocks.
pub(crate) fn open(
    dir: &Dir,
    name: &str,
    path: &DevicePath,
    options: &mut OpenOptions,
) -> Result<(File, Metadata), ToolError> {
    let failed = |error: &std::io::Error| io_failure(error, Wanted::File, path);
    let before = dir.symlink_metadata(name).map_err(|error| failed(&error))?;
    refuse_special(FileKind::of(before.file_type()), path)?;
    let file = dir
        .open_with(name, options.follow(FollowSymlinks::No).nonblock(true))
        .map_err(|error| failed(&error))?;
    let metadata = file.metadata().map_err(|error| failed(&error))?;
    refuse_special(FileKind::of(metadata.file_type()), path)?;
    refuse_foreign(dir, &file, &metadata, path)?;
    Ok((file, metadata))
}

/// Refuses a file of the kernel that is mounted over another file; it looks like a regular one.
#[cfg(target_os = "linux")]
fn refuse_foreign(
    dir: &Dir,
    file: &File,
    metadata: &Metadata,
    path: &DevicePath,
) -> Result<(), ToolError> {
    use cap_fs_ext::MetadataExt;

    let here = dir.dir_metadata().map_err(|error| io_failure(&error, Wanted::File, path))?;
    let foreign = metadata.dev() != here.dev() && super::is_pseudo(file);
    refuse_special(if foreign { FileKind::Special } else { FileKind::File }, path)
}

#[cfg(not(target_os = "linux"))]
fn refuse_foreign(_: &Dir, _: &File, _: &Metadata, _: &DevicePath) -> Result<(), ToolError> {
    Ok(())
}

/// Refuses the entry at a path unless it is a file or could become one.
pub(crate) fn refuse_unfit(located: &Located) -> Result<(), ToolError> {
    if located.is_folder() {
        return refuse_special(FileKind::Folder, &located.asked);
    }
    match (located.found, located.name()) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(located.no_folder()),
        (Some(what), Some(_)) => refuse_special(what, &located.asked),
    }
}

fn refuse_special(what: FileKind, path: &DevicePath) -> Result<(), ToolError> {
    let (code, message, hint) = match what {
        FileKind::File => return Ok(()),
        FileKind::Folder => (
            ErrorCode::PreconditionFailed,
            format!("{path} is a folder, not a file."),
            Some("use list_directory to see what is in it"),
        ),
        FileKind::Link => (
            ErrorCode::PreconditionFailed,
            format!("{path} became a link while it was being opened."),
            Some("try again"),
        ),
        FileKind::Special => (
            ErrorCode::NotSupported,
            format!("{path} is a FIFO, a socket or a device. Only regular files are opened."),
            None,
        ),
    };
    let error = ToolError::new(code, message).with("attempted_path", path.to_string());
    Err(match hint {
        Some(hint) => error.hint(hint),
        None => error,
    })
}
