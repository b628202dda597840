//! Lexical path rules for POSIX and Windows devices, judged by the device's platform and never the host's.
//!
//! Nothing here touches a disk: a path is text, taken literally and never decoded. What a link really points at is for
//! the device to find out, by opening beneath the allowed root. The names of the host's own standard library have other
//! rules, so none of them is used.

mod built_in;
mod error;
mod launch;
mod name;
mod pattern;
mod places;
mod posix;
mod prefilter;
mod system;
#[cfg(test)]
mod tests;
mod windows;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use built_in::{BuiltIn, BuiltInKind, built_in};
pub use error::PathError;
pub use launch::HARMLESS_DOT_FILES;
pub(crate) use launch::may_start_programs;
pub use pattern::PathPattern;
pub use places::Places;
pub(crate) use prefilter::{Index, Prefilter};
pub use system::{covers, holds_system, system_folders};

pub use name::copied_from;
use name::{Name, Signature};

/// The longest path accepted, in bytes of UTF-8.
pub const MAX_PATH_BYTES: usize = 4096;

/// Whose rules a path is judged by. macOS and every other Unix are POSIX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathStyle {
    /// `/` separates, everything else but NUL is an ordinary character.
    Posix,
    /// Drives and shares, `/` and `\` separate, letters match in either case.
    Windows,
}

impl PathStyle {
    /// Whether `character` separates components in this style.
    fn separates(self, character: char) -> bool {
        match self {
            Self::Posix => character == '/',
            Self::Windows => matches!(character, '/' | '\\'),
        }
    }

    /// Refuses what can never be the text of a path in this style, however it is read.
    fn check_text(self, text: &str) -> Result<(), PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.len() > MAX_PATH_BYTES {
            return Err(PathError::TooLong);
        }
        if text.contains('\0') {
            return Err(PathError::Nul);
        }
        match self {
            Self::Posix => Ok(()),
            Self::Windows => windows::check_text(text),
        }
    }

    /// Splits an absolute path into its drive or share ("" on POSIX) and what follows; `None` when it is relative.
    fn split_prefix(self, text: &str) -> Result<Option<(String, &str)>, PathError> {
        match self {
            Self::Posix => Ok(text.strip_prefix('/').map(|rest| (String::new(), rest))),
            Self::Windows => windows::split_prefix(text),
        }
    }

    /// Refuses what can't be one plain component in this style.
    fn check_component(self, component: &str) -> Result<(), PathError> {
        match self {
            Self::Posix => posix::check_component(component),
            Self::Windows => windows::check_component(component),
        }
    }
}

/// An absolute, normalised path of one style.
///
/// It cannot hold NUL, `.` or `..`, and on Windows no device names, alternate streams, short names or verbatim prefixes.
/// Equality is of the text as written; [`DevicePath::contains`] compares as the style's file systems do.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevicePath {
    style: PathStyle,
    prefix: Name,
    names: Vec<Name>,
    signature: Signature,
}

impl DevicePath {
    /// Reads an absolute path. `.`, `..` and repeated separators are resolved in the text itself.
    ///
    /// # Errors
    /// Any [`PathError`]: the text is relative, climbs above its root, or breaks a rule of `style`.
    pub fn parse(style: PathStyle, text: &str) -> Result<Self, PathError> {
        style.check_text(text)?;
        let (prefix, rest) = style.split_prefix(text)?.ok_or(PathError::NotAbsolute)?;
        let prefix = Name::new(style, &prefix);
        let signature = Signature::default();
        Self { style, prefix, names: Vec::new(), signature }.walk(rest)
    }

    /// Reads a path as a person or a model writes it on one device: `~` is home, a relative path starts at the workspace.
    ///
    /// A relative path may climb out of the workspace; it becomes the absolute path that it means, for grants to judge.
    ///
    /// # Errors
    /// As [`DevicePath::parse`], and [`PathError::NoHome`] or [`PathError::UnknownVariable`] when the start has no meaning here.
    pub fn resolve(places: &Places, text: &str) -> Result<Self, PathError> {
        let style = places.style;
        style.check_text(text)?;
        if style.split_prefix(text)?.is_some() {
            return Self::parse(style, text);
        }
        let (start, rest) = places.start_of(text)?;
        if start.style != style {
            return Err(PathError::WrongStyle);
        }
        start.clone().walk(rest)
    }

