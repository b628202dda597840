//! `orion-agent allow` and `deny`: the owner opens and closes folders.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use orion_agent::config::check::{Finding, check_file};
use orion_agent::config::configured_path::near_name;
use orion_agent::config::edit::{Change, StartMoved, change, undeny};
use orion_agent::config::{Required, Settings};
use orion_agent::state::Identity;
use orion_domain::{Access, DevicePath, Grants};
use orion_usage::quoted;

use super::{Places, print};

/// What may be done at a path.
#[derive(Debug, Args)]
pub(super) struct Allow {
    /// A folder, or a file in an allowed folder that is closed by default; `~` is the home folder.
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
    /// Take back an earlier `deny` of this very path, and allow nothing more.
    #[arg(long)]
    undo: bool,
}

pub(super) fn allow(places: &Places, arguments: &Allow) -> anyhow::Result<()> {
    places.refuse_home(&arguments.path)?;
    let path = absolute(&arguments.path)?;
    let file = NamedFile::at(places, &path);
    // A closed file is itself the allowed path, which no call deletes.
    let is_write = arguments.write || file.as_ref().is_some_and(NamedFile::is_closed);
    let (accesses, what, option): (&[Access], _, _) = match (arguments.read, is_write) {
        (true, _) => (&[Access::Read], "be read", " --read"),
        (false, true) => (&[Access::Read, Access::Write], "be read and written", " --write"),
        (false, false) => {
            (&[Access::Read, Access::Write, Access::Delete], "be read, written and deleted", "")
        }
    };
    let unread = unread(places, &format!("orion-agent allow {}{option}", typed(&path)))?;
    if let Some(file) = file {
        file.refuse(&path, accesses, option)?;
    }
    let accesses = Change::Allow(accesses.iter().copied().collect());
    let was_missing = !places.config.exists();
    let changed = change(&places.config, &path, &accesses, &places.state_dir)?;
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    if was_missing {
        orion_agent::service::keep_for_root(&places.config)?;
    }
    let wider = changed.wider.map(|wider| {
        format!(" {wider} includes it, and what is allowed there is allowed here as well.")
    });
    if !is_there(&path) {
        let make = if changed.refused_by.is_empty() { "make it; " } else { "" };
        // If standard error is closed, the message is dropped.
        drop(writeln!(
            io::stderr(),
            "{path} is not there yet\nhint: {make}if the name is wrong, deny it: `{}`",
            places.options.add_to(&format!("orion-agent deny {}", typed(&path)))
        ));
    }
    let wider = wider.unwrap_or_default();
    let moved = changed.start.map(|start| moved(&start)).unwrap_or_default();
    let starts = if starts_programs(places, &path, &accesses) {
        " What is written there can start programs as you."
    } else {
        ""
    };
    let follows = format!("{}{moved}", follows(places, &unread));
    if was_missing {
        // If standard error is closed, the message is dropped.
        drop(writeln!(
            io::stderr(),
            "warning: {} was missing; a new one was made, with the profile operator and this path",
            places.config.display()
        ));
    }
    too_wide(places, &path);
    let except = match changed.except.as_slice() {
        [] => String::new(),
        denied => format!(" What you denied in it stays closed: {}.", denied.join(", ")),
    };
    if !changed.refused_by.is_empty() {
        let refused_by = changed.refused_by.join(" ");
        return print(&format!(
            "{unread}{path} is in the list of paths now, but not all of it is allowed yet. {refused_by}{except}{wider} {follows}"
        ));
    }
    let subject = if on_disk(&path).is_file() { path } else { format!("What is in {path}") };
    let already = if changed.changed { "" } else { " already" };
    print(&format!(
        "{unread}{subject} may {what} here{already}, as far as an admin of the backend grants it too.{except}{starts}{wider} {follows}"
    ))
}

