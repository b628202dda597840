//! Runs commands one after the other, each confined: what all tools that start programs share.

use std::time::{Duration, Instant};

use orion_catalog::command::{JudgedCommand, StartedProgram};
use orion_commands::{Next, Program};
use orion_domain::{Access, DevicePath, ToolError};

use crate::call::ProgramEnd;
use crate::process::{Captured, Ended, Launch};
use crate::programs::{
    CommandContext, FoundProgram, Reached, Use, bounds, ended_early, failed_command, not_run, reach,
};
use crate::sandbox::{Metadata, Network};

/// A command that can be started.
struct Ready {
    command: JudgedCommand,
    program: FoundProgram,
    how: Use,
    reached: Reached,
}

/// Commands that are to run in one folder.
pub(super) struct Order<'a> {
    /// The commands, in order.
    pub(super) commands: Vec<JudgedCommand>,
    /// The folder that they start in.
    pub(super) folder: &'a DevicePath,
    /// The commands as text, for people.
    pub(super) text: String,
    /// Whether a project's own code may connect to other machines.
    pub(super) network: bool,
    /// How long they may take together, within the time of the call.
    pub(super) time: Duration,
}

/// Commands that can be started: each program was found, and its paths were checked.
pub(super) struct Prepared {
    ready: Vec<Ready>,
    text: String,
    network: bool,
    time: Duration,
}

/// How commands ended.
pub(super) struct Finished {
    /// The commands as text, for people.
    pub(super) text: String,
    /// The exit code of the last program. None if a signal ended it.
    pub(super) exit_code: Option<i32>,
    /// The signal that ended the last program.
    pub(super) signal: Option<i32>,
    /// Standard output of all programs.
    pub(super) stdout: Captured,
    /// Standard error of all programs.
    pub(super) stderr: Captured,
    /// Milliseconds that the programs took together.
    pub(super) duration: u64,
    /// The programs that were started.
    pub(super) programs: Vec<StartedProgram>,
}

/// Looks each command up and checks its paths, before the first one runs.
///
/// # Errors
/// A program that is missing, and a path that is not granted.
pub(super) fn prepare(
    order: Order<'_>,
    context: &CommandContext<'_>,
) -> Result<Prepared, ToolError> {
    let Order { commands, folder, text, network, time } = order;
    let mut ready = Vec::new();
    for command in commands {
        context.check()?;
        ready.push(prepare_one(command, folder, context)?);
    }
    Ok(Prepared { ready, text, network, time })
}

impl Prepared {
    /// Returns the programs that would be started.
    pub(super) fn programs(&self) -> Vec<StartedProgram> {
        self.ready.iter().map(|it| it.started(self.network, None)).collect()
    }

    /// Runs the commands. A program that ends with a failure is no error.
    ///
    /// # Errors
    /// A program that cannot be started, and one that was ended at a limit, at its deadline or by a person.
    pub(super) fn run(self, context: &CommandContext<'_>) -> Result<Finished, ToolError> {
        let Self { mut ready, text, network, time } = self;
        context.reserve_output()?;
        let scratch = context.programs.scratch(context.call)?;
        for one in &mut ready {
            one.reached.extend(scratch.handle());
        }
        Sequence {
            text,
            network,
            context,
            deadline: context.end_within(time),
            temporary: scratch.path().display().to_string(),
            stdout: Captured::default(),
            stderr: Captured::default(),
            programs: Vec::new(),
        }
        .run(ready)
    }
}

/// Runs one command that Orion writes, within the time of the call.
///
/// # Errors
/// As [`prepare`] and [`Prepared::run`].
pub(super) fn run_one(
    command: JudgedCommand,
    folder: &DevicePath,
    context: &CommandContext<'_>,
) -> Result<Finished, ToolError> {
    let text = command.line.quoted();
    let time = context.deadline.saturating_duration_since(Instant::now());
    let order = Order { commands: vec![command], folder, text, network: false, time };
    prepare(order, context)?.run(context)
}

impl Finished {
    /// Returns the end of the commands for the answer.
    pub(super) fn end(&self) -> ProgramEnd {
        let Self { text, exit_code, stdout, stderr, .. } = self;
        ProgramEnd::new(text.clone(), *exit_code, &stdout.last(), &stderr.last())
    }

    /// Returns whether a part of the output was left out.
    pub(super) fn is_cut(&self) -> bool {
        self.stdout.left_out() + self.stderr.left_out() > 0
    }

