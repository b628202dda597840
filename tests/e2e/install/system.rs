//! A service of the system, installed by root in a namespace in which nothing else of the machine changes.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Namespace, World, enter_namespace, eventually, lead_everything_here, tree};
use serde_json::json;

use super::person::{Person, serve_agent};
use super::{invite, line};

/// Puts copies and empty folders in the places that a service of the system changes.
#[expect(clippy::disallowed_methods, reason = "tests are about processes")]
fn shield(folder: &Path) {
    let run = |line: &str| {
        let mut command = std::process::Command::new("/bin/sh");
        let output = command.args(["-ec", line]).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run("cp -a /etc etc; mkdir -p etc/systemd/system; mount --bind etc /etc");
    run("mount -t tmpfs -o mode=755 none /var/lib; mount -t tmpfs -o mode=755 none /usr/local/bin");
}

/// The accounts and the folders that the service changes.
fn accounts_and_folders() -> (String, Vec<orion_tests::Tree>) {
    let folders = ["/etc/systemd/system", "/usr/local/bin", "/var/lib"];
    let trees = folders.map(|folder| tree(Path::new(folder))).to_vec();
    (std::fs::read_to_string("/etc/passwd").unwrap(), trees)
}

#[test]
fn root_installs_a_service_with_an_account_of_its_own_and_removes_all_of_it() {
    let name =
        "install::system::root_installs_a_service_with_an_account_of_its_own_and_removes_all_of_it";
    match enter_namespace(name) {
        Namespace::Inside => {}
        Namespace::Passed(_) => return,
        Namespace::Unavailable(why) => return println!("not run here: {why}"),
    }
    let folder = tempfile::tempdir().unwrap();
    lead_everything_here(folder.path(), "127.0.0.1");
    shield(folder.path());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(2).build();
    runtime.unwrap().block_on(async {
        story().await;
        without_a_folder().await;
    });
}

async fn story() {
    let world = World::new().await;
    serve_agent(&world).await;
    let root = Person::new();
    std::os::unix::fs::chown(root.home(), Some(0), Some(0)).unwrap();
    let shared = Path::new("/var/lib/shared");
    std::fs::create_dir(shared).unwrap();
    let before = accounts_and_folders();
    let words = ["--name", "server", "--preapproved", "--path", "/var/lib/shared"];
    let invited = invite(&world, &words).await;
    let token = invited["token"].as_str().unwrap();
    let line = line(&invited, "curl").replace(token, &format!("{token} --system"));
    let pasted = root.pastes_as_root(&line).await;
    assert_eq!(pasted.code, 0, "{pasted:?}");
    for said in
        ["/usr/local/bin/orion-agent", "made for this", "uninstall --system", "connected to"]
    {
        assert!(pasted.stdout.contains(said), "{said}: {pasted:?}");
    }
    let calls = root.systemctl_calls();
    assert_eq!(
        calls,
        ["daemon-reload", "enable orion-agent.service", "restart orion-agent.service"]
    );

    // The state is the account's. The owner's file is root's, so that the account cannot widen the ceiling.
    let state = std::fs::metadata("/var/lib/orion-agent").unwrap();
    let config = std::fs::metadata("/etc/orion/agent.toml").unwrap();
    assert_ne!(state.uid(), 0);
    assert_eq!((state.mode() & 0o777, config.uid(), config.mode() & 0o777), (0o700, 0, 0o644));
    for entry in std::fs::read_dir("/var/lib/orion-agent").unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().uid(), state.uid(), "{:?}", entry.path());
    }
    std::os::unix::fs::chown(shared, Some(state.uid()), Some(state.gid())).unwrap();
    let write = json!({"path": "/var/lib/shared/a.txt", "content": "one"});
    eventually("the first call", async || {
        let call = world.admin().call("server", "write_file", write.clone()).await;
        (call.end() == (CallState::Succeeded, None)).then_some(())
    })
    .await;
    assert_eq!(std::fs::metadata("/var/lib/shared/a.txt").unwrap().uid(), state.uid());
    // What belongs to others stays theirs.
    let etc = json!({"path": "/etc/orion/agent.toml", "content": "[ceiling]\n"});
    let refused = world.admin().call("server", "write_file", etc).await;
    assert_ne!(refused.end().0, CallState::Succeeded);
    std::fs::remove_file("/var/lib/shared/a.txt").unwrap();

    // What the account moved into its trash stays its owner's, when root gives the account what root wrote.
    let trashed = Path::new("/var/lib/orion-agent/trash/of-somebody");
    let planted = Path::new("/var/lib/orion-agent/policy.json.old");
    for path in [trashed, planted] {
        std::fs::write(path, "private").unwrap();
        std::os::unix::fs::chown(path, Some(4242), Some(4242)).unwrap();
    }
    let again = root.pastes_as_root("/usr/local/bin/orion-agent install --system").await;
    assert_eq!(again.code, 0, "{again:?}");
    for path in [trashed, planted] {
        assert_eq!(std::fs::metadata(path).unwrap().uid(), 4242, "{}", path.display());
        std::fs::remove_file(path).unwrap();
    }

    // Root follows no link that the account puts into its folder.
    let lock = Path::new("/var/lib/orion-agent/lock");
    std::fs::remove_file(lock).unwrap();
    std::os::unix::fs::symlink("/var/lib/made-by-root", lock).unwrap();
    for command in ["status", "consent list", "log", "pause", "resume"] {
        root.pastes_as_root(&format!("/usr/local/bin/orion-agent {command} --system")).await;
        assert!(!Path::new("/var/lib/made-by-root").exists(), "{command}");
    }
    std::fs::remove_file(lock).unwrap();

    let removed =
        root.pastes_as_root("/usr/local/bin/orion-agent uninstall --system --purge").await;
    assert_eq!(removed.code, 0, "{removed:?}");
    assert!(removed.stdout.contains("the account orion-agent"), "{removed:?}");
    assert_eq!(accounts_and_folders(), before, "nothing is left");
    assert!(!Path::new("/etc/orion").exists());
}

