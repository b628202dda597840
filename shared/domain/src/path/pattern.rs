//! The entries of allow and deny lists: a folder with everything beneath it, or a pattern with wildcards.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::name::{Name, Signature};
use super::system::shielded;
use super::{DevicePath, PathError, PathStyle, Places, windows};

/// An entry of an allow or deny list. It covers what it matches and everything beneath that.
///
/// `~/Projects`, `C:/Users/ann` and `D:/` are folders. In `**/.env`, `~/*/notes` and `**/*.kdbx`, `*`
/// and `?` match any and one character within a component, and `**` any number of components. A pattern
/// that begins with `**` applies on every drive and share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathPattern {
    text: String,
    style: PathStyle,
    root: Option<DevicePath>,
    tail: Vec<Token>,
    /// Names that none of its wildcards match.
    but: Vec<Token>,
    /// Whether a copy of a matching file also matches.
    with_copies: bool,
    /// Components that every matching path holds.
    pub(super) signature: Signature,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Token {
    /// `**`
    AnyDepth,
    /// A component without wildcards.
    One(Name),
    /// A component with `*` or `?`, and its plain ends in the exact and in the loose form.
    Wild(Name, Ends, Ends),
}

/// Where the plain beginning of a component ends and its plain end begins, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ends {
    first: usize,
    last: usize,
}

impl Ends {
    fn of(component: &str) -> Option<Self> {
        let wildcards = ['*', '?'];
        let (first, last) = (component.find(wildcards)?, component.rfind(wildcards)?);
        Some(Self { first, last: last + 1 })
    }
}

#[derive(Clone, Copy)]
enum Comparison {
    Exact,
    Loose,
}

impl Comparison {
    fn key(self, name: &Name) -> &str {
        match self {
            Self::Exact => name.exact(),
            Self::Loose => name.loose(),
        }
    }
}

impl PathPattern {
    /// Parses an entry as a policy writes it.
    ///
    /// # Errors
    /// As [`DevicePath::resolve`], and [`PathError::ParentInPattern`] for `..` after a wildcard.
    pub fn parse(places: &Places, text: &str) -> Result<Self, PathError> {
        let style = places.style;
        style.check_text(text)?;
        let (head, tail) = split_at_wildcard(style, text);
        let floats = tail.split(|character| style.separates(character)).next() == Some("**")
            && head.is_empty();
        let root = match head {
            _ if floats => None,
            "" => Some(DevicePath::resolve(places, ".")?),
            head => Some(DevicePath::resolve(places, head)?),
        };
        let mut tokens = Vec::new();
        for component in tail.split(|character| style.separates(character)) {
            match component {
                "" | "." => {}
                ".." => return Err(PathError::ParentInPattern),
                "**" => tokens.push(Token::AnyDepth),
                component => tokens.push(token(pattern_component(style, component)?)),
            }
        }
        tokens.push(Token::AnyDepth);
        let from = root.as_ref().map_or_else(Signature::default, |root| root.signature);
        let signature = tokens.iter().fold(from, |all, token| all.and(token.signature()));
        let text = text.to_owned();
        let (but, with_copies) = (Vec::new(), false);
        Ok(Self { text, style, root, tail: tokens, but, with_copies, signature })
    }

    /// Excludes these names, separated by spaces: a wildcard does not match them.
    #[must_use]
    pub(crate) fn but(mut self, names: &str) -> Self {
        let token = |name: &str| token(Name::new(self.style, name));
        self.but = names.split_whitespace().map(token).collect();
        self
    }

    /// Also denies copies of what the entry denies: `**/id_rsa` denies `id_rsa.bak` too.
    #[must_use]
    pub(crate) fn with_copies(mut self) -> Self {
        self.with_copies = true;
        self
    }

    /// Returns whether the path matches or is beneath a match, by the style's own comparison of names.
    pub fn matches(&self, path: &DevicePath) -> bool {
        self.may_match(path) && self.matches_by(Comparison::Exact, path)
    }

    /// Returns whether this allow entry allows the path: it matches, and names any system folder that
    /// holds the path.
    pub fn allows(&self, path: &DevicePath) -> bool {
        self.matches(path) && !shielded(self.root.as_ref(), path)
    }

