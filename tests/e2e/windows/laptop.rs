//! A Windows laptop in a folder: Wine with a drive `C:` of its own, and the agent for Windows on it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orion_domain::CallState;
use orion_tests::{Call, Launch, Process, Tree, World, eventually, tree};
use orion_wire::v1;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The folder that the owner allows.
pub(super) const FILES: &str = "C:/Users/ann/files";
const STATE: &str = "C:/orion/state";
const CONFIG: &str = "C:/orion/agent.toml";

/// The laptop `laptop`, whose agent runs.
pub(super) struct Laptop<'a> {
    world: &'a World,
    folder: TempDir,
    agent: Process,
}

impl<'a> Laptop<'a> {
    /// Makes the drive, enrols, and starts the agent. None where no agent for Windows was built for the tests.
    pub(super) async fn new(world: &'a World) -> Option<Self> {
        let program = PathBuf::from(std::env::var_os("ORION_TEST_WINDOWS_AGENT")?);
        let folder = tempfile::tempdir().unwrap();
        let booted = wine(folder.path(), &["wineboot", "--init"], b"", "wineboot.log");
        assert_eq!(booted.exit_code().await, 0, "{}", booted.log());
        let orion = folder.path().join("prefix/drive_c/orion");
        std::fs::create_dir(&orion).unwrap();
        std::fs::copy(program, orion.join("orion-agent.exe")).unwrap();
        provide_random_numbers(&orion);
        let files = folder.path().join("prefix/drive_c/Users/ann/files");
        std::fs::create_dir_all(files).unwrap();
        let config = format!("[ceiling]\nprofile = \"developer\"\npaths = [\"{FILES}\"]\n");
        std::fs::write(orion.join("agent.toml"), config).unwrap();
        let request = v1::InviteDeviceRequest {
            name: "laptop".to_owned(),
            preapproved: true,
            grants: json!({"profile": "developer", "paths": [FILES]}).to_string(),
            ..Default::default()
        };
        let invited = world.admin().devices().invite_device(request).await.unwrap();
        let token = invited.into_inner().token;
        let words = agent_words(&["enroll", "-", "--name", "laptop"]);
        let enrolling = wine(folder.path(), &words, token.as_bytes(), "enroll.log");
        assert_eq!(enrolling.exit_code().await, 0, "{}", enrolling.log());
        let agent = wine(folder.path(), &agent_words(&["run"]), b"", "agent.log");
        let laptop = Self { world, folder, agent };
        laptop.ready().await;
        Some(laptop)
    }

    /// Waits until calls can be made.
    async fn ready(&self) {
        eventually("the laptop", async || {
            assert!(self.agent.is_running(), "{}", self.agent.log());
            let seen = self.world.admin().device("laptop").await.ok()?;
            let is_current = seen.acknowledged_policy_version == seen.policy_version;
            (seen.online && is_current).then_some(())
        })
        .await;
    }

    /// Kills the agent, and starts it again.
    pub(super) async fn crash(&mut self) {
        self.agent.kill9().await;
        eventually("the laptop offline", async || {
            let seen = self.world.admin().device("laptop").await.ok()?;
            (!seen.online).then_some(())
        })
        .await;
        self.agent = wine(self.folder.path(), &agent_words(&["run"]), b"", "agent.log");
        self.ready().await;
    }

    /// Runs a command of the agent. Returns its exit code and what it wrote.
    pub(super) async fn says(&self, words: &[&str]) -> (i32, String) {
        let command = wine(self.folder.path(), &agent_words(words), b"", "command.log");
        (command.exit_code().await, command.log())
    }

    /// What the agent has logged.
    pub(super) fn log(&self) -> String {
        self.agent.log()
    }

    /// Returns a file or folder of the drive as this machine sees it.
    pub(super) fn on_drive(&self, path: &str) -> PathBuf {
        self.folder.path().join("prefix/drive_c").join(path)
    }

    /// Returns a file of the allowed folder as this machine sees it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.on_drive("Users/ann/files").join(name)
    }

    /// Returns what is in the allowed folder.
    pub(super) fn tree(&self) -> Tree {
        tree(&self.file(""))
    }

    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Call {
        self.world.admin().call("laptop", tool, arguments).await
    }

    /// A call that is to succeed, with a person's yes where one is asked.
    pub(super) async fn done(&self, tool: &str, arguments: Value) -> Call {
        let mut call = self.call(tool, arguments).await;
        if call.state == CallState::AwaitingApproval {
            self.world.admin().decide(call.approval_id(), true, "").await.unwrap();
            call = self.world.admin().ended(&call.id).await.unwrap();
        }
        assert_eq!(call.end(), (CallState::Succeeded, None), "{tool}: {call:?}\n{}", self.log());
        call
    }
}

impl Drop for Laptop<'_> {
    fn drop(&mut self) {
        // Wine's server ends all programs of the drive and itself, so that the folder can be removed.
        let server = start("wineserver", self.folder.path(), &["-k", "-w"], b"", "wineserver.log");
        while server.is_running() || self.agent.is_running() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn agent_words<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let folders = ["--state-dir", STATE, "--config", CONFIG];
    ["C:/orion/orion-agent.exe"].iter().chain(words).chain(&folders).copied().collect()
}

/// Runs a program of Windows in a folder's drive.
fn wine(folder: &Path, words: &[&str], stdin: &[u8], log: &str) -> Process {
    start("wine", folder, words, stdin, log)
}

fn start(program: &str, folder: &Path, words: &[&str], stdin: &[u8], log: &str) -> Process {
    let prefix = folder.join("prefix");
    let environment = [
        ("WINEPREFIX", prefix.as_os_str()),
        ("WINEDEBUG", OsStr::new("-all")),
        // Neither .NET nor a browser engine is asked for at a window.
        ("WINEDLLOVERRIDES", OsStr::new("mscoree,mshtml=")),
    ];
    let arguments: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
    let launch =
        Launch { arguments: &arguments, environment: &environment, stdin, ..Launch::default() };
    Process::start(Path::new(program), &folder.join(log), &launch)
}

/// Puts the library beside the agent that this version of Wine lacks.
#[expect(clippy::disallowed_methods, reason = "tests are about processes")]
fn provide_random_numbers(folder: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/e2e/windows/bcryptprimitives.c");
    let ended = std::process::Command::new("x86_64-w64-mingw32-gcc")
        .args(["-shared", "-O1", "-o"])
        .arg(folder.join("bcryptprimitives.dll"))
        .args([source, "-ladvapi32"])
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}
