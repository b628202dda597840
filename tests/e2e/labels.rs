//! Labels of devices: a token gives them, an admin changes them, rules of the policy judge by them, and no device chooses
//! its own.

use orion_domain::{CallState, ErrorCode, Role};
use orion_mtls::DeviceKey;
use orion_tests::{Client, Device, Enrolled, Output, World, enroll_request, enrolling};
use orion_wire::{EnrollmentToken, v1};
use serde_json::{Value, json};

/// Of a device with the label: folders are deleted without approval, and its facts are refused.
const POLICY: &str = "\
version: 1
rules:
  - { id: lab-cleans, tools: [delete_directory], devices: \"label:env=lab\", action: allow }
  - { id: lab-keeps-still, tools: [get_device_info], devices: \"label:env=lab\", action: deny }
";

fn fine(output: Output) -> Output {
    assert_eq!(output.code, 0, "{output:?}");
    output
}

/// Makes a preapproved token with these options.
async fn invited(world: &World, options: &[&str]) -> String {
    let words = [&["devices", "invite", "--preapproved", "-o", "json"], options].concat();
    let made = fine(world.cli().run(&words).await).json();
    made["token"].as_str().unwrap().to_owned()
}

/// Enrols a device with a token of its name and these labels, and starts it.
async fn labelled(world: &World, name: &str, labels: &[&str]) -> Device {
    let (device, _) = world.device(name).invite().await;
    let files = device.files().display().to_string();
    let mut options = vec!["--name", name, "--path", &files];
    labels.iter().for_each(|label| options.extend(["--label", label]));
    let token = invited(world, &options).await;
    let enrolling = device.enroll(&token);
    assert_eq!(enrolling.exit_code().await, 0, "{}", enrolling.log());
    device.run().await;
    device
}

async fn apply(world: &World, text: &str) -> Output {
    let file = world.folder().join("policy.yaml");
    std::fs::write(&file, text).unwrap();
    world.cli().run(&["policy", "apply", &file.display().to_string(), "--yes"]).await
}

/// What becomes of the two calls that the rules are about.
async fn judged(admin: &Client, device: &Device) -> [CallState; 2] {
    let folder = device.files().join("old");
    std::fs::create_dir_all(&folder).unwrap();
    let arguments = json!({"path": folder, "recursive": true, "confirm": true});
    let deleted = admin.call(&device.name, "delete_directory", arguments).await;
    let facts = admin.call(&device.name, "get_device_info", json!({})).await;
    [deleted.state, facts.state]
}

const IN_THE_LAB: [CallState; 2] = [CallState::Succeeded, CallState::Denied];
const ELSEWHERE: [CallState; 2] = [CallState::AwaitingApproval, CallState::Succeeded];

async fn labels(world: &World, device: &str) -> Value {
    let shown = fine(world.cli().run(&["devices", "show", device, "-o", "json"]).await).json();
    shown["labels"].clone()
}

/// The bodies of the audit rows of a kind, oldest first.
async fn audited(world: &World, kind: &str) -> Vec<Value> {
    let request = v1::ListAuditRequest { limit: 500, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    let bodies = rows.into_iter().rev().filter(|row| row.kind == kind).map(|row| row.body);
    bodies.map(|body| serde_json::from_str(&body).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_gives_its_labels_and_rules_judge_devices_by_them() {
    let world = World::new().await;
    let (admin, cli) = (world.admin(), world.cli());
    let plain = labelled(&world, "plain", &[]).await;
    // Nothing has the label yet, which may be a mistake in writing.
    let early = apply(&world, POLICY).await;
    assert_eq!(early.code, 1, "{early:?}");
    assert!(early.stdout.contains("No device has the label env=lab"), "{early:?}");

    // An open token is enough, so that the rules are there before the devices are.
    invited(&world, &["--label", "env=lab"]).await;
    fine(apply(&world, POLICY).await);
    let lab = labelled(&world, "lab", &["env=lab", "group=laptops"]).await;
    let other = labelled(&world, "other", &["env=labs", "group=lab"]).await;
    assert_eq!(labels(&world, "lab").await, json!({"env": "lab", "group": "laptops"}));
    assert_eq!(labels(&world, "plain").await, json!({}));
    assert_eq!(judged(admin, &lab).await, IN_THE_LAB);
    assert_eq!(judged(admin, &plain).await, ELSEWHERE);
    assert_eq!(judged(admin, &other).await, ELSEWHERE);

    for kind in ["invite.created", "device.enrolled"] {
        let labels = json!({"env": "lab", "group": "laptops"});
        let bodies = audited(&world, kind).await;
        assert!(bodies.iter().any(|body| body["labels"] == labels), "{kind}: {bodies:?}");
    }

    // They are stored, and in every list.
    world.server().stop().await;
    world.restart_server().await;
    for device in [&plain, &lab, &other] {
        device.ready().await;
    }
    assert_eq!(judged(admin, &lab).await, IN_THE_LAB);
    assert_eq!(judged(admin, &plain).await, ELSEWHERE);
    let wide = fine(cli.run(&["devices", "list", "-o", "wide"]).await);
    assert!(wide.stdout.contains("env=lab, group=laptops"), "{wide:?}");
    let page = fine(cli.run(&["devices", "show", "lab"]).await);
    assert!(page.stdout.contains("labels       env=lab, group=laptops"), "{page:?}");
    let selected =
        admin.call("backend", "list_devices", json!({"selector": "group:laptops"})).await;
    assert_eq!(selected.data()["devices"][0]["name"], "lab", "{selected:?}");
    assert_eq!(selected.data()["count"], 1, "{selected:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_label_takes_its_permission_away_at_once_on_both_sides() {
    let world = World::new().await;
    let (admin, cli) = (world.admin(), world.cli());
    let lab = labelled(&world, "lab", &["env=lab", "site=home"]).await;
    fine(apply(&world, POLICY).await);
    lab.ready().await;
    assert_eq!(judged(admin, &lab).await, IN_THE_LAB);
    let before = admin.device("lab").await.unwrap().policy_version;

    let removed = fine(cli.run(&["devices", "label", "lab", "env-", "group=laptops"]).await);
    assert!(removed.stderr.contains("lab has the labels group=laptops, site=home"), "{removed:?}");
    // The backend judges by the labels that are left when the command returns.
    assert_eq!(judged(admin, &lab).await, ELSEWHERE);
    let after = admin.device("lab").await.unwrap().policy_version;
    assert_ne!(after, before);
    // The device has taken over a policy without the rules of the label.
    lab.ready().await;
    let device = admin.device("lab").await.unwrap();
    assert_eq!((device.acknowledged_policy_version, device.policy_version), (after.clone(), after));

    // A label that no rule selects by changes nothing there.
    let idle = fine(cli.run(&["devices", "label", "lab", "site=office"]).await);
    assert!(idle.stderr.contains("group=laptops, site=office"), "{idle:?}");
    let same = admin.device("lab").await.unwrap().policy_version;
    fine(cli.run(&["devices", "label", "lab", "site=office"]).await);
    fine(cli.run(&["devices", "label", "lab", "env=lab"]).await);
    assert_eq!(judged(admin, &lab).await, IN_THE_LAB);
    lab.ready().await;
    let again = admin.device("lab").await.unwrap().policy_version;
    assert_eq!(again, before);
    assert_ne!(same, again);

    let changes: Vec<_> = audited(&world, "device.labels_set")
        .await
        .into_iter()
        .map(|body| {
            assert_eq!((&body["name"], &body["by"]), (&json!("lab"), &json!("admin")));
            (body["before"].clone(), body["after"].clone())
        })
        .collect();
    let first = json!({"env": "lab", "site": "home"});
    let second = json!({"group": "laptops", "site": "home"});
    let third = json!({"group": "laptops", "site": "office"});
    let fourth = json!({"env": "lab", "group": "laptops", "site": "office"});
    // What changed nothing is no change.
    assert_eq!(changes, [(first, second.clone()), (second, third.clone()), (third, fourth)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn labels_are_an_admins_and_what_is_no_label_is_refused() {
    let world = World::new().await;
    let lab = labelled(&world, "lab", &["env=lab"]).await;
    let cli = world.cli();
    let many: Vec<_> = (0..17).map(|number| format!("k{number}=x")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    for (words, why) in [
        (&["Env=lab"][..], "`Env` cannot be the key or the value of a label"),
        (&["env=Lab"], "`Lab` cannot be the key or the value of a label"),
        (&["env="], "cannot be the key or the value of a label"),
        (&["env"], "`env` is no label"),
        (&["env=a", "env=b"], "the label `env` is given twice"),
        (&many[..], "A device has 16 labels at most"),
    ] {
        let options: Vec<_> = words.iter().flat_map(|label| ["--label", label]).collect();
        let invite = [&["devices", "invite"], &options[..]].concat();
        let label = [&["devices", "label", "lab"], words].concat();
        for command in [invite, label] {
            let refused = cli.run(&command).await;
            assert_eq!(refused.code, 2, "{command:?}: {refused:?}");
            let said = refused.stderr.to_lowercase();
            assert!(said.contains(&why.to_lowercase()), "{command:?}: {refused:?}");
        }
    }
    // With the one that it has there would be seventeen.
    let full = [&["devices", "label", "lab"], &many[..16]].concat();
    assert_eq!(cli.run(&full).await.code, 2);
    assert_eq!(cli.run(&["devices", "label", "lab"]).await.code, 2);
    assert_eq!(cli.run(&["devices", "label", "lab", "env=a", "env-"]).await.code, 2);
    assert_eq!(cli.run(&["devices", "label", "nobody", "env=a"]).await.code, 3);
    let backend = cli.run(&["devices", "label", "backend", "env=a"]).await;
    assert!(backend.code != 0 && backend.stderr.contains("policy file"), "{backend:?}");

    for role in [Role::Operator, Role::Viewer] {
        let name = if role == Role::Operator { "ann" } else { "bob" };
        let person = world.person(name, role).await;
        for words in [
            &["devices", "label", "lab", "env=prod"][..],
            &["devices", "label", "lab", "env-"],
            &["devices", "invite", "--label", "env=lab"],
        ] {
            let refused = world.cli_of(name, &person).run(words).await;
            assert_eq!(refused.code, 5, "{words:?}: {refused:?}");
        }
    }
    assert_eq!(labels(&world, "lab").await, json!({"env": "lab"}));
    assert_eq!(audited(&world, "device.labels_set").await, [json!(null); 0]);

    // What the file says of a device counts, whatever is stored with it; and nothing is stored that would not count.
    let named =
        "devices:\n  lab: { profile: operator, paths: [\"{files}\"], labels: { env: prod } }\n";
    let named = named.replace("{files}", &lab.files().display().to_string());
    fine(apply(&world, &format!("{POLICY}{named}")).await);
    lab.ready().await;
    assert_eq!(labels(&world, "lab").await, json!({"env": "prod"}));
    assert_eq!(judged(world.admin(), &lab).await, ELSEWHERE);
    // A label that no rule selects by is a change too.
    let more = named.replace("env: prod", "env: prod, site: home");
    let more = fine(apply(&world, &format!("{POLICY}{more}")).await).shown();
    assert!(more.contains("labels + site=home"), "{more}");
    for words in [
        &["devices", "label", "lab", "env=lab"][..],
        &["devices", "invite", "--name", "lab", "--label", "env=lab"],
    ] {
        let refused = cli.run(words).await;
        assert_eq!(refused.code, 9, "{words:?}: {refused:?}");
        assert!(refused.stderr.contains("labels of lab are part of the policy"), "{refused:?}");
        assert!(refused.stderr.contains("line 6"), "{refused:?}");
    }
    fine(apply(&world, POLICY).await);
    lab.ready().await;
    assert_eq!(judged(world.admin(), &lab).await, IN_THE_LAB);
    fine(cli.run(&["devices", "revoke", "lab", "--yes"]).await);
    let ended = cli.run(&["devices", "label", "lab", "env-"]).await;
    assert_eq!(ended.code, 9, "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_cannot_choose_its_labels_by_its_name() {
    let world = World::new().await;
    let text = "\
version: 1
devices:
  web-1: { profile: operator, paths: [/srv], labels: { env: prod } }
  web-2: { profile: operator, paths: [/srv] }
rules:
  - { id: lab, tools: [read_file], devices: \"label:env=lab\", action: deny }
";
    let token = invited(&world, &["--uses", "5", "--label", "env=lab"]).await;
    fine(apply(&world, text).await);
    let token: EnrollmentToken = token.parse().unwrap();

    // With a name that the file says nothing of, the token lets it in.
    let own = Enrolled::with(&token, "web-9").await.unwrap();
    assert_eq!(own.name, "web-9");
    assert_eq!(labels(&world, "web-9").await, json!({"env": "lab"}));
    // With one of the file, an admin decides.
    let key = DeviceKey::generate().unwrap();
    let request = enroll_request(&token, "web-1", key.csr().unwrap());
    let answer = enrolling(&token).await.enroll(request).await.unwrap().into_inner();
    assert_eq!(answer.certificate, None);
    let waiting = world.admin().device("web-1").await.unwrap();
    assert_eq!(waiting.state(), v1::DeviceState::Pending);
    let call = world.admin().call("web-1", "get_datetime", json!({})).await;
    assert_eq!(call.error().code, ErrorCode::PermissionDenied);
    let enrolled = audited(&world, "device.enrolled").await;
    let why: Vec<_> = enrolled.iter().map(|body| body["pending_reason"].clone()).collect();
    assert_eq!(why, [Value::Null, json!("policy_name")]);
    let listed = fine(world.cli().run(&["devices", "list"]).await).stdout;
    let line = "web-1 waits because it chose a name for which the policy file had entries";
    assert!(listed.contains(line), "{listed}");
    assert!(!listed.contains("web-9 waits"), "{listed}");

    // The next name is free, and is not of the file.
    let second = Enrolled::with(&token, "web-1").await.unwrap();
    assert_eq!(second.name, "web-1-2");
    // A name that an admin gave is no choice of the device.
    fine(world.cli().run(&["devices", "remove", "web-1", "--yes"]).await);
    let named: EnrollmentToken = invited(&world, &["--name", "web-1"]).await.parse().unwrap();
    assert_eq!(Enrolled::with(&named, "anything").await.unwrap().name, "web-1");
    assert_eq!(labels(&world, "web-1").await, json!({"env": "prod"}));
    // A number that the backend adds to it is of nobody's choice, so an admin decides.
    let several = invited(&world, &["--name", "web", "--uses", "2"]).await;
    let several: EnrollmentToken = several.parse().unwrap();
    assert_eq!(Enrolled::with(&several, "anything").await.unwrap().name, "web");
    let request =
        enroll_request(&several, "anything", DeviceKey::generate().unwrap().csr().unwrap());
    let answer = enrolling(&several).await.enroll(request).await.unwrap().into_inner();
    assert_eq!((answer.certificate, answer.device_name.as_str()), (None, "web-2"));
}
