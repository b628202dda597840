//! `[upgrade]` of the owner's file: from where and by whose signature the agent itself is upgraded.

use minisign_verify::PublicKey;
use reqwest::Url;
use serde::Deserialize;

/// The section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UpgradeSettings {
    /// Whether the agent may be upgraded at all.
    pub allow: bool,
    /// The port of people of the backend that serves releases, such as `https://orion.example`.
    pub url: Option<String>,
    /// The key of minisign by which every release must be signed.
    pub public_key: Option<String>,
}

impl Default for UpgradeSettings {
    fn default() -> Self {
        Self { allow: true, url: None, public_key: None }
    }
}

impl UpgradeSettings {
    /// Checks what types alone cannot.
    pub(super) fn check(&self) -> Result<(), String> {
        let is_plain = |url: &Url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.path() == "/"
                && url.query().is_none()
                && url.fragment().is_none()
                && url.username().is_empty()
                && url.password().is_none()
        };
        if let Some(url) = &self.url
            && !Url::parse(url).is_ok_and(|url| is_plain(&url))
        {
            return Err(format!(
                "[upgrade] url = \"{url}\" is no address without a path; write one such as https://orion.example:7080"
            ));
        }
        if let Some(key) = &self.public_key
            && PublicKey::from_base64(key).is_err()
        {
            return Err(
                "[upgrade] public_key is the second line of a minisign.pub, which begins with RW"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_no_path_and_a_key_is_one_of_minisign() {
        let of = |url: &str, key: &str| {
            let (url, public_key) = (Some(url.to_owned()), Some(key.to_owned()));
            UpgradeSettings { url, public_key, ..UpgradeSettings::default() }.check()
        };
        let key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
        for url in ["https://orion.example", "http://127.0.0.1:7080/", "https://[::1]:7080"] {
            assert_eq!(of(url, key), Ok(()), "{url}");
        }
        for url in
            ["orion.example", "https://orion.example/x", "ftp://orion.example", "https://a@b", ""]
        {
            assert!(of(url, key).is_err(), "{url}");
        }
        assert!(of("https://orion.example", "RWQf6").unwrap_err().contains("minisign.pub"));
    }
}
