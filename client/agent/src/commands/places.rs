//! The files that a command is about.

use std::path::PathBuf;

use orion_agent::config::{Required, Settings};
use orion_usage::GivenOptions;

/// A folder as an example for the service of the system.
const FOLDER_OF_SYSTEM: &str = if cfg!(windows) { "C:/files" } else { "/srv/files" };

/// The paths of state and configuration, from flags, environment or platform.
pub(super) struct Places {
    pub(super) state_dir: PathBuf,
    pub(super) config: PathBuf,
    pub(super) required: Required,
    pub(super) options: GivenOptions,
    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    pub(super) owner: orion_agent::service::Owner,
}

impl Places {
    pub(super) fn settings(&self) -> anyhow::Result<Settings> {
        Ok(Settings::load(&self.config, self.required, &self.state_dir)?)
    }

    /// Returns whether the files are those of the system's service.
    fn is_of_system(&self) -> bool {
        self.options.as_arguments().iter().any(|word| *word == *"--system")
    }

    /// Says that the owner's file allows no path, and how one is allowed with these options.
    pub(super) fn no_folder(&self, options: &GivenOptions) -> String {
        let example = if self.is_of_system() { FOLDER_OF_SYSTEM } else { "~/files" };
        options.add_to(&format!(
            "No folder is allowed on this device yet, so that tools for files refuse everything. Allow one with: orion-agent allow {example}"
        ))
    }

    /// Refuses a path below the home folder for the system's service: its account has another one than who types it.
    pub(super) fn refuse_home(&self, path: &str) -> anyhow::Result<()> {
        anyhow::ensure!(
            !(self.is_of_system() && path.starts_with('~')),
            "{path}: the service of the system has an account of its own, so ~ is not your home folder; write the whole path, such as {FOLDER_OF_SYSTEM}"
        );
        Ok(())
    }
}
