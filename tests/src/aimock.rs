//! An independent model server: aimock from npm, on a free loopback port.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::Value;

use crate::eventually::eventually;
use crate::process::{Launch, Process};

/// A running aimock.
#[derive(Debug)]
pub struct Aimock {
    /// The address, `http://127.0.0.1:PORT`.
    pub url: String,
    _process: Process,
}

impl Aimock {
    /// Starts aimock with these fixtures, in a folder for its files.
    ///
    /// # Panics
    /// It is not installed, or does not start.
    pub async fn start(folder: &Path, fixtures: &Value) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("models/node_modules/@copilotkit/aimock/dist/cli.js");
        assert!(
            program.is_file(),
            "aimock is not installed: run `make test-deps` first, or `make test`, which does"
        );
        let (file, log) = (folder.join("fixtures.json"), folder.join("aimock.log"));
        std::fs::write(&file, fixtures.to_string()).unwrap();
        let arguments = [
            program.as_os_str(),
            OsStr::new("--port"),
            OsStr::new("0"),
            OsStr::new("--strict"),
            OsStr::new("--fixtures"),
            file.as_os_str(),
        ];
        let launch = Launch { arguments: &arguments, ..Launch::default() };
        let process = Process::start(Path::new("node"), &log, &launch);
        let url = eventually("aimock's address", async || {
            assert!(process.is_running(), "aimock did not start:\n{}", process.log());
            let said = process.log();
            let (_, url) = said.split_once("listening on ")?;
            url.split_once('\n').map(|(url, _)| url.trim().to_owned())
        })
        .await;
        Self { url, _process: process }
    }
}
