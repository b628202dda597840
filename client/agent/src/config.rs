//! `agent.toml`: the owner's file. Only it sets the ceiling; nothing that arrives from the backend
//! is ever read here.

pub mod check;
pub mod configured_path;
mod error;
mod file;
mod source;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orion_domain::grants::Scope;
use orion_domain::{DevicePath, Grants, Places, Profile};
use orion_wire::Os;

pub use error::ConfigError;
pub use file::SandboxChoice;
use file::{File, check_tools};
pub use source::{Found, Source};

/// Everything that an agent needs to run.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it keeps its key, identity, journal and trash.
    pub state_dir: PathBuf,
    /// What its owner wrote.
    pub settings: Settings,
}

/// What the owner wrote, checked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The most that anyone can do here, as it is told to the backend.
    pub ceiling: Grants,
    /// The same, as calls are judged by it: Orion's own files are kept out besides.
    pub scope: Scope,
    /// Applications by name, as absolute paths of executables.
    pub apps: BTreeMap<String, PathBuf>,
    /// The longest that any call may take.
    pub call_timeout: Duration,
    /// Whether the agent starts where the kernel cannot confine file tools.
    pub sandbox: SandboxChoice,
    /// Where `~` and relative paths begin.
    pub places: Places,
    /// Orion's own files on this device, which no tool may touch.
    pub private: Vec<DevicePath>,
    /// The file, to be looked at again while the agent runs; none where the text came without one.
    pub source: Option<Source>,
}

impl Settings {
    /// Reads the file at `path`. Where there is none and `required` is not set, the modest default
    /// holds: an operator's tools and no path at all. `state_dir` and the file itself are kept out
    /// of every tool's reach.
    ///
    /// # Errors
    /// [`ConfigError`], which names the file, the line and what is meant.
    pub fn load(path: &Path, required: Required, state_dir: &Path) -> Result<Self, ConfigError> {
        // Looked at first: whatever is written while it is read is seen as a change.
        let source = Source::new(path, state_dir);
        let text = source::read(path, required)?;
        let settings = Self::parse(&text, home().as_deref(), &own_files(&[state_dir, path]))
            .map_err(|fault| ConfigError::Invalid { path: path.to_owned(), fault })?;
        Ok(Self { source: Some(source), ..settings })
    }

    /// Takes the text of the file. `home` is what `~` stands for; `own` are Orion's own files,
    /// absolute, which no tool may touch whatever the ceiling says.
    ///
    /// # Errors
    /// The fault, in a sentence with its line.
    pub fn parse(text: &str, home: Option<&Path>, own: &[PathBuf]) -> Result<Self, String> {
        let File { ceiling, read_only, sandbox, apps, timeouts } = File::parse(text)?;
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
        let mut places = Places { style, home: home.and_then(device_path), workspace: None };
        places.workspace = ceiling
            .workspace()
            .map(|written| DevicePath::resolve(&places, written))
            .transpose()
            .map_err(|error| format!("[ceiling] paths: {error}"))?;

        let private: Vec<_> = own.iter().filter_map(|path| device_path(path)).collect();
        let mut guarded = ceiling.clone();
        guarded.deny_paths.extend(private.iter().map(ToString::to_string));
        let (scope, bad) = guarded.compile(&places);
        if let Some(bad) = bad.first() {
            return Err(format!("[ceiling] {bad}"));
        }
        Ok(Self {
            ceiling,
            scope,
            apps,
            call_timeout: Duration::from_secs(timeouts.call),
            sandbox,
            places,
            private,
            source: None,
        })
    }

    /// The same with a ceiling beneath which nothing can be done.
    #[must_use]
    pub fn closed(self) -> Self {
        let ceiling = Grants { tools: Some(BTreeSet::new()), read_only: true, ..Grants::default() };
        Self { ceiling, scope: Scope::nothing(), apps: BTreeMap::new(), ..self }
    }
}

/// What `~` stands for on this device.
#[must_use]
pub fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|base| base.home_dir().to_owned())
}

/// Orion's own files, the running program among them, absolute, by the names they were given and by the
/// ones they really have.
#[must_use]
pub fn own_files(paths: &[&Path]) -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let all = || paths.iter().copied().chain(program.as_deref());
    let written = all().filter_map(|path| std::path::absolute(path).ok());
    let real = all().filter_map(|path| fs::canonicalize(path).ok());
    written.chain(real).collect()
}

/// Whether the absence of a file is an error: it is where a person named it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are the answer")]
pub enum Required {
    Yes,
    No,
}

/// What holds where the owner wrote no ceiling.
fn modest() -> Grants {
    Grants { profile: Some(Profile::Operator), ..Grants::default() }
}

/// Where the configuration and the state are by default on this platform.
#[must_use]
pub fn default_locations() -> Option<(PathBuf, PathBuf)> {
    let dirs = directories::ProjectDirs::from("", "", "orion")?;
    let state = dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir());
    Some((dirs.config_dir().join("agent.toml"), state.join("agent")))
}

/// Writes a first `agent.toml` that allows `paths` and says what may be changed. An existing file
/// is its owner's and stays as it is.
///
/// # Errors
/// [`ConfigError::Read`] when it cannot be written, [`ConfigError::Invalid`] when a path cannot be
/// one.
pub fn write_first(path: &Path, paths: &[String], state_dir: &Path) -> Result<(), ConfigError> {
    let text = file::first(paths);
    Settings::parse(&text, home().as_deref(), &own_files(&[state_dir, path]))
        .map_err(|fault| ConfigError::Invalid { path: path.to_owned(), fault })?;
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut file = match fs::OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(ConfigError::Exists { path: path.to_owned() });
        }
        Err(error) => return Err(failed(error)),
    };
    io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)
}
