//! The tool errors for denied paths and for errors of the operating system.

use std::io::{Error, ErrorKind};

use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

/// What a path was expected to be. It selects the code when nothing is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A file.
    File,
    /// A folder.
    Directory,
    /// Either.
    Path,
}

impl Wanted {
    /// Returns the error for a missing path.
    #[must_use]
    pub fn missing(self, path: &DevicePath) -> ToolError {
        let (code, what) = match self {
            Self::File => (ErrorCode::FileNotFound, "file"),
            Self::Directory => (ErrorCode::DirectoryNotFound, "folder"),
            Self::Path => (ErrorCode::PathNotFound, "file or folder"),
        };
        ToolError::new(code, format!("There is no {what} {path}."))
            .with("attempted_path", path.to_string())
    }
}

/// Returns the error for a grant that names a file.
pub(super) fn granted_file(path: &DevicePath) -> ToolError {
    ToolError::new(
        ErrorCode::PreconditionFailed,
        format!("{path} is granted and is a file, and files are reached from a granted folder."),
    )
    .with("attempted_path", path.to_string())
    .hint("let its folder be granted, and allowed in agent.toml")
}

/// Returns the error for a path outside the allowed paths, or denied.
pub(super) fn not_allowed(path: &DevicePath, access: Access, allowed: Vec<String>) -> ToolError {
    let message = if allowed.is_empty() {
        format!("{path}: no path may be touched for {access} on this device.")
    } else {
        format!(
            "{path} is denied, or not inside a path that allows {access} on this device: {}.",
            allowed.join(", ")
        )
    };
    refused(path, message, "device: paths")
        .with("access", access.as_str())
        .with("allowed_paths", allowed)
}

/// Returns a `PATH_NOT_ALLOWED` error of this device.
pub(crate) fn refused(path: &DevicePath, message: String, rule: &str) -> ToolError {
    ToolError::new(ErrorCode::PathNotAllowed, message)
        .with("attempted_path", path.to_string())
        .with("rule", rule)
}

/// Converts an error of the operating system. Its text is left out, because it may name other paths.
#[must_use]
pub fn io_failure(error: &Error, wanted: Wanted, path: &DevicePath) -> ToolError {
    let kind = error.kind();
    if kind == ErrorKind::NotFound {
        return wanted.missing(path);
    }
    if leaves(error) {
        return link_leaves(path);
    }
    let known = KNOWN.iter().find(|(known, ..)| *known == kind);
    let Some((_, code, what, hint)) = known else {
        let message = format!("{path}: the operating system reports: {kind}.");
        return ToolError::new(ErrorCode::ExecutionFailed, message)
            .with("attempted_path", path.to_string());
    };
    let error =
        ToolError::new(*code, format!("{path}: {what}.")).with("attempted_path", path.to_string());
    if hint.is_empty() { error } else { error.hint(*hint) }
}

/// Kinds of errors, each with its code, what happened and what to do; the last is empty where nothing helps.
const KNOWN: &[(ErrorKind, ErrorCode, &str, &str)] = &[
    (
        ErrorKind::StorageFull,
        ErrorCode::ResourceExhausted,
        "the disk is full",
        "free some space, then try again",
    ),
    (
        ErrorKind::QuotaExceeded,
        ErrorCode::ResourceExhausted,
        "the disk quota is used up",
        "free some space, then try again",
    ),
    (
        ErrorKind::FileTooLarge,
        ErrorCode::ResourceExhausted,
        "the file would be larger than the file system allows",
        "",
    ),
    (
        ErrorKind::PermissionDenied,
        ErrorCode::PermissionDenied,
        "the operating system refused it to the account that the agent runs as",
        "give that account access to the file, or choose one that it has access to",
    ),
    (
        ErrorKind::ReadOnlyFilesystem,
        ErrorCode::WriteDisabled,
        "the file system is mounted read-only",
        "",
    ),
    (
        ErrorKind::NotADirectory,
        ErrorCode::PreconditionFailed,
        "something on the way is not a folder",
        "list the folder above to see what it is",
    ),
    (
        ErrorKind::IsADirectory,
        ErrorCode::PreconditionFailed,
        "it is a folder",
        "use list_directory to see what is in it",
    ),
    (
        ErrorKind::AlreadyExists,
        ErrorCode::AlreadyExists,
        "something is there already",
        "choose another name",
    ),
    (
        ErrorKind::DirectoryNotEmpty,
        ErrorCode::NotEmpty,
        "the folder is not empty",
        "set `recursive` to true if everything in it is meant",
    ),
    (
        ErrorKind::ResourceBusy,
        ErrorCode::PreconditionFailed,
        "it is in use, or a file system is mounted there",
        "",
    ),
    (
        ErrorKind::InvalidFilename,
        ErrorCode::InvalidPath,
        "the file system does not take this name",
        "use a shorter or plainer one",
    ),
];

/// Returns whether the error is `cap-std`'s error for a path that leads out of its folder.
fn leaves(error: &Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// Returns the error for a link that leads out. Its target is neither looked up nor named.
pub(super) fn link_leaves(path: &DevicePath) -> ToolError {
    refused(
        path,
        format!("{path} leads through a link that leaves its allowed path or is absolute."),
        "device: links",
    )
    .hint("name the place that the link leads to, if it is granted")
}
