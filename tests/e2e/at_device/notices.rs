//! Notices on the desktop, by a program that keeps what it is given.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use orion_tests::{World, eventually};
use serde_json::json;

use super::{developer, folder};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notices_are_few_and_name_no_argument() {
    let world = World::new().await;
    // Outside of what calls may change.
    let outside = tempfile::tempdir().unwrap();
    let (program, kept) = (outside.path().join("notify.sh"), outside.path().join("kept.txt"));
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >>{}\n", kept.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n\n[consent]\ntools = [\"write_file\"]\ntimeout = 5\n\n[notices]\nran = \"low\"\npermissions = true\nprogram = \"{program}\"\n";
    let config = config.replace("{program}", &program.display().to_string());
    let kiosk = developer(&world, "kiosk", &config).await;
    let notices = || std::fs::read_to_string(&kept).unwrap_or_default();
    let count = || notices().matches("--app-name=Orion\n--\n").count();
    let seen = async |number: usize| {
        eventually("a notice", async || (count() >= number).then_some(())).await;
        Instant::now()
    };

    for number in 0..4 {
        let made = folder(&world, &kiosk, &format!("of-nobodys-concern-{number}")).await;
        assert_eq!(made.1, None, "{made:?}");
    }
    let first = seen(1).await;
    let second = seen(2).await;
    assert!(second - first > Duration::from_secs(2), "{:?}", second - first);
    let text = notices();
    assert!(text.contains("create_directory for admin runs (low risk)\n"), "{text}");
    assert!(!text.contains("concern"), "{text}");

    kiosk.grant(&json!({"profile": "developer", "paths": ["{files}"], "apps": ["firefox"]})).await;
    let path = kiosk.path("of-nobodys-concern.txt");
    let call = json!({"path": path, "content": "x"});
    drop(world.admin().call("kiosk", "write_file", call).await);
    for expected in [
        "The permissions of this device have changed\n",
        "write_file for admin waits for your answer\n",
    ] {
        eventually(expected, async || notices().contains(expected).then_some(())).await;
    }
    assert!(!notices().contains("concern"), "{}", notices());
}
