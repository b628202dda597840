//! The programs that commands name: where they are on this device, and what is needed to run them.

mod ask;
mod context;
mod failure;
mod live_output;
mod own_folder;
mod reach;
mod scratch;
mod system;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use orion_commands::Program;
use orion_domain::observation::Kind;
use orion_domain::{
    Access, Actor, CallId, DevicePath, Digest, ErrorCode, Hint, Observation, PathStyle, ToolError,
};
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use crate::process::{Bounds, Launcher};
use crate::roots::Roots;
use crate::state::names::SCRATCH;

pub(crate) use ask::{Answer, MAX_TIME, Query, ask, listen};
pub use context::CommandContext;
pub(crate) use failure::{ended_early, failed_command, not_run};
pub use live_output::LiveOutput;
pub(crate) use own_folder::run_in_own_folder;
pub(crate) use reach::{Code, Reached, Use, reach, reach_declared};
pub(crate) use scratch::Scratch;
pub(crate) use system::handle;

/// Bytes of memory of all processes of one program that a call starts.
const MAX_MEMORY: u64 = 4 * 1024 * 1024 * 1024;
/// The number of processes of one program that a call starts.
const MAX_PROCESSES: usize = 256;
/// Bytes of one file that a program writes that a call starts.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024 * 1024;

/// Returns the limits of a program that a call starts, and that may run this long.
pub(crate) fn bounds(time: Duration) -> Bounds {
    Bounds {
        time_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        memory: MAX_MEMORY,
        processes: MAX_PROCESSES,
        file_bytes: MAX_FILE_BYTES,
    }
}

/// Folders in which every system keeps programs.
const PATH: &[&str] =
    &["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];
/// Folders below the home folder in which language tools put theirs.
const HOME_PATH: &[&str] =
    &[".local/bin", ".cargo/bin", "go/bin", ".volta/bin", ".bun/bin", ".deno/bin"];

/// The programs of this device. By default there are none.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    path: Vec<PathBuf>,
    home: Option<PathBuf>,
    launcher: Launcher,
    /// Where each call gets a folder for temporary files.
    scratch: PathBuf,
    /// Says that the servers of custom tools are to be looked at again.
    changed: Arc<Notify>,
}

/// A program that was found.
#[derive(Debug)]
pub(crate) struct FoundProgram {
    /// The absolute path by which it was found.
    pub(crate) named: PathBuf,
    /// The file itself, without links.
    pub(crate) file: PathBuf,
}

impl Programs {
    /// Returns the programs of the device that this agent runs on, and removes the temporary files of calls
    /// that were interrupted.
    #[must_use]
    pub fn of_this_device(state_dir: &Path, home: Option<&DevicePath>) -> Self {
        let home = home.map(|home| PathBuf::from(home.to_string()));
        let path = std::env::var_os("PATH");
        let scratch = state_dir.join(SCRATCH);
        let programs =
            Self::new(path.as_deref(), home.as_deref(), scratch, Launcher::of_this_agent());
        programs.clean_up();
        programs
    }

