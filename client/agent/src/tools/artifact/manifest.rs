//! `manifest.json`: what an artifact says about itself.

use orion_catalog::artifact::ArtifactName;
use orion_catalog::web::WebAddress;
use orion_domain::ToolError;
use serde::{Deserialize, Serialize};

use super::name::InnerName;
use super::unfit;

/// The name of the file in the archive.
pub(super) const FILE: &str = "manifest.json";
/// The largest file, in bytes.
pub(super) const MAX_BYTES: u64 = 64 * 1024;
/// The longest version, in bytes.
const MAX_VERSION_BYTES: usize = 64;

/// The file as it is written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Written {
    name: String,
    version: String,
    install: String,
    compose_file: String,
    health_url: String,
}

/// A manifest that was checked.
#[derive(Debug, Clone)]
pub(in crate::tools) struct Manifest {
    /// The version: one plain word.
    pub(in crate::tools) version: String,
    /// The install script.
    pub(in crate::tools) install: InnerName,
    /// The compose file.
    pub(in crate::tools) compose_file: InnerName,
    /// Where the services tell their health, on the device itself.
    pub(in crate::tools) health: WebAddress,
    /// The file as it is written.
    pub(in crate::tools) written: Written,
}

impl Manifest {
    /// Parses the file of an artifact of this name.
    ///
    /// # Errors
    /// A file that is no such manifest, or is that of another artifact.
    pub(in crate::tools) fn parse(text: &[u8], name: &ArtifactName) -> Result<Self, ToolError> {
        let written = serde_json::from_slice(text)
            .map_err(|error| unfit(format!("{FILE} does not fit: {error}.")))?;
        Self::of(written, name)
    }

    /// Checks a manifest.
    ///
    /// # Errors
    /// As [`Manifest::parse`].
    pub(in crate::tools) fn of(written: Written, name: &ArtifactName) -> Result<Self, ToolError> {
        if written.name != name.as_str() {
            return Err(unfit(format!("{FILE} is that of another artifact than {name}.")));
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
        if !(1..=MAX_VERSION_BYTES).contains(&written.version.len())
            || !written.version.bytes().all(is_plain)
        {
            return Err(unfit(format!(
                "{FILE}: version has 1 to {MAX_VERSION_BYTES} letters, digits, `.`, `_`, `+` or `-`."
            )));
        }
        let inner = |key: &str, name: &str| {
            let parsed = InnerName::parse(name).ok().flatten();
            parsed
                .ok_or_else(|| unfit(format!("{FILE}: {key} is no name of a file in the archive.")))
        };
        let health = WebAddress::parse(&written.health_url).ok();
        // The artifact was approved for one host, and this is another.
        let health = health.filter(|it| it.address.is_loopback()).ok_or_else(|| {
            unfit(format!("{FILE}: health_url is a web address of this device, such as http://localhost:8443/health."))
        })?;
        Ok(Self {
            version: written.version.clone(),
            install: inner("install", &written.install)?,
            compose_file: inner("compose_file", &written.compose_file)?,
            health,
            written,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_manifest_is_read_strictly() {
        let name = ArtifactName::parse("demo").unwrap();
        let good = json!({
            "name": "demo", "version": "1.2.3-rc.1", "install": "bin/install.sh",
            "compose_file": "compose.yaml", "health_url": "http://localhost:8443/health",
        });
        let parse = |value: &Value| Manifest::parse(value.to_string().as_bytes(), &name);
        let manifest = parse(&good).unwrap();
        assert_eq!((&*manifest.version, manifest.health.address.port), ("1.2.3-rc.1", 8443));
        assert_eq!(manifest.install.to_string(), "bin/install.sh");
        for (key, wrong) in [
            ("name", json!("other")),
            ("version", json!("")),
            ("version", json!("1 \u{1b}[0m")),
            ("version", json!(1)),
            ("install", json!("../install.sh")),
            ("install", json!("/bin/sh")),
            ("install", json!("")),
            ("compose_file", json!("a/../../b")),
            ("compose_file", Value::Null),
            ("health_url", json!("http://169.254.169.254/health")),
            ("health_url", json!("https://files.example/health")),
            ("health_url", json!("http://ann@localhost/")),
            ("health_url", json!("file:///etc/passwd")),
            ("more", json!(1)),
        ] {
            let mut value = good.clone();
            value[key] = wrong.clone();
            assert!(parse(&value).is_err(), "{key} {wrong}");
        }
        for key in ["name", "version", "install", "compose_file", "health_url"] {
            let mut value = good.clone();
            value.as_object_mut().unwrap().remove(key);
            assert!(parse(&value).is_err(), "without {key}");
        }
        let twice = good.to_string().replacen('{', "{\"version\":\"2\",", 1);
        assert!(Manifest::parse(twice.as_bytes(), &name).is_err());
        for text in ["", "[]", "{}", "null"] {
            assert!(Manifest::parse(text.as_bytes(), &name).is_err(), "{text}");
        }
    }
}
