//! The parts of a sentence that a person chooses: paths, texts, globs, applications, services.
//!
//! A slot accepts only words that can be nothing else. Words of the grammar (and, with, to, …) are names only
//! in quotes, so that a request for two things, or one with a condition, is not read as one.

use crate::context::{Kind, Referent, Referents};
use crate::function_words::{is_general, is_joining, is_restricting};
use crate::words::Word;

/// A kind of slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A path: one word, several capitalised words, quoted text, or a pronoun.
    Path,
    /// A name that is new, which may be several words.
    Title,
    /// Something to search for: up to four words, or quoted text.
    Name,
    /// Up to four words that join nothing, or quoted text.
    Bare,
    /// A pronoun.
    It,
    /// A pronoun for a folder.
    Folder,
    /// A name of one letter.
    Letter,
    /// Quoted text.
    Text,
    /// Text, with quotes or without.
    Words,
    /// A word with a wildcard.
    Glob,
    /// A kind of file, as a glob.
    Kind,
    /// A file name: a word with an extension, quoted or not, or a pronoun.
    File,
    /// A count from 1.
    Count,
    /// A TCP port.
    Port,
    /// An application.
    App,
    /// A service.
    Service,
    /// A project's name or folder.
    Project,
    /// A command line that begins like one.
    Command,
    /// Any command line.
    Line,
    /// A device.
    Host,
    /// How long ago.
    Since,
    /// An http(s) address.
    Url,
    /// A time zone.
    Zone,
    /// An arithmetic expression.
    Expression,
}

/// The value of a slot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// The person's words.
    Text(String),
    /// What a pronoun refers to.
    Referent(Referent),
    /// A pronoun that refers to nothing in this chat.
    Unknown,
}

impl Value {
    /// Returns the text; empty for a pronoun that refers to nothing.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Referent(referent) => &referent.name,
            Self::Unknown => "",
        }
    }
}

impl Slot {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "path" | "parent" | "source" | "other" => Self::Path,
            "title" | "target" => Self::Title,
            "name" => Self::Name,
            "old" | "new" => Self::Bare,
            "it" => Self::It,
            "dir" => Self::Folder,
            "letter" => Self::Letter,
            "text" => Self::Text,
            "words" => Self::Words,
            "glob" => Self::Glob,
            "kind" => Self::Kind,
            "file" | "file2" => Self::File,
            "count" => Self::Count,
            "port" => Self::Port,
            "app" => Self::App,
            "service" => Self::Service,
            "project" => Self::Project,
            "command" => Self::Command,
            "line" => Self::Line,
            "host" | "from" => Self::Host,
            "since" => Self::Since,
            "url" => Self::Url,
            "zone" => Self::Zone,
            "expression" => Self::Expression,
            _ => return None,
        })
    }

    pub(crate) const fn max_words(self) -> usize {
        match self {
            Self::Path | Self::Folder | Self::Title => 6,
            Self::Name | Self::Bare => 4,
            Self::Words | Self::Expression | Self::Command | Self::Line => 48,
            Self::App | Self::It => 3,
            Self::Zone | Self::Since | Self::File | Self::Service => 2,
            Self::Text | Self::Glob | Self::Kind | Self::Count | Self::Port | Self::Url => 1,
            Self::Project | Self::Host | Self::Letter => 1,
        }
    }

    /// Returns what a pronoun in this slot may refer to.
    const fn refers_to(self) -> &'static [Kind] {
        match self {
            Self::Path => &[Kind::File, Kind::Folder],
            Self::File => &[Kind::File],
            Self::Folder => &[Kind::Folder],
            Self::App => &[Kind::App],
            Self::Service => &[Kind::Service],
            Self::It => &[Kind::File, Kind::Folder, Kind::App, Kind::Service],
            Self::Title | Self::Name | Self::Bare | Self::Text | Self::Words | Self::Glob => &[],
            Self::Kind | Self::Count | Self::Port | Self::Project | Self::Command => &[],
            Self::Since | Self::Url | Self::Zone | Self::Expression | Self::Line => &[],
            Self::Host | Self::Letter => &[],
        }
    }
}

