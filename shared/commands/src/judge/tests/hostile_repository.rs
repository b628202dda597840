//! Real git, started as a judgement says, in a repository whose configuration names a program wherever it can.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::judged;
use crate::Judgement;

/// Settings that name a program.
const SETTINGS: &[&str] = &[
    "alias.log",
    "core.alternateRefsCommand",
    "core.askPass",
    "core.editor",
    "core.fsmonitor",
    "core.gitProxy",
    "core.pager",
    "core.sshCommand",
    "credential.helper",
    "diff.evil.command",
    "diff.evil.textconv",
    "diff.external",
    "gpg.program",
    "gpg.ssh.defaultKeyCommand",
    "gpg.ssh.program",
    "interactive.diffFilter",
    "pager.branch",
    "pager.log",
    "remote.origin.receivepack",
    "remote.origin.uploadpack",
    "sequence.editor",
    "uploadpack.packObjectsHook",
];

const HOOKS: &[&str] = &[
    "commit-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "reference-transaction",
];

/// Commands that start one of them when git runs without the fixed arguments.
const STARTING: &[&str] = &["git diff", "git status", "git log -p -1", "git fetch origin"];

const COMMANDS: &[&str] = &[
    "git status",
    "git log -5",
    "git log -p -2",
    "git diff",
    "git diff --stat",
    "git show HEAD",
    "git blame a.txt",
    "git branch -vv",
    "git tag -l",
    "git remote -v",
    "git remote show origin",
    "git ls-files",
    "git grep -n o",
    "git grep -n o HEAD",
    "git describe --always",
    "git reflog",
    "git shortlog -s HEAD",
    "git ls-remote origin",
    "git fetch origin",
    "git fetch",
    "git pull --ff-only origin main",
    "git stash",
    "git stash list",
    "git stash show -p",
    "git stash pop",
    "git add -A",
    "git commit -m x",
    "git commit --amend --no-edit",
    "git switch -c new",
    "git switch main",
    "git merge work",
    "git rebase work",
    "git checkout -b other",
    "git mv a.txt b.txt",
    "git restore --staged b.txt",
    "git tag v1",
    "git push origin new",
    "git submodule status",
    "git worktree list",
    "git cat-file -p HEAD",
    "git rev-list HEAD",
    "git fetch ext",
    "git -C bare log",
];

struct Repository {
    home: tempfile::TempDir,
}

impl Repository {
    fn folder(&self) -> PathBuf {
        self.home.path().join("repo")
    }

    fn run(&self, folder: &Path, arguments: &[String], environment: &[(&str, &str)]) -> bool {
        #[expect(clippy::disallowed_methods, reason = "the test is about what git starts")]
        let mut git = Command::new("git");
        let path = std::env::var_os("PATH").unwrap_or_default();
        git.args(arguments).current_dir(folder).env_clear().env("PATH", path);
        git.env("HOME", self.home.path()).stdin(Stdio::null());
        git.envs(environment.iter().copied());
        git.output().is_ok_and(|output| output.status.success())
    }

    /// Runs git without anything that a grammar adds.
    fn plain(&self, folder: &Path, line: &str) -> bool {
        let arguments: Vec<_> = line.split(' ').map(ToOwned::to_owned).collect();
        self.run(folder, &arguments, &[])
    }

    /// Returns what the program of the configuration was started for since the last look.
    fn started(&self) -> Option<String> {
        let file = self.home.path().join("started");
        let text = fs::read_to_string(&file).ok();
        drop(fs::remove_file(&file));
        text
    }

