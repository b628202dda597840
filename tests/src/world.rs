//! One backend with its devices and its people.

mod device;
mod server;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use orion_domain::{Digest, Role};
use orion_mtls::secret_file;
use orion_wire::v1;
use tempfile::TempDir;

pub use device::{Device, DeviceBuilder};
use server::Server;

use crate::cli::Cli;
use crate::client::Client;
use crate::eventually::eventually;
use crate::process::Process;
use crate::proxy::Proxy;
use crate::record;
use crate::seen::Seen;

/// One backend with its devices and its people. Dropping it stops every process. It then asserts that
/// every process ended cleanly and left none behind, that every call's audit was opened and closed once,
/// and that the audit's chain is unbroken.
#[derive(Debug)]
pub struct World {
    shared: Arc<Shared>,
}

/// The state that the world shares with its devices.
#[derive(Debug)]
struct Shared {
    folder: TempDir,
    server: Server,
    admin: Client,
    agents: Mutex<Vec<Process>>,
    expects: Mutex<Expects>,
}

/// The expected state at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Everything,
    /// The database was tampered with on purpose.
    NoWholeRecord,
}

impl World {
    /// Starts a backend with its first admin.
    pub async fn new() -> Self {
        Self::configured("").await
    }

    /// Starts a backend with more lines in `orion-server.toml`.
    ///
    /// # Panics
    /// The backend does not start.
    pub async fn configured(more: &str) -> Self {
        Self::begin(more, async |server| {
            let nobody = Client::new(&server.addresses().people, "");
            let secret = server.data_dir().join("first-admin-secret");
            let request = v1::CreateFirstAdminRequest {
                secret: secret_file::read_text(&secret).unwrap().expose().trim().to_owned(),
                user: "admin".to_owned(),
                password: String::new(),
            };
            let made = nobody.auth().create_first_admin(request).await.unwrap().into_inner();
            nobody.with_token(&made.token)
        })
        .await
    }

    /// Starts a backend without any admin: [`World::admin`] is anonymous.
    ///
    /// # Panics
    /// The backend does not start.
    pub async fn unclaimed() -> Self {
        Self::begin("", async |server| Client::new(&server.addresses().people, "")).await
    }

    async fn begin(more: &str, sign_in: impl AsyncFnOnce(&Server) -> Client) -> Self {
        orion_mtls::install_crypto_provider();
        let folder = tempfile::Builder::new().prefix("orion-").tempdir().unwrap();
        let server = Server::new(&folder.path().join("server"), more);
        server.start().await;
        let admin = sign_in(&server).await;
        let shared = Shared {
            folder,
            server,
            admin,
            agents: Mutex::default(),
            expects: Mutex::new(Expects::Everything),
        };
        let world = Self { shared: Arc::new(shared) };
        world.write_context("context.toml", world.admin());
        world
    }

    /// Returns a builder of a device.
    #[must_use]
    pub fn device(&self, name: &str) -> DeviceBuilder {
        DeviceBuilder::new(Arc::clone(&self.shared), name)
    }

    /// Returns the admin's client of the public API.
    #[must_use]
    pub fn admin(&self) -> &Client {
        &self.shared.admin
    }

    /// Returns a signed-in client of another person with this role. It writes the database as the
    /// backend would, and hashes no password, which takes long.
    pub async fn person(&self, name: &str, role: Role) -> Client {
        let token = format!("orion_token-of-{name}");
        let hash = Digest::of(token.as_bytes());
        record::add_person(&self.database(), name, role, hash).await;
        self.admin().with_token(&token)
    }

    /// Returns the command line with the admin's context.
    #[must_use]
    pub fn cli(&self) -> Cli {
        Cli::new(&self.folder().join("context.toml"), self.folder())
    }

    /// Returns the command line with this person's context.
    #[must_use]
    pub fn cli_of(&self, name: &str, person: &Client) -> Cli {
        let file = format!("context-of-{name}.toml");
        self.write_context(&file, person);
        Cli::new(&self.folder().join(file), self.folder())
    }

    fn write_context(&self, file: &str, person: &Client) {
        let text = format!(
            "backend = \"http://{}\"\ntoken = \"{}\"\ndata_dir = \"{}\"\n",
            self.shared.server.addresses().people,
            person.token(),
            self.data_dir().display()
        );
        secret_file::write(&self.folder().join(file), text.as_bytes()).unwrap();
    }

    /// Returns the world's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.shared.folder.path()
    }

    /// Returns the backend's data folder.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.shared.server.data_dir()
    }

    /// Returns the path of the backend's database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.data_dir().join("orion.db")
    }

    /// Returns the address of the device listener.
    #[must_use]
    pub fn device_address(&self) -> String {
        self.shared.server.addresses().devices
    }

    /// Returns the address of the people's listener.
    #[must_use]
    pub fn people_address(&self) -> String {
        self.shared.server.addresses().people
    }

    /// Starts a proxy in front of the device listener, for one device.
    pub async fn proxy(&self) -> Proxy {
        Proxy::start(&self.device_address()).await
    }

    /// Returns the backend's process.
    #[must_use]
    pub fn server(&self) -> Process {
        self.shared.server.process()
    }

    /// Restarts the backend, after it was stopped or killed, on the same ports.
    pub async fn restart_server(&self) {
        self.shared.server.start().await;
        eventually("an answer from the new backend", async || {
            self.admin().auth().who_am_i(v1::WhoAmIRequest {}).await.ok()
        })
        .await;
    }

    /// Stops the backend, and starts it with these lines in `orion-server.toml`.
    pub async fn restart_configured(&self, more: &str) {
        self.server().stop().await;
        self.shared.server.configure(more);
        self.restart_server().await;
    }

    /// Returns a normaliser of this world's texts.
    #[must_use]
    pub fn seen(&self) -> Seen {
        Seen::default().folder(self.folder(), "[world]")
    }

    /// Announces tampering, so that the database is not checked at the end.
    pub fn expect_broken_audit_log(&self) {
        *self.shared.expects.lock().unwrap_or_else(PoisonError::into_inner) =
            Expects::NoWholeRecord;
    }

    fn end(&self) {
        let agents = self.shared.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let running: Vec<_> = agents.iter().filter(|agent| agent.is_running()).collect();
        running.iter().for_each(|agent| agent.ask_to_end());
        running.iter().for_each(|agent| agent.stop_blocking());
        let server = self.server();
        if server.is_running() {
            server.stop_blocking();
        }
        let expects = *self.shared.expects.lock().unwrap_or_else(PoisonError::into_inner);
        match expects {
            Expects::Everything => record::assert_closed_and_whole(&self.database()),
            Expects::NoWholeRecord => {}
        }
    }
}

impl Drop for World {
    #[expect(clippy::print_stderr, reason = "what the programs said helps to find what went wrong")]
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
            return;
        }
        eprintln!("--- orion-server\n{}", self.server().log());
        let agents = self.shared.agents.lock().unwrap_or_else(PoisonError::into_inner);
        // Agents of one device share a log file; the last shows all of it.
        if let Some(agent) = agents.last() {
            eprintln!("--- the last orion-agent\n{}", agent.log());
        }
    }
}
