//! A newer, signed agent in the place of the installed one; and what must not get there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use orion_tests::World;

use super::drive::compiled;
use super::install::Laptop;
use crate::install::beside::{calls_beside, has_each_line_once};
use crate::install::signed::{NEWER, NOW, Signer, newer, stripped};

const LOG: &str = "C:/files/log.txt";
const OFFERED: &str = "C:/downloads/offered.exe";
const SIGNATURE: &str = "C:/downloads/offered.minisig";
/// What may stay beside the program: a program that ran when it was replaced, and a lock that nobody holds.
const STAYING: [&str; 3] =
    [".orion-agent.previous.exe", ".orion-agent.new.exe", ".orion-agent.lock"];
/// A program that knows its version, and does no work.
const CRASHING: &str = r#"
#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
    if (count != 2 || strcmp(words[1], "--version")) return 1;
    return puts("orion-agent 9.1.0") < 0;
}
"#;

fn comment(version: &str) -> String {
    format!("orion-agent {version} windows-x86_64")
}

/// A laptop with an installed agent, whose owner trusts a signer.
struct Story<'a> {
    laptop: Laptop<'a>,
    option: &'a [&'a str],
    signer: &'a Signer,
    newer: Vec<u8>,
    /// The installed program, below the drive.
    program: PathBuf,
    /// What was there before anything was installed.
    before: BTreeSet<String>,
}

impl<'a> Story<'a> {
    async fn new(world: &'a World, signer: &'a Signer, option: &'a [&'a str]) -> Option<Self> {
        let laptop = Laptop::new(world).await?;
        let before = laptop.left();
        laptop.enrolls(option).await;
        laptop.agent(&[&["install"], option].concat(), b"").await;
        laptop.serves().await;
        let find = |name: &str| {
            let found = laptop.left().into_iter().find(|path| path.ends_with(name));
            PathBuf::from(found.unwrap_or_else(|| panic!("{name}: {:?}", laptop.left())))
        };
        let program = find("Orion/orion-agent.exe");
        let config = laptop.drive.at("").join(find("/agent.toml"));
        let section = format!(
            "\n[upgrade]\nurl = \"http://{}\"\npublic_key = \"{}\"\n",
            world.people_address(),
            signer.public_key()
        );
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(config, text + &section).unwrap();
        let agent = laptop.drive.at("downloads/orion-agent.exe");
        let newer = newer(&stripped("x86_64-w64-mingw32-strip", &agent, world.folder()));
        Some(Self { laptop, option, signer, newer, program, before })
    }

    async fn upgrade(&self, words: &[&str]) -> (i32, String) {
        let program = format!("C:/{}", self.program.display());
        let upgrade = [&[&program, "upgrade"][..], words, self.option].concat();
        self.laptop.drive.says(&upgrade).await
    }

    /// Upgrades to a program in a file.
    async fn upgrade_to(&self, content: &[u8], signature: &str) -> (i32, String) {
        std::fs::write(self.laptop.drive.at("downloads/offered.exe"), content).unwrap();
        std::fs::write(self.laptop.drive.at("downloads/offered.minisig"), signature).unwrap();
        self.upgrade(&["--file", OFFERED, "--signature", SIGNATURE]).await
    }

    /// Lets the backend serve the newer program.
    async fn is_served(&self) {
        let folder = self.laptop.world.folder();
        let (file, signature) = (folder.join("newer.exe"), folder.join("newer.minisig"));
        std::fs::write(&file, &self.newer).unwrap();
        std::fs::write(&signature, self.signer.sign(&self.newer, &comment(NEWER))).unwrap();
        let data_dir = self.laptop.world.data_dir();
        let config = data_dir.with_file_name("orion-server.toml");
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let [file, signature, data_dir, config] =
            [&file, &signature, &data_dir, &config].map(|path| text(path));
        let add = ["releases", "add", &file, "--version", NEWER, "--signature", &signature];
        let of = ["--data-dir", &data_dir, "--config", &config];
        let words = [&add[..], &of].concat();
        let added = self.laptop.world.cli().program("orion-server", &words, b"").await;
        assert_eq!(added.code, 0, "{added:?}");
    }

    async fn version(&self) -> String {
        let program = format!("C:/{}", self.program.display());
        let (_, said) = self.laptop.drive.says(&[&program, "--version"]).await;
        said.trim().trim_start_matches("orion-agent ").to_owned()
    }

    /// The names beside the program, without those that stay from an upgrade to the next.
    fn beside(&self) -> Vec<String> {
        let folder = self.laptop.drive.at("").join(&self.program);
        let names = std::fs::read_dir(folder.parent().unwrap()).unwrap();
        let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !STAYING.contains(&&**name)).collect()
    }
}

