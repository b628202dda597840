//! The commands that tools run: each with what it would do, by the grammar of its program.

use orion_commands::{CommandLine, Effect, Judgement, Known, Network, judge};
use orion_domain::hosts::Address;
use orion_domain::touches::CommandTouch;
use orion_domain::{Access, DevicePath, ErrorCode, Places, Risk, ToolError, Touches, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::argument_path::path;

/// The longest time that a call may ask for, in seconds.
pub const MAX_TIMEOUT_S: u32 = 3600;

/// The most arguments of a command that nobody knows that are taken for names of files, and the length of each.
const MAX_MENTIONED: usize = 32;
const MAX_MENTIONED_BYTES: usize = 1024;

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
    /// Returns a command with what it would do.
    ///
    /// # Errors
    /// `COMMAND_NOT_ALLOWED` for what never runs, with the token at fault.
    pub fn of(line: CommandLine) -> Result<Self, ToolError> {
        match judge(&line) {
            Judgement::Refused(refusal) => Err(ToolError::from(refusal)),
            judgement @ (Judgement::Known(_) | Judgement::NoGrammar(_)) => {
                Ok(Self { line, judgement })
            }
        }
    }

    /// Returns the command of a program and its arguments, each as the program gets it.
    ///
    /// # Errors
    /// As [`JudgedCommand::of`].
    pub fn of_words(words: &[&str]) -> Result<Self, ToolError> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self::of(CommandLine::from_argv(words)?)
    }

    /// Returns what the policy compares with the granted commands.
    #[must_use]
    pub fn touch(&self, folder: &DevicePath) -> CommandTouch {
        CommandTouch {
            program: self.line.program().text.clone(),
            arguments: self.line.arguments().iter().map(|it| it.text.clone()).collect(),
            folder: folder.clone(),
        }
    }

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
        let named = named.iter().map(|text| {
            let address = Address::parse(text).or_else(|| Address::new(text, port(known.program)));
            address.ok_or_else(|| forbidden(text))
        });
        named.collect()
    }

    /// Returns the arguments that may name files in `folder`, of a command that nobody knows: an approval is
    /// for their content too. An option may have a file behind its equals sign.
    fn mentioned(&self, folder: &DevicePath, places: &Places) -> Vec<DevicePath> {
        if self.understood().is_some() {
            return Vec::new();
        }
        let here = Places { workspace: Some(folder.clone()), ..places.clone() };
        let words = self.line.arguments().iter().map(|argument| argument.text.as_str());
        let values = words.clone().filter_map(|word| Some(word.split_once('=')?.1));
        let words = words.filter(|word| !word.starts_with('-')).chain(values);
        let paths = words.filter(|word| !word.is_empty() && word.len() <= MAX_MENTIONED_BYTES);
        let paths = paths.filter_map(|word| {
            let as_is = if word.starts_with(['/', '.']) { "" } else { "./" };
            path(&here, &format!("{as_is}{word}")).ok()
        });
        paths.filter(|path| folder.contains(path)).take(MAX_MENTIONED).collect()
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

/// Returns what commands touch that start in `folder`.
///
/// # Errors
/// `INVALID_PATH`, and `URL_FORBIDDEN` for a host that programs may read differently.
pub fn touches_of(
    commands: &[JudgedCommand],
    folder: &DevicePath,
    places: &Places,
) -> Result<Touches, ToolError> {
    let mut touches = Touches::path(folder.clone(), Access::Read);
    for command in commands {
        if !command.only_reads() {
            touches = touches.and(Touches::path(folder.clone(), Access::Write));
        }
        for (path, access) in command.paths(folder, places)? {
            touches = touches.and(Touches::path(path, access));
        }
        for path in command.mentioned(folder, places) {
            touches = touches.and(Touches::path(path, Access::Read));
        }
        for host in command.hosts()? {
            if !touches.hosts.contains(&host) {
                touches.hosts.push(host);
            }
        }
        touches.commands.push(command.touch(folder));
    }
    Ok(touches)
}
