//! Puts an agent together from its configuration and its state, and runs it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use orion_domain::{CallId, CallState, Digest};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::agent::chain_recorder::happened;
use crate::apps::Apps;
use crate::chain::Chain;
use crate::changes::{Recovered, recover};
use crate::clock::now_ms;
use crate::config::{Config, SandboxChoice, Settings};
use crate::execute::Toolbox;
use crate::journal::Journal;
use crate::report;
use crate::roots::Roots;
use crate::sandbox::Sandbox;
use crate::state::{Identity, State};
use crate::trash::Trash;

/// How long cleaning up may keep the agent from serving calls.
const CLEAN_UP_WITHIN: Duration = Duration::from_secs(20);

/// This device is not enrolled.
#[derive(Debug, thiserror::Error)]
#[error(
    "this device is not enrolled; run `orion-agent enroll TOKEN` with a token of `orion devices invite`"
)]
pub struct NotEnrolled;

/// The owner wants the kernel to confine file tools, and it does not.
#[derive(Debug, thiserror::Error)]
#[error(
    "agent.toml says sandbox = \"required\", and this kernel has no Landlock that this process may use (it takes Linux 5.19 or newer with landlock among its security modules, and a container that permits it); turn it on, or write sandbox = \"auto\" to rely on handles alone"
)]
pub struct NoLandlock;

/// Runs an agent until `shutdown`. The caller owns the signal, and the process's cryptography
/// provider.
///
/// # Errors
/// What keeps it from starting: [`NotEnrolled`], [`NoLandlock`], another agent with the same state, a journal or
/// identity that cannot be used. What happens to the connection later is not an error.
pub async fn run(config: Config, shutdown: CancellationToken) -> anyhow::Result<()> {
    let Config { state_dir, settings } = config;
    survive_large_files();
    open_many_files();
    let state = Arc::new(State::open(&state_dir)?);
    let identity = Identity::read(&state_dir)?.ok_or(NotEnrolled)?;
    identity
        .tls()
        .context("this device's certificate can't be used; enrol it again with --force")?;
    let name = identity.name.to_string();
    let unclean = Trash::open(&state_dir).context("the trash can't be opened")?;
    let settled = clean_up(&settings, unclean).await;
    let path = state.path("journal.log");
    if state.has_connected() {
        Journal::admit_loss(&path, now_ms())?;
    }
    let mut journal = Journal::open(&path, now_ms(), |call| {
        report::interrupted(call, &name, settled.get(&call.call).copied())
    })
    .await?;
    let chain = take_up(&state_dir, &identity, &mut journal, &settled).await?;
    let sandbox = Sandbox::detect();
    suffices(sandbox, settings.sandbox)?;
    tracing::info!("file tools are held by {sandbox}");
    let trash = Trash::open(&state_dir).context("the trash can't be opened")?;
    let names = settings.ceiling.apps.iter().map(String::as_str);
    let (apps, bad) = Apps::discover(names, &settings.apps);
    for entry in bad {
        tracing::warn!(%entry, "an application can't be opened");
    }
    tokio::task::spawn_blocking(crate::tools::cache_accounts).await?;
    let toolbox = Toolbox {
        places: settings.places.clone(),
        apps,
        trash: Arc::new(trash),
        device_id: identity.device_id.to_string(),
        sandbox,
    };
    let agent = Agent::new(settings, state, identity, Arc::new(toolbox), journal);
    agent.with_chain(chain).run(shutdown).await;
    Ok(())
}

/// Takes up the device's own audit. What ended when the agent last stopped, or was found to have ended
/// since, is noted first; what was noted already is not noted again, also where the journal lost the end
/// in a power cut.
async fn take_up(
    state_dir: &Path,
    identity: &Identity,
    journal: &mut Journal,
    settled: &HashMap<CallId, Recovered>,
) -> anyhow::Result<Chain> {
    let mut chain = Chain::open(state_dir, &identity.device_id.to_string())
        .context("the device's audit can't be opened")?;
    for call in journal.unacknowledged() {
        let Some(ended) = journal.result(call) else { continue };
        let tool = journal.tool(call).unwrap_or_default().to_owned();
        match chain.ended_as(call) {
            Some(noted) if noted != CallState::Unknown => {
                // What was found on the disk of its effects says more.
                if ended.state == CallState::Unknown && !settled.contains_key(&call) {
                    let lost = report::lost(call, identity.name.as_str(), &tool, noted);
                    journal.end(call, lost, now_ms()).await;
                }
            }
            Some(_) if chain.is_known(call, Digest::of(ended.result.as_bytes())) => {}
            Some(_) | None => {
                let what = happened(call, &tool, None, ended);
                chain.note(call, what, None, |call| journal.result(call).is_some());
            }
        }
    }
    Ok(chain)
}

/// Where the owner limits how large a file may become, the operating system ends the process that tries
/// to go beyond, unless it listens: then only the write fails.
fn survive_large_files() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        // It stays listened to once it was.
        if let Err(error) = signal(kind) {
            tracing::debug!(kind = %error.kind(), "a file beyond the size limit would end the agent");
        }
    }
}

/// Takes as many handles as the operating system lets it take without asking: a folder that is copied
/// holds some for each level, and several calls run at once.
fn open_many_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        // More than this helps nobody, and some systems look through all that there could be.
        const ENOUGH: u64 = 65_536;
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = maximum.map_or(ENOUGH, |most| most.min(ENOUGH));
        if current.is_some_and(|current| current < wanted)
            && let Err(error) =
                setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
        {
            tracing::debug!(kind = %error.kind(), "the number of handles stays as it was");
        }
    }
}

/// Cleans up after calls that were cut off when the agent was killed, in whatever its owner lends: what
/// the backend grants is not known yet. Says what those calls did.
async fn clean_up(settings: &Settings, trash: Trash) -> HashMap<CallId, Recovered> {
    if trash.unsettled().is_empty() {
        return HashMap::new();
    }
    let (scope, private) = (settings.scope.clone(), settings.private.clone());
    let cleaning = tokio::task::spawn_blocking(move || {
        recover(&trash, &Roots::open(&scope, &scope, &private))
    });
    // A disk that hangs keeps nobody else from being served; what it holds is cleaned up when it can.
    match timeout(CLEAN_UP_WITHIN, cleaning).await {
        Ok(settled) => settled.unwrap_or_default().into_iter().collect(),
        Err(_) => HashMap::new(),
    }
}

/// Whether the owner is content with what holds file tools here.
pub(crate) fn suffices(sandbox: Sandbox, choice: SandboxChoice) -> Result<(), NoLandlock> {
    match choice {
        SandboxChoice::Required if !sandbox.has_landlock() => Err(NoLandlock),
        SandboxChoice::Required | SandboxChoice::Auto => Ok(()),
    }
}

#[cfg(test)]
mod tests;
