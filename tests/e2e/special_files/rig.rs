//! An agent alone, a clock, and a look at its memory.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use orion_tests::{Deceived, FileCall, Link, LyingServer};
use orion_wire::v1;
use serde_json::{Value, json};

use crate::escapes::say;

const MODEST: &str = "[ceiling]\nprofile = \"operator\"\npaths = [\"{files}\"]\n";
/// How long after its deadline a call may be answered.
const GRACE: Duration = Duration::from_secs(5);
/// The most memory that the agent may ever have had, in KiB.
const MAX_MEMORY_KIB: u64 = 128 * 1024;

/// See the module.
pub(super) struct Rig {
    link: Link,
    device: Deceived,
    _server: LyingServer,
    /// Calls so far.
    number: usize,
}

/// How a call ended.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: String,
    pub(super) result: String,
}

impl Answer {
    /// What the tool returned.
    pub(super) fn data(&self) -> Value {
        assert_eq!(self.code, "", "{self:?}");
        let envelope: Value = serde_json::from_str(&self.result).unwrap();
        envelope["data"].clone()
    }
}

impl Rig {
    pub(super) async fn new() -> Self {
        let server = LyingServer::start().await;
        let device = Deceived::start(&server, MODEST).await;
        let mut link = server.link().await;
        let grants = json!({"profile": "developer", "paths": ["/", "/proc", "/dev", "/etc"]});
        assert_eq!(link.grant(grants).await.error, "");
        Self { link, device, _server: server, number: 0 }
    }

    /// The folder that is granted.
    pub(super) fn files(&self) -> PathBuf {
        self.device.files()
    }

    /// Empties that folder.
    pub(super) fn clear(&self) {
        let files = self.files();
        for entry in std::fs::read_dir(&files).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                std::fs::remove_dir_all(entry.path()).unwrap();
            } else {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    }

    /// Calls a tool with a text in its place, and holds it to its deadline.
    pub(super) async fn call(
        &mut self,
        call: &FileCall,
        text: &str,
        dry_run: bool,
        deadline_ms: u64,
    ) -> Answer {
        self.number += 1;
        call.prepare(&self.files(), self.number);
        let arguments = call.arguments(text, self.number);
        let order = self.link.any_order(call.spec, &arguments, dry_run);
        self.timed(order, deadline_ms).await
    }

    /// Calls a tool with arguments as they stand.
    pub(super) async fn tool(&mut self, tool: &str, arguments: &Value, deadline_ms: u64) -> Answer {
        let (spec, _) = orion_catalog::find(tool).unwrap();
        let parsed: Value = {
            let order = self.link.order(tool, arguments);
            serde_json::from_slice(&order.arguments).unwrap()
        };
        let order = self.link.any_order(spec, &parsed, false);
        self.timed(order, deadline_ms).await
    }

    async fn timed(&mut self, order: v1::Dispatch, deadline_ms: u64) -> Answer {
        let order = v1::Dispatch { time_left_ms: deadline_ms, ..order };
        let (tool, began) = (order.tool.clone(), Instant::now());
        let mut said = None;
        self.link.run_all([((), order)], 1, |(), result| said = Some(result)).await;
        let v1::CallResult { code, result, .. } = said.unwrap();
        let (took, result) = (began.elapsed(), String::from_utf8_lossy(&result).into_owned());
        let most = Duration::from_millis(deadline_ms) + GRACE;
        assert!(took < most, "{tool} was answered after {took:?}: {code} {result}");
        Answer { code, result }
    }

    /// Holds the agent to its bound, by the most memory that it ever had.
    pub(super) fn holds_little_memory(&self) {
        let pid = self.device.agent().pid().as_raw_nonzero();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        say(&format!("the agent's memory was at most {peak} KiB"));
        assert!(peak < MAX_MEMORY_KIB, "{peak} KiB");
    }

    /// Every name in the granted folder that no test and no person put there.
    pub(super) fn litter(&self, known: &[&str]) -> Vec<String> {
        let tree = self.device.tree();
        tree.into_keys()
            .filter(|path| {
                !known.iter().any(|known| path == known || path.starts_with(&format!("{known}/")))
            })
            .collect()
    }
}

/// A file system that is mounted as long as this lives.
pub(super) struct Mount(PathBuf);

impl Mount {
    /// Mounts one, where this account may; else says so.
    #[expect(clippy::disallowed_methods, reason = "tests are about processes")]
    pub(super) fn new(kind: &str, at: &Path, options: &str) -> Option<Self> {
        let options = if options.is_empty() { "defaults" } else { options };
        let mounted = std::process::Command::new("mount")
            .args(["-t", kind, "-o", options, kind])
            .arg(at)
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            say(&format!("skipped: {kind}, which this account may not mount"));
        }
        mounted.then(|| Self(at.to_owned()))
    }
}

impl Drop for Mount {
    #[expect(clippy::disallowed_methods, reason = "tests are about processes")]
    fn drop(&mut self) {
        // Lazily, so that nothing that is still open keeps it: the folder is removed next.
        drop(std::process::Command::new("umount").arg("-l").arg(&self.0).status());
    }
}
