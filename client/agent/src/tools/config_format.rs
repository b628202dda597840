//! The formats of configuration files: which one a file is written in, and its values as JSON.
//!
//! Whatever stands in a file, reading it takes bounded room and time: depth, values and the text that
//! anchors repeat are counted. Nothing is taken from outside the text, least of all from the agent's
//! own environment.

mod env;
mod ini;
mod json;
#[cfg(test)]
mod tests;
mod toml;
mod value;
mod yaml;

pub(super) use orion_catalog::tools::read_config::Format;
use serde_json::Value;

/// The largest file that is read as configuration, in bytes.
pub(super) const MAX_BYTES: usize = 1024 * 1024;
/// YAML keeps the whole of a `[…]` in mind until it ends, with some two hundred bytes for each of its
/// own, so that less of it is read.
const MAX_YAML_BYTES: usize = 256 * 1024;
/// The longest that is told of what is wrong, in bytes.
const MAX_PROBLEM_BYTES: usize = 200;

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reading {
    /// Its values.
    Values(Value),
    /// It is not well written, and where.
    Broken(String),
    /// It may be well written, but its values are more than is read.
    TooMuch(String),
    /// Nothing is known of how it is written.
    Unknown,
}

/// A place in a text, both counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    line: usize,
    column: usize,
}

impl Position {
    /// The place of a byte.
    fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..text.floor_char_boundary(byte)).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column }
    }

    /// What is wrong there, in one sentence.
    fn broken(self, what: &str) -> Reading {
        if what.contains("recursion limit") || what.contains("cannot recurse") {
            return value::too_much();
        }
        let what = what.lines().next().unwrap_or_default();
        let what = what.get(..what.floor_char_boundary(MAX_PROBLEM_BYTES)).unwrap_or(what);
        let Self { line, column } = self;
        Reading::Broken(format!("Line {line}, column {column}: {what}."))
    }
}

/// The format of a file. Its name tells, but `.conf` and `.cfg` say little: such a file is INI where
/// it reads as that.
pub(super) fn format_of(name: &str, text: &str) -> Format {
    let name = name.to_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "toml" => Format::Toml,
        "yaml" | "yml" => Format::Yaml,
        "json" => Format::Json,
        "ini" | "desktop" | "gitconfig" | "editorconfig" => Format::Ini,
        // systemd's units and its network files.
        "service" | "timer" | "socket" | "mount" | "automount" | "path" | "slice" | "network"
        | "netdev" => Format::Ini,
        "cfg" | "conf" if matches!(ini::read(body(text)), Reading::Values(_)) => Format::Ini,
        _ if ending == "env" || name.starts_with(".env.") => Format::Env,
        _ => Format::Other,
    }
}

/// The values of a text in a format. Never fails: what is wrong is part of the answer.
pub(super) fn read(format: Format, text: &str) -> Reading {
    let text = body(text);
    match format {
        Format::Toml => toml::read(text),
        Format::Yaml if text.len() > MAX_YAML_BYTES => Reading::TooMuch(
            "It is larger than the 256 KiB up to which YAML is read as values.".to_owned(),
        ),
        Format::Yaml => yaml::read(text),
        Format::Json => json::read(text),
        Format::Ini => ini::read(text),
        Format::Env => env::read(text),
        Format::Other => Reading::Unknown,
    }
}

/// The text without the mark that some editors put first.
fn body(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
