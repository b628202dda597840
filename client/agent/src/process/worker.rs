//! A worker: a process of the agent's own binary that runs file tools. This file starts, watches and ends one,
//! and has the steps that the process takes before anything else:
//!
//! 1. Take the socket to the agent from standard input, which becomes empty.
//! 2. Start a process group of its own that ends with the agent, behind it, with limits of resources.
//! 3. Give up privileges that files do not need, then system calls that files do not need (seccomp).
//!
//! Landlock follows when the worker learns which folders its calls may reach.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::handles::{HEADER, MAX_HANDLES, receive_within, send_within};
use super::{WORKER, confine, limits, seccomp};

/// The most bytes of a message to a worker: the arguments of one call, or a policy with its folders.
const MAX_TO_WORKER: usize = 64 * 1024 * 1024;
/// The most bytes of a message from a worker: the result of one call with all that is said about it.
const MAX_FROM_WORKER: usize = 3 * 1024 * 1024;
/// Bytes that are read from a worker at once.
const READ_BYTES: usize = 64 * 1024;
/// A larger message is received when the caller has room for it.
const LARGE: usize = 256 * 1024;
/// How long a large message may take.
const LARGE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a worker may take to read what it is sent.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the end of a worker is waited for, before that is left to a thread of its own.
const END_TIMEOUT: Duration = Duration::from_millis(200);
/// The end of what a worker said on standard error that is kept.
const MAX_SAID: usize = 4 * 1024;
/// Environment variables that a worker gets.
const ENVIRONMENT: &[&str] = &["ORION_LOG", "TZ"];

/// The program that workers run.
#[derive(Debug, Clone)]
pub struct WorkerProgram {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: BTreeMap<OsString, OsString>,
}

impl WorkerProgram {
    /// Returns the program of this agent.
    #[must_use]
    pub fn of_this_agent() -> Self {
        // The running program, also where its file was replaced since.
        Self::of_agent_at(PathBuf::from("/proc/self/exe"))
    }

    /// Returns the agent at this path, for a process that is not the agent itself.
    #[must_use]
    pub fn of_agent_at(program: PathBuf) -> Self {
        let given = ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let environment = given.map(|(name, value)| (OsString::from(name), value)).collect();
        Self { program, arguments: vec![OsString::from(WORKER)], environment }
    }

    /// Returns the running test, one test of which does the work of a worker.
    #[cfg(test)]
    pub(crate) fn of_this_test(test: &str, marker: &str) -> Self {
        Self {
            program: std::env::current_exe().unwrap(),
            arguments: ["--exact", test, "--test-threads=1", "--nocapture"].map(Into::into).into(),
            environment: BTreeMap::from([(marker.into(), "1".into())]),
        }
    }

    /// Returns the program with another value of a variable.
    #[cfg(test)]
    pub(crate) fn given(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Starts a worker, which ends when the calling thread does.
    ///
    /// # Errors
    /// Errors of the operating system.
    #[expect(clippy::disallowed_methods, reason = "this file starts the agent's workers")]
    pub(crate) fn start(&self) -> io::Result<WorkerProcess> {
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
        // The agent's parent process may have left inheritable file descriptors open.
        close_fds::set_fds_cloexec_threadsafe(3, &[]);
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .envs(&self.environment)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().map(|it| File::from(OwnedFd::from(it)));
        let (received, said) = (Vec::new(), Vec::new());
        Ok(WorkerProcess { child: Some(child), socket, stderr, received, said, large_since: None })
    }
}

/// A running worker, which is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    child: Option<Child>,
    socket: UnixStream,
    stderr: Option<File>,
    /// The beginning of the next message.
    received: Vec<u8>,
    /// The end of what the worker said on standard error.
    said: Vec<u8>,
    /// Since when this worker may send a large message.
    large_since: Option<Instant>,
}

/// What came from a worker.
#[derive(Debug)]
pub(crate) enum Received<T> {
    /// A message.
    Message(T),
    /// The beginning of a message of so many bytes, for which the caller makes room with
    /// [`WorkerProcess::receive_large`].
    Large(usize),
    /// No message in time.
    Nothing,
    /// The worker has ended, or sent what is no message.
    Closed,
}

impl WorkerProcess {
    /// Sends a message with handles, which may be more than one message of the socket takes.
    ///
    /// # Errors
    /// The worker is gone or does not read.
    pub(crate) fn send<T: Serialize>(
        &self,
        message: &T,
        handles: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let (first, rest) = handles.split_at(handles.len().min(MAX_HANDLES));
        send_within(&self.socket, message, first, MAX_TO_WORKER)?;
        rest.chunks(MAX_HANDLES)
            .try_for_each(|more| send_within(&self.socket, &(), more, MAX_TO_WORKER))
    }

