//! Plans: several calls, shown together, approved once, and run in order as they were shown.

mod transcript;
mod who;

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Device, World, eventually};
use orion_wire::v1;
use orion_wire::v1::{PlanState, PlanStepState};
use serde_json::{Value, json};

/// A step that deletes a file, which wants a person's yes.
fn delete<'a>(device: &'a Device, name: &str) -> (&'a str, &'static str, Value) {
    (&device.name, "delete_file", json!({"path": name, "confirm": true}))
}

/// A step that makes a folder, which wants nobody's.
fn make<'a>(device: &'a Device, name: &str) -> (&'a str, &'static str, Value) {
    (&device.name, "create_directory", json!({"path": name}))
}

fn states(plan: &v1::Plan) -> (PlanState, Vec<PlanStepState>) {
    (plan.state(), plan.steps.iter().map(v1::PlanStep::state).collect())
}

fn names(device: &Device) -> Vec<String> {
    device.tree().into_keys().collect()
}

use PlanStepState::{Drifted, Failed, Skipped, Succeeded, Waiting};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_yes_runs_a_plan_over_two_devices() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let laptop = world.device("laptop").start().await;
    for device in [&kiosk, &laptop] {
        device.write_file("old.txt", "12345");
    }
    let steps = [delete(&kiosk, "old.txt"), make(&laptop, "new"), delete(&laptop, "old.txt")];
    let plan = world.admin().plan(&steps, false).await.unwrap();
    assert_eq!(states(&plan), (PlanState::Open, vec![Waiting; 3]));
    let asked: Vec<_> = plan.steps.iter().map(|step| step.approval.is_some()).collect();
    assert_eq!(asked, [true, false, true]);
    for step in &plan.steps {
        let preview: orion_domain::Envelope = serde_json::from_slice(&step.preview).unwrap();
        assert!(preview.success && preview.dry_run, "{preview:?}");
        assert_eq!((step.compared, step.after_step), (1, 0));
    }
    assert_eq!([names(&kiosk), names(&laptop)], [["old.txt"], ["old.txt"]], "nothing ran yet");

    world.admin().decide_plan(&plan, true, "").await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Succeeded, vec![Succeeded; 3]), "{ended:?}");
    assert_eq!(names(&kiosk), Vec::<String>::new());
    assert_eq!(names(&laptop), ["new"]);

    for step in &ended.steps {
        let call = world.admin().ended(&step.call_id).await.unwrap();
        assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
        let rows = orion_tests::audit_of(world.admin(), &step.call_id).await;
        let opened: Value = serde_json::from_slice(rows[0].body.as_ref()).unwrap();
        assert_eq!(opened["plan"], plan.plan_id, "the call names its plan");
    }
    let again = world.admin().decide_plan(&plan, true, "").await.unwrap_err();
    assert_eq!(again.message(), "This plan is succeeded already.");
    let list = v1::ListAuditRequest { limit: 1000, ..Default::default() };
    let rows = world.admin().audit().list_audit(list).await.unwrap().into_inner().rows;
    let of_plans: Vec<_> =
        rows.into_iter().map(|row| row.kind).filter(|kind| kind.starts_with("plan.")).collect();
    assert_eq!(of_plans, ["plan.ended", "plan.decided", "plan.created"]);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_at_the_terminal_ends_when_the_plan_is_approved_elsewhere() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old.txt", "12345");
    let mut asked = world.cli().terminal("plan call kiosk delete_file path=old.txt confirm=true");
    asked.sees("Run this plan?").await;
    let open = world.admin().plans().list_plans(v1::ListPlansRequest { all: false }).await;
    let plan = open.unwrap().into_inner().plans.remove(0);
    let plan = world.admin().plan_of(&plan, false).await.unwrap();
    world.admin().decide_plan(&plan, true, "").await.unwrap();
    asked.sees("1 succeeded").await;
    assert_eq!(names(&kiosk), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_denied_at_the_terminal_with_a_reason() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old.txt", "12345");
    let mut asked = world.cli().terminal("plan call kiosk delete_file path=old.txt confirm=true");
    asked.sees("Run this plan? (y/N)").await;
    asked.line("perhaps").await;
    asked.sees("(y, y because …, n or n because …)").await;
    let status = world.cli().run(&["status", "-o", "json"]).await.json();
    assert_eq!((&status["waiting_plans"], &status["waiting_approvals"]), (&json!(1), &json!(1)));
    asked.line("n because it is still needed").await;
    assert_eq!(asked.ended().await, i32::from(ErrorCode::ApprovalRejected.exit_code()));
    let plans = world.admin().plans().list_plans(v1::ListPlansRequest { all: true }).await;
    let plan = plans.unwrap().into_inner().plans.remove(0);
    assert_eq!((plan.state(), plan.reason.as_str()), (PlanState::Denied, "it is still needed"));
    assert_eq!(names(&kiosk), ["old.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changed_since_the_preview_is_left_alone_and_the_rest_is_skipped() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let names_of = ["a.txt", "b.txt", "c.txt"];
    for keep_going in [false, true] {
        for name in names_of {
            kiosk.write_file(name, "as shown");
        }
        let steps = names_of.map(|name| delete(&kiosk, name));
        let plan = world.admin().plan(&steps, keep_going).await.unwrap();
        kiosk.write_file("b.txt", "not shown");
        world.admin().decide_plan(&plan, true, "").await.unwrap();
        let ended = world.admin().plan_of(&plan, true).await.unwrap();
        let (third, left) =
            if keep_going { (Succeeded, vec!["b.txt"]) } else { (Skipped, vec!["b.txt", "c.txt"]) };
        let expected = (PlanState::Failed, vec![Succeeded, Drifted, third]);
        assert_eq!(states(&ended), expected, "{ended:?}");
        assert_eq!(names(&kiosk), left);
        assert_eq!(kiosk.tree()["b.txt"].as_deref(), Some("not shown"));

        let second = world.admin().ended(&ended.steps[1].call_id).await.unwrap();
        let details = &second.error().details;
        assert_eq!(details["reason"], "drift");
        assert_eq!(details["attempted_path"], kiosk.path("b.txt"));
        assert_eq!(details["changed"], "its content has changed: it had 8 bytes, 9 now");
        if !keep_going {
            let third = world.admin().ended(&ended.steps[2].call_id).await.unwrap();
            assert_eq!(third.state, CallState::Cancelled, "{third:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_earlier_step_changes_is_compared_before_that_step() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for keep_going in [false, true] {
        kiosk.write_file("x/shown.txt", "as shown");
        let steps = [
            make(&kiosk, "before"),
            ("kiosk", "write_file", json!({"path": "x/.t", "content": ""})),
            ("kiosk", "delete_directory", json!({"path": "x", "recursive": true, "confirm": true})),
        ];
        let plan = world.admin().plan(&steps, keep_going).await.unwrap();
        let last = &plan.steps[2];
        assert_eq!((last.after_step, last.compared, last.compared_before), (2, 1, 2));
        kiosk.write_file("x/more.txt", "nobody was shown this");
        world.admin().decide_plan(&plan, true, "").await.unwrap();
        let ended = world.admin().plan_of(&plan, true).await.unwrap();
        let second = if keep_going { Succeeded } else { Skipped };
        let expected = (PlanState::Failed, vec![Succeeded, second, Drifted]);
        assert_eq!(states(&ended), expected, "{ended:?}");
        let call = world.admin().ended(&last.call_id).await.unwrap();
        assert_eq!(call.error().details["reason"], "drift", "{call:?}");
        assert_eq!(call.error().details["attempted_path"], kiosk.path("x"));
        assert_eq!(kiosk.tree()["x/more.txt"].as_deref(), Some("nobody was shown this"));
        assert_eq!(kiosk.tree().contains_key("x/.t"), keep_going);
        std::fs::remove_dir_all(kiosk.files().join("x")).unwrap();
        std::fs::remove_dir(kiosk.files().join("before")).unwrap();
    }

    // Where nothing changed, the plan's own change is no drift.
    kiosk.write_file("x/shown.txt", "as shown");
    let steps = [
        ("kiosk", "write_file", json!({"path": "x/.t", "content": ""})),
        ("kiosk", "delete_directory", json!({"path": "x", "recursive": true, "confirm": true})),
    ];
    let plan = world.admin().plan(&steps, false).await.unwrap();
    world.admin().decide_plan(&plan, true, "").await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Succeeded, vec![Succeeded; 2]), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_be_read_is_compared_and_what_cannot_be_compared_refuses_the_plan() {
    let world = World::new().await;
    let paths = json!([{"path": "{files}", "access": ["write", "delete"]}]);
    let grants = json!({"profile": "operator", "paths": paths});
    let kiosk = world.device("kiosk").grant(grants).start().await;
    kiosk.write_file("x/a.txt", "");
    let arguments = json!({"path": "x", "recursive": true, "confirm": true});
    let step = [("kiosk", "delete_directory", arguments)];
    let plan = world.admin().plan(&step, false).await.unwrap();
    assert_eq!(plan.steps[0].compared, 1);
    kiosk.write_file("x/b.txt", "");
    world.admin().decide_plan(&plan, true, "").await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Failed, vec![Drifted]), "{ended:?}");

    kiosk.write_file(&format!("x/{}/deep.txt", vec!["a"; 70].join("/")), "");
    let refused = world.admin().plan(&step, false).await.unwrap_err();
    assert!(refused.message().starts_with("Step 1 (delete_directory on kiosk): "), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_wants_nobody_is_compared_as_well() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let write = ("kiosk", "write_file", json!({"path": "new.txt", "content": "mine"}));
    let plan = world.admin().plan(&[write], false).await.unwrap();
    assert!(plan.steps[0].approval.is_none(), "{plan:?}");
    kiosk.write_file("new.txt", "somebody else's");
    world.admin().decide_plan(&plan, true, "").await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Failed, vec![Drifted]));
    assert_eq!(kiosk.tree()["new.txt"].as_deref(), Some("somebody else's"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_may_need_what_an_earlier_one_makes_and_says_so() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("list.txt", "one\n");
    let edit = |old: &str, new: &str| {
        let arguments = json!({"path": "list.txt", "old_text": old, "new_text": new});
        ("kiosk", "edit_file", arguments)
    };
    let steps = [
        make(&kiosk, "new"),
        ("kiosk", "list_directory", json!({"path": "new"})),
        edit("one", "one two"),
        edit("one", "zero one"),
    ];
    let plan = world.admin().plan(&steps, false).await.unwrap();
    let after: Vec<_> = plan.steps.iter().map(|step| step.after_step).collect();
    let compared: Vec<_> = plan.steps.iter().map(|step| step.compared).collect();
    assert_eq!((after, compared), (vec![0, 1, 0, 3], vec![1, 0, 1, 1]));
    assert!(plan.steps[1].preview.is_empty());
    world.admin().decide_plan(&plan, true, "").await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Succeeded, vec![Succeeded; 4]), "{ended:?}");
    assert_eq!(kiosk.tree()["list.txt"].as_deref(), Some("zero one two\n"));

    // Of something that no step makes, it is refused.
    let steps = [make(&kiosk, "other"), delete(&kiosk, "none")];
    let refused = world.admin().plan(&steps, false).await.unwrap_err();
    assert!(refused.message().starts_with("Step 2 (delete_file on kiosk): "), "{refused:?}");
    // Nor where a step makes only where something goes, and not what goes there.
    let copy = json!({"source": "none", "destination": "other/copy"});
    let refused =
        world.admin().plan(&[make(&kiosk, "other"), ("kiosk", "copy_path", copy)], false).await;
    assert!(refused.unwrap_err().message().starts_with("Step 2 (copy_path on kiosk): "));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_read_and_nobodys_digests_are_told_before_a_yes() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("diary.txt", "dear diary");
    let steps = [
        ("kiosk", "read_file", json!({"path": "diary.txt"})),
        ("kiosk", "write_file", json!({"path": "diary.txt", "content": "gone"})),
    ];
    let plan = world.admin().plan(&steps, false).await.unwrap();
    assert!(plan.steps[0].preview.is_empty(), "{plan:?}");
    let preview: Value = serde_json::from_slice(&plan.steps[1].preview).unwrap();
    assert_eq!(
        (preview["success"].clone(), preview["meta"]["observed"].clone()),
        (json!(true), Value::Null)
    );
    assert_eq!(plan.steps[1].compared, 1);
    world.admin().decide_plan(&plan, true, "").await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Succeeded, vec![Succeeded; 2]), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_denied_step_refuses_the_whole_and_nobody_is_asked() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "");
    let outside = ("kiosk", "delete_file", json!({"path": "/etc/passwd", "confirm": true}));
    let steps = [delete(&kiosk, "a.txt"), outside, make(&kiosk, "new")];
    let refused = world.admin().plan(&steps, true).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied);
    let error = orion_wire::tool_error_from(&refused).unwrap();
    assert_eq!((error.code.as_str(), &error.details["step"]), ("PATH_NOT_ALLOWED", &json!(2)));
    let all = v1::ListApprovalsRequest { all: true };
    let questions = world.admin().approvals().list_approvals(all).await.unwrap().into_inner();
    assert_eq!(questions.approvals, []);
    let all = v1::ListPlansRequest { all: true };
    let plans = world.admin().plans().list_plans(all).await.unwrap().into_inner().plans;
    assert_eq!(plans, []);
    for bad in [Vec::new(), vec![make(&kiosk, "x"); 33]] {
        let refused = world.admin().plan(&bad, false).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::InvalidArgument, "{refused:?}");
    }
    assert_eq!(names(&kiosk), ["a.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_waits_survives_a_killed_backend() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old.txt", "");
    let plan =
        world.admin().plan(&[delete(&kiosk, "old.txt"), make(&kiosk, "new")], false).await.unwrap();
    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    assert_eq!(names(&kiosk), ["old.txt"]);
    let shown = world.admin().plan_of(&plan, false).await.unwrap();
    assert_eq!(shown, plan, "it is as it was shown");
    world.admin().decide_plan(&plan, true, "").await.unwrap();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Succeeded, vec![Succeeded; 2]), "{ended:?}");
    assert_eq!(names(&kiosk), ["new"]);
}

