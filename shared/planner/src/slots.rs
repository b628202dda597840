//! The parts of a sentence that a person chooses: paths, texts, globs, applications, places.
//!
//! A slot accepts only words that can be nothing else. Words of the grammar (and, with, to, …) are names only
//! in quotes, so that a request for two things is not read as one.

use crate::words::Word;

/// A kind of slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A path or a name: up to six words.
    Path,
    /// Quoted text.
    Text,
    /// Text, with quotes or without.
    Words,
    /// A word with a wildcard.
    Glob,
    /// A kind of file, as a glob.
    Kind,
    /// A file name: a word with an extension, quoted or not.
    File,
    /// A count from 1.
    Count,
    /// An application.
    App,
    /// An http(s) address.
    Url,
    /// A time zone.
    Zone,
    /// An arithmetic expression.
    Expression,
}

impl Slot {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "path" | "parent" | "name" | "source" | "target" => Self::Path,
            "text" | "old" | "new" => Self::Text,
            "words" => Self::Words,
            "glob" => Self::Glob,
            "kind" => Self::Kind,
            "file" => Self::File,
            "count" => Self::Count,
            "app" => Self::App,
            "url" => Self::Url,
            "zone" => Self::Zone,
            "expression" => Self::Expression,
            _ => return None,
        })
    }

    pub(crate) const fn most_words(self) -> usize {
        match self {
            Self::Path => 6,
            Self::Words | Self::Expression => 48,
            Self::App => 3,
            Self::Zone => 2,
            Self::Text | Self::Glob | Self::Kind | Self::File | Self::Count | Self::Url => 1,
        }
    }
}

/// Words that join other words.
const JOINING: [&str; 58] = [
    "a",
    "an",
    "the",
    "and",
    "then",
    "or",
    "for",
    "from",
    "with",
    "without",
    "that",
    "which",
    "called",
    "named",
    "in",
    "inside",
    "into",
    "on",
    "of",
    "to",
    "if",
    "when",
    "all",
    "it",
    "me",
    "een",
    "de",
    "het",
    "en",
    "dan",
    "daarna",
    "of",
    "voor",
    "van",
    "uit",
    "met",
    "zonder",
    "dat",
    "die",
    "genaamd",
    "naar",
    "op",
    "aan",
    "als",
    "wanneer",
    "alle",
    "alles",
    "dit",
    "mij",
    "er",
    "toe",
    "everything",
    "not",
    "niet",
    "this",
    "there",
    "here",
    "hier",
];

/// Returns the slot's value, if these words fit the slot.
pub(crate) fn read(slot: Slot, text: &str, words: &[Word]) -> Option<String> {
    let (first, last) = (words.first()?, words.last()?);
    if words.iter().rev().skip(1).any(|word| word.breaks) {
        return None;
    }
    let value = match (&first.quoted, words.len()) {
        (Some(quoted), 1) => quoted.as_str(),
        _ if words.iter().any(|word| word.quoted.is_some()) => return None,
        _ => text.get(first.start..last.end)?,
    };
    let quoted = first.quoted.is_some();
    if value.contains('\0') || (slot != Slot::Text && slot != Slot::Words && value.trim() != value)
    {
        return None;
    }
    let joins = !quoted && words.iter().any(|word| JOINING.contains(&word.key.as_str()));
    match slot {
        Slot::Path => (!joins && !value.contains(['"', '\n'])).then(|| value.to_owned()),
        Slot::Text => quoted.then(|| value.to_owned()),
        Slot::Words => Some(value.to_owned()),
        Slot::Glob => value.contains(['*', '?']).then(|| value.to_owned()),
        Slot::Kind => kind(&first.key),
        Slot::File => is_file(value).then(|| value.to_owned()),
        Slot::Count => value.parse::<u32>().ok().filter(|n| *n > 0).map(|n| n.to_string()),
        Slot::App => {
            let fits = !joins && !value.contains(['/', '\\', ':']) && !is_file(value);
            fits.then(|| app(value, quoted))
        }
        Slot::Url => url(value),
        Slot::Zone => zone(value),
        Slot::Expression => expression(value),
    }
}

/// Returns an expression with the operators of the tool: digits with at least one operator between them.
fn expression(value: &str) -> Option<String> {
    // Beside an asterisk, a question mark is part of its word, as in a glob.
    let plain = value
        .trim_end_matches(['?', '=', ' '])
        .replace(['×', '·'], "*")
        .replace(['÷', ':'], "/")
        .replace('−', "-");
    let of_grammar = |it: char| it.is_ascii_digit() || it == ' ' || "+-*/%().".contains(it);
    let operands = plain.split(|it: char| "+-*/%".contains(it));
    let operands = operands.filter(|it| it.contains(|digit: char| digit.is_ascii_digit()));
    (plain.chars().all(of_grammar) && operands.count() > 1).then_some(plain)
}

/// Returns whether a text looks like a file name, with an extension.
pub(crate) fn is_file(value: &str) -> bool {
    value.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && !stem.ends_with(['/', '\\', '.'])
            && (1..=5).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

fn kind(word: &str) -> Option<String> {
    const ENDINGS: [&str; 44] = [
        "zip", "pdf", "txt", "md", "csv", "json", "xml", "html", "log", "png", "jpg", "jpeg",
        "gif", "svg", "mp3", "mp4", "wav", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt",
        "ods", "tar", "gz", "rs", "py", "js", "ts", "toml", "yaml", "yml", "ini", "conf", "sh",
        "exe", "iso", "deb", "css", "sql", "c", "java",
    ];
    let ending = match word {
        "text" | "tekst" => "txt",
        "markdown" => "md",
        "python" => "py",
        _ => word.strip_prefix('.').unwrap_or(word),
    };
    let dotted = word.starts_with('.')
        && (1..=8).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (dotted || ENDINGS.contains(&ending)).then(|| format!("*.{ending}"))
}

/// Returns the name that devices use for an application.
fn app(value: &str, quoted: bool) -> String {
    if quoted {
        return value.to_owned();
    }
    let name = value.to_lowercase();
    match name.as_str() {
        "google chrome" | "chrome browser" => "chrome",
        "mozilla firefox" | "firefox browser" => "firefox",
        "vs code" | "vscode" | "visual studio code" => "code",
        "file explorer" | "file manager" | "verkenner" | "bestandsbeheer" => "explorer",
        _ => return name,
    }
    .to_owned()
}

fn url(value: &str) -> Option<String> {
    let lower = value.to_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return Some(value.to_owned());
    }
    let host = lower.split('/').next()?;
    let ending = host.rsplit_once('.')?.1;
    let is_host = host.split('.').all(|label| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    (is_host && ending.len() >= 2 && ending.bytes().all(|byte| byte.is_ascii_alphabetic()))
        .then(|| format!("https://{value}"))
}

fn zone(value: &str) -> Option<String> {
    let lower = value.to_lowercase();
    let name = match lower.as_str() {
        "utc" | "gmt" => "UTC",
        "amsterdam" | "nederland" | "the netherlands" => "Europe/Amsterdam",
        "brussels" | "brussel" => "Europe/Brussels",
        "berlin" | "berlijn" => "Europe/Berlin",
        "paris" | "parijs" => "Europe/Paris",
        "london" | "londen" => "Europe/London",
        "new york" => "America/New_York",
        "los angeles" => "America/Los_Angeles",
        "tokyo" | "tokio" => "Asia/Tokyo",
        "sydney" => "Australia/Sydney",
        _ => {
            let is_name = value.contains('/')
                && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"/_+-".contains(&b));
            return is_name.then(|| value.to_owned());
        }
    };
    Some(name.to_owned())
}
