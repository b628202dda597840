//! The services of an artifact, through Docker Compose.

use std::path::Path;
use std::time::Duration;

use orion_catalog::artifact::ArtifactName;
use orion_domain::{ErrorCode, ToolError};

use super::name::InnerName;
use crate::programs::{Answer, CommandContext, Query, listen};
use crate::sandbox::Network;
use crate::tools::service_managers::containers::{self, Engine};
use crate::tools::service_managers::failed;

/// The name for people.
const TITLE: &str = "Docker Compose";
/// How long the services may take to start: images are downloaded first.
const START_TIME: Duration = Duration::from_mins(20);
/// How long they may take to stop.
const STOP_TIME: Duration = Duration::from_secs(60);

/// Returns what is installed and runs, as a sentence.
///
/// # Errors
/// `NOT_SUPPORTED` where Docker or Compose is missing, `EXECUTION_FAILED` where the daemon does not answer.
pub(in crate::tools) fn ready(context: &CommandContext<'_>) -> Result<String, ToolError> {
    let missing = |message: &str| {
        Err(ToolError::new(ErrorCode::NotSupported, message).hint("install it on the device first"))
    };
    let Some((Engine::Docker, version)) = containers::engine(context)? else {
        return missing("Docker is not installed on this device.");
    };
    let Some(compose) = containers::compose_version(context)? else {
        return missing("Docker Compose is not installed on this device.");
    };
    if containers::count(Engine::Docker, &[], context)?.is_none() {
        let message = "Docker is installed, and its daemon does not answer.";
        return Err(
            ToolError::new(ErrorCode::ExecutionFailed, message).hint("start Docker on the device")
        );
    }
    let version = version.unwrap_or_else(|| "of an unknown version".to_owned());
    Ok(format!("Docker {version} runs, with Compose {compose}."))
}

/// Returns how many containers of an artifact there are, or run.
///
/// # Errors
/// `EXECUTION_FAILED` where Docker does not answer.
pub(in crate::tools) fn count(
    name: &ArtifactName,
    only_running: bool,
    context: &CommandContext<'_>,
) -> Result<u64, ToolError> {
    let label = format!("label=com.docker.compose.project={}", name.project());
    let all: &[&str] = if only_running { &[] } else { &["--all"] };
    let filter = [all, &["--filter", &label]].concat();
    containers::count(Engine::Docker, &filter, context)?.ok_or_else(|| {
        let message = "Docker does not answer.";
        ToolError::new(ErrorCode::ExecutionFailed, message).hint("start Docker on the device")
    })
}

/// Starts the services of a compose file in a folder.
///
/// # Errors
/// `EXECUTION_FAILED` with what Docker Compose complains of, `CANCELLED` and `TIMEOUT`.
pub(in crate::tools) fn up(
    name: &ArtifactName,
    folder: &Path,
    file: &InnerName,
    context: &CommandContext<'_>,
) -> Result<(), ToolError> {
    let path = folder.join(file.path());
    let (Some(folder), Some(path)) = (folder.to_str(), path.to_str()) else {
        let message = "The folder of the agent's state has a name that is not UTF-8.";
        return Err(ToolError::new(ErrorCode::NotSupported, message));
    };
    let rest = ["--project-directory", folder, "--file", path, "up", "--detach"];
    done(&run(name, &rest, &[folder], START_TIME, context)?)
}

/// Stops and removes the containers and networks of an artifact. Its volumes stay.
///
/// # Errors
/// As [`up`].
pub(in crate::tools) fn down(
    name: &ArtifactName,
    context: &CommandContext<'_>,
) -> Result<(), ToolError> {
    done(&run(name, &["down", "--remove-orphans"], &[], STOP_TIME, context)?)
}

fn done(answer: &Answer) -> Result<(), ToolError> {
    if answer.is_ok() { Ok(()) } else { Err(failed(TITLE, answer)) }
}

fn run(
    name: &ArtifactName,
    rest: &[&str],
    reads: &[&str],
    time: Duration,
    context: &CommandContext<'_>,
) -> Result<Answer, ToolError> {
    let project = name.project();
    // Without its progress, the first line of standard error is the first complaint.
    let first = ["compose", "--progress", "quiet", "--project-name", &project];
    let arguments = [&first, rest].concat();
    let network = Network::Services;
    let query = Query { name: "docker", arguments: &arguments, network, reads, memory: 0, time };
    listen(context, query, &mut |_, _| {})
}
