//! The agent's side of a program: starts its keeper, reads its output, and waits for the report.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::KEEPER;
use super::handles::{MAX_HANDLES, receive, send};
use super::launch::{Ending, Launch, Report};
use super::output::Captured;

/// How often a running program's call is asked whether to go on.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// How long after its time a keeper may take to end everything, before the agent ends the keeper.
const KEEPER_GRACE: Duration = Duration::from_secs(4);
/// Bytes of output that are read at once.
const READ_BYTES: usize = 64 * 1024;
/// A word that cancels the program.
const CANCEL: &[u8] = b"c";

/// Starts programs.
#[derive(Debug, Clone, Default)]
pub struct Launcher {
    /// The agent's own program.
    program: PathBuf,
}

/// How a program ended, with its output.
#[derive(Debug)]
pub struct Ended {
    /// Why it ended.
    pub ending: Ending,
    /// The exit code. `None` if a signal ended the program.
    pub exit_code: Option<i32>,
    /// The signal that ended the program.
    pub signal: Option<i32>,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
}

/// A program did not run, or it is not known how it ended.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program could not be executed. Nothing ran.
    #[error("the program cannot be executed: {0}")]
    Program(String),
    /// The sandbox could not be made. Nothing ran.
    #[error("the program was not started: {0}")]
    Sandbox(String),
    /// The keeper ended without a report. What the program did is not known; nothing of it is left.
    #[error("the program was lost: {0}")]
    Lost(io::Error),
}

/// A stream that a program writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

impl Launcher {
    /// Returns the launcher of this agent.
    #[must_use]
    pub fn of_this_agent() -> Self {
        // The running program, also where its file was replaced since.
        Self { program: PathBuf::from("/proc/self/exe") }
    }

    /// Returns the launcher with the agent at this path, for a process that is not the agent itself.
    #[must_use]
    pub const fn of_agent_at(program: PathBuf) -> Self {
        Self { program }
    }

