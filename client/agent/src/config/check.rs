//! Finds every fault of an `agent.toml` at once, each with its line and a hint.
//!
//! An error is a key or value that the agent rejects, or an entry without effect. A warning is only worth a
//! look. [`Settings::parse`] decides what the agent accepts: whatever it rejects is an error here too.

mod entries;
mod paths;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use orion_domain::{DevicePath, Places};
use orion_wire::Os;
use serde::Serialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::nearest;
use super::source::distrust;
use super::{Settings, home, own_files_of};

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The entry is accepted and may not be what the owner means.
    Warning,
    /// The entry is rejected, or has no effect.
    Error,
}

/// One fault of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How serious the fault is.
    pub severity: Severity,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The stable code of this kind of fault.
    pub code: &'static str,
    /// What is wrong, as a sentence.
    pub message: String,
    /// What to do instead, as a sentence. Empty if there is no hint.
    pub hint: String,
}

/// Formats the finding as compilers do, to be put after the file's name.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, line, column, code, message, hint } = self;
        let severity = match severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{line}:{column}: {severity}[{code}]: {message}")?;
        if hint.is_empty() { Ok(()) } else { write!(f, " {hint}") }
    }
}

/// The device that the file is for.
#[derive(Debug, Clone)]
pub struct CheckedDevice {
    /// The folder for `~`. There is no workspace for relative paths yet.
    pub places: Places,
    home: Option<PathBuf>,
    own: Vec<PathBuf>,
}

impl CheckedDevice {
    /// Returns this device, with the agent's own files.
    #[must_use]
    pub fn here(file: &Path, state_dir: &Path) -> Self {
        Self::new(home(), own_files_of(state_dir, file))
    }

    /// Creates a device with this home folder; `own` are the agent's own files.
    #[must_use]
    pub fn new(home: Option<PathBuf>, own: Vec<PathBuf>) -> Self {
        let style = Os::current().path_style();
        let at = home.as_deref().and_then(Path::to_str);
        let at = at.and_then(|home| DevicePath::parse(style, home).ok());
        Self { places: Places { home: at, ..Places::bare(style) }, home, own }
    }
}

/// The findings of one check.
#[derive(Debug)]
pub(super) struct Findings<'t> {
    text: &'t str,
    list: Vec<Finding>,
}

impl Findings<'_> {
    fn add(&mut self, severity: Severity, at: usize, code: &'static str, words: (String, String)) {
        let before = self.text.get(..at).unwrap_or_default();
        let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
        let column = 1 + before.chars().rev().take_while(|c| *c != '\n').count();
        let (message, hint) = words;
        self.list.push(Finding { severity, line, column, code, message, hint });
    }

    pub(super) fn error(
        &mut self,
        at: usize,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Severity::Error, at, code, (message.into(), hint.into()));
    }

    pub(super) fn warn(
        &mut self,
        at: usize,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.add(Severity::Warning, at, code, (message.into(), hint.into()));
    }
}

/// A value of the file, and the byte at which it begins.
pub(super) struct Entry<'a> {
    pub(super) at: usize,
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> Entry<'a> {
    fn of(value: &'a Spanned<DeValue<'a>>) -> Self {
        let Range { start, .. } = value.span();
        Self { at: start, value: value.get_ref() }
    }

    /// Returns the text; of a table, the text under `key`.
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        if let DeValue::String(text) = self.value {
            return Some(text);
        }
        let under = self.under(key)?;
        if let DeValue::String(text) = under.value { Some(text) } else { None }
    }

    /// Returns the value under a key of a table.
    pub(super) fn under(&self, key: &str) -> Option<Self> {
        get(self.table()?, &[key])
    }

    /// Returns the value as a table. None if it is not one.
    pub(super) fn table(&self) -> Option<&'a DeTable<'a>> {
        if let DeValue::Table(table) = self.value { Some(table) } else { None }
    }

    /// Returns the entries of a list. Empty if the value is not one.
    pub(super) fn items(&self) -> Vec<Self> {
        if let DeValue::Array(items) = self.value {
            items.iter().map(Self::of).collect()
        } else {
            Vec::new()
        }
    }
}

/// Returns the value under the first entry of the table that has one of these keys.
fn get<'a>(table: &'a DeTable<'a>, keys: &[&str]) -> Option<Entry<'a>> {
    let found = table.iter().find(|(key, _)| keys.contains(&key.get_ref().as_ref()));
    found.map(|(_, value)| Entry::of(value))
}

