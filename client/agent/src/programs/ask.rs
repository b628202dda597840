//! Asks a program of the system, such as `systemctl`, with arguments that Orion alone writes.

use std::path::Path;
use std::time::{Duration, Instant};

use orion_commands::Program;
use orion_domain::{DevicePath, ErrorCode, PathStyle, ToolError, strip_hidden};

use super::{CommandContext, system};
use crate::process::{Bounds, Ending, Launch, LaunchError, Stream};
use crate::sandbox::{Metadata, Network, Rights};

/// How long a program takes at most that answers at once.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(60);
/// Bytes of memory of all processes of a program.
const MAX_MEMORY: u64 = 1024 * 1024 * 1024;
/// The number of processes of a program.
const MAX_PROCESSES: usize = 64;
/// Bytes of a file that a program writes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// The longest line of an error that is passed on, in characters.
const MAX_COMPLAINT: usize = 200;
/// The sockets of the managers of services.
const SOCKETS: &[&str] = &[
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
    "/run/docker.sock",
    "/run/podman/podman.sock",
];

/// How a program ended that a tool asked, with what it printed.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The program's file.
    pub(crate) path: String,
    /// The exit code. `None` if a signal ended the program.
    pub(crate) exit_code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// The first line of standard error with anything in it, with nothing hidden.
    pub(crate) complaint: String,
}

impl Answer {
    /// Returns whether the program ended well.
    pub(crate) const fn is_ok(&self) -> bool {
        matches!(self.exit_code, Some(0))
    }
}

/// What a program is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a> {
    /// The program's name.
    pub(crate) name: &'a str,
    /// Its arguments.
    pub(crate) arguments: &'a [&'a str],
    /// What it may connect to.
    pub(crate) network: Network,
    /// Files and folders that it may read besides those that every program may.
    pub(crate) reads: &'a [&'a str],
    /// Memory of the agent for what the caller makes of the output, in bytes.
    pub(crate) memory: u64,
    /// How long it may take.
    pub(crate) time: Duration,
}

/// Runs a program of the system by its name and returns what it printed.
///
/// # Errors
/// As [`listen`], and `RESOURCE_EXHAUSTED` for a program that prints too much.
pub(crate) fn ask(
    context: &CommandContext<'_>,
    name: &str,
    arguments: &[&str],
    network: Network,
) -> Result<Answer, ToolError> {
    let query = Query { name, arguments, network, reads: &[], memory: 0, time: MAX_TIME };
    let (answer, left_out) = run(context, query, &mut |_, _| {})?;
    if left_out > 0 {
        let message = format!("{name} printed more than is read.");
        return Err(ToolError::new(ErrorCode::ResourceExhausted, message));
    }
    Ok(answer)
}

/// Runs a program of the system by its name and passes on what it prints as it comes, however much that is.
/// Of the answer, only the end and the complaint count.
///
/// # Errors
/// `NOT_SUPPORTED` where there is no such program, `EXECUTION_FAILED` for one that was not run to its end,
/// `RESOURCE_EXHAUSTED`, `TIMEOUT` and `CANCELLED`.
pub(crate) fn listen(
    context: &CommandContext<'_>,
    query: Query<'_>,
    output: &mut dyn FnMut(Stream, &[u8]),
) -> Result<Answer, ToolError> {
    run(context, query, output).map(|(answer, _)| answer)
}

/// Runs a program. Returns the answer, and how much of its standard output the answer does not hold.
fn run(
    context: &CommandContext<'_>,
    Query { name, arguments, network, reads, memory, time }: Query<'_>,
    output: &mut dyn FnMut(Stream, &[u8]),
) -> Result<(Answer, u64), ToolError> {
    let root = DevicePath::parse(PathStyle::Posix, "/");
    let root = root.map_err(|_| failed(name, "the device has no root folder"))?;
    let found = context.programs.find(&Program::Name(name.to_owned()), &root, context.roots)?;
    context.reserve_output_and(memory)?;
    let scratch = context.programs.scratch(context.call)?;
    let sockets: &[&str] = match network {
        Network::Services => SOCKETS,
        Network::Nothing | Network::Hosts => &[],
    };
    let sockets =
        sockets.iter().filter_map(|path| Some((system::handle(Path::new(path))?, Rights::Connect)));
    let granted: Vec<_> = system::handles(context.programs.home.as_deref(), context.roots)
        .chain(system::handle(&found.file).map(|file| (file, Rights::Execute)))
        .chain(scratch.handle().map(|own| (own, Rights::Change)))
        .chain(sockets)
        .chain(
            reads.iter().filter_map(|path| Some((system::handle(Path::new(path))?, Rights::Read))),
        )
        .collect();
    let folder = scratch.handle().ok_or_else(|| failed(name, "its folder is gone"))?;
    let mut environment = context.programs.environment();
    let temporary = scratch.path().display().to_string();
    let own =
        [("TMPDIR", &*temporary), ("DOCKER_CONFIG", &temporary), ("LC_ALL", "C"), ("TZ", "UTC")];
    environment.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let left = context.end_within(time).saturating_duration_since(Instant::now());
    let launch = Launch {
        program: found.file.clone(),
        name: found.named.display().to_string(),
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        environment,
        rights: granted.iter().map(|(_, rights)| *rights).collect(),
        network,
        metadata: Metadata::Nothing,
        bounds: Bounds {
            time_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            memory: MAX_MEMORY,
            processes: MAX_PROCESSES,
            file_bytes: MAX_FILE_BYTES,
        },
    };
    context.check()?;
    let handles: Vec<_> = granted
        .iter()
        .map(|(handle, _)| handle)
        .chain([&folder])
        .map(std::os::fd::AsFd::as_fd)
        .collect();
    let ended = context.launch(&launch, &handles, output).map_err(|error| match error {
        LaunchError::Program(why) | LaunchError::Sandbox(why) => failed(name, &why),
        LaunchError::Lost(why) => {
            let message = format!("What {name} did is not known, because it was lost: {why}.");
            ToolError::new(ErrorCode::OutcomeUnknown, message)
        }
    })?;
    match ended.ending {
        Ending::Itself => {}
        Ending::Deadline => {
            let message = format!("{name} took too long and was ended.");
            return Err(ToolError::new(ErrorCode::Timeout, message));
        }
        Ending::Cancelled => {
            let message = format!("The call was cancelled, and {name} was ended.");
            return Err(ToolError::new(ErrorCode::Cancelled, message));
        }
        Ending::Memory | Ending::Processes => {
            let message = format!("{name} took more than it may and was ended.");
            return Err(ToolError::new(ErrorCode::ResourceExhausted, message));
        }
    }
    let stderr = ended.stderr.text();
    let complaint = stderr.lines().map(str::trim).find(|line| !line.is_empty());
    let answer = Answer {
        path: found.file.display().to_string(),
        exit_code: ended.exit_code,
        stdout: ended.stdout.text(),
        complaint: strip_hidden(complaint.unwrap_or_default(), MAX_COMPLAINT),
    };
    Ok((answer, ended.stdout.left_out()))
}

fn failed(name: &str, why: &str) -> ToolError {
    ToolError::new(ErrorCode::ExecutionFailed, format!("{name} was not run: {why}."))
}
