//! A newer, signed agent in the place of the service's program; and everything that must not get there.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use orion_domain::CallState;
use orion_tests::{Output, World, eventually, program};
use serde_json::json;

use super::beside::{calls_beside, has_each_line_once};
use super::mirror::{Change, Mirror};
use super::person::Person;
use super::signed::{NEWER, NOW, Signer, newer, stripped};
use super::{invite, line};

const PLATFORM: &str = if cfg!(target_arch = "aarch64") { "linux-aarch64" } else { "linux-x86_64" };

/// The agent under test without its symbols, as it is and with a newer version written into it.
fn agents(folder: &Path) -> (Vec<u8>, Vec<u8>) {
    let now = stripped("strip", &program("orion-agent"), folder);
    let newer = newer(&now);
    (now, newer)
}

fn comment(version: &str) -> String {
    format!("orion-agent {version} {PLATFORM}")
}

/// A backend that serves signed agents through somebody in between, and a device with a service of ann's.
struct Story {
    world: World,
    mirror: Mirror,
    ann: Person,
    signer: Signer,
    newer: Vec<u8>,
}

impl Story {
    async fn new() -> Self {
        let mirror = Mirror::start().await;
        let signer = Signer::new(7);
        let config = format!(
            "[downloads]\nurl = \"{}\"\npublic_key = \"{}\"\n",
            mirror.url(),
            signer.public_key()
        );
        let world = World::configured(&config).await;
        mirror.leads_to(&world.people_address());
        let (now, newer) = agents(world.folder());
        let story = Self { world, mirror, ann: Person::new(), signer, newer };
        story.serve(&now, &comment(NOW)).await;
        let words = ["--name", "laptop", "--preapproved", "--path", "~/files"];
        let invited = invite(&story.world, &words).await;
        std::fs::create_dir(story.ann.home().join("files")).unwrap();
        story.ann.owns(&story.ann.home().join("files"));
        let pasted = story.ann.pastes(line(&invited, "curl")).await;
        assert_eq!(pasted.code, 0, "{pasted:?}");
        let section = format!(
            "\n[upgrade]\nurl = \"{}\"\npublic_key = \"{}\"\n",
            story.mirror.url(),
            story.signer.public_key()
        );
        story.configure(&section);
        story.works().await;
        story
    }

