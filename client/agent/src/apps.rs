//! The applications that may be opened. Each name is bound to one program by absolute path when the agent
//! starts. No other part of the agent starts programs.

mod desktop;
mod discover;
mod start;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use orion_domain::{ErrorCode, ToolError};

pub(crate) use desktop::is_seen as desktop_is_seen;

/// The applications of this device.
#[derive(Debug, Default)]
pub struct Apps {
    bound: BTreeMap<String, App>,
    /// The programs that were not found, by application name.
    missing: BTreeMap<String, Vec<String>>,
    running: Arc<AtomicUsize>,
}

/// One application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// The program: absolute, with links resolved.
    pub executable: PathBuf,
    /// The name that the program is called by; some programs behave by their name.
    called: PathBuf,
    /// Arguments that always come first, such as those of a packaged application.
    leading: Vec<String>,
    /// What the application may receive.
    pub takes: Takes,
    /// Whether the device's owner bound the application; otherwise Orion found it.
    pub by_owner: bool,
}

/// What an application may receive to open. Some applications run what they receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// http(s) addresses, files and folders.
    Anything,
    /// Folders. A file would be opened or run by the desktop's default program.
    Folders,
    /// One folder to start in, never as an argument: terminals run their arguments.
    StartFolder,
}

/// A configuration entry that binds no program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the application `{name}` is bound to {path}, which {why}; correct [apps] in agent.toml")]
pub struct BadApp {
    /// The application's name.
    pub name: String,
    /// The configured path.
    pub path: String,
    /// What is wrong with the path.
    pub why: &'static str,
}

impl Apps {
    /// Binds application names to programs. Names in `explicit` get the programs that the owner chose. Of the
    /// others, chrome, firefox, code, explorer and terminal get what is installed. Returns the entries that
    /// bind nothing; their names stay unbound.
    #[must_use]
    pub fn discover<'a>(
        names: impl IntoIterator<Item = &'a str>,
        explicit: &BTreeMap<String, PathBuf>,
    ) -> (Self, Vec<BadApp>) {
        let mut apps = Self::default();
        let mut bad = Vec::new();
        for (name, path) in explicit {
            match discover::by_owner(name, path) {
                Ok(app) => drop(apps.bound.insert(name.clone(), app)),
                Err(why) => {
                    let path = path.display().to_string();
                    apps.missing.insert(name.clone(), vec![path.clone()]);
                    bad.push(BadApp { name: name.clone(), path, why });
                }
            }
        }
        for name in names {
            if explicit.contains_key(name) {
                continue;
            }
            match discover::well_known(name) {
                Ok(app) => drop(apps.bound.insert(name.to_owned(), app)),
                Err(looked_for) => drop(apps.missing.insert(name.to_owned(), looked_for)),
            }
        }
        (apps, bad)
    }

    /// Returns the application of this name.
    ///
    /// # Errors
    /// `APP_NOT_WHITELISTED` for a name that is not on the list, `NOT_SUPPORTED` for one that is not
    /// installed.
    pub fn get(&self, name: &str) -> Result<&App, ToolError> {
        if let Some(app) = self.bound.get(name) {
            return Ok(app);
        }
        let shown: String = name.chars().take(64).collect();
        let Some(looked_for) = self.missing.get(name) else {
            let allowed: Vec<_> = self.bound.keys().cloned().collect();
            return Err(ToolError::new(
                ErrorCode::AppNotWhitelisted,
                format!("{shown} is not on this device's list of applications."),
            )
            .with("attempted_app", shown)
            .with("allowed_apps", allowed));
        };
        let message = if looked_for.is_empty() {
            format!(
                "{shown} is allowed but bound to no program; the device's owner can bind it under [apps] in agent.toml."
            )
        } else {
            format!(
                "{shown} is not installed on this device: looked for {}. The device's owner can bind another program under [apps] in agent.toml.",
                looked_for.join(", ")
            )
        };
        Err(ToolError::new(ErrorCode::NotSupported, message)
            .with("app", shown)
            .with("looked_for", looked_for.clone()))
    }

    /// Returns every name on the list that is bound to no program.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.keys().map(String::as_str)
    }

    /// Returns every bound name with its program.
    pub fn list(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.bound.iter().map(|(name, app)| (name.as_str(), app.executable.as_path()))
    }
}
