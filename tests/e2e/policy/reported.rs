//! Rules that log, notify and look at arguments, on both sides; and the budget of approvals.

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Client, Device, World};
use orion_wire::v1;
use serde_json::{Value, json};

use super::{applied, audited, fine, write};

const RULES: &str = "\
version: 1
approval_budget: { approvals: 2, per: 1h }
devices:
  kiosk: { profile: operator, paths: [\"{files}\"] }
rules:
  - { id: told, tools: [create_directory], action: notify }
  - id: no-secrets
    tools: [write_file]
    arguments: { content: { matches: \"*password*\" } }
    action: deny
    because: \"Passwords belong in the vault.\"
    examples:
      match: [\"write_file path=a content='my Password: x'\"]
      not_match: [\"write_file path=a content=hello\"]
  - { id: soon-denied, tools: [create_directory], action: log, would: deny }
";

async fn approve(person: &Client, kiosk: &Device, name: &str) -> Result<(), tonic::Status> {
    kiosk.write_file(&format!("{name}/a.txt"), "x");
    let arguments = json!({"path": name, "recursive": true, "confirm": true});
    let asked = person.call("kiosk", "delete_directory", arguments).await;
    let request = v1::DecideApprovalRequest {
        approval_id: asked.approval_id().to_owned(),
        approve: true,
        details_shown: Some(name == "one"),
        ..Default::default()
    };
    person.approvals().decide_approval(request).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_that_logs_changes_nothing_and_says_in_why_and_audit_what_it_would_do() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (cli, admin) = (world.cli(), world.admin());
    applied(&world, &write(&world, "policy.yaml", &kiosk, RULES)).await;
    kiosk.ready().await;

    let made = admin.call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(made.end(), (CallState::Succeeded, None), "{made:?}");
    let opened = audited(&world, &["call.opened"]).await;
    let notes: Vec<Value> =
        opened.into_iter().filter_map(|(_, body)| body.get("notes").cloned()).collect();
    let expected = json!([
        {"rule": "rule told (policy.yaml:6)"},
        {"rule": "soon-denied", "would": "deny"},
    ]);
    assert_eq!(notes, [expected]);
    let why = fine(cli.run(&["why", "kiosk", "create_directory", "path=y"]).await);
    for part in ["log", "rule soon-denied (policy.yaml:15) would deny", "notify", "it would run"] {
        assert!(why.stdout.contains(part), "{part}: {why:?}");
    }
    // A rule that only logs is no part of what the device gets.
    let before = admin.device("kiosk").await.unwrap().policy_version;
    let without: String = RULES
        .lines()
        .filter(|line| !line.contains("soon-denied"))
        .map(|it| format!("{it}\n"))
        .collect();
    let without = write(&world, "without.yaml", &kiosk, &without);
    applied(&world, &without).await;
    let after = admin.device("kiosk").await.unwrap().policy_version;
    assert_eq!(before, after);

    let tested = write(&world, "tested.yaml", &kiosk, RULES);
    let tested = fine(cli.run(&["policy", "test", &tested, "--since", "1d", "-o", "json"]).await);
    assert_eq!(
        tested.json()["logged"],
        json!([{"rule": "soon-denied", "would": "deny", "calls": 1}])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_on_an_argument_holds_by_its_value_on_both_sides_and_behind_an_alias() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (cli, admin) = (world.cli(), world.admin());
    applied(&world, &write(&world, "policy.yaml", &kiosk, RULES)).await;
    kiosk.ready().await;
    let put = async |content: &str| {
        admin.call("kiosk", "write_file", json!({"path": "a.txt", "content": content})).await
    };
    assert_eq!(put("hello").await.state, CallState::Succeeded);
    let denied = put("the PASSWORD is x").await;
    assert_eq!(denied.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{denied:?}");
    assert!(denied.error().message.contains("vault"), "{denied:?}");
    let alias = v1::SetAliasRequest {
        name: "keep".to_owned(),
        tool: "write_file".to_owned(),
        arguments: json!({"content": "a password"}).to_string().into_bytes().into(),
    };
    admin.tools().set_alias(alias).await.unwrap();
    let by_alias = admin.call("kiosk", "keep", json!({"path": "a.txt"})).await;
    assert_eq!(by_alias.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)));
    let typo = RULES.replace("content: {", "contents: {");
    let typo = cli.run(&["policy", "check", &write(&world, "typo.yaml", &kiosk, &typo)]).await;
    assert_eq!(typo.code, 1, "{typo:?}");
    assert!(typo.stdout.contains("write_file has no argument `contents`"), "{typo:?}");
    assert!(typo.stdout.contains("Did you mean `content`?"), "{typo:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_approves_as_often_as_the_budget_allows_and_another_can_go_on() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (cli, ann) = (world.cli(), world.person("ann", Role::Operator).await);
    applied(&world, &write(&world, "policy.yaml", &kiosk, RULES)).await;
    kiosk.ready().await;
    approve(&ann, &kiosk, "one").await.unwrap();
    approve(&ann, &kiosk, "two").await.unwrap();
    let over = approve(&ann, &kiosk, "three").await.unwrap_err();
    assert!(over.message().contains("approved 2 times in one hour already"), "{over:?}");
    // A denial is always possible, and another person has a budget of their own.
    let open = ann.approvals().list_approvals(v1::ListApprovalsRequest { all: false }).await;
    let id = open.unwrap().into_inner().approvals[0].approval_id.clone();
    world.admin().decide(&id, true, "").await.unwrap();
    approve(&ann, &kiosk, "four").await.unwrap_err();
    // A restart forgets nothing.
    world.server().stop().await;
    world.restart_server().await;
    kiosk.ready().await;
    let over = approve(&ann, &kiosk, "five").await.unwrap_err();
    assert!(over.message().contains("did not count"), "{over:?}");
    let open = ann.approvals().list_approvals(v1::ListApprovalsRequest { all: false }).await;
    let id = open.unwrap().into_inner().approvals[0].approval_id.clone();
    ann.decide(&id, false, "not now").await.unwrap();

    let stats = fine(cli.run(&["approvals", "stats", "-o", "json"]).await).json();
    assert_eq!((&stats["budget_approvals"], &stats["budget_seconds"]), (&json!(2), &json!(3600)));
    let of = |name: &str| {
        let all = stats["approvers"].as_array().unwrap();
        all.iter().find(|it| it["user"] == name).unwrap().clone()
    };
    let ann = of("ann");
    assert_eq!((&ann["approved"], &ann["denied"]), (&json!(2), &json!(1)), "{ann}");
    assert_eq!((&ann["without_details"], &ann["in_budget"]), (&json!(1), &json!(2)), "{ann}");
    assert_eq!(of("admin")["approved"], json!(1));
    let refused = audited(&world, &["approval.refused"]).await;
    assert_eq!(refused.len(), 3);
}
