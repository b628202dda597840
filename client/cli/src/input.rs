//! Reads values from outside the command line: `@file`, `-` for standard input, each with a size limit.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

use orion_domain::Hint;

use crate::failure::Failure;

/// The maximum number of bytes read from a file or from standard input, equal to the limit of a call's
/// arguments.
pub(crate) const LIMIT: usize = 2 * 1024 * 1024;

/// Reads a text given as itself, as `@file`, or as `-`.
///
/// # Errors
/// The file cannot be read, is too large, or is not text.
pub(crate) fn value(given: &str) -> Result<String, Failure> {
    match given.strip_prefix('@') {
        Some(path) => file(Path::new(path)),
        None if given == "-" => stdin(),
        None => Ok(given.to_owned()),
    }
    .map_err(|failure| {
        if !matches!(failure.cause(), Failure::NotText(_)) {
            return failure;
        }
        let copy = Hint::run("to copy a file of any kind to a device", "orion cp FILE DEVICE:PATH");
        failure.hint(copy)
    })
}

/// Reads a document given as `@file`, as a file's name, or as `-`.
///
/// # Errors
/// As [`value`].
pub(crate) fn document(given: &str) -> Result<String, Failure> {
    if given == "-" { stdin() } else { file(Path::new(given.strip_prefix('@').unwrap_or(given))) }
}

/// Reads all of standard input.
///
/// # Errors
/// As [`value`].
pub(crate) fn stdin() -> Result<String, Failure> {
    bounded(std::io::stdin().lock(), "standard input", LIMIT)
}

/// Reads a whole file.
///
/// # Errors
/// As [`value`].
pub(crate) fn file(path: &Path) -> Result<String, Failure> {
    let shown = path.display().to_string();
    bounded(open(path)?, &shown, LIMIT)
}

/// Opens a file for reading.
///
/// # Errors
/// It is not there, is a folder, or may not be read.
pub(crate) fn open(path: &Path) -> Result<File, Failure> {
    let shown = path.display();
    let unreadable = |error: Error| {
        if error.kind() == ErrorKind::NotFound {
            return Failure::NotFound(format!("{shown} is not there"))
                .hint("check the name; a relative one begins in the folder that you are in");
        }
        if error.kind() == ErrorKind::PermissionDenied {
            return Failure::Failed(format!("you may not read {shown}"))
                .hint("check who owns the file, and its permissions");
        }
        Failure::Failed(format!("{shown} cannot be opened: {error}"))
            .hint("name another file, or check the disk")
    };
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().is_ok_and(|it| it.is_dir()) {
        return Err(Failure::Failed(format!("{shown} is a folder, not a file"))
            .hint("name a file, such as one in it"));
    }
    Ok(file)
}

/// Returns the failure of writing a file.
pub(crate) fn unwritable(path: &Path, error: &Error) -> Failure {
    let shown = path.display();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let (ErrorKind::NotFound, Some(folder)) = (error.kind(), folder) {
        let folder = folder.display();
        return Failure::Failed(format!("{shown} cannot be written: there is no folder {folder}"))
            .hint("make the folder first, or name another file");
    }
    if error.kind() == ErrorKind::PermissionDenied {
        return Failure::Failed(format!("you may not write {shown}"))
            .hint("name a file in a folder of yours");
    }
    Failure::Failed(format!("{shown} cannot be written: {error}"))
        .hint("name another file, or check the disk")
}

/// Reads at most `limit` bytes of text.
///
/// # Errors
/// The input cannot be read, is longer, or is not UTF-8.
pub(crate) fn bounded(from: impl Read, name: &str, limit: usize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    from.take(most).read_to_end(&mut bytes).map_err(|error| {
        Failure::Failed(format!("{name} cannot be read: {error}")).hint("name another file")
    })?;
    if bytes.len() > limit {
        return Err(Failure::Failed(format!("{name} is longer than {limit} bytes, the maximum"))
            .hint("give less, or in several calls; `orion cp` copies files of any size"));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::NotText(name.to_owned()).hint("name a file of plain text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_or_no_text_is_refused() {
        assert_eq!(bounded(&b"abc"[..], "x", 3).unwrap(), "abc");
        assert_eq!(bounded(&b"abcd"[..], "x", 3).unwrap_err().exit_code(), 1);
        assert_eq!(bounded(&b"\xff"[..], "x", 3).unwrap_err().exit_code(), 1);
    }

    #[test]
    fn an_at_sign_names_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "abc\n").unwrap();
        assert_eq!(value(&format!("@{}", path.display())).unwrap(), "abc\n");
        assert_eq!(document(&path.display().to_string()).unwrap(), "abc\n");
        assert_eq!(value("abc").unwrap(), "abc");
        assert_eq!(value("@/nonexistent/file").unwrap_err().exit_code(), 3);
    }
}
