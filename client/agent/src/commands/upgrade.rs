//! `orion-agent upgrade`: a signed release in the place of the service's program.

use std::path::PathBuf;

use clap::Args;
use orion_agent::service::{self, Layout, Release, ReleaseError};

use super::service::GivenManager;
use super::{Places, print, say};

/// Which release is installed.
#[derive(Debug, Args)]
pub(super) struct Upgrade {
    /// A program instead of the one that the backend serves.
    #[arg(long, value_name = "FILE", requires = "signature")]
    file: Option<PathBuf>,
    /// The program's signature by minisign.
    #[arg(long, value_name = "FILE", requires = "file")]
    signature: Option<PathBuf>,
    /// Say which version there is, and change nothing.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    manager: GivenManager,
}

pub(super) async fn run(places: &Places, arguments: Upgrade) -> anyhow::Result<()> {
    let settings = places.settings()?.upgrade;
    if !settings.allow {
        return Err(ReleaseError::Forbidden.into());
    }
    let layout = Layout::new(places.owner, &places.state_dir, &places.config)?;
    let manager = arguments.manager.find(places.owner)?;
    if !arguments.check && service::settle_interrupted(&layout, &manager).await? {
        return print("An upgrade was cut off before. The program from before it runs again.");
    }
    let release = match arguments.file.zip(arguments.signature) {
        Some((file, signature)) => Release::of_file(&settings, &file, &signature)?,
        None => Release::of_backend(&settings).await?,
    };
    let current = env!("CARGO_PKG_VERSION");
    let Some(release) = release else {
        return print(&format!("This agent has the newest version, {current}."));
    };
    let version = release.version();
    if arguments.check {
        return print(&format!("Version {version} is there; this agent is {current}."));
    }
    say(&format!("Reading version {version}, and checking it."));
    let announce =
        || say(&format!("Upgrading from {current} to {version}; calls that run now end."));
    service::upgrade(&layout, &manager, &release, announce).await?;
    print(&format!("Version {version} runs and is connected."))
}
