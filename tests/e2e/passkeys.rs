//! Approvals that must be signed with a passkey: who can give them, and every way around that is closed.

mod authenticator;

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Client, Device, Output, World};
use orion_wire::v1;
use orion_wire::v1::decide_approval_request::More;
use orion_wire::v1::start_passkey_approval_request::Of;
use serde_json::{Value, json};

use self::authenticator::Authenticator;

const PASSWORD: &str = "four words of a test";

const RULES: &str = "\
version: 1
rules:
  - id: signed
    tools: [delete_file, delete_directory]
    action: ask
    approvers: { role: operator, passkey: required }
    because: Deletions are signed.
";

async fn apply(world: &World, kiosk: &Device, text: &str) {
    let text = text.to_owned();
    let request = v1::ApplyPolicyRequest { text, expected_version: -1, note: String::new() };
    let applied = world.admin().policy().apply_policy(request).await.unwrap().into_inner();
    assert!(applied.is_applied, "{:?}", applied.findings);
    kiosk.ready().await;
}

/// A person who signed in with a password.
async fn person(world: &World, name: &str, role: &str) -> Client {
    let (user, password) = (name.to_owned(), PASSWORD.to_owned());
    let request = v1::CreateUserRequest {
        user: user.clone(),
        role: role.to_owned(),
        password: password.clone(),
    };
    world.admin().auth().create_user(request).await.unwrap();
    let nobody = world.admin().with_token("");
    let signed_in = nobody.auth().login(v1::LoginRequest { user, password }).await.unwrap();
    nobody.with_token(&signed_in.into_inner().token)
}

async fn delete(person: &Client, kiosk: &Device, name: &str) -> Call {
    kiosk.write_file(name, "x");
    let asked = person.call("kiosk", "delete_file", json!({"path": name, "confirm": true})).await;
    assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
    asked
}

async fn card(person: &Client, id: &str) -> v1::Approval {
    let request = v1::GetApprovalRequest { approval_id: id.to_owned(), ..Default::default() };
    person.approvals().get_approval(request).await.unwrap().into_inner().approval.unwrap()
}

async fn decide(
    person: &Client,
    id: &str,
    passkey: Option<v1::PasskeyAssertion>,
) -> Result<v1::ApprovalState, tonic::Status> {
    let request = v1::DecideApprovalRequest {
        approval_id: id.to_owned(),
        approve: true,
        passkey,
        ..v1::DecideApprovalRequest::default()
    };
    let answer = person.approvals().decide_approval(request).await?.into_inner();
    Ok(answer.approval.unwrap().state())
}

async fn signed(
    key: &mut Authenticator,
    person: &Client,
    id: &str,
) -> Option<v1::PasskeyAssertion> {
    let card = card(person, id).await;
    Some(key.sign(person, Of::ApprovalId(id.to_owned()), &card.shown_digest).await.unwrap())
}