    /// Runs a program until it ends, and everything that it started with it. `handles` are those of the
    /// rights, then the folder to start in, and then standard input and output where the caller speaks with the
    /// program itself. `output` sees each piece of output as it comes, and `goes_on` is
    /// asked all the time whether the program may go on. Blocks.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub fn run(
        &self,
        launch: &Launch,
        handles: &[BorrowedFd<'_>],
        output: &mut dyn FnMut(&[u8]),
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Ended, LaunchError> {
        self.run_streams(launch, handles, &mut |_, piece| output(piece), goes_on)
    }

    /// As [`run`](Self::run), where `output` also sees which stream a piece belongs to.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub fn run_streams(
        &self,
        launch: &Launch,
        handles: &[BorrowedFd<'_>],
        output: &mut dyn FnMut(Stream, &[u8]),
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Ended, LaunchError> {
        let sandbox = |error: io::Error| LaunchError::Sandbox(error.to_string());
        if handles.len() > MAX_HANDLES {
            return Err(LaunchError::Sandbox("it needs more folders than can be given".to_owned()));
        }
        let (own, theirs) = UnixStream::pair().map_err(sandbox)?;
        let mut child = self.start(theirs).map_err(sandbox)?;
        let mut streams = Streams {
            stdout: child.stdout.take().map(|it| File::from(OwnedFd::from(it))),
            stderr: child.stderr.take().map(|it| File::from(OwnedFd::from(it))),
            captured: Default::default(),
        };
        let _keeper = Keeper(Some(child));
        // Declared after the keeper, so that it is closed first.
        let own = own;
        send(&own, launch, handles).map_err(sandbox)?;
        let last = Instant::now() + Duration::from_millis(launch.bounds.time_ms) + KEEPER_GRACE;
        let mut cancelled = false;
        while !streams.wait(&own, output).map_err(LaunchError::Lost)? {
            if !cancelled && !goes_on() {
                cancelled = true;
                // A keeper that is gone needs no word.
                drop((&own).write_all(CANCEL));
            }
            if Instant::now() >= last {
                return Err(LaunchError::Lost(io::ErrorKind::TimedOut.into()));
            }
        }
        let report = receive::<Report>(&own).map_err(LaunchError::Lost)?;
        // Whoever could write to it is gone.
        streams.drain(output).map_err(LaunchError::Lost)?;
        let [stdout, stderr] = streams.captured;
        match report {
            Some((Report::NotStarted { why, program: true }, _)) => Err(LaunchError::Program(why)),
            Some((Report::NotStarted { why, program: false }, _)) => Err(LaunchError::Sandbox(why)),
            Some((Report::Ended { ending, exit_code, signal }, _)) => {
                Ok(Ended { ending, exit_code, signal, stdout, stderr })
            }
            None => Err(LaunchError::Lost(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this file starts the keepers of programs")]
    fn start(&self, stdin: UnixStream) -> io::Result<Child> {
        // The agent's parent process may have left inheritable file descriptors open.
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        Command::new(&self.program)
            .arg(KEEPER)
            .env_clear()
            .stdin(Stdio::from(OwnedFd::from(stdin)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }
}

/// A keeper. It sees when its owner is gone, ends all that it keeps, and then itself. Nobody ends it before
/// that, because what it keeps would be free.
struct Keeper(Option<Child>);

impl Drop for Keeper {
    fn drop(&mut self) {
        let Some(mut keeper) = self.0.take() else { return };
        let began = Instant::now();
        while let Ok(None) = keeper.try_wait() {
            if began.elapsed() > KEEPER_GRACE {
                // Waits for as long as it takes, so that the keeper does not stay in the list of processes.
                drop(thread::Builder::new().spawn(move || drop(keeper.wait())));
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The output of a program.
struct Streams {
    stdout: Option<File>,
    stderr: Option<File>,
    captured: [Captured; 2],
}

impl Streams {
    /// Waits for output, a report, or a moment. Returns whether there is a report, or an end without one.
    fn wait(
        &mut self,
        keeper: &UnixStream,
        output: &mut dyn FnMut(Stream, &[u8]),
    ) -> io::Result<bool> {
        let timeout = Timespec::try_from(CHECK_INTERVAL).map_err(io::Error::other)?;
        let mut ready = vec![PollFd::new(keeper, PollFlags::IN)];
        let open = [&self.stdout, &self.stderr];
        ready.extend(open.into_iter().flatten().map(|file| PollFd::new(file, PollFlags::IN)));
        match poll(&mut ready, Some(&timeout)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let mut is_ready = ready.iter().map(|it| !it.revents().is_empty());
        let is_over = is_ready.next().unwrap_or_default();
        let first = self.stdout.is_some() && is_ready.next().unwrap_or_default();
        let second = self.stderr.is_some() && is_ready.next().unwrap_or_default();
        drop(ready);
        if first {
            self.read(Stream::Out, output)?;
        }
        if second {
            self.read(Stream::Error, output)?;
        }
        Ok(is_over)
    }

    /// Reads the rest of the output.
    fn drain(&mut self, output: &mut dyn FnMut(Stream, &[u8])) -> io::Result<()> {
        while self.stdout.is_some() {
            self.read(Stream::Out, output)?;
        }
        while self.stderr.is_some() {
            self.read(Stream::Error, output)?;
        }
        Ok(())
    }

    fn read(&mut self, stream: Stream, output: &mut dyn FnMut(Stream, &[u8])) -> io::Result<()> {
        let [out, error] = &mut self.captured;
        let (file, captured) = match stream {
            Stream::Out => (&mut self.stdout, out),
            Stream::Error => (&mut self.stderr, error),
        };
        let Some(open) = file else { return Ok(()) };
        let mut buffer = [0; READ_BYTES];
        match open.read(&mut buffer) {
            Ok(0) => *file = None,
            Ok(length) => {
                let piece = buffer.get(..length).unwrap_or_default();
                captured.push(piece);
                output(stream, piece);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
