//! systemd, by its own program: the manager of one person's services, or of the system's.

use std::path::PathBuf;

use super::layout::UNIT;
use super::{Layout, Owner, ServiceError, Unit};
use crate::process::{SystemProgram, SystemProgramError};

/// The manager of services.
#[derive(Debug, Clone)]
pub struct Systemd {
    program: SystemProgram,
    owner: Owner,
}

impl Systemd {
    /// Finds it. `given` is the program that the owner named.
    ///
    /// # Errors
    /// [`ServiceError::NoSystemd`].
    pub fn find(owner: Owner, given: Option<PathBuf>) -> Result<Self, ServiceError> {
        let program = given.map(SystemProgram::at).or_else(|| SystemProgram::find("systemctl"));
        Ok(Self { program: program.ok_or(ServiceError::NoSystemd)?, owner })
    }

    /// Reads the units again.
    pub(super) async fn reload(&self) -> Result<(), SystemProgramError> {
        self.ask(&["daemon-reload"]).await
    }

    /// Lets the service start with its owner, and starts it, also where it runs.
    pub(super) async fn start(&self, layout: &Layout, _: &Unit) -> Result<(), ServiceError> {
        self.ask(&["enable", UNIT]).await?;
        self.restart(layout).await
    }

    /// Starts the service, also where it runs.
    pub(super) async fn restart(&self, _: &Layout) -> Result<(), ServiceError> {
        Ok(self.ask(&["restart", UNIT]).await?)
    }

    /// Lets its program be replaced, which it may be while it runs. Returns whether it was stopped for that.
    pub(super) async fn make_way(&self, _: &Layout) -> Result<bool, ServiceError> {
        Ok(false)
    }

    /// Stops the service, and lets it start no more.
    pub(super) async fn stop(&self, _: &Layout) -> Result<(), ServiceError> {
        Ok(self.ask(&["disable", "--now", UNIT]).await?)
    }

    async fn ask(&self, words: &[&str]) -> Result<(), SystemProgramError> {
        let user: &[&str] = match self.owner {
            Owner::Person => &["--user"],
            Owner::System => &[],
        };
        self.program.run(&[user, words].concat()).await.map(drop)
    }
}