async fn audited(world: &World, kind: &str) -> Vec<Value> {
    let request = v1::ListAuditRequest { limit: 500, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    let of_kind = rows.into_iter().rev().filter(|row| row.kind == kind);
    of_kind.map(|row| serde_json::from_str(&row.body).unwrap()).collect()
}

fn hints(status: &tonic::Status) -> String {
    let error = orion_wire::tool_error_from(status).unwrap();
    error.hints.into_iter().map(|hint| hint.text).collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_is_signed_once_for_what_was_shown_over_a_restart_and_a_backup_too() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    apply(&world, &kiosk, RULES).await;
    let bob = person(&world, "bob", "operator").await;
    let mut key = Authenticator::new(&world);
    let passkey = key.register(&bob, PASSWORD).await.unwrap();
    assert_eq!((passkey.name.as_str(), passkey.algorithm.as_str()), ("blue key", "ES256"));

    let first = delete(&bob, &kiosk, "a.txt").await;
    let second = delete(&bob, &kiosk, "b.txt").await;
    let shown = card(&bob, first.approval_id()).await;
    assert!(shown.passkey_required && shown.shown_digest.len() == 32, "{shown:?}");
    let other = card(&bob, second.approval_id()).await;
    // What is signed is what was shown, and of that request.
    let of = || Of::ApprovalId(first.approval_id().to_owned());
    let stale = key.sign(&bob, of(), &other.shown_digest).await.unwrap_err();
    assert_eq!(stale.code(), tonic::Code::FailedPrecondition, "{stale:?}");
    let of_second = signed(&mut key, &bob, second.approval_id()).await;
    let elsewhere = decide(&bob, first.approval_id(), of_second.clone()).await.unwrap_err();
    assert!(elsewhere.message().contains("signed something else"), "{elsewhere:?}");
    let again = decide(&bob, second.approval_id(), of_second).await.unwrap_err();
    assert!(again.message().contains("not open in this session"), "{again:?}");

    let good = signed(&mut key, &bob, first.approval_id()).await;
    let approved = decide(&bob, first.approval_id(), good).await.unwrap();
    assert_eq!(approved, v1::ApprovalState::Approved);
    let ended = bob.ended(&first.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Succeeded, None), "{ended:?}");
    assert!(card(&bob, first.approval_id()).await.votes[0].by_passkey);
    // A copy of the passkey has counted on its own.
    key.count = 1;
    let copied = signed(&mut key, &bob, second.approval_id()).await;
    let refused = decide(&bob, second.approval_id(), copied).await.unwrap_err();
    assert!(refused.message().contains("there may be a copy of it"), "{refused:?}");
    key.count = 10;

    let folder = world.folder().join("backup").display().to_string();
    let data_dir = world.data_dir().display().to_string();
    let server = async |words: &[&str]| -> Output {
        let words = [words, &["--data-dir", &data_dir]].concat();
        world.cli().program("orion-server", &words, b"").await
    };
    assert_eq!(server(&["backup", &folder]).await.code, 0);
    world.server().stop().await;
    std::fs::rename(world.data_dir(), world.folder().join("lost")).unwrap();
    let restored = server(&["restore", &folder]).await;
    assert_eq!(restored.code, 0, "{restored:?}");
    world.restart_server().await;
    kiosk.ready().await;
    let listed = bob.passkeys().list_passkeys(v1::ListPasskeysRequest::default()).await.unwrap();
    let listed = listed.into_inner().passkeys;
    assert_eq!(listed.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["blue key"]);
    assert!(listed[0].last_used_at > 0, "{listed:?}");
    let decided = audited(&world, "approval.decided").await;
    assert_eq!(decided[0]["passkey"], json!(listed[0].passkey_id));
    let refused = audited(&world, "passkey.refused").await;
    assert_eq!(refused.len(), 2, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_passkey_nothing_approves_and_each_refusal_names_the_page() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let check = v1::CheckPolicyRequest { text: RULES.to_owned() };
    let checked = world.admin().policy().check_policy(check).await.unwrap().into_inner();
    let codes: Vec<_> = checked.findings.iter().map(|it| it.code.as_str()).collect();
    assert_eq!((checked.is_valid, codes), (true, vec!["no-passkey"]), "{:?}", checked.findings);
    apply(&world, &kiosk, RULES).await;
    let bob = world.person("bob", Role::Operator).await;
    let asked = delete(&bob, &kiosk, "a.txt").await;
    let id = asked.approval_id();
    let port = world.people_address().rsplit(':').next().unwrap().to_owned();
    let page = format!("http://localhost:{port}/approvals/{id}");

    for person in [world.admin(), &bob] {
        let refused = decide(person, id, None).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");
        assert!(refused.message().contains("needs your passkey"), "{refused:?}");
        assert!(hints(&refused).contains(&page), "{refused:?}");
    }
    // No wider answer goes around it, and a changed call waits for a passkey of its own.
    let more = [
        More::ForThisChat(v1::ForThisChat {}),
        More::NarrowRule(v1::NarrowRule {
            expires_at: orion_tests::now_ms() + 60_000,
            ..Default::default()
        }),
    ];
    for more in more {
        let request = v1::DecideApprovalRequest {
            approval_id: id.to_owned(),
            approve: true,
            more: Some(more),
            ..Default::default()
        };
        world.admin().approvals().decide_approval(request).await.unwrap_err();
    }
    let request = v1::ListStandingRulesRequest {};
    let rules = world.admin().approvals().list_standing_rules(request).await.unwrap();
    assert_eq!(rules.into_inner().rules, []);
    kiosk.write_file("b.txt", "x");
    let arguments = json!({"path": "b.txt", "confirm": true}).to_string().into_bytes().into();
    let request = v1::DecideApprovalRequest {
        approval_id: id.to_owned(),
        approve: true,
        more: Some(More::ChangedArguments(v1::ChangedArguments { arguments })),
        ..Default::default()
    };
    let changed = world.admin().approvals().decide_approval(request).await.unwrap().into_inner();
    let changed = Call::from(changed.changed.unwrap());
    assert_eq!(changed.state, CallState::AwaitingApproval, "{changed:?}");
    decide(world.admin(), changed.approval_id(), None).await.unwrap_err();

    // The command line, by every command that answers, and the terminal's chat.
    let cli = world.cli();
    let id = changed.approval_id();
    let approve = cli.run(&["approvals", "approve", id]).await;
    assert_eq!(approve.code, 5, "{approve:?}");
    let page = format!("http://localhost:{port}/approvals/{id}");
    assert!(
        approve.stderr.contains("needs your passkey") && approve.stderr.contains(&page),
        "{approve:?}"
    );
    let listed = cli.run(&["approvals", "list"]).await;
    assert!(listed.stdout.contains("open, passkey"), "{listed:?}");
    let shown = cli.run(&["approvals", "show", id]).await;
    assert!(shown.stdout.contains("operator, with a passkey on the page"), "{shown:?}");
    let call = ["call", "kiosk", "delete_file", "path=b.txt", "confirm=true", "--yes"];
    let call = cli.run(&call).await;
    assert_eq!(call.code, 5, "{call:?}");
    assert!(call.stderr.contains("needs your passkey"), "{call:?}");
    // What waits names the page, and no command, because none can sign.
    let waits = ["call", "kiosk", "delete_file", "path=b.txt", "confirm=true"];
    let plan = ["plan", "call", "kiosk", "delete_file", "path=b.txt", "confirm=true"];
    for (waits, place) in [(&waits[..], "/approvals/"), (&plan[..], "/plans/")] {
        for output in ["table", "json"] {
            let said = cli.run(&[waits, &["-o", output]].concat()).await;
            assert_eq!(said.code, 6, "{said:?}");
            let page = format!("with a passkey on the page: http://localhost:{port}{place}");
            assert!(said.stderr.contains(&page), "{said:?}");
            assert!(!said.stderr.contains(" approve 0"), "{said:?}");
        }
    }
    let why = cli.run(&["why", "kiosk", "delete_file", "path=b.txt", "confirm=true"]).await;
    assert!(why.stdout.contains("must approve it, with a passkey on the page"), "{why:?}");
    assert!(kiosk.files().join("a.txt").exists() && kiosk.files().join("b.txt").exists());
    let refused = audited(&world, "approval.refused").await;
    assert!(refused.len() >= 5, "{refused:?}");

    // A denial needs nothing.
    world.admin().decide(id, false, "no").await.unwrap();
    let ended = world.admin().ended(&changed.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Denied, Some(ErrorCode::ApprovalRejected)));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_at_the_terminal_is_no_approval_and_says_where_to_give_it() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    apply(&world, &kiosk, RULES).await;
    kiosk.write_file("a.txt", "x");
    let mut chat = world.cli().terminal("chat");
    chat.sees("› ").await;
    chat.line("delete a.txt").await;
    let card = chat.sees("Approve? y, n, n because").await;
    assert!(card.contains("with a passkey on the page"), "{card}");
    for answer in ["y", "c"] {
        chat.line(answer).await;
        let printed = chat.sees("n denies it here").await;
        assert!(printed.contains("http://localhost:"), "{printed}");
        assert!(printed.contains("/approvals/"), "{printed}");
    }
    chat.line("n because not so").await;
    let denied = chat.sees("› ").await;
    assert!(denied.contains("not so"), "{denied}");
    assert!(kiosk.files().join("a.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_alone_registers_no_passkey_and_nobody_removes_another_persons() {
    let world = World::new().await;
    let bob = person(&world, "bob", "operator").await;
    let key = Authenticator::new(&world);
    let wrong = key.register(&bob, "not the right words").await.unwrap_err();
    assert!(wrong.message().contains("password is wrong"), "{wrong:?}");
    // An account without a password has nothing to show that it is its person.
    let eve = world.person("eve", Role::Operator).await;
    let none = key.register(&eve, "").await.unwrap_err();
    assert!(none.message().contains("has no password"), "{none:?}");
    let passkey = key.register(&bob, PASSWORD).await.unwrap();
    let twice = key.register(&bob, PASSWORD).await.unwrap_err();
    assert_eq!(twice.code(), tonic::Code::AlreadyExists, "{twice:?}");

    let request = |user: &str| v1::RemovePasskeyRequest {
        passkey_id: passkey.passkey_id.clone(),
        user: user.to_owned(),
    };
    for (person, user) in [(&eve, "bob"), (&eve, ""), (world.admin(), "eve")] {
        person.passkeys().remove_passkey(request(user)).await.unwrap_err();
    }
    let list = v1::ListPasskeysRequest { user: "bob".to_owned() };
    let refused = eve.passkeys().list_passkeys(list.clone()).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");
    world.admin().passkeys().remove_passkey(request("bob")).await.unwrap();
    let left = world.admin().passkeys().list_passkeys(list).await.unwrap().into_inner();
    assert_eq!(left.passkeys, []);
    let by: Vec<_> =
        audited(&world, "passkey.removed").await.iter().map(|it| it["by"].clone()).collect();
    assert_eq!(by, ["admin"]);
    let registered = audited(&world, "passkey.registered").await;
    assert_eq!(registered.len(), 1, "{registered:?}");
    let failed = audited(&world, "auth.failed").await;
    assert_eq!(failed[0]["for"], "passkey");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_signed_as_a_whole_and_two_people_each_with_their_own() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let rules = RULES.replace("role: operator,", "role: operator, count: 2,");
    apply(&world, &kiosk, &rules).await;
    let (bob, carl) =
        (person(&world, "bob", "operator").await, person(&world, "carl", "operator").await);
    let (mut of_bob, mut of_carl) = (Authenticator::new(&world), Authenticator::new(&world));
    of_bob.register(&bob, PASSWORD).await.unwrap();
    of_carl.register(&carl, PASSWORD).await.unwrap();
    for name in ["a.txt", "b.txt"] {
        kiosk.write_file(name, "x");
    }
    let step = |name: &str| ("kiosk", "delete_file", json!({"path": name, "confirm": true}));
    let steps = [step("a.txt"), step("b.txt")];
    let plan = bob.plan(&steps, false).await.unwrap();
    let refused = bob.decide_plan(&plan, true, "").await.unwrap_err();
    assert!(refused.message().contains("needs your passkey"), "{refused:?}");
    let port = world.people_address().rsplit(':').next().unwrap().to_owned();
    let page = format!("http://localhost:{port}/plans/{}", plan.plan_id);
    assert!(hints(&refused).contains(&page), "{refused:?}");
    let answer = async |person: &Client, passkey| {
        let request = v1::DecidePlanRequest {
            plan_id: plan.plan_id.clone(),
            hash: plan.hash.clone(),
            approve: true,
            reason: String::new(),
            passkey,
        };
        let answer = person.plans().decide_plan(request).await?;
        Ok::<_, tonic::Status>(answer.into_inner().plan.unwrap().state())
    };
    let of = || Of::PlanId(plan.plan_id.clone());
    let one = of_bob.sign(&bob, of(), &plan.hash).await.unwrap();
    // Signed by one, it is no vote of the other.
    let borrowed = answer(&carl, Some(one.clone())).await.unwrap_err();
    assert!(borrowed.message().contains("not open in this session"), "{borrowed:?}");
    assert_eq!(answer(&bob, Some(one)).await.unwrap(), v1::PlanState::Open);
    let two = of_carl.sign(&carl, of(), &plan.hash).await.unwrap();
    assert_eq!(answer(&carl, Some(two)).await.unwrap(), v1::PlanState::Running);
    let ended = bob.plan_of(&plan, true).await.unwrap();
    assert_eq!(ended.state(), v1::PlanState::Succeeded, "{ended:?}");
    assert!(kiosk.tree().is_empty());
}
