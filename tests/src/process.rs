//! One program under test as a process in its own process group, with its output in a file. The process
//! never outlives the test.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

use crate::eventually::{PATIENCE, eventually};
use crate::usage::Usage;

/// The inputs of a new process.
#[derive(Debug, Default)]
pub struct Launch<'a> {
    /// The arguments.
    pub arguments: &'a [&'a OsStr],
    /// Environment variables, in addition to a path and an empty home.
    pub environment: &'a [(&'a str, &'a OsStr)],
    /// The content of its standard input.
    pub stdin: &'a [u8],
    /// Whether standard input stays open after that, until [`Process::close_stdin`].
    pub keeps_stdin: bool,
}

/// A running program. Clones refer to the same process.
#[derive(Debug, Clone)]
pub struct Process(Arc<Running>);

#[derive(Debug)]
struct Running {
    name: String,
    pid: Pid,
    child: Mutex<Child>,
    log: PathBuf,
}

impl Process {
    /// Starts a program with its output appended to `log`.
    ///
    /// # Panics
    /// It cannot be started.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "tests are about processes")]
    pub fn start(program: &Path, log: &Path, launch: &Launch<'_>) -> Self {
        let output = File::options().create(true).append(true).open(log).unwrap();
        let home = log.parent().unwrap();
        let mut child = Command::new(program)
            .args(launch.arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("NO_COLOR", "1")
            .envs(launch.environment.iter().copied())
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", program.display()));
        // A program may end without reading; its exit status decides.
        child.stdin.as_mut().map(|stdin| stdin.write_all(launch.stdin));
        if !launch.keeps_stdin {
            child.stdin = None;
        }
        Self(Arc::new(Running {
            name: program.file_name().unwrap().to_string_lossy().into_owned(),
            pid: Pid::from_child(&child),
            child: Mutex::new(child),
            log: log.to_owned(),
        }))
    }

    /// Returns its process id, which is its group's too.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.0.pid
    }

    /// Returns whether it still runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.ended().is_none()
    }

    /// Returns its exit status, if it has ended.
    #[must_use]
    pub fn ended(&self) -> Option<ExitStatus> {
        self.0.child().try_wait().unwrap()
    }

    /// Returns its current use of resources.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage::of(self.0.pid)
    }

    /// Returns everything that it and its predecessors wrote.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.0.log).unwrap_or_default()
    }

    /// Writes to its standard input, which [`Launch::keeps_stdin`] keeps open.
    ///
    /// # Panics
    /// It does not read.
    pub fn write_stdin(&self, bytes: &[u8]) {
        self.0.child().stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Closes its standard input.
    pub fn close_stdin(&self) {
        self.0.child().stdin = None;
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// It does not end.
    pub async fn end(&self) -> ExitStatus {
        let what = format!("the end of {}", self.0.name);
        eventually(&what, async || self.ended()).await
    }

    /// Waits for its end and returns its exit code.
    ///
    /// # Panics
    /// It does not end, or ends by a signal.
    pub async fn exit_code(&self) -> i32 {
        let status = self.end().await;
        status
            .code()
            .unwrap_or_else(|| panic!("{} ended by signal {:?}", self.0.name, status.signal()))
    }

    /// Sends SIGTERM, waits, and asserts a clean end with no process left behind.
    ///
    /// # Panics
    /// It does not end, or not cleanly.
    pub async fn stop(&self) {
        self.ask_to_end();
        let status = self.end().await;
        self.0.assert_clean(status);
    }

    /// Sends SIGKILL.
    pub async fn kill9(&self) {
        self.signal(Signal::KILL);
        self.end().await;
    }

    /// Stops every thread (SIGSTOP), until [`Process::thaw`]. The signal takes effect only when every
    /// thread reports it.
    ///
    /// # Panics
    /// A thread keeps running.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        let tasks = format!("/proc/{}/task", self.0.pid.as_raw_nonzero());
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let all_stopped = std::fs::read_dir(&tasks).unwrap().flatten().all(|task| {
                // The state follows the name, which is in brackets and may hold anything.
                std::fs::read_to_string(task.path().join("stat")).is_ok_and(|stat| {
                    stat.rsplit_once(") ").is_some_and(|(_, s)| s.starts_with('T'))
                })
            });
            if all_stopped {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("{tasks}: not every thread stopped within {PATIENCE:?}");
    }

    /// Lets it run again.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Sends SIGTERM.
    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        // The child is reaped only under this lock, so its id cannot belong to another process.
        let mut child = self.0.child();
        if child.try_wait().unwrap().is_none() {
            kill_process(self.0.pid, signal).unwrap();
        }
    }

    /// As [`Process::stop`], without a runtime.
    ///
    /// # Panics
    /// As [`Process::stop`].
    pub fn stop_blocking(&self) {
        self.ask_to_end();
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.ended() {
                return self.0.assert_clean(status);
            }
            assert!(
                Instant::now() < deadline,
                "{} does not end when it is asked to:\n{}",
                self.0.name,
                self.log()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Running {
    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn assert_clean(&self, status: ExitStatus) {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        assert!(status.success(), "{} ended with {status}:\n{log}", self.name);
        // What the kernel ends with its parent may take a moment.
        let deadline = Instant::now() + Duration::from_secs(2);
        while test_kill_process_group(self.pid).is_ok() {
            assert!(Instant::now() < deadline, "{} left processes behind", self.name);
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(child.try_wait(), Ok(None)) {
            let _ = kill_process_group(self.pid, Signal::KILL);
            let _ = child.wait();
        }
    }
}
