//! `open_app`: one of the person's own programs, from the device's list.

use orion_domain::{Access, Capability, ErrorCode, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::spec::{Category, Tool};

/// See the module.
#[derive(Debug)]
pub struct OpenApp;

/// What to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The application's name on the device's list: chrome, firefox, code, explorer, terminal, …
    pub app: String,
    /// What to open with it: http(s) addresses and paths. At most 16.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub args: Vec<String>,
}

/// What runs now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The process id; none in a preview.
    pub pid: Option<u32>,
    /// The application's name.
    pub app: String,
    /// The program that the name is bound to on this device.
    pub executable: String,
}

/// What an argument of an application is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Begins with a dash.
    Option,
    /// Has a scheme.
    Url,
    /// Anything else.
    Path,
}

/// Sorts an argument. `C:` is a drive, not a scheme.
#[must_use]
pub fn argument_kind(text: &str) -> ArgumentKind {
    let is_scheme = |scheme: &str| {
        scheme.len() > 1
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    };
    if text.starts_with('-') {
        ArgumentKind::Option
    } else if text.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme)) {
        ArgumentKind::Url
    } else {
        ArgumentKind::Path
    }
}

impl Tool for OpenApp {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "open_app";
    const CATEGORY: Category = Category::App;
    const DESCRIPTION: &'static str = "Opens an application of the device's list on the person's own \
        screen, with http(s) addresses or allowed paths if given. It does not wait for it.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::AppControl];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = false;
    const EXAMPLE: &'static str = r#"{"tool":"open_app","device":"laptop-123","app":"chrome","args":["https://example.com"]}"#;

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        if arguments.args.len() > 16 {
            return Err(ToolError::new(
                ErrorCode::InvalidArgument,
                "open_app takes at most 16 arguments.",
            ));
        }
        let mut touches = Touches { apps: vec![arguments.app.clone()], ..Touches::nothing() };
        for text in &arguments.args {
            match argument_kind(text) {
                ArgumentKind::Url => touches.urls.push(text.clone()),
                ArgumentKind::Path => {
                    touches = touches.and_path(path(places, text)?, Access::Read);
                }
                ArgumentKind::Option => {
                    return Err(ToolError::new(
                        ErrorCode::InvalidArgument,
                        format!(
                            "`{}` is an option, and this device lists none for its applications; give addresses and paths only.",
                            text.chars().take(64).collect::<String>()
                        ),
                    ));
                }
            }
        }
        Ok(touches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_sorted_before_anything_looks_at_them() {
        for (text, kind) in [
            ("--remote-debugging-port=1", ArgumentKind::Option),
            ("https://example.com", ArgumentKind::Url),
            ("javascript:alert(1)", ArgumentKind::Url),
            ("file:///etc/passwd", ArgumentKind::Url),
            ("C:/Users/ann/x", ArgumentKind::Path),
            ("notes.txt", ArgumentKind::Path),
        ] {
            assert_eq!(argument_kind(text), kind, "{text}");
        }
    }
}
