//! Containers, through the command line of Docker or Podman with JSON output.

use orion_catalog::installed::InstalledDaemon;
use orion_catalog::service_state::ServiceState;
use orion_domain::services::{Service, ServiceKind};
use orion_domain::{ErrorCode, ToolError};
use serde::Deserialize;

use super::{NOT_FOUND, failed, only, unread, word};
use crate::programs::{Answer, CommandContext, ask};
use crate::sandbox::Network;
use crate::tools::installed::is_missing;

/// The most containers of one compose service.
const MAX_CONTAINERS: usize = 20;
/// What is read of a container. The rest of it can hold secrets.
const FORMAT: &str = r#"{"status":{{json .State.Status}},"started":{{json .State.StartedAt}},"pid":{{json .State.Pid}},"restarts":{{json .RestartCount}},"policy":{{json .HostConfig.RestartPolicy.Name}}}"#;

/// The answer where nothing is installed.
pub(in crate::tools) const NOT_INSTALLED: InstalledDaemon =
    InstalledDaemon { installed: false, running: false, version: None, containers: None };

/// A command line for containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tools) enum Engine {
    /// Docker.
    Docker,
    /// Podman, through its socket.
    Podman,
}

impl Engine {
    /// Returns the name for people.
    pub(in crate::tools) const fn title(self) -> &'static str {
        match self {
            Self::Docker => "Docker",
            Self::Podman => "Podman",
        }
    }

    /// Returns the program, and its first arguments.
    pub(in crate::tools) const fn program(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Docker => ("docker", &[]),
            Self::Podman => ("podman", &["--remote"]),
        }
    }

    fn ask(self, arguments: &[&str], context: &CommandContext<'_>) -> Result<Answer, ToolError> {
        let (program, first) = self.program();
        let arguments = [first, arguments].concat();
        ask(context, program, &arguments, Network::Services)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Versions {
    client: Option<Version>,
}

#[derive(Deserialize)]
struct Version {
    #[serde(rename = "Version", alias = "version")]
    version: String,
}

/// Returns what is installed, with its version. `None` where nothing is.
pub(in crate::tools) fn engine(
    context: &CommandContext<'_>,
) -> Result<Option<(Engine, Option<String>)>, ToolError> {
    for engine in [Engine::Docker, Engine::Podman] {
        // Without a daemon the client still prints its own version.
        let answer = match engine.ask(&["version", "--format", "{{json .}}"], context) {
            Err(error) if is_missing(&error) => continue,
            answered => answered?,
        };
        let versions: Option<Versions> = serde_json::from_str(answer.stdout.trim()).ok();
        let version = versions.and_then(|it| it.client).and_then(|it| plain(&it.version));
        return Ok(Some((engine, version)));
    }
    Ok(None)
}

/// Returns the version of Docker Compose. `None` where it is not installed.
pub(in crate::tools) fn compose_version(
    context: &CommandContext<'_>,
) -> Result<Option<String>, ToolError> {
    let arguments = ["compose", "version", "--format", "json"];
    let answer = match Engine::Docker.ask(&arguments, context) {
        Err(error) if is_missing(&error) => return Ok(None),
        answered => answered?,
    };
    let version: Option<Version> = serde_json::from_str(answer.stdout.trim()).ok();
    Ok(version.filter(|_| answer.is_ok()).and_then(|it| plain(&it.version)))
}

/// Returns how many containers run that the filter takes. `None` where the daemon does not answer.
pub(in crate::tools) fn count(
    engine: Engine,
    filter: &[&str],
    context: &CommandContext<'_>,
) -> Result<Option<u64>, ToolError> {
    let answer = engine.ask(&[&["ps", "--quiet"], filter].concat(), context)?;
    if !answer.is_ok() {
        return Ok(None);
    }
    Ok(Some(ids(&answer.stdout).ok_or_else(|| unread(engine.title()))?.len() as u64))
}

/// Returns the state of a container, or of all containers of a compose service.
pub(super) fn state(
    service: &Service,
    context: &CommandContext<'_>,
) -> Result<ServiceState, ToolError> {
    let engine = installed(context)?;
    let Some(names) = names(engine, service, context)? else {
        return Ok(only(service, NOT_FOUND));
    };
    let mut arguments = vec!["container", "inspect", "--format", FORMAT, "--"];
    arguments.extend(names.iter().map(String::as_str));
    let answer = engine.ask(&arguments, context)?;
    if !answer.is_ok() && is_not_found(&answer) {
        return Ok(only(service, NOT_FOUND));
    }
    if !answer.is_ok() {
        return Err(failed(engine.title(), &answer));
    }
    parse(service, &answer.stdout).ok_or_else(|| unread(engine.title()))
}

/// Restarts a container, or all containers of a compose service.
pub(super) fn restart(service: &Service, context: &CommandContext<'_>) -> Result<(), ToolError> {
    let engine = installed(context)?;
    let Some(names) = names(engine, service, context)? else {
        let message = format!("There is no service {service} on this device.");
        return Err(ToolError::new(ErrorCode::ExecutionFailed, message));
    };
    let mut arguments = vec!["container", "restart", "--"];
    arguments.extend(names.iter().map(String::as_str));
    let answer = engine.ask(&arguments, context)?;
    if answer.is_ok() { Ok(()) } else { Err(failed(engine.title(), &answer)) }
}

pub(in crate::tools) fn installed(context: &CommandContext<'_>) -> Result<Engine, ToolError> {
    let found = engine(context)?.map(|(engine, _)| engine);
    found.ok_or_else(|| {
        let message = "This device has neither Docker nor Podman.";
        ToolError::new(ErrorCode::NotSupported, message)
    })
}

/// Returns the names or ids of the containers of a service. `None` where a compose service has none.
pub(in crate::tools) fn names(
    engine: Engine,
    service: &Service,
    context: &CommandContext<'_>,
) -> Result<Option<Vec<String>>, ToolError> {
    let (ServiceKind::Compose, Some((project, name))) =
        (service.kind(), service.name().split_once('/'))
    else {
        return Ok(Some(vec![service.name().to_owned()]));
    };
    let project = format!("label=com.docker.compose.project={project}");
    let name = format!("label=com.docker.compose.service={name}");
    let arguments = ["ps", "--all", "--quiet", "--filter", &project, "--filter", &name];
    let answer = engine.ask(&arguments, context)?;
    if !answer.is_ok() {
        return Err(failed(engine.title(), &answer));
    }
    let ids = ids(&answer.stdout).ok_or_else(|| unread(engine.title()))?;
    if ids.len() > MAX_CONTAINERS {
        let message = format!("{service} has more than {MAX_CONTAINERS} containers.");
        return Err(ToolError::new(ErrorCode::ResourceExhausted, message));
    }
    Ok(Some(ids).filter(|ids| !ids.is_empty()))
}

/// Parses ids, one on each line. `None` for anything else.
fn ids(text: &str) -> Option<Vec<String>> {
    let is_id = |line: &str| {
        (1..=64).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    text.lines().map(|line| is_id(line).then(|| line.to_owned())).collect()
}

pub(in crate::tools) fn is_not_found(answer: &Answer) -> bool {
    answer.complaint.to_ascii_lowercase().contains("no such container")
}

/// Returns a version that is one plain word.
fn plain(version: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._+~-".contains(&byte);
    let is_plain = (1..=64).contains(&version.len()) && version.bytes().all(fits);
    is_plain.then(|| version.to_owned())
}

#[derive(Deserialize)]
struct Container {
    status: String,
    started: String,
    pid: u32,
    restarts: u64,
    policy: String,
}

/// Parses containers, one on each line. The service is in the state of the first that does not run.
fn parse(service: &Service, text: &str) -> Option<ServiceState> {
    let each = text.lines().map(|line| serde_json::from_str::<Container>(line).ok());
    let containers: Vec<Container> = each.collect::<Option<_>>()?;
    let shown = containers.iter().find(|it| it.status != "running").or(containers.first())?;
    let at: jiff::Timestamp = shown.started.parse().ok()?;
    let restarts = containers.iter().map(|it| it.restarts).fold(0, u64::saturating_add);
    Some(ServiceState {
        state: word(&shown.status)?,
        // A container that runs does so since it was started; of others, the manager tells another moment.
        since: (shown.status == "running").then(|| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        pid: Some(shown.pid).filter(|pid| *pid != 0),
        restarts: Some(restarts),
        enabled: Some(matches!(shown.policy.as_str(), "always" | "unless-stopped")),
        ..only(service, "")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: &str = r#"{"status":"running","started":"2023-11-14T22:13:20.123456789Z","pid":4242,"restarts":1,"policy":"unless-stopped"}"#;
    const EXITED: &str = r#"{"status":"exited","started":"2023-11-14T22:13:20Z","pid":0,"restarts":3,"policy":"no"}"#;

    #[test]
    fn containers_are_read_strictly_and_one_that_does_not_run_counts() {
        let service = Service::parse("compose:homelab/grafana").unwrap();
        let state = parse(&service, RUNNING).unwrap();
        assert_eq!(state.since.as_deref(), Some("2023-11-14T22:13:20Z"));
        assert_eq!((state.pid, state.restarts, state.enabled), (Some(4242), Some(1), Some(true)));
        let both = parse(&service, &format!("{RUNNING}\n{EXITED}\n")).unwrap();
        assert_eq!((&*both.state, both.pid, both.restarts), ("exited", None, Some(4)));
        assert_eq!((both.since, both.enabled), (None, Some(false)));
        let loud = RUNNING.replace("running", "RUNNING!");
        for wrong in ["", "{}", "[]", &loud, &RUNNING.replace("4242", "-1")] {
            assert_eq!(parse(&service, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn ids_and_versions_are_plain() {
        assert_eq!(ids("0a1b2c\nffff\n").unwrap(), ["0a1b2c", "ffff"]);
        assert_eq!(ids("").unwrap().len(), 0);
        for wrong in ["--all\n", "xyz\n", "0a 1b\n", "\n"] {
            assert_eq!(ids(wrong), None, "{wrong}");
        }
        assert_eq!(plain("28.2.2").as_deref(), Some("28.2.2"));
        assert_eq!(plain("28\u{1b}[0m"), None);
    }
}
