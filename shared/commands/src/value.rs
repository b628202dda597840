//! The kinds of values that options and positional arguments take, as grammars write them.

use orion_domain::Access;

/// What an argument is to its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text that the program only reads.
    Text,
    /// A name of letters, digits and `._@/+:^~-`.
    Name,
    /// A number, with a sign, a fraction or a short unit.
    Number,
    /// A host name or an IPv4 address.
    Host,
    /// An http or https address.
    Url,
    /// A revision of a repository, or a path in it. It is reported as a path.
    Revision,
    /// A lint of the Rust compiler with its level, such as `-Dwarnings`.
    Lint,
    /// One of the listed texts. `*` at the end of one stands for any rest.
    Choice,
    /// A path with its accesses.
    Path(&'static [Access]),
    /// A path that is read, and written where the command writes or runs project code.
    Subject,
    /// A folder to which the program changes first.
    Folder,
}

/// How often a positional argument may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// Exactly once.
    One,
    /// Once or never: `?`.
    Optional,
    /// Any number of times: `*`.
    Any,
    /// At least once: `+`.
    Some,
}

/// A kind with its limits, such as `text!import,include` or `choice:json|yaml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) kind: Kind,
    pub(crate) count: Count,
    /// The choices of [`Kind::Choice`].
    choices: Vec<String>,
    /// Texts in lower case that must not occur in it, in any case. One with `^` before it must not be its start.
    forbidden: Vec<String>,
}

impl Value {
    /// Reads a kind as a grammar writes it. None if it is not valid.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (text, forbidden) = text.split_once('!').unwrap_or((text, ""));
        let (text, choices) = text.split_once(':').unwrap_or((text, ""));
        let last = [choices, text].into_iter().find(|it| !it.is_empty())?;
        let (count, counted) = match last.chars().last()? {
            '?' => (Count::Optional, 1),
            '*' if choices.is_empty() => (Count::Any, 1),
            '+' => (Count::Some, 1),
            _ => (Count::One, 0),
        };
        let last = last.get(..last.len() - counted)?;
        let (text, choices) = if choices.is_empty() { (last, "") } else { (text, last) };
        let kind = match text {
            "text" => Kind::Text,
            "name" => Kind::Name,
            "number" => Kind::Number,
            "host" => Kind::Host,
            "url" => Kind::Url,
            "revision" => Kind::Revision,
            "lint" => Kind::Lint,
            "choice" => Kind::Choice,
            "path_read" => Kind::Path(&[Access::Read]),
            "path_write" => Kind::Path(&[Access::Write]),
            "path_update" => Kind::Path(&[Access::Read, Access::Write]),
            "path_delete" => Kind::Path(&[Access::Delete]),
            "path_move" => Kind::Path(&[Access::Read, Access::Delete]),
            "path_subject" => Kind::Subject,
            "folder" => Kind::Folder,
            _ => return None,
        };
        let list = |text: &str, separator: char| -> Vec<String> {
            text.split(separator).filter(|it| !it.is_empty()).map(ToOwned::to_owned).collect()
        };
        let choices = list(choices, '|');
        ((kind == Kind::Choice) != choices.is_empty()).then_some(())?;
        Some(Self { kind, count, choices, forbidden: list(&forbidden.to_lowercase(), ',') })
    }

    /// Returns whether the program receives what the grammar expects.
    pub(crate) fn accepts(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        let is_forbidden = |part: &String| match part.strip_prefix('^') {
            Some(start) => lower.starts_with(start),
            None => lower.contains(part.as_str()),
        };
        if self.forbidden.iter().any(is_forbidden) {
            return false;
        }
        match self.kind {
            Kind::Text => true,
            Kind::Name => text.chars().all(|it| it.is_alphanumeric() || "._@/+:^~-".contains(it)),
            Kind::Number => is_number(text),
            Kind::Host => is_host(text),
            Kind::Url => host_of(text).is_some(),
            Kind::Lint => is_lint(text),
            Kind::Choice => self.choices.iter().any(|choice| match choice.strip_suffix('*') {
                Some(start) => text.starts_with(start),
                None => text == choice,
            }),
            Kind::Revision | Kind::Path(_) | Kind::Subject | Kind::Folder => !text.is_empty(),
        }
    }

    /// Returns the kind in words, for the reason of a request.
    pub(crate) const fn expected(&self) -> &'static str {
        match self.kind {
            Kind::Text => "a text without instructions to the program",
            Kind::Name => "a plain name",
            Kind::Number => "a number",
            Kind::Host => "a host",
            Kind::Url => "an http or https address",
            Kind::Revision => "a revision or a path",
            Kind::Lint => "a lint",
            Kind::Choice => "one of the values that the grammar lists",
            Kind::Path(_) | Kind::Subject => "a path",
            Kind::Folder => "a folder",
        }
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let unit = digits.trim_start_matches(|it: char| it.is_ascii_digit() || it == '.');
    digits.starts_with(|it: char| it.is_ascii_digit() || it == '.')
        && unit.len() <= 3
        && unit.chars().all(|it| it.is_ascii_alphabetic() || it == '%')
}

fn is_host(text: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-');
    text.starts_with(|it: char| it.is_ascii_alphanumeric()) && text.chars().all(is_letter)
}

fn is_lint(text: &str) -> bool {
    let name = ["-D", "-W", "-A", "-F"].iter().find_map(|level| text.strip_prefix(level));
    let is_name = |it: char| it.is_ascii_lowercase() || matches!(it, '_' | ':' | '-');
    match name {
        Some(name) => name.chars().all(is_name),
        None => !text.starts_with('-') && text.chars().all(is_name),
    }
}

/// Returns the host and port that an http or https address leads to, as `host:port`. Without a scheme it is
/// http, as clients have it.
pub(crate) fn address_of(url: &str) -> Option<String> {
    let host = host_of(url)?;
    let own = if url.starts_with("https://") { 443 } else { 80 };
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let port = authority.split_once(':').map_or("", |(_, port)| port);
    let port = if port.is_empty() { own } else { port.parse().ok()? };
    Some(format!("{host}:{port}"))
}

/// Returns the host of an http or https address, without its port. None for any other address, for one with
/// a user, and for one that clients read in different ways.
pub(crate) fn host_of(url: &str) -> Option<&str> {
    let rest = match url.split_once("://") {
        Some(("http" | "https", rest)) => rest,
        Some(_) => return None,
        None => url,
    };
    if url.contains(['\\', '{', '}', '[', ']']) || url.chars().any(char::is_whitespace) {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let is_port = port.is_empty() || port.parse::<u16>().is_ok_and(|port| port > 0);
    (is_host(host) && is_port && port.chars().all(|it| it.is_ascii_digit())).then_some(host)
}
