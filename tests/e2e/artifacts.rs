//! Artifacts: real archives from a real host, a program in the place of Docker as in `services.rs`, and an admin who
//! approves.
#![cfg(target_os = "linux")]

mod failures;
pub(crate) mod host;

use std::path::PathBuf;

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Client, Device, HeldModel, World, audit_of};
use orion_wire::v1;
use serde_json::{Value, json};
use sqlx::Row as _;

use super::services::DOCKER;
use host::{Host, NAME};

/// What nobody but the device may see.
const SECRET: &str = "hunter2";

/// Returns grants and a ceiling that allow artifacts of this host.
fn allowed(host: &Host) -> (Value, String) {
    let hosts = json!([format!("localhost:{}", host.port)]);
    let capabilities = json!(["artifact_install", "service_read"]);
    let grants = json!({"capabilities": capabilities, "paths": ["{files}"], "hosts": hosts});
    let ceiling = format!(
        "[ceiling]\ncapabilities = {capabilities}\npaths = [\"{{files}}\"]\nhosts = {hosts}\n\
         [artifacts]\nhttp_on_loopback = true\n"
    );
    (grants, ceiling)
}

async fn kiosk(world: &World, host: &Host, docker: &str) -> Device {
    let (grants, ceiling) = allowed(host);
    let kiosk = world.device("kiosk").grant(grants).ceiling(&ceiling).enroll().await;
    kiosk.install("docker", docker);
    kiosk.run().await;
    kiosk
}

