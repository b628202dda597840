//! Lexical path rules for POSIX and Windows devices, by the device's platform and never the host's.
//!
//! Nothing here touches a disk: a path is text, taken literally and never decoded. The device finds the
//! real target of a link, by opening beneath the allowed root. The host's standard library has other
//! rules for names, so none of its path types is used.

mod built_in;
mod error;
mod launch;
mod name;
mod pattern;
mod places;
mod posix;
mod prefilter;
mod projects;
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
pub use projects::{ALL_PROJECTS, MAX_PROJECTS, ProjectError, Projects};
pub use system::{covers, holds_system, system_folders};

pub use name::copied_from;
use name::{Name, Signature};

/// The maximum length of a path, in bytes of UTF-8.
pub const MAX_PATH_BYTES: usize = 4096;

/// The platform whose rules apply to a path. macOS and every other Unix are POSIX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathStyle {
    /// `/` separates; every other character except NUL is ordinary.
    Posix,
    /// Drives and shares; `/` and `\` separate; case is ignored.
    Windows,
}

impl PathStyle {
    /// Returns whether `character` separates components in this style.
    fn separates(self, character: char) -> bool {
        match self {
            Self::Posix => character == '/',
            Self::Windows => matches!(character, '/' | '\\'),
        }
    }

    /// Rejects text that cannot be a path in this style.
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

    /// Splits an absolute path into its drive or share ("" on POSIX) and the rest; `None` when it is
    /// relative.
    fn split_prefix(self, text: &str) -> Result<Option<(String, &str)>, PathError> {
        match self {
            Self::Posix => Ok(text.strip_prefix('/').map(|rest| (String::new(), rest))),
            Self::Windows => windows::split_prefix(text),
        }
    }

    /// Rejects what cannot be one plain component in this style.
    fn check_component(self, component: &str) -> Result<(), PathError> {
        match self {
            Self::Posix => posix::check_component(component),
            Self::Windows => windows::check_component(component),
        }
    }
}

/// An absolute, normalised path of one style.
///
/// It cannot hold NUL, `.` or `..`, and on Windows no device names, alternate streams, short names or
/// verbatim prefixes. Equality compares the text as written; [`DevicePath::contains`] compares as the
/// style's file systems do.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevicePath {
    style: PathStyle,
    prefix: Name,
    names: Vec<Name>,
    signature: Signature,
}

impl DevicePath {
    /// Parses an absolute path. `.`, `..` and repeated separators are resolved lexically.
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

    /// Parses a path as a person or a model writes it: `~` is home, a relative path starts at the
    /// workspace.
    ///
    /// A relative path may leave the workspace. It becomes the absolute path that it means, for grants
    /// to evaluate.
    ///
    /// # Errors
    /// As [`DevicePath::parse`], and [`PathError::NoHome`] or [`PathError::UnknownVariable`] when the
    /// start is unknown here.
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

    /// Appends the components of `text`, validating each, also those that a later `..` removes.
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

    /// Returns the style whose rules this path follows.
    pub fn style(&self) -> PathStyle {
        self.style
    }

    /// Returns the components below the root, as written.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.names.iter().map(Name::written)
    }

    /// Returns the drive (`C:`) or share (`//server/share`); empty on POSIX.
    pub fn prefix(&self) -> &str {
        self.prefix.written()
    }

    /// Returns whether `other` is this path or beneath it, by component. Windows ignores case; both
    /// styles compare characters exactly otherwise.
    #[inline]
    pub fn contains(&self, other: &Self) -> bool {
        other.signature.may_hold(self.signature) && self.is_above(other)
    }

    /// A prefix belongs to one style: it is empty on POSIX, and never empty on Windows.
    fn is_above(&self, other: &Self) -> bool {
        self.prefix.is(&other.prefix)
            && self.names.len() <= other.names.len()
            && self.names.iter().zip(&other.names).all(|(mine, its)| mine.is(its))
    }

    /// Wider than [`DevicePath::contains`], as a deny compares: ignores case, whatever the style.
    ///
    /// For what must not be affected with this path, on a file system that treats both spellings as one.
    #[inline]
    pub fn may_contain(&self, other: &Self) -> bool {
        other.signature.may_hold(self.signature) && self.may_be_above(other)
    }

    fn may_be_above(&self, other: &Self) -> bool {
        self.prefix.drive() == other.prefix.drive()
            && self.names.len() <= other.names.len()
            && self.names.iter().zip(&other.names).all(|(mine, its)| mine.loose() == its.loose())
    }

    /// Returns the components that lead from `base` to this path; `None` when it isn't `base` or beneath
    /// it.
    pub fn relative_to(&self, base: &Self) -> Option<Vec<&str>> {
        base.contains(self).then(|| self.components().skip(base.names.len()).collect())
    }

    /// Returns the folder that holds this path; `None` at the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.names.split_last()?;
        let (style, prefix) = (self.style, self.prefix.clone());
        Some(Self { style, prefix, names: above.to_vec(), signature: signature(above) })
    }

    /// Returns the last component; `None` at the root.
    pub fn file_name(&self) -> Option<&str> {
        self.names.last().map(Name::written)
    }

    /// Returns this path with one plain component added.
    ///
    /// # Errors
    /// [`PathError::NotOneName`] for `.`, `..`, nothing, or anything with a separator, and the style's
    /// rules for a component.
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

/// Writes `/a/b`, `C:/a/b` or `//server/share/a`, which [`DevicePath::parse`] reads back as the same
/// path.
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

/// Detects the style by shape: only a normalised POSIX path begins with exactly one `/`.
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
