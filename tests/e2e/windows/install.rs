//! The agent as a service of Windows: of the person who signs in, and of the system. Its removal leaves nothing.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use orion_domain::CallState;
use orion_tests::{World, eventually, tree};
use serde_json::json;

use super::drive::{Drive, invite};

const FILES: &str = "C:/files";
const DOWNLOADED: &str = "C:/downloads/orion-agent.exe";
const TOASTS_KEY: &str = r"HKCU\Software\Classes\AppUserModelId\Orion.Agent";
const RUN_KEY: &str = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Run";
const SERVICE_KEY: &str = r"HKLM\System\CurrentControlSet\Services\orion-agent";

/// A laptop with a downloaded agent.
pub(super) struct Laptop<'a> {
    pub(super) world: &'a World,
    pub(super) drive: Drive,
}

impl<'a> Laptop<'a> {
    /// Makes it. None where no agent for Windows was built for the tests.
    pub(super) async fn new(world: &'a World) -> Option<Self> {
        let drive = Drive::new("C:/downloads").await?;
        std::fs::create_dir(drive.at("files")).unwrap();
        Some(Self { world, drive })
    }

    /// Runs a command of the downloaded agent, which is to succeed. Returns what it wrote.
    pub(super) async fn agent(&self, words: &[&str], stdin: &[u8]) -> String {
        let words: Vec<_> = std::iter::once(DOWNLOADED).chain(words.iter().copied()).collect();
        let (code, said) = self.drive.answers(&words, stdin).await;
        assert_eq!(code, 0, "{words:?}: {said}");
        said
    }

    /// Makes this a device.
    pub(super) async fn enrolls(&self, option: &[&str]) {
        let token = invite(self.world, FILES, &[]).await;
        let words = [&["enroll", "-", "--allow-path", FILES][..], option].concat();
        self.agent(&words, token.as_bytes()).await;
    }

    /// Waits until it is connected, or not.
    pub(super) async fn is(&self, online: bool) {
        eventually("the laptop", async || {
            let seen = self.world.admin().device("laptop").await.ok()?;
            let is_current = seen.acknowledged_policy_version == seen.policy_version;
            (seen.online == online && (is_current || !online)).then_some(())
        })
        .await;
    }

    /// A call works.
    pub(super) async fn serves(&self) {
        self.is(true).await;
        let arguments = json!({"path": format!("{FILES}/a.txt"), "content": "one"});
        let call = self.world.admin().call("laptop", "write_file", arguments).await;
        assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
        let file = self.drive.at("files/a.txt");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
        std::fs::remove_file(file).unwrap();
    }

    async fn has_in_registry(&self, words: &[&str]) -> bool {
        self.drive.says(&[&["reg", "query"], words].concat()).await.0 == 0
    }

    /// The files and folders that are not Wine's own.
    pub(super) fn left(&self) -> BTreeSet<String> {
        let all = tree(&self.drive.at("")).into_keys();
        all.filter(|it| !it.to_lowercase().starts_with("windows")).collect()
    }

