//! Rules made from approvals: what they cover, when they begin and end.

use orion_domain::{CallState, Role};
use orion_tests::{World, eventually, now_ms};
use orion_wire::v1;
use serde_json::json;

use super::{apply, card, delete};

async fn admin_sees(world: &World, device: &str) -> String {
    world.admin().device(device).await.unwrap().policy_version
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_of_an_answer_runs_the_like_until_it_is_taken_back() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for name in ["a", "b", "c"] {
        kiosk.write_file(&format!("{name}/x.txt"), "");
    }
    let cli = world.cli();
    let asked = delete(world.admin(), &kiosk, "a").await;
    let wide = cli.run(&["approvals", "approve", asked.approval_id(), "--as-rule", "91d"]).await;
    assert_ne!(wide.code, 0, "{wide:?}");
    let words =
        ["approvals", "approve", asked.approval_id(), "--as-rule", "30d", "--folder", "--wait"];
    let made = cli.run(&words).await;
    assert_eq!(made.code, 0, "{made:?}");

    // The very next call is not asked about.
    let second = delete(world.admin(), &kiosk, "b").await;
    assert_eq!(second.end(), (CallState::Succeeded, None), "{second:?}");
    // A backend that starts again knows the rule.
    let with_it = admin_sees(&world, "kiosk").await;
    world.server().stop().await;
    world.restart_server().await;
    kiosk.ready().await;
    assert_eq!(admin_sees(&world, "kiosk").await, with_it);
    // Nobody else's calls are meant.
    let ann = world.person("ann", Role::Operator).await;
    assert_eq!(delete(&ann, &kiosk, "c").await.state, CallState::AwaitingApproval);

    let revoked = cli.run(&["approvals", "rules", "revoke", asked.approval_id()]).await;
    assert_eq!(revoked.code, 0, "{revoked:?}");
    kiosk.ready().await;
    assert_eq!(delete(world.admin(), &kiosk, "c").await.state, CallState::AwaitingApproval);
    assert_eq!(kiosk.tree().into_keys().collect::<Vec<_>>(), ["c", "c/x.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_rule_is_made_of_an_answer_to_a_rule_that_would_go_on_asking() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let asks = "
  - id: writes
    tools: [write_file]
    devices: kiosk
    action: ask
";
    apply(&world, &kiosk, asks).await;
    let arguments = json!({"path": "a.txt", "content": "x"});
    let asked = world.admin().call("kiosk", "write_file", arguments).await;
    let words = ["approvals", "approve", asked.approval_id(), "--as-rule", "30d"];
    let refused = world.cli().run(&words).await;
    assert_eq!(refused.code, 9, "{refused:?}");
    assert!(refused.stderr.contains("a rule of the policy asks for it"), "{refused:?}");
    assert_eq!(card(&world, asked.approval_id()).await.state(), v1::ApprovalState::Open);
    let rules = world.cli().run(&["approvals", "rules", "list", "-o", "json"]).await.json();
    assert_eq!(rules, json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_of_an_answer_is_active_when_the_answer_is_taken_and_the_answered_call_runs() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for round in 0..10 {
        let names = [format!("{round}/a"), format!("{round}/b")];
        for name in &names {
            kiosk.write_file(&format!("{name}/x.txt"), "");
        }
        let asked = delete(world.admin(), &kiosk, &names[0]).await;
        let rule =
            v1::NarrowRule { expires_at: now_ms() + 3_600_000, folder: true, ..Default::default() };
        let request = v1::DecideApprovalRequest {
            approval_id: asked.approval_id().to_owned(),
            approve: true,
            reason: String::new(),
            more: Some(v1::decide_approval_request::More::NarrowRule(rule)),
            details_shown: None,
            passkey: None,
        };
        world.admin().approvals().decide_approval(request).await.unwrap();
        // The first call is under way still, or has just ended.
        let next = delete(world.admin(), &kiosk, &names[1]).await;
        assert_eq!(next.end(), (CallState::Succeeded, None), "round {round}: {next:?}");
        let first = world.admin().ended(&asked.id).await.unwrap();
        assert_eq!(first.end(), (CallState::Succeeded, None), "round {round}: {first:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_covers_what_was_shown_or_nothing_is_approved() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a/x.txt", "");
    let asked = delete(world.admin(), &kiosk, "a").await;
    let request =
        v1::GetApprovalRequest { approval_id: asked.approval_id().to_owned(), with_rules: true };
    let shown = world.admin().approvals().get_approval(request).await.unwrap().into_inner();
    let (rule, folder_rule) = (shown.rule.unwrap(), shown.folder_rule.unwrap());
    let files = kiosk.files();
    assert_eq!(rule.paths, [files.join("a").to_str().unwrap()], "{rule:?}");
    assert_eq!(folder_rule.paths, [files.to_str().unwrap()], "{folder_rule:?}");
    let decided = async |folder, shown_paths| {
        let expires_at = now_ms() + 3_600_000;
        let rule = v1::NarrowRule { expires_at, folder, shown_paths };
        let request = v1::DecideApprovalRequest {
            approval_id: asked.approval_id().to_owned(),
            approve: true,
            more: Some(v1::decide_approval_request::More::NarrowRule(rule)),
            ..Default::default()
        };
        world.admin().approvals().decide_approval(request).await
    };
    let refused = decided(true, rule.paths.clone()).await.unwrap_err();
    assert!(refused.message().contains("other paths than were shown"), "{refused:?}");
    assert_eq!(card(&world, asked.approval_id()).await.state(), v1::ApprovalState::Open);
    decided(false, rule.paths).await.unwrap();
    assert_eq!(card(&world, asked.approval_id()).await.state(), v1::ApprovalState::Approved);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_of_an_answer_ends_with_its_time_on_a_device_that_stays_connected() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for name in ["a", "b"] {
        kiosk.write_file(&format!("{name}/x.txt"), "");
    }
    let asked = delete(world.admin(), &kiosk, "a").await;
    let without = admin_sees(&world, "kiosk").await;
    let words = ["approvals", "approve", asked.approval_id(), "--as-rule", "4s", "--wait"];
    let made = world.cli().run(&words).await;
    assert_eq!(made.code, 0, "{made:?}");
    let over_at = now_ms() + 4_000;
    eventually("the rule on record", async || {
        let request = v1::ListAuditRequest { limit: 50, ..Default::default() };
        let rows = world.admin().audit().list_audit(request).await.ok()?.into_inner().rows;
        rows.iter().any(|row| row.kind == "rule.made").then_some(())
    })
    .await;
    eventually("the policy without the rule", async || {
        (now_ms() > over_at && admin_sees(&world, "kiosk").await == without).then_some(())
    })
    .await;
    kiosk.ready().await;
    let asked_again = delete(world.admin(), &kiosk, "b").await;
    assert_eq!(asked_again.state, CallState::AwaitingApproval, "{asked_again:?}");
    world.admin().decide(asked_again.approval_id(), false, "").await.unwrap();
}