    /// Returns the programs of this device. `path` is the agent's own search path, of which absolute folders
    /// count. `scratch` is a folder of the agent's own.
    #[must_use]
    pub fn new(
        path: Option<&std::ffi::OsStr>,
        home: Option<&Path>,
        scratch: PathBuf,
        launcher: Launcher,
    ) -> Self {
        let own = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>());
        let own = own.into_iter().flatten().filter(|folder| folder.is_absolute());
        let of_home = home.into_iter().flat_map(|home| HOME_PATH.iter().map(|it| home.join(it)));
        let mut path: Vec<PathBuf> = Vec::new();
        for folder in own.chain(PATH.iter().map(PathBuf::from)).chain(of_home) {
            // A list of folders cannot hold a colon in a name.
            let is_plain = folder.to_str().is_some_and(|text| !text.contains(':'));
            if is_plain && !path.contains(&folder) && folder.is_dir() {
                path.push(folder);
            }
        }
        Self { path, home: home.map(Path::to_owned), launcher, scratch, changed: Arc::default() }
    }

    /// Returns what starts programs.
    pub(crate) const fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// Says that a server of custom tools offers something else than before.
    pub(crate) fn relist(&self) {
        self.changed.notify_one();
    }

    /// Waits until a server of custom tools offers something else than before.
    pub(crate) async fn relisting(&self) {
        self.changed.notified().await;
    }

    /// Returns the environment of every program.
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let path: Vec<_> = self.path.iter().filter_map(|folder| folder.to_str()).collect();
        let own = ["LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
        let home = self.home.as_ref().and_then(|home| home.to_str());
        let fixed = [
            ("PATH", Some(path.join(":"))),
            ("HOME", home.map(ToOwned::to_owned)),
            ("TERM", Some("dumb".to_owned())),
            ("NO_COLOR", Some("1".to_owned())),
        ];
        let fixed = fixed.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        own.chain(fixed).collect()
    }

    /// Makes the folder for temporary files of a call.
    ///
    /// # Errors
    /// `EXECUTION_FAILED` where the agent's own disk does not take it.
    pub(crate) fn scratch(&self, call: CallId) -> Result<Scratch, ToolError> {
        Scratch::create(&self.scratch, call).map_err(|error| {
            let message = format!(
                "Nothing was run: the agent cannot make a temporary folder: {}.",
                error.kind()
            );
            ToolError::new(ErrorCode::ExecutionFailed, message)
        })
    }

    /// Removes the temporary files of calls that were interrupted.
    fn clean_up(&self) {
        match std::fs::remove_dir_all(&self.scratch) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(kind = %error.kind(), "old temporary files could not be removed");
            }
        }
    }

    /// Finds a program. A name is looked up in folders of programs, and never in the folder that a command
    /// starts in; a path is one of this device.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` where there is no such program, and `PATH_NOT_ALLOWED` for a name that leads to a file
    /// that a call could have changed.
    pub(crate) fn find(
        &self,
        program: &Program,
        folder: &DevicePath,
        roots: &Roots,
    ) -> Result<FoundProgram, ToolError> {
        match program {
            Program::Name(name) => {
                let found = self.path.iter().find_map(|folder| program_at(&folder.join(name)));
                let found = found.ok_or_else(|| missing(name))?;
                let real = device_path(&found.file);
                if real.is_none_or(|real| roots.grants(&real, Access::Write)) {
                    return Err(changeable(name, &found.file));
                }
                Ok(found)
            }
            Program::Path(text) => {
                let path = Path::new(&folder.to_string()).join(text);
                program_at(&path).ok_or_else(|| missing(text))
            }
        }
    }

    /// Returns what identifies a program, for a person to approve and for a later comparison.
    ///
    /// # Errors
    /// As [`Self::find`], and `EXECUTION_FAILED` for a file that cannot be read.
    pub(crate) fn observe(
        &self,
        name: &str,
        folder: &DevicePath,
        roots: &Roots,
    ) -> Result<Observation, ToolError> {
        let FoundProgram { file, .. } = self.find(&Program::from_word(name), folder, roots)?;
        let failed = |error: std::io::Error| {
            let message = format!("{} cannot be read: {}.", file.display(), error.kind());
            ToolError::new(ErrorCode::ExecutionFailed, message)
        };
        let mut open = File::open(&file).map_err(failed)?;
        let metadata = open.metadata().map_err(failed)?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let length = open.read(&mut buffer).map_err(failed)?;
            if length == 0 {
                break;
            }
            hasher.update(buffer.get(..length).unwrap_or_default());
        }
        Ok(Observation {
            path: name.to_owned(),
            real: file.display().to_string(),
            kind: Kind::File,
            bytes: metadata.len(),
            mode: metadata.mode() & 0o7777,
            digest: Digest::from_slice(&hasher.finalize()),
        })
    }
}

/// Returns the program at a path, if there is an executable file.
fn program_at(path: &Path) -> Option<FoundProgram> {
    let file = std::fs::canonicalize(path).ok()?;
    let metadata = std::fs::metadata(&file).ok()?;
    (metadata.is_file() && metadata.mode() & 0o111 != 0)
        .then(|| FoundProgram { named: path.to_owned(), file })
}

fn device_path(path: &Path) -> Option<DevicePath> {
    DevicePath::parse(PathStyle::Posix, path.to_str()?).ok()
}

fn missing(name: &str) -> ToolError {
    let shown: String = name.chars().take(200).collect();
    let message = format!("There is no program {shown} on this device.");
    ToolError::new(ErrorCode::NotSupported, message)
        .with("program", shown)
        .hint(Hint::new("install it, or put its folder into the agent's PATH").by(Actor::Owner))
}

fn changeable(name: &str, file: &Path) -> ToolError {
    let message = format!(
        "{name} is {}, which calls may write to, so it is not started by its name.",
        file.display()
    );
    ToolError::new(ErrorCode::PathNotAllowed, message)
        .with("rule", "device: programs")
        .hint(Hint::new("deny writing to that folder in agent.toml").by(Actor::Owner))
}

#[cfg(test)]
mod tests;
