//! A real agent enrolled at a misbehaving backend.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::LyingServer;
use crate::binaries::program;
use crate::process::{Launch, Process};
use crate::tree::{Tree, tree};

/// A real agent enrolled at a misbehaving backend.
#[derive(Debug)]
pub struct Deceived {
    folder: TempDir,
    home: Option<String>,
    agent: Process,
}

impl Deceived {
    /// Enrols an agent at `server` and starts it. `{files}` in `config`, the owner's whole `agent.toml`,
    /// is replaced by the folder that it grants.
    ///
    /// # Panics
    /// It does not enrol.
    pub async fn start(server: &LyingServer, config: &str) -> Self {
        Self::start_with(server, config, |_| {}).await
    }

    /// Does the same after preparing the granted folder, before the agent reads it.
    ///
    /// # Panics
    /// As [`Deceived::start`].
    pub async fn start_with(
        server: &LyingServer,
        config: &str,
        prepare: impl FnOnce(&Path),
    ) -> Self {
        Self::begin(server, config, prepare, None).await
    }

    /// Does the same in an account with this home folder, which need not exist.
    ///
    /// # Panics
    /// As [`Deceived::start`].
    pub async fn start_in_home(server: &LyingServer, config: &str, home: &str) -> Self {
        Self::begin(server, config, |_| {}, Some(home.to_owned())).await
    }

    async fn begin(
        server: &LyingServer,
        config: &str,
        prepare: impl FnOnce(&Path),
        home: Option<String>,
    ) -> Self {
        let folder = tempfile::Builder::new().prefix("orion-").tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("files")).unwrap();
        prepare(&root.join("files"));
        let files = root.join("files").display().to_string();
        std::fs::write(root.join("agent.toml"), config.replace("{files}", &files)).unwrap();
        let token = server.token().to_string();
        let enrolling = command(&folder, home.as_deref(), &["enroll", "-"], token.as_bytes());
        assert_eq!(enrolling.exit_code().await, 0, "{}", enrolling.log());
        let agent = command(&folder, home.as_deref(), &["run"], b"");
        Self { folder, home, agent }
    }

    /// Kills the agent and starts it again.
    pub async fn kill9_and_restart(&mut self) {
        self.agent.kill9().await;
        self.agent = command(&self.folder, self.home.as_deref(), &["run"], b"");
    }

    /// Runs a command of the agent with this device's folders. It writes to the log of the agent.
    #[must_use]
    pub fn agent_command(&self, words: &[&str]) -> Process {
        command(&self.folder, self.home.as_deref(), words, b"")
    }

    /// Returns the granted folder.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    /// Returns a path in that folder, as text.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        self.files().join(name).display().to_string()
    }

    /// Returns the content of that folder.
    #[must_use]
    pub fn tree(&self) -> Tree {
        tree(&self.files())
    }

    /// Returns the agent's state folder.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Returns the path of the owner's configuration.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.folder.path().join("agent.toml")
    }

    /// Returns the agent's process.
    #[must_use]
    pub fn agent(&self) -> &Process {
        &self.agent
    }
}

impl Drop for Deceived {
    #[expect(clippy::print_stderr, reason = "what the agent said helps to find what went wrong")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- orion-agent\n{}", self.agent.log());
        } else if self.agent.is_running() {
            self.agent.stop_blocking();
        }
    }
}

fn command(folder: &TempDir, home: Option<&str>, words: &[&str], stdin: &[u8]) -> Process {
    let (state, config) = (folder.path().join("state"), folder.path().join("agent.toml"));
    let mut arguments: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    arguments.extend([
        OsStr::new("--state-dir"),
        state.as_os_str(),
        OsStr::new("--config"),
        config.as_os_str(),
    ]);
    let environment: Vec<_> = home.map(|home| ("HOME", OsStr::new(home))).into_iter().collect();
    let launch =
        Launch { arguments: &arguments, environment: &environment, stdin, ..Launch::default() };
    Process::start(&program("orion-agent"), &folder.path().join("agent.log"), &launch)
}
