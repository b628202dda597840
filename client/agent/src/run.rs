//! Starts an agent from its configuration and state, and runs it.

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
use crate::call::Installation;
use crate::chain::Chain;
use crate::changes::{Recovered, recover};
use crate::clock::now_ms;
use crate::config::{Config, Settings};
use crate::enroll::EnrollError;
use crate::execute::Toolbox;
use crate::journal::Journal;
use crate::programs::Programs;
use crate::report;
use crate::roots::Roots;
use crate::sandbox::{Sandbox, suffices};
use crate::state::names::JOURNAL;
use crate::state::{EnrollmentStage, Identity, Pending, State};
use crate::transfer::Transfers;
use crate::trash::Trash;
#[cfg(target_os = "linux")]
use crate::workers::Workers;

/// How long the cleanup may delay the agent's start.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(20);

/// This device is not enrolled.
#[derive(Debug, thiserror::Error)]
#[error(
    "this device is not enrolled; run `orion-agent enroll TOKEN` with a token of `orion devices invite`, or name the folder of its state with --state-dir"
)]
pub struct NotEnrolled;

/// Returns the identity of this device.
///
/// # Errors
/// The device is not enrolled, or its enrolment has not ended yet: [`NotEnrolled`], [`EnrollError`]; or the state
/// cannot be read.
pub fn enrolled(state_dir: &Path) -> anyhow::Result<Identity> {
    if let Some(identity) = Identity::read(state_dir)? {
        return Ok(identity);
    }
    let Some(pending) = Pending::read(state_dir)? else { return Err(NotEnrolled.into()) };
    let words = pending.key.fingerprint_words();
    Err(match pending.stage {
        EnrollmentStage::Known { .. } => EnrollError::StillPending { words },
        EnrollmentStage::Asked { .. } => EnrollError::Unfinished,
    }
    .into())
}

/// Runs an agent until `shutdown`. The caller owns the signal, and the process's cryptography
/// provider.
///
/// # Errors
/// The agent cannot start: [`NotEnrolled`], [`NoLandlock`](crate::sandbox::NoLandlock), another agent with the same state, or an
/// unusable journal or identity. A later failure of the connection is not an error.
pub async fn run(config: Config, shutdown: CancellationToken) -> anyhow::Result<()> {
    let Config {
        options,
        state_dir,
        settings,
        #[cfg(target_os = "linux")]
        program,
    } = config;
    survive_large_files();
    open_many_files();
    let state = Arc::new(State::open(&state_dir)?);
    let identity = enrolled(&state_dir)?;
    identity
        .tls()
        .context("this device's certificate can't be used; enrol it again with --force")?;
    let name = identity.name.to_string();
    let unclean = Trash::open(&state_dir).context("the trash can't be opened")?;
    let settled = clean_up(&settings, unclean).await;
    let path = state.path(JOURNAL);
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
    let programs = Programs::of_this_device(&state_dir, settings.places.home.as_ref());
    let toolbox = Toolbox {
        places: settings.places.clone(),
        apps,
        programs,
        trash: Arc::new(trash),
        device_id: identity.device_id.to_string(),
        sandbox,
        installation: Installation {
            backend: identity.addresses.clone(),
            state_dir: state_dir.clone(),
            http_artifacts: settings.http_artifacts,
            transfers: Arc::new(Transfers::limited(settings.max_transfer_bytes)),
        },
        #[cfg(target_os = "linux")]
        workers: Arc::new(Workers::of(program)),
    };
    let agent = Agent::new(settings, state, identity, Arc::new(toolbox), journal);
    agent.with_chain(chain).with_options(options).run(shutdown).await;
    Ok(())
}

/// Opens the device's own audit log, and records the calls that ended when the agent last stopped or were
/// settled since. An end is recorded once, also if the journal lost it in a power cut.
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
                // What recovery found on the disk is more precise, so it is kept.
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

/// Handles `SIGXFSZ`. Under a file size limit, the operating system kills a process that exceeds it,
/// unless the process handles the signal: then only the write fails.
fn survive_large_files() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        // The handler stays installed after the stream is dropped.
        if let Err(error) = signal(kind) {
            tracing::debug!(kind = %error.kind(), "a file beyond the size limit would end the agent");
        }
    }
}

/// Raises the limit of open files as far as the hard limit allows: copying a folder holds some handles
/// for each level, and several calls run at once.
fn open_many_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        // More is useless, and some systems scan every possible handle.
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

/// Cleans up after calls that were interrupted when the agent was killed, in every folder that the ceiling
/// allows: the backend's policy is not known yet. Returns what those calls did.
async fn clean_up(settings: &Settings, trash: Trash) -> HashMap<CallId, Recovered> {
    if trash.unsettled().is_empty() {
        return HashMap::new();
    }
    let (scope, private) = (settings.scope.clone(), settings.private.clone());
    let cleaning = tokio::task::spawn_blocking(move || {
        recover(&trash, &Roots::open(&scope, &scope, &private))
    });
    // A hanging disk must not block the other calls; the task cleans up when the disk responds.
    match timeout(CLEAN_UP_TIMEOUT, cleaning).await {
        Ok(settled) => settled.unwrap_or_default().into_iter().collect(),
        Err(_) => HashMap::new(),
    }
}

#[cfg(test)]
mod tests;
