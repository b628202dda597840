//! Detects the format of a configuration file, and parses its values to JSON.
//!
//! Reading any file takes bounded memory and time: depth, values and text repeated by anchors are counted.
//! Values come only from the text, never from the agent's own environment.

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

/// Maximum size of a configuration file, in bytes.
pub(super) const MAX_BYTES: usize = 1024 * 1024;
/// Maximum size of a YAML file, in bytes. The parser keeps a whole `[…]` in memory until it ends, with about
/// two hundred bytes for each byte of the file.
const MAX_YAML_BYTES: usize = 256 * 1024;
/// Maximum length of an error description, in bytes.
const MAX_PROBLEM_BYTES: usize = 200;

/// The result of parsing a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reading {
    /// The values of the file.
    Values(Value),
    /// The syntax is wrong; the text says where.
    Broken(String),
    /// The syntax may be right, but the values exceed the limits.
    TooMuch(String),
    /// The format is unknown.
    Unknown,
}

/// A position in a text. Both count from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    line: usize,
    column: usize,
}

impl Position {
    /// Returns the position of a byte.
    fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..text.floor_char_boundary(byte)).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column }
    }

    /// Returns the error at this position, in one sentence.
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

/// Returns the format of a file by its name. A `.conf` or `.cfg` file is INI if it parses as INI.
pub(super) fn format_of(name: &str, text: &str) -> Format {
    let name = name.to_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "toml" => Format::Toml,
        "yaml" | "yml" => Format::Yaml,
        "json" => Format::Json,
        "ini" | "desktop" | "gitconfig" | "editorconfig" => Format::Ini,
        // Unit and network files of systemd.
        "service" | "timer" | "socket" | "mount" | "automount" | "path" | "slice" | "network"
        | "netdev" => Format::Ini,
        "cfg" | "conf" if matches!(ini::read(body(text)), Reading::Values(_)) => Format::Ini,
        _ if ending == "env" || name.starts_with(".env.") => Format::Env,
        _ => Format::Other,
    }
}

/// Parses the values of a text. Never fails: an error is part of the result.
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

/// Returns the text without the byte order mark that some editors write.
fn body(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
