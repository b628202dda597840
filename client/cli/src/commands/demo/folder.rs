//! The demo's folder: its layout, its lock, and the configuration of the two programs.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orion_domain::grants::PathGrant;
use orion_domain::{Grants, Hint};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use toml_edit::DocumentMut;

use super::model::Model;
use crate::context::write_private;
use crate::failure::Failure;

/// The timeout for the programs of a killed demo to end.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);

/// A folder that only this demo uses, until the value is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    /// The root of the folder.
    pub(crate) root: PathBuf,
    /// The files that the device may access.
    pub(crate) files: PathBuf,
    /// The backend's data.
    pub(crate) server: PathBuf,
    /// The device's configuration and state.
    pub(crate) agent: PathBuf,
    /// The logs of the programs.
    pub(crate) logs: PathBuf,
    /// The context file for other terminals.
    pub(crate) context: PathBuf,
    _lock: File,
}

/// The device's own enrolment state, as far as the demo needs it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Enrolled {
    /// The device's name at the backend.
    pub(crate) name: String,
    /// The addresses that the device dials.
    pub(crate) addresses: Vec<String>,
    /// Unix milliseconds. The end of the certificate's validity.
    pub(crate) not_after: i64,
}

#[derive(Serialize)]
struct AgentConfig<'a> {
    ceiling: &'a Grants,
}

