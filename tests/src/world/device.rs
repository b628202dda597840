//! A device of a world: a folder to grant, an agent with its own ceiling, enrolled as people do it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use orion_agent::state::Status;
use orion_wire::{EnrollmentToken, v1};
use serde_json::{Value, json};

use super::Shared;
use crate::binaries::program;
use crate::eventually::eventually;
use crate::process::{Launch, Process};
use crate::proxy::Proxy;
use crate::tree::{Tree, tree};

/// The settings of a device. `{files}` in grants and ceiling is replaced by its granted folder.
#[derive(Debug)]
pub struct DeviceBuilder {
    shared: Arc<Shared>,
    name: String,
    grants: Value,
    config: String,
    preapproved: bool,
    via: Option<String>,
}

/// An enrolled device.
#[derive(Debug)]
pub struct Device {
    shared: Arc<Shared>,
    /// The device's name at the backend.
    pub name: String,
    folder: PathBuf,
    agent: Mutex<Option<Process>>,
}

impl DeviceBuilder {
    pub(super) fn new(shared: Arc<Shared>, name: &str) -> Self {
        Self {
            shared,
            name: name.to_owned(),
            grants: json!({"profile": "operator", "paths": ["{files}"]}),
            config: "[ceiling]\nprofile = \"operator\"\npaths = [\"{files}\"]\n".to_owned(),
            preapproved: true,
            via: None,
        }
    }

    /// Gives the device only this proxy's address.
    #[must_use]
    pub fn via_proxy(self, proxy: &Proxy) -> Self {
        Self { via: Some(proxy.address()), ..self }
    }

    /// Sets the backend's grants.
    #[must_use]
    pub fn grant(self, grants: Value) -> Self {
        Self { grants, ..self }
    }

    /// Sets the owner's whole `agent.toml`.
    #[must_use]
    pub fn ceiling(self, config: &str) -> Self {
        Self { config: config.to_owned(), ..self }
    }

    /// Requires an admin's approval of the device.
    #[must_use]
    pub fn pending(self) -> Self {
        Self { preapproved: false, ..self }
    }

    /// Creates the folder, the owner's file and an invitation's token, without enrolling.
    ///
    /// # Panics
    /// The backend creates no invitation.
    pub async fn invite(self) -> (Device, String) {
        let Self { shared, name, grants, config, preapproved, via } = self;
        let folder = shared.folder.path().join("devices").join(&name);
        std::fs::create_dir_all(folder.join("files")).unwrap();
        let device = Device { shared, name, folder, agent: Mutex::default() };
        let files = device.files().display().to_string();
        std::fs::write(device.config(), config.replace("{files}", &files)).unwrap();
        let request = v1::InviteDeviceRequest {
            name: device.name.clone(),
            preapproved,
            grants: grants.to_string().replace("{files}", &files),
            ..Default::default()
        };
        let invited = device.shared.admin.devices().invite_device(request).await.unwrap();
        let token = invited.into_inner().token;
        let Some(via) = via else { return (device, token) };
        let token: EnrollmentToken = token.parse().unwrap();
        (device, EnrollmentToken { addresses: vec![via], ..token }.to_string())
    }

    /// Enrols the device without starting its agent.
    ///
    /// # Panics
    /// It does not enrol.
    pub async fn enroll(self) -> Device {
        let (device, token) = self.invite().await;
        let enrolling = device.enroll(&token);
        let code = enrolling.exit_code().await;
        assert_eq!(code, 0, "{}", enrolling.log());
        device
    }

    /// Enrols the device, starts its agent and waits until calls can be made.
    pub async fn start(self) -> Device {
        let device = self.enroll().await;
        device.run().await;
        device
    }
}

impl Device {
    /// Returns a stolen device: another folder with a copy of this one's current state.
    ///
    /// # Panics
    /// The state cannot be copied.
    #[must_use]
    pub fn copied(&self) -> Self {
        let folder = self.folder.with_file_name(format!("copy-of-{}", self.name));
        copy_folder(&self.folder, &folder);
        let agent = Mutex::default();
        Self { shared: Arc::clone(&self.shared), name: self.name.clone(), folder, agent }
    }

    /// Returns the granted folder.
    #[must_use]
    pub fn files(&self) -> PathBuf {
        self.folder.join("files")
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

    /// Returns the agent's state directory.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// Returns the path of the owner's configuration.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.folder.join("agent.toml")
    }

    /// Returns the agent's process.
    ///
    /// # Panics
    /// It was never started.
    #[must_use]
    pub fn agent(&self) -> Process {
        let agent = self.agent.lock().unwrap_or_else(PoisonError::into_inner);
        agent.clone().expect("the agent was started")
    }

    /// Runs `orion-agent enroll -` with this token.
    #[must_use]
    pub fn enroll(&self, token: &str) -> Process {
        let launch = Launch { stdin: token.as_bytes(), ..Launch::default() };
        self.spawn(&["enroll", "-", "--name", &self.name], launch, "enroll.log")
    }

    /// Runs any command of the agent with this device's folders.
    #[must_use]
    pub fn agent_command(&self, words: &[&str]) -> Process {
        self.spawn(words, Launch::default(), "command.log")
    }

