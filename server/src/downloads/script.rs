//! The scripts that install an agent, `deploy/install.sh` and `deploy/install.ps1`, with this backend's address and its
//! agents.

use super::{Manifest, Platform};

const FOR_A_SHELL: &str = include_str!("../../../deploy/install.sh");
const FOR_POWERSHELL: &str = include_str!("../../../deploy/install.ps1");

/// A script, which ends with one newline: a shell that keeps it in a variable loses those at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script(String);

impl Script {
    /// Returns the script of a shell, for devices that reach the backend at this address.
    pub(super) fn for_a_shell(url: &str, is_pinned: bool, manifest: &Manifest) -> Self {
        let releases: Vec<_> = manifest
            .iter()
            .map(|(platform, it)| format!("{platform} {} {}", it.sha256, it.size_bytes))
            .collect();
        // The agent is checked by its SHA-256. Where the lines name that of the script, no certificate is needed.
        let (curl, wget) = if is_pinned { ("-k", "--no-check-certificate") } else { ("", "") };
        let text = FOR_A_SHELL
            .replace("@BASE@", url)
            .replace("@CURL_OPTIONS@", curl)
            .replace("@WGET_OPTIONS@", wget)
            .replace("@RELEASES@", &releases.join("\n"));
        Self::ending_once(&text)
    }

    /// Returns the script of PowerShell, for devices that reach the backend at this address.
    pub(super) fn for_powershell(url: &str, is_pinned: bool, manifest: &Manifest) -> Self {
        let release = manifest.get(Platform::WindowsX86_64);
        let (sha256, size) = release
            .map(|it| (it.sha256.to_string(), it.size_bytes.to_string()))
            .unwrap_or_default();
        let text = FOR_POWERSHELL
            .replace("@BASE@", &url.replace('\'', "''"))
            .replace("@CURL_OPTIONS@", if is_pinned { "'-k'" } else { "" })
            .replace("@SHA256@", &sha256)
            .replace("@SIZE@", &size);
        Self::ending_once(&text)
    }

    fn ending_once(text: &str) -> Self {
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
    use orion_domain::Digest;

    use super::*;
    use crate::downloads::Release;

    const URL: &str = "https://orion.example";

    #[test]
    fn every_placeholder_is_filled_and_the_text_ends_once() {
        let shell = Script::for_a_shell(URL, true, &Manifest::default());
        for name in ["@BASE@", "@CURL_OPTIONS@", "@WGET_OPTIONS@", "@RELEASES@"] {
            assert!(FOR_A_SHELL.contains(name) && !shell.text().contains(name), "{name}");
        }
        assert!(shell.text().contains("base='https://orion.example'"));
        assert!(shell.text().ends_with("exit; }\n"));
        let powershell = Script::for_powershell(URL, true, &Manifest::default());
        for name in ["@BASE@", "@CURL_OPTIONS@", "@SHA256@", "@SIZE@"] {
            assert!(FOR_POWERSHELL.contains(name) && !powershell.text().contains(name), "{name}");
        }
        assert!(powershell.text().contains("$base = 'https://orion.example'"));
        assert!(powershell.text().ends_with("\nInstall-OrionAgent @args\n"));
    }

    #[test]
    fn the_script_of_powershell_names_the_agent_for_windows_alone() {
        let release = |text: &str| Release {
            version: "1.0.0".to_owned(),
            sha256: Digest::of(text.as_bytes()),
            size_bytes: 7,
            signature: None,
        };
        let mut manifest = Manifest::default();
        manifest.insert(Platform::LinuxX86_64, release("linux"));
        let none = Script::for_powershell(URL, false, &manifest);
        assert!(none.text().contains("$sha256 = ''\n"), "{}", none.text());
        manifest.insert(Platform::WindowsX86_64, release("windows"));
        let script = Script::for_powershell(URL, false, &manifest);
        let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
        assert!(script.text().contains(&format!("$sha256 = '{}'", digest("windows"))));
        assert!(script.text().contains("$size = '7'") && !script.text().contains(&digest("linux")));
        assert!(script.text().contains("= @()\n"), "a known certificate is checked");
        let pinned = Script::for_powershell(URL, true, &manifest);
        assert!(pinned.text().contains("$curlOptions = @('-k')\n"));
    }

    #[test]
    fn the_script_of_powershell_is_read_alike_in_every_language_of_windows() {
        assert!(FOR_POWERSHELL.is_ascii(), "Windows PowerShell reads other text by its code page");
        // Nothing outside of the function but its call: a part of the script does nothing.
        let code =
            FOR_POWERSHELL.lines().filter(|it| !it.is_empty() && !it.starts_with(['#', ' ']));
        assert_eq!(
            code.collect::<Vec<_>>(),
            ["function Install-OrionAgent {", "}", "Install-OrionAgent @args"]
        );
        let count = |c: char| FOR_POWERSHELL.chars().filter(|it| *it == c).count();
        assert_eq!((count('{'), count('(')), (count('}'), count(')')));
    }
}