/// Returns the slot's value, if these words fit the slot.
pub(crate) fn read(slot: Slot, text: &str, words: &[Word], referents: &Referents) -> Option<Value> {
    if let Some(kinds) = pronoun(words) {
        let fits: Vec<Kind> =
            slot.refers_to().iter().copied().filter(|kind| kinds.contains(kind)).collect();
        return match (fits.is_empty(), slot) {
            (true, Slot::Words) => plain(slot, text, words).map(Value::Text),
            (true, _) => None,
            (false, _) => Some(referents.latest(&fits).map_or(Value::Unknown, Value::Referent)),
        };
    }
    if matches!(slot, Slot::It | Slot::Folder) {
        None
    } else {
        plain(slot, text, words).map(Value::Text)
    }
}

/// Returns what words may refer to, if they are a pronoun or its like.
fn pronoun(words: &[Word]) -> Option<&'static [Kind]> {
    const ALL: &[Kind] = &[Kind::File, Kind::Folder, Kind::App, Kind::Service];
    let keys: Vec<&str> = words
        .iter()
        .map(|word| if word.quoted.is_some() { "\"" } else { word.key.as_str() })
        .collect();
    Some(match keys.as_slice() {
        [
            "it" | "its" | "that" | "this" | "them" | "het" | "dat" | "dit" | "die" | "deze"
            | "hem" | "ze",
        ] => ALL,
        ["that" | "this" | "same", "one"] => ALL,
        [
            "that" | "this" | "the" | "same" | "dat" | "dit" | "het",
            "file" | "document" | "bestand",
        ] => &[Kind::File],
        [
            "that" | "this" | "the" | "same" | "die" | "deze" | "de" | "dezelfde",
            "folder" | "directory" | "map",
        ] => &[Kind::Folder],
        [
            "the" | "de" | "die" | "that",
            "new" | "nieuwe" | "same" | "zelfde",
            "folder" | "directory" | "map",
        ] => &[Kind::Folder],
        ["the" | "het" | "dat", "new" | "nieuwe" | "same" | "zelfde", "file" | "bestand"] => {
            &[Kind::File]
        }
        [
            "that" | "this" | "the" | "dat" | "die",
            "app" | "program" | "programma" | "application",
        ] => &[Kind::App],
        ["that" | "this" | "the" | "die" | "deze", "service" | "dienst"] => &[Kind::Service],
        _ => return None,
    })
}

fn plain(slot: Slot, text: &str, words: &[Word]) -> Option<String> {
    let (first, last) = (words.first()?, words.last()?);
    if words.iter().rev().skip(1).any(|word| word.breaks) {
        return None;
    }
    let value = match (&first.quoted, words.len()) {
        (Some(quoted), 1) => quoted.as_str(),
        _ if words.iter().any(|word| word.quoted.is_some())
            && !matches!(slot, Slot::Command | Slot::Line) =>
        {
            return None;
        }
        _ => text.get(first.span_start()..last.span_end())?,
    };
    let quoted = first.quoted.is_some();
    let is_text = matches!(slot, Slot::Text | Slot::Words | Slot::Bare);
    if value.contains('\0') || (!is_text && value.trim() != value) {
        return None;
    }
    let joins = !quoted && words.iter().any(|word| is_joining(&word.key));
    let owned = || value.to_owned();
    match slot {
        Slot::It | Slot::Folder => None,
        Slot::Path => is_path(value, words, quoted, false).then(owned),
        Slot::Letter => (!quoted && value.len() == 1 && value != ".").then(owned),
        Slot::Title => is_path(value, words, quoted, true).then(owned),
        Slot::Name | Slot::Bare => {
            let fits =
                quoted || (!joins && (words.len() == 1 || !words.iter().any(is_name_of_file)));
            (fits && !value.contains('\n')).then(owned)
        }
        Slot::Text => quoted.then(owned),
        Slot::Words => is_one_text(words, quoted).then(owned),
        Slot::Glob => value.contains(['*', '?']).then(owned),
        Slot::Kind => {
            if quoted {
                None
            } else {
                kind(&first.key)
            }
        }
        Slot::File => {
            let fits = words.len() == 1 || (!joins && !is_name_of_file(first));
            (fits && is_file(value) && (words.len() == 1 || capitalised(words))).then(owned)
        }
        Slot::Count => count(&first.key),
        Slot::Port => {
            value.parse::<u16>().ok().filter(|port| *port > 0).map(|port| port.to_string())
        }
        Slot::App => {
            let fits = !joins && !value.contains(['/', '\\', ':']) && (quoted || !is_file(value));
            (fits && (quoted || !words.iter().any(|word| is_general(&word.key))))
                .then(|| app(value, quoted))
        }
        Slot::Service => service(value, words, quoted),
        Slot::Project => (!joins && (quoted || !is_general(&first.key))).then(owned),
        Slot::Command => (command(value, words) && begins_like_a_command(words)).then(owned),
        Slot::Line => command(value, words).then(owned),
        Slot::Host => is_host(value, words, quoted).then(owned),
        Slot::Since => since(words),
        Slot::Url => url(value),
        Slot::Zone => zone(value),
        Slot::Expression => expression(value),
    }
}

