//! `execute_command`: runs one program, or several one after the other, in a sandbox and without a shell.

use orion_commands::{CommandLine, quote, split};
use orion_domain::{
    Capability, DevicePath, ErrorCode, Places, Risk, Role, ToolError, ToolFacts, Touches,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::command::{JudgedCommand, MAX_TIMEOUT_S, StartedProgram, touches_of};
use crate::execution::Execution;
use crate::spec::{Alias, Category, Tool};

const WITHOUT_NETWORK: &[Capability] = &[Capability::CommandExecute];
const WITH_NETWORK: &[Capability] = &[Capability::CommandExecute, Capability::NetworkAccess];

/// The `execute_command` tool.
#[derive(Debug)]
pub struct ExecuteCommand;

/// Which command, where, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The command as text. Quotes work as in a shell; pipes, redirections, variables and patterns are
    /// refused. Commands may be joined by && or ;. Either this or argv.
    #[serde(default)]
    #[schemars(length(max = 8192))]
    pub command: Option<String>,
    /// The program and its arguments, each as the program gets it. Either this or command.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub argv: Option<Vec<String>>,
    /// The folder that the program starts in; the workspace when left out.
    #[serde(default)]
    pub workdir: Option<String>,
    /// Seconds until everything that was started is ended.
    #[serde(default = "timeout")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout: u32,
    /// Whether a project's own code may connect to other machines while it runs. It asks.
    #[serde(default)]
    pub network: bool,
    /// The role that the command is limited to: viewer (what only reads), operator or admin, at most your own.
    /// Your own when left out.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("enum" = ["viewer", "operator", "admin", null]))]
    pub role: Option<Role>,
    /// Must be true for a command of high risk.
    #[serde(default)]
    pub confirm: bool,
}

const fn timeout() -> u32 {
    30
}

/// How the command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The exit code of the last program; none in a preview, and where a signal ended it.
    pub exit_code: Option<i32>,
    /// Standard output of all programs, without the middle of long output.
    pub stdout: String,
    /// Standard error of all programs, without the middle of long output.
    pub stderr: String,
    /// Milliseconds that the programs took together.
    pub duration: u64,
    /// The command as text.
    pub command: String,
    /// Each program that was started, or would be.
    pub programs: Vec<StartedProgram>,
}

/// Returns the commands of a call, in order, each with what it would do. Changes nothing.
///
/// # Errors
/// `COMMAND_NOT_ALLOWED` for what never runs, with the token at fault, and `INVALID_ARGUMENT`.
pub fn commands(arguments: &Arguments) -> Result<Vec<JudgedCommand>, ToolError> {
    let lines = match (&arguments.command, &arguments.argv) {
        (Some(text), None) => split(text)?,
        (None, Some(argv)) => vec![CommandLine::from_argv(argv.clone())?],
        (Some(_), Some(_)) | (None, None) => {
            let message = "A command is given as `command` or as `argv`, and as one of them.";
            return Err(ToolError::new(ErrorCode::InvalidArgument, message));
        }
    };
    if !(1..=MAX_TIMEOUT_S).contains(&arguments.timeout) {
        let message = format!("`timeout` is between 1 and {MAX_TIMEOUT_S} seconds.");
        return Err(ToolError::new(ErrorCode::InvalidArgument, message));
    }
    lines.into_iter().map(JudgedCommand::of).collect()
}

/// Returns the folder that the programs start in.
///
/// # Errors
/// `INVALID_PATH`, and `INVALID_ARGUMENT` where the device has no workspace.
pub fn folder(arguments: &Arguments, places: &Places) -> Result<DevicePath, ToolError> {
    path(places, arguments.workdir.as_deref().unwrap_or("."))
}

impl Arguments {
    /// Returns the command as text.
    #[must_use]
    pub fn as_text(&self) -> String {
        match (&self.command, &self.argv) {
            (Some(text), _) => text.clone(),
            (None, argv) => {
                let quoted: Vec<_> = argv.iter().flatten().map(|it| quote(it)).collect();
                quoted.join(" ")
            }
        }
    }
}

impl Tool for ExecuteCommand {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "execute_command";
    const ALIASES: &'static [Alias] = &[Alias::plain("shell")];
    const ARGUMENT_ALIASES: &'static [(&'static str, &'static str)] =
        &[("cmd", "command"), ("cwd", "workdir")];
    const CATEGORY: Category = Category::Command;
    const DESCRIPTION: &'static str = "Runs a program without a shell, in a sandbox that reaches only the \
        allowed folders. What only reads, builds or tests runs at once; anything else asks. Prefer the \
        file tools for reading and changing files.";
    const RISK: Risk = Risk::High;
    const CAPABILITIES: &'static [Capability] = WITHOUT_NETWORK;
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = false;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"execute_command","device":"laptop-123","command":"ls -l"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        let folder = folder(arguments, places)?;
        touches_of(&commands(arguments)?, &folder, places)
    }

    fn confirmed(arguments: &Arguments) -> bool {
        arguments.confirm
    }

    fn reasons(arguments: &Arguments) -> Vec<String> {
        let commands = commands(arguments).unwrap_or_default();
        let mut reasons: Vec<String> = commands.iter().map(|it| it.judgement.reason()).collect();
        if arguments.network && commands.iter().any(JudgedCommand::runs_code) {
            reasons.push("The program may connect to other machines.".to_owned());
        }
        reasons
    }

    fn facts(arguments: &Arguments, facts: ToolFacts<'static>) -> ToolFacts<'static> {
        // What cannot be read was refused before, by `touches`.
        let Ok(commands) = commands(arguments) else { return facts };
        let network = arguments.network;
        let connects = commands.iter().any(|command| command.connects(network));
        ToolFacts {
            risk: commands.iter().map(|it| it.risk(network)).max().unwrap_or(Self::RISK),
            capabilities: if connects { WITH_NETWORK } else { WITHOUT_NETWORK },
            has_effects: !commands.iter().all(JudgedCommand::only_reads),
            role: arguments.role,
            ..facts
        }
    }
}

#[cfg(test)]
mod tests;
