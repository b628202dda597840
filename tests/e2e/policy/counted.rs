//! What `orion why` and `orion devices review` make of what happened before.

use orion_domain::CallState;
use orion_tests::World;
use serde_json::json;

use super::{applied, fine, write};

const POLICY: &str = "\
version: 1
rules:
  - id: not-so-often
    tools: [create_directory]
    action: deny
    limit: { calls: 2, per: 1h }
    because: Two folders an hour.
  - id: not-so-much
    tools: [delete_directory]
    action: deny
    above: { entries: 3 }
    because: At most three at once.
  - id: no-big-writes
    tools: [write_file]
    action: deny
    above: { bytes: 10 }
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_counts_what_happened_before_and_measures_what_would_happen() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    applied(&world, &write(&world, "policy.yaml", &kiosk, POLICY)).await;
    kiosk.ready().await;
    let cli = world.cli();
    let why = async |words: &[&str]| {
        let all = [&["why", "kiosk"], words, &["-o", "json"]].concat();
        let told = fine(cli.run(&all).await).json();
        let lines = told["evidence"].as_array().unwrap();
        let is_measured = lines.iter().all(|line| line["layer"] != "preview");
        (told["decision"].as_str().unwrap().to_owned(), is_measured)
    };
    let make = ["create_directory", "path=c"];
    for name in ["a", "b"] {
        assert_eq!(why(&make).await, ("allow".to_owned(), true));
        let made = world.admin().call("kiosk", "create_directory", json!({"path": name})).await;
        assert_eq!(made.end(), (CallState::Succeeded, None));
    }
    assert_eq!(why(&make).await, ("deny".to_owned(), true));

    kiosk.write_file("small/x.txt", "");
    for n in 0..5 {
        kiosk.write_file(&format!("large/{n}.txt"), "");
    }
    let delete = |path: &'static str| ["delete_directory", path, "recursive=true", "confirm=true"];
    assert_eq!(why(&delete("path=small")).await, ("ask".to_owned(), true));
    assert_eq!(why(&delete("path=large")).await, ("deny".to_owned(), true));
    let write = |content: &'static str| ["write_file", "path=x.txt", content];
    assert_eq!(why(&write("content=0123456789")).await, ("allow".to_owned(), true));
    assert_eq!(why(&write("content=0123456789a")).await, ("deny".to_owned(), true));
    let unasked = [&delete("path=small")[..], &["--no-device"]].concat();
    assert_eq!(why(&unasked).await, ("deny".to_owned(), false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_somebody_refused_is_no_use_of_what_is_lent() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/x.txt", "");
    let arguments = json!({"path": "old", "recursive": true, "confirm": true});
    let asked = world.admin().call("kiosk", "delete_directory", arguments).await;
    world.admin().decide(asked.approval_id(), false, "No.").await.unwrap();
    world.admin().call("kiosk", "list_directory", json!({"path": "."})).await;
    let review = ["devices", "review", "kiosk", "-o", "json"];
    let review = fine(world.cli().run(&review).await).json();
    let uses = |tool: &str| {
        let grants = review["grants"].as_array().unwrap();
        grants.iter().find(|grant| grant["entry"] == tool).unwrap()["uses"].as_u64()
    };
    assert_eq!((uses("delete_directory"), uses("list_directory")), (Some(0), Some(1)));
    assert_eq!(review["looked_since"], 0);
}
