//! Why a text is not a path that Orion accepts, each with the correct form.

use thiserror::Error;

use super::MAX_PATH_BYTES;

/// Why a path or a pattern was rejected. Quoted pieces are escaped and shortened, so that they are safe
/// to print.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// The text is empty.
    #[error("the path is empty; write an absolute path, or `.` for the workspace")]
    Empty,
    /// The path exceeds [`MAX_PATH_BYTES`], as written or made absolute.
    #[error("the path is longer than {MAX_PATH_BYTES} bytes; use a shorter one")]
    TooLong,
    /// One component is longer than file systems store.
    #[error(
        "the name `{component}…` is longer than the 255 that a file system stores; use a shorter one"
    )]
    NameTooLong {
        /// Its beginning, escaped.
        component: String,
    },
    /// A NUL, at which most systems would silently truncate the path.
    #[error("the path holds a NUL character, which no file name can; remove it")]
    Nul,
    /// A character below U+0020 on Windows.
    #[error(
        "the path holds the control character U+{code:04X}, which Windows file names can't; remove it"
    )]
    ControlCharacter {
        /// Its code point.
        code: u32,
    },
    /// One of `<>"|?*` on Windows.
    #[error("`{character}` can't be part of a Windows file name; remove it")]
    ForbiddenCharacter {
        /// The character.
        character: char,
    },
    /// A relative path without a workspace to start from.
    #[error(
        "the path is relative and there is no workspace for it to start in; write it whole, like `/home/ann/notes` or `C:/Users/ann`"
    )]
    NotAbsolute,
    /// `\x`: its drive depends on a process that is not known here.
    #[error(
        "the path begins at the root of an unnamed drive; write the drive, like `C:/Users/ann`"
    )]
    RootRelative,
    /// `D:x`: its folder depends on a process that is not known here.
    #[error(
        "`{drive}` without a separator means that drive's current folder; write `{drive}/` and the whole path"
    )]
    DriveRelative {
        /// The drive with its colon.
        drive: String,
    },
    /// `CON`, `NUL.txt`, `COM1`, the share of named pipes and the like.
    #[error(
        "`{name}` is a device of Windows and not a file, with or without an extension; choose another name"
    )]
    DeviceName {
        /// The component, escaped.
        name: String,
    },
    /// `\\?\`, `\\.\` and `\??\`, after which Windows applies other rules.
    #[error(
        "verbatim and device prefixes (`\\\\?\\`, `\\\\.\\`, `\\??\\`) aren't accepted; write the plain path, like `C:/Users/ann`"
    )]
    VerbatimPrefix,
    /// `//server` without a share, or more than two separators before it.
    #[error("a network path needs a server and a share; write `//server/share/folder`")]
    IncompleteShare,
    /// `a:b` on Windows.
    #[error(
        "`{component}` names an alternate data stream; only a drive is followed by `:`, so write the file's name alone"
    )]
    AlternateStream {
        /// The component, escaped.
        component: String,
    },
    /// `PROGRA~1` on Windows.
    #[error(
        "`{component}` looks like a short 8.3 name, which means another name; write the long one"
    )]
    ShortName {
        /// The component, escaped.
        component: String,
    },
    /// `secret.` or `secret ` on Windows, which opens `secret`.
    #[error(
        "`{component}` ends in a dot or a space, which Windows drops; write the name without it"
    )]
    TrailingDotOrSpace {
        /// The component, escaped.
        component: String,
    },
    /// A variable or another person's `~name` at the start.
    #[error(
        "`{name}` can't be expanded: only `~` and the variable of the home folder are known; write the whole path, or put `./` before a name that really is spelled so"
    )]
    UnknownVariable {
        /// The variable, escaped.
        name: String,
    },
    /// `~` for a device whose home folder is unknown.
    #[error(
        "the home folder of this device isn't known, so `~` means nothing; write the whole path"
    )]
    NoHome,
    /// There are more `..` than folders above.
    #[error("the path climbs above its root with `..`; write the path that is meant")]
    EscapesRoot,
    /// The added component is not one plain name.
    #[error("`{component}` isn't one plain name; `.`, `..` and separators aren't accepted here")]
    NotOneName {
        /// The component, escaped.
        component: String,
    },
    /// `..` after a wildcard, where its effect is unknown.
    #[error("`..` can't follow a wildcard; write the pattern without it")]
    ParentInPattern,
    /// A workspace or home of one platform on a device of another.
    #[error(
        "the workspace or home folder is written for another platform than the device's; write it as the device does"
    )]
    WrongStyle,
}

/// Returns the beginning of untrusted text, escaped, for quoting in an error.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_debug).collect()
}