/// Returns everything below the folder of artifacts.
fn kept(kiosk: &Device) -> Vec<String> {
    let folder = kiosk.state_dir().join("artifacts");
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn arguments(host: &Host, archive: &str, sha256: &str) -> Value {
    json!({"name": NAME, "url": host.url(archive), "sha256": sha256, "confirm": true})
}

/// Makes the call, approves it and returns its end.
async fn install(admin: &Client, arguments: Value) -> Call {
    let asked = admin.call("kiosk", "install_artifact", arguments).await;
    admin.decide(asked.approval_id(), true, "").await.unwrap();
    admin.ended(&asked.id).await.unwrap()
}

fn assert_hidden(what: &str, text: &str) {
    assert!(!text.contains(SECRET), "the secret is in {what}: {text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_artifact_is_installed_step_by_step_once_an_admin_approved_exactly_it() {
    let host = Host::start();
    let sha256 = host.offer_whole("a.tar.gz");
    let folder = tempfile::tempdir().unwrap();
    let url_file: PathBuf = folder.path().join("url");
    std::fs::write(&url_file, format!("{}\n", host.url("a.tar.gz"))).unwrap();
    let world = World::configured(&format!(
        "[artifacts.{NAME}]\nurl_file = {:?}\nsha256 = \"{sha256}\"\n",
        url_file.to_str().unwrap()
    ))
    .await;
    let kiosk = kiosk(&world, &host, DOCKER).await;
    let admin = world.admin();
    let confirmed = json!({"confirm": true});

    let absent = admin.call("kiosk", "verify_hostagent_server", json!({})).await;
    let expected = json!({"running": false, "healthy": false, "version": null});
    assert_eq!(absent.data(), &expected, "{absent:?}");
    let shown = admin.dry_run("kiosk", "setup_hostagent_server", confirmed.clone()).await;
    assert_eq!(shown.data()["steps"].as_array().unwrap().len(), 8, "{shown:?}");
    assert_eq!((kept(&kiosk), host.count("/")), (Vec::new(), 0), "a preview changes nothing");

    let bob = world.person("bob", Role::Operator).await;
    let asked = bob.call("kiosk", "setup_hostagent_server", confirmed.clone()).await;
    let request = v1::GetApprovalRequest {
        approval_id: asked.approval_id().to_owned(),
        ..Default::default()
    };
    let card = admin.approvals().get_approval(request).await.unwrap().into_inner();
    let card = card.approval.unwrap();
    let because = card.risk_because.join(" ");
    for part in [NAME, &format!("localhost:{}", host.port), &sha256] {
        assert!(because.contains(part), "{part}: {because}");
    }
    assert!(!card.can_undo && because.contains("cannot undo"), "{because}");
    assert_hidden("the card", &format!("{card:?} {}", String::from_utf8_lossy(&card.arguments)));
    assert_hidden("the preview", &String::from_utf8_lossy(&card.preview));
    assert!(bob.decide(asked.approval_id(), true, "").await.is_err(), "an admin decides");
    admin.decide(asked.approval_id(), true, "").await.unwrap();
    let done = bob.ended(&asked.id).await.unwrap();
    assert_eq!(done.data()["healthy"], true, "{done:?}");
    let steps = done.data()["steps"].as_array().unwrap();
    let names: Vec<_> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
    let expected =
        ["docker", "download", "sha256", "extract", "manifest", "install", "start", "health"];
    assert_eq!(names, expected);
    assert!(steps.iter().all(|step| step["ok"] == true), "{steps:?}");
    assert_eq!(kept(&kiosk), [NAME.to_owned(), format!("{NAME}.json")]);
    let installed = kiosk.state_dir().join("artifacts").join(NAME).join("installed.txt");
    assert_eq!(std::fs::read_to_string(installed).unwrap(), "ok");
    assert_eq!(host.requests.lock().unwrap()[0], format!("/a.tar.gz?X-Amz-Signature={SECRET}"));

    let verified = admin.call("kiosk", "verify_artifact", json!({"name": NAME})).await;
    let expected = json!({"running": true, "healthy": true, "version": "1.4.2"});
    assert_eq!(verified.data(), &expected, "{verified:?}");
    host.is_well.store(false, std::sync::atomic::Ordering::Relaxed);
    let verified = admin.call("kiosk", "verify_artifact", json!({"name": NAME})).await;
    assert_eq!(verified.data()["healthy"], false, "{verified:?}");
    let again = admin.call("kiosk", "setup_hostagent_server", confirmed).await;
    assert_eq!(again.error().code, ErrorCode::AlreadyExists, "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_secret_of_an_address_reaches_the_device_and_nobody_else() {
    let mut model = HeldModel::start().await;
    let host = Host::start();
    let sha256 = host.offer_whole("a.tar.gz");
    let world = World::configured(&model.section).await;
    let kiosk = kiosk(&world, &host, DOCKER).await;
    let admin = world.admin();
    let good = arguments(&host, "a.tar.gz", &sha256);

    let keyed = v1::CallToolRequest {
        device: "kiosk".to_owned(),
        tool: "install_artifact".to_owned(),
        arguments: good.to_string().into_bytes().into(),
        idempotency_key: "once".to_owned(),
        ..Default::default()
    };
    let asked = admin.ask(keyed.clone()).await.unwrap();
    assert_eq!(admin.ask(keyed).await.unwrap().id, asked.id, "the same call");
    assert!(asked.arguments["url"].as_str().unwrap().contains("?sha256:"), "{asked:?}");
    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    admin.decide(asked.approval_id(), true, "").await.unwrap();
    let done = admin.ended(&asked.id).await.unwrap();
    assert_eq!(done.state, CallState::Succeeded, "{done:?}");
    assert_eq!(host.requests.lock().unwrap()[0], format!("/a.tar.gz?X-Amz-Signature={SECRET}"));

    // Calls that are denied, before and after their arguments are read.
    let mut calls = vec![done];
    for (tool, key, value) in [
        ("install_artifact", "no_such", json!(1)),
        ("install_artifact", "url", json!(format!("ftp://localhost/{SECRET}"))),
        ("install_artifact", "url", json!([SECRET])),
        ("install_artifact", "url", json!(format!("https://h/?{SECRET}{}", "x".repeat(5000)))),
        ("setup_hostagent_server", "confirm", json!(false)),
    ] {
        let mut wrong = good.clone();
        wrong[key] = value;
        calls.push(admin.call("kiosk", tool, wrong.clone()).await);
        calls.push(admin.call("nowhere", tool, wrong).await);
    }
    let explained = v1::ExplainCallRequest {
        device: "kiosk".to_owned(),
        tool: "install_artifact".to_owned(),
        arguments: good.to_string().into_bytes().into(),
        ..Default::default()
    };
    let why = admin.policy().explain_call(explained).await.unwrap().into_inner();
    assert_hidden(
        "the explanation",
        &format!("{why:?} {}", String::from_utf8_lossy(&why.arguments)),
    );
    let plan = admin.plan(&[("kiosk", "install_artifact", good.clone())], false).await.unwrap_err();
    assert!(plan.message().contains("secret"), "{plan:?}");
    assert_hidden("the error of a plan", &format!("{plan:?}"));

    let mut arguments = good.clone();
    (arguments["device"], arguments["dry_run"]) = (json!("kiosk"), json!(true));
    let answering = async {
        model.asked().await.call(&[("install_artifact", arguments)]).await;
        let next = model.asked().await;
        assert_hidden("what the model gets", &next.body.to_string());
        next.answer("Done.").await;
    };
    let (answer, ()) = tokio::join!(admin.say("Set it up."), answering);
    assert_hidden("the chat", &format!("{answer:?}"));

    for call in &calls {
        let recorded = admin.recorded(&call.id).await.unwrap();
        assert_hidden("a call", &format!("{call:?} {recorded:?}"));
        assert_hidden("the audit log", &format!("{:?}", audit_of(admin, &call.id).await));
    }
    let shown = world.cli().run(&["calls", "show", &calls[0].id]).await;
    assert_hidden("the command line", &shown.shown());
    assert_hidden("the backend's log", &world.server().log());
    assert_hidden("the agent's log", &kiosk.agent().log());
    let mut record = orion_tests::open_record(&world.database()).await;
    for statement in [
        "SELECT arguments || coalesce(secrets, '') FROM calls",
        "SELECT arguments FROM approvals",
        "SELECT content_json FROM messages",
        "SELECT body FROM audit",
    ] {
        for row in sqlx::query(statement).fetch_all(&mut record).await.unwrap() {
            let bytes: Vec<u8> = row.get_unchecked(0);
            assert_hidden(statement, &String::from_utf8_lossy(&bytes));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approver_who_changes_a_call_keeps_its_secret_without_seeing_it() {
    let host = Host::start();
    let sha256 = host.offer_whole("a.tar.gz");
    let world = World::new().await;
    let kiosk = kiosk(&world, &host, DOCKER).await;
    let wrong = arguments(&host, "a.tar.gz", &"0".repeat(64));
    let asked = world.admin().call("kiosk", "install_artifact", wrong).await;
    let mut changed = asked.arguments.clone();
    changed["sha256"] = json!(sha256);
    let request = v1::DecideApprovalRequest {
        approval_id: asked.approval_id().to_owned(),
        approve: true,
        reason: String::new(),
        more: Some(v1::decide_approval_request::More::ChangedArguments(v1::ChangedArguments {
            arguments: changed.to_string().into_bytes().into(),
        })),
        details_shown: None,
        passkey: None,
    };
    let answer = world.admin().approvals().decide_approval(request).await.unwrap().into_inner();
    let made: Call = answer.changed.unwrap().into();
    assert_hidden("the changed call", &format!("{made:?}"));
    // A critical call is approved as it was changed.
    world.admin().decide(made.approval_id(), true, "").await.unwrap();
    let done = world.admin().ended(&made.id).await.unwrap();
    assert_eq!(done.data()["healthy"], true, "{done:?}");
    assert_eq!(host.requests.lock().unwrap()[0], format!("/a.tar.gz?X-Amz-Signature={SECRET}"));
    assert_eq!(kept(&kiosk).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_off_until_policy_and_owner_name_it_and_its_host() {
    let host = Host::start();
    let sha256 = host.offer_whole("a.tar.gz");
    let good = arguments(&host, "a.tar.gz", &sha256);
    let (grants, ceiling) = allowed(&host);
    let without = |key: &str| {
        let mut grants = grants.clone();
        grants.as_object_mut().unwrap().remove(key);
        grants["profile"] = json!("homelab");
        grants
    };
    let lines = |word: &str| {
        let kept = ceiling.lines().filter(|line| !line.starts_with(word));
        kept.map(|line| format!("{line}\n")).collect::<String>()
    };
    let denied = Some(ErrorCode::PermissionDenied);
    let forbidden = Some(ErrorCode::UrlForbidden);
    let world = World::new().await;
    for (number, (grants, ceiling, code)) in [
        (without("capabilities"), ceiling.clone(), denied),
        (without("hosts"), ceiling.clone(), forbidden),
        (grants.clone(), "[ceiling]\nprofile = \"homelab\"\n".to_owned(), denied),
        (grants.clone(), lines("hosts"), forbidden),
        (grants.clone(), lines("http_on_loopback"), forbidden),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("kiosk-{number}");
        let device = world.device(&name).grant(grants).ceiling(&ceiling).enroll().await;
        device.install("docker", DOCKER);
        device.run().await;
        let call = world.admin().call(&name, "install_artifact", good.clone()).await;
        assert_eq!(call.end().1, code, "{number}: {call:?}");
        assert_hidden("a denial", &format!("{call:?}"));
    }
    assert_eq!(host.count("/"), 0);
}