    /// Nothing is there but this. The program that removed itself takes a moment.
    pub(super) async fn has_left(&self, before: &BTreeSet<String>) {
        let more = || -> Vec<_> { self.left().difference(before).cloned().collect() };
        let until = Instant::now() + Duration::from_secs(20);
        while !more().is_empty() && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(more(), Vec::<String>::new(), "this is left");
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persons_agent_starts_at_sign_in_and_its_removal_leaves_nothing() {
    let world = World::new().await;
    let Some(laptop) = Laptop::new(&world).await else { return };
    let before = laptop.left();
    laptop.enrolls(&[]).await;
    let said = laptop.agent(&["install"], b"").await;
    for part in [r"Programs\Orion\orion-agent.exe", "is connected to", "when you sign in"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(laptop.has_in_registry(&[RUN_KEY, "/v", "orion-agent"]).await);
    assert!(laptop.has_in_registry(&[TOASTS_KEY]).await);
    laptop.serves().await;

    // Signing out ends every program, and signing in starts the agent.
    laptop.drive.end();
    laptop.is(false).await;
    let (code, said) = laptop.drive.says(&["wineboot"]).await;
    assert_eq!(code, 0, "{said}");
    laptop.serves().await;

    // An installation takes the place of an earlier one, while that runs.
    let again = laptop.agent(&["install"], b"").await;
    assert!(again.contains("is connected to"), "{again}");
    laptop.serves().await;

    let kept = laptop.agent(&["uninstall"], b"").await;
    assert!(kept.contains("stay in"), "{kept}");
    laptop.is(false).await;
    assert!(!laptop.has_in_registry(&[RUN_KEY, "/v", "orion-agent"]).await);
    laptop.agent(&["install"], b"").await;
    laptop.serves().await;

    // The installed program removes itself too.
    let installed = laptop.left().into_iter().find(|it| it.ends_with("Orion/orion-agent.exe"));
    let installed = format!("C:/{}", installed.unwrap());
    let (code, said) = laptop.drive.says(&[&installed, "uninstall", "--purge"]).await;
    assert!(code == 0 && said.contains("orion devices revoke laptop"), "{said}");
    laptop.is(false).await;
    laptop.has_left(&before).await;
    assert!(!laptop.has_in_registry(&[RUN_KEY, "/v", "orion-agent"]).await);
    assert!(!laptop.has_in_registry(&[TOASTS_KEY]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_of_the_system_starts_and_stops_by_its_manager_and_its_removal_leaves_nothing() {
    let world = World::new().await;
    let Some(laptop) = Laptop::new(&world).await else { return };
    let before = laptop.left();
    laptop.enrolls(&["--system"]).await;
    let said = laptop.agent(&["install", "--system"], b"").await;
    for part in [r"C:\Program Files\Orion\orion-agent.exe", "is connected to", "with the machine"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(laptop.has_in_registry(&[SERVICE_KEY]).await);
    laptop.serves().await;

    for (command, online) in [("stop", false), ("start", true)] {
        let (code, said) = laptop.drive.says(&["net", command, "orion-agent"]).await;
        assert_eq!(code, 0, "{command}: {said}");
        laptop.is(online).await;
    }
    laptop.serves().await;
    let again = laptop.agent(&["install", "--system"], b"").await;
    assert!(again.contains("is connected to"), "{again}");
    laptop.serves().await;

    let removed = laptop.agent(&["uninstall", "--system", "--purge"], b"").await;
    assert!(removed.contains("orion devices revoke laptop"), "{removed}");
    laptop.is(false).await;
    laptop.has_left(&before).await;
    assert!(!laptop.has_in_registry(&[SERVICE_KEY]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_folder_or_an_owners_file_that_others_may_use_is_not_taken() {
    let world = World::new().await;
    let Some(laptop) = Laptop::new(&world).await else { return };
    let at = ["--state-dir", "C:/downloads/state", "--config", "C:/downloads/agent.toml"];
    laptop.enrolls(&at).await;
    let (state, config) =
        (laptop.drive.at("downloads/state"), laptop.drive.at("downloads/agent.toml"));
    // Wine shows the right of administrators as that of the group, and what it does not show is nobody's.
    assert_eq!((mode(&state), mode(&config) & 0o667), (0o770, 0o660));

    let run = [&[DOWNLOADED, "run"][..], &at].concat();
    let refuses = async |path: &Path, bad: u32, why: &str| {
        let good = mode(path);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(bad)).unwrap();
        let (code, said) = laptop.drive.says(&run).await;
        assert!(code == 1 && said.contains(why), "{}: {code} {said}", path.display());
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(good)).unwrap();
    };
    refuses(&state, 0o775, "is open to other accounts and would hold this device's key").await;
    refuses(&config, 0o666, "may be written by other accounts").await;
    let folder = laptop.drive.at("downloads");
    refuses(&folder, 0o777, "lies in a folder in which other accounts may replace it").await;
    let allowed = [&[DOWNLOADED, "allow", "C:/files/new"][..], &at].concat();
    let (code, said) = laptop.drive.says(&allowed).await;
    assert_eq!(code, 0, "{said}");
    assert_eq!(mode(&config) & 0o007, 0, "a changed file is no more open than before");

    let running = laptop.drive.wine(&run, b"", "agent.log");
    laptop.serves().await;
    assert!(running.is_running(), "{}", running.log());
}