fn is_name_of_file(word: &Word) -> bool {
    word.quoted.is_none() && is_file(&word.key)
}

/// Returns whether every word begins like a proper name. Without quotes, several ordinary words are no name,
/// because they could say something else about the request.
fn capitalised(words: &[Word]) -> bool {
    words.iter().all(|word| word.capital)
}

fn is_path(value: &str, words: &[Word], quoted: bool, is_new: bool) -> bool {
    if quoted {
        return !value.contains(['"', '\n']);
    }
    // A capital letter alone is a name.
    let is_letter = |word: &Word| word.capital && word.key.len() == 1;
    let joins = words.iter().any(|word| is_joining(&word.key) && !is_letter(word));
    let general = !is_new && words.iter().any(|word| is_general(&word.key) && !word.capital);
    let inner = words.len() - 1;
    let ends_early = words.iter().take(inner).any(is_name_of_file);
    !joins
        && !general
        && !ends_early
        && !value.contains(['"', '\n'])
        && (words.len() == 1 || is_new || capitalised(words))
}

/// Returns whether words without quotes are one text, and not two requests.
fn is_one_text(words: &[Word], quoted: bool) -> bool {
    let has = |these: &[&str]| words.iter().any(|word| these.contains(&word.key.as_str()));
    let joined = has(&["then", "and", "daarna", "vervolgens", "en", "dan"])
        && has(&["to", "into", "in", "naar", "aan", "toe"]);
    let keys: Vec<&str> = words.iter().take(2).map(|word| word.key.as_str()).collect();
    let begins_otherwise = matches!(
        keys.as_slice(),
        ["then" | "dan" | "daarna", ..]
            | [
                "the" | "a" | "de" | "een" | "new" | "nieuwe",
                "text" | "words" | "word" | "line" | "tekst" | "woorden" | "woord" | "regel"
            ]
    );
    let says_something = words.iter().any(|word| !is_joining(&word.key));
    quoted || (says_something && !joined && !begins_otherwise && !words.iter().any(is_name_of_file))
}

/// Returns a count from 1, in digits or as a small number word.
fn count(word: &str) -> Option<String> {
    const NUMBERS: [(&str, &str); 12] = [
        ("two", "2"),
        ("three", "3"),
        ("five", "5"),
        ("ten", "10"),
        ("twenty", "20"),
        ("fifty", "50"),
        ("twee", "2"),
        ("drie", "3"),
        ("vijf", "5"),
        ("tien", "10"),
        ("twintig", "20"),
        ("vijftig", "50"),
    ];
    let number = NUMBERS.iter().find(|(name, _)| *name == word).map_or(word, |(_, digits)| digits);
    number.parse::<u32>().ok().filter(|n| *n > 0).map(|n| n.to_string())
}

/// Words for a computer, which is no service.
const COMPUTERS: [&str; 10] = [
    "server",
    "laptop",
    "computer",
    "machine",
    "pc",
    "system",
    "systeem",
    "nas",
    "everything",
    "alles",
];

/// Returns a service as the tools name it.
fn service(value: &str, words: &[Word], quoted: bool) -> Option<String> {
    let fits = quoted
        || (words.len() == 1
            && !words.iter().any(|word| is_joining(&word.key) || is_general(&word.key))
            && !value.contains(['\\', '*', '?'])
            && !COMPUTERS.contains(&value.to_lowercase().as_str()));
    fits.then(|| match value.to_lowercase().as_str() {
        "docker" | "grafana" | "prometheus" | "nginx" | "ssh" | "sshd" | "cron" | "postgresql"
        | "postgres" | "mysql" | "redis" | "apache" | "apache2" => value.to_lowercase(),
        "pihole" | "pi-hole" => "pihole".to_owned(),
        _ => value.to_owned(),
    })
}

/// Returns whether words are one command: nothing in it could be another request or a condition.
fn command(value: &str, words: &[Word]) -> bool {
    const OTHER: [&str; 9] =
        ["then", "daarna", "vervolgens", "and", "en", "tell", "show", "zeg", "toon"];
    let is_other = |word: &Word| {
        word.quoted.is_none() && (OTHER.contains(&word.key.as_str()) || is_restricting(&word.key))
    };
    !value.contains(['\n', '|', '>', '<', '`', '$'])
        && !words.iter().any(is_other)
        && !words.first().is_some_and(|word| is_joining(&word.key) || is_general(&word.key))
}

