//! Adding, replacing and removing agents, and what is refused.

use super::*;
use crate::downloads::Downloads;

/// The first bytes of a program, and something that makes it another one.
fn program(machine: u8, more: &str) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(64, 0);
    bytes[18] = machine;
    bytes.extend(more.as_bytes());
    bytes
}

struct Ground {
    folder: tempfile::TempDir,
    config: Config,
}

impl Ground {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), config: Config::default() }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn run(&self, command: ReleasesCommand) -> Result<String, String> {
        run(command, Some(&self.config), self.folder.path()).map_err(|error| error.to_string())
    }

    fn add(&self, bytes: &[u8], signature: Option<&str>) -> Result<String, String> {
        let file = self.write("program", bytes);
        let signature = signature.map(|text| self.write("program.minisig", text.as_bytes()));
        self.run(ReleasesCommand::Add { file, version: "0.1.0".to_owned(), signature })
    }

    /// The files in the folder of the agents, without the lock.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path().join("releases")).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "lock").collect();
        names.sort();
        names
    }
}

#[test]
fn an_agent_takes_the_place_of_the_one_for_the_same_platform() {
    let ground = Ground::new();
    let nothing = ground.run(ReleasesCommand::List).unwrap();
    assert!(nothing.starts_with("No agents are served"), "{nothing}");
    let (first, second) = (program(62, "first"), program(62, "second"));
    ground.add(&first, None).unwrap();
    ground.add(&program(183, ""), None).unwrap();
    let listed = ground.add(&second, None).unwrap();
    let sha256 = Digest::of(&second).to_string();
    assert_eq!(
        listed.lines().map(|it| it.split_whitespace().next().unwrap()).collect::<Vec<_>>(),
        ["linux-x86_64", "linux-aarch64"]
    );
    assert!(listed.contains(&sha256) && !listed.contains(&Digest::of(&first).to_string()));
    let mut files = vec![sha256, Digest::of(&program(183, "")).to_string(), "manifest.toml".into()];
    files.sort();
    assert_eq!(ground.files(), files);
    let remove = |platform| ground.run(ReleasesCommand::Remove { platform });
    remove(Platform::LinuxX86_64).unwrap();
    assert!(remove(Platform::LinuxX86_64).unwrap_err().starts_with("there is no agent for"));
    remove(Platform::LinuxAarch64).unwrap();
    assert_eq!(ground.files(), ["manifest.toml"]);
}

#[test]
fn what_is_no_program_or_has_no_version_is_not_added() {
    let ground = Ground::new();
    let refused = ground.add(b"#!/bin/sh\n", None).unwrap_err();
    assert!(refused.contains("no program of a platform"), "{refused}");
    let file = ground.write("program", &program(62, ""));
    for version in ["", "1.0\n", "1'0", &"1".repeat(65)] {
        let version = version.to_owned();
        let add = ReleasesCommand::Add { file: file.clone(), version, signature: None };
        assert!(ground.run(add).unwrap_err().contains("is not a version"));
    }
    let missing = ground.folder.path().join("missing");
    let add = ReleasesCommand::Add { file: missing, version: "1".to_owned(), signature: None };
    assert!(ground.run(add).unwrap_err().contains("check the name"));
    assert_eq!(ground.files(), Vec::<String>::new());
}

/// A key that signs nothing but this test's program, and its signature of it, made as minisign makes them.
const KEY: &str = "RWRvcmlvbi10awotSkOpL5no79c3L0PuMcihAJC/V9XogGPF8GOWBO9V";
const SIGNATURE: &str = "\
untrusted comment: signature from minisign secret key\n\
     RURvcmlvbi10a+NOojBQhRGk2dsZrl+lkNi+aH7ietcIq101mds8sl/++4AIqFFa2Yubowua7Zwt8mMAfuCCKNQHStlr9JkVfwc=\n\
     trusted comment: file:orion-agent\n\
     u1+iZXq8Mz9kffoQ3S/uNVekRf6zoXN63TORAe0p9TUKBi8EA0tqSMSTvpzWUBVbktAv5PdfIHmLLxoz2cOCBQ==\n";

#[test]
fn where_a_key_is_configured_only_what_it_signed_is_added_and_served() {
    let mut ground = Ground::new();
    let signed = program(62, "signed");
    let no_key = ground.add(&signed, Some(SIGNATURE)).unwrap_err();
    assert!(no_key.contains("`public_key`") && no_key.contains("--config"), "{no_key}");
    let listed = ground.add(&program(183, ""), None).unwrap();
    assert_eq!(listed.lines().count(), 1, "{listed}");
    let unknown = run(ReleasesCommand::List, None, ground.folder.path()).unwrap();
    assert!(unknown.contains("No configuration was read") && unknown.contains("--config"));
    ground.config.downloads.public_key = Some(KEY.to_owned());
    let listed = ground.add(&signed, Some(SIGNATURE)).unwrap();
    assert!(listed.contains(" signed ") && listed.contains(" not signed "), "{listed}");
    assert!(listed.contains("Agents that are not signed are not served"), "{listed}");

    let not_signed = ground.add(&program(62, "other"), None).unwrap_err();
    assert!(not_signed.contains("--signature"), "{not_signed}");
    let comment = SIGNATURE.replace("file:orion-agent", "file:orion-agenT");
    for (bytes, signature) in [
        (program(62, "other"), SIGNATURE),
        (signed.clone(), &*comment),
        (signed.clone(), "untrusted comment: none\n"),
        (signed.clone(), ""),
    ] {
        let refused = ground.add(&bytes, Some(signature)).unwrap_err();
        assert!(refused.contains("nothing was added"), "{refused}");
    }
    // What was added before the key was configured is listed, and not served.
    let downloads = Downloads::new(&ground.config, ground.folder.path(), "http://127.0.0.1:1", &[]);
    let served = downloads.manifest().unwrap();
    let platforms: Vec<_> = served.iter().map(|(platform, _)| platform).collect();
    assert_eq!(platforms, [Platform::LinuxX86_64]);
    let mut files = [&signed, &program(183, "")].map(|it| Digest::of(it).to_string()).to_vec();
    files.push("manifest.toml".to_owned());
    files.sort();
    assert_eq!(ground.files(), files, "nothing half is left");
}
