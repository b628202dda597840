//! A person with a home folder, an account without privileges where the test has them, and a program that stands for
//! systemd: it records what it is asked, and runs the service.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use orion_tests::{Output, Tree, World, program, tree};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;

/// An account that nothing else uses.
const ACCOUNT: u32 = 64_321;
/// How long a line may take.
const TIMEOUT: Duration = Duration::from_secs(120);

const SYSTEMCTL: &str = r#"#!/bin/sh
here=$(dirname "$0")
printf '%s\n' "$*" >>"$here/calls"
unit=/etc/systemd/system/orion-agent.service
as="setpriv --reuid orion-agent --regid orion-agent --clear-groups"
if [ "$1" = --user ]; then
    shift
    unit=$HOME/.config/systemd/user/orion-agent.service as=
elif [ "$1" = --system ]; then
    shift
fi
case " $(cat "$here/fails" 2>/dev/null) " in
    *" $1 "*) echo "Job for orion-agent.service failed." >&2; exit 1 ;;
esac
runs() { [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
stop() {
    [ -f "$here/pid" ] || return 0
    pid=$(cat "$here/pid")
    kill "$pid" 2>/dev/null
    while runs "$pid"; do sleep 0.05; done
    rm "$here/pid"
}
case $1 in
    is-active) [ -f "$here/pid" ] || exit 3 ;;
    stop) stop ;;
    restart | start)
        stop
        command=$(sed -n 's/^ExecStart=//p' "$unit")
        ( eval "exec $as $command" ) </dev/null >>"$here/log" 2>&1 &
        echo "$!" >"$here/pid"
        ;;
    disable) stop ;;
esac
"#;

/// A person.
pub(super) struct Person {
    home: TempDir,
    systemd: TempDir,
}

impl Person {
    pub(super) fn new() -> Self {
        let folder = |prefix| tempfile::Builder::new().prefix(prefix).tempdir().unwrap();
        let person = Self { home: folder("orion-home-"), systemd: folder("orion-systemd-") };
        let path = person.systemctl();
        std::fs::write(&path, SYSTEMCTL).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        person.owns(person.home.path());
        person.owns(person.systemd.path());
        person
    }

    pub(super) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Gives a file or folder to the person.
    pub(super) fn owns(&self, path: &Path) {
        if is_root() {
            chown(path, Some(ACCOUNT), Some(ACCOUNT)).unwrap();
        }
    }

    /// Makes a folder in which every account may write.
    pub(super) fn others_folder(&self) -> PathBuf {
        let path = self.systemd.path().join("shared");
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        path
    }

    pub(super) fn tree(&self) -> Tree {
        tree(self.home.path())
    }

    pub(super) fn systemctl(&self) -> PathBuf {
        self.systemd.path().join("systemctl")
    }

    /// What systemd was asked.
    pub(super) fn systemctl_calls(&self) -> Vec<String> {
        let calls = std::fs::read_to_string(self.systemd.path().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// Lets systemd fail at a command.
    pub(super) fn systemctl_fails(&self, command: &str) {
        std::fs::write(self.systemd.path().join("fails"), command).unwrap();
    }

    fn pid(&self) -> Option<rustix::process::Pid> {
        let pid = std::fs::read_to_string(self.systemd.path().join("pid")).ok()?;
        rustix::process::Pid::from_raw(pid.trim().parse().ok()?)
    }

    pub(super) fn service_runs(&self) -> bool {
        self.pid().is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    }

    /// Pastes a line into a shell.
    pub(super) async fn pastes(&self, line: &str) -> Output {
        self.pastes_with(line, &[]).await
    }

    /// Pastes a line into a shell with these variables.
    pub(super) async fn pastes_with(&self, line: &str, environment: &[(&str, &str)]) -> Output {
        self.runs("/bin/sh", &["-c", line], environment, self.account(), None).await
    }

    /// Pastes a line as root.
    pub(super) async fn pastes_as_root(&self, line: &str) -> Output {
        self.runs("/bin/sh", &["-c", line], &[], None, None).await
    }

    /// Pastes a line into a shell at a terminal, and types this when it is asked.
    pub(super) async fn pastes_and_types(&self, line: &str, typed: &str) -> Output {
        let words = ["--quiet", "--return", "--command", line, "/dev/null"];
        let environment = [("SHELL", "/bin/sh"), ("TERM", "xterm")];
        self.runs("script", &words, &environment, self.account(), Some(typed)).await
    }

    /// Runs the installed agent.
    pub(super) async fn agent(&self, words: &[&str]) -> Output {
        let path = self.home.path().join(".local/bin/orion-agent");
        self.runs(path.to_str().unwrap(), words, &[], self.account(), None).await
    }

    fn account(&self) -> Option<u32> {
        is_root().then_some(ACCOUNT)
    }

    #[expect(clippy::disallowed_methods, reason = "tests are about processes")]
    async fn runs(
        &self,
        program: &str,
        words: &[&str],
        environment: &[(&str, &str)],
        account: Option<u32>,
        typed: Option<&str>,
    ) -> Output {
        let mut command = tokio::process::Command::new(program);
        command
            .args(words)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home.path())
            .env("ORION_AGENT_SYSTEMCTL", self.systemctl())
            .envs(environment.iter().copied())
            .current_dir(self.home.path())
            .stdin(if typed.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(account) = account {
            command.uid(account).gid(account);
        }
        let mut child = command.spawn().unwrap();
        // The terminal stays open until the line has ended.
        let mut keyboard = child.stdin.take();
        if let Some((keyboard, typed)) = keyboard.as_mut().zip(typed) {
            keyboard.write_all(typed.as_bytes()).await.unwrap();
        }
        let ended = tokio::time::timeout(TIMEOUT, child.wait_with_output()).await;
        let ended = ended.unwrap_or_else(|_| panic!("{words:?} did not end")).unwrap();
        drop(keyboard);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Output {
            code: ended.status.code().unwrap_or(-1),
            stdout: text(ended.stdout),
            stderr: text(ended.stderr),
        }
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            // It may have ended.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Adds a file to the agents that the backend of a world serves.
pub(super) async fn serve(world: &World, file: &Path) {
    let data_dir = world.data_dir().display().to_string();
    let words = ["releases", "add", file.to_str().unwrap(), "--data-dir", &data_dir];
    let added = world.cli().program("orion-server", &words, b"").await;
    assert_eq!(added.code, 0, "{added:?}");
}

/// Serves the agent under test, without its symbols: they are most of its size.
pub(super) async fn serve_agent(world: &World) {
    let stripped = world.folder().join("orion-agent");
    let agent = program("orion-agent");
    #[expect(clippy::disallowed_methods, reason = "tests are about processes")]
    let ended = tokio::process::Command::new("strip").arg("-o").arg(&stripped).arg(&agent).output();
    let ended = ended.await.unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    serve(world, &stripped).await;
    std::fs::remove_file(stripped).unwrap();
}
