//! Opens applications, as processes of the logged-in person.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use orion_domain::{Actor, ErrorCode, Hint, ToolError};

use super::{App, Apps, discover};
use crate::process::Detached;

/// Maximum number of opened applications that still run. More suggest a loop rather than a person.
const MAX_RUNNING: usize = 64;

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
        let program = Detached {
            program: &app.executable,
            name: &app.called,
            arguments: app.leading.iter().chain(arguments),
            folder,
        };
        let mut child = program.start().map_err(|error| not_started(app, error.kind()))?;
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
