//! `execute_command`: runs one program, or several one after the other, in a sandbox and without a shell.

use orion_commands::{CommandLine, Effect, Judgement, Known, Network, judge, quote, split};
use orion_domain::hosts::{Address, address_of};
use orion_domain::touches::CommandTouch;
use orion_domain::{
    Access, Capability, DevicePath, ErrorCode, Places, Risk, ToolError, ToolFacts, Touches, visible,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::spec::{Alias, Category, Tool};

/// The longest time that a call may ask for, in seconds.
pub const MAX_TIMEOUT_S: u32 = 3600;

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

/// One program of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartedProgram {
    /// The program's file on the device.
    pub program: String,
    /// The arguments that it gets, with those that Orion adds.
    pub arguments: Vec<String>,
    /// The risk of this command.
    pub risk: String,
    /// Why it has that risk.
    pub reason: String,
    /// Its exit code; none in a preview, where it was not started, and where a signal ended it.
    pub exit_code: Option<i32>,
}

/// One command of a call, and what it would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedCommand {
    /// The command.
    pub line: CommandLine,
    /// What the command would do.
    pub judgement: Judgement,
}

impl JudgedCommand {
    /// Returns what the grammar says, if there is one.
    #[must_use]
    pub fn known(&self) -> Option<&Known> {
        match &self.judgement {
            Judgement::Known(known) => Some(known),
            Judgement::NoGrammar(_) | Judgement::Refused(_) => None,
        }
    }

    /// Returns what the grammar says. `None` without a grammar, and where the grammar does not know all of
    /// the arguments.
    #[must_use]
    pub fn understood(&self) -> Option<&Known> {
        self.known().filter(|known| known.asks.is_empty())
    }

    /// Returns whether the command only reads.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        self.understood().is_some_and(|known| known.effect == Effect::Reads)
    }

    /// Returns whether the command runs code of the project, or what nobody knows.
    #[must_use]
    pub fn runs_code(&self) -> bool {
        self.understood().is_none_or(|known| match known.effect {
            Effect::RunsProject => true,
            Effect::Reads | Effect::Writes | Effect::Deletes | Effect::Other => false,
        })
    }

    /// Returns whether the command connects to other machines, when the call asks for that or not.
    #[must_use]
    pub fn connects(&self, asked: bool) -> bool {
        match self.understood() {
            Some(Known { effect: Effect::RunsProject, .. }) | None => asked,
            Some(known) => known.network != Network::None,
        }
    }

    /// Returns the risk of the command, with the network for a project's code or without.
    #[must_use]
    pub fn risk(&self, network: bool) -> Risk {
        let risk = self.judgement.risk();
        if network && self.runs_code() { risk.max(Risk::High) } else { risk }
    }

    /// Returns the hosts that the command names, each with the port that it is contacted at.
    ///
    /// # Errors
    /// `URL_FORBIDDEN` for a host that programs may read differently.
    fn hosts(&self) -> Result<Vec<Address>, ToolError> {
        let Some(known) = self.understood() else { return Ok(Vec::new()) };
        let Network::Hosts(named) = &known.network else { return Ok(Vec::new()) };
        let words = self.line.arguments().iter().map(|argument| argument.text.as_str());
        let values = words.clone().filter_map(|word| Some(word.split_once('=')?.1));
        let mut found: Vec<Address> = words.chain(values).filter_map(address_of).collect();
        for host in named {
            if found.iter().all(|address| address.host != host.to_ascii_lowercase()) {
                found.push(Address::new(host, port(known.program)).ok_or_else(|| forbidden(host))?);
            }
        }
        Ok(found)
    }

    /// Returns the path arguments and what the command does with each, as the program reads them.
    ///
    /// # Errors
    /// `INVALID_PATH`.
    pub fn paths(
        &self,
        folder: &DevicePath,
        places: &Places,
    ) -> Result<Vec<(DevicePath, Access)>, ToolError> {
        let named = self.known().map_or(&[][..], |known| &known.paths);
        let here = Places { workspace: Some(folder.clone()), ..places.clone() };
        let paths = named.iter().map(|(text, access)| {
            // A program takes a tilde or a variable as it is.
            let as_is = if text.starts_with(['/', '.']) { "" } else { "./" };
            Ok((path(&here, &format!("{as_is}{text}"))?, *access))
        });
        paths.collect()
    }
}

/// Returns the port at which a program contacts a host that it is given without one: that of DNS or of the
/// echo service, which stands for `ping`.
fn port(program: &str) -> u16 {
    match program {
        "dig" | "nslookup" | "host" => 53,
        "ping" => 7,
        _ => 443,
    }
}

fn forbidden(host: &str) -> ToolError {
    let shown = visible(&host.chars().take(200).collect::<String>());
    ToolError::new(ErrorCode::UrlForbidden, format!("{shown} is no plain name of a host."))
        .with("attempted_host", shown)
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
    let judged = lines.into_iter().map(|line| match judge(&line) {
        Judgement::Refused(refusal) => Err(ToolError::from(refusal)),
        judgement @ (Judgement::Known(_) | Judgement::NoGrammar(_)) => {
            Ok(JudgedCommand { line, judgement })
        }
    });
    judged.collect()
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
        let mut touches = Touches::path(folder.clone(), Access::Read);
        for command in commands(arguments)? {
            if !command.only_reads() {
                touches = touches.and(Touches::path(folder.clone(), Access::Write));
            }
            for (path, access) in command.paths(&folder, places)? {
                touches = touches.and(Touches::path(path, access));
            }
            for host in command.hosts()? {
                if !touches.hosts.contains(&host) {
                    touches.hosts.push(host);
                }
            }
            let arguments = command.line.arguments().iter().map(|it| it.text.clone()).collect();
            let program = command.line.program().text.clone();
            let folder = folder.clone();
            touches.commands.push(CommandTouch { program, arguments, folder });
        }
        Ok(touches)
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
            ..facts
        }
    }
}

#[cfg(test)]
mod tests;
