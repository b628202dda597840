//! Checks the source and the destination of a copy or a move.

use orion_domain::{DevicePath, ErrorCode, ToolError};

use crate::roots::{FileKind, Located};
use crate::survey::Count;
use crate::tools::counted::counted;
use crate::tools::create_directory::missing_parent;
use crate::tools::write_file::refuse_unwritable;
use crate::tools::{FileContext, invalid};

/// Returns the resolved path of a location, which need not exist.
pub(in crate::tools) fn real(located: &Located) -> Result<DevicePath, ToolError> {
    located.rest.iter().try_fold(located.real.clone(), |path, name| path.join(name)).map_err(|_| {
        ToolError::new(ErrorCode::InvalidPath, format!("{} is too long.", located.asked))
            .with("attempted_path", located.asked.to_string())
    })
}

/// Refuses a destination that is the source or lies inside it.
pub(in crate::tools) fn refuse_overlap(
    from: &DevicePath,
    to: &DevicePath,
) -> Result<(), ToolError> {
    if !from.contains(to) {
        return Ok(());
    }
    let same = to.contains(from);
    let message = if same {
        format!("Source and destination are both {from}.")
    } else {
        format!("{to} lies inside {from}; a folder cannot be put into itself.")
    };
    Err(invalid(message).with("attempted_path", to.to_string()))
}

/// The kind of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tools) enum CopySource {
    File,
    Folder,
}

impl CopySource {
    /// Describes the amount for a person.
    pub(in crate::tools) fn describe(self, Count { entries, bytes, .. }: Count) -> String {
        let bytes = counted(bytes, "byte");
        match (self, entries) {
            (Self::File, _) => format!("1 file, {bytes}"),
            (Self::Folder, 1) => format!("1 folder, {bytes}"),
            (Self::Folder, _) => format!("{entries} files and folders, {bytes}"),
        }
    }
}

/// Returns whether a file at the destination is replaced, and refuses any other existing entry. The parent
/// folder must exist.
pub(in crate::tools) fn replaces(
    to: &Located,
    thing: CopySource,
    overwrite: bool,
    context: &FileContext<'_>,
) -> Result<bool, ToolError> {
    let path = &to.asked;
    let taken = |message: String, hint: &str| {
        let error = ToolError::new(ErrorCode::AlreadyExists, message);
        Err(error.with("attempted_path", path.to_string()).hint(hint))
    };
    if to.is_folder() {
        return taken(
            format!("{path} is a folder that is there already."),
            "name the whole new path, its last name included",
        );
    }
    match (to.name(), to.found) {
        (Some(_), None) => Ok(false),
        (None, None) => Err(missing_parent(to, context)),
        (None, Some(_)) => Err(to.no_folder()),
        (Some(name), Some(FileKind::File)) => match thing {
            CopySource::File if overwrite => {
                refuse_unwritable(&to.dir, name, path)?;
                Ok(true)
            }
            CopySource::File => taken(
                format!("{path} is there already."),
                "choose another name, or set `overwrite` to true to replace it",
            ),
            CopySource::Folder => taken(
                format!("{path} is a file that is there already, and a folder never replaces one."),
                "choose another name",
            ),
        },
        (Some(_), Some(FileKind::Folder | FileKind::Link | FileKind::Special)) => taken(
            format!(
                "{path} is a folder, a link, a FIFO, a socket or a device, and is never replaced."
            ),
            "choose another name",
        ),
    }
}
