//! Runs the command line `orion` as a person or a script does: no terminal, a context file, no other
//! environment.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;

use crate::binaries::program;

/// The timeout of a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// The folder and the context of commands.
#[derive(Debug, Clone)]
pub struct Cli {
    context: PathBuf,
    folder: PathBuf,
}

/// The output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// Parses standard output as JSON.
    ///
    /// # Panics
    /// It is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns code and output as one text, for snapshots.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

impl Cli {
    /// Creates a runner with this context and folder.
    #[must_use]
    pub fn new(context: &Path, folder: &Path) -> Self {
        Self { context: context.to_owned(), folder: folder.to_owned() }
    }

    /// Creates a runner without any context: what is kept is kept in this folder.
    #[must_use]
    pub fn without_context(folder: &Path) -> Self {
        Self { context: PathBuf::new(), folder: folder.to_owned() }
    }

    /// Runs `orion` with these arguments and an empty standard input.
    pub async fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, b"").await
    }

    /// Runs `orion` with this standard input.
    pub async fn run_with(&self, arguments: &[&str], stdin: &[u8]) -> Output {
        self.program("orion", arguments, stdin).await
    }

    /// Runs `orion` with these arguments at a terminal, by `script` of the system. Returns the exit code, and all
    /// that a person sees, lines that were replaced included.
    ///
    /// # Panics
    /// It does not end, or ends by a signal.
    #[cfg(target_os = "linux")]
    pub async fn at_terminal(&self, arguments: &str) -> (i32, String) {
        let ended = self.script(arguments).stdin(Stdio::null()).output();
        let ended = tokio::time::timeout(COMMAND_TIMEOUT, ended).await.unwrap().unwrap();
        (ended.status.code().unwrap(), String::from_utf8(ended.stdout).unwrap())
    }

    /// Starts `orion` with these arguments at a terminal with a person who types.
    ///
    /// # Panics
    /// There is no `script`.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn terminal(&self, arguments: &str) -> crate::Terminal {
        let mut command = self.script(arguments);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        crate::Terminal::new(child)
    }

    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "tests are about processes")]
    fn script(&self, arguments: &str) -> tokio::process::Command {
        let size = "stty cols 80 rows 24 2>/dev/null";
        let run = format!("{size}; exec '{}' {arguments}", program("orion").display());
        let mut command = tokio::process::Command::new("script");
        command
            .args(["--quiet", "--return", "--command", &run, "/dev/null"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder)
            .env("NO_COLOR", "1")
            .env("TERM", "xterm")
            .env("ORION_CONTEXT", &self.context)
            .current_dir(&self.folder)
            .kill_on_drop(true);
        command
    }

    /// Runs any of the programs.
    ///
    /// # Panics
    /// It does not end, or ends by a signal.
    #[expect(clippy::disallowed_methods, reason = "tests are about processes")]
    pub async fn program(
        &self,
        name: &str,
        arguments: &[impl AsRef<OsStr>],
        stdin: &[u8],
    ) -> Output {
        let mut child = tokio::process::Command::new(program(name))
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder)
            .env("NO_COLOR", "1")
            .env("ORION_CONTEXT", &self.context)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let writing = async move {
            // A program may end without reading everything; its exit code decides.
            let _ = input.write_all(stdin).await;
        };
        let ended = async { tokio::join!(writing, child.wait_with_output()).1 };
        let output = tokio::time::timeout(COMMAND_TIMEOUT, ended)
            .await
            .unwrap_or_else(|_| panic!("{name} did not end in {COMMAND_TIMEOUT:?}"))
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        let code = output.status.code();
        let code = code.unwrap_or_else(|| panic!("{name} ended with {}:\n{stderr}", output.status));
        Output { code, stdout, stderr }
    }
}
