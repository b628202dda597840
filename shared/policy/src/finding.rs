//! Findings: problems of a policy file, with their place and a hint.

use std::fmt;

use serde::Serialize;

/// The maximum number of findings of one check.
const MAX_FINDINGS: usize = 200;

/// Whether a file with such a finding loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The file loads; the finding should be reviewed.
    Warning,
    /// The file does not load.
    Error,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal;)+) => {
        /// The code of a finding; stable, for tools that read findings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(into = "&'static str")]
        pub enum Code {
            $($(#[$doc])* $variant,)+
        }

        impl Code {
            /// Returns the name that people and tools read.
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
    /// A required key is missing.
    Missing = "missing";
    /// A value of the wrong type, such as a list in place of a text.
    WrongType = "wrong-type";
    /// A text or number that is not one of the allowed values.
    BadValue = "bad-value";
    /// Keys that contradict each other.
    Contradiction = "contradiction";
    /// The tool does not exist.
    UnknownTool = "unknown-tool";
    /// An argument that the tool does not have.
    UnknownArgument = "unknown-argument";
    /// An alias of a tool.
    ToolAlias = "tool-alias";
    /// The profile does not exist.
    UnknownProfile = "unknown-profile";
    /// The device does not exist.
    UnknownDevice = "unknown-device";
    /// A tool that is granted where it does not run.
    WrongTarget = "wrong-target";
    /// A path that is invalid on a device, or has wildcards where none are allowed.
    BadPath = "bad-path";
    /// A rule that no call can match.
    NeverMatches = "never-matches";
    /// A rule that has expired.
    Expired = "expired";
    /// A rule that another rule makes ineffective.
    Shadowed = "shadowed";
    /// A rule that occurs twice.
    DuplicateRule = "duplicate-rule";
    /// An id that occurs twice.
    DuplicateId = "duplicate-id";
    /// A pre-approval without a scope.
    Unscoped = "unscoped";
    /// A pre-approval of what runs without approval.
    WithoutEffect = "without-effect";
    /// A pre-approval of a critical tool.
    CriticalPreapproved = "critical-preapproved";
    /// An entry that grants nearly everything.
    TooWide = "too-wide";
    /// A grant that the device's owner does not allow.
    AboveCeiling = "above-ceiling";
    /// A rule whose approvers must sign, and too few people have a passkey.
    NoPasskey = "no-passkey";
    /// Entries that differ only in case, on a device that ignores case.
    Case = "case";
    /// A profile that no device uses.
    Unused = "unused";
    /// An example that cannot be parsed as a call.
    ExampleUnreadable = "example-unreadable";
    /// An example that the rule does not satisfy.
    ExampleFails = "example-fails";
}

impl From<Code> for &'static str {
    fn from(code: Code) -> Self {
        code.as_str()
    }
}

/// One problem, or one entry to review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Whether the file still loads.
    pub severity: Severity,
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The kind of finding.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What to do instead.
    pub hint: String,
}

/// Formats as compilers do: file, line, column, then the problem and the hint.
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

/// A value, and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At<T> {
    pub(crate) at: Position,
    pub(crate) value: T,
}

/// The findings of one check.
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
        // A problem that several devices inherit is reported once. An error is never dropped at the
        // limit.
        let has_room =
            self.list.len() < MAX_FINDINGS || (severity == Severity::Error && !self.has_errors());
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

/// Returns a hint at the nearest of the allowed words, or at all of them.
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

/// Returns a hint at the nearest of the allowed words, if one is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Longer words are near nothing, and the comparison is quadratic.
    let scored = known.into_iter().filter(|_| word.len() <= 64);
    let scored = scored.map(|name| (strsim::jaro_winkler(word, name), name));
    let near = scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0));
    near.map(|(_, name)| format!("Did you mean `{name}`?"))
}

/// Returns a piece of the file for a message: short, and without control characters.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    if text.chars().nth(80).is_some() {
        short.push('…');
    }
    // `escape_debug` also escapes quotes, which need no escape here.
    short = short.replace("\\\"", "\"").replace("\\'", "'");
    short
}
