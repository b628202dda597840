//! `[downloads]`: the agents that this backend serves, and the lines that install them.

use std::path::PathBuf;

use axum::http::Uri;
use minisign_verify::PublicKey;
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// `[downloads]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DownloadsConfig {
    /// The folder of the agents, which `orion-server releases` fills. `releases` in the data folder if not set.
    pub folder: Option<PathBuf>,
    /// The address under which devices reach the port of people, such as `https://orion.example`.
    pub url: Option<String>,
    /// Whether the lines name the SHA-256 of the script, and so need no certificate that a device trusts.
    pub pin: Option<bool>,
    /// The key of minisign by which every agent must be signed.
    pub public_key: Option<String>,
}

/// Checks what types alone cannot.
///
/// # Errors
/// [`ConfigError::Downloads`].
pub(super) fn check(config: &DownloadsConfig) -> Result<(), ConfigError> {
    if config.url.as_deref().is_some_and(|url| !is_address(url)) {
        return Err(ConfigError::Downloads(
            "`url` is an address without a path, such as https://orion.example:7080",
        ));
    }
    if let Some(key) = &config.public_key
        && PublicKey::from_base64(key).is_err()
    {
        return Err(ConfigError::Downloads(
            "`public_key` is the second line of a minisign.pub, which begins with RW",
        ));
    }
    Ok(())
}

/// Returns whether the text is `http(s)://HOST[:PORT]`. It becomes a part of a script and of lines for a shell, so its
/// letters are few.
fn is_address(url: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]/".contains(c);
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return false };
    url.len() <= 300
        && url.chars().all(is_plain)
        && matches!(scheme, "http" | "https")
        && url == format!("{scheme}://{authority}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_nothing_that_a_shell_reads() {
        for url in ["https://orion.example", "http://127.0.0.1:7080", "https://[::1]:7080"] {
            assert!(is_address(url), "{url}");
        }
        for url in [
            "orion.example",
            "https://orion.example/",
            "https://orion.example/x",
            "https://a'b",
            "https://a$(x)",
            "https://user@orion.example",
            "ftp://orion.example",
            "https://",
            "",
        ] {
            assert!(!is_address(url), "{url}");
        }
    }

    #[test]
    fn a_key_is_one_of_minisign() {
        let config = |key: &str| DownloadsConfig {
            public_key: Some(key.to_owned()),
            ..DownloadsConfig::default()
        };
        let key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
        assert!(check(&config(key)).is_ok());
        assert!(check(&config("RWQf6")).is_err());
    }
}
