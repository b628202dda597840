//! Tasks: calls that come at their times, once each, as the person who made them and with that person's rights.

mod bounds;
mod deaths;

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Client, World, audit_of, eventually, now_ms, open_record};
use orion_wire::v1;
use serde_json::{Value, json};
use sqlx::Connection as _;

/// The tools of tasks, with what they need.
const TOOLS: [&str; 8] = [
    "calculate",
    "schedule_task",
    "list_tasks",
    "cancel_task",
    "save_macro",
    "list_macros",
    "run_macro",
    "get_job",
];

/// Grants the tools of tasks on the backend.
async fn grant(world: &World) {
    let grants = json!({"tools": TOOLS, "capabilities": ["schedule"]});
    let request = v1::SetDevicePermissionsRequest {
        device: "backend".to_owned(),
        grants: grants.to_string(),
        ..Default::default()
    };
    world.admin().policy().set_device_permissions(request).await.unwrap();
}

/// Arguments of a task that makes this call every hour.
fn hourly(name: &str, call: &Value) -> Value {
    json!({"name": name, "when": "every 1h", "call": call, "timezone": "UTC", "confirm": true})
}

/// Schedules a task, and approves it. Returns the call that made it.
async fn scheduled(person: &Client, approver: &Client, arguments: Value) -> Call {
    let asked = person.call("backend", "schedule_task", arguments).await;
    approver.decide(asked.approval_id(), true, "").await.unwrap();
    let made = person.ended(&asked.id).await.unwrap();
    assert_eq!(made.end(), (CallState::Succeeded, None), "{made:?}");
    made
}

/// Lets the next time of a task be this many milliseconds ago.
async fn due(world: &World, task: &str, ago_ms: i64) {
    let mut record = open_record(&world.database()).await;
    let changed =
        sqlx::query("UPDATE schedules SET next_at = $1 WHERE id = $2 AND ended_at IS NULL")
            .bind(now_ms() - ago_ms)
            .bind(task)
            .execute(&mut record)
            .await
            .unwrap();
    assert_eq!(changed.rows_affected(), 1, "{task} is active");
    record.close().await.unwrap();
}

async fn tasks(client: &Client) -> Vec<v1::Schedule> {
    let request = v1::ListSchedulesRequest::default();
    client.schedules().list_schedules(request).await.unwrap().into_inner().schedules
}

/// Waits until a task has made another call than this one. Returns that call once it has ended or waits.
async fn next_call(world: &World, task: &str, before: &str) -> Call {
    let all = v1::ListSchedulesRequest { schedule_id: task.to_owned(), all: true };
    eventually("the task makes a call", async || {
        let found = world.admin().schedules().list_schedules(all.clone()).await.ok()?;
        let task = found.into_inner().schedules.pop()?;
        if task.last_call_id.is_empty() || task.last_call_id == before {
            return None;
        }
        let call = world.admin().recorded(&task.last_call_id).await.ok()?;
        let rests = call.state.is_closed() || call.state == CallState::AwaitingApproval;
        rests.then_some(call)
    })
    .await
}

