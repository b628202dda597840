//! The audit on two sides: what the backend and its devices recorded joins exactly, by both verifiers,
//! also after deaths; and a device that rewrites its own is noted.

use orion_tests::{Device, World, eventually};
use serde_json::{Value, json};

/// Makes the exports of everybody; the device's after the backend's.
async fn export(world: &World, devices: &[&Device]) -> Vec<String> {
    // An earlier export is not replaced.
    let afresh = |name: &str| {
        let file = world.folder().join(name);
        drop(std::fs::remove_file(&file));
        file.display().to_string()
    };
    let exported = world.cli().run(&["audit", "export", "--file", &afresh("audit.jsonl")]).await;
    assert_eq!(exported.code, 0, "{exported:?}");
    let again = world.cli().run(&["audit", "export", "--file", "audit.jsonl"]).await;
    assert!(again.code == 9 && again.stderr.contains("is not replaced"), "{again:?}");
    let mut files = Vec::new();
    for device in devices {
        let file = afresh(&format!("{}.jsonl", device.name));
        let exporting = device.agent_command(&["audit", "export", "--file", &file]);
        assert_eq!(exporting.exit_code().await, 0, "{}", exporting.log());
        files.push(file);
    }
    files
}

async fn key(world: &World) -> String {
    world.cli().run(&["audit", "key"]).await.stdout.trim().to_owned()
}

/// What `orion audit verify` says of the exports.
async fn joined(world: &World, files: &[String]) -> (i32, Value) {
    let key = key(world).await;
    let mut words = vec!["audit", "verify", "--file", "audit.jsonl", "-o", "json", "--key", &key];
    for file in files {
        words.extend(["--device", file]);
    }
    let said = world.cli().run(&words).await;
    (said.code, said.json())
}

