//! Makes ready what a custom tool starts: its program, what that reaches, and a folder of its own. The same for a
//! program, for a tool of a server, and for a look at what a server offers.

use std::time::Duration;

use orion_domain::{Access, DevicePath, Places, ToolError};

use super::code;
use crate::call::RiskGate;
use crate::process::Launch;
use crate::programs::{FoundProgram, Programs, Reached, Scratch, bounds, reach_declared};
use crate::roots::Roots;
use crate::sandbox::{Metadata, Network, Rights};

/// What is to be started.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    /// The program, as the owner names it.
    pub(super) program: &'a str,
    /// Its arguments.
    pub(super) arguments: &'a [String],
    /// The folder to start in.
    pub(super) folder: &'a DevicePath,
    /// What it does with which paths.
    pub(super) paths: &'a [(DevicePath, Access)],
    /// The files and folders that it consists of.
    pub(super) code: &'a [String],
    /// The arguments that are the same in every call. The files that they name are code as well.
    pub(super) fixed: &'a [&'a str],
    /// What the program changes by its definition, so that it is no code.
    pub(super) data: &'a [DevicePath],
    /// The names of variables of the agent's environment that it gets.
    pub(super) environment: &'a [String],
    /// Whether it contacts hosts.
    pub(super) connects: bool,
}

/// A program that was found, with handles of all that it reaches.
#[derive(Debug)]
pub(super) struct Found {
    /// The program.
    pub(super) program: FoundProgram,
    reached: Reached,
}

/// A program that can be started.
#[derive(Debug)]
pub(super) struct Ready {
    /// The program with its limits.
    pub(super) launch: Launch,
    /// What it reaches.
    pub(super) reached: Reached,
}

impl Wanted<'_> {
    /// Finds the program and what it reaches.
    ///
    /// # Errors
    /// A program or a path that is missing, that is not granted, or that calls may change.
    pub(super) fn find(
        &self,
        programs: &Programs,
        roots: &Roots,
        risk: &RiskGate,
        places: &Places,
    ) -> Result<Found, ToolError> {
        let (program, file) = code::program(programs, self.program, self.folder, roots)?;
        let code = code::code(self, places, roots)?;
        let mut reached = reach_declared(programs, roots, risk, (self.folder, self.paths), code)?;
        reached.add([(file, Rights::Execute)]);
        Ok(Found { program, reached })
    }

    /// Adds the folder of its own, the environment and the limits. The program may take this long.
    pub(super) fn ready(
        &self,
        found: Found,
        programs: &Programs,
        scratch: &Scratch,
        time: Duration,
    ) -> Ready {
        let Found { program, mut reached } = found;
        reached.extend(scratch.handle());
        let mut environment = programs.environment();
        let own = |name: &String| Some((name.clone(), std::env::var(name).ok()?));
        environment.extend(self.environment.iter().filter_map(own));
        environment.insert("TMPDIR".to_owned(), scratch.path().display().to_string());
        let changes = self.paths.iter().any(|(_, access)| *access != Access::Read);
        let launch = Launch {
            program: program.file,
            name: program.named.display().to_string(),
            arguments: self.arguments.to_vec(),
            environment,
            rights: reached.rights(),
            network: if self.connects { Network::Hosts } else { Network::Nothing },
            metadata: if changes { Metadata::OfOpenFiles } else { Metadata::Nothing },
            bounds: bounds(time),
        };
        Ready { launch, reached }
    }
}