    /// Follows the components of `text` from here, validating each, also those that a later `..` takes back.
    fn walk(mut self, text: &str) -> Result<Self, PathError> {
        let style = self.style;
        for component in text.split(|character| style.separates(character)) {
            match component {
                "" | "." => {}
                ".." => {
                    self.names.pop().ok_or(PathError::EscapesRoot)?;
                }
                component => {
                    style.check_component(component)?;
                    self.names.push(Name::new(style, component));
                }
            }
        }
        self.bounded()
    }

    fn bounded(mut self) -> Result<Self, PathError> {
        let names: usize = self.names.iter().map(|name| name.written().len() + 1).sum();
        if self.prefix.written().len() + names.max(1) > MAX_PATH_BYTES {
            return Err(PathError::TooLong);
        }
        self.signature = signature(&self.names);
        Ok(self)
    }

    /// The style whose rules this path follows.
    pub fn style(&self) -> PathStyle {
        self.style
    }

    /// The components below the root, as written.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.names.iter().map(Name::written)
    }

    /// The drive (`C:`) or share (`//server/share`); empty on POSIX.
    pub fn prefix(&self) -> &str {
        self.prefix.written()
    }

    /// Whether `other` is this path or lies beneath it, by component: Windows in either case, both styles character by character.
    #[inline]
    pub fn contains(&self, other: &Self) -> bool {
        other.signature.may_hold(self.signature) && self.is_above(other)
    }

    /// A prefix is of one style alone: empty on POSIX, and never so on Windows.
    fn is_above(&self, other: &Self) -> bool {
        self.prefix.is(&other.prefix)
            && self.names.len() <= other.names.len()
            && self.names.iter().zip(&other.names).all(|(mine, its)| mine.is(its))
    }

    /// Wider than [`DevicePath::contains`], as a deny compares: in either case, whatever the style.
    ///
    /// For what must not go with this path, on a file system that takes both spellings for one.
    #[inline]
    pub fn may_contain(&self, other: &Self) -> bool {
        other.signature.may_hold(self.signature) && self.may_be_above(other)
    }

    fn may_be_above(&self, other: &Self) -> bool {
        self.prefix.drive() == other.prefix.drive()
            && self.names.len() <= other.names.len()
            && self.names.iter().zip(&other.names).all(|(mine, its)| mine.loose() == its.loose())
    }

    /// The components that lead from `base` to this path; `None` when it isn't `base` or beneath it.
    pub fn relative_to(&self, base: &Self) -> Option<Vec<&str>> {
        base.contains(self).then(|| self.components().skip(base.names.len()).collect())
    }

    /// The folder that holds this path; `None` at the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.names.split_last()?;
        let (style, prefix) = (self.style, self.prefix.clone());
        Some(Self { style, prefix, names: above.to_vec(), signature: signature(above) })
    }

    /// The last component; `None` at the root.
    pub fn file_name(&self) -> Option<&str> {
        self.names.last().map(Name::written)
    }

    /// This path with one plain component added.
    ///
    /// # Errors
    /// [`PathError::NotOneName`] for `.`, `..`, nothing, or anything with a separator, and the style's rules for a component.
    pub fn join(&self, component: &str) -> Result<Self, PathError> {
        let separated = component.contains(|character| self.style.separates(character));
        if separated || matches!(component, "" | "." | "..") {
            return Err(PathError::NotOneName { component: error::shown(component) });
        }
        self.style.check_text(component)?;
        self.style.check_component(component)?;
        let mut joined = self.clone();
        joined.names.push(Name::new(self.style, component));
        joined.bounded()
    }
}

fn signature(names: &[Name]) -> Signature {
    names.iter().fold(Signature::default(), |all, name| all.and(name.signature()))
}

/// Writes `/a/b`, `C:/a/b` or `//server/share/a`, which [`DevicePath::parse`] reads back as the same path.
impl fmt::Display for DevicePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.prefix())?;
        if self.names.is_empty() {
            return formatter.write_str("/");
        }
        self.components().try_for_each(|component| write!(formatter, "/{component}"))
    }
}

impl fmt::Debug for DevicePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {:?}", self.style, self.to_string())
    }
}

impl Serialize for DevicePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Told by shape: a normalised POSIX path is the only one that begins with exactly one `/`.
impl<'de> Deserialize<'de> for DevicePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let style = if text.starts_with('/') && !text.starts_with("//") {
            PathStyle::Posix
        } else {
            PathStyle::Windows
        };
        Self::parse(style, &text).map_err(serde::de::Error::custom)
    }
}
