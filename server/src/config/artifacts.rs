//! `[artifacts.NAME]`: where artifacts are, for calls that do not say so.

use std::collections::BTreeMap;
use std::path::PathBuf;

use orion_catalog::artifact::ArtifactName;
use orion_catalog::web::WebAddress;
use orion_domain::Digest;
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// `[artifacts]`: one section for each artifact.
pub type Artifacts = BTreeMap<String, Artifact>;

/// `[artifacts.NAME]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Artifact {
    /// The address of the archive. It holds no secret.
    pub url: Option<String>,
    /// A file with the address, which may hold a secret. It is read for each call.
    pub url_file: Option<PathBuf>,
    /// SHA-256 of the archive.
    pub sha256: String,
}

/// Checks every artifact.
///
/// # Errors
/// [`ConfigError::Artifact`], without any address.
pub(super) fn check(artifacts: &Artifacts) -> Result<(), ConfigError> {
    for (name, Artifact { url, url_file, sha256 }) in artifacts {
        let problem = |problem| {
            let name = name.chars().take(64).collect();
            Err(ConfigError::Artifact { name, problem })
        };
        if ArtifactName::parse(name).is_err() {
            return problem("the name has lower-case letters, digits, `-` and `_` only");
        }
        if url.is_some() == url_file.is_some() {
            return problem("set either `url` or `url_file`");
        }
        if let Some(url) = url {
            if url.contains('?') {
                return problem(
                    "what follows `?` in `url` may be a secret: write the address into a file and name it as `url_file`",
                );
            }
            if WebAddress::parse(url).is_err() {
                return problem(
                    "`url` is a web address such as https://files.example.com/a.tar.gz",
                );
            }
        }
        if sha256.parse::<Digest>().is_err() {
            return problem("`sha256` is the SHA-256 of the archive: 64 hexadecimal digits");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_artifact_has_one_address_without_a_secret_and_a_digest() {
        let sha256 = "0".repeat(64);
        let check = |name: &str, keys: &str| {
            let text = format!("[{name}]\n{keys}\n");
            super::check(&toml::from_str(&text).unwrap()).map_err(|error| error.to_string())
        };
        let url = "url = \"https://files.example/a\"";
        let digest = format!("sha256 = \"{sha256}\"");
        assert_eq!(check("a", &format!("{url}\n{digest}")), Ok(()));
        assert_eq!(check("a", &format!("url_file = \"/run/url\"\n{digest}")), Ok(()));
        for (name, keys, part) in [
            ("A", format!("{url}\n{digest}"), "lower-case"),
            ("a", digest.clone(), "either"),
            ("a", format!("{url}\nurl_file = \"/run/url\"\n{digest}"), "either"),
            ("a", format!("url = \"https://a.example/?hunter2\"\n{digest}"), "`url_file`"),
            ("a", format!("url = \"hunter2\"\n{digest}"), "web address"),
            ("a", url.to_owned(), "64"),
        ] {
            let error = check(name, &keys).unwrap_err();
            assert!(error.contains(part) && !error.contains("hunter2"), "{error}");
        }
    }
}