    /// Waits for a message.
    pub(crate) fn next<T: DeserializeOwned>(&mut self, timeout: Duration) -> Received<T> {
        let until = Instant::now() + timeout;
        loop {
            match self.message() {
                Ok(Some(message)) => return Received::Message(message),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "a worker sent what is no message");
                    return Received::Closed;
                }
            }
            if let Some(length) = self.announced().filter(|length| *length > LARGE)
                && self.large_since.is_none()
            {
                return Received::Large(length);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.wait(left) {
                Err(_) => return Received::Closed,
                // Whatever came, the caller looks at its clock. The next call finds what is whole by now.
                Ok(_) if left.is_zero() => return Received::Nothing,
                Ok(_) => {}
            }
        }
    }

    /// Returns the length that the next message's header says.
    fn announced(&self) -> Option<usize> {
        let header = self.received.first_chunk::<HEADER>()?;
        Some(usize::try_from(u64::from_le_bytes(*header)).unwrap_or(usize::MAX))
    }

    /// Takes the next whole message out of what was received.
    fn message<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(length) = self.announced() else { return Ok(None) };
        if length > MAX_FROM_WORKER {
            return Err(io::Error::new(ErrorKind::InvalidData, "the message is too large"));
        }
        let Some(body) = self.received.get(HEADER..HEADER + length) else {
            // Once for all, so that a large message takes no more than its size.
            match self.large_since {
                None if length > LARGE => return Ok(None),
                Some(since) if since.elapsed() > LARGE_TIMEOUT => {
                    return Err(ErrorKind::TimedOut.into());
                }
                None | Some(_) => {}
            }
            let missing = (HEADER + length).saturating_sub(self.received.len());
            self.received.reserve_exact(missing);
            return Ok(None);
        };
        let message = serde_json::from_slice(body)?;
        self.received.drain(..HEADER + length);
        self.large_since = None;
        if self.received.is_empty() {
            // A large result would otherwise stay in memory for as long as the worker.
            self.received = Vec::new();
        }
        Ok(Some(message))
    }

    /// Receives the large message that has begun.
    pub(crate) fn receive_large(&mut self) {
        self.large_since = Some(Instant::now());
    }

    /// Waits until something comes, and receives it. Returns whether something came.
    fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        let mut ready = vec![PollFd::new(&self.socket, PollFlags::IN)];
        ready.extend(self.stderr.iter().map(|file| PollFd::new(file, PollFlags::IN)));
        match poll(&mut ready, Some(&timeout)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        let mut is_ready = ready.iter().map(|it| !it.revents().is_empty());
        let (speaks, says) = (is_ready.next().unwrap_or(false), is_ready.next().unwrap_or(false));
        drop(ready);
        if says {
            self.hear();
        }
        if speaks {
            let mut buffer = vec![0; READ_BYTES];
            match recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok((_, length)) => {
                    self.received.extend_from_slice(buffer.get(..length).unwrap_or_default());
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(speaks || says)
    }

    /// Reads what the worker says on standard error, and passes it on to the agent's log.
    fn hear(&mut self) {
        let Some(stderr) = &mut self.stderr else { return };
        let mut buffer = [0; 4096];
        match stderr.read(&mut buffer) {
            Ok(0) | Err(_) => self.stderr = None,
            Ok(length) => {
                let piece = buffer.get(..length).unwrap_or_default();
                for line in String::from_utf8_lossy(piece).lines() {
                    tracing::warn!("a worker says: {}", line.escape_debug());
                }
                self.said.extend_from_slice(piece);
                let excess = self.said.len().saturating_sub(MAX_SAID);
                self.said.drain(..excess);
            }
        }
    }

    /// Returns whether the worker said that there was no memory left for it.
    pub(crate) fn was_short_of_memory(&mut self) -> bool {
        while self.stderr.is_some() && matches!(self.wait(Duration::ZERO), Ok(true)) {}
        while self.stderr.is_some() {
            // The worker is gone, so that reading comes to an end.
            self.hear();
        }
        String::from_utf8_lossy(&self.said).contains("memory allocation of ")
    }

    /// Returns the bytes of memory that the worker takes for itself.
    pub(crate) fn memory(&self) -> Option<u64> {
        let pid = self.child.as_ref()?.id();
        let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let mut pages =
            text.split_ascii_whitespace().skip(1).map_while(|it| it.parse::<u64>().ok());
        // What is read from files is in the second number, and is nobody's own.
        let own = pages.next()?.saturating_sub(pages.next()?);
        Some(own.saturating_mul(rustix::param::page_size() as u64))
    }

    /// Returns the number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Returns whether the worker still runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Kills the worker, and waits until it is gone, however long its disk hangs.
    pub(crate) fn kill(&mut self) -> Option<ExitStatus> {
        let child = self.child.as_mut()?;
        // It may have ended by itself.
        drop(child.kill());
        child.wait().ok()
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        drop(child.kill());
        let began = Instant::now();
        while let Ok(None) = child.try_wait() {
            if began.elapsed() > END_TIMEOUT {
                // So that it does not stay in the list of processes.
                drop(thread::Builder::new().spawn(move || drop(child.wait())));
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// The worker's end of the socket.
#[derive(Debug)]
pub(crate) struct AgentSocket {
    socket: UnixStream,
    /// Held while a message is sent, so that each is sent whole.
    sending: Mutex<()>,
}

impl AgentSocket {
    /// Takes every step that this process takes before it knows its folders. `memory` is the most that it may
    /// write to, in bytes.
    ///
    /// # Errors
    /// A step failed: then nothing may run here.
    pub(crate) fn become_worker(memory: u64) -> io::Result<Self> {
        let socket = confine::socket()?;
        limits::apply_to_worker(memory)?;
        seccomp::apply_to_worker().map_err(io::Error::other)?;
        Ok(Self { socket, sending: Mutex::default() })
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The agent is gone, or the message is too large.
    pub(crate) fn send<T: Serialize>(&self, message: &T) -> io::Result<()> {
        let _sending = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        send_within(&self.socket, message, &[], MAX_FROM_WORKER)
    }

    /// Receives a message with its handles. `None` where the agent is gone.
    ///
    /// # Errors
    /// What came is no message.
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        receive_within(&self.socket, MAX_TO_WORKER)
    }

    /// Receives handles until there are so many.
    ///
    /// # Errors
    /// The agent sent fewer.
    pub(crate) fn receive_handles(&self, handles: &mut Vec<OwnedFd>, all: usize) -> io::Result<()> {
        while handles.len() < all {
            match self.receive::<()>()? {
                Some(((), more)) if !more.is_empty() => handles.extend(more),
                Some(_) | None => return Err(ErrorKind::UnexpectedEof.into()),
            }
        }
        Ok(())
    }
}
