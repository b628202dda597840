//! Executes `restart_docker`.

use std::time::{Duration, Instant};

use orion_catalog::tools::restart_docker::{Arguments, RestartDocker, Returns, daemon};
use orion_domain::{ErrorCode, ToolError};

use super::counted::counted;
use super::service_managers::containers::{self, Engine};
use super::service_managers::{self, NOT_FOUND};
use super::{CommandContext, CommandTool, Outcome};

/// How long a restarted daemon has until it answers.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// How long to wait before it is asked again.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

impl CommandTool for RestartDocker {
    fn run(_: Arguments, context: &CommandContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let daemon = daemon()?;
        let before = service_managers::state(&daemon, context)?;
        if before.state == NOT_FOUND {
            let message = format!("There is no unit {daemon} on this device.");
            return Err(ToolError::new(ErrorCode::NotSupported, message)
                .hint("restart a container with restart_service"));
        }
        if context.dry_run {
            let containers = count(context)?;
            let message = match containers {
                Some(count) => format!(
                    "Would restart {daemon}, which is {}, with {}.",
                    before.state,
                    counted(count, "container")
                ),
                None => format!(
                    "Would restart {daemon}, which is {} and does not answer.",
                    before.state
                ),
            };
            return Ok(Outcome::new(message, Returns { before, after: None, containers }));
        }
        context.check()?;
        service_managers::restart(&daemon, context)?;
        let until = Instant::now() + MAX_WAIT;
        let containers = loop {
            context.wait(ASK_INTERVAL)?;
            let containers = count(context)?;
            if containers.is_some() || Instant::now() >= until {
                break containers;
            }
        };
        let after = service_managers::state(&daemon, context)?;
        let answers = match containers {
            Some(1) => "1 container runs".to_owned(),
            Some(count) => format!("{count} containers run"),
            None => "Docker does not answer".to_owned(),
        };
        let message = format!("Restarted {daemon}, which is {} now: {answers}.", after.state);
        Ok(Outcome::new(message, Returns { before, after: Some(after), containers }))
    }
}

/// Returns how many containers run. `None` where Docker does not answer, or has no command line here.
fn count(context: &CommandContext<'_>) -> Result<Option<u64>, ToolError> {
    match containers::engine(context)? {
        Some((engine @ Engine::Docker, _)) => containers::count(engine, &[], context),
        Some((Engine::Podman, _)) | None => Ok(None),
    }
}