/// A device of the system without an allowed folder, which its owner opens one later; then it is revoked, and comes back.
async fn without_a_folder() {
    let world = World::new().await;
    serve_agent(&world).await;
    let root = Person::new();
    std::os::unix::fs::chown(root.home(), Some(0), Some(0)).unwrap();
    let before = accounts_and_folders();
    // Its grants name paths, and its owner none yet.
    let words = ["--name", "server", "--preapproved", "--path", "/var/lib/shared"];
    let invited = invite(&world, &words).await;
    let token = invited["token"].as_str().unwrap();
    let line = line(&invited, "curl").replace(token, &format!("{token} --system --yes"));
    let line = line.replace(" --allow-path /var/lib/shared", "");
    let pasted = root.pastes_as_root(&line).await;
    assert_eq!(pasted.code, 0, "{pasted:?}");
    assert!(pasted.stderr.contains("allow /srv/files"), "{pasted:?}");

    // The service reads root's file, and no file of its own account.
    let agent = "/usr/local/bin/orion-agent";
    let home = root.pastes_as_root(&format!("{agent} allow '~/files' --system")).await;
    assert!(home.code == 1 && home.stderr.contains("is not your home folder"), "{home:?}");
    let allowed = root.pastes_as_root(&format!("{agent} allow /var/lib/shared --system")).await;
    assert_eq!(allowed.code, 0, "{allowed:?}");
    let list = json!({"path": "/var/lib/shared"});
    eventually("a call in the allowed folder", async || {
        let call = world.admin().call("server", "list_directory", list.clone()).await;
        (call.end() == (CallState::Succeeded, None)).then_some(())
    })
    .await;
    let config = Path::new("/etc/orion/agent.toml");
    let text = std::fs::read_to_string(config).unwrap();
    std::fs::write(config, format!("{text}\n[consent]\ntools = [\"get_datetime\"]\ntimeout = 5\n"))
        .unwrap();
    eventually("a call that asks the owner", async || {
        let call = world.admin().call("server", "get_datetime", json!({})).await;
        (call.end().1 == Some(ErrorCode::ApprovalExpired)).then_some(())
    })
    .await;

    let revoked = world.cli().run(&["devices", "revoke", "server", "--yes"]).await;
    assert_eq!(revoked.code, 0, "{revoked:?}");
    let invited = invite(&world, &words).await;
    let token = invited["token"].as_str().unwrap();
    let enroll = format!("echo {token} | {agent} enroll - --force --system");
    let stopped = root.pastes_as_root(&format!("{} disable", root.systemctl().display())).await;
    assert_eq!(stopped.code, 0, "{stopped:?}");
    let enrolled = root.pastes_as_root(&enroll).await;
    assert_eq!(enrolled.code, 0, "{enrolled:?}");
    let state = std::fs::metadata("/var/lib/orion-agent").unwrap();
    for entry in std::fs::read_dir("/var/lib/orion-agent").unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().uid(), state.uid(), "{:?}", entry.path());
    }
    let removed = root.pastes_as_root(&format!("{agent} uninstall --system --purge")).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    assert_eq!(accounts_and_folders(), before, "nothing is left");
}
