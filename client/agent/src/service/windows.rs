//! Services of Windows: of a person by the registry ([`sign_in`]), of the system by the Service Control Manager
//! ([`control`]), which talks to the program that it started ([`serve`]).

mod background;
mod control;
mod process;
mod serve;
mod sign_in;

use std::path::{Path, PathBuf};

use windows_registry::LOCAL_MACHINE;

use super::command_line::joined;
use super::{Earlier, Layout, Owner, ServiceError};
use crate::config::default_locations;

pub use background::{launch, stop_asked};
pub(super) use process::runs;
pub use serve::serve;

/// The name of the service, and of the value in the registry.
const NAME: &str = "orion-agent";
const PROGRAM: &str = r"Orion\orion-agent.exe";

/// Who started `orion-agent run`, where that was no person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RunAs {
    /// Windows at sign-in: start it in the background, and end.
    Launcher,
    /// That launcher, or `install`: there is no terminal.
    Background,
    /// The Service Control Manager.
    Service,
}

impl RunAs {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Launcher => "launcher",
            Self::Background => "background",
            Self::Service => "service",
        }
    }
}

/// The manager of services.
#[derive(Debug)]
pub enum Manager {
    /// Of this person.
    Person,
    /// Of the system.
    System(control::Control),
}

/// A unit that was put in place. Unless it is kept, what was there before is put back.
#[derive(Debug)]
pub(super) enum PlacedUnit {
    Person(sign_in::Placed),
    System(control::Placed),
}

impl PlacedUnit {
    /// Keeps the unit.
    pub(super) fn keep(self) {}
}

/// What the manager of services is to know of the service: its program, and the words for it.
#[derive(Debug)]
pub(super) struct Unit {
    program: PathBuf,
    words: Vec<String>,
}

impl Unit {
    /// Returns the unit of a service that runs this program.
    ///
    /// # Errors
    /// [`ServiceError::BadPath`].
    pub(super) fn new(layout: &Layout, program: &Path, _: bool) -> Result<Self, ServiceError> {
        let text = |path: &Path| {
            let text = path.to_str().filter(|text| joined([*text]).is_some());
            let bad = || ServiceError::BadPath { path: path.to_owned() };
            text.map(str::to_owned).ok_or_else(bad)
        };
        text(program)?;
        let (usual, mut words) = match layout.owner {
            Owner::Person => (default_locations(), Vec::new()),
            Owner::System => (system_locations(), vec!["--system".to_owned()]),
        };
        let (config, state_dir) = usual.unzip();
        // The usual places are left out: what is run at sign-in may not be long.
        if state_dir.as_ref() != Some(&layout.state_dir) {
            words.extend(["--state-dir".to_owned(), text(&layout.state_dir)?]);
        }
        if config.as_ref() != Some(&layout.config) {
            words.extend(["--config".to_owned(), text(&layout.config)?]);
        }
        Ok(Self { program: program.to_owned(), words })
    }

    /// Returns the words for the program.
    fn run(&self, run_as: RunAs) -> Vec<String> {
        let run = ["run", "--as", run_as.as_str()].map(str::to_owned);
        run.into_iter().chain(self.words.iter().cloned()).collect()
    }
}

impl Manager {
    /// Finds it.
    ///
    /// # Errors
    /// [`ServiceError::NeedsRoot`], or the Service Control Manager does not answer.
    pub fn find(owner: Owner) -> Result<Self, ServiceError> {
        match owner {
            Owner::Person => Ok(Self::Person),
            Owner::System => control::Control::open().map(Self::System),
        }
    }

    /// Returns what is known of a service that is installed. None if there is none.
    pub(super) fn earlier(&self, _: &Layout) -> Result<Option<Earlier>, ServiceError> {
        let is_there = match self {
            Self::Person => sign_in::command()?.is_some(),
            Self::System(control) => control.service()?.is_some(),
        };
        // Only `install` puts a program into Orion's own folder.
        Ok(is_there.then_some(Earlier { has_copied: true }))
    }

    /// Puts the unit in place.
    pub(super) async fn place(&self, _: &Layout, unit: &Unit) -> Result<PlacedUnit, ServiceError> {
        match self {
            Self::Person => sign_in::place(unit).map(PlacedUnit::Person),
            Self::System(control) => control.place(unit).map(PlacedUnit::System),
        }
    }

    /// Takes back a unit.
    pub(super) async fn take_back(&self, placed: PlacedUnit) -> Result<(), ServiceError> {
        match (self, placed) {
            (_, PlacedUnit::Person(placed)) => placed.undo(),
            (Self::System(control), PlacedUnit::System(placed)) => control.undo(placed).await,
            (Self::Person, PlacedUnit::System(_)) => Ok(()),
        }
    }

