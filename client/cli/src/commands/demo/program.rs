//! Runs the two programs, each in its own process group, so that Ctrl-C reaches only the demo. They end
//! with the demo in every case, because the pipe to their standard input then closes.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use orion_domain::Hint;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};

use crate::failure::Failure;
use crate::text;

/// The timeout for a program to end after SIGTERM.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout of enrolment.
const ENROL_TIMEOUT: Duration = Duration::from_secs(60);
/// How many lines of a log are shown when its program fails.
const TAIL_LINES: usize = 12;

/// Returns the path of a program installed beside this one.
///
/// # Errors
/// The program is not beside this one.
pub(crate) fn sibling(name: &str) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|error| {
        Failure::Failed(format!("where `orion` itself lies is not known: {error}"))
    })?;
    let folder = own.parent().unwrap_or(Path::new("."));
    let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if path.is_file() {
        return Ok(path);
    }
    Err(Failure::NotFound(format!("{name} is not beside `orion` in {}", folder.display()))
        .hint(Hint::run("build it", format!("cargo build -p {name}")))
        .hint("install it there"))
}

/// A running program.
#[derive(Debug)]
pub(crate) struct Program {
    name: &'static str,
    child: Child,
    /// Open as long as the program should run.
    stdin: Option<ChildStdin>,
    log: Log,
}

/// A program's log file, and where this run begins in it.
#[derive(Debug)]
struct Log {
    path: PathBuf,
    from: u64,
}

/// The programs that the demo started.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// The backend.
    pub(crate) server: Option<Program>,
    /// The device.
    pub(crate) agent: Option<Program>,
}

fn command(
    name: &'static str,
    arguments: &[OsString],
    log: &Path,
) -> Result<(Command, Log), Failure> {
    let unusable = |error| Failure::Failed(format!("{} cannot be used: {error}", log.display()));
    let output = open_log(log).map_err(unusable)?;
    let from = output.metadata().map_err(unusable)?.len();
    let errors = output.try_clone().map_err(unusable)?;
    #[expect(clippy::disallowed_methods, reason = "the demo starts its own two programs")]
    let mut command = Command::new(sibling(name)?);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(errors)
        .env_remove("ORION_TOKEN")
        .env("NO_COLOR", "1")
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    Ok((command, Log { path: log.to_owned(), from }))
}

fn open_log(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

impl Program {
    /// Starts a program that runs until it is stopped.
    ///
    /// # Errors
    /// The program is missing or cannot be started.
    pub(crate) fn start(
        name: &'static str,
        arguments: &[OsString],
        log: &Path,
    ) -> Result<Self, Failure> {
        let (mut command, log) = command(name, arguments, log)?;
        let mut child = command
            .spawn()
            .map_err(|error| Failure::Failed(format!("{name} cannot be started: {error}")))?;
        // Waiting for a child closes its standard input, which would end it.
        let stdin = child.stdin.take();
        Ok(Self { name, child, stdin, log })
    }

    /// Returns the failure if the program has ended.
    pub(crate) fn failed(&mut self) -> Option<Failure> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(ended(self.name, status, &self.log)),
            Err(error) => Some(Failure::Failed(format!("{} is lost: {error}", self.name))),
        }
    }

    /// Returns the last lines of its log.
    pub(crate) fn tail(&self) -> String {
        format!("{}:\n{}", self.log.path.display(), tail(&self.log))
    }

    /// Asks the program to end, and kills it after a timeout.
    async fn stop(mut self) {
        #[cfg(unix)]
        if let Some(pid) = self
            .child
            .id()
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(rustix::process::Pid::from_raw)
        {
            // The program may have just ended by itself.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        drop(self.stdin.take());
        if tokio::time::timeout(STOP_TIMEOUT, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
        }
    }
}

impl Programs {
    /// Returns when one of the programs ends by itself.
    pub(crate) async fn fail(&mut self) -> Failure {
        let Self { server, agent } = self;
        let (Some(server), Some(agent)) = (server, agent) else {
            return std::future::pending().await;
        };
        let (name, status, log) = tokio::select! {
            status = server.child.wait() => (server.name, status, &server.log),
            status = agent.child.wait() => (agent.name, status, &agent.log),
        };
        match status {
            Ok(status) => ended(name, status, log),
            Err(error) => Failure::Failed(format!("{name} is lost: {error}")),
        }
    }

    /// Stops both, the device first, so that the backend sees the disconnect.
    pub(crate) async fn stop(self) {
        let Self { server, agent } = self;
        for program in [agent, server].into_iter().flatten() {
            program.stop().await;
        }
    }
}

/// Runs a program to its end with a secret on its standard input.
///
/// # Errors
/// The program is missing, fails, or takes too long.
pub(crate) async fn run_once(
    name: &'static str,
    arguments: &[OsString],
    input: &str,
    log: &Path,
) -> Result<(), Failure> {
    let (mut command, log) = command(name, arguments, log)?;
    let mut child = command
        .spawn()
        .map_err(|error| Failure::Failed(format!("{name} cannot be started: {error}")))?;
    let run = async {
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input logs the reason.
            let _ = stdin.write_all(format!("{input}\n").as_bytes()).await;
        }
        child.wait().await
    };
    match tokio::time::timeout(ENROL_TIMEOUT, run).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(ended(name, status, &log)),
        Ok(Err(error)) => Err(Failure::Failed(format!("{name} is lost: {error}"))),
        Err(_) => Err(Failure::TimedOut(format!(
            "{name} did not end within {} s. Its log ends with\n{}",
            ENROL_TIMEOUT.as_secs(),
            tail(&log)
        ))),
    }
}

fn ended(name: &str, status: ExitStatus, log: &Log) -> Failure {
    let message =
        format!("{name} ended ({status}). Its log {} ends with\n{}", log.path.display(), tail(log));
    if status.code() == Some(9) { Failure::Conflict(message) } else { Failure::Failed(message) }
}

/// Returns the last lines of this run.
fn tail(log: &Log) -> String {
    const MAX_TAIL_BYTES: u64 = 8 * 1024;
    let read = || {
        let mut file = File::open(&log.path)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(MAX_TAIL_BYTES).max(log.from)))?;
        let mut bytes = Vec::new();
        file.take(MAX_TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok::<Vec<u8>, std::io::Error>(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = text::plain(&String::from_utf8_lossy(&bytes));
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.len().saturating_sub(TAIL_LINES);
    lines.iter().skip(first).map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn only_the_end_of_this_runs_log_is_shown_and_nothing_in_it_is_obeyed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        let text: String = (0..1000).map(|n| format!("line {n} \x1b[1m\n")).collect();
        std::fs::write(&path, &text).unwrap();
        let whole = tail(&Log { path: path.clone(), from: 0 });
        assert_eq!(whole.lines().count(), TAIL_LINES);
        assert!(whole.ends_with("    line 999 \u{fffd}[1m"), "{whole}");
        let last = u64::try_from(text.rfind("line").unwrap()).unwrap();
        assert_eq!(tail(&Log { path, from: last }), "    line 999 \u{fffd}[1m");
        assert_eq!(tail(&Log { path: dir.path().join("none"), from: 0 }), "");
    }

    #[test]
    fn a_missing_program_is_named_with_how_to_get_it() {
        let failure = sibling("orion-nonexistent").unwrap_err();
        assert_eq!(failure.exit_code(), 3);
        let hints = failure.report(&TimeZone::UTC, &orion_usage::GivenOptions::none()).hints;
        assert!(hints[0].contains("cargo build -p orion-nonexistent"), "{hints:?}");
    }
}
