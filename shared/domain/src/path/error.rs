//! Why a text is not a path that Orion accepts, each with the correct form.

use std::fmt;

use super::MAX_PATH_BYTES;

/// Why a path or a pattern was rejected. Quoted pieces are escaped and shortened, so that they are safe
/// to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The text is empty.
    Empty,
    /// The path exceeds [`MAX_PATH_BYTES`], as written or made absolute.
    TooLong,
    /// One component is longer than file systems store.
    NameTooLong {
        /// Its beginning, escaped.
        component: String,
    },
    /// A NUL, at which most systems would silently truncate the path.
    Nul,
    /// A character below U+0020 on Windows.
    ControlCharacter {
        /// Its code point.
        code: u32,
    },
    /// One of `<>"|?*` on Windows.
    ForbiddenCharacter {
        /// The character.
        character: char,
    },
    /// A relative path without a workspace to start from.
    NotAbsolute,
    /// `\x`: its drive depends on a process that is not known here.
    RootRelative,
    /// `D:x`: its folder depends on a process that is not known here.
    DriveRelative {
        /// The drive with its colon.
        drive: String,
    },
    /// `CON`, `NUL.txt`, `COM1`, the share of named pipes and the like.
    DeviceName {
        /// The component, escaped.
        name: String,
    },
    /// `\\?\`, `\\.\` and `\??\`, after which Windows applies other rules.
    VerbatimPrefix,
    /// `//server` without a share, or more than two separators before it.
    IncompleteShare,
    /// `a:b` on Windows.
    AlternateStream {
        /// The component, escaped.
        component: String,
    },
    /// `PROGRA~1` on Windows.
    ShortName {
        /// The component, escaped.
        component: String,
    },
    /// `secret.` or `secret ` on Windows, which opens `secret`.
    TrailingDotOrSpace {
        /// The component, escaped.
        component: String,
    },
    /// A variable or another person's `~name` at the start.
    UnknownVariable {
        /// The variable, escaped.
        name: String,
    },
    /// `~` for a device whose home folder is unknown.
    NoHome,
    /// There are more `..` than folders above.
    EscapesRoot,
    /// The added component is not one plain name.
    NotOneName {
        /// The component, escaped.
        component: String,
    },
    /// `..` after a wildcard, where its effect is unknown.
    ParentInPattern,
    /// A workspace or home of one platform on a device of another.
    WrongStyle,
}

impl std::error::Error for PathError {}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem(), self.hint())
    }
}

impl PathError {
    /// Returns what is wrong, as a clause.
    #[must_use]
    pub fn problem(&self) -> String {
        match self {
            Self::Empty => "the path is empty".to_owned(),
            Self::TooLong => format!("the path is longer than {MAX_PATH_BYTES} bytes"),
            Self::NameTooLong { component } => {
                format!("the name `{component}…` is longer than the 255 that a file system stores")
            }
            Self::Nul => "the path holds a NUL character, which no file name can".to_owned(),
            Self::ControlCharacter { code } => format!(
                "the path holds the control character U+{code:04X}, which Windows file names can't"
            ),
            Self::ForbiddenCharacter { character } => {
                format!("`{character}` can't be part of a Windows file name")
            }
            Self::NotAbsolute => {
                "the path is relative and there is no workspace for it to start in".to_owned()
            }
            Self::RootRelative => "the path begins at the root of an unnamed drive".to_owned(),
            Self::DriveRelative { drive } => {
                format!("`{drive}` without a separator means that drive's current folder")
            }
            Self::DeviceName { name } => format!(
                "`{name}` is a device of Windows and not a file, with or without an extension"
            ),
            Self::VerbatimPrefix => {
                "verbatim and device prefixes (`\\\\?\\`, `\\\\.\\`, `\\??\\`) aren't accepted"
                    .to_owned()
            }
            Self::IncompleteShare => "a network path needs a server and a share".to_owned(),
            Self::AlternateStream { component } => {
                format!("`{component}` names an alternate data stream")
            }
            Self::ShortName { component } => {
                format!("`{component}` looks like a short 8.3 name, which means another name")
            }
            Self::TrailingDotOrSpace { component } => {
                format!("`{component}` ends in a dot or a space, which Windows drops")
            }
            Self::UnknownVariable { name } => format!(
                "`{name}` can't be expanded: only `~` and `$HOME` (on Windows `%USERPROFILE%` too) are known"
            ),
            Self::NoHome => {
                "the home folder of this device isn't known, so `~` means nothing".to_owned()
            }
            Self::EscapesRoot => "the path climbs above its root with `..`".to_owned(),
            Self::NotOneName { component } => format!("`{component}` isn't one plain name"),
            Self::ParentInPattern => "`..` can't follow a wildcard".to_owned(),
            Self::WrongStyle => {
                "the workspace or home folder is written for another platform than the device's"
                    .to_owned()
            }
        }
    }

