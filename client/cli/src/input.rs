//! Reads values from outside the command line: `@file`, `-` for standard input, each with a size limit.

use std::fs::File;
use std::io::Read;
use std::path::Path;

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
    let file = File::open(path).map_err(|error| {
        if error.kind() == std::io::ErrorKind::NotFound {
            Failure::NotFound(format!("{shown} is not there"))
        } else {
            Failure::Failed(format!("{shown} cannot be opened: {error}"))
        }
    })?;
    bounded(file, &shown, LIMIT)
}

/// Reads at most `limit` bytes of text.
///
/// # Errors
/// The input cannot be read, is longer, or is not UTF-8.
pub(crate) fn bounded(from: impl Read, name: &str, limit: usize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    from.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Failed(format!("{name} cannot be read: {error}")))?;
    if bytes.len() > limit {
        return Err(Failure::Failed(format!("{name} is longer than {limit} bytes, the maximum")));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::Failed(format!("{name} is not text in UTF-8")).hint("save it as UTF-8")
    })
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
