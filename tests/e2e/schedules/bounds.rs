//! What is refused, what ends with a token, and the command line.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_never_comes_comes_too_often_or_may_not_be_called_is_refused_before_anybody_is_asked()
{
    let world = World::new().await;
    grant(&world).await;
    let admin = world.admin();
    let _kiosk = world.device("kiosk").start().await;
    let good = json!({"tool": "calculate", "arguments": {"expression": "1+1"}});
    let invalid = ErrorCode::InvalidArgument;
    for (when, call, code) in [
        ("every 59s", &good, invalid),
        ("every 0m", &good, invalid),
        ("every -5m", &good, invalid),
        ("every 400d", &good, invalid),
        ("* * * *", &good, invalid),
        ("*/10 * * * * *", &good, invalid),
        ("0 0 30 2 *", &good, invalid),
        ("61 * * * *", &good, invalid),
        ("2001-01-01T00:00", &good, invalid),
        ("2090-13-01T00:00", &good, invalid),
        ("soon", &good, invalid),
        ("every 1h", &json!({"tool": "no_such_tool"}), ErrorCode::ToolNotFound),
        (
            "every 1h",
            &json!({"tool": "get_datetime", "device": "nobody"}),
            ErrorCode::DeviceNotFound,
        ),
        ("every 1h", &json!({"tool": "calculate", "arguments": {"x": 1}}), invalid),
        ("every 1h", &json!({"tool": "schedule_task"}), invalid),
        ("every 1h", &json!({"tool": "list_devices"}), ErrorCode::PermissionDenied),
        (
            "every 1h",
            &json!({"tool": "fetch_webpage", "arguments": {"url": "https://a.example/?token=x"}}),
            invalid,
        ),
    ] {
        let mut arguments = hourly("a", call);
        arguments["when"] = json!(when);
        let refused = admin.call("backend", "schedule_task", arguments).await;
        assert!(refused.state.is_closed(), "{when} {call}: {refused:?}");
        assert_eq!(refused.error().code, code, "{when} {call}: {refused:?}");
    }
    let none = json!({"name": "a", "when": "every 1h", "macro": "none", "confirm": true});
    let none = admin.call("backend", "schedule_task", none).await;
    assert_eq!(none.error().code, ErrorCode::NotFound, "{none:?}");
    let mut zone = hourly("a", &good);
    zone["timezone"] = json!("Europe/Nowhere");
    let refused = admin.call("backend", "schedule_task", zone).await;
    assert_eq!(refused.error().code, invalid, "{refused:?}");
    let mut unconfirmed = hourly("a", &good);
    unconfirmed["confirm"] = json!(false);
    let refused = admin.call("backend", "schedule_task", unconfirmed).await;
    assert_eq!(refused.error().code, ErrorCode::ConfirmationRequired, "{refused:?}");
    assert_eq!(tasks(admin).await, []);

    scheduled(admin, admin, hourly("a", &good)).await;
    let twice = admin.call("backend", "schedule_task", hourly("a", &good)).await;
    admin.decide(twice.approval_id(), true, "").await.unwrap();
    let twice = admin.ended(&twice.id).await.unwrap();
    assert_eq!(twice.error().code, ErrorCode::AlreadyExists, "{twice:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_of_an_api_token_ends_with_the_token_and_one_of_a_person_outlives_the_session() {
    let world = World::new().await;
    grant(&world).await;
    let admin = world.admin();
    let call = json!({"tool": "calculate", "arguments": {"expression": "1+1"}});
    let request = v1::CreateTokenRequest {
        name: "program".to_owned(),
        scopes: vec![v1::Scope::Call.into()],
        ..Default::default()
    };
    let token = admin.auth().create_token(request).await.unwrap().into_inner();
    let program = admin.with_token(&token.secret);
    let of_token = scheduled(&program, admin, hourly("program", &call)).await;
    due(&world, &of_token.id, 0).await;
    let first = next_call(&world, &of_token.id, "").await;
    assert_eq!(first.data()["result"], "2");
    let revoke = v1::RevokeTokenRequest { token: "program".to_owned(), ..Default::default() };
    admin.auth().revoke_token(revoke).await.unwrap();
    due(&world, &of_token.id, 0).await;
    let ended = eventually("the task ends", async || {
        about_tasks(&world).await.into_iter().find(|(kind, _)| kind == "schedule.ended")
    })
    .await;
    assert_eq!(ended.1["schedule"], json!(of_token.id));
    let task = tasks(admin).await.remove(0);
    assert_eq!((task.state(), task.last_call_id), (v1::ScheduleState::Cancelled, first.id));

    let ann = world.person("ann", Role::Operator).await;
    let of_ann = scheduled(&ann, admin, hourly("ann", &call)).await;
    ann.auth().logout(v1::LogoutRequest::default()).await.unwrap();
    due(&world, &of_ann.id, 0).await;
    let goes_on = next_call(&world, &of_ann.id, "").await;
    assert_eq!(goes_on.data()["result"], "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_schedules_lists_shows_and_cancels_at_the_command_line() {
    let world = World::new().await;
    grant(&world).await;
    let cli = world.cli();
    let words = [
        "--yes",
        "schedule",
        "add",
        "sum",
        "--when",
        "0 8 * * 1-5",
        "--timezone",
        "Europe/Brussels",
        "calculate",
        "expression=6*7",
        "-o",
        "json",
    ];
    let added = cli.run(&words).await;
    assert_eq!(added.code, 0, "{added:?}");
    let id = added.json()["data"]["task_id"].as_str().unwrap().to_owned();
    let listed = cli.run(&["schedule", "list"]).await;
    for part in ["sum", "0 8 * * 1-5", "calculate", "active"] {
        assert!(listed.stdout.contains(part), "{part}: {listed:?}");
    }
    let shown = cli.run(&["schedule", "show", &id[..18], "-o", "json"]).await.json();
    assert_eq!(shown["arguments"], json!({"expression": "6*7"}), "{shown}");
    assert_eq!(cli.run(&["schedule", "cancel", &id]).await.code, 0);
    assert_ne!(cli.run(&["schedule", "cancel", &id]).await.code, 0);
    assert_eq!(cli.run(&["schedule", "show", "00000000"]).await.code, 3);
    let once = now_ms() / 1000 + 2;
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(u64::try_from(once).unwrap());
    let at = time_text(at);
    let words = [
        "--yes",
        "schedule",
        "add",
        "once",
        "--when",
        &at,
        "calculate",
        "expression=1+1",
        "-o",
        "json",
    ];
    let added = cli.run(&words).await;
    assert_eq!(added.code, 0, "{added:?}");
    let id = added.json()["data"]["task_id"].as_str().unwrap().to_owned();
    let call = next_call(&world, &id, "").await;
    assert_eq!(call.data()["result"], "2");
    let shown = cli.run(&["schedule", "show", &id, "-o", "json"]).await.json();
    assert_eq!((&shown["state"], &shown["next_at"]), (&json!("done"), &json!(0)), "{shown}");
}

/// A time as ISO 8601 has it, in UTC.
fn time_text(at: std::time::SystemTime) -> String {
    let at = time::OffsetDateTime::from(at);
    let (hour, minute, second) = at.to_hms();
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", at.date())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_runs_a_macro_with_its_parameters_and_keeps_no_secret_among_them() {
    let world = World::new().await;
    grant(&world).await;
    let kiosk = world.device("kiosk").start().await;
    let admin = world.admin();
    let make =
        json!({"tool": "create_directory", "device": "kiosk", "arguments": {"path": "{{folder}}"}});
    let save = json!({"name": "tidy", "calls": [make], "parameters": ["folder"]});
    let saved = admin.call("backend", "save_macro", save).await;
    assert_eq!(saved.end(), (CallState::Succeeded, None), "{saved:?}");
    let task = |parameters: Value| json!({"name": "nightly", "when": "every 1h", "macro": "tidy", "parameters": parameters, "confirm": true});
    let secret = admin.call("backend", "schedule_task", task(json!({"token": "hunter2"}))).await;
    assert_eq!(secret.error().code, ErrorCode::InvalidArgument, "{secret:?}");
    let opened = &audit_of(admin, &secret.id).await[0].body;
    assert!(!opened.contains("hunter2"), "{opened}");

    let made = scheduled(admin, admin, task(json!({"folder": "Photos"}))).await;
    due(&world, &made.id, 0).await;
    let ran = next_call(&world, &made.id, "").await;
    let ran = admin.ended(&ran.id).await.unwrap();
    assert_eq!(ran.data()["succeeded"], 1, "{ran:?}");
    assert!(kiosk.tree().contains_key("Photos"));
}