    /// Returns whether this deny entry denies the path.
    ///
    /// Wider than [`PathPattern::matches`], because a deny must also work on file systems that fold case
    /// (macOS) or ignore invisible characters, and for a drive reached through its own administrative
    /// share (`//host/C$`).
    #[inline]
    pub fn denies(&self, path: &DevicePath) -> bool {
        // Names equal for an allow are equal for a deny, except that one character, which a wildcard
        // matches, may be several in the loose form.
        self.may_match(path)
            && (self.matches_by(Comparison::Loose, path)
                || self.matches_by(Comparison::Exact, path))
    }

    /// Returns whether what this deny entry denies is inside the folder at `path`, by the written part
    /// of the way there.
    ///
    /// `~/work/*/prod` reaches into `~/work/a` and into every folder around it. Where `**` is before the
    /// last name, as in `**/prod`, any folder or none may hold a match: only the disk shows that, so
    /// this returns false.
    pub fn reaches_into(&self, path: &DevicePath) -> bool {
        let Some(root) = &self.root else { return false };
        if path.may_contain(root) {
            return true;
        }
        if !root.may_contain(path) {
            return false;
        }
        let names = path.names.iter().skip(root.names.len());
        let mut tail = self.tail.iter().take(self.tail.len().saturating_sub(1));
        for name in names {
            let fits = |token: &Token| {
                self.fits(token, Comparison::Loose, name)
                    || self.fits(token, Comparison::Exact, name)
            };
            if !tail.next().is_some_and(fits) {
                return false;
            }
        }
        tail.all(|token| *token != Token::AnyDepth)
    }

    /// Returns the folder before the first wildcard; `None` when the entry applies anywhere.
    ///
    /// An entry touches something beneath a folder only if one of the two folders contains the other.
    pub fn root(&self) -> Option<&DevicePath> {
        self.root.as_ref()
    }

    /// Returns whether the entry is one folder with everything beneath it, without wildcards.
    pub fn is_folder(&self) -> bool {
        self.root.is_some() && self.tail == [Token::AnyDepth]
    }

    /// Returns the entry as it was written.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// Returns whether a full comparison is needed. Most entries differ from most paths.
    #[inline]
    fn may_match(&self, path: &DevicePath) -> bool {
        self.style == path.style && path.signature.may_hold(self.signature)
    }

    fn matches_by(&self, comparison: Comparison, path: &DevicePath) -> bool {
        let Some(root) = &self.root else {
            return self.tail_matches(comparison, &path.names);
        };
        let same_prefix = match comparison {
            Comparison::Exact => root.prefix.is(&path.prefix),
            Comparison::Loose => root.prefix.drive() == path.prefix.drive(),
        };
        let Some((head, rest)) = path.names.split_at_checked(root.names.len()) else {
            return false;
        };
        let same = |(mine, its): (&Name, &Name)| comparison.key(mine) == comparison.key(its);
        same_prefix && root.names.iter().zip(head).all(same) && self.tail_matches(comparison, rest)
    }

    fn tail_matches(&self, comparison: Comparison, names: &[Name]) -> bool {
        wildcard_match(
            &self.tail,
            names,
            |token| *token == Token::AnyDepth,
            |token, name| self.fits(token, comparison, name),
        )
    }

    fn fits(&self, token: &Token, comparison: Comparison, name: &Name) -> bool {
        let is_left_out = || self.but.iter().any(|but| but.fits(Comparison::Exact, name));
        let of_copy = || {
            let loose = matches!(comparison, Comparison::Loose) && self.with_copies;
            name.original().filter(|_| loose).is_some_and(|name| token.is(Comparison::Loose, name))
        };
        (token.fits(comparison, name) && !(matches!(token, Token::Wild(..)) && is_left_out()))
            || of_copy()
    }
}

impl Token {
    /// Returns the signature of what every matching component holds.
    fn signature(&self) -> Signature {
        match self {
            Self::AnyDepth => Signature::default(),
            Self::One(name) => name.signature(),
            Self::Wild(name, _, loose) => Signature::of_ending(&name.loose()[loose.last..]),
        }
    }

    /// Returns whether one component matches this token; `**` matches none in particular.
    fn fits(&self, comparison: Comparison, name: &Name) -> bool {
        self.is(comparison, comparison.key(name))
    }

