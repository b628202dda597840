//! The shared start of every story, created once: a database with one person and some devices, and the
//! facts that a device reports.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use orion_domain::DeviceId;
use orion_mtls::{CertificateAuthority, DeviceKey};
use orion_server::clock::{new_uuid, now_ms};
use orion_server::config::Config;
use orion_server::data_folder::DATABASE;
use orion_server::serve::{Ready, prepare};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::host::Host;

/// The maximum number of devices.
pub(crate) const DEVICES: usize = 3;
/// The folder that calls write to.
pub(crate) const FOLDER: &str = "/home/ann";

/// The shared start of every story.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The data folder of a stopped backend.
    data: TempDir,
    pub(crate) devices: Vec<DeviceId>,
    pub(crate) identity: Shown,
}

/// The facts that a device reports.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) key: String,
    pub(crate) certificate: String,
    pub(crate) authorities: String,
}

pub(crate) static GROUND: LazyLock<Ground> = LazyLock::new(Ground::make);

/// Creates a folder that is deleted with the story. It is in memory where possible: the simulated disk
/// decides what a power failure keeps.
pub(crate) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("orion-sim-").tempdir_in(place).unwrap()
}

/// Returns the backend's configuration. Its listeners are open and nobody connects to them.
fn config() -> Config {
    let mut config = Config::default();
    config.people.listen = "127.0.0.1:0".parse().unwrap();
    config.devices.listen = "127.0.0.1:0".parse().unwrap();
    config
}

/// Starts a backend as its program does.
pub(crate) fn start(host: &Host, data: &Path) -> Ready {
    host.run(prepare(config(), data, CancellationToken::new())).unwrap()
}

impl Ground {
    fn make() -> Self {
        orion_mtls::install_crypto_provider();
        let (data, host) = (folder(), Host::new());
        let ready = start(&host, data.path());
        let store = &ready.backend.store;
        let devices: Vec<_> = (0..DEVICES).map(|_| DeviceId::new(new_uuid())).collect();
        host.run(async {
            store.create_first_admin(&"ann".parse().unwrap(), None, now_ms()).await.unwrap();
            for (number, id) in devices.iter().enumerate() {
                add_device(&data.path().join(DATABASE), *id, number).await;
            }
            store.close().await;
        });
        drop(ready);
        let authority = CertificateAuthority::create(now_ms()).unwrap();
        let key = DeviceKey::generate().unwrap();
        let csr = key.csr().unwrap();
        let id = devices[0].to_string();
        let validity = Duration::from_hours(24 * 30);
        let issued = authority.issue_device(csr.as_bytes(), &id, validity, now_ms()).unwrap();
        let identity = Shown {
            key: key.to_pem().expose().to_owned(),
            certificate: issued.cert_pem,
            authorities: authority.cert_pem().to_owned(),
        };
        Self { data, devices, identity }
    }

    /// Copies the data folder for one story.
    pub(crate) fn copy_to(&self, folder: &Path) -> PathBuf {
        let data = folder.join("server");
        std::fs::create_dir(&data).unwrap();
        for entry in std::fs::read_dir(self.data.path()).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), data.join(entry.file_name())).unwrap();
            }
        }
        data
    }
}

/// Inserts a device into the database, as the backend does at enrolment.
async fn add_device(database: &Path, id: DeviceId, number: usize) {
    let options = SqliteConnectOptions::new().filename(database).foreign_keys(false);
    let mut connection = options.connect().await.unwrap();
    sqlx::query(
        "INSERT INTO devices (id, name, state, os, hostname, public_key_fingerprint, \
         fingerprint_words, certificate_request, generation, grants_json, invite_id, created_at) \
         VALUES ($1, $2, 'approved', 'linux', $2, $2, '', '', 0, $3, $4, $5)",
    )
    .bind(id.to_string())
    .bind(format!("d{number}"))
    .bind(format!(r#"{{"profile": "operator", "paths": ["{FOLDER}"]}}"#))
    .bind(new_uuid().to_string())
    .bind(now_ms())
    .execute(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
}
