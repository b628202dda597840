//! The policy file: what it lends, how it comes to devices, what is kept out, and going back.

mod counted;
mod history;
mod reported;
mod ten_denials;
mod there;

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Device, Output, World, eventually};
use orion_wire::v1;
use serde_json::{Value, json};

fn fine(output: Output) -> Output {
    assert_eq!(output.code, 0, "{output:?}");
    output
}

/// Writes a policy file, with the device's folder in place of `{files}`.
fn write(world: &World, name: &str, device: &Device, text: &str) -> String {
    let path = world.folder().join(name);
    let files = device.files().display().to_string();
    std::fs::write(&path, text.replace("{files}", &files)).unwrap();
    path.display().to_string()
}

/// What kinds of rows about policies and modes the audit holds, oldest first, with what they say.
async fn audited(world: &World, kinds: &[&str]) -> Vec<(String, Value)> {
    let request = v1::ListAuditRequest { limit: 500, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    rows.into_iter()
        .rev()
        .filter(|row| kinds.contains(&row.kind.as_str()))
        .map(|row| (row.kind, serde_json::from_str(&row.body).unwrap()))
        .collect()
}

async fn applied(world: &World, path: &str) -> Output {
    fine(world.cli().run(&["policy", "apply", path, "--yes"]).await)
}

/// The story that it began with, as far as a device of this system can tell it.
const SEED: &str = "\
version: 1
devices:
  laptop-123:
    allowed_tools: [create_directory, open_app, delete_directory, list_directory]
    allowed_paths: [\"{files}/home\", \"{files}/projects\"]
    allowed_apps: [chrome, code]
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_seed_story_is_told_by_a_policy_file() {
    let world = World::new().await;
    let laptop = world.device("laptop-123").grant(json!({})).start().await;
    for folder in ["home", "home2", "projects/old"] {
        std::fs::create_dir_all(laptop.files().join(folder)).unwrap();
    }
    let admin = world.admin();
    let nothing = admin.call("laptop-123", "create_directory", json!({"path": "x"})).await;
    assert_eq!(nothing.state, CallState::Denied);

    applied(&world, &write(&world, "policy.yaml", &laptop, SEED)).await;
    laptop.ready().await;

    let inside = json!({"path": laptop.path("home/Test")});
    let call = admin.call("laptop-123", "create_directory", inside).await;
    assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
    assert!(laptop.files().join("home/Test").is_dir());

    let roots = [laptop.path("home"), laptop.path("projects")];
    for outside in [laptop.path("home2/x"), laptop.path("home/../home2/x"), "/etc/Test".to_owned()]
    {
        let arguments = json!({"path": outside});
        let call = admin.call("laptop-123", "create_directory", arguments).await;
        assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::PathNotAllowed)), "{outside}");
        assert_eq!(call.error().details["allowed_paths"], json!(roots));
        assert!(call.error().details["attempted_path"].is_string());
    }
    let call = admin.call("laptop-123", "open_app", json!({"app": "notepad"})).await;
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::AppNotWhitelisted)));
    assert_eq!(call.error().details["allowed_apps"], json!(["chrome", "code"]));

    let old = json!({"path": laptop.path("projects/old"), "recursive": true});
    let call = admin.call("laptop-123", "delete_directory", old.clone()).await;
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::ConfirmationRequired)));
    let mut confirmed = old;
    confirmed["confirm"] = json!(true);
    let call = admin.call("laptop-123", "delete_directory", confirmed).await;
    admin.decide(call.approval_id(), true, "").await.unwrap();
    let call = admin.ended(&call.id).await.unwrap();
    assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
    assert!(!laptop.files().join("projects/old").exists());
}

