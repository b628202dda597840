//! `orion-agent allow` and `deny`: the owner opens and closes folders.

use std::io::{self, Write as _};
use std::path::Path;

use clap::Args;
use orion_agent::config::edit::{Change, change};
use orion_domain::Access;

use super::{Places, print};

/// What may be done at a path.
#[derive(Debug, Args)]
pub(super) struct Allow {
    /// A folder or a file; `~` is the home folder.
    path: String,
    /// Only reading.
    #[arg(long)]
    read: bool,
    /// Reading and writing, without deleting.
    #[arg(long, conflicts_with = "read")]
    write: bool,
}

/// A path at which nothing may be done.
#[derive(Debug, Args)]
pub(super) struct Deny {
    /// A folder or a file; `~` is the home folder.
    path: String,
}

pub(super) fn allow(places: &Places, arguments: &Allow) -> anyhow::Result<()> {
    let (accesses, what): (&[Access], _) = match (arguments.read, arguments.write) {
        (true, _) => (&[Access::Read], "be read"),
        (false, true) => (&[Access::Read, Access::Write], "be read and written"),
        (false, false) => {
            (&[Access::Read, Access::Write, Access::Delete], "be read, written and deleted")
        }
    };
    let path = absolute(&arguments.path)?;
    let accesses = Change::Allow(accesses.iter().copied().collect());
    let changed = change(&places.config, &path, &accesses, &places.state_dir)?;
    let wider = changed.wider.map(|wider| {
        format!(" {wider} includes it, and what is allowed there is allowed here as well.")
    });
    if !is_there(&path) {
        // If standard error is closed, the message is dropped.
        drop(writeln!(
            io::stderr(),
            "{path} is not there yet\nhint: make the folder; if the name is wrong, take this back: `orion-agent deny {path}`"
        ));
    }
    let wider = wider.unwrap_or_default();
    let follows = follows(&places.config);
    if !changed.refused_by.is_empty() {
        let refused_by = changed.refused_by.join(" ");
        return print(&format!(
            "{path} is in the list of paths now, but not all of it is allowed yet. {refused_by}{wider} {follows}"
        ));
    }
    print(&format!(
        "What is in {path} may {what} here, as far as an admin of the backend grants it too.{wider} {follows}"
    ))
}

pub(super) fn deny(places: &Places, arguments: &Deny) -> anyhow::Result<()> {
    let path = absolute(&arguments.path)?;
    if change(&places.config, &path, &Change::Deny, &places.state_dir)?.changed {
        print(&format!("Nothing may be done in {path} here. {}", follows(&places.config)))
    } else {
        print(&format!("{path} was denied here before; nothing has changed."))
    }
}

/// Returns whether something is at a path of the owner's file.
fn is_there(path: &str) -> bool {
    let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches(['/', '\\'])).exists(),
        (Some(_), None) | (None, _) => Path::new(path).exists(),
    }
}

fn follows(file: &Path) -> String {
    format!("A running agent follows within seconds. The owner's file: {}", file.display())
}

/// Returns the path as the owner's file has it: a relative one begins where the command was typed.
fn absolute(path: &str) -> anyhow::Result<String> {
    if path == "~" || path.starts_with("~/") || path.starts_with("~\\") {
        return Ok(path.to_owned());
    }
    let absolute = std::path::absolute(path)?;
    let text = absolute.to_str().map(str::to_owned);
    text.ok_or_else(|| anyhow::anyhow!("{}: the path is no Unicode text", absolute.display()))
}
