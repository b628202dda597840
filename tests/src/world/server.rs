//! The backend of a world, which can be stopped, killed and restarted on the same ports. It has a
//! loopback address of its own, so that no other process takes its ports in between.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use crate::binaries::program;
use crate::eventually::eventually;
use crate::process::{Launch, Process};

/// The backend of a world.
#[derive(Debug)]
pub(super) struct Server {
    folder: PathBuf,
    more: Mutex<String>,
    running: Mutex<Option<(Process, Addresses)>>,
}

/// The addresses that it listens on, as it reports them.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Addresses {
    pub(super) people: String,
    pub(super) devices: String,
}

impl Server {
    pub(super) fn new(folder: &Path, more: &str) -> Self {
        std::fs::create_dir(folder).unwrap();
        Self {
            folder: folder.to_owned(),
            more: Mutex::new(more.to_owned()),
            running: Mutex::default(),
        }
    }

    pub(super) fn data_dir(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(super) fn process(&self) -> Process {
        self.running().expect("the backend was started").0
    }

    pub(super) fn addresses(&self) -> Addresses {
        self.running().expect("the backend was started").1
    }

    /// Replaces the lines of the configuration, from the next start on.
    pub(super) fn configure(&self, more: &str) {
        more.clone_into(&mut self.more.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn running(&self) -> Option<(Process, Addresses)> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn start(&self) {
        let any = || {
            let [a, b, c] = [(); 3].map(|()| rand::random_range(2..=254_u8));
            let any = SocketAddr::from(([127, a, b, c], 0)).to_string();
            Addresses { people: any.clone(), devices: any }
        };
        let Addresses { people, devices } = self.running().map_or_else(any, |(_, known)| known);
        let config = self.folder.join("orion-server.toml");
        let text = format!(
            "[people]\nlisten = \"{people}\"\n[devices]\nlisten = \"{devices}\"\n{}",
            self.more.lock().unwrap_or_else(PoisonError::into_inner)
        );
        std::fs::write(&config, unpaced(&text)).unwrap();
        let addresses = self.data_dir().join("addresses.toml");
        // A killed backend could not remove its addresses file.
        let _ = std::fs::remove_file(&addresses);

        let (config, data_dir) = (config.as_os_str(), self.data_dir());
        let arguments = [
            OsStr::new("run"),
            OsStr::new("--config"),
            config,
            OsStr::new("--data-dir"),
            data_dir.as_os_str(),
        ];
        let said = [("ORION_LOG", OsStr::new("info,orion_server::jobs::log_load=debug"))];
        let launch = Launch { arguments: &arguments, environment: &said, ..Launch::default() };
        let process =
            Process::start(&program("orion-server"), &self.folder.join("server.log"), &launch);
        let addresses = eventually("the backend's addresses", async || {
            assert!(process.is_running(), "the backend did not start:\n{}", process.log());
            std::fs::read_to_string(&addresses).ok().and_then(|text| toml::from_str(&text).ok())
        })
        .await;
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some((process, addresses));
    }
}

/// Adds a high rate limit for each person to the configuration, unless it sets one, so that tests and
/// measurements are not slowed down.
fn unpaced(text: &str) -> String {
    let Ok(mut table) = text.parse::<toml::Table>() else { return text.to_owned() };
    let calls = table.entry("calls").or_insert_with(|| toml::Table::new().into());
    if let Some(calls) = calls.as_table_mut() {
        for key in ["per_person_per_second", "burst_per_person"] {
            calls.entry(key).or_insert(toml::Value::Integer(100_000));
        }
    }
    table.to_string()
}
