//! `agent.toml`: the owner's file. Only this file sets the ceiling; nothing from the backend is ever read
//! here.

pub mod check;
pub mod configured_path;
mod consent;
pub mod edit;
mod error;
mod file;
mod first_file;
mod mcp;
mod notices;
mod source;
#[cfg(test)]
mod tests;
mod upgrade;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orion_domain::grants::Scope;
use orion_domain::{DevicePath, Grants, Places, Profile, Projects};
use orion_usage::GivenOptions;
use orion_wire::Os;

#[cfg(target_os = "linux")]
use crate::process::WorkerProgram;
pub use crate::sandbox::SandboxChoice;
pub use consent::{Consent, ConsentSubject};
pub use error::ConfigError;
use file::{File, check_tools};
pub use first_file::{first, make_first, remove_first, write_first};
pub use mcp::McpServer;
pub use notices::NoticeSettings;
pub(crate) use source::distrust;
pub use source::{Found, Source};
pub use upgrade::UpgradeSettings;

/// The folder of the manifests of custom tools, beside the owner's file.
pub const TOOLS_FOLDER: &str = "tools.d";

/// Everything that an agent needs to run.
#[derive(Debug, Clone)]
pub struct Config {
    /// The options that commands need in the texts of this agent.
    pub options: GivenOptions,
    /// The directory of the agent's key, identity, journal and trash.
    pub state_dir: PathBuf,
    /// The owner's settings.
    pub settings: Settings,
    /// The program of the agent's workers: the agent's own.
    #[cfg(target_os = "linux")]
    pub program: WorkerProgram,
}

/// The checked content of the owner's file.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The ceiling, as it is reported to the backend.
    pub ceiling: Grants,
    /// The ceiling by which calls are evaluated: it also denies Orion's own files.
    pub scope: Scope,
    /// Absolute paths of executables, by application name.
    pub apps: BTreeMap<String, PathBuf>,
    /// MCP servers whose tools calls may name, by the name of the server.
    pub mcp: BTreeMap<String, McpServer>,
    /// The longest time that any call may take.
    pub call_timeout: Duration,
    /// The largest file that comes to this device, in bytes.
    pub max_transfer_bytes: u64,
    /// Before which calls the person at the device is asked.
    pub consent: Consent,
    /// What the desktop shows.
    pub notices: NoticeSettings,
    /// From where and by whose signature the agent itself is upgraded.
    pub upgrade: UpgradeSettings,
    /// Whether artifacts are downloaded over plain http from the device itself.
    pub http_artifacts: bool,
    /// Whether the agent starts where the kernel cannot confine file tools.
    pub sandbox: SandboxChoice,
    /// Where `~` and relative paths begin.
    pub places: Places,
    /// Orion's own files on this device, which no tool may touch.
    pub private: Vec<DevicePath>,
    /// The file, to be watched while the agent runs. None if the text did not come from a file.
    pub source: Option<Source>,
}

impl Settings {
    /// Reads the file at `path`. If it is missing and not `required`, the default applies: an operator's
    /// tools and no path at all. `state_dir` and the file itself are denied to every tool.
    ///
    /// # Errors
    /// [`ConfigError`], which names the file, the line and a suggestion.
    pub fn load(path: &Path, required: Required, state_dir: &Path) -> Result<Self, ConfigError> {
        // The source is created first, so that a write during the read is detected as a change.
        let source = Source::new(path, state_dir);
        let text = source::read(path, required)?;
        let mut settings = Self::parse(&text, home().as_deref(), &own_files_of(state_dir, path))
            .map_err(|fault| ConfigError::Invalid { path: path.to_owned(), fault })?;
        settings.places.owner_file = unusual(path);
        Ok(Self { source: Some(source), ..settings })
    }

    /// Parses the text of the file. `home` is what `~` stands for; `own` are the absolute paths of Orion's
    /// own files, which no tool may touch whatever the ceiling says.
    ///
    /// # Errors
    /// The fault as a sentence, with its line.
    pub fn parse(text: &str, home: Option<&Path>, own: &[PathBuf]) -> Result<Self, String> {
        let File {
            ceiling,
            read_only,
            sandbox,
            apps,
            projects,
            mcp,
            timeouts,
            transfers,
            artifacts,
            consent,
            notices,
            upgrade,
        } = File::parse(text)?;
        mcp::check(&mcp)?;
        upgrade.check()?;
        consent.check()?;
        let mut ceiling = ceiling.unwrap_or_else(modest);
        ceiling.read_only |= read_only;
        check_tools(&ceiling)?;
        if let Some((name, path)) = apps.iter().find(|(_, path)| !path.is_absolute()) {
            return Err(format!(
                "[apps] {name} = \"{}\" is not absolute; write the whole path of the program",
                path.display()
            ));
        }
        let style = Os::current().path_style();
        let device_path = |path: &Path| DevicePath::parse(style, path.to_str()?).ok();
        let home = home.and_then(device_path);
        let mut places = Places { home, ..Places::bare(style) };
        places.workspace = ceiling
            .workspace()
            .map(|written| DevicePath::resolve(&places, written))
            .transpose()
            .map_err(|error| format!("[ceiling] paths: {error}"))?;
        places.projects = self::projects(projects, &places)?;

        let private: Vec<_> = own.iter().filter_map(|path| device_path(path)).collect();
        let mut guarded = ceiling.clone();
        guarded.deny_paths.extend(private.iter().map(ToString::to_string));
        let (scope, bad) = guarded.compile(&places);
        if let Some(bad) = bad.first() {
            return Err(format!("[ceiling] {bad}"));
        }
        notices.check(style, &scope)?;
        Ok(Self {
            ceiling,
            scope,
            apps,
            mcp,
            call_timeout: Duration::from_secs(timeouts.call),
            max_transfer_bytes: transfers.max_file_mib.saturating_mul(1024 * 1024),
            consent,
            notices,
            upgrade,
            http_artifacts: artifacts.http_on_loopback,
            sandbox,
            places,
            private,
            source: None,
        })
    }

