//! `orion redteam`: attacks on the person's own policy and devices, by dry run.

use orion_domain::Role;
use orion_tests::World;
use orion_wire::v1;
use serde_json::{Value, json};

fn group<'a>(report: &'a Value, kind: &str, aim: &str) -> &'a Value {
    let groups = report["groups"].as_array().unwrap().iter();
    groups.clone().find(|it| it["kind"] == kind && it["aim"] == aim).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_gets_through_by_default_and_what_a_rule_lets_through_is_named_with_what_stops_it()
{
    let world = World::new().await;
    let laptop = world.device("laptop").start().await;
    let _nas = world.device("nas").start().await;
    laptop.write_file("reports/2024.txt", "A good year.\n");
    let before = laptop.tree();
    let cli = world.cli();
    let held = cli.run(&["redteam", "laptop", "-o", "json"]).await;
    assert_eq!(held.code, 0, "{held:?}");
    let report = held.json();
    assert_eq!((&report["devices"], &report["got_through"]), (&json!(["laptop"]), &json!(0)));
    assert_eq!(report["tried"], json!(report["attacks"].as_array().unwrap().len()));
    for (kind, aim) in [
        ("injection", "delete"),
        ("injection", "send"),
        ("injection", "run"),
        ("injection", "start"),
        ("injection", "cross"),
        ("path", "read"),
        ("path", "write"),
        ("command", "run"),
    ] {
        assert!(group(&report, kind, aim)["tried"].as_u64().unwrap() >= 20, "{kind} {aim}");
    }
    assert_eq!(laptop.tree(), before, "nothing is executed");
    let calls = v1::ListCallsRequest { previews: false, ..Default::default() };
    let calls = world.admin().tools().list_calls(calls).await.unwrap().into_inner().calls;
    assert_eq!(calls, [], "only previews are made");

    // A rule that lets a model fetch whatever it read.
    let policy = "version: 1\ndevices:\n  backend: { tools: [fetch_webpage] }\nrules:\n  \
                  - { id: free-web, tools: [fetch_webpage], devices: backend, action: allow, ignore_provenance: true }\n";
    let file = world.folder().join("policy.yaml").display().to_string();
    std::fs::write(&file, policy).unwrap();
    let applied = cli.run(&["policy", "apply", &file, "--yes"]).await;
    assert_eq!(applied.code, 0, "{applied:?}");
    let page = cli.run(&["redteam", "laptop", "--only", "injection"]).await;
    assert_eq!(page.code, 1, "{page:?}");
    let report = cli.run(&["redteam", "laptop", "--only", "injection", "-o", "json"]).await.json();
    let attacks = report["attacks"].as_array().unwrap();
    let through: Vec<&Value> = attacks.iter().filter(|it| it["outcome"] == "got_through").collect();
    assert_eq!(report["got_through"], json!(through.len()));
    for attack in &through {
        assert_eq!((&attack["tool"], &attack["aim"]), (&json!("fetch_webpage"), &json!("send")));
        assert!(attack["by"].as_str().unwrap().contains("free-web"), "{attack}");
        assert_eq!(
            attack["remedy"],
            "- { id: ask-fetch_webpage, tools: [fetch_webpage], devices: backend, action: ask }"
        );
    }
    assert!(through.len() > 5 && page.stdout.contains("ask-fetch_webpage"), "{page:?}");
    assert!(attacks.iter().all(|it| it["kind"] == "injection"));

    // What is proposed stops it, in the place of the rule that let it through.
    let rule = through[0]["remedy"].as_str().unwrap();
    let (before, _) = policy.split_once("- { id: free-web").unwrap();
    let stops = format!("{before}{rule}\n");
    std::fs::write(&file, stops).unwrap();
    let applied = cli.run(&["policy", "apply", &file, "--yes"]).await;
    assert_eq!(applied.code, 0, "{applied:?}");
    let held = cli.run(&["redteam", "laptop", "--only", "injection"]).await;
    assert_eq!(held.code, 0, "{held:?}");
    assert!(held.stdout.contains("nothing got through"), "{held:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attack_is_tried_as_another_person_by_an_admin_alone_and_on_devices_that_there_are() {
    let world = World::new().await;
    let _laptop = world.device("laptop").start().await;
    let bob = world.person("bob", Role::Operator).await;
    let as_bob = world.cli().run(&["redteam", "--as", "bob", "--only", "command"]).await;
    assert_eq!(as_bob.code, 0, "{as_bob:?}");
    let refused = world.cli_of("bob", &bob).run(&["redteam", "--as", "admin"]).await;
    assert_eq!(refused.code, 5, "{refused:?}");
    let unknown = world.cli().run(&["redteam", "nowhere"]).await;
    assert_eq!(unknown.code, 3, "{unknown:?}");
    assert!(unknown.stderr.contains("no device nowhere"), "{unknown:?}");
}