    /// Adds text to the owner's file.
    fn configure(&self, text: &str) {
        let path = self.ann.home().join(".config/orion/agent.toml");
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, before + text).unwrap();
    }

    /// Lets the backend serve a program with this signed comment.
    async fn serve(&self, content: &[u8], comment: &str) {
        let (file, signature) = self.files("served", content, &self.signer.sign(content, comment));
        let data_dir = self.world.data_dir().display().to_string();
        let config =
            self.world.data_dir().with_file_name("orion-server.toml").display().to_string();
        let version = comment.split(' ').nth(1).unwrap();
        let words = [
            "releases",
            "add",
            file.to_str().unwrap(),
            "--version",
            version,
            "--signature",
            signature.to_str().unwrap(),
            "--data-dir",
            &data_dir,
            "--config",
            &config,
        ];
        let added = self.world.cli().program("orion-server", &words, b"").await;
        assert_eq!(added.code, 0, "{added:?}");
    }

    /// Writes a program and its signature.
    fn files(&self, name: &str, content: &[u8], signature: &str) -> (PathBuf, PathBuf) {
        let file = self.ann.home().join(name);
        let signed = self.ann.home().join(format!("{name}.minisig"));
        std::fs::write(&file, content).unwrap();
        std::fs::write(&signed, signature).unwrap();
        (file, signed)
    }

    async fn upgrade(&self, words: &[&str]) -> Output {
        self.ann.agent(&[&["upgrade"], words].concat()).await
    }

    /// Upgrades to a program in a file.
    async fn upgrade_to(&self, content: &[u8], signature: &str) -> Output {
        let (file, signature) = self.files("offered", content, signature);
        let words = ["--file", file.to_str().unwrap(), "--signature", signature.to_str().unwrap()];
        self.upgrade(&words).await
    }

    /// Returns the version of the service's program.
    async fn version(&self) -> String {
        let said = self.ann.agent(&["--version"]).await;
        said.stdout.trim().trim_start_matches("orion-agent ").to_owned()
    }

    /// Waits until a call is done.
    async fn works(&self) {
        let path = self.ann.home().join("files/works.txt").display().to_string();
        eventually("a call", async || {
            let write = json!({"path": path, "content": "yes"});
            let call = self.world.admin().call("laptop", "write_file", write).await;
            (call.end() == (CallState::Succeeded, None)).then_some(())
        })
        .await;
    }

    /// What is beside the program, which is only the program.
    fn beside(&self) -> Vec<String> {
        let tree = self.ann.tree();
        tree.into_keys().filter(|path| path.starts_with(".local/bin/")).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_newer_agent_replaces_the_program_with_calls_under_way() {
    let story = Story::new().await;
    let newest = story.upgrade(&[]).await;
    assert_eq!(newest.code, 0, "{newest:?}");
    assert!(newest.stdout.contains("newest version"), "{newest:?}");
    let restarts = story.ann.systemctl_calls().len();

    story.serve(&story.newer, &comment(NEWER)).await;
    let check = story.upgrade(&["--check"]).await;
    assert!(check.code == 0 && check.stdout.contains(NEWER), "{check:?}");
    assert_eq!(story.ann.systemctl_calls().len(), restarts, "a look changes nothing");

    let log = story.ann.home().join("files/log.txt");
    let path = log.display().to_string();
    let (ends, output) = calls_beside(&story.world, &path, story.upgrade(&[])).await;
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stdout.contains(&format!("Version {NEWER} runs")), "{output:?}");
    assert!(output.stderr.contains("calls that run now end"), "{output:?}");
    assert_eq!(story.version().await, NEWER);
    assert_eq!(story.beside(), [".local/bin/orion-agent"]);
    has_each_line_once(&log, &ends);
    story.works().await;
    let removed = story.ann.agent(&["uninstall", "--purge"]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_a_newer_agent_signed_for_this_device_changes_nothing() {
    let story = Story::new().await;
    let (newer, signer) = (&story.newer, &story.signer);
    let good = signer.sign(newer, &comment(NEWER));
    let mut tampered = newer.clone();
    let last = tampered.len() - 1;
    tampered[last] ^= 1;
    let other = Signer::new(9).sign(newer, &comment(NEWER));
    let same_id = Signer::new(7).sign(newer, &comment(NEWER));
    let reworded = good.replace(NEWER, "9.2.0");
    let elsewhere = signer.sign(newer, &format!("orion-agent {NEWER} windows-x86_64"));
    let older = signer.sign(newer, &comment("0.0.9"));
    let unnamed = signer.sign(newer, "timestamp:1700000000\tfile:orion-agent\thashed");
    let lying = signer.sign(newer, &comment("9.2.0"));
    let words = b"#!/bin/sh\necho hello\n";
    let no_agent = signer.sign(words, &comment(NEWER));
    let cases: [(&str, &[u8], &str, &str); 10] = [
        ("tampered", &tampered, &good, "is not signed by the key"),
        ("unsigned", newer, "", "is not signed by the key"),
        ("signed by another key", newer, &other, "is not signed by the key"),
        ("signed by another key with the same name", newer, &same_id, "is not signed by the key"),
        ("with another comment", newer, &reworded, "is not signed by the key"),
        ("for another platform", newer, &elsewhere, "not an agent for linux"),
        ("older", newer, &older, "is older than this agent"),
        ("signed without a version", newer, &unnamed, "not an agent for linux"),
        ("another version than it is signed as", newer, &lying, "says that it is"),
        ("another program", words, &no_agent, "says that it is"),
    ];
    let before = story.ann.systemctl_calls();
    for (what, content, signature, said) in cases {
        let output = story.upgrade_to(content, signature).await;
        assert_eq!(output.code, 1, "{what}: {output:?}");
        assert!(output.stderr.contains(said), "{what}: {output:?}");
        assert!(!output.stderr.contains("calls that run now end"), "{what}: {output:?}");
        assert_eq!(story.beside(), [".local/bin/orion-agent"], "{what}");
        assert_eq!(story.version().await, NOW, "{what}");
    }
    story.serve(newer, &comment(NEWER)).await;
    for change in [
        Change::Flip("orion-agent"),
        Change::Cut("/orion-agent", 70_000),
        Change::Replace("minisig", other.clone().into_bytes()),
    ] {
        story.mirror.changes(change.clone());
        let output = story.upgrade(&[]).await;
        assert_eq!(output.code, 1, "{change:?}: {output:?}");
        assert!(!output.stderr.contains("calls that run now end"), "{change:?}: {output:?}");
        assert_eq!(story.beside(), [".local/bin/orion-agent"], "{change:?}");
    }
    // A look trusts no comment that the owner's key did not sign.
    let this = good.replace(NEWER, NOW);
    for signature in [&*other, &*same_id, &*reworded, &*this] {
        story.mirror.changes(Change::Replace("minisig", signature.as_bytes().to_vec()));
        let output = story.upgrade(&["--check"]).await;
        assert!(
            output.code == 1 && output.stderr.contains("is not signed by the key"),
            "{output:?}"
        );
    }
    story.mirror.changes(Change::None);
    // A file that may grow no more stands for a full disk.
    let (file, signature) = story.files("offered", newer, &good);
    let full = format!(
        "trap '' XFSZ; ulimit -f 64; exec ~/.local/bin/orion-agent upgrade --file {} --signature {}",
        file.display(),
        signature.display()
    );
    let full = story.ann.pastes(&full).await;
    let target = story.ann.home().join(".local/bin/.orion-agent.new");
    let written = format!("cannot be written to {}: File too large", target.display());
    assert!(full.code == 1 && full.stderr.contains(&written), "{full:?}");
    assert_eq!(story.beside(), [".local/bin/orion-agent"]);
    assert_eq!(story.ann.systemctl_calls(), before, "the service was never touched");

    story.configure("allow = false\n");
    let forbidden = story.upgrade(&[]).await;
    assert!(forbidden.code == 1 && forbidden.stderr.contains("forbids upgrades"), "{forbidden:?}");
    story.works().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pasted_line_brings_back_no_older_agent_and_upgrades_none_against_its_owner() {
    let story = Story::new().await;
    let words = ["--name", "laptop-2", "--preapproved", "--path", "~/files"];
    let invited = invite(&story.world, &words).await;
    let line = line(&invited, "curl");
    let signature = story.signer.sign(&story.newer, &comment(NEWER));
    let upgraded = story.upgrade_to(&story.newer, &signature).await;
    assert_eq!(upgraded.code, 0, "{upgraded:?}");
    let restarts = story.ann.systemctl_calls().len();
    let pasted = story.ann.pastes(line).await;
    assert_eq!(pasted.code, 0, "{pasted:?}");
    let stays = format!(
        "Version {NEWER} of the agent is installed, which is newer than {NOW}: it stays. To get {NOW}, uninstall the agent first."
    );
    assert!(pasted.stdout.contains(&stays), "{pasted:?}");
    assert!(pasted.stdout.contains("is connected to"), "{pasted:?}");
    assert_eq!(story.version().await, NEWER);
    assert_eq!(story.beside(), [".local/bin/orion-agent"]);
    assert!(story.ann.systemctl_calls().len() > restarts, "the service is set up with it");
    story.works().await;

    let removed = story.ann.agent(&["uninstall"]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    let pasted = story.ann.pastes(line).await;
    assert_eq!(pasted.code, 0, "{pasted:?}");
    assert_eq!(story.version().await, NOW);
    story.works().await;

    story.configure("allow = false\n");
    let newer = story.ann.home().join("newer");
    std::fs::write(&newer, &story.newer).unwrap();
    std::fs::set_permissions(&newer, std::fs::Permissions::from_mode(0o755)).unwrap();
    let pasted = story.ann.pastes(&format!("{} install", newer.display())).await;
    assert!(pasted.code == 0 && pasted.stdout.contains("forbids upgrades"), "{pasted:?}");
    assert_eq!(story.version().await, NOW);

    // A program that says no version is replaced.
    let program = story.ann.home().join(".local/bin/orion-agent");
    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "#!/bin/sh\necho hello\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    story.ann.owns(&program);
    let pasted = story.ann.pastes(line).await;
    assert_eq!(pasted.code, 0, "{pasted:?}");
    assert_eq!(story.version().await, NOW);
    story.works().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_does_not_connect_gives_way_to_the_one_before() {
    let story = Story::new().await;
    let crashing =
        format!("#!/bin/sh\n[ \"$1\" = --version ] || exit 1\necho 'orion-agent {NEWER}'\n");
    let signature = story.signer.sign(crashing.as_bytes(), &comment(NEWER));
    let output = story.upgrade_to(crashing.as_bytes(), &signature).await;
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains(&format!("version {NOW} runs again")), "{output:?}");
    assert_eq!((story.version().await.as_str(), story.beside().len()), (NOW, 1));
    story.works().await;

    // A copy elsewhere knows nothing of the service's version.
    let copy = story.ann.home().join("copy");
    std::fs::copy(story.ann.home().join(".local/bin/orion-agent"), &copy).unwrap();
    story.ann.owns(&copy);
    let (file, signed) = story.files("offered", crashing.as_bytes(), &signature);
    let line = format!(
        "{} upgrade --file {} --signature {}",
        copy.display(),
        file.display(),
        signed.display()
    );
    let refused = story.ann.pastes(&line).await;
    assert!(refused.stderr.contains("not the program of the service"), "{refused:?}");

    // An upgrade that died between its two ends: the program from before ends it.
    let program = story.ann.home().join(".local/bin/orion-agent");
    let previous = program.with_file_name(".orion-agent.previous");
    std::fs::rename(&program, &previous).unwrap();
    std::fs::write(program.with_file_name(".orion-agent.upgrading"), "").unwrap();
    std::fs::write(&program, &crashing).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ended = story.ann.pastes(&format!("{} upgrade", previous.display())).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains("was cut off before"), "{ended:?}");
    assert_eq!((story.version().await.as_str(), story.beside().len()), (NOW, 1));
    story.works().await;
}