    /// Returns these settings with a ceiling that denies everything.
    #[must_use]
    pub fn closed(self) -> Self {
        let ceiling = Grants { tools: Some(BTreeSet::new()), read_only: true, ..Grants::default() };
        Self {
            ceiling,
            scope: Scope::nothing(),
            apps: BTreeMap::new(),
            mcp: BTreeMap::new(),
            ..self
        }
    }
}

/// Returns the projects. Their folders are absolute, or begin with `~`.
fn projects(written: BTreeMap<String, String>, places: &Places) -> Result<Projects, String> {
    let anchored = Places { workspace: None, ..places.clone() };
    let folder = |text: &str| DevicePath::resolve(&anchored, text).ok();
    let entries = written.into_iter().map(|(name, at)| (name, folder(&at)));
    Projects::of(entries).map_err(|error| format!("[projects] {error}"))
}

/// Returns the folder that `~` stands for on this device. None if the account has none.
#[must_use]
pub fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|base| base.home_dir().to_owned())
}

/// Returns the absolute paths of the agent's own files: its state, the owner's file, the folder of manifests
/// beside it, and the running program.
#[must_use]
pub fn own_files_of(state_dir: &Path, file: &Path) -> Vec<PathBuf> {
    let new = file.with_extension("toml.new");
    own_files(&[state_dir, file, &new, &file.with_file_name(TOOLS_FOLDER)])
}

/// Returns the absolute paths of Orion's own files, including the running program and what an upgrade puts beside it,
/// both as written and with links resolved.
#[must_use]
pub fn own_files(paths: &[&Path]) -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let beside: Vec<PathBuf> =
        program.iter().flat_map(|program| files_of_an_upgrade(program)).collect();
    let all = || {
        let own = program.iter().chain(&beside).map(PathBuf::as_path);
        paths.iter().copied().chain(own)
    };
    let written = all().filter_map(|path| std::path::absolute(path).ok());
    let real = all().filter_map(|path| fs::canonicalize(path).ok());
    let mut seen = BTreeSet::new();
    written.chain(real).filter(|path| seen.insert(path.clone())).collect()
}

/// Returns the names beside a program of the one that replaces it, of the one from before, of a file that is there
/// while it is upgraded, and of one that keeps other upgrades out.
#[must_use]
pub fn files_of_an_upgrade(program: &Path) -> [PathBuf; 4] {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    // Windows runs a program by the ending of its name.
    let (name, exe) = name.strip_suffix(".exe").map_or((&*name, ""), |stem| (stem, ".exe"));
    [("new", exe), ("previous", exe), ("upgrading", ""), ("lock", "")]
        .map(|(what, ending)| program.with_file_name(format!(".{name}.{what}{ending}")))
}

/// Whether a missing file is an error. It is if a person named the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are the answer")]
pub enum Required {
    Yes,
    No,
}

/// Returns the ceiling for a file without a `[ceiling]`.
fn modest() -> Grants {
    Grants { profile: Some(Profile::Operator), ..Grants::default() }
}

/// Returns a configuration file that the owner has to name in each command: none does where it is at its default path,
/// or where its path is no text.
fn unusual(path: &Path) -> Option<DevicePath> {
    if default_locations().is_some_and(|(usual, _)| usual == path) {
        return None;
    }
    let path = std::path::absolute(path).ok()?;
    DevicePath::parse(Os::current().path_style(), path.to_str()?).ok()
}

/// Returns this platform's default paths of the configuration file and the state directory.
#[must_use]
pub fn default_locations() -> Option<(PathBuf, PathBuf)> {
    let dirs = directories::ProjectDirs::from("", "", "orion")?;
    let state = dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir());
    Some((dirs.config_dir().join("agent.toml"), state.join("agent")))
}

/// Makes the folder of the owner's file, if it is missing: on Windows for the owner alone, as a folder of the drive may be
/// everybody's.
fn create_folder(folder: &Path) -> io::Result<()> {
    #[cfg(windows)]
    return crate::access::create_private(folder);
    #[cfg(not(windows))]
    fs::create_dir_all(folder)
}