    /// Removes the unit. Returns whether there was one.
    pub(super) async fn remove(&self, _: &Layout) -> Result<bool, ServiceError> {
        match self {
            Self::Person => sign_in::remove(),
            Self::System(control) => control.remove().await,
        }
    }

    /// Starts the service, also where it runs.
    pub(super) async fn restart(&self, layout: &Layout) -> Result<(), ServiceError> {
        self.start(layout, &Unit::new(layout, &layout.program, true)?).await
    }

    /// Lets its program be replaced, which Windows allows only while it does not run. Returns whether it was stopped for
    /// that.
    pub(super) async fn make_way(&self, layout: &Layout) -> Result<bool, ServiceError> {
        self.stop(layout).await.map(|()| true)
    }

    /// Returns whether the service was installed with the state folder and the owner's file of this layout.
    pub(super) fn is_of(&self, layout: &Layout) -> Result<bool, ServiceError> {
        match self {
            Self::Person => sign_in::is_of(&Unit::new(layout, &layout.program, true)?),
            // It starts as the Service Control Manager knows it.
            Self::System(_) => Ok(true),
        }
    }

    /// Starts the service, also where it runs.
    pub(super) async fn start(&self, layout: &Layout, unit: &Unit) -> Result<(), ServiceError> {
        self.stop(layout).await?;
        match self {
            Self::Person => background::start(&unit.program, &unit.run(RunAs::Background)),
            Self::System(control) => control.start().await,
        }
    }

    /// Stops the service.
    pub(super) async fn stop(&self, layout: &Layout) -> Result<(), ServiceError> {
        match self {
            Self::Person => background::stop(&layout.state_dir).await,
            Self::System(control) => control.stop().await,
        }
    }
}

/// Returns the owner's file and the state folder of the system's service.
pub(super) fn system_locations() -> Option<(PathBuf, PathBuf)> {
    const FOLDERS: &str = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Explorer\Shell Folders";
    let data = machine_folder(FOLDERS, "Common AppData")?.join("Orion");
    Some((data.join("agent.toml"), data.join("agent")))
}

/// Returns the unit and the program.
pub(super) fn places(owner: Owner) -> Result<(PathBuf, PathBuf), ServiceError> {
    const VERSION: &str = r"SOFTWARE\Microsoft\Windows\CurrentVersion";
    match owner {
        Owner::Person => {
            let base = directories::BaseDirs::new().ok_or(ServiceError::NoHome)?;
            let program = base.data_local_dir().join("Programs").join(PROGRAM);
            Ok((PathBuf::from(sign_in::SHOWN), program))
        }
        Owner::System => {
            let programs = machine_folder(VERSION, "ProgramFilesDir");
            let programs = programs.ok_or(ServiceError::NoHome)?;
            Ok((PathBuf::from("the service orion-agent"), programs.join(PROGRAM)))
        }
    }
}

/// Returns a folder that the registry of the machine names. Variables of the environment are not asked: every program of a
/// person can set them for an administrator's terminal too.
fn machine_folder(key: &str, name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(LOCAL_MACHINE.open(key).ok()?.get_string(name).ok()?);
    path.is_absolute().then_some(path)
}

/// The account of the system's service, which Windows has for each service.
pub(super) mod account {
    use std::path::Path;

    use super::super::files::{refuse_others, refuse_others_folder};
    use super::super::{Layout, ServiceError};
    use super::system_locations;
    use crate::access::{self, Others};

    /// Gives the state to the account, and lets it read the owner's file in its usual place. Returns whether it was made.
    pub(in super::super) async fn prepare(layout: &Layout) -> Result<bool, ServiceError> {
        let Layout { state_dir, config, .. } = layout;
        // What another account has put there would be taken over with the rest.
        refuse_others(state_dir, Others::Nothing)?;
        if config.exists() {
            refuse_others(config, Others::Read)?;
        }
        for above in [state_dir, config].into_iter().filter_map(|path| path.parent()) {
            if above.exists() {
                refuse_others_folder(above)?;
            }
        }
        access::give_to_service(state_dir).map_err(ServiceError::at(state_dir))?;
        let is_usual = system_locations().is_some_and(|(usual, _)| usual == *config);
        if let Some(folder) = config.parent().filter(|_| is_usual && config.exists()) {
            for path in [folder, config.as_path()] {
                access::show_to_service(path).map_err(ServiceError::at(path))?;
            }
        }
        Ok(false)
    }

    /// Windows forgets the account with the service.
    pub(in super::super) async fn remove(_: &Path) -> Result<bool, ServiceError> {
        Ok(false)
    }
}

/// Adds to an error what was asked for.
fn failed<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> ServiceError {
    move |error| ServiceError::Windows { what, why: error.to_string() }
}
