//! Runs the programs of one call, one after the other.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use orion_catalog::tools::execute_command::{
    Arguments, JudgedCommand, Returns, StartedProgram, commands, folder,
};
use orion_commands::{Next, Program};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::Outcome;
use crate::call::{ProgramEnd, reserve_memory};
use crate::process::{Bounds, Captured, Ended, Ending, Launch, LaunchError};
use crate::programs::{CommandContext, FoundProgram, Reached, Use, reach};
use crate::sandbox::{Metadata, Network};

/// Memory of the agent for the output of one call, in bytes.
const OUTPUT_BYTES: u64 = 1024 * 1024;
/// Bytes of memory of all processes of one program.
const MAX_MEMORY: u64 = 4 * 1024 * 1024 * 1024;
/// The number of processes of one program.
const MAX_PROCESSES: usize = 256;
/// Bytes of one file that a program writes.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024 * 1024;
/// What is left of a call's time for ending the program and reporting.
const TO_END: Duration = Duration::from_millis(800);

/// A command that can be started.
struct Ready {
    command: JudgedCommand,
    program: FoundProgram,
    reached: Reached,
}

pub(super) fn run(
    arguments: &Arguments,
    context: &CommandContext<'_>,
) -> Result<Outcome<Returns>, ToolError> {
    let folder = folder(arguments, context.places)?;
    // Each command is looked up and its paths are checked before the first one runs.
    let mut ready = Vec::new();
    for command in commands(arguments)? {
        context.check()?;
        ready.push(prepare(command, &folder, context)?);
    }
    if context.dry_run {
        let programs = ready.iter().map(|it| it.started(arguments, None)).collect();
        let text = arguments.as_text();
        let message = format!("Would run `{text}` in {folder}.");
        return Ok(Outcome::new(message, returns(&text, programs)));
    }
    reserve_memory(&context.common, OUTPUT_BYTES)?;
    let scratch = context.programs.scratch(context.call)?;
    for one in &mut ready {
        one.reached.extend(scratch.handle());
    }
    let time = Duration::from_secs(u64::from(arguments.timeout));
    let deadline = context.deadline.checked_sub(TO_END).unwrap_or(context.deadline);
    Sequence {
        arguments,
        context,
        deadline: deadline.min(Instant::now() + time),
        temporary: scratch.path().display().to_string(),
        stdout: Captured::default(),
        stderr: Captured::default(),
        programs: Vec::new(),
    }
    .run(ready)
}

fn returns(command: &str, programs: Vec<StartedProgram>) -> Returns {
    Returns {
        exit_code: None,
        stdout: String::new(),
        stderr: String::new(),
        duration: 0,
        command: command.to_owned(),
        programs,
    }
}

/// Finds a program and what it reaches.
fn prepare(
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
    Ok(Ready { command, program, reached })
}

impl Ready {
    fn arguments(&self) -> Vec<String> {
        match self.command.known() {
            Some(known) => known.arguments.clone(),
            None => self.command.line.arguments().iter().map(|it| it.text.clone()).collect(),
        }
    }

    fn started(&self, arguments: &Arguments, exit_code: Option<i32>) -> StartedProgram {
        StartedProgram {
            program: self.program.file.display().to_string(),
            arguments: self.arguments(),
            risk: self.command.risk(arguments.network).to_string(),
            reason: self.command.judgement.reason(),
            exit_code,
        }
    }
}

/// The programs of one call, while they run.
struct Sequence<'a> {
    arguments: &'a Arguments,
    context: &'a CommandContext<'a>,
    deadline: Instant,
    /// The folder for temporary files.
    temporary: String,
    stdout: Captured,
    stderr: Captured,
    programs: Vec<StartedProgram>,
}