async fn replaces_with_calls_under_way(option: &[&str]) {
    let signer = Signer::new(7);
    let config = format!("[downloads]\npublic_key = \"{}\"\n", signer.public_key());
    let world = World::configured(&config).await;
    let Some(story) = Story::new(&world, &signer, option).await else { return };
    story.is_served().await;
    let (code, said) = story.upgrade(&["--check"]).await;
    assert!(code == 0 && said.contains(NEWER), "{code} {said}");
    let (ends, (code, said)) = calls_beside(&world, LOG, story.upgrade(&[])).await;
    assert!(code == 0 && said.contains(&format!("Version {NEWER} runs")), "{code} {said}");
    assert_eq!(story.version().await, NEWER);
    assert_eq!(story.beside(), ["orion-agent.exe"]);
    let log = story.laptop.drive.at("files/log.txt");
    has_each_line_once(&log, &ends);
    std::fs::remove_file(log).unwrap();
    story.laptop.serves().await;

    // The older program that was downloaded does not take its place.
    let stays = story.laptop.agent(&[&["install"], option].concat(), b"").await;
    assert!(stays.contains(&format!("Version {NEWER} of the agent is installed")), "{stays}");
    assert_eq!(story.version().await, NEWER);
    story.laptop.serves().await;

    let (code, said) = story.upgrade(&[]).await;
    assert!(code == 0 && said.contains("newest version"), "{code} {said}");
    let uninstall = [&["uninstall", "--purge"], option].concat();
    story.laptop.agent(&uninstall, b"").await;
    story.laptop.has_left(&story.before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_newer_agent_replaces_a_persons_with_calls_under_way() {
    replaces_with_calls_under_way(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_newer_agent_replaces_the_systems_with_calls_under_way() {
    replaces_with_calls_under_way(&["--system"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_a_newer_agent_that_connects_ends_with_the_one_before() {
    let world = World::new().await;
    let signer = Signer::new(7);
    let Some(story) = Story::new(&world, &signer, &[]).await else { return };
    let good = signer.sign(&story.newer, &comment(NEWER));
    let mut tampered = story.newer.clone();
    let last = tampered.len() - 1;
    tampered[last] ^= 1;
    let older = signer.sign(&story.newer, &comment("0.0.9"));
    let elsewhere = signer.sign(&story.newer, &format!("orion-agent {NEWER} linux-x86_64"));
    let lying = signer.sign(&story.newer, &comment("9.2.0"));
    let cases: [(&str, &[u8], &str, &str); 5] = [
        ("tampered", &tampered, &good, "is not signed by the key"),
        ("unsigned", &story.newer, "", "is not signed by the key"),
        ("older", &story.newer, &older, "is older than this agent"),
        ("for another platform", &story.newer, &elsewhere, "not an agent for windows"),
        ("another version than it is signed as", &story.newer, &lying, "says that it is"),
    ];
    for (what, content, signature, why) in cases {
        let (code, said) = story.upgrade_to(content, signature).await;
        assert!(code == 1 && said.contains(why), "{what}: {code} {said}");
        assert_eq!(story.beside(), ["orion-agent.exe"], "{what}");
    }
    story.laptop.serves().await;

    let crashing = compiled(CRASHING, world.folder());
    let signature = signer.sign(&crashing, &comment(NEWER));
    let (code, said) = story.upgrade_to(&crashing, &signature).await;
    assert!(code == 1 && said.contains(&format!("version {NOW} runs again")), "{code} {said}");
    assert_eq!((story.version().await.as_str(), story.beside().len()), (NOW, 1));
    story.laptop.serves().await;

    // An upgrade that died between its two ends: the program from before ends it.
    let program = story.laptop.drive.at("").join(&story.program);
    let previous = program.with_file_name(".orion-agent.previous.exe");
    std::fs::rename(&program, &previous).unwrap();
    std::fs::write(program.with_file_name(".orion-agent.upgrading"), "").unwrap();
    std::fs::write(&program, &crashing).unwrap();
    let words =
        format!("C:/{}", story.program.with_file_name(".orion-agent.previous.exe").display());
    let (code, said) = story.laptop.drive.says(&[&words, "upgrade"]).await;
    assert!(code == 0 && said.contains("was cut off before"), "{code} {said}");
    assert_eq!((story.version().await.as_str(), story.beside().len()), (NOW, 1));
    story.laptop.serves().await;
}
