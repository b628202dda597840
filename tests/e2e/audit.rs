//! The record: whole while nobody touches it, and when somebody does, the row is named.

use orion_tests::{Cli, Output, World, change_one_byte};
use serde_json::{Value, json};

mod sides;

/// A world with some history.
async fn world() -> World {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for path in ["a", "b", "/etc/c"] {
        world.admin().call("kiosk", "create_directory", json!({"path": path})).await;
    }
    kiosk.stop().await;
    world
}

async fn verify_on_disk(world: &World) -> Output {
    let data_dir = world.data_dir().display().to_string();
    world.cli().program("orion-server", &["audit", "verify", "--data-dir", &data_dir], b"").await
}

fn assert_names_row(output: &Output, seq: i64) {
    assert_eq!(output.code, 1, "{output:?}");
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains(&format!("row {seq}:")), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_record_verifies_with_and_without_a_backend() {
    let world = world().await;
    let running = world.cli().run(&["audit", "verify"]).await;
    assert_eq!(running.code, 0, "{running:?}");
    world.server().stop().await;
    let stopped = world.cli().run(&["audit", "verify"]).await;
    let on_disk = verify_on_disk(&world).await;
    assert_eq!((stopped.code, on_disk.code), (0, 0), "{stopped:?} {on_disk:?}");
    // What was not signed yet was signed when the backend stopped.
    let ends = |output: &Output| {
        let parts: Vec<_> = output.stdout.trim().split(", ").map(ToOwned::to_owned).collect();
        [parts[0].clone(), parts[2].clone()]
    };
    assert_eq!(ends(&running), ends(&on_disk));
    assert!(on_disk.stdout.starts_with("Audit log intact: "), "{on_disk:?}");
    assert!(!on_disk.stdout.contains(" 0 signed"), "{on_disk:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_byte_of_one_row_is_found_and_the_row_is_named() {
    let world = world().await;
    world.expect_broken_audit_log();
    world.server().stop().await;
    change_one_byte(&world.database(), 7).await;

    assert_names_row(&verify_on_disk(&world).await, 7);
    assert_names_row(&world.cli().run(&["audit", "verify"]).await, 7);
    world.restart_server().await;
    assert_names_row(&world.cli().run(&["audit", "verify"]).await, 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_verifies_by_itself_until_it_is_changed() {
    let world = world().await;
    let cli = world.cli();
    let export = world.folder().join("audit.jsonl");
    let exported = cli.run(&["audit", "export", "--file", "audit.jsonl"]).await;
    assert_eq!(exported.code, 0, "{exported:?}");
    let whole = cli.run(&["audit", "verify", "--file", "audit.jsonl"]).await;
    assert_eq!(whole.code, 0, "{whole:?}");
    let text = std::fs::read_to_string(&export).unwrap();
    let lines: Vec<&str> = text.lines().collect();

    let verify = async |lines: &[&str]| {
        std::fs::write(&export, lines.join("\n") + "\n").unwrap();
        cli.run(&["audit", "verify", "--file", "audit.jsonl"]).await
    };
    let mut row: Value = serde_json::from_str(lines[4]).unwrap();
    row["body"] = json!(row["body"].as_str().unwrap().replacen('a', "b", 1));
    let row = row.to_string();
    let changed: Vec<_> =
        lines.iter().enumerate().map(|(n, line)| if n == 4 { &row } else { *line }).collect();
    assert_names_row(&verify(&changed).await, 4);
    let removed: Vec<_> =
        lines.iter().enumerate().filter(|(n, _)| *n != 4).map(|(_, line)| *line).collect();
    assert_names_row(&verify(&removed).await, 5);
    let cut: Vec<_> = lines
        .iter()
        .enumerate()
        .filter(|(n, _)| *n != lines.len() - 3)
        .map(|(_, line)| *line)
        .collect();
    assert_eq!(verify(&cut).await.code, 1);
    assert_ne!(verify(&lines[..lines.len() - 1]).await.code, 0, "an export without its end");
    assert_ne!(verify(&["garbage"]).await.code, 0);
    assert_eq!(verify(&lines).await.code, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_stands_in_it_in_order() {
    let world = world().await;
    let cli: Cli = world.cli();
    let listed = cli.run(&["audit", "list", "-o", "json"]).await;
    let mut kinds: Vec<_> = listed
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["kind"].as_str().unwrap().to_owned())
        .collect();
    kinds.reverse();
    insta::assert_snapshot!(kinds.join("\n"));
    let shown = cli.run(&["audit", "show", "1", "-o", "json"]).await;
    assert_eq!(shown.json()["kind"], "authority.trusted");
}
