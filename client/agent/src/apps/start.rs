//! Starts applications as processes of the logged-in person.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use orion_domain::{Actor, ErrorCode, Hint, ToolError};

use super::{App, Apps, discover};

/// Maximum number of opened applications that still run. More suggest a loop rather than a person.
const MAX_RUNNING: usize = 64;

/// Environment variables that an application gets: those for the desktop and the person's language, none of
/// the agent's own.
#[cfg(not(windows))]
const ENVIRONMENT: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "DISPLAY",
    "XAUTHORITY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_TYPE",
    "XDG_CURRENT_DESKTOP",
    "XDG_DATA_DIRS",
    "XDG_CONFIG_DIRS",
    "DBUS_SESSION_BUS_ADDRESS",
];
#[cfg(windows)]
const ENVIRONMENT: &[&str] = &[
    "PATH",
    "PATHEXT",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "USERNAME",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "TEMP",
    "TMP",
];

impl Apps {
    /// Starts an application, detached: it outlives the call and the agent. Returns its process id.
    ///
    /// # Errors
    /// `NOT_SUPPORTED` if the program is gone, `PERMISSION_DENIED`, `RESOURCE_EXHAUSTED`.
    pub fn start(&self, app: &App, arguments: &[String], folder: &Path) -> Result<u32, ToolError> {
        let there = std::fs::metadata(&app.executable)
            .is_ok_and(|metadata| metadata.is_file() && discover::is_executable(&metadata));
        if !there {
            return Err(not_found(app));
        }
        let slot = AppSlot::take(&self.running)?;
        let mut command = command(app, arguments, folder);
        // The agent's parent process may have left inheritable file descriptors open.
        #[cfg(unix)]
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        let mut child = command.spawn().map_err(|error| not_started(app, error.kind()))?;
        let pid = child.id();
        let reaped = std::thread::Builder::new()
            .name("opened-app".to_owned())
            // The thread only waits; without it the ended process would stay a zombie.
            .stack_size(128 * 1024)
            .spawn(move || {
                let _slot = slot;
                if let Err(error) = child.wait() {
                    tracing::debug!(pid, kind = %error.kind(), "an opened application could not be waited for");
                }
            });
        if reaped.is_err() {
            tracing::warn!(pid, "no thread to wait for an opened application");
        }
        Ok(pid)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "opening the person's own applications is what this file is for"
)]
fn command(app: &App, arguments: &[String], folder: &Path) -> Command {
    let mut command = Command::new(&app.executable);
    command
        .args(&app.leading)
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(ENVIRONMENT.iter().filter_map(|&name| Some((name, std::env::var_os(name)?))))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        // Its own process group, so that a signal to the agent's group does not end it.
        command.arg0(&app.called).process_group(0);
    }
    command
}

/// One slot for a running application, released when the application ends.
struct AppSlot(Arc<AtomicUsize>);

impl AppSlot {
    fn take(running: &Arc<AtomicUsize>) -> Result<Self, ToolError> {
        if running.fetch_add(1, Ordering::Relaxed) >= MAX_RUNNING {
            running.fetch_sub(1, Ordering::Relaxed);
            return Err(ToolError::new(
                ErrorCode::ResourceExhausted,
                format!("{MAX_RUNNING} opened applications still run."),
            )
            .hint("close some before opening more"));
        }
        Ok(Self(Arc::clone(running)))
    }
}

impl Drop for AppSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn not_started(app: &App, kind: ErrorKind) -> ToolError {
    if kind == ErrorKind::NotFound {
        return not_found(app);
    }
    let code = if kind == ErrorKind::PermissionDenied {
        ErrorCode::PermissionDenied
    } else {
        ErrorCode::ExecutionFailed
    };
    ToolError::new(code, format!("{} could not be started: {kind}.", shown(app)))
}

fn not_found(app: &App) -> ToolError {
    ToolError::new(
        ErrorCode::NotSupported,
        format!("{} is not there any more or cannot be run.", shown(app)),
    )
    .hint(Hint::new("install it again, then restart the agent").by(Actor::Owner))
}

fn shown(app: &App) -> String {
    app.executable.display().to_string()
}