/// Approves a plan whose first step hangs, and waits until it does.
async fn hanging(world: &World, kiosk: &Device, plan: &v1::Plan) {
    kiosk.agent().freeze();
    world.admin().decide_plan(plan, true, "").await.unwrap();
    eventually("the first step under way", async || {
        let plan = world.admin().plan_of(plan, false).await.ok()?;
        let call = world.admin().recorded(&plan.steps[0].call_id).await.ok()?;
        (call.state == CallState::Dispatched).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_ran_when_the_backend_died_is_interrupted_and_goes_no_further() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for name in ["a.txt", "b.txt"] {
        kiosk.write_file(name, "");
    }
    let steps = [delete(&kiosk, "a.txt"), delete(&kiosk, "b.txt"), make(&kiosk, "new")];
    let plan = world.admin().plan(&steps, true).await.unwrap();
    hanging(&world, &kiosk, &plan).await;
    world.server().kill9().await;
    kiosk.agent().thaw();
    world.restart_server().await;
    kiosk.ready().await;
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Interrupted, vec![Failed, Skipped, Skipped]));
    assert_eq!(ended.steps[0].code, "OUTCOME_UNKNOWN");
    let second = world.admin().ended(&ended.steps[1].call_id).await.unwrap();
    assert_eq!(second.state, CallState::Cancelled, "{second:?}");
    assert!(kiosk.files().join("b.txt").exists() && !kiosk.files().join("new").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_to_a_plan_that_runs_keeps_the_next_steps_from_being_begun() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for name in ["a.txt", "b.txt"] {
        kiosk.write_file(name, "");
    }
    let ann = world.person("ann", Role::Operator).await;
    let steps = [delete(&kiosk, "a.txt"), delete(&kiosk, "b.txt")];
    let plan = world.admin().plan(&steps, true).await.unwrap();
    hanging(&world, &kiosk, &plan).await;
    let refused = ann.decide_plan(&plan, false, "").await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");
    // What is still changed is not taken back.
    let undo = world.cli().run(&["undo", &plan.plan_id]).await;
    assert!(undo.code == 9 && undo.stderr.contains("is still running"), "{undo:?}");
    world.admin().decide_plan(&plan, false, "").await.unwrap();
    kiosk.agent().thaw();
    let ended = world.admin().plan_of(&plan, true).await.unwrap();
    assert_eq!(states(&ended), (PlanState::Cancelled, vec![Succeeded, Skipped]), "{ended:?}");
    assert_eq!(names(&kiosk), ["b.txt"]);
}
