//! Backups: made while calls run, restored elsewhere, and taken by the devices that know of more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use orion_tests::{Output, World, eventually};
use orion_wire::v1;
use serde_json::json;

async fn server(world: &World, words: &[&str]) -> Output {
    let data_dir = world.data_dir().display().to_string();
    world.cli().program("orion-server", &[words, &["--data-dir", &data_dir]].concat(), b"").await
}

async fn make(world: &World, path: String) -> bool {
    let made = world.admin().call("kiosk", "create_directory", json!({"path": path})).await;
    made.end().1.is_none()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_made_under_load_is_restored_elsewhere_and_devices_come_back() {
    let world = Arc::new(World::new().await);
    let kiosk = world.device("kiosk").start().await;
    let stop = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..4)
        .map(|worker| {
            let (world, stop) = (Arc::clone(&world), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut made = 0;
                while !stop.load(Ordering::Relaxed) {
                    assert!(make(&world, format!("w{worker}-{made}")).await);
                    made += 1;
                }
                made
            })
        })
        .collect();
    eventually("some calls", async || (kiosk.tree().len() > 20).then_some(())).await;
    let folder = world.folder().join("backup").display().to_string();
    let backup = server(&world, &["backup", &folder]).await;
    assert_eq!(backup.code, 0, "{backup:?}");
    let before = kiosk.tree().len();
    eventually("more calls", async || (kiosk.tree().len() > before + 20).then_some(())).await;
    stop.store(true, Ordering::Relaxed);
    for worker in load {
        worker.await.unwrap();
    }
    assert_eq!(server(&world, &["check"]).await.code, 0);
    #[cfg(unix)]
    for entry in std::fs::read_dir(&folder).unwrap() {
        use std::os::unix::fs::PermissionsExt as _;
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.file_name());
    }

    // The backend and its folder are lost; a folder that is not empty is not touched.
    world.server().kill9().await;
    let refused = server(&world, &["restore", &folder]).await;
    assert!(refused.code == 1 && refused.stderr.contains("is not empty"), "{refused:?}");
    std::fs::rename(world.data_dir(), world.folder().join("lost")).unwrap();
    let restored = server(&world, &["restore", &folder]).await;
    assert_eq!(restored.code, 0, "{restored:?}");
    let checked = server(&world, &["check"]).await;
    assert!(checked.code == 0 && checked.stdout.starts_with("Database intact: "), "{checked:?}");
    assert!(checked.stdout.contains("\nAudit log intact: "), "{checked:?}");

    world.restart_server().await;
    kiosk.ready().await;
    assert!(make(&world, "after".to_owned()).await);
    let listed = world.cli().run(&["audit", "list", "--limit", "1000", "-o", "json"]).await.json();
    let of =
        |kind: &str| listed.as_array().unwrap().iter().filter(|row| row["kind"] == kind).count();
    assert_eq!((of("server.restored"), of("device.other_history")), (1, 1));
    let shown = world.cli().run(&["devices", "show", "kiosk"]).await;
    assert!(shown.stdout.contains("restored to an older state"), "{shown:?}");
    assert_eq!(world.cli().run(&["audit", "verify"]).await.code, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_was_changed_is_not_restored() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    assert!(make(&world, "a".to_owned()).await);
    kiosk.stop().await;
    let folder = world.folder().join("backup");
    let text = folder.display().to_string();
    assert_eq!(server(&world, &["backup", &text]).await.code, 0);
    let again = server(&world, &["backup", &text]).await;
    assert!(again.code == 1 && again.stderr.contains("is there already"), "{again:?}");

    let target = world.folder().join("target");
    let restore = async || {
        let target = target.display().to_string();
        let words = ["restore", &text, "--data-dir", &target];
        world.cli().program("orion-server", &words, b"").await
    };
    for name in ["orion.db", "ca.key", "audit.key", "manifest.json"] {
        let path = folder.join(name);
        let whole = std::fs::read(&path).unwrap();
        let mut changed = whole.clone();
        let at = whole.len() / 2;
        changed[at] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        let refused = restore().await;
        assert_eq!(refused.code, 1, "{name}: {refused:?}");
        assert_eq!(std::fs::read_dir(&target).map_or(0, Iterator::count), 0, "{name}");
        std::fs::write(&path, &whole).unwrap();
    }
    assert_eq!(restore().await.code, 0);
    assert!(target.join("orion.db").exists() && !target.join(".restoring").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_record_put_in_place_is_found_and_the_way_on_stands_in_the_audit() {
    let world = World::new().await;
    let row = async || {
        let request = v1::InviteDeviceRequest::default();
        world.admin().devices().invite_device(request).await.unwrap();
    };
    row().await;
    // What is new is signed when the backend stops.
    world.server().stop().await;
    let older = std::fs::read(world.database()).unwrap();
    world.restart_server().await;
    row().await;
    world.server().stop().await;
    assert_eq!(server(&world, &["check"]).await.code, 0);
    std::fs::write(world.database(), older).unwrap();
    let found = server(&world, &["check"]).await;
    assert_eq!(found.code, 1, "{found:?}");
    assert!(found.stdout.contains("those behind are not there (audit.head"), "{found:?}");
    let to = world.folder().join("backup").display().to_string();
    assert_eq!(server(&world, &["backup", &to]).await.code, 1);

    // The backend serves, and signs nothing of it.
    world.restart_server().await;
    row().await;
    let verified = world.cli().run(&["audit", "verify"]).await;
    assert!(verified.code == 1 && verified.stdout.contains("reset-signing"), "{verified:?}");
    let anew = ["audit", "reset-signing", "--reason", "the newer one is lost"];
    let refused = server(&world, &anew).await;
    assert!(
        refused.code == 1 && refused.stderr.contains("a backend is running with"),
        "{refused:?}"
    );
    world.server().stop().await;
    assert_eq!(server(&world, &["check"]).await.code, 1);
    let done = server(&world, &anew).await;
    assert_eq!(done.code, 0, "{done:?}");
    world.restart_server().await;
    assert_eq!(world.cli().run(&["audit", "verify"]).await.code, 0);
    let listed = world.cli().run(&["audit", "list", "--limit", "1000", "-o", "json"]).await.json();
    let anew = listed.as_array().unwrap().iter().filter(|row| row["kind"] == "audit.signed_anew");
    assert_eq!(anew.count(), 1);
    world.server().stop().await;
    assert_eq!(server(&world, &["backup", &to]).await.code, 0);
}
