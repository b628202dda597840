//! `fd` and `rg`, as processes of their own, asked for what Orion is asked for: hidden files and
//! ignored ones too, on as many threads.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context as _, ensure};

/// A program beside which Orion is measured.
pub(crate) struct Peer {
    program: &'static str,
}

impl Peer {
    /// Debian calls it `fdfind`.
    pub(crate) fn fd() -> Option<Self> {
        ["fdfind", "fd"].into_iter().find(|program| starts(program)).map(|program| Self { program })
    }

    pub(crate) fn rg() -> Option<Self> {
        starts("rg").then_some(Self { program: "rg" })
    }

    /// Files whose name fits.
    pub(crate) fn files(&self, glob: &str, folder: &Path) -> anyhow::Result<Vec<String>> {
        self.run(&["-uu", "--type", "f", "--color", "never", &threads("-j"), "-g", glob], folder)
    }

    /// Lines that match, each as `path:number:text`.
    pub(crate) fn lines(&self, pattern: &str, folder: &Path) -> anyhow::Result<Vec<String>> {
        let options =
            ["-uu", "-n", "--no-heading", "--color", "never", &threads("-j"), "-e", pattern];
        self.run(&options, folder)
    }

    /// Starting and ending, with nothing done.
    pub(crate) fn start(&self) -> anyhow::Result<()> {
        ensure!(starts(self.program), "{} does not start", self.program);
        Ok(())
    }

    fn run(&self, options: &[&str], folder: &Path) -> anyhow::Result<Vec<String>> {
        let output = command(self.program).args(options).arg(folder).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} failed: {said}", self.program);
        let text = String::from_utf8(output.stdout).context("a line that is no text")?;
        Ok(text.lines().map(ToOwned::to_owned).collect())
    }
}

/// As many as Orion takes.
fn threads(option: &str) -> String {
    format!("{option}{}", available_parallelism().map_or(2, usize::from).clamp(2, 4))
}

fn starts(program: &str) -> bool {
    let started = command(program).arg("--version").stdout(Stdio::null()).status();
    started.is_ok_and(|status| status.success())
}

#[expect(clippy::disallowed_methods, reason = "the peers are programs")]
fn command(program: &str) -> Command {
    Command::new(program)
}