/// Returns the entries of the list under one of these keys.
pub(super) fn list<'a>(table: &'a DeTable<'a>, keys: &[&str]) -> Vec<Entry<'a>> {
    get(table, keys).map(|entry| entry.items()).unwrap_or_default()
}

/// Escapes and shortens a piece of the file for a message.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

/// Returns a hint with the most similar known word. Empty if none is similar.
pub(super) fn did_you_mean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = if word.len() <= 64 { nearest(word, known) } else { None };
    near.map(|near| format!("Did you mean `{near}`?")).unwrap_or_default()
}

const TOP: &[&str] = &[
    "ceiling",
    "read_only",
    "sandbox",
    "apps",
    "projects",
    "mcp",
    "timeouts",
    "transfers",
    "artifacts",
    "consent",
    "notices",
];
const CEILING: &[&str] = &[
    "profile",
    "tools",
    "allowed_tools",
    "capabilities",
    "permissions",
    "paths",
    "allowed_paths",
    "deny_paths",
    "apps",
    "allowed_apps",
    "commands",
    "allowed_commands",
    "services",
    "allowed_services",
    "logs",
    "allowed_logs",
    "hosts",
    "allowed_hosts",
    "read_only",
];

fn unknown_keys(table: &DeTable<'_>, known: &[&str], place: &str, findings: &mut Findings<'_>) {
    for (key, _) in table {
        let word = key.get_ref();
        if !known.contains(&word.as_ref()) {
            let message = format!("`{}` is no key of {place}.", shown(word));
            let hint = did_you_mean(word, known.iter().copied());
            findings.error(key.span().start, "unknown-key", message, hint);
        }
    }
}

/// Returns every fault in the text of an `agent.toml`, in the order of the text.
#[must_use]
pub fn check(text: &str, device: &CheckedDevice) -> Vec<Finding> {
    let mut findings = Findings { text, list: Vec::new() };
    if let Ok(root) = DeTable::parse(text) {
        let root = root.get_ref();
        unknown_keys(root, TOP, "the file", &mut findings);
        let ceiling = get(root, &["ceiling"]);
        if let Some(ceiling) = ceiling.as_ref().and_then(Entry::table) {
            unknown_keys(ceiling, CEILING, "[ceiling]", &mut findings);
            entries::check(ceiling, &mut findings);
            paths::check(ceiling, device, &mut findings);
        } else if ceiling.is_none() {
            let hint = "Without one, every tool of the profile operator may be used here, but in no folder; allow a folder with `orion-agent allow ~/files`.";
            findings.warn(0, "no-ceiling", "There is no [ceiling].", hint);
        }
        entries::apps(root, &mut findings);
    }
    if let Err(fault) = Settings::parse(text, device.home.as_deref(), &device.own) {
        refused(&fault, &mut findings);
    }
    findings.list.sort_by_key(|finding| (finding.line, finding.column));
    findings.list
}

/// Adds the fault that [`Settings::parse`] returned, unless an error for its line is listed already.
fn refused(fault: &str, findings: &mut Findings<'_>) {
    let line = fault.strip_prefix("line ").and_then(|rest| rest.split(':').next());
    let line: Option<usize> = line.and_then(|line| line.parse().ok());
    let is_listed = findings.list.iter().any(|finding| {
        finding.severity == Severity::Error && line.is_none_or(|line| line == finding.line)
    });
    if !is_listed {
        let message = fault.split_once(": ").filter(|_| line.is_some()).map_or(fault, |it| it.1);
        findings.list.push(Finding {
            severity: Severity::Error,
            line: line.unwrap_or(1),
            column: 1,
            code: "not-taken",
            message: format!("{message}."),
            hint: String::new(),
        });
    }
}

/// Returns every fault of a file, including its permissions.
///
/// # Errors
/// The file is missing or cannot be read.
pub fn check_file(path: &Path, state_dir: &Path) -> std::io::Result<Vec<Finding>> {
    let metadata = std::fs::metadata(path)?;
    let mut findings =
        check(&std::fs::read_to_string(path)?, &CheckedDevice::here(path, state_dir));
    if let Some((why, fix)) = distrust(path, &metadata) {
        let finding = Finding {
            severity: Severity::Error,
            line: 1,
            column: 1,
            code: "not-the-owners",
            message: format!("The file {why}, so the agent does not take it."),
            hint: format!("Correct it: {fix}."),
        };
        findings.insert(0, finding);
    }
    Ok(findings)
}
