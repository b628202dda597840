//! Who answers a plan: everybody that each of its steps wants, for all of it at once.

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::World;
use orion_wire::v1;
use orion_wire::v1::PlanState;

use super::{Failed, Skipped, Succeeded, delete, hanging, make, names, states};

async fn apply(world: &World, rules: &str) {
    let text = format!("version: 1\nrules:\n{rules}");
    let request = v1::ApplyPolicyRequest { text, expected_version: -1, note: String::new() };
    let applied = world.admin().policy().apply_policy(request).await.unwrap().into_inner();
    assert!(applied.is_applied, "{:?}", applied.findings);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_hash_is_refused_and_no_step_is_answered_by_itself() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "");
    let first = world.admin().plan(&[delete(&kiosk, "a.txt")], false).await.unwrap();
    let second = world.admin().plan(&[delete(&kiosk, "a.txt")], false).await.unwrap();
    assert_ne!(first.hash, second.hash);
    let mixed = v1::Plan { hash: second.hash.clone(), ..first.clone() };
    let refused = world.admin().decide_plan(&mixed, true, "").await.unwrap_err();
    assert!(refused.message().contains("hash"), "{refused:?}");
    let none = v1::Plan { hash: Vec::new().into(), ..first.clone() };
    let refused = world.admin().decide_plan(&none, true, "").await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument, "{refused:?}");

    let question = first.steps[0].approval.clone().unwrap();
    assert_eq!(question.plan_id, first.plan_id);
    for yes in [true, false] {
        let alone = world.admin().decide(&question.approval_id, yes, "").await.unwrap_err();
        assert!(alone.message().contains(&first.plan_id), "{alone:?}");
    }
    let request = v1::CancelCallRequest { call_id: first.steps[0].call_id.clone() };
    let alone = world.admin().tools().cancel_call(request).await.unwrap_err();
    assert!(alone.message().contains(&first.plan_id), "{alone:?}");
    assert_eq!(world.admin().plan_of(&first, false).await.unwrap(), first);

    world.admin().decide_plan(&first, false, "Not today").await.unwrap();
    let call = world.admin().ended(&first.steps[0].call_id).await.unwrap();
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::ApprovalRejected)));
    assert_eq!(call.error().message, "admin did not approve the plan of this call: Not today");
    assert_eq!(world.admin().plan_of(&first, false).await.unwrap().state(), PlanState::Denied);
    assert_eq!(names(&kiosk), ["a.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_a_step_wants_another_admin_whoever_asked_answers_none_of_it() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let rules = "
  - id: another-admin
    tools: [delete_file]
    paths: [\"**/b.txt\"]
    action: ask
    approvers: { role: admin, not_requester: true }
    because: Somebody else has to look.
";
    apply(&world, rules).await;
    kiosk.ready().await;
    for name in ["a.txt", "b.txt"] {
        kiosk.write_file(name, "");
    }
    let (eve, bob) =
        (world.person("eve", Role::Admin).await, world.person("bob", Role::Operator).await);
    let steps = [delete(&kiosk, "a.txt"), delete(&kiosk, "b.txt")];
    let plan = world.admin().plan(&steps, false).await.unwrap();
    for person in [world.admin(), &bob] {
        let refused = person.decide_plan(&plan, true, "").await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");
        assert!(refused.message().starts_with("Step 2: "), "{refused:?}");
    }
    assert_eq!(world.admin().plan_of(&plan, false).await.unwrap(), plan, "nothing was answered");
    eve.decide_plan(&plan, true, "").await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Succeeded, vec![Succeeded; 2]), "{ended:?}");
    assert_eq!(ended.decided_by, "eve");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_people_approve_a_plan_one_after_the_other() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let rules = "
  - id: two-eyes
    tools: [delete_file]
    paths: [\"**/b.txt\"]
    action: ask
    approvers: { role: operator, count: 2, not_requester: true, reason: required }
    because: Two pairs of eyes.
";
    apply(&world, rules).await;
    kiosk.ready().await;
    for name in ["a.txt", "b.txt"] {
        kiosk.write_file(name, "");
    }
    let ann = world.person("ann", Role::Operator).await;
    let bob = world.person("bob", Role::Operator).await;
    let steps = [delete(&kiosk, "a.txt"), delete(&kiosk, "b.txt"), make(&kiosk, "new")];
    let plan = ann.plan(&steps, false).await.unwrap();
    let silent = bob.decide_plan(&plan, true, "").await.unwrap_err();
    assert!(silent.message().contains("needs a reason"), "{silent:?}");
    let first = bob.decide_plan(&plan, true, "agreed").await.unwrap();
    assert_eq!(first.state(), PlanState::Open);
    let again = bob.decide_plan(&plan, true, "agreed twice").await.unwrap_err();
    assert!(again.message().starts_with("Step 2: "), "{again:?}");
    assert_eq!(names(&kiosk), ["a.txt", "b.txt"]);

    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    world.admin().decide_plan(&plan, true, "agreed as well").await.unwrap();
    let ended = ann.plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Succeeded, vec![Succeeded; 3]), "{ended:?}");
    let votes = &ended.steps[1].approval.as_ref().unwrap().votes;
    let who: Vec<_> = votes.iter().map(|vote| vote.user.as_str()).collect();
    assert_eq!(who, ["bob", "admin"]);
    assert_eq!(names(&kiosk), ["new"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_no_step_wants_a_person_it_still_waits_for_whoever_asked() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let ann = world.person("ann", Role::Operator).await;
    let vera = world.person("vera", Role::Viewer).await;
    let plan = ann.plan(&[make(&kiosk, "new")], false).await.unwrap();
    let other = world.admin().decide_plan(&plan, true, "").await.unwrap_err();
    assert_eq!(other.code(), tonic::Code::PermissionDenied, "{other:?}");
    let unseen = vera.plan_of(&plan, false).await.unwrap_err();
    assert_eq!(unseen.code(), tonic::Code::NotFound, "{unseen:?}");
    let unseen = vera.decide_plan(&plan, true, "").await.unwrap_err();
    assert_eq!(unseen.code(), tonic::Code::NotFound, "{unseen:?}");

    // A program makes plans where it may call, and never says yes to one.
    let request = v1::CreateTokenRequest {
        name: "robot".to_owned(),
        scopes: [v1::Scope::Read, v1::Scope::Call].map(i32::from).to_vec(),
        ..Default::default()
    };
    let made = ann.auth().create_token(request).await.unwrap().into_inner();
    let robot = ann.with_token(&made.secret);
    let of_robot = robot.plan(&[make(&kiosk, "other")], false).await.unwrap();
    let refused = robot.decide_plan(&of_robot, true, "").await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");
    assert!(kiosk.tree().is_empty());

    ann.decide_plan(&plan, true, "").await.unwrap();
    let ended = ann.plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Succeeded, vec![Succeeded]));
    assert_eq!(names(&kiosk), ["new"]);
    ann.decide_plan(&of_robot, false, "").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_nobody_answers_expires() {
    let world = World::configured("[approvals]\nexpire_seconds = 4\n").await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "");
    let steps = [make(&kiosk, "new"), delete(&kiosk, "a.txt")];
    let plan = world.admin().plan(&steps, true).await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(ended.state(), PlanState::Expired);
    let call = world.admin().ended(&ended.steps[1].call_id).await.unwrap();
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::ApprovalExpired)));
    let late = world.admin().decide_plan(&plan, true, "").await.unwrap_err();
    assert!(late.message().contains("expired"), "{late:?}");
    assert_eq!(names(&kiosk), ["a.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_whose_permissions_changed_ends_when_it_is_approved() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "");
    let bob = world.person("bob", Role::Operator).await;
    // The first plan has a step that needs approval, the second has none.
    let with_question = [make(&kiosk, "new"), delete(&kiosk, "a.txt")];
    let without_question = [make(&kiosk, "new")];
    let mut plans = Vec::new();
    for steps in [with_question.as_slice(), &without_question] {
        plans.push(world.admin().plan(steps, true).await.unwrap());
    }
    let grants = serde_json::json!({"profile": "operator", "paths": ["{files}"], "apps": ["code"]});
    kiosk.grant(&grants).await;
    for (plan, person) in plans.iter().zip([&bob, world.admin()]) {
        let refused = person.decide_plan(plan, true, "").await.unwrap_err();
        let error = orion_wire::tool_error_from(&refused).unwrap();
        assert_eq!(error.code, ErrorCode::ApprovalExpired, "{error:?}");
        assert!(error.message.contains("since it was made"), "{error:?}");
        assert_eq!(error.details["step"], 1);
        let ended = world.admin().plan_of(plan, true).await.unwrap();
        assert_eq!(ended.state(), PlanState::Expired, "{ended:?}");
        assert!(states(&ended).1.iter().all(|step| *step == Skipped), "{ended:?}");
        let late = world.admin().decide_plan(plan, true, "").await.unwrap_err();
        assert!(late.message().contains("expired"), "{late:?}");
    }
    let call = world.admin().ended(&plans[0].steps[1].call_id).await.unwrap();
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::ApprovalExpired)));
    assert_eq!(names(&kiosk), ["a.txt"]);
    let list = v1::ListAuditRequest { limit: 1000, ..Default::default() };
    let rows = world.admin().audit().list_audit(list).await.unwrap().into_inner().rows;
    let outdated: Vec<_> = rows.iter().filter(|row| row.kind == "plan.outdated").collect();
    let by: Vec<serde_json::Value> =
        outdated.iter().map(|row| serde_json::from_str(&row.body).unwrap()).collect();
    assert_eq!([&by[0]["by"], &by[1]["by"]], ["admin", "bob"], "the newest first");
    assert_eq!(
        (by.len(), &by[1]["plan_id"], &by[1]["step"]),
        (2, &plans[0].plan_id.clone().into(), &1.into())
    );

    // One that is made under the new permissions runs.
    let plan = world.admin().plan(&without_question, false).await.unwrap();
    world.admin().decide_plan(&plan, true, "").await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Succeeded, vec![Succeeded]), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_does_not_run_after_a_change_of_permissions_while_its_plan_runs() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "");
    let steps = [delete(&kiosk, "a.txt"), make(&kiosk, "new")];
    let plan = world.admin().plan(&steps, true).await.unwrap();
    hanging(&world, &kiosk, &plan).await;
    apply(
        &world,
        "  - { id: ask-more, tools: [delete_file], action: ask, because: Somebody looks. }\n",
    )
    .await;
    kiosk.agent().thaw();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Failed, vec![Succeeded, Failed]), "{ended:?}");
    let last = &ended.steps[1];
    assert_eq!(last.code, "APPROVAL_EXPIRED", "{ended:?}");
    assert!(last.message.contains("since the plan was made"), "{last:?}");
    assert!(!kiosk.files().join("new").exists());
}