pub(super) fn deny(places: &Places, arguments: &Deny) -> anyhow::Result<()> {
    places.refuse_home(&arguments.path)?;
    let path = absolute(&arguments.path)?;
    let undo = if arguments.undo { " --undo" } else { "" };
    let unread = unread(places, &format!("orion-agent deny {}{undo}", typed(&path)))?;
    if arguments.undo {
        if !undeny(&places.config, &path, &places.state_dir)? {
            return print(&format!("{path} itself is not denied here; nothing has changed."));
        }
        let settings = places.settings()?;
        let path_there = DevicePath::resolve(&settings.places, &path);
        let allows = |access| {
            path_there.as_ref().is_ok_and(|path| settings.scope.covering(path, access).is_some())
        };
        let again =
            [(Access::Read, "read"), (Access::Write, "written"), (Access::Delete, "deleted")];
        let again: Vec<_> = again.into_iter().filter(|it| allows(it.0)).map(|it| it.1).collect();
        let allowed = match again.split_last() {
            None => {
                "No path of the file allows it; `orion-agent allow` does, where that is wanted."
                    .to_owned()
            }
            Some((last, [])) => {
                format!("It may be {last} again, as far as an admin of the backend grants it too.")
            }
            Some((last, others)) => format!(
                "It may be {} and {last} again, as far as an admin of the backend grants it too.",
                others.join(", ")
            ),
        };
        let follows = follows(places, &unread);
        return print(&format!("{unread}{path} is not denied here any more. {allowed} {follows}"));
    }
    if !places.config.exists() {
        let allow = places.options.add_to("orion-agent allow PATH");
        bail!(
            "{} is missing, so nothing is allowed here, and nothing was changed; `{allow}` makes a new one",
            places.config.display()
        );
    }
    let changed = change(&places.config, &path, &Change::Deny, &places.state_dir)?;
    let is_missing = fs::symlink_metadata(on_disk(&path)).is_err_and(|error| {
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    });
    if is_missing && !path.contains(['*', '?']) {
        warn_missing(places, &path);
    }
    let moved = changed.start.map(|start| moved(&start)).unwrap_or_default();
    if changed.changed {
        let follows = follows(places, &unread);
        print(&format!("{unread}Nothing may be done in {path} here. {follows}{moved}"))
    } else {
        print(&format!("{path} was denied here before; nothing has changed."))
    }
}

/// Warns of a path that grants more than people expect, as `ceiling check` does.
fn too_wide(places: &Places, path: &str) {
    let findings = check_file(&places.config, &places.state_dir).unwrap_or_default();
    let is_of_path =
        |it: &&Finding| it.code == "too-wide" && it.message.starts_with(&format!("`{path}` "));
    for Finding { message, hint, .. } in findings.iter().filter(is_of_path) {
        // If standard error is closed, the message is dropped.
        drop(writeln!(io::stderr(), "warning: {message} {hint}"));
    }
}

/// Says that a denied path is not there: a name that was mistyped leaves open what was meant.
fn warn_missing(places: &Places, path: &str) {
    let near = near_name(&on_disk(path)).and_then(|near| {
        let folder = Path::new(path).parent()?.to_str()?;
        let near = Path::new(folder).join(near);
        Some(format!(
            "`{}`, or ",
            places.options.add_to(&format!("orion-agent deny {}", typed(near.to_str()?)))
        ))
    });
    let undo = places.options.add_to(&format!("orion-agent deny {} --undo", typed(path)));
    // If standard error is closed, the message is dropped.
    drop(writeln!(
        io::stderr(),
        "{path} is not there, so nothing that is there now is closed by this\nhint: if another name was meant: {}take this one back: `{undo}`",
        near.unwrap_or_default()
    ));
}

/// Says where relative paths begin from now on: what is asked for without a whole path happens there.
fn moved(start: &StartMoved) -> String {
    let StartMoved { from, to } = start;
    match to {
        Some(to) => format!(
            "\nRelative paths of calls begin in {to} now, and no longer in {from}: the first path of the file is where they begin."
        ),
        None => format!(
            "\nNo path is left in the file where relative paths of calls begin; it was {from}."
        ),
    }
}

