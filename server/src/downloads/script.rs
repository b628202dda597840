//! The script that installs an agent: `deploy/install.sh` with this backend's address and its agents.

use super::Manifest;

const TEMPLATE: &str = include_str!("../../../deploy/install.sh");

/// The script, which ends with one newline: a shell that keeps it in a variable loses those at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script(String);

impl Script {
    /// Returns the script for devices that reach the backend at this address.
    pub(super) fn new(url: &str, is_pinned: bool, manifest: &Manifest) -> Self {
        let releases: Vec<_> = manifest
            .iter()
            .map(|(platform, it)| format!("{platform} {} {}", it.sha256, it.size_bytes))
            .collect();
        // The agent is checked by its SHA-256. Where the lines name that of the script, no certificate is needed.
        let (curl, wget) = if is_pinned { ("-k", "--no-check-certificate") } else { ("", "") };
        let text = TEMPLATE
            .replace("@BASE@", url)
            .replace("@CURL_OPTIONS@", curl)
            .replace("@WGET_OPTIONS@", wget)
            .replace("@RELEASES@", &releases.join("\n"));
        Self(format!("{}\n", text.trim_end_matches('\n')))
    }

    /// Returns its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled_and_the_text_ends_once() {
        let script = Script::new("https://orion.example", true, &Manifest::default());
        for name in ["@BASE@", "@CURL_OPTIONS@", "@WGET_OPTIONS@", "@RELEASES@"] {
            assert!(TEMPLATE.contains(name) && !script.text().contains(name), "{name}");
        }
        assert!(script.text().contains("base='https://orion.example'"));
        assert!(script.text().ends_with("exit; }\n"));
    }
}
