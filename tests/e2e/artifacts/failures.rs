//! Installations that fail at each step, and what is left of them.

use std::sync::atomic::Ordering;

use orion_tests::eventually;
use tar::EntryType;

use super::host::Made;
use super::*;

/// Returns the steps of a failed installation: the name of the last, and whether the ones before were done.
fn failed_step(call: &Call) -> String {
    let steps = call.error().details["steps"].as_array().unwrap().clone();
    let (last, before) = steps.split_last().unwrap();
    assert!(before.iter().all(|step| step["ok"] == true) && last["ok"] == false, "{steps:?}");
    last["name"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_fails_undoes_what_was_begun() {
    let host = Host::start();
    let world = World::new().await;
    let kiosk = kiosk(&world, &host, DOCKER).await;
    let whole = || Made::new().whole(&host, "#!/bin/sh\nexit 0\n");
    let outside = kiosk.files().join("outside");
    let leads_out = "../../../../../../../../../../tmp/orion-outside";
    let other = r#"{"name":"other","version":"1","install":"a","compose_file":"b","health_url":"http://localhost:1/"}"#;
    let archives = [
        ("traversal", whole().file(leads_out, "x"), "extract"),
        ("absolute", whole().file(outside.to_str().unwrap(), "x"), "extract"),
        ("link", whole().entry(EntryType::Symlink, "link", b""), "extract"),
        ("bomb", whole().entry(EntryType::Regular, "zeros", &vec![0; 40 * 1024 * 1024]), "extract"),
        ("empty", Made::new(), "manifest"),
        ("other", Made::new().file("manifest.json", other), "manifest"),
        ("script", Made::new().whole(&host, "#!/bin/sh\necho broken >&2\nexit 3\n"), "install"),
        ("interpreter", Made::new().whole(&host, "no script"), "install"),
    ];
    for (name, made, step) in archives {
        let sha256 = host.offer(name, made.bytes());
        let failed = install(world.admin(), arguments(&host, name, &sha256)).await;
        assert_eq!(failed_step(&failed), step, "{name}: {failed:?}");
        assert_eq!(failed.error().details["undone"], true, "{name}: {failed:?}");
        assert_eq!(kept(&kiosk), Vec::<String>::new(), "{name}");
        assert_hidden("an error", &format!("{failed:?}"));
    }
    assert!(!outside.exists() && !std::path::Path::new("/tmp/orion-outside").exists());

    let sha256 = host.offer("cut.tar.gz", whole().bytes());
    host.offer("good.tar.gz", whole().bytes());
    let wrong = "0".repeat(64);
    for (archive, sha256, code) in [
        ("good.tar.gz", &wrong, ErrorCode::PreconditionFailed),
        ("cut.tar.gz", &sha256, ErrorCode::ExecutionFailed),
        ("away.tar.gz", &sha256, ErrorCode::ExecutionFailed),
        ("missing.tar.gz", &sha256, ErrorCode::ExecutionFailed),
    ] {
        let failed = install(world.admin(), arguments(&host, archive, sha256)).await;
        let step = if code == ErrorCode::PreconditionFailed { "sha256" } else { "download" };
        assert_eq!((failed_step(&failed).as_str(), failed.error().code), (step, code));
        assert!(failed.error().message.contains("installed nothing"), "{failed:?}");
        assert_eq!(kept(&kiosk), Vec::<String>::new(), "{archive}");
        assert_hidden("an error", &format!("{failed:?}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_that_do_not_start_are_taken_down_and_what_stays_is_said() {
    let host = Host::start();
    let sha256 = host.offer_whole("a.tar.gz");
    let world = World::new().await;
    let kiosk = kiosk(&world, &host, DOCKER).await;
    let good = arguments(&host, "a.tar.gz", &sha256);
    let without = |word: &str, why: &str| {
        let (before, after) = DOCKER.split_once("case \"$*\" in").unwrap();
        format!("{before}case \"$*\" in\n  *\" {word}\"*) echo '{why}' >&2; exit 1 ;;\n{after}")
    };
    kiosk.install("docker", &without("up", "no such image"));
    let failed = install(world.admin(), good.clone()).await;
    assert_eq!(failed_step(&failed), "start", "{failed:?}");
    let message = &failed.error().message;
    assert!(message.contains("no such image") && message.contains("were removed"), "{message}");
    assert_eq!(kept(&kiosk), Vec::<String>::new());

    // Both fail: what stays is said, and removed by the next installation.
    let neither = without("up", "no such image");
    let neither = neither.replace("  *\" up\"*)", "  *\" up\"* | *\" down\"*)");
    kiosk.install("docker", &neither);
    let failed = install(world.admin(), good.clone()).await;
    let message = &failed.error().message;
    assert_eq!(failed.error().details["undone"], false, "{failed:?}");
    assert!(message.contains("docker compose --project-name orion-"), "{message}");
    assert_eq!(kept(&kiosk), [NAME]);
    kiosk.install("docker", DOCKER);

    host.is_well.store(false, Ordering::Relaxed);
    let request = v1::CallToolRequest {
        device: "kiosk".to_owned(),
        tool: "install_artifact".to_owned(),
        arguments: good.to_string().into_bytes().into(),
        timeout_ms: 10_000,
        ..Default::default()
    };
    let asked = world.admin().ask(request).await.unwrap();
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    let failed = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(failed_step(&failed), "health", "{failed:?}");
    let docker = failed.error().details["steps"][0]["detail"].as_str().unwrap().to_owned();
    assert!(docker.contains("interrupted installation left was removed"), "{docker}");
    assert!(failed.error().message.contains("status 503"), "{failed:?}");
    assert_eq!(kept(&kiosk), Vec::<String>::new());

    // Containers that no installation accounts for are left alone.
    let foreign =
        DOCKER.replace("project=orion-\"*) ;;", "project=orion-\"*) printf '0a1b2c3d4e5f\\n' ;;");
    kiosk.install("docker", &foreign);
    let failed = world.admin().call("kiosk", "install_artifact", good.clone()).await;
    assert_eq!(failed.error().code, ErrorCode::AlreadyExists, "{failed:?}");
    kiosk.install("docker", "#!/bin/sh\nexit 1\n");
    let failed = world.admin().call("kiosk", "install_artifact", good).await;
    assert_eq!(failed.error().code, ErrorCode::NotSupported, "{failed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_that_is_cancelled_or_takes_too_long_is_undone() {
    let host = Host::start();
    let world = World::new().await;
    let kiosk = kiosk(&world, &host, DOCKER).await;
    let whole = Made::new().whole(&host, "#!/bin/sh\nsleep 600\n").bytes();
    let admin = world.admin();
    for (archive, step, is_cancelled) in [
        ("slow.tar.gz", "download", true),
        ("good.tar.gz", "install", true),
        ("good.tar.gz", "install", false),
    ] {
        let sha256 = host.offer(archive, whole.clone());
        let before = host.count(&format!("/{archive}"));
        let request = v1::CallToolRequest {
            device: "kiosk".to_owned(),
            tool: "install_artifact".to_owned(),
            arguments: arguments(&host, archive, &sha256).to_string().into_bytes().into(),
            timeout_ms: if is_cancelled { 60_000 } else { 6_000 },
            ..Default::default()
        };
        let asked = admin.ask(request).await.unwrap();
        admin.decide(asked.approval_id(), true, "").await.unwrap();
        eventually("the step runs", async || {
            let is_there = step != "install" || !kept(&kiosk).is_empty();
            (is_there && host.count(&format!("/{archive}")) > before).then_some(())
        })
        .await;
        if is_cancelled {
            let request = v1::CancelCallRequest { call_id: asked.id.clone() };
            admin.tools().cancel_call(request).await.unwrap();
        }
        let failed = admin.ended(&asked.id).await.unwrap();
        let code = if is_cancelled { ErrorCode::Cancelled } else { ErrorCode::Timeout };
        assert_eq!((failed_step(&failed).as_str(), failed.error().code), (step, code));
        assert_eq!(failed.error().details["undone"], true, "{failed:?}");
        assert_eq!(kept(&kiosk), Vec::<String>::new());
    }
}
