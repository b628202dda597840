//! The parts of a sentence that a person chooses: paths, texts, globs, applications, services.
//!
//! A slot accepts only words that can be nothing else. Words of the grammar (and, with, to, …) are names only
//! in quotes, so that a request for two things, or one with a condition, is not read as one.

mod values;

use self::values::{
    app, begins_like_a_command, command, count, expression, is_host, kind, service, since, url,
    zone,
};
use crate::file_names::is_file;
use crate::function_words::{is_command, is_general, is_joining, is_state};
use crate::referents::{Kind, Referent, Referents};
use crate::words::Word;

/// A kind of slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A path: one word, several capitalised words, quoted text, or a pronoun.
    Path,
    /// A path that shows that it is a name: it has a capital, an extension, a separator or quotes.
    Proper,
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
    /// What a file is to hold, with quotes or without. Without, it names no place at its end.
    Content,
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
            "path" | "parent" | "source" => Self::Path,
            "proper" => Self::Proper,
            "title" | "target" => Self::Title,
            "name" => Self::Name,
            "old" | "new" => Self::Bare,
            "it" => Self::It,
            "dir" => Self::Folder,
            "letter" => Self::Letter,
            "text" => Self::Text,
            "words" => Self::Words,
            "content" => Self::Content,
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
            Self::Path | Self::Proper | Self::Folder | Self::Title => 6,
            Self::Name | Self::Bare => 4,
            Self::Words | Self::Content | Self::Expression | Self::Command | Self::Line => 48,
            Self::App | Self::It => 3,
            Self::Zone | Self::Since | Self::File | Self::Service => 2,
            Self::Text | Self::Glob | Self::Kind | Self::Count | Self::Port | Self::Url => 1,
            Self::Project | Self::Host | Self::Letter => 1,
        }
    }

    /// Returns what a pronoun in this slot may refer to.
    const fn refers_to(self) -> &'static [Kind] {
        match self {
            Self::Path | Self::Proper => &[Kind::File, Kind::Folder],
            Self::File => &[Kind::File],
            Self::Folder => &[Kind::Folder],
            Self::App => &[Kind::App],
            Self::Service => &[Kind::Service],
            Self::It => &[Kind::File, Kind::Folder, Kind::App, Kind::Service],
            Self::Title | Self::Name | Self::Bare | Self::Text | Self::Words => &[],
            Self::Content | Self::Glob => &[],
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
            (true, Slot::Words | Slot::Content) => plain(slot, text, words).map(Value::Text),
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
    let is_text = matches!(slot, Slot::Text | Slot::Words | Slot::Content | Slot::Bare);
    if value.contains('\0') || (!is_text && value.trim() != value) {
        return None;
    }
    // Words that were passed over between these are in the text, and would be in the name.
    let passes_over = !quoted && value.split_whitespace().count() > words.len();
    if passes_over && matches!(slot, Slot::Path | Slot::Proper | Slot::Title) {
        return None;
    }
    let joins = !quoted && words.iter().any(|word| is_joining(&word.key));
    let owned = || value.to_owned();
    match slot {
        Slot::It | Slot::Folder => None,
        Slot::Path => is_path(value, words, quoted, false).then(owned),
        Slot::Proper => {
            let shows_it =
                quoted || capitalised(words) || value.contains(['/', '\\']) || is_file(value);
            (shows_it && is_path(value, words, quoted, false)).then(owned)
        }
        Slot::Letter => (!quoted && value.len() == 1 && value != ".").then(owned),
        Slot::Title => is_path(value, words, quoted, true).then(owned),
        Slot::Name | Slot::Bare => {
            let fits =
                quoted || (!joins && (words.len() == 1 || !words.iter().any(is_name_of_file)));
            (fits && !value.contains('\n')).then(owned)
        }
        Slot::Text => quoted.then(owned),
        Slot::Words => is_one_text(words, quoted).then(owned),
        Slot::Content => {
            (is_one_text(words, quoted) && (quoted || !names_a_place(words))).then(owned)
        }
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
            let general = !quoted && words.iter().any(|word| is_general(&word.key));
            let name = app(value, quoted);
            // Several ordinary words are an application only where they are a well-known one.
            let known =
                quoted || words.len() == 1 || capitalised(words) || name != value.to_lowercase();
            (fits && !general && known).then_some(name)
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
    let state =
        is_new && words.len() == 1 && words.iter().any(|word| is_state(&word.key) && !word.capital);
    let inner = words.len() - 1;
    // "and delete Reports" is no second name.
    let commands =
        words.len() > 1 && words.iter().any(|word| !word.capital && is_command(&word.key));
    let ends_early = words.iter().take(inner).any(is_name_of_file);
    !joins
        && !commands
        && !state
        && !general
        && !ends_early
        && !value.contains(['"', '\n'])
        && (words.len() == 1 || is_new || capitalised(words))
}

/// Returns whether words without quotes may end in the place where they are to be written, as in "milk in Docs", or begin
/// with the rest of the verb, as in "write down".
fn names_a_place(words: &[Word]) -> bool {
    let key = |word: Option<&Word>| word.map(|it| it.key.clone()).unwrap_or_default();
    let Some((last, before)) = words.split_last() else { return false };
    let is_article = |word: &&Word| {
        matches!(
            word.key.as_str(),
            "the" | "my" | "a" | "folder" | "directory" | "de" | "het" | "mijn" | "een" | "map"
        )
    };
    let place = before.iter().rev().find(|word| !is_article(word));
    matches!(key(place).as_str(), "in" | "into" | "inside")
        || last.key == "erin"
        || key(words.first()) == "down"
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
    // Who writes nothing does not mean the word.
    let nothing = words.len() == 1 && has(&["nothing", "niets", "niks"]);
    let says_something = !nothing && words.iter().any(|word| !is_joining(&word.key));
    quoted || (says_something && !joined && !begins_otherwise && !words.iter().any(is_name_of_file))
}
