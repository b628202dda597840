//! `open_app`: opens one of the person's own programs, from the device's list.

use orion_domain::{Access, Capability, ErrorCode, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::spec::{Category, Tool};

pub use crate::host_name::host_in_ascii;

/// The `open_app` tool.
#[derive(Debug)]
pub struct OpenApp;

/// What to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The application's name on the device's list: chrome, firefox, code, explorer, terminal, or one of
    /// `[apps]` in agent.toml.
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

/// The kind of an application's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Begins with a dash.
    Option,
    /// Has a scheme.
    Url,
    /// Anything else.
    Path,
}

/// Returns the kind of an argument. `C:` is a drive, not a scheme.
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
    const EXECUTION: Execution = Execution::DesktopApp;

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
                ArgumentKind::Url => {
                    host_in_ascii(text)?;
                    touches.urls.push(text.clone());
                }
                ArgumentKind::Path => {
                    touches = touches.and_path(path(places, text)?, Access::Read);
                }
                ArgumentKind::Option => {
                    return Err(ToolError::new(
                        ErrorCode::InvalidArgument,
                        format!(
                            "`{}` is an option, and this device lists none for its applications.",
                            text.chars().take(64).collect::<String>()
                        ),
                    )
                    .hint("give addresses and paths only"));
                }
            }
        }
        Ok(touches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orion_domain::is_hidden;

    #[test]
    fn a_host_in_other_letters_is_shown_as_dns_has_it_and_one_that_deceives_is_refused() {
        let path = "https://example.com/\u{43f}\u{443}\u{442}\u{44c}";
        for (url, expected) in [
            ("https://example.com/", Some(None)),
            (path, Some(None)),
            ("http://[::1]:80/", Some(None)),
            ("https://xn--mller-kva.example", Some(None)),
            ("https://m\u{fc}ller.example:8443/x", Some(Some("xn--mller-kva.example"))),
            (
                "https://a@\u{43f}\u{440}\u{438}\u{43c}\u{435}\u{440}.\u{440}\u{444}",
                Some(Some("xn--e1afmkfd.xn--p1ai")),
            ),
            // Entirely Cyrillic, and looks Latin.
            ("https://\u{440}\u{430}\u{443}.com", Some(Some("xn--80a5ak.com"))),
            ("https://\u{4f8b}\u{3048}.jp", Some(Some("xn--r8jz45g.jp"))),
            ("https://p\u{430}ypal.com", None),
            ("https://\u{440}aypal.com", None),
            ("https://ex\u{3b1}mple.com", None),
            ("https://example\u{3002}com", None),
            ("https://\u{ff45}xample.com", None),
            ("https://exam\u{200b}ple.com", None),
            ("https://exam\u{ad}ple.com", None),
            ("https://\u{202e}moc.elpmaxe", None),
            ("https://example.com/\u{202e}gpj.exe", None),
            ("https://example.com/\u{2066}x", None),
        ] {
            let told = host_in_ascii(url);
            match expected {
                Some(host) => assert_eq!(told.unwrap().as_deref(), host, "{url}"),
                None => {
                    let error = told.unwrap_err();
                    assert_eq!(error.code, ErrorCode::UrlForbidden, "{url:?}");
                    assert!(!error.message.chars().any(is_hidden), "{error}");
                }
            }
        }
    }

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