/// Returns whether the owner opens for changes what is closed on every device because programs start by it.
fn starts_programs(places: &Places, path: &str, accesses: &Change) -> bool {
    let Change::Allow(accesses) = accesses else { return false };
    let settings = places.settings().ok();
    let named = settings.and_then(|it| {
        let path = DevicePath::resolve(&it.places, path).ok()?;
        Some(it.scope.names_start_place(&path))
    });
    accesses.iter().any(|access| *access != Access::Read) && named.unwrap_or(false)
}

/// A file that the owner names, with the settings that say what may be done with it.
struct NamedFile {
    on_disk: PathBuf,
    path: DevicePath,
    settings: Settings,
}

impl NamedFile {
    /// Returns the file at a path of the owner's file. None where there is no file, or the settings cannot be read: what is
    /// wrong with them is said when they are changed.
    fn at(places: &Places, path: &str) -> Option<Self> {
        let on_disk = on_disk(path);
        if !on_disk.is_file() {
            return None;
        }
        let settings = places.settings().ok()?;
        let path = DevicePath::resolve(&settings.places, path).ok()?;
        Some(Self { on_disk, path, settings })
    }

    /// Refuses a file whose folder is not allowed for these accesses: a file is reached from its folder.
    fn refuse(&self, path: &str, accesses: &[Access], option: &str) -> anyhow::Result<()> {
        let scope = &self.settings.scope;
        if accesses.iter().all(|access| scope.covering(&self.path, *access).is_some()) {
            return Ok(());
        }
        let folder = self.on_disk.parent().unwrap_or(Path::new("/")).display();
        bail!(
            "{path} is a file, and files are allowed with their folder; allow that one: `orion-agent allow {folder}{option}`"
        )
    }

    /// Returns whether the file is denied on every device until it is named.
    fn is_closed(&self) -> bool {
        let (nothing, _) = Grants::default().compile(&self.settings.places);
        nothing.denies_changes(&self.path)
    }
}

/// Writes a path as a shell reads it. The `~` of the home folder stays as people write it.
fn typed(path: &str) -> String {
    match path.strip_prefix("~/") {
        Some(rest) if quoted(rest) == rest => path.to_owned(),
        Some(_) | None => quoted(path),
    }
}

/// Returns whether something is at a path of the owner's file.
fn is_there(path: &str) -> bool {
    on_disk(path).exists()
}

/// Returns where a path of the owner's file is on this disk.
fn on_disk(path: &str) -> PathBuf {
    let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches(['/', '\\'])),
        (Some(_), None) | (None, _) => PathBuf::from(path),
    }
}

/// Says who follows the owner's file, where an agent reads it, and where the file is.
fn follows(places: &Places, unread: &str) -> String {
    let agent = if unread.is_empty() { "A running agent follows within seconds. " } else { "" };
    format!("{agent}The owner's file: {}", places.config.display())
}

/// Says, before anything else, that no agent reads the file yet: no device is enrolled here. `command` is for the agent
/// that may be meant. Empty where a device is enrolled, and for a file that was named, whose agent may have its state
/// elsewhere. An error where there is no file either: a first one is written when a device is enrolled.
fn unread(places: &Places, command: &str) -> anyhow::Result<String> {
    if places.required == Required::Yes || !matches!(Identity::read(&places.state_dir), Ok(None)) {
        return Ok(String::new());
    }
    // A demo keeps its device's file in the folder that it was started in.
    let demo = Path::new("orion-demo/agent/agent.toml");
    let (whose, file) = match demo.is_file() {
        true => ("the demo's device", demo),
        false => ("an agent whose file is elsewhere", Path::new("FILE")),
    };
    let other = places.options.add_to(&format!("{command} --config {}", file.display()));
    if !places.config.exists() {
        let enroll = places.options.add_to("orion-agent enroll TOKEN --allow-path PATH");
        bail!(
            "no device is enrolled here, so nothing was changed; for {whose}, run `{other}`, or enrol a device with `{enroll}`"
        );
    }
    Ok(format!(
        "No device is enrolled here yet, so no agent reads this file now. For {whose}, run `{other}`. "
    ))
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
