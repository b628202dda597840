//! `orion-agent install` and `uninstall`: the agent as a service of this system.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use orion_agent::clock::now_ms;
use orion_agent::config;
use orion_agent::run::enrolled;
use orion_agent::service::{
    self, Connection, Installed, Layout, Manager, Owner, Purge, Removed, StateFolder,
};
use orion_agent::state::Identity;
#[cfg(unix)]
use orion_usage::quoted;

use super::{Places, print, say};

/// How long `install` waits for the first connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The manager of services.
#[derive(Debug, Args)]
pub(super) struct GivenManager {
    /// The program to ask instead of the systemctl of this system.
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "PROGRAM", env = "ORION_AGENT_SYSTEMCTL")]
    systemctl: Option<PathBuf>,
}

impl GivenManager {
    /// Finds it.
    pub(super) fn find(self, owner: Owner) -> Result<Manager, service::ServiceError> {
        #[cfg(target_os = "linux")]
        return Manager::find(owner, self.systemctl);
        #[cfg(not(target_os = "linux"))]
        Manager::find(owner)
    }
}

/// How the service is installed.
#[derive(Debug, Args)]
pub(super) struct Install {
    #[command(flatten)]
    manager: GivenManager,
}

/// What is removed.
#[derive(Debug, Args)]
pub(super) struct Uninstall {
    /// Also remove this device's identity, journal, audit log, trash and agent.toml, without asking.
    #[arg(long)]
    purge: bool,
    #[command(flatten)]
    manager: GivenManager,
}

/// Returns how to follow the service, and when it starts.
#[cfg(target_os = "linux")]
const fn how_it_runs(owner: Owner) -> (&'static str, &'static str) {
    match owner {
        Owner::Person => (
            "journalctl --user -u orion-agent",
            "It starts when you sign in; to let it start with the machine: loginctl enable-linger",
        ),
        Owner::System => ("journalctl -u orion-agent", "It starts with the machine."),
    }
}

/// Returns how to follow the service, and when it starts.
#[cfg(any(target_os = "macos", windows))]
const fn how_it_runs(owner: Owner) -> (&'static str, &'static str) {
    match owner {
        Owner::Person => ("orion-agent log --follow", "It starts when you sign in."),
        Owner::System => ("orion-agent log --follow", "It starts with the machine."),
    }
}

pub(super) async fn install(places: &Places, arguments: Install) -> anyhow::Result<()> {
    enrolled(&places.state_dir)?;
    // What is wrong with the owner's file is said now, and not by a service that does not start.
    let settings = places.settings()?;
    let layout = Layout::new(places.owner, &places.state_dir, &places.config)?;
    let manager = arguments.manager.find(places.owner)?;
    let started_at = now_ms();
    // The service names the owner's file, and no other account can put another one in its place.
    let has_made = config::make_first(&places.config, &places.state_dir)?;
    let installed = service::install(&layout, &manager, &settings.upgrade).await;
    let Installed { program, is_copied, unit, made_account, kept } =
        installed.inspect_err(|_| {
            if has_made {
                config::remove_first(&places.config);
            }
        })?;
    let connection = service::connects(&layout, &program, started_at, CONNECT_TIMEOUT).await;
    let (connection, refused) = match connection {
        Connection::Connected(address) => {
            (format!("The service runs and is connected to {address}."), None)
        }
        Connection::NotYet(None) => {
            ("The service was started, and is not connected yet.".to_owned(), None)
        }
        Connection::NotYet(Some(why)) => {
            (format!("The service was started, and is not connected yet: {why}."), None)
        }
        Connection::Refused(why) => {
            ("The service was started, and cannot connect.".to_owned(), Some(why))
        }
    };
    let (follow, begins) = how_it_runs(places.owner);
    let (follow, options) = (places.options.add_to(follow), places.options.typed());
    let kept = kept.map(|kept| format!("{kept}\n")).unwrap_or_default();
    let copied = if is_copied { "" } else { " (was there)" };
    let account = match (places.owner, made_account) {
        (Owner::Person, _) => "",
        (Owner::System, true) => {
            "account   orion-agent (made for this), whose permissions files are used with\n"
        }
        (Owner::System, false) if cfg!(windows) => {
            "account   NT SERVICE\\orion-agent (the service's own), whose permissions files are used with\n"
        }
        (Owner::System, false) if cfg!(target_os = "macos") => {
            "account   _orion-agent (was there), whose permissions files are used with\n"
        }
        (Owner::System, false) => {
            "account   orion-agent (was there), whose permissions files are used with\n"
        }
    };
    let ask = if is_found_by_name(places.owner, &program) {
        String::new()
    } else {
        format!(
            "Ask it:    {} status{options} (a new session may find it as orion-agent)\n",
            program.display()
        )
    };
    print(&format!(
        "program   {}{copied}\nunit      {}\nstate     {}\nceiling   {}\n{account}\n{kept}{connection} {begins}\n{ask}Follow it: {follow}\nRemove it: {} uninstall{options}",
        program.display(),
        unit.display(),
        layout.state_dir.display(),
        layout.config.display(),
        program.display(),
    ))?;
    match refused {
        None => Ok(()),
        Some(why) => anyhow::bail!(
            "{why}. The service goes on trying. Where this device was revoked, ask for a new invitation and paste its line with --force after the token"
        ),
    }
}

