//! Puts an agent together from its configuration and its state, and runs it.

use std::sync::Arc;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::apps::Apps;
use crate::clock::now_ms;
use crate::config::Config;
use crate::execute::Toolbox;
use crate::journal::Journal;
use crate::report;
use crate::state::{Identity, State};
use crate::trash::Trash;

/// This device is not enrolled.
#[derive(Debug, thiserror::Error)]
#[error(
    "this device is not enrolled; run `orion-agent enroll TOKEN` with a token of `orion devices invite`"
)]
pub struct NotEnrolled;

/// Runs an agent until `shutdown`. The caller owns the signal, and the process's cryptography
/// provider.
///
/// # Errors
/// What keeps it from starting: [`NotEnrolled`], another agent with the same state, a journal or
/// identity that cannot be used. What happens to the connection later is not an error.
pub async fn run(config: Config, shutdown: CancellationToken) -> anyhow::Result<()> {
    let Config { state_dir, settings } = config;
    let state = Arc::new(State::open(&state_dir)?);
    let identity = Identity::read(&state_dir)?.ok_or(NotEnrolled)?;
    identity
        .tls()
        .context("this device's certificate can't be used; enrol it again with --force")?;
    let name = identity.name.to_string();
    let journal = Journal::open(&state.path("journal.log"), now_ms(), |call| {
        report::interrupted(call, &name)
    })
    .await?;
    let trash = Trash::open(&state_dir).context("the trash can't be opened")?;
    let names = settings.ceiling.apps.iter().map(String::as_str);
    let (apps, bad) = Apps::discover(names, &settings.apps);
    for entry in bad {
        tracing::warn!(%entry, "an application can't be opened");
    }
    let toolbox = Toolbox {
        places: settings.places.clone(),
        apps,
        trash,
        device_id: identity.device_id.to_string(),
    };
    Agent::new(settings, state, identity, Arc::new(toolbox), journal).run(shutdown).await;
    Ok(())
}