/// The kinds and bodies of the audit's rows about tasks.
async fn about_tasks(world: &World) -> Vec<(String, Value)> {
    let request = v1::ListAuditRequest { limit: 500, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    let rows = rows.into_iter().filter(|row| row.kind.starts_with("schedule."));
    let mut rows: Vec<_> =
        rows.map(|row| (row.kind, serde_json::from_str(&row.body).unwrap())).collect();
    rows.reverse();
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_approved_and_then_makes_its_call_at_its_time_and_again() {
    let world = World::new().await;
    grant(&world).await;
    let ann = world.person("ann", Role::Operator).await;
    let call = json!({"tool": "calculate", "arguments": {"expression": "6*7"}});
    let dry = ann.dry_run("backend", "schedule_task", hourly("sum", &call)).await;
    assert_eq!(dry.data()["task_id"], Value::Null, "{dry:?}");
    assert_eq!(dry.data()["next_runs"].as_array().unwrap().len(), 3, "{dry:?}");
    assert_eq!(tasks(&ann).await, [], "a dry run schedules nothing");

    let asked = ann.call("backend", "schedule_task", hourly("sum", &call)).await;
    let request = v1::GetApprovalRequest {
        approval_id: asked.approval_id().to_owned(),
        ..Default::default()
    };
    let card = world.admin().approvals().get_approval(request).await.unwrap().into_inner();
    let card = format!("{card:?}");
    for part in ["It makes this call later: calculate", "6*7", "asks at each time", "first call at"]
    {
        assert!(card.contains(part), "{part}: {card}");
    }
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    let made = ann.ended(&asked.id).await.unwrap();
    assert_eq!(made.data()["task_id"], json!(asked.id), "{made:?}");

    due(&world, &made.id, 0).await;
    let first = next_call(&world, &made.id, "").await;
    assert_eq!(first.data()["result"], "42");
    due(&world, &made.id, 0).await;
    let second = next_call(&world, &made.id, &first.id).await;
    assert_eq!(second.data()["result"], "42");
    let opened: Value =
        serde_json::from_str(&audit_of(world.admin(), &second.id).await[0].body).unwrap();
    assert_eq!((&opened["user"], &opened["role"]), (&json!("ann"), &json!("operator")));
    assert_eq!(opened["parent"], json!({"schedule": made.id}), "{opened}");
    let rows = about_tasks(&world).await;
    let kinds: Vec<_> = rows.iter().map(|(kind, body)| (kind.as_str(), &body["call"])).collect();
    let [one, two] = [json!(first.id), json!(second.id)];
    assert_eq!(kinds, [("schedule.ran", &one), ("schedule.ran", &two)]);

    // She sees and cancels it, and nobody else does but an admin.
    let bob = world.person("bob", Role::Operator).await;
    let listed = ann.call("backend", "list_tasks", json!({})).await;
    let task = &listed.data()["tasks"][0];
    assert_eq!((&task["name"], &task["state"]), (&json!("sum"), &json!("active")), "{task}");
    assert_eq!((&task["when"], &task["timezone"]), (&json!("every 1h"), &json!("UTC")), "{task}");
    assert_eq!(task["last_call_id"], json!(second.id));
    let none = bob.call("backend", "list_tasks", json!({})).await;
    assert_eq!(none.data(), &json!({"tasks": [], "count": 0}));
    let theirs = bob.call("backend", "cancel_task", json!({"task_id": made.id})).await;
    assert_eq!(theirs.error().code, ErrorCode::NotFound, "{theirs:?}");
    let request = v1::CancelScheduleRequest { schedule_id: made.id.clone() };
    let theirs = bob.schedules().cancel_schedule(request).await.unwrap_err();
    assert_eq!(theirs.code(), tonic::Code::NotFound);
    let cancelled = ann.call("backend", "cancel_task", json!({"task_id": &made.id[..18]})).await;
    assert_eq!(cancelled.data()["cancelled"], true, "{cancelled:?}");
    let again = ann.call("backend", "cancel_task", json!({"task_id": made.id})).await;
    assert_eq!(again.error().code, ErrorCode::PreconditionFailed, "{again:?}");
    let (kind, body) = about_tasks(&world).await.pop().unwrap();
    assert_eq!((kind.as_str(), &body["by"]), ("schedule.cancelled", &json!("ann")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_needs_approval_waits_for_it_at_each_time_and_no_second_one_joins_it() {
    let world = World::new().await;
    grant(&world).await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old.txt", "1");
    let admin = world.admin();
    let call = json!({
        "tool": "delete_file", "device": "kiosk", "arguments": {"path": "old.txt", "confirm": true},
    });
    let made = scheduled(admin, admin, hourly("tidy", &call)).await;
    assert!(kiosk.tree().contains_key("old.txt"), "the approval of the task deletes nothing");
    due(&world, &made.id, 0).await;
    let waiting = next_call(&world, &made.id, "").await;
    assert_eq!(waiting.state, CallState::AwaitingApproval, "{waiting:?}");
    assert!(kiosk.tree().contains_key("old.txt"));

    due(&world, &made.id, 0).await;
    let skipped = eventually("a time is left out", async || {
        about_tasks(&world).await.into_iter().find(|(kind, _)| kind == "schedule.skipped")
    })
    .await;
    assert_eq!(skipped.1["schedule"], json!(made.id));
    let task = tasks(admin).await.remove(0);
    assert_eq!(task.last_call_id, waiting.id, "one request at a time");
    admin.decide(waiting.approval_id(), true, "").await.unwrap();
    let done = admin.ended(&waiting.id).await.unwrap();
    assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
    assert!(!kiosk.tree().contains_key("old.txt"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_has_no_more_rights_than_its_person_has_at_its_time() {
    let world = World::new().await;
    grant(&world).await;
    let kiosk = world.device("kiosk").start().await;
    let admin = world.admin();
    let ann = world.person("ann", Role::Operator).await;
    let write = json!({
        "tool": "write_file", "device": "kiosk", "arguments": {"path": "log.txt", "content": "x"},
    });
    let made = scheduled(&ann, admin, hourly("log", &write)).await;
    due(&world, &made.id, 0).await;
    let first = next_call(&world, &made.id, "").await;
    assert_eq!(first.end(), (CallState::Succeeded, None), "{first:?}");

    // A lower role, and then no grant, and then no account.
    let denied = (CallState::Denied, Some(ErrorCode::PermissionDenied));
    let role = |role: Role| v1::SetUserRoleRequest {
        user: "ann".to_owned(),
        role: role.as_str().to_owned(),
    };
    admin.auth().set_user_role(role(Role::Viewer)).await.unwrap();
    std::fs::remove_file(kiosk.files().join("log.txt")).unwrap();
    due(&world, &made.id, 0).await;
    let lower = next_call(&world, &made.id, &first.id).await;
    assert_eq!(lower.end(), denied, "{lower:?}");
    admin.auth().set_user_role(role(Role::Admin)).await.unwrap();
    let request = v1::SetDevicePermissionsRequest {
        device: "kiosk".to_owned(),
        grants: json!({"tools": ["read_file"]}).to_string(),
        ..Default::default()
    };
    admin.policy().set_device_permissions(request).await.unwrap();
    due(&world, &made.id, 0).await;
    let ungranted = next_call(&world, &made.id, &lower.id).await;
    assert_eq!(ungranted.end(), denied, "{ungranted:?}");
    let request = v1::DisableUserRequest { user: "ann".to_owned() };
    admin.auth().disable_user(request).await.unwrap();
    let (kind, body) = about_tasks(&world).await.pop().unwrap();
    assert_eq!((kind.as_str(), &body["by"]), ("schedule.cancelled", &json!("admin")));
    let request = v1::EnableUserRequest { user: "ann".to_owned() };
    admin.auth().enable_user(request).await.unwrap();
    let all = v1::ListSchedulesRequest { all: true, ..Default::default() };
    let after = admin.schedules().list_schedules(all).await.unwrap().into_inner().schedules;
    assert_eq!(
        after[0].state(),
        v1::ScheduleState::Cancelled,
        "an enabled account has no old tasks"
    );
    assert!(!kiosk.tree().contains_key("log.txt"), "nothing ran");
    let request = v1::DeleteUserRequest { user: "ann".to_owned() };
    admin.auth().delete_user(request).await.unwrap();
    let all = v1::ListSchedulesRequest { all: true, ..Default::default() };
    let all = admin.schedules().list_schedules(all).await.unwrap().into_inner();
    assert_eq!(all.schedules, [], "its tasks end with the account");
}