impl Sequence<'_> {
    fn run(mut self, ready: Vec<Ready>) -> Result<Outcome<Returns>, ToolError> {
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
            self.stdout.push(ended.stdout.text().as_bytes());
            self.stderr.push(ended.stderr.text().as_bytes());
            self.programs.push(one.started(self.arguments, ended.exit_code));
            if let Some(error) = self.stopped(&ended) {
                return Err(error);
            }
            goes_on = ended.exit_code == Some(0) || one.command.line.next() == Some(Next::Always);
            last = Some(ended);
        }
        let text = self.arguments.as_text();
        let (exit_code, signal) = last.map_or((None, None), |it| (it.exit_code, it.signal));
        if exit_code != Some(0) {
            let how = match (exit_code, signal) {
                (Some(code), _) => format!("ended with exit code {code}"),
                (None, Some(signal)) => format!("was ended by signal {signal}"),
                (None, None) => "ended".to_owned(),
            };
            return Err(self.failed(
                ErrorCode::ExecutionFailed,
                format!("`{text}` {how}."),
                exit_code,
            ));
        }
        let end =
            ProgramEnd::new(text.clone(), exit_code, &self.stdout.last(), &self.stderr.last());
        let truncated = self.stdout.left_out() + self.stderr.left_out() > 0;
        let returns = Returns {
            exit_code,
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
            duration: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            ..returns(&text, self.programs)
        };
        Ok(Outcome::new(format!("Ran `{text}`."), returns).cut(truncated).of_program(end))
    }

    fn launch(&self, one: &Ready) -> Result<Launch, ToolError> {
        self.context.check()?;
        let Ready { command, program, reached } = one;
        let mut environment = self.context.programs.environment();
        environment.insert("TMPDIR".to_owned(), self.temporary.clone());
        for (name, value) in command.known().into_iter().flat_map(|known| &known.environment) {
            environment.insert((*name).to_owned(), (*value).to_owned());
        }
        let connects = command.connects(self.arguments.network);
        let left = self.deadline.saturating_duration_since(Instant::now());
        Ok(Launch {
            program: program.file.clone(),
            name: program.named.display().to_string(),
            arguments: one.arguments(),
            environment,
            rights: reached.rights(),
            network: if connects { Network::Hosts } else { Network::Nothing },
            metadata: match (command.understood().is_some(), command.runs_code()) {
                (true, true) => Metadata::Anything,
                (false, _) => Metadata::OfOpenFiles,
                (true, false) if command.only_reads() => Metadata::Nothing,
                (true, false) => Metadata::OfOpenFiles,
            },
            bounds: Bounds {
                time_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
                memory: MAX_MEMORY,
                processes: MAX_PROCESSES,
                file_bytes: MAX_FILE_BYTES,
            },
        })
    }

    fn start(&self, launch: Launch, one: &Ready) -> Result<Ended, ToolError> {
        let mut bytes = 0_u64;
        let mut output = |piece: &[u8]| {
            bytes = bytes.saturating_add(piece.len() as u64);
            let text = String::from_utf8_lossy(piece);
            let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            (self.context.progress)(bytes, None, &orion_domain::visible(line));
        };
        let goes_on = || !self.context.cancelled.load(Ordering::Relaxed);
        let launcher = self.context.programs.launcher();
        let program = one.program.file.display();
        launcher.run(&launch, &one.reached.handles(), &mut output, &goes_on).map_err(|error| {
            let (code, message) = match error {
                LaunchError::Program(why) => {
                    (ErrorCode::ExecutionFailed, format!("{program} cannot be run: {why}."))
                }
                LaunchError::Sandbox(why) => (
                    ErrorCode::ExecutionFailed,
                    format!("{program} was not run, because it could not be confined: {why}."),
                ),
                LaunchError::Lost(why) => (
                    ErrorCode::OutcomeUnknown,
                    format!("What {program} did is not known, because it was lost: {why}."),
                ),
            };
            ToolError::new(code, message)
        })
    }

    /// Returns the error of a program that did not end by itself.
    fn stopped(&self, ended: &Ended) -> Option<ToolError> {
        let text = self.arguments.as_text();
        let (code, message) = match ended.ending {
            Ending::Itself => return None,
            Ending::Deadline => (
                ErrorCode::Timeout,
                format!("`{text}` took too long and was ended, with all that it started."),
            ),
            Ending::Cancelled => (
                ErrorCode::Cancelled,
                format!("`{text}` was cancelled and ended, with all that it started."),
            ),
            Ending::Memory => (
                ErrorCode::ResourceExhausted,
                format!("`{text}` took more than {MAX_MEMORY} bytes of memory and was ended."),
            ),
            Ending::Processes => (
                ErrorCode::ResourceExhausted,
                format!("`{text}` started more than {MAX_PROCESSES} processes and was ended."),
            ),
        };
        Some(self.failed(code, message, ended.exit_code))
    }

    fn failed(&self, code: ErrorCode, message: String, exit_code: Option<i32>) -> ToolError {
        let end = ProgramEnd::new(
            self.arguments.as_text(),
            exit_code,
            &self.stdout.last(),
            &self.stderr.last(),
        );
        ToolError::new(code, message)
            .with("exit_code", exit_code)
            .with("stdout_tail", end.stdout_tail)
            .with("stderr_tail", end.stderr_tail)
    }
}
