//! Completes the arguments of `install_artifact` by what the operator configured for the artifact.

use orion_catalog::tools::install_artifact::InstallArtifact;
use orion_catalog::web::MAX_URL_BYTES;
use orion_catalog::{Tool as _, ToolSpec};
use orion_domain::{Actor, ErrorCode, Hint, ToolError};
use serde_json::{Map, Value};
use tokio::io::AsyncReadExt as _;

use crate::config::{Artifact, Config};

/// Adds what a call leaves out. Other tools' arguments stay as they are.
///
/// # Errors
/// `PRECONDITION_FAILED` if the file with the address cannot be read.
pub async fn complete(
    config: &Config,
    spec: &ToolSpec,
    arguments: &mut Map<String, Value>,
) -> Result<(), ToolError> {
    if spec.name != InstallArtifact::NAME {
        return Ok(());
    }
    let is_missing =
        |arguments: &Map<String, Value>, name: &str| arguments.get(name).is_none_or(Value::is_null);
    let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(artifact) = config.artifacts.get(&name) else { return Ok(()) };
    if is_missing(arguments, "url") {
        arguments.insert("url".to_owned(), address(&name, artifact).await?.into());
    }
    if is_missing(arguments, "sha256") {
        arguments.insert("sha256".to_owned(), artifact.sha256.clone().into());
    }
    Ok(())
}

/// Returns the address of an artifact.
async fn address(name: &str, artifact: &Artifact) -> Result<String, ToolError> {
    let Artifact { url, url_file, sha256: _ } = artifact;
    let (None, Some(path)) = (url, url_file) else { return Ok(url.clone().unwrap_or_default()) };
    let read = async {
        let mut text = String::new();
        let most = MAX_URL_BYTES as u64 + 2;
        tokio::fs::File::open(path).await?.take(most).read_to_string(&mut text).await?;
        Ok::<_, std::io::Error>(text.trim().to_owned())
    };
    read.await.map_err(|error| {
        tracing::warn!(artifact = name, path = %path.display(), kind = %error.kind(), "a url_file cannot be read");
        let message = format!("The backend cannot read the file with the address of {name}.");
        ToolError::new(ErrorCode::PreconditionFailed, message)
            .hint(Hint::new("mend url_file in orion-server.toml").by(Actor::Admin))
    })
}
