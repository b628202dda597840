//! A person's agent in the background, without a terminal. Windows has no signal for such a program: it ends when a file
//! appears in its state folder, in which only the owner writes.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::super::ServiceError;
use super::{RunAs, failed, process};
use crate::owner_file::remove;
use crate::process::Detached;
use crate::state::names::STOP;
use crate::state::{State, Status};

/// How often the agent looks for it.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long an agent has to end its calls and itself.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
/// How long an agent may take to end that was ended.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the lock of an agent that has ended is looked at, and the pause between two.
const RELEASE_TRIES: u32 = 5;
const RELEASE_PAUSE: Duration = Duration::from_millis(20);

/// Waits until the agent with this state folder is to stop. What an earlier agent was told does not count.
pub async fn stop_asked(state_dir: &Path) {
    let file = state_dir.join(STOP);
    // Where it stays, this agent stops too: the owner asked for that.
    drop(remove(&file));
    while !tokio::fs::try_exists(&file).await.unwrap_or(false) {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Starts this program again in the background, with these words after those of the command.
///
/// # Errors
/// [`ServiceError`].
pub fn launch(words: &[OsString]) -> Result<(), ServiceError> {
    let program = std::env::current_exe().map_err(ServiceError::at(Path::new("this program")))?;
    let run = ["run", "--as", RunAs::Background.as_str()].map(str::to_owned);
    let given = words.iter().map(|word| word.to_string_lossy().into_owned());
    start(&program, &run.into_iter().chain(given).collect::<Vec<_>>())
}

pub(super) fn start(program: &Path, words: &[String]) -> Result<(), ServiceError> {
    let folder = program.parent().unwrap_or(Path::new(r"C:\"));
    let detached = Detached { program, name: program, arguments: words, folder };
    detached.start_in_background().map(drop).map_err(failed("the agent cannot be started"))
}

/// Stops the agent that uses this state folder, if there is one.
pub(super) async fn stop(state_dir: &Path) -> Result<(), ServiceError> {
    let is_used = || matches!(State::is_used(state_dir), Ok(true));
    if !is_used() {
        return Ok(());
    }
    let pid = Status::read(state_dir).map_or(0, |status| status.pid);
    let file = state_dir.join(STOP);
    fs::write(&file, "").map_err(ServiceError::at(&file))?;
    let has_stopped = process::is_gone(pid, STOP_TIMEOUT).await;
    if !has_stopped {
        process::end(pid);
    }
    let is_gone = has_stopped || process::is_gone(pid, KILL_TIMEOUT).await;
    remove(&file).map_err(ServiceError::at(&file))?;
    // Windows may release the lock of a process a moment after its end.
    for _ in 0..RELEASE_TRIES {
        if !is_used() {
            break;
        }
        tokio::time::sleep(RELEASE_PAUSE).await;
    }
    if is_gone && !is_used() { Ok(()) } else { Err(ServiceError::NotStopped { pid }) }
}