/// Returns whether the shells of this person find the program by its name.
fn is_found_by_name(owner: Owner, program: &Path) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    // A program of the system is where every shell looks, unlike the script that installs it.
    owner == Owner::System
        || std::env::split_paths(&folders).any(|folder| Some(&*folder) == program.parent())
}

pub(super) async fn uninstall(places: &Places, arguments: Uninstall) -> anyhow::Result<()> {
    let layout = Layout::new(places.owner, &places.state_dir, &places.config)?;
    let manager = arguments.manager.find(places.owner)?;
    let name = Identity::read(&places.state_dir).ok().flatten().map(|identity| identity.name);
    let purge = if arguments.purge || is_wanted(&layout)? { Purge::State } else { Purge::Keep };
    let Removed { paths, stays, account } = service::uninstall(&layout, &manager, purge).await?;
    let mut lines: Vec<_> =
        paths.iter().map(|path| format!("removed   {}", path.display())).collect();
    if let Some(folder) = &stays {
        let is_empty = folder.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        let why = if is_empty {
            "it cannot be removed itself, and is empty now."
        } else {
            "it holds files that are not Orion's. What Orion kept there was removed."
        };
        lines.push(format!("{} stays: {why}", folder.display()));
        if cfg!(target_os = "linux") && places.owner == Owner::System {
            lines.push("The account orion-agent stays too: the folder is its own.".to_owned());
        }
    }
    if account {
        lines.push("removed   the account orion-agent".to_owned());
    }
    if lines.is_empty() {
        lines.push("No service of an agent is installed here; nothing was removed.".to_owned());
    }
    match (purge, name) {
        (Purge::State, Some(name)) => lines.push(format!(
            "This device has no identity any more. An admin ends it at the backend with: orion devices revoke {name}"
        )),
        (Purge::Keep, _) => {
            if let Ok(Some(state)) = StateFolder::find(&layout.state_dir) {
                let is_gone = paths.contains(&layout.program);
                lines.push(what_stays(places, &layout, &state, is_gone));
            }
        }
        (Purge::State, None) => {}
    }
    print(&lines.join("\n"))
}

/// Says where the state stays, and how it is removed too.
fn what_stays(places: &Places, layout: &Layout, state: &StateFolder, is_gone: bool) -> String {
    let StateFolder { link, folder, has_others } = state;
    let stay = format!("The identity and the state stay in {}.", layout.state_dir.display());
    if !is_gone {
        let purge = places.options.add_to("orion-agent uninstall --purge");
        return format!("{stay} To remove them too: {purge}");
    }
    let again = "The line of an invitation, pasted here, goes on with this device.";
    if *has_others {
        let purge = places.options.add_to("orion-agent uninstall --purge");
        return format!(
            "{stay} {again} The folder also holds files that are not Orion's: to remove Orion's alone, paste such a line, and then run {purge}"
        );
    }
    let config = layout.config.exists().then_some(&layout.config);
    let paths: Vec<_> = [Some(folder), link.as_ref(), config].into_iter().flatten().collect();
    format!("{stay} {again}\nTo remove them too: {}", removal(&paths, layout.owner))
}

/// Returns the command that removes files and folders without this program.
#[cfg(unix)]
fn removal(paths: &[&PathBuf], owner: Owner) -> String {
    let words: Vec<_> = paths.iter().map(|path| quoted(&path.to_string_lossy())).collect();
    let words = words.join(" ");
    match owner {
        Owner::Person => format!("rm -rf {words}"),
        Owner::System => format!("sudo rm -rf {words} (the account of the service stays)"),
    }
}

/// Returns the command that removes files and folders without this program, for PowerShell.
#[cfg(windows)]
fn removal(paths: &[&PathBuf], owner: Owner) -> String {
    let word = |path: &&PathBuf| format!("'{}'", path.display().to_string().replace('\'', "''"));
    let words: Vec<_> = paths.iter().map(word).collect();
    let who = if owner == Owner::System { ", as administrator" } else { "" };
    format!("Remove-Item -Recurse -Force {} (in PowerShell{who})", words.join(","))
}

/// Asks whether the state is removed too. Without a terminal, or without an answer, it stays.
fn is_wanted(layout: &Layout) -> anyhow::Result<bool> {
    if !layout.state_dir.exists() || !io::stdin().is_terminal() {
        return Ok(false);
    }
    say(&format!(
        "Remove this device's identity, journal, audit log, trash and {} as well? Nothing of it can be undone. [y/N]",
        layout.config.display()
    ));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
