//! Runs a program of the operating system for the owner: the manager of services, and the tools for accounts; and a new
//! version of the agent, for its version. No call of the backend ever reaches this.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

/// Where the system keeps its programs. The person's own search path is not used: what it names may be anybody's.
#[cfg(unix)]
const FOLDERS: [&str; 5] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/run/current-system/sw/bin"];
#[cfg(windows)]
const CREATE_NO_WINDOW: u32 = 0x0800_0000;
/// How long a program may take. Starting a service waits for the service.
const TIMEOUT: Duration = Duration::from_secs(90);
/// The most characters of a program's own error that are repeated.
const MAX_REPEATED: usize = 400;
/// What a program needs to find the manager of services of a person.
#[cfg(unix)]
const ENVIRONMENT: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
];
/// What a program needs to load its libraries and to find the person's files.
#[cfg(windows)]
const ENVIRONMENT: &[&str] =
    &["SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP"];

/// A program of the operating system.
#[derive(Debug, Clone)]
pub struct SystemProgram(PathBuf);

/// Why a program of the system did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum SystemProgramError {
    /// It cannot be started.
    #[error("{program} cannot be started: {source}", program = program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// It did not end in time.
    #[error("`{command}` did not end within {} seconds", TIMEOUT.as_secs())]
    TimedOut {
        /// The command line.
        command: String,
    },
    /// It failed.
    #[error("`{command}` failed: {said}")]
    Failed {
        /// The command line.
        command: String,
        /// What it wrote to standard error.
        said: String,
    },
}

impl SystemProgram {
    /// Finds the program of this name among those of the system.
    #[cfg(unix)]
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        FOLDERS
            .iter()
            .map(|folder| PathBuf::from(folder).join(name))
            .find(|it| it.is_file())
            .map(Self)
    }

    /// The program at this path.
    #[must_use]
    pub const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Runs it, and returns what it wrote to standard output.
    ///
    /// # Errors
    /// [`SystemProgramError`].
    #[expect(
        clippy::disallowed_methods,
        reason = "the owner asked for a service; systemd and launchd are reached by their own programs"
    )]
    pub async fn run<A: AsRef<OsStr>>(
        &self,
        arguments: &[A],
    ) -> Result<String, SystemProgramError> {
        let words = arguments.iter().map(|it| it.as_ref().to_string_lossy().into_owned());
        let name = self.0.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let command = std::iter::once(name).chain(words).collect::<Vec<_>>().join(" ");
        let mut program = tokio::process::Command::new(&self.0);
        program.env_clear();
        #[cfg(unix)]
        program.env("PATH", FOLDERS.join(":")).env("LC_ALL", "C");
        // An agent in the background has no console, and none is opened for this.
        #[cfg(windows)]
        program.creation_flags(CREATE_NO_WINDOW);
        let child = program
            .args(arguments)
            .envs(ENVIRONMENT.iter().filter_map(|&name| Some((name, std::env::var_os(name)?))))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| SystemProgramError::Start { program: self.0.clone(), source })?;
        let Ok(ended) = tokio::time::timeout(TIMEOUT, child.wait_with_output()).await else {
            return Err(SystemProgramError::TimedOut { command });
        };
        let ended = ended
            .map_err(|source| SystemProgramError::Start { program: self.0.clone(), source })?;
        if ended.status.success() {
            return Ok(String::from_utf8_lossy(&ended.stdout).trim().to_owned());
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        let said: String = said
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .filter(|c| !orion_domain::is_hidden(*c))
            .take(MAX_REPEATED)
            .collect();
        let said = if said.is_empty() { ended.status.to_string() } else { said };
        Err(SystemProgramError::Failed { command, said })
    }
}