/// What the verifier in Python says of them.
#[expect(clippy::disallowed_methods, reason = "the second verifier is another program")]
async fn independently(world: &World, files: &[String]) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/audit/verify.py");
    let output = tokio::process::Command::new("python3")
        .arg(script)
        .arg(world.folder().join("audit.jsonl"))
        .args(files)
        .args(["--key", &key(world).await])
        .output()
        .await
        .unwrap_or_else(|error| panic!("python3 ({error}): install it with the system's packages"));
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_sides_join_exactly_by_both_verifiers_and_after_deaths() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let laptop = world.device("laptop").start().await;
    let make = async |device: &str, path: String| {
        world.admin().call(device, "create_directory", json!({"path": path})).await
    };
    for n in 0..4 {
        make("kiosk", format!("a{n}")).await;
        make("laptop", format!("a{n}")).await;
        world.admin().call("kiosk", "list_directory", json!({})).await;
    }
    kiosk.agent().kill9().await;
    kiosk.run().await;
    make("kiosk", "b".to_owned()).await;
    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    laptop.ready().await;
    for n in 0..3 {
        make("kiosk", format!("c{n}")).await;
        make("laptop", format!("c{n}")).await;
    }

    let older = world.cli().run(&["audit", "export", "--file", "older.jsonl"]).await;
    assert_eq!(older.code, 0, "{older:?}");
    make("laptop", "d".to_owned()).await;
    let files = export(&world, &[&kiosk, &laptop]).await;
    let since = ["audit", "verify", "--file", "audit.jsonl", "--since", "older.jsonl"];
    let since = world.cli().run(&since).await;
    assert!(since.code == 0 && since.stdout.contains("goes on from the older"), "{since:?}");
    let before = ["audit", "verify", "--file", "older.jsonl", "--since", "audit.jsonl"];
    let before = world.cli().run(&before).await;
    assert!(before.code == 1 && before.stdout.contains("its end was cut off"), "{before:?}");
    let (code, verdict) = joined(&world, &files).await;
    assert_eq!((code, &verdict["whole"]), (0, &json!(true)), "{verdict}");
    let both = &verdict["joined"];
    assert_eq!((&both["calls"], &both["pending"]), (&json!(16), &json!(0)), "{verdict}");
    assert!(both["heads"].as_u64().unwrap() > 20, "{verdict}");
    let said = independently(&world, &files).await;
    assert!(said.contains("16 calls the same on both sides"), "{said}");

    // A device's file of which somebody took the beginning, with a header that goes on from there.
    let whole = std::fs::read_to_string(&files[0]).unwrap();
    let mut lines: Vec<&str> = whole.lines().collect();
    let gone: Value = serde_json::from_str(lines[3]).unwrap();
    let header: Value = serde_json::from_str(lines[0]).unwrap();
    let header = format!(
        "{{\"device_chain\":{{\"format\":1,\"device\":{},\"from\":{{\"seq\":{},\"hash\":{}}}}}}}",
        header["device_chain"]["device"], gone["seq"], gone["hash"]
    );
    drop(lines.splice(..4, [header.as_str()]));
    std::fs::write(&files[0], lines.join("\n") + "\n").unwrap();
    let (code, verdict) = joined(&world, &files).await;
    assert_eq!(code, 1, "{verdict}");
    let problem = verdict["joined"]["problems"][0].as_str().unwrap();
    assert!(problem.contains("the signature of the device's export"), "{verdict}");
    assert!(independently(&world, &files).await.contains("broken: the signature"));

    // One of which its own device took the end, and signed that.
    kiosk.stop().await;
    let chain = kiosk.state_dir().join("audit.jsonl");
    let text = std::fs::read_to_string(&chain).unwrap();
    let shorter: String = text.split_inclusive('\n').take(text.lines().count() - 1).collect();
    std::fs::write(&chain, shorter).unwrap();
    std::fs::remove_file(&files[0]).unwrap();
    let exporting = kiosk.agent_command(&["audit", "export", "--file", &files[0]]);
    assert_eq!(exporting.exit_code().await, 0, "{}", exporting.log());
    let (code, verdict) = joined(&world, &files).await;
    assert_eq!(code, 1, "{verdict}");
    assert!(verdict["joined"]["problems"][0].as_str().unwrap().contains("row "), "{verdict}");
    assert!(independently(&world, &files).await.contains("broken: row "));

    let shown = world.cli().run(&["devices", "show", "kiosk", "-o", "json"]).await.json();
    assert_eq!((&shown["chain_seq"], &shown["chain_problem"]), (&json!(8), &json!("")), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_whose_chain_ran_backwards_is_noted_and_served_all_the_same() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for path in ["a", "b", "c"] {
        world.admin().call("kiosk", "create_directory", json!({"path": path})).await;
    }
    // A call that is not acknowledged yet would be in the chain again once the agent starts.
    eventually("all three calls acknowledged", async || {
        let journal = std::fs::read_to_string(kiosk.state_dir().join("journal.log")).unwrap();
        (journal.matches(r#""entry":"acked""#).count() == 3).then_some(())
    })
    .await;
    kiosk.stop().await;
    let file = kiosk.state_dir().join("audit.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let shorter: String = text.split_inclusive('\n').take(2).collect();
    std::fs::write(&file, shorter).unwrap();
    kiosk.run().await;

    let shown = world.cli().run(&["devices", "show", "kiosk"]).await;
    assert!(shown.stdout.contains("its chain ran backwards, from entry 3 to 1"), "{shown:?}");
    let made = world.admin().call("kiosk", "create_directory", json!({"path": "d"})).await;
    assert_eq!(made.end().1, None, "{made:?}");
    let listed = world.cli().run(&["audit", "list", "-o", "json"]).await.json();
    let noted =
        listed.as_array().unwrap().iter().filter(|row| row["kind"] == "device.chain_broken");
    let said: Vec<_> = noted.map(|row| row["body"]["said"]["seq"].clone()).collect();
    assert_eq!(said, [json!(1)]);
    let verified = world.cli().run(&["audit", "verify"]).await;
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.stdout.contains("device kiosk: its chain ran backwards"), "{verified:?}");

    let files = export(&world, &[&kiosk]).await;
    let (code, verdict) = joined(&world, &files).await;
    assert_eq!((code, &verdict["whole"]), (1, &json!(true)), "{verdict}");
    // What was noticed outlives the backend.
    world.server().kill9().await;
    world.restart_server().await;
    eventually("the problem in the record", async || {
        let shown = world.cli().run(&["devices", "show", "kiosk"]).await;
        shown.stdout.contains("ran backwards").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_device_shows_and_follows_its_own_audit() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let nothing = kiosk.agent_command(&["audit", "show"]);
    assert_eq!((nothing.exit_code().await, nothing.log().contains("nothing yet")), (0, true));
    let made = world.admin().call("kiosk", "create_directory", json!({"path": "a"})).await;
    let shown = kiosk.agent_command(&["audit", "show"]);
    assert_eq!(shown.exit_code().await, 0);
    let line = format!("{}  create_directory    succeeded", made.id);
    assert!(shown.log().contains(&line), "{}", shown.log());
    let verified = kiosk.agent_command(&["audit", "verify"]);
    assert_eq!(verified.exit_code().await, 0);
    assert!(
        verified.log().contains("Audit log intact: entries 1 to 1, head "),
        "{}",
        verified.log()
    );
    kiosk.stop().await;
    let file = kiosk.state_dir().join("audit.jsonl");
    let text =
        std::fs::read_to_string(&file).unwrap().replace("create_directory", "created_by_them");
    std::fs::write(&file, text).unwrap();
    let broken = kiosk.agent_command(&["audit", "verify"]);
    assert_eq!(broken.exit_code().await, 1);
    assert!(broken.log().contains("entry 1 of the device: its content was changed"));
}
