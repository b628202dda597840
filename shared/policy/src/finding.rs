//! What is wrong with a policy file, where, and what to do instead.

use std::fmt;

use serde::Serialize;

/// The most findings that one reading gives.
const MOST: usize = 200;

/// Whether a file with such a finding loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It loads; somebody should look.
    Warning,
    /// It does not load.
    Error,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal;)+) => {
        /// What kind of finding it is; stable, for tools that read findings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(into = "&'static str")]
        pub enum Code {
            $($(#[$doc])* $variant,)+
        }

        impl Code {
            /// The word that people and tools read.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

codes! {
    /// Not YAML, or YAML with anchors, aliases, tags or several documents.
    Syntax = "syntax";
    /// Larger or deeper than a policy file may be.
    TooLarge = "too-large";
    /// A key that is not part of the grammar.
    UnknownKey = "unknown-key";
    /// The same key twice in one place.
    DuplicateKey = "duplicate-key";
    /// Something that has to be said and is not.
    Missing = "missing";
    /// A list where a text is wanted, and the like.
    WrongType = "wrong-type";
    /// A text or number that is not among those that can stand there.
    BadValue = "bad-value";
    /// Keys that say opposite things.
    Contradiction = "contradiction";
    /// No such tool.
    UnknownTool = "unknown-tool";
    /// Another name of a tool.
    ToolAlias = "tool-alias";
    /// No such profile.
    UnknownProfile = "unknown-profile";
    /// No such device.
    UnknownDevice = "unknown-device";
    /// A path that means nothing on a device, or has wildcards where none can be.
    BadPath = "bad-path";
    /// A rule that no call can ever fit.
    NeverMatches = "never-matches";
    /// A rule whose time is over.
    Expired = "expired";
    /// A rule that another one makes useless.
    Shadowed = "shadowed";
    /// A rule that stands twice.
    DuplicateRule = "duplicate-rule";
    /// An id that stands twice.
    DuplicateId = "duplicate-id";
    /// A pre-approval that does not say of what.
    Unscoped = "unscoped";
    /// A pre-approval of what runs by itself.
    WithoutEffect = "without-effect";
    /// A pre-approval of a critical tool.
    CriticalPreapproved = "critical-preapproved";
    /// A key that this version of Orion reads and nothing judges.
    NotJudged = "not-judged";
    /// An entry that lends nearly everything.
    TooWide = "too-wide";
    /// Entries that case alone tells apart, where it does not.
    Case = "case";
    /// A profile that no device has.
    Unused = "unused";
    /// An example that is not a call.
    ExampleUnreadable = "example-unreadable";
    /// An example that the rule does not hold to.
    ExampleFails = "example-fails";
}

impl From<Code> for &'static str {
    fn from(code: Code) -> Self {
        code.as_str()
    }
}

/// One thing that is wrong, or worth a look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether the file loads all the same.
    pub severity: Severity,
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What kind of finding it is.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What to do instead.
    pub hint: String,
}

/// Reads as compilers write: file, line, column, then what is wrong and what to do.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, file, line, column, code, message, hint } = self;
        let severity = match severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{file}:{line}:{column}: {severity}[{}]: {message}", code.as_str())?;
        if hint.is_empty() { Ok(()) } else { write!(f, " {hint}") }
    }
}

/// A place in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Something, and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At<T> {
    pub(crate) at: Position,
    pub(crate) value: T,
}

/// The findings of one reading.
#[derive(Debug)]
pub(crate) struct Findings {
    file: String,
    list: Vec<Finding>,
}

impl Findings {
    pub(crate) fn of(file: &str) -> Self {
        Self { file: file.to_owned(), list: Vec::new() }
    }

    pub(crate) fn error(
        &mut self,
        at: Position,
        code: Code,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Severity::Error, at, code, message.into(), hint.into());
    }

    pub(crate) fn warning(
        &mut self,
        at: Position,
        code: Code,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Severity::Warning, at, code, message.into(), hint.into());
    }

    fn add(&mut self, severity: Severity, at: Position, code: Code, message: String, hint: String) {
        let Position { line, column } = at;
        let finding =
            Finding { severity, file: self.file.clone(), line, column, code, message, hint };
        // What several devices inherit is wrong once. An error is never lost to the limit.
        let has_room =
            self.list.len() < MOST || (severity == Severity::Error && !self.has_errors());
        if has_room && !self.list.contains(&finding) {
            self.list.push(finding);
        }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.list.iter().any(|finding| finding.severity == Severity::Error)
    }

    pub(crate) fn into_sorted(self) -> Vec<Finding> {
        let mut list = self.list;
        list.sort_by_key(|finding| (finding.line, finding.column));
        list
    }
}

/// A hint at the nearest of the words that can stand there, or at all of them.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    if let Some(near) = nearest(word, known.clone()) {
        return near;
    }
    let all: Vec<_> = known.into_iter().take(24).collect();
    if all.is_empty() { String::new() } else { format!("There is: {}.", all.join(", ")) }
}

/// A hint at the nearest of the words that can stand there, where one is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Past this length nothing is near, and the comparison is quadratic.
    let scored = known.into_iter().filter(|_| word.len() <= 64);
    let scored = scored.map(|name| (strsim::jaro_winkler(word, name), name));
    let near = scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0));
    near.map(|(_, name)| format!("Did you mean `{name}`?"))
}

/// A piece of the file as a message shows it: short, and without control characters.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() {
        short.push('…');
    }
    // `escape_debug` also escapes quotes, which are plain here.
    short = short.replace("\\\"", "\"").replace("\\'", "'");
    short
}