    fn is(&self, comparison: Comparison, key: &str) -> bool {
        match self {
            Self::AnyDepth => false,
            Self::One(pattern) => comparison.key(pattern) == key,
            Self::Wild(pattern, exact, loose) => {
                let ends = match comparison {
                    Comparison::Exact => exact,
                    Comparison::Loose => loose,
                };
                wild_matches(comparison.key(pattern), *ends, key)
            }
        }
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// Splits before the first component that holds a wildcard; the second part is empty without one.
fn split_at_wildcard(style: PathStyle, text: &str) -> (&str, &str) {
    let Some(wildcard) = text.find(['*', '?']) else {
        return (text, "");
    };
    let before = &text[..wildcard];
    let start =
        before.rfind(|character| style.separates(character)).map_or(0, |separator| separator + 1);
    text.split_at(start)
}

fn pattern_component(style: PathStyle, component: &str) -> Result<Name, PathError> {
    if !component.contains(['*', '?']) {
        style.check_component(component)?;
    } else if style == PathStyle::Windows {
        windows::check_pattern_component(component)?;
    }
    Ok(Name::new(style, component))
}

fn token(name: Name) -> Token {
    match (Ends::of(name.exact()), Ends::of(name.loose())) {
        (Some(exact), Some(loose)) => Token::Wild(name, exact, loose),
        _ => Token::One(name),
    }
}

/// The plain text before the first wildcard and after the last is compared directly, which excludes most
/// names; the rest is matched by wildcards.
fn wild_matches(pattern: &str, Ends { first, last }: Ends, name: &str) -> bool {
    let between =
        name.strip_prefix(&pattern[..first]).and_then(|name| name.strip_suffix(&pattern[last..]));
    let (pattern, Some(name)) = (&pattern[first..last], between) else { return false };
    if name.is_ascii() {
        return wildcard_match(
            pattern.as_bytes(),
            name.as_bytes(),
            |byte| *byte == b'*',
            |expected, found| *expected == b'?' || expected == found,
        );
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    wildcard_match(
        &pattern,
        &name,
        |character| *character == '*',
        |expected, found| *expected == '?' || expected == found,
    )
}

/// Matches a whole sequence against one with stars. Backtracking to the last star alone is enough, and
/// bounds the work by the product of both lengths.
fn wildcard_match<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    is_one: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(item) = text.get(read) {
        match pattern.get(at) {
            Some(wanted) if is_star(wanted) => {
                at += 1;
                star = Some((at, read));
            }
            Some(wanted) if is_one(wanted, item) => {
                at += 1;
                read += 1;
            }
            _ => match star {
                Some((after, taken)) => {
                    at = after;
                    read = taken + 1;
                    star = Some((after, read));
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(is_star)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Matches `*` and `?` in the simplest way, one character at a time.
    fn plain(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            (['*', after @ ..], _) => {
                plain(after, name)
                    || name.split_first().is_some_and(|(_, rest)| plain(pattern, rest))
            }
            ([wanted, after @ ..], [found, rest @ ..]) => {
                (*wanted == '?' || wanted == found) && plain(after, rest)
            }
            ([_, ..], []) | ([], [_, ..]) => false,
        }
    }

    proptest! {
        #[test]
        fn wildcards_match_as_they_are_read_plainly(pattern in "[abé*?]{0,3}[*?][abé*?]{0,3}", name in "[abé]{0,6}") {
            let of = |text: &str| text.chars().collect::<Vec<_>>();
            let ends = Ends::of(&pattern).unwrap();
            prop_assert_eq!(wild_matches(&pattern, ends, &name), plain(&of(&pattern), &of(&name)));
        }
    }

    #[test]
    fn what_stands_between_wildcards_is_itself() {
        for (pattern, name, expected) in [
            ("?b?", "xbx", true),
            ("?b?", "xcx", false),
            ("?b?", "ébé", true),
            ("?b?", "écé", false),
            ("a*b*c", "axbxc", true),
            ("a*b*c", "axdxc", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(wild_matches(pattern, Ends::of(pattern).unwrap(), name), expected, "{name}");
        }
    }

    #[test]
    fn where_wildcards_stand_is_told_in_bytes() {
        assert_eq!(Ends::of("é*a?é"), Some(Ends { first: 2, last: 5 }));
        assert_eq!(Ends::of("?"), Some(Ends { first: 0, last: 1 }));
        assert_eq!(Ends::of("é"), None);
    }
}