    /// Runs any command of the agent to its end. Returns its exit code, and what it alone wrote.
    pub async fn agent_says(&self, words: &[&str]) -> (i32, String) {
        let log = format!("said-{}.log", uuid::Uuid::now_v7());
        let command = self.spawn(words, Launch::default(), &log);
        (command.exit_code().await, command.log())
    }

    /// Runs any command of the agent, whose standard input stays open.
    #[must_use]
    pub fn agent_command_with_stdin(&self, words: &[&str]) -> Process {
        let launch = Launch { keeps_stdin: true, ..Launch::default() };
        self.spawn(words, launch, "typed.log")
    }

    /// Starts any command of the agent at a terminal with a person who types.
    ///
    /// # Panics
    /// There is no `script`.
    #[cfg(target_os = "linux")]
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "tests are about processes")]
    pub fn agent_terminal(&self, words: &[&str]) -> crate::Terminal {
        let run = format!(
            "stty cols 80 rows 24 2>/dev/null; exec '{}' {} --state-dir '{}' --config '{}'",
            program("orion-agent").display(),
            words.join(" "),
            self.state_dir().display(),
            self.config().display()
        );
        let mut command = tokio::process::Command::new("script");
        command
            .args(["--quiet", "--return", "--command", &run, "/dev/null"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder)
            .env("NO_COLOR", "1")
            .env("TERM", "xterm")
            .current_dir(&self.folder)
            .kill_on_drop(true)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        crate::Terminal::new(command.spawn().unwrap())
    }

    fn spawn(&self, words: &[&str], launch: Launch<'_>, log: &str) -> Process {
        let (state, config) = (self.state_dir(), self.config());
        let mut arguments: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        arguments.extend([
            OsStr::new("--state-dir"),
            state.as_os_str(),
            OsStr::new("--config"),
            config.as_os_str(),
        ]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.programs()].into_iter().chain(std::env::split_paths(&path));
        let path = std::env::join_paths(folders).unwrap();
        let environment = [("PATH", path.as_os_str())];
        let launch = Launch { arguments: &arguments, environment: &environment, ..launch };
        Process::start(&program("orion-agent"), &self.folder.join(log), &launch)
    }

    /// Puts a program into a folder that the agent's search path starts with, from its next start on.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn install(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::create_dir_all(self.programs()).unwrap();
        let path = self.programs().join(name);
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn programs(&self) -> PathBuf {
        self.folder.join("programs")
    }

    /// Starts the agent without waiting.
    #[must_use]
    pub fn launch(&self) -> Process {
        let agent = self.spawn(&["run"], Launch::default(), "agent.log");
        let mut agents = self.shared.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.push(agent.clone());
        *self.agent.lock().unwrap_or_else(PoisonError::into_inner) = Some(agent.clone());
        agent
    }

    /// Starts the agent and waits until calls can be made.
    pub async fn run(&self) {
        // A session of a killed agent may still be open.
        self.offline().await;
        let agent = self.launch();
        eventually(&format!("{} online", self.name), async || {
            assert!(agent.is_running(), "the agent did not start:\n{}", agent.log());
            self.is_ready().await.then_some(())
        })
        .await;
    }

    /// Waits until the device is connected and its current policy is active.
    pub async fn ready(&self) {
        eventually(&format!("{} ready", self.name), async || self.is_ready().await.then_some(()))
            .await;
    }

    /// Waits until the backend shows the device as offline.
    pub async fn offline(&self) {
        eventually(&format!("{} offline", self.name), async || {
            let seen = self.shared.admin.device(&self.name).await.ok()?;
            (!seen.online).then_some(())
        })
        .await;
    }

    /// Returns whether the agent itself reports that it is connected.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        Status::read(&self.state_dir()).is_some_and(|status| status.connected_to.is_some())
    }

    async fn is_ready(&self) -> bool {
        self.shared.admin.device(&self.name).await.is_ok_and(|seen| {
            seen.online && seen.acknowledged_policy_version == seen.policy_version
        })
    }

    /// Stops the agent as its owner would.
    pub async fn stop(&self) {
        self.agent().stop().await;
        self.offline().await;
    }

    /// Changes the backend's grants, and waits until they are active on the device.
    ///
    /// # Panics
    /// The backend rejects the grants.
    pub async fn grant(&self, grants: &Value) {
        let files = self.files().display().to_string();
        let request = v1::SetDevicePermissionsRequest {
            device: self.name.clone(),
            grants: grants.to_string().replace("{files}", &files),
            expected_version: String::new(),
        };
        self.shared.admin.policy().set_device_permissions(request).await.unwrap();
        self.ready().await;
    }

    /// Writes a file in the granted folder.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write_file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.files().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Writes a script in the granted folder, which may be executed.
    ///
    /// # Panics
    /// It cannot be written.
    #[cfg(unix)]
    pub fn write_script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        self.write_file(name, text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.files().join(name), mode).unwrap();
    }
}

/// Copies a folder with its content, permissions included.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            match std::fs::copy(entry.path(), target) {
                Ok(_) => {}
                // A running agent's temporary file that was renamed.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => panic!("{}: {error}", entry.path().display()),
            }
        }
    }
    std::fs::set_permissions(to, std::fs::metadata(from).unwrap().permissions()).unwrap();
}