const FIRST: &str = "\
version: 1
devices:
  kiosk:
    profile: operator
    paths: [\"{files}\"]
";

const NARROW: &str = "\
version: 1
devices:
  kiosk:
    profile: reader
    paths: [{ path: \"{files}\", access: [read] }]
rules:
  - id: no-facts
    tools: [get_device_info]
    action: deny
    because: \"Nobody needs to know.\"
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_version_comes_back_with_warnings_of_what_is_not_there_any_more() {
    let world = World::new().await;
    let gone = world.device("gone").enroll().await;
    let cli = world.cli();
    let rule = "version: 1\nrules: [{ id: r, devices: [gone], tools: [read_file], action: ask }]\n";
    let first = write(&world, "first.yaml", &gone, rule);
    applied(&world, &first).await;
    applied(&world, &write(&world, "second.yaml", &gone, "version: 1\n")).await;
    fine(cli.run(&["devices", "remove", "gone", "--yes"]).await);
    let new = cli.run(&["policy", "check", &first]).await;
    assert!(new.code != 0 && new.stdout.contains("error["), "{new:?}");
    let back = fine(cli.run(&["policy", "rollback", "1", "--yes"]).await).shown();
    assert!(back.contains("warning[unknown-device]") && back.contains("`gone`"), "{back}");
    assert!(!back.contains("error["), "{back}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_example_that_needs_a_devices_home_keeps_no_accepted_policy_from_loading() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (cli, admin) = (world.cli(), world.admin());
    let files = kiosk.files();
    let home = files.parent().unwrap();
    let below = files.strip_prefix(home).unwrap().display();
    let rule = |because: &str| {
        format!(
            "version: 1
devices:
  kiosk: {{ profile: operator, paths: [\"~/{below}\"] }}
rules:
  - id: live-stays
    tools: [delete_file]
    paths: [\"~/{below}/live/**\"]
    action: deny
    because: {because}
    examples: {{ match: [\"delete_file path={{files}}/live/a.txt device=kiosk\"] }}
"
        )
    };
    let first = write(&world, "first.yaml", &kiosk, &rule("It is live."));
    let offline = fine(cli.run(&["policy", "check", "--offline", &first]).await);
    assert!(!offline.shown().contains("example"), "{offline:?}");
    applied(&world, &first).await;
    kiosk.write_file("live/a.txt", "x");
    let denied = async || {
        let arguments = json!({"path": "live/a.txt", "confirm": true});
        let call = admin.call("kiosk", "delete_file", arguments).await;
        assert_eq!(call.error().details["rule"], "rule live-stays (policy.yaml:5)", "{call:?}");
    };
    denied().await;
    let wrong = rule("Other.").replace("{files}/live", "{files}/other");
    let refused = cli.run(&["policy", "check", &write(&world, "wrong.yaml", &kiosk, &wrong)]).await;
    assert!(refused.stdout.contains("error[example-fails]"), "the place is known: {refused:?}");

    applied(&world, &write(&world, "second.yaml", &kiosk, &rule("Second."))).await;
    // The backend loads the second version, and goes back to the first one, before any device has reported its places.
    for (roll_back, path) in [(false, "x"), (true, "y")] {
        kiosk.agent().kill9().await;
        world.server().stop().await;
        world.restart_server().await;
        if roll_back {
            fine(cli.run(&["policy", "rollback", "1", "--yes"]).await);
        }
        kiosk.run().await;
        kiosk.ready().await;
        denied().await;
        let made = admin.call("kiosk", "create_directory", json!({"path": path})).await;
        assert_eq!(made.end(), (CallState::Succeeded, None), "{made:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_comes_to_its_devices_and_goes_back_by_version() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let other = world.device("other").start().await;
    let (cli, admin) = (world.cli(), world.admin());
    let shown = fine(cli.run(&["policy", "show"]).await);
    assert!(shown.stderr.contains("no policy was ever applied"), "{shown:?}");

    let first = write(&world, "first.yaml", &kiosk, FIRST);
    applied(&world, &first).await;
    let again = applied(&world, &first).await;
    assert!(again.stderr.contains("version 1 "), "what holds already makes no version: {again:?}");
    let narrow = write(&world, "narrow.yaml", &kiosk, NARROW);
    let checked = fine(cli.run(&["policy", "check", &narrow]).await);
    insta::assert_snapshot!("check", world.seen().in_text(&checked.shown()));
    let put = fine(
        cli.run(&["policy", "apply", &narrow, "--yes", "--note", "readers only", "-o", "json"])
            .await,
    );
    assert_eq!(put.json()["version"]["version"], 2);
    kiosk.ready().await;
    other.ready().await;

    let call = admin.call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)));
    // The file names the device, so `devices permissions set` would be refused.
    let hints: Vec<_> = call.error().hints.iter().filter_map(|hint| hint.command.clone()).collect();
    let steps = "orion policy show > policy.yaml, change line 3 or the profile that it names, then orion policy apply policy.yaml";
    assert_eq!(hints[0], steps);
    // A rule without devices holds on those that the file does not name, which keep their grants.
    let call = admin.call("other", "get_device_info", json!({})).await;
    assert_eq!(call.error().details["rule"], "rule no-facts (policy.yaml:7)");
    let call = admin.call("other", "create_directory", json!({"path": "x"})).await;
    assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");

    let grants = world.folder().join("grants.yaml");
    std::fs::write(&grants, "profile: operator\n").unwrap();
    let set = ["devices", "permissions", "set", "kiosk", &grants.display().to_string()];
    let refused = cli.run(&set).await;
    assert_eq!(refused.code, 9, "{refused:?}");
    assert!(refused.stderr.contains("are part of the policy, version 2, line 3"), "{refused:?}");

    let back = ["policy", "rollback", "1", "--yes", "--note", "too narrow"];
    let back = fine(cli.run(&back).await);
    // The devices are known, so that nothing is said of unknown ones.
    assert!(!back.shown().contains("warning"), "{back:?}");
    kiosk.ready().await;
    let call = admin.call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
    for back in ["1", "3"] {
        let again = fine(cli.run(&["policy", "rollback", back, "--yes"]).await);
        assert!(again.stderr.contains("active already; nothing changed"), "{again:?}");
    }
    let history = fine(cli.run(&["policy", "history"]).await);
    insta::assert_snapshot!("history", world.seen().in_text(&history.stdout));
    let diff = fine(cli.run(&["policy", "diff", "2", "3"]).await);
    insta::assert_snapshot!("diff", world.seen().in_text(&diff.shown()));

    // It survives a restart, and the text is kept to the byte.
    world.server().stop().await;
    world.restart_server().await;
    let text = std::fs::read_to_string(&first).unwrap();
    let shown = fine(cli.run(&["policy", "show", "-o", "json"]).await).json();
    assert_eq!((&shown["text"], &shown["version"]), (&json!(text), &json!(3)));
    let call = admin.call("other", "get_device_info", json!({})).await;
    assert_ne!(call.state, CallState::Denied, "{call:?}");

    let rows = audited(&world, &["policy.applied", "policy.rolled_back", "policy.refused"]).await;
    let seen: Vec<_> = rows
        .iter()
        .map(|(kind, body)| (kind.as_str(), body["version"].clone(), body["by"].clone()))
        .collect();
    assert_eq!(
        seen,
        [
            ("policy.applied", json!(1), json!("admin")),
            ("policy.applied", json!(2), json!("admin")),
            ("policy.rolled_back", json!(3), json!("admin")),
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_is_away_lags_until_it_is_back() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    applied(&world, &write(&world, "first.yaml", &kiosk, FIRST)).await;
    kiosk.ready().await;
    kiosk.stop().await;
    applied(&world, &write(&world, "narrow.yaml", &kiosk, NARROW)).await;
    let there = async || {
        let shown = fine(world.cli().run(&["policy", "show", "-o", "json"]).await).json();
        shown["devices"][0]["is_active"].clone()
    };
    assert_eq!(there().await, json!(false));
    let shown = fine(world.cli().run(&["policy", "show"]).await);
    assert!(shown.stderr.contains("lags, away"), "{shown:?}");
    let listed = fine(world.cli().run(&["devices", "list"]).await);
    assert!(listed.stdout.contains("not yet on the device"), "{listed:?}");
    kiosk.run().await;
    assert_eq!(there().await, json!(true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_policy_stays_out_and_the_attempt_is_on_record() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    applied(&world, &write(&world, "first.yaml", &kiosk, FIRST)).await;
    kiosk.ready().await;
    let bad = "version: 1\ndevices:\n  kiosk:\n    tools: [read_fil]\n    pathes: [\"/\"]\n";
    let bad = write(&world, "bad.yaml", &kiosk, bad);
    for arguments in [vec!["policy", "check", &bad, "--offline"], vec!["policy", "check", &bad]] {
        let checked = world.cli().run(&arguments).await;
        assert_eq!(checked.code, 1, "{checked:?}");
        assert!(checked.stdout.contains("bad.yaml:4:13: error[unknown-tool]"), "{checked:?}");
        assert!(checked.stdout.contains("bad.yaml:5:5: error[unknown-key]"), "{checked:?}");
    }
    let refused = world.cli().run(&["policy", "apply", &bad, "--yes"]).await;
    assert_eq!(refused.code, 1, "{refused:?}");
    insta::assert_snapshot!("bad", world.seen().in_text(&refused.shown()));
    let call = world.admin().call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
    let rows = audited(&world, &["policy.refused"]).await;
    assert_eq!((rows.len(), &rows[0].1["errors"]), (1, &json!(2)));

    // One that is too large is not read, and on record all the same.
    let text = " ".repeat(1024 * 1024 + 1);
    let large = v1::ApplyPolicyRequest { text, expected_version: -1, note: String::new() };
    let status = world.admin().policy().apply_policy(large).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::InvalidArgument, "{status:?}");
    let rows = audited(&world, &["policy.refused"]).await;
    let last = rows.last().map(|(_, body)| (body["by"].clone(), body["size_bytes"].clone()));
    assert_eq!((rows.len(), last), (2, Some((json!("admin"), json!(1_048_577)))));

    // Somebody else was first: what was looked at is not what would be replaced.
    let text = std::fs::read_to_string(world.folder().join("first.yaml")).unwrap();
    let late = v1::ApplyPolicyRequest { text, expected_version: 0, note: String::new() };
    let status = world.admin().policy().apply_policy(late).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::FailedPrecondition, "{status:?}");
    // And it takes an admin.
    let bob = world.person("bob", Role::Operator).await;
    let path = write(&world, "first.yaml", &kiosk, FIRST);
    let denied = world.cli_of("bob", &bob).run(&["policy", "apply", &path, "--yes"]).await;
    assert_eq!(denied.code, 5, "{denied:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_mode_dangerous_lifts_the_tool_list_and_ends_by_itself() {
    let world = World::new().await;
    let grants = json!({"tools": ["list_directory"], "paths": ["{files}"]});
    let kiosk = world.device("kiosk").grant(grants).start().await;
    let (cli, admin) = (world.cli(), world.admin());
    let make =
        async |path: &str| admin.call("kiosk", "create_directory", json!({"path": path})).await;
    assert_eq!(make("x").await.state, CallState::Denied);

    let bare = cli.run(&["devices", "mode", "kiosk", "dangerous"]).await;
    assert_eq!(bare.code, 2, "{bare:?}");
    let long = ["devices", "mode", "kiosk", "dangerous", "--for", "9h", "--reason", "x"];
    assert_eq!(cli.run(&long).await.code, 2);
    let mode = ["devices", "mode", "kiosk", "dangerous", "--for", "1h", "--reason", "Moving in"];
    fine(cli.run(&mode).await);
    kiosk.ready().await;
    let call = make("x").await;
    assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
    let outside = make("/etc/x").await;
    assert_eq!(outside.end(), (CallState::Denied, Some(ErrorCode::PathNotAllowed)), "{outside:?}");
    let listed = fine(cli.run(&["devices", "list"]).await);
    assert!(listed.stdout.contains("approved, DANGEROUS"), "{listed:?}");
    let shown = fine(cli.run(&["devices", "show", "kiosk"]).await);
    assert!(shown.stdout.contains("by admin: Moving in"), "{shown:?}");
    let why = fine(cli.run(&["why", "kiosk", "create_directory", "path=y"]).await);
    assert!(why.stdout.contains("in the mode dangerous, by admin: Moving in"), "{why:?}");

    fine(cli.run(&["devices", "mode", "kiosk", "safe"]).await);
    kiosk.ready().await;
    assert_eq!(make("y").await.state, CallState::Denied);
    let short = ["devices", "mode", "kiosk", "dangerous", "--for", "1s", "--reason", "A second"];
    fine(cli.run(&short).await);
    eventually("the end of the mode", async || {
        admin.device("kiosk").await.unwrap().dangerous.is_none().then_some(())
    })
    .await;
    let rows = eventually("the end of the mode on record", async || {
        let rows = audited(&world, &["device.mode_began", "device.mode_ended"]).await;
        (rows.len() == 4).then_some(rows)
    })
    .await;
    kiosk.ready().await;
    assert_eq!(make("z").await.state, CallState::Denied);
    let by: Vec<_> = rows.iter().map(|(kind, body)| (kind.as_str(), body["by"].clone())).collect();
    assert_eq!(
        by,
        [
            ("device.mode_began", json!("admin")),
            ("device.mode_ended", json!("admin")),
            ("device.mode_began", json!("admin")),
            ("device.mode_ended", Value::Null),
        ]
    );
}
