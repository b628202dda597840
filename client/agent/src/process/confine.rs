//! The process that confines itself and becomes the program. Five steps, in this order:
//!
//! 1. Receive the launch and its handles from the keeper, and give the program an empty standard input.
//! 2. Start a session of its own, tied to the keeper's life, with the limits of resources.
//! 3. Enter the folder, and mark every other descriptor to be closed.
//! 4. Give up privileges, then let the kernel confine files (Landlock) and calls (seccomp).
//! 5. Execute.
//!
//! A step that fails is reported and nothing is executed: there is no way past a step.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::process::getppid;

use super::handles::{receive, send};
use super::launch::Launch;
use super::{limits, seccomp};
use crate::sandbox::confine_program;

/// Why the program was not executed.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Failed {
    /// The step and its error.
    pub(super) why: String,
    /// Whether the program itself could not be executed.
    pub(super) program: bool,
}

/// Becomes the program that standard input names. Returns only where that failed.
pub(super) fn main() -> ExitCode {
    let Ok(socket) = socket() else { return ExitCode::FAILURE };
    let failed = match become_program(&socket) {
        Ok(never) => match never {},
        Err(failed) => failed,
    };
    // Where the keeper is gone, nobody needs to know.
    drop(send(&socket, &failed, &[]));
    ExitCode::FAILURE
}

/// Takes the socket from standard input, which becomes empty.
pub(super) fn socket() -> io::Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(UnixStream::from(socket))
}

fn become_program(socket: &UnixStream) -> Result<std::convert::Infallible, Failed> {
    let parent = getppid();
    let (launch, handles) = receive::<Launch>(socket)
        .and_then(|received| received.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
        .map_err(failed("the launch could not be read"))?;
    let (folder, granted, streams) = split(&launch, &handles)?;
    limits::apply(&launch.bounds).map_err(failed("the limits could not be set"))?;
    if getppid() != parent {
        return Err(failed("the keeper is gone")(io::ErrorKind::BrokenPipe.into()));
    }
    rustix::process::fchdir(folder)
        .map_err(|error| failed("its folder could not be entered")(error.into()))?;
    if let Some([input, output]) = streams {
        let failed = failed("its standard streams could not be set");
        rustix::stdio::dup2_stdin(input).map_err(|error| failed(error.into()))?;
        rustix::stdio::dup2_stdout(output).map_err(|error| failed(error.into()))?;
    }
    close_fds::set_fds_cloexec(3, &[]);
    limits::drop_privileges().map_err(failed("privileges could not be given up"))?;
    let rules =
        granted.iter().zip(&launch.rights).map(|(handle, rights)| (handle.as_fd(), *rights));
    confine_program(rules, launch.network)
        .map_err(|error| failed("Landlock did not confine it")(io::Error::other(error)))?;
    seccomp::apply(&launch)
        .map_err(|error| failed("seccomp did not confine it")(io::Error::other(error)))?;
    let error = command(&launch).exec();
    Err(Failed { why: error.to_string(), program: true })
}

/// The folder to start in, the handles of the rights, and standard input and output where they are given.
type Split<'a> = (&'a OwnedFd, &'a [OwnedFd], Option<[&'a OwnedFd; 2]>);

/// Separates the handles by what they are for.
fn split<'a>(launch: &Launch, handles: &'a [OwnedFd]) -> Result<Split<'a>, Failed> {
    let (granted, rest) = handles.split_at_checked(launch.rights.len()).unwrap_or_default();
    match rest {
        [folder] => Ok((folder, granted, None)),
        [folder, input, output] => Ok((folder, granted, Some([input, output]))),
        _ => Err(failed("its handles did not arrive")(io::ErrorKind::InvalidData.into())),
    }
}

#[expect(clippy::disallowed_methods, reason = "this process becomes the program")]
fn command(launch: &Launch) -> Command {
    let mut command = Command::new(&launch.program);
    command.arg0(&launch.name).args(&launch.arguments).env_clear().envs(&launch.environment);
    command
}

fn failed(step: &'static str) -> impl Fn(io::Error) -> Failed {
    move |error| Failed { why: format!("{step}: {error}"), program: false }
}