    /// Returns what to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Empty => {
                "name a file or folder; a relative path begins in the workspace, which is `.`"
                    .to_owned()
            }
            Self::TooLong => "use a shorter path".to_owned(),
            Self::NameTooLong { .. } => "use a shorter name".to_owned(),
            Self::Nul | Self::ControlCharacter { .. } | Self::ForbiddenCharacter { .. } => {
                "remove the character".to_owned()
            }
            Self::NotAbsolute => {
                "write it whole, like `/home/ann/notes` or `C:/Users/ann`".to_owned()
            }
            Self::RootRelative => "write the drive, like `C:/Users/ann`".to_owned(),
            Self::DriveRelative { drive } => format!("write `{drive}/` and the whole path"),
            Self::DeviceName { .. } => "choose another name".to_owned(),
            Self::VerbatimPrefix => "write the plain path, like `C:/Users/ann`".to_owned(),
            Self::IncompleteShare => "write `//server/share/folder`".to_owned(),
            Self::AlternateStream { .. } => {
                "only a drive is followed by `:`, so write the file's name alone".to_owned()
            }
            Self::ShortName { .. } => "write the long name".to_owned(),
            Self::TrailingDotOrSpace { .. } => "write the name without it".to_owned(),
            Self::UnknownVariable { .. } => {
                "write the whole path, or put `./` before a name that really is spelled so"
                    .to_owned()
            }
            Self::NoHome => "write the whole path".to_owned(),
            Self::EscapesRoot => "write the path that is meant".to_owned(),
            Self::NotOneName { .. } => "write one name without `.`, `..` and separators".to_owned(),
            Self::ParentInPattern => "write the pattern without it".to_owned(),
            Self::WrongStyle => "write it as the device does".to_owned(),
        }
    }
}

/// Returns the beginning of untrusted text, escaped, for quoting in an error.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_says_what_is_wrong_and_what_to_write_instead() {
        let word = || "w".to_owned();
        let errors = [
            PathError::Empty,
            PathError::TooLong,
            PathError::NameTooLong { component: word() },
            PathError::Nul,
            PathError::ControlCharacter { code: 7 },
            PathError::ForbiddenCharacter { character: '|' },
            PathError::NotAbsolute,
            PathError::RootRelative,
            PathError::DriveRelative { drive: word() },
            PathError::DeviceName { name: word() },
            PathError::VerbatimPrefix,
            PathError::IncompleteShare,
            PathError::AlternateStream { component: word() },
            PathError::ShortName { component: word() },
            PathError::TrailingDotOrSpace { component: word() },
            PathError::UnknownVariable { name: word() },
            PathError::NoHome,
            PathError::EscapesRoot,
            PathError::NotOneName { component: word() },
            PathError::ParentInPattern,
            PathError::WrongStyle,
        ];
        let problems: std::collections::BTreeSet<_> =
            errors.iter().map(PathError::problem).collect();
        assert_eq!(problems.len(), errors.len(), "two errors say the same: {problems:?}");
        for error in &errors {
            let (problem, hint) = (error.problem(), error.hint());
            assert!(problem.contains(' ') && hint.contains(' '), "{problem:?}, {hint:?}");
            assert_eq!(error.to_string(), format!("{problem}; {hint}"));
        }
    }
}
