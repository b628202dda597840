//! The schema of the file: its keys, and the message for an unknown key.

use std::collections::BTreeMap;
use std::path::PathBuf;

use orion_domain::{Grants, Profile};
use serde::Deserialize;

use super::consent::Consent;
use super::mcp::McpServer;
use super::notices::NoticeSettings;
use super::upgrade::UpgradeSettings;
use crate::sandbox::SandboxChoice;

/// The whole file. Every key is optional; an unknown key is an error.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct File {
    pub(super) ceiling: Option<Grants>,
    pub(super) read_only: bool,
    pub(super) sandbox: SandboxChoice,
    pub(super) apps: BTreeMap<String, PathBuf>,
    pub(super) projects: BTreeMap<String, String>,
    pub(super) mcp: BTreeMap<String, McpServer>,
    pub(super) timeouts: Timeouts,
    pub(super) transfers: TransferLimits,
    pub(super) artifacts: Artifacts,
    pub(super) consent: Consent,
    pub(super) notices: NoticeSettings,
    pub(super) upgrade: UpgradeSettings,
}

/// How artifacts are downloaded.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Artifacts {
    /// Whether plain http is allowed from the device itself.
    pub(super) http_on_loopback: bool,
}

/// Limits of files that come to this device.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TransferLimits {
    /// The largest file, in MiB.
    pub(super) max_file_mib: u64,
}

impl Default for TransferLimits {
    fn default() -> Self {
        Self { max_file_mib: 64 * 1024 }
    }
}

/// The largest limit of a file, in MiB: 16 TiB.
const MAX_FILE_MIB: u64 = 16 * 1024 * 1024;

/// Timeouts in seconds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Timeouts {
    /// The timeout of any call, in seconds.
    pub(super) call: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { call: 600 }
    }
}

/// The longest timeout of a call, in seconds: one day.
const MAX_CALL_S: u64 = 86_400;

impl File {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let file: Self = toml::from_str(text).map_err(|error| fault(text, &error))?;
        if !(1..=MAX_CALL_S).contains(&file.timeouts.call) {
            return Err(format!("[timeouts] call is in seconds, 1 to {MAX_CALL_S}"));
        }
        if file.transfers.max_file_mib > MAX_FILE_MIB {
            return Err(format!("[transfers] max_file_mib is in MiB, 0 to {MAX_FILE_MIB}"));
        }
        Ok(file)
    }
}

/// Formats the error with its line and, for an unknown word, the most similar known word.
fn fault(text: &str, error: &toml::de::Error) -> String {
    let line = error
        .span()
        .map_or(1, |span| 1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count());
    let message = in_plain_words(error.message());
    // serde writes the unknown word first and then the known ones, all in backquotes.
    let mut quoted = message.split('`').skip(1).step_by(2);
    let hint = match quoted.next() {
        Some(word) if message.starts_with("unknown ") => nearest(word, quoted)
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default(),
        Some(_) | None if message.contains("PathGrantForm") => {
            "; a path is written as \"~/files\" or as { path = \"~/files\", access = [\"read\"] }"
                .to_owned()
        }
        Some(_) | None => String::new(),
    };
    format!("line {line}: {}{hint}", message.trim_end())
}

/// Returns a message of the parser with a list and a table called so.
fn in_plain_words(message: &str) -> String {
    let message = message.replace("expected a sequence", "expected a list, such as [\"~/files\"]");
    message.replace("expected a map", "expected a table, such as { path = \"~/files\" }")
}

pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(score, _)| *score > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Rejects a tool that is not in the catalogue: a ceiling with a misspelled tool would not mean what its
/// owner thinks.
pub(super) fn check_tools(ceiling: &Grants) -> Result<(), String> {
    for tool in ceiling.tools.iter().flatten() {
        if !orion_catalog::CATALOG.iter().any(|spec| spec.name == tool) {
            let near = orion_catalog::nearest(tool);
            let hint = near.first().map(|near| format!("; did you mean `{near}`?"));
            return Err(format!(
                "[ceiling] tools: there is no tool `{tool}`{}",
                hint.unwrap_or_default()
            ));
        }
    }
    Ok(())
}

/// Returns the text of a first file.
pub(super) fn first(profile: Profile, paths: &[String]) -> String {
    let paths: Vec<String> =
        paths.iter().map(|path| toml::Value::String(path.clone()).to_string()).collect();
    format!(
        "# The most that anyone can ever do on this device. Only this file says so: the backend can\n\
         # allow less, never more. A change is active within seconds.\n\
         \n\
         [ceiling]\n\
         profile = \"{profile}\" # reader, operator, developer, homelab or strict\n\
         # The first path is the workspace. A path may also be written as\n\
         # {{ path = \"~/Downloads\", access = [\"read\"] }}.\n\
         paths = [{}]\n\
         # Paths and patterns that stay closed even beneath an allowed path.\n\
         deny_paths = []\n\
         # Applications that may be opened, such as \"chrome\".\n\
         apps = []\n",
        paths.join(", ")
    )
}