impl Folder {
    /// Creates the folder if it is missing, and locks it.
    ///
    /// # Errors
    /// Another demo uses the folder, or it cannot be created.
    pub(crate) fn take(dir: &Path) -> Result<Self, Failure> {
        let failed = |error: &io::Error| {
            Failure::Failed(format!("the folder {} cannot be used: {error}", dir.display()))
        };
        fs::create_dir_all(dir).map_err(|error| failed(&error))?;
        // Links are resolved, because the device compares real paths.
        let root = if cfg!(windows) { std::path::absolute(dir) } else { fs::canonicalize(dir) };
        let root = root.map_err(|error| failed(&error))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(root.join("demo.lock"))
            .map_err(|error| failed(&error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let context = root.join("context.toml");
                let command = format!("orion --context {} chat", context.display());
                return Err(Failure::Conflict(format!("another demo runs in {}", root.display()))
                    .hint(Hint::run("talk to it", command))
                    .hint("choose another --dir"));
            }
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
        let folder = Self {
            files: root.join("files"),
            server: root.join("server"),
            agent: root.join("agent"),
            logs: root.join("logs"),
            context: root.join("context.toml"),
            root: root.clone(),
            _lock: lock,
        };
        for part in [&folder.files, &folder.server, &folder.agent, &folder.logs] {
            fs::create_dir_all(part).map_err(|error| failed(&error))?;
        }
        Ok(folder)
    }

    /// Returns what the demo itself lives from: an admin's session, the backend's data, and the device's own.
    pub(super) fn own_places(&self) -> [&Path; 4] {
        [&self.context, &self.server, &self.agent, &self.logs]
    }

    /// Returns the device's state folder.
    pub(crate) fn state(&self) -> PathBuf {
        self.agent.join("state")
    }

    /// Returns the device's own enrolment state; `None` where it is not enrolled.
    pub(crate) fn enrolled(&self) -> Option<Enrolled> {
        let text = fs::read_to_string(self.state().join("identity.toml")).ok()?;
        toml::from_str(&text).ok()
    }

    /// Waits until the programs of a killed demo have ended.
    ///
    /// # Errors
    /// They do not end: another program started them here.
    pub(crate) async fn wait_until_left(&self) -> Result<(), Failure> {
        let deadline = Instant::now() + EXIT_TIMEOUT;
        for lock in [self.server.join("lock"), self.state().join("lock")] {
            while is_held(&lock) {
                if Instant::now() >= deadline {
                    let message = format!("a program still uses {}", lock.display());
                    return Err(Failure::Conflict(message).hint("end it, or choose another --dir"));
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    /// Writes the backend's listen addresses, and the model if one is given. All else in the file stays.
    ///
    /// # Errors
    /// The file is no TOML, or it cannot be written.
    pub(crate) fn write_server_config(
        &self,
        people: u16,
        devices: u16,
        model: Option<&Model<'_>>,
    ) -> Result<(), Failure> {
        let path = self.server.join("orion-server.toml");
        let invalid = |what: &str| {
            Failure::Failed(format!("{}: {what}", path.display()))
                .hint("mend the file, or remove it: the demo writes a new one")
        };
        let before = if path.exists() {
            fs::read_to_string(&path).map_err(|error| invalid(&error.to_string()))?
        } else {
            String::new()
        };
        let parsed: Result<DocumentMut, _> = before.parse();
        let mut config = parsed.map_err(|error| invalid(error.to_string().trim_end()))?;
        for (section, port) in [("people", people), ("devices", devices)] {
            let section = config.entry(section).or_insert_with(toml_edit::table);
            let section = section
                .as_table_like_mut()
                .ok_or_else(|| invalid("people and devices are sections"))?;
            section.insert("listen", toml_edit::value(format!("127.0.0.1:{port}")));
        }
        if let Some(model) = model {
            model.put_first(&mut config)?;
        }
        write_private(&path, config.to_string().as_bytes())
    }

    /// Writes the device's ceiling, unless there is one from an earlier demo in this folder, which its owner may have
    /// changed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write_agent_config(&self, ceiling: &Grants) -> Result<(), Failure> {
        let before = fs::read_to_string(self.agent.join("agent.toml")).unwrap_or_default();
        let is_of_here = |grant: &PathGrant| before.contains(&format!("{:?}", grant.path));
        if !ceiling.paths.is_empty() && ceiling.paths.iter().all(is_of_here) {
            return Ok(());
        }
        write_toml(&self.agent.join("agent.toml"), &AgentConfig { ceiling })
    }

    /// Moves the device's state away, so that it can enrol again with a new key.
    ///
    /// # Errors
    /// The state cannot be moved.
    pub(crate) fn put_state_aside(&self) -> Result<(), Failure> {
        let state = self.state();
        if !state.exists() {
            return Ok(());
        }
        let at = jiff::Timestamp::now().as_millisecond();
        let aside = self.agent.join(format!("state-until-{at}"));
        fs::rename(&state, aside).map_err(|error| {
            Failure::Failed(format!("{} cannot be put aside: {error}", state.display()))
        })
    }
}

fn write_toml<T: Serialize>(path: &Path, value: &T) -> Result<(), Failure> {
    let text = toml::to_string(value)
        .map_err(|error| Failure::Failed(format!("{} has no form: {error}", path.display())))?;
    write_private(path, text.as_bytes())
}

/// Returns whether another program holds this lock.
fn is_held(path: &Path) -> bool {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    }
}

/// Returns the port if it is free, else 0, which selects a free one.
pub(crate) fn free_or_any(port: u16) -> u16 {
    if TcpListener::bind(("127.0.0.1", port)).is_ok() { port } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orion_domain::Profile;

    #[test]
    fn a_folder_has_one_demo_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let first = Folder::take(dir.path()).unwrap();
        let failure = Folder::take(dir.path()).unwrap_err();
        assert_eq!(failure.exit_code(), 9);
        drop(first);
        assert!(Folder::take(dir.path()).unwrap().files.is_dir());
    }

    #[test]
    fn the_programs_are_told_in_their_own_grammars() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::take(dir.path()).unwrap();
        folder.write_server_config(0, 7443, None).unwrap();
        let path = folder.server.join("orion-server.toml");
        let text = || fs::read_to_string(&path).unwrap();
        let first =
            "[people]\nlisten = \"127.0.0.1:0\"\n\n[devices]\nlisten = \"127.0.0.1:7443\"\n";
        assert_eq!(text(), first);
        let own = "\n# mine\n[[models]]\nname = \"p\"\nkind = \"planner\"\n";
        fs::write(&path, format!("{first}{own}")).unwrap();
        folder.write_server_config(7080, 7443, None).unwrap();
        assert_eq!(text(), format!("{first}{own}").replace("127.0.0.1:0", "127.0.0.1:7080"));
        fs::write(&path, "[people").unwrap();
        let failure = folder.write_server_config(0, 0, None).unwrap_err();
        assert!(failure.to_string().contains("orion-server.toml"), "{failure}");
        assert_eq!(text(), "[people");
        let ceiling = Grants { profile: Some(Profile::Operator), ..Grants::default() };
        folder.write_agent_config(&ceiling).unwrap();
        assert_eq!(
            fs::read_to_string(folder.agent.join("agent.toml")).unwrap(),
            "[ceiling]\nprofile = \"operator\"\n"
        );
    }

    #[test]
    fn a_port_that_is_taken_gives_way_to_any_other() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        assert_eq!(free_or_any(port), 0);
        drop(taken);
        assert_eq!(free_or_any(port), port);
    }

    #[tokio::test]
    async fn locks_that_nobody_holds_are_no_hindrance() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::take(dir.path()).unwrap();
        fs::write(folder.server.join("lock"), "").unwrap();
        folder.wait_until_left().await.unwrap();
        let held = File::create(folder.server.join("lock")).unwrap();
        held.lock().unwrap();
        assert!(is_held(&folder.server.join("lock")));
    }
}
