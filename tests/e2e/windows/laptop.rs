//! A Windows laptop whose agent runs in a terminal.

use std::path::PathBuf;
use std::time::Duration;

use orion_domain::CallState;
use orion_tests::{Call, Process, Tree, World, eventually, tree};
use serde_json::Value;

use super::drive::{Drive, invite};

/// The folder that the owner allows.
pub(super) const FILES: &str = "C:/Users/ann/files";
const STATE: &str = "C:/orion/state";
const CONFIG: &str = "C:/orion/agent.toml";

/// The laptop `laptop`, whose agent runs.
pub(super) struct Laptop<'a> {
    world: &'a World,
    drive: Drive,
    agent: Process,
}

impl<'a> Laptop<'a> {
    /// Makes the drive, enrols, and starts the agent. None where no agent for Windows was built for the tests.
    pub(super) async fn new(world: &'a World) -> Option<Self> {
        Self::with_apps(world, &[], "", async |_| {}).await
    }

    /// The same with these applications allowed, more lines of the owner's file, and what is done on the drive before the
    /// agent starts.
    pub(super) async fn with_apps(
        world: &'a World,
        apps: &[&str],
        lines: &str,
        prepare: impl AsyncFnOnce(&Drive),
    ) -> Option<Self> {
        let drive = Drive::new("C:/orion").await?;
        std::fs::create_dir_all(drive.at("Users/ann/files")).unwrap();
        let ceiling = format!("profile = \"developer\"\npaths = [\"{FILES}\"]\napps = {apps:?}");
        std::fs::write(drive.at("orion/agent.toml"), format!("[ceiling]\n{ceiling}\n{lines}"))
            .unwrap();
        prepare(&drive).await;
        let token = invite(world, FILES, apps).await;
        let words = agent_words(&["enroll", "-", "--name", "laptop"]);
        let enrolling = drive.wine(&words, token.as_bytes(), "enroll.log");
        assert_eq!(enrolling.exit_code().await, 0, "{}", enrolling.log());
        let agent = drive.wine(&agent_words(&["run"]), b"", "agent.log");
        let laptop = Self { world, drive, agent };
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
        self.agent = self.drive.wine(&agent_words(&["run"]), b"", "agent.log");
        self.ready().await;
    }

    /// Runs a command of the agent. Returns its exit code and what it wrote.
    pub(super) async fn says(&self, words: &[&str]) -> (i32, String) {
        self.drive.says(&agent_words(words)).await
    }

    /// What the agent has logged.
    pub(super) fn log(&self) -> String {
        self.agent.log()
    }

    /// Returns a file or folder of the drive as this machine sees it.
    pub(super) fn on_drive(&self, path: &str) -> PathBuf {
        self.drive.at(path)
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

    /// A call, with a person's yes where one is asked.
    pub(super) async fn approved(&self, tool: &str, arguments: Value) -> Call {
        let call = self.call(tool, arguments).await;
        if call.state != CallState::AwaitingApproval {
            return call;
        }
        self.world.admin().decide(call.approval_id(), true, "").await.unwrap();
        self.world.admin().ended(&call.id).await.unwrap()
    }

    /// A call that is to succeed, with a person's yes where one is asked.
    pub(super) async fn done(&self, tool: &str, arguments: Value) -> Call {
        let call = self.approved(tool, arguments).await;
        assert_eq!(call.end(), (CallState::Succeeded, None), "{tool}: {call:?}\n{}", self.log());
        call
    }
}

impl Drop for Laptop<'_> {
    fn drop(&mut self) {
        self.drive.end();
        while self.agent.is_running() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn agent_words<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let folders = ["--state-dir", STATE, "--config", CONFIG];
    ["C:/orion/orion-agent.exe"].iter().chain(words).chain(&folders).copied().collect()
}
