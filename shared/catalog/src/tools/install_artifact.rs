//! `install_artifact`: downloads an archive, checks it, and starts the services in it.

use std::time::Duration;

use orion_domain::{Capability, Digest, ErrorCode, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::artifact::{ArtifactName, of_hostagent};
use crate::execution::Execution;
use crate::secret_argument::SecretArgument;
use crate::spec::{Alias, Category, Tool};
use crate::web::{WebAddress, hide_query_of};

/// The `install_artifact` tool.
#[derive(Debug)]
pub struct InstallArtifact;

/// Which artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The name of the artifact, as its manifest has it.
    #[schemars(length(max = 40))]
    pub name: String,
    /// The https address of the archive. What follows `?` in it is secret. When left out: what the backend has
    /// under `[artifacts.NAME]`.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    pub url: Option<String>,
    /// SHA-256 of the archive, 64 hexadecimal digits. When left out: what the backend has under
    /// `[artifacts.NAME]`.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub sha256: Option<String>,
    /// Must be true: a safety catch. A person must approve the call as well.
    #[serde(default)]
    pub confirm: bool,
}

/// An artifact that is to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: ArtifactName,
    /// Where its archive is.
    pub address: WebAddress,
    /// SHA-256 of the archive.
    pub sha256: Digest,
}

impl Arguments {
    /// Returns what is to be installed.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`.
    pub fn wanted(&self) -> Result<Wanted, ToolError> {
        let name = ArtifactName::parse(&self.name)?;
        let (Some(url), Some(sha256)) = (&self.url, &self.sha256) else {
            let message = format!(
                "The backend has no [artifacts.{name}], and the call has no url or sha256."
            );
            return Err(ToolError::new(ErrorCode::InvalidArgument, message)
                .hint("give url and sha256, or let the operator configure the artifact"));
        };
        let address = WebAddress::parse(url)?;
        if !address.is_https() && !address.address.is_loopback() {
            let message = "An archive is downloaded over https only.";
            return Err(ToolError::new(ErrorCode::InvalidArgument, message)
                .hint("give an address that begins with https://"));
        }
        let sha256 = sha256.parse().map_err(|_| {
            let message = "sha256 is the SHA-256 of the archive: 64 hexadecimal digits.";
            ToolError::new(ErrorCode::InvalidArgument, message)
                .hint("compute it with sha256sum from an archive that you trust")
        })?;
        Ok(Wanted { name, address, sha256 })
    }
}

/// One step of the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// `docker`, `download`, `sha256`, `extract`, `manifest`, `install`, `start` or `health`.
    pub name: String,
    /// Whether it was done; in a preview, whether it can be.
    pub ok: bool,
    /// What was done, found or would be done, in a sentence.
    pub detail: String,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Whether the services answer as they should; false in a preview.
    pub healthy: bool,
}

impl Tool for InstallArtifact {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "install_artifact";
    const ALIASES: &'static [Alias] =
        &[Alias { name: "setup_hostagent_server", adapt: of_hostagent }];
    const CATEGORY: Category = Category::Artifact;
    const DESCRIPTION: &'static str = "Installs an artifact on a device: downloads its archive, checks its \
        SHA-256, runs its install script and starts its services with Docker Compose. Use it when a person \
        asks to set up exactly this artifact. To see how an installed one is, use verify_artifact. Needs \
        confirm: true, and an admin approves it.";
    const RISK: Risk = Risk::Critical;
    const CAPABILITIES: &'static [Capability] = &[Capability::ArtifactInstall];
    const HAS_EFFECTS: bool = true;
    // A second run finds the artifact installed and is refused.
    const IDEMPOTENT: bool = false;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"install_artifact","device":"laptop-123","name":"hostagent-server","url":"https://files.example.com/hostagent-server.tar.gz","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","confirm":true}"#;
    const EXECUTION: Execution = Execution::ChildProcess;
    const SECRETS: &'static [SecretArgument] =
        &[SecretArgument { name: "url", hide: hide_query_of }];
    const TIMEOUT: Option<Duration> = Some(Duration::from_mins(10));

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches { hosts: vec![arguments.wanted()?.address.address], ..Touches::nothing() })
    }

    fn confirmed(arguments: &Arguments) -> bool {
        arguments.confirm
    }

    fn reasons(arguments: &Arguments) -> Vec<String> {
        let Ok(Wanted { name, address, sha256 }) = arguments.wanted() else { return Vec::new() };
        let Arguments { name: _, url: _, sha256: _, confirm: _ } = arguments;
        vec![
            format!("It installs the artifact {name} from {}.", address.address),
            format!("The SHA-256 of the archive must be {sha256}."),
            "Its services run by Docker, with every right that its compose file asks for."
                .to_owned(),
            "Orion cannot undo the installation.".to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use orion_domain::PathStyle;

    use super::*;

    const SHA256: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    fn arguments(name: &str, url: Option<&str>, sha256: Option<&str>) -> Arguments {
        let [url, sha256] = [url, sha256].map(|it| it.map(ToOwned::to_owned));
        Arguments { name: name.to_owned(), url, sha256, confirm: true }
    }

    #[test]
    fn a_call_touches_the_host_alone_and_its_card_names_what_is_installed() {
        let url = "https://files.example/a.tar.gz?X-Amz-Signature=secret";
        let arguments = arguments("a", Some(url), Some(SHA256));
        let touches =
            InstallArtifact::touches(&arguments, &Places::bare(PathStyle::Posix)).unwrap();
        let hosts: Vec<_> = touches.hosts.iter().map(ToString::to_string).collect();
        assert_eq!(hosts, ["files.example:443"]);
        let reasons = InstallArtifact::reasons(&arguments).join(" ");
        for part in ["artifact a ", "files.example:443", SHA256] {
            assert!(reasons.contains(part), "{reasons}");
        }
        assert!(!reasons.contains("secret"), "{reasons}");
    }

    #[test]
    fn what_is_missing_or_not_encrypted_is_refused_without_the_address() {
        let good = Some("https://files.example/a?secret");
        for wrong in [
            arguments("a/b", good, Some(SHA256)),
            arguments("a", None, Some(SHA256)),
            arguments("a", good, None),
            arguments("a", good, Some("abc")),
            arguments("a", Some("http://files.example/a?secret"), Some(SHA256)),
            arguments("a", Some("file:///a?secret"), Some(SHA256)),
        ] {
            let error = wrong.wanted().unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument, "{wrong:?}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
        assert!(arguments("a", Some("http://127.0.0.1:8000/a"), Some(SHA256)).wanted().is_ok());
    }
}