    /// Creates a repository that is harmless, a copy of it as its remote, and then its configuration. None where
    /// there is no git.
    fn create() -> Option<Self> {
        let this = Self { home: tempfile::tempdir().unwrap() };
        let home = this.home.path();
        let folder = this.folder();
        if !this.plain(home, "init -q -b main repo") {
            return None;
        }
        fs::write(home.join(".gitconfig"), "[user]\nname = ann\nemail = ann@example.com\n")
            .unwrap();
        fs::write(folder.join(".gitattributes"), "*.txt diff=evil\n").unwrap();
        for content in ["one\n", "two\n"] {
            fs::write(folder.join("a.txt"), content).unwrap();
            assert!(this.plain(&folder, "add ."));
            assert!(this.plain(&folder, "commit -q -m x"));
        }
        for line in ["branch work", "clone -q . ../remote", "clone -q --bare . bare"] {
            assert!(this.plain(&folder, line), "{line}");
        }
        fs::write(folder.join("a.txt"), "three\n").unwrap();
        let program = home.join("evil");
        let text = format!("#!/bin/sh\necho \"$0\" >> {}/started\n", home.display());
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        for hook in HOOKS {
            fs::copy(&program, folder.join(".git/hooks").join(hook)).unwrap();
        }
        let program = program.to_str().unwrap();
        let set = |folder: &Path, name: &str, value: &str| {
            assert!(this.plain(folder, &format!("config {name} {value}")), "{name}");
        };
        for name in SETTINGS {
            set(&folder, name, program);
        }
        for name in ["core.fsmonitor", "core.pager", "diff.external"] {
            set(&folder.join("bare"), name, program);
        }
        let objects = home.join("remote/.git/objects").display().to_string();
        fs::write(folder.join(".git/objects/info/alternates"), objects + "\n").unwrap();
        set(&folder, "log.showSignature", "true");
        set(&folder, "protocol.ext.allow", "always");
        set(&folder, "remote.ext.url", &format!("ext::{program}"));
        set(&folder, "remote.origin.url", home.join("remote").to_str().unwrap());
        Some(this)
    }
}

#[test]
fn nothing_that_a_hostile_repository_names_is_started() {
    let Some(repository) = Repository::create() else {
        drop(writeln!(std::io::stderr(), "skipped: there is no git here"));
        return;
    };
    let folder = repository.folder();
    let mut succeeded = 0;
    repository.started();
    for line in COMMANDS {
        let Judgement::Known(known) = judged(line) else { panic!("{line}") };
        let success = repository.run(&folder, &known.arguments, &known.environment);
        assert_eq!(repository.started(), None, "{line}");
        succeeded += usize::from(success);
    }
    // Those that fail would start the program: they are stopped before.
    assert!(succeeded + 4 >= COMMANDS.len(), "{succeeded} of {}", COMMANDS.len());
    fs::write(folder.join("c.txt"), "four\n").unwrap();
    assert!(repository.plain(&folder, "reset -q --hard"));
    fs::write(folder.join("b.txt"), "five\n").unwrap();
    repository.started();
    for line in STARTING {
        repository.plain(&folder, line.strip_prefix("git ").unwrap());
        assert!(repository.started().is_some(), "{line} starts nothing even without the grammar");
    }
}

#[test]
fn an_object_that_is_missing_is_not_fetched_by_a_program_of_the_configuration() {
    let Some(repository) = Repository::create() else { return };
    let folder = repository.folder();
    for (name, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
    ] {
        assert!(repository.plain(&folder, &format!("config {name} {value}")));
    }
    fs::remove_file(folder.join(".git/objects/info/alternates")).unwrap();
    // The first content of the file.
    let object = "56/26abf0f72e58d7a153368ba57db4c673c0e171";
    fs::remove_file(folder.join(".git/objects").join(object)).unwrap();
    repository.started();
    let Judgement::Known(known) = judged("git show HEAD~1:a.txt") else { panic!() };
    assert!(!repository.run(&folder, &known.arguments, &known.environment));
    assert_eq!(repository.started(), None);
    repository.plain(&folder, "--no-pager show HEAD~1:a.txt");
    assert!(repository.started().is_some());
}

#[test]
fn a_signature_that_the_configuration_wants_starts_no_program_of_it() {
    let Some(repository) = Repository::create() else { return };
    let folder = repository.folder();
    for line in
        ["config commit.gpgSign true", "config gpg.format ssh", "config core.hooksPath /dev/null"]
    {
        assert!(repository.plain(&folder, line));
    }
    repository.started();
    let Judgement::Known(known) = judged("git commit -a -m x") else { panic!() };
    repository.run(&folder, &known.arguments, &known.environment);
    assert_eq!(repository.started(), None);
    repository.plain(&folder, "commit -a -m x");
    assert!(repository.started().is_some());
}
