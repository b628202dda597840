//! The pasted line of an invitation: it makes a machine of a person a device with a service, and its removal leaves
//! nothing. What an attacker does to the line, the script or the agent stops it before anything is left.

mod attacks;
pub(crate) mod beside;
mod cut;
mod mirror;
mod person;
mod releases;
pub(crate) mod signed;
#[cfg(target_os = "linux")]
mod system;
mod upgrade;

use orion_domain::CallState;
use orion_tests::{World, eventually};
use orion_wire::v1;
use serde_json::{Value, json};

use mirror::{Change, Mirror};
use person::{Person, serve_agent};

/// Invites a device, and returns what the command line says as JSON.
async fn invite(world: &World, words: &[&str]) -> Value {
    let invite = ["devices", "invite", "-o", "json"];
    world.cli().run(&[&invite[..], words].concat()).await.json()
}

fn line<'a>(invited: &'a Value, with: &str) -> &'a str {
    invited[format!("install_with_{with}")].as_str().unwrap_or_else(|| panic!("{invited}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pasted_line_makes_a_device_and_its_removal_leaves_nothing() {
    let world = World::new().await;
    let none = invite(&world, &["--name", "early"]).await;
    assert_eq!(none["install_with_curl"], Value::Null, "no agent is served yet");
    serve_agent(&world).await;
    let ann = Person::new();
    std::fs::create_dir(ann.home().join("files")).unwrap();
    ann.owns(&ann.home().join("files"));
    let before = ann.tree();

    let path = ["--name", "laptop", "--path", "~/files"];
    let invited = invite(&world, &path).await;
    let pasting = ann.pastes(line(&invited, "curl"));
    let words = async {
        let pending = eventually("a pending device", async || {
            world.admin().device("laptop").await.ok().filter(|it| !it.fingerprint_words.is_empty())
        })
        .await;
        let request = v1::ApproveDeviceRequest { device: "laptop".to_owned() };
        world.admin().devices().approve_device(request).await.unwrap();
        pending.fingerprint_words
    };
    let (pasted, words) = tokio::join!(pasting, words);
    assert_eq!(pasted.code, 0, "{pasted:?}");
    // The person compares these words with those that the admin sees.
    assert!(pasted.stderr.contains(&words), "{words}\n{pasted:?}");
    for said in ["program ", ".local/bin/orion-agent", "unit ", "is connected to", "uninstall"] {
        assert!(pasted.stdout.contains(said), "{said}: {pasted:?}");
    }
    assert_eq!(
        ann.systemctl_calls(),
        [
            "--user daemon-reload",
            "--user enable orion-agent.service",
            "--user restart orion-agent.service"
        ]
    );

    let file = ann.home().join("files/a.txt").display().to_string();
    let write = json!({"path": file, "content": "one"});
    eventually("the first call", async || {
        let call = world.admin().call("laptop", "write_file", write.clone()).await;
        (call.end() == (CallState::Succeeded, None)).then_some(())
    })
    .await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
    std::fs::remove_file(&file).unwrap();

    // The same line again changes nothing of the identity, and needs no second use of the token.
    let again = ann.pastes(line(&invited, "wget")).await;
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.stderr.contains("a device already"), "{again:?}");
    assert_eq!(ann.agent(&["status"]).await.code, 0);

    // Without --purge, what cannot be made again stays.
    let kept = ann.agent(&["uninstall"]).await;
    assert_eq!(kept.code, 0, "{kept:?}");
    assert!(kept.stdout.contains("stay in"), "{kept:?}");
    // The program is gone, so that it is not what removes the rest.
    let removal = format!(
        "To remove them too: rm -rf {0}/.local/state/orion/agent {0}/.config/orion/agent.toml",
        ann.home().display()
    );
    assert!(kept.stdout.contains(&removal), "{kept:?}");
    let left: Vec<_> =
        ann.tree().into_keys().filter(|it| !it.starts_with(".local/state")).collect();
    assert_eq!(
        left,
        [".config", ".config/orion", ".config/orion/agent.toml", ".local", "files"],
        "the program, the unit and their folders are gone"
    );
    let third = ann.pastes(line(&invited, "curl")).await;
    assert_eq!(third.code, 0, "{third:?}");
    let removed = ann.agent(&["uninstall", "--purge"]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    assert!(removed.stdout.contains("orion devices revoke laptop"), "{removed:?}");
    assert_eq!(ann.tree(), before, "nothing is left");
    assert!(!ann.service_runs());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_device_comes_back_by_a_new_line_that_says_so() {
    let world = World::new().await;
    serve_agent(&world).await;
    let ann = Person::new();
    let words = ["--name", "laptop", "--preapproved", "--path", "~/files"];
    let pasted = ann.pastes(line(&invite(&world, &words).await, "curl")).await;
    assert_eq!(pasted.code, 0, "{pasted:?}");
    let first = world.admin().device("laptop").await.unwrap().device_id;
    let revoked = world.cli().run(&["devices", "revoke", "laptop", "--yes"]).await;
    assert_eq!(revoked.code, 0, "{revoked:?}");

    let invited = invite(&world, &words).await;
    let again = ann.pastes(line(&invited, "curl")).await;
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.stderr.contains("--force after the token"), "{again:?}");
    let token = invited["token"].as_str().unwrap();
    let forced = line(&invited, "curl").replace(token, &format!("{token} --force"));
    let forced = ann.pastes(&forced).await;
    assert_eq!(forced.code, 0, "{forced:?}");
    assert!(forced.stdout.contains("is connected to"), "{forced:?}");
    assert_ne!(world.admin().device("laptop").await.unwrap().device_id, first);
    assert_eq!(ann.agent(&["uninstall", "--purge"]).await.code, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_rejected_line_one_with_another_folder_can_be_pasted() {
    let world = World::new().await;
    serve_agent(&world).await;
    let ann = Person::new();
    let rejected = invite(&world, &["--name", "laptop", "--path", "~/files"]).await;
    let reject = async {
        eventually("a pending device", async || {
            world.admin().device("laptop").await.ok().filter(|it| !it.fingerprint_words.is_empty())
        })
        .await;
        world.cli().run(&["devices", "revoke", "laptop", "--yes"]).await
    };
    let (pasted, reject) = tokio::join!(ann.pastes(line(&rejected, "curl")), reject);
    assert_eq!((pasted.code, reject.code), (1, 0), "{pasted:?} {reject:?}");
    assert!(pasted.stderr.contains("rejected this device"), "{pasted:?}");
    let words = ["--name", "laptop", "--preapproved", "--path", "~/other"];
    let pasted = ann.pastes(line(&invite(&world, &words).await, "curl")).await;
    assert_eq!(pasted.code, 0, "{pasted:?}");
    let text = std::fs::read_to_string(ann.home().join(".config/orion/agent.toml")).unwrap();
    assert!(text.contains("/other\"]") && !text.contains("/files"), "{text}");
    assert_eq!(ann.agent(&["uninstall", "--purge"]).await.code, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_at_a_terminal_is_asked_which_folders_may_be_used() {
    let world = World::new().await;
    serve_agent(&world).await;
    let ann = Person::new();
    let invited = invite(&world, &["--name", "laptop", "--preapproved"]).await;
    let pasted =
        ann.pastes_and_types(line(&invited, "curl"), "files\n~/files\n/srv/my $(files)\n\n").await;
    assert_eq!(pasted.code, 0, "{pasted:?}");
    assert!(pasted.stdout.contains("Which folders may be used"), "{pasted:?}");
    assert!(pasted.stdout.contains("Write the whole path"), "{pasted:?}");
    let text = std::fs::read_to_string(ann.home().join(".config/orion/agent.toml")).unwrap();
    assert!(text.contains("paths = [\"~/files\", \"/srv/my $(files)\"]"), "{text}");
    // A person may keep the state on another disk.
    let (state, big) = (ann.home().join(".local/state/orion/agent"), ann.home().join("big"));
    std::fs::rename(&state, &big).unwrap();
    std::os::unix::fs::symlink(&big, &state).unwrap();
    let removed = ann.agent(&["uninstall", "--purge"]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    for path in [&state, &big] {
        let line = format!("removed   {}", path.display());
        assert!(removed.stdout.contains(&line), "{removed:?}");
    }
    assert_eq!(ann.tree().len(), 0, "{:?}", ann.tree().keys());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_others_write_gets_no_program_and_the_line_can_be_pasted_again() {
    let world = World::new().await;
    serve_agent(&world).await;
    let ann = Person::new();
    let shared = ann.others_folder();
    let local = ann.home().join(".local");
    std::fs::create_dir(&local).unwrap();
    ann.owns(&local);
    std::os::unix::fs::symlink(&shared, local.join("bin")).unwrap();
    let invited = invite(&world, &["--name", "laptop", "--preapproved", "--path", "~/files"]).await;
    let line = line(&invited, "curl");
    let refused = ann.pastes(line).await;
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("may be written by other accounts"), "{refused:?}");
    assert!(refused.stderr.contains("paste the line again"), "{refused:?}");
    assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 0);
    assert_eq!(ann.systemctl_calls(), Vec::<String>::new());

    std::fs::remove_file(local.join("bin")).unwrap();
    let installed = ann.pastes(line).await;
    assert_eq!(installed.code, 0, "{installed:?}");
    // What is not Orion's stays, wherever it is.
    let state = ann.home().join(".local/state/orion/agent");
    std::fs::write(state.join("diary.txt"), "mine").unwrap();
    let removed = ann.agent(&["uninstall", "--purge"]).await;
    assert_eq!(removed.code, 0, "{removed:?}");
    let stays = "agent stays: it holds files that are not Orion's";
    assert!(removed.stdout.contains(stays), "{removed:?}");
    let left = std::fs::read_dir(&state).unwrap().map(|it| it.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["diary.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_of_services_that_fails_leaves_no_service() {
    let world = World::new().await;
    serve_agent(&world).await;
    let ann = Person::new();
    ann.systemctl_fails("restart");
    let invited = invite(&world, &["--name", "laptop", "--preapproved", "--path", "~/files"]).await;
    let failed = ann.pastes(line(&invited, "curl")).await;
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(
        failed.stderr.contains("systemctl --user restart orion-agent.service` failed"),
        "{failed:?}"
    );
    let left: Vec<_> = ann.tree().into_keys().collect();
    let service = left.iter().filter(|it| it.contains("systemd") || it.contains("bin"));
    assert_eq!(service.collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(
        left.iter().any(|it| it.ends_with("identity.toml") || it.contains("identity")),
        "{left:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_line_is_short_where_a_known_certificate_is_configured_and_pinned_elsewhere() {
    let mirror = Mirror::start().await;
    let world = World::configured(&format!("[downloads]\nurl = \"{}\"\n", mirror.url())).await;
    mirror.leads_to(&world.people_address());
    serve_agent(&world).await;
    let pinned = invite(&world, &["--name", "laptop"]).await;
    let script = mirror.get("/install.sh").await;
    let sha256 = orion_domain::Digest::of(&script);
    assert!(line(&pinned, "curl").contains(&format!("grep -q '^{sha256} '")), "{pinned}");
    assert!(!String::from_utf8(script).unwrap().contains(pinned["token"].as_str().unwrap()));
    let url = "https://orion.example";
    world.restart_configured(&format!("[downloads]\nurl = \"{url}\"\n")).await;
    let short = invite(&world, &["--name", "laptop"]).await;
    let token = short["token"].as_str().unwrap();
    assert_eq!(line(&short, "curl"), format!("curl -fsSL {url}/install.sh | sh -s -- {token}"));
    assert_eq!(
        line(&short, "wget"),
        format!("wget -qO- --tries=1 {url}/install.sh | sh -s -- {token}")
    );
    world.restart_configured(&format!("[downloads]\nurl = \"{url}\"\npin = true\n")).await;
    let pinned = invite(&world, &["--name", "laptop"]).await;
    assert!(line(&pinned, "curl").contains("sha256sum"), "{pinned}");
    mirror.changes(Change::None);
}