    /// Returns the error of commands that failed.
    pub(super) fn failure(&self) -> ToolError {
        failed_command(&self.text, self.exit_code, self.signal, self.end())
    }
}

/// Finds a program and what it reaches.
fn prepare_one(
    command: JudgedCommand,
    folder: &DevicePath,
    context: &CommandContext<'_>,
) -> Result<Ready, ToolError> {
    let named = Program::from_word(&command.line.program().text);
    let program = context.programs.find(&named, folder, context.roots)?;
    let paths: Vec<(DevicePath, Access)> = command.paths(folder, context.places)?;
    let how = if command.only_reads() {
        Use::Read
    } else if command.runs_code() {
        Use::Code
    } else {
        Use::Change
    };
    let reached = reach(context.programs, &context.common, context.risk, (folder, &paths), how)?;
    Ok(Ready { command, program, how, reached })
}

impl Ready {
    fn arguments(&self) -> Vec<String> {
        match self.command.known() {
            Some(known) => known.arguments.clone(),
            None => self.command.line.arguments().iter().map(|it| it.text.clone()).collect(),
        }
    }

    fn started(&self, network: bool, exit_code: Option<i32>) -> StartedProgram {
        StartedProgram {
            program: self.program.file.display().to_string(),
            arguments: self.arguments(),
            risk: self.command.risk(network).to_string(),
            reason: self.command.judgement.reason(),
            exit_code,
        }
    }
}

/// The commands of one call, while they run.
struct Sequence<'a> {
    text: String,
    network: bool,
    context: &'a CommandContext<'a>,
    deadline: Instant,
    /// The folder for temporary files.
    temporary: String,
    stdout: Captured,
    stderr: Captured,
    programs: Vec<StartedProgram>,
}

impl Sequence<'_> {
    fn run(mut self, ready: Vec<Ready>) -> Result<Finished, ToolError> {
        let began = Instant::now();
        let mut last = None;
        let mut goes_on = true;
        for one in ready {
            if !goes_on {
                // A later command of the sequence may run whether this one did or not.
                goes_on = one.command.line.next() == Some(Next::Always);
                continue;
            }
            let ended = self.start(self.launch(&one)?, &one)?;
            self.stdout.append(&ended.stdout);
            self.stderr.append(&ended.stderr);
            self.programs.push(one.started(self.network, ended.exit_code));
            if let Some(error) = self.stopped(&ended) {
                return Err(error);
            }
            goes_on = ended.exit_code == Some(0) || one.command.line.next() == Some(Next::Always);
            last = Some(ended);
        }
        let (exit_code, signal) = last.map_or((None, None), |it| (it.exit_code, it.signal));
        Ok(Finished {
            text: self.text,
            exit_code,
            signal,
            stdout: self.stdout,
            stderr: self.stderr,
            duration: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            programs: self.programs,
        })
    }

    fn launch(&self, one: &Ready) -> Result<Launch, ToolError> {
        self.context.check()?;
        let Ready { command, program, how, reached } = one;
        let mut environment = self.context.programs.environment();
        environment.insert("TMPDIR".to_owned(), self.temporary.clone());
        for (name, value) in command.known().into_iter().flat_map(|known| &known.environment) {
            environment.insert((*name).to_owned(), (*value).to_owned());
        }
        let connects = command.connects(self.network);
        let left = self.deadline.saturating_duration_since(Instant::now());
        Ok(Launch {
            program: program.file.clone(),
            name: program.named.display().to_string(),
            arguments: one.arguments(),
            environment,
            rights: reached.rights(),
            network: if connects { Network::Hosts } else { Network::Nothing },
            metadata: match how {
                Use::Read => Metadata::Nothing,
                Use::Code if command.understood().is_some() => Metadata::Anything,
                Use::Change | Use::Code => Metadata::OfOpenFiles,
            },
            bounds: bounds(left),
        })
    }

    fn start(&self, launch: Launch, one: &Ready) -> Result<Ended, ToolError> {
        self.context
            .launch_watched(&launch, &one.reached.handles())
            .map_err(|error| not_run(&one.program.file, error))
    }

    /// Returns the error of a program that did not end by itself.
    fn stopped(&self, ended: &Ended) -> Option<ToolError> {
        let (stdout, stderr) = (self.stdout.last(), self.stderr.last());
        let end = ProgramEnd::new(self.text.clone(), ended.exit_code, &stdout, &stderr);
        ended_early(&self.text, ended, end)
    }
}