/// Returns whether the first word is a program's name, or another is an option.
fn begins_like_a_command(words: &[Word]) -> bool {
    const PROGRAMS: &[&str] = &[
        "git",
        "ls",
        "cat",
        "npm",
        "npx",
        "pnpm",
        "yarn",
        "node",
        "cargo",
        "rustc",
        "python",
        "python3",
        "pip",
        "pytest",
        "go",
        "make",
        "docker",
        "podman",
        "echo",
        "pwd",
        "df",
        "du",
        "ps",
        "uname",
        "whoami",
        "date",
        "uptime",
        "head",
        "tail",
        "wc",
        "sort",
        "grep",
        "find",
        "rg",
        "ruff",
        "mypy",
        "eslint",
        "tsc",
        "prettier",
        "black",
        "java",
        "mvn",
        "gradle",
        "ruby",
        "php",
        "perl",
        "curl",
        "wget",
        "ping",
        "ssh",
        "systemctl",
        "journalctl",
        "tar",
        "zip",
        "unzip",
        "touch",
        "mkdir",
        "hostname",
        "which",
        "env",
        "free",
        "top",
        "htop",
        "kubectl",
        "terraform",
        "ffmpeg",
        "sqlite3",
    ];
    words.first().is_some_and(|first| {
        PROGRAMS.contains(&first.key.as_str())
            || first.key.contains('/')
            || first.key.ends_with(".sh")
    }) || words.iter().skip(1).any(|word| word.key.starts_with('-'))
}

/// Returns whether a word is the name of a device, and not of a well-known folder or of any device.
fn is_host(value: &str, words: &[Word], quoted: bool) -> bool {
    const OTHER: &[&str] = &[
        "documents",
        "downloads",
        "pictures",
        "photos",
        "music",
        "videos",
        "desktop",
        "home",
        "archive",
        "trash",
        "documenten",
        "afbeeldingen",
        "foto's",
        "muziek",
        "bureaublad",
        "archief",
        "prullenbak",
        "disk",
        "schijf",
        "computer",
        "machine",
        "system",
        "pc",
        "systeem",
        "memory",
        "geheugen",
        "cpu",
        "processor",
        "everything",
        "internet",
        "network",
        "netwerk",
        "docker",
        "git",
        "python",
        "nginx",
        "ram",
        "storage",
        "opslag",
        "alles",
        "things",
        "drive",
        "load",
        "weather",
    ];
    let plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let other = words.iter().any(|word| {
        OTHER.contains(&word.key.as_str()) || is_joining(&word.key) || is_general(&word.key)
    });
    plain && !quoted && !other
}

/// Returns how long ago, such as `2h`.
fn since(words: &[Word]) -> Option<String> {
    let unit = |word: &str| {
        Some(match word {
            "s" | "second" | "seconds" | "seconde" | "seconden" => "s",
            "m" | "min" | "minute" | "minutes" | "minuut" | "minuten" => "m",
            "h" | "hour" | "hours" | "uur" | "uren" => "h",
            "d" | "day" | "days" | "dag" | "dagen" => "d",
            _ => return None,
        })
    };
    match words {
        [one] if one.key == "today" || one.key == "vandaag" => Some("1d".to_owned()),
        [one] => match unit(&one.key) {
            Some(unit) => Some(format!("1{unit}")),
            None => {
                let (number, of) = one.key.split_at_checked(one.key.len().checked_sub(1)?)?;
                Some(format!("{}{}", count(number)?, unit(of)?))
            }
        },
        [number, of] => Some(format!("{}{}", count(&number.key)?, unit(&of.key)?)),
        _ => None,
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
    const PICTURES: &str = "*.{jpg,jpeg,png,gif,webp,heic}";
    let ending = match word {
        "pictures" | "photos" | "images" | "foto's" | "afbeeldingen" | "plaatjes" => {
            return Some(PICTURES.to_owned());
        }
        "text" | "tekst" => "txt",
        "markdown" => "md",
        "python" => "py",
        _ => {
            let word = word.strip_prefix('.').unwrap_or(word);
            let one = word.strip_suffix("'s").or_else(|| word.strip_suffix('s')).unwrap_or(word);
            if ENDINGS.contains(&one) { one } else { word }
        }
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
