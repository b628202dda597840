//! Ten thousand recorded calls judged by another policy: the numbers are those of judging each by hand.

use std::path::Path;
use std::time::Instant;

use orion_catalog::find;
use orion_domain::rule::Counted;
use orion_domain::{
    CallId, CallState, Caller, CanonicalArguments, Decision, Grants, Policy, Question, Role,
    evaluate,
};
use orion_policy::{LintContext, PolicyFile};
use orion_server::fleet::presence::facts_from_json;
use orion_server::store::{CloseCall, NewCall, Store};
use orion_tests::{World, now_ms};
use orion_wire::Timezone;
use serde_json::{Value, json};

use super::{applied, fine, write};

/// How many calls are judged.
const CALLS: u32 = 10_000;

const HOLDS: &str = "\
version: 1
devices:
  kiosk:
    profile: operator
    paths: [\"{files}\"]
    apps: [code]
rules:
  - id: tidy-tmp
    tools: [delete_directory]
    devices: kiosk
    paths: [\"{files}/tmp/**\"]
    require_approval: false
    action: allow
  - id: ann-asks
    tools: [list_directory]
    users: [ann]
    action: ask
";

const CANDIDATE: &str = "\
version: 1
devices:
  kiosk:
    profile: operator
    paths:
      - { path: \"{files}\", access: [read, delete] }
      - { path: \"{files}/tmp\", access: [read, write, delete] }
    apps: [code, firefox]
rules:
  - id: bob-asks
    tools: [create_directory, write_file]
    users: [bob]
    action: ask
  - id: not-so-often
    tools: [get_device_info]
    limit: { calls: 5, per: 1d }
    action: deny
";

/// One call of the ten thousand: the same on every run.
fn call(index: u32, files: &str) -> (&'static str, Value, &'static str, Role) {
    let folder = ["tmp/a", "docs/b", "tmp/../docs/c", "../out"][(index % 4) as usize];
    let path = format!("{files}/{folder}");
    let app = ["code", "firefox", "notepad"][(index % 3) as usize];
    let (tool, arguments) = match index % 7 {
        0 => ("read_file", json!({"path": path})),
        1 => ("create_directory", json!({"path": path})),
        2 => ("write_file", json!({"path": path, "content": "x"})),
        3 => (
            "delete_directory",
            json!({"path": path, "recursive": true, "confirm": index.is_multiple_of(2)}),
        ),
        4 => ("open_app", json!({"app": app})),
        5 => ("get_device_info", json!({})),
        _ => ("list_directory", json!({"path": path})),
    };
    let (user, role) = [("ann", Role::Operator), ("bob", Role::Operator), ("vera", Role::Viewer)]
        [(index / 7 % 3) as usize];
    (tool, arguments, user, role)
}

/// Whether a person said no to a call then.
const fn was_refused(index: u32) -> bool {
    index % 13 == 5
}

/// Puts the calls on record as the backend would, five minutes apart.
async fn record(database: &Path, device: &orion_wire::v1::Device, files: &str, from: i64) {
    let store = Store::open(database).await.unwrap();
    for index in 0..CALLS {
        let (tool, arguments, user, role) = call(index, files);
        let at = from + i64::from(index) * 200_000;
        let seconds = u64::try_from(at / 1000).unwrap();
        let nanos = u32::try_from(at % 1000).unwrap() * 1_000_000;
        let id = uuid::Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos));
        let arguments = CanonicalArguments::from_value(&arguments);
        let new = NewCall {
            id: CallId::new(id),
            conversation: None,
            caller: Caller { user: user.parse().unwrap(), role, conversation: None },
            device: Some((device.device_id.parse().unwrap(), device.name.parse().unwrap())),
            tool: tool.to_owned(),
            arguments: arguments.as_bytes().to_vec(),
            arguments_digest: arguments.digest(),
            dry_run: index % 11 == 0,
            recovered: false,
            tainted: false,
            quoted: false,
            content_raises: Vec::new(),
            turn: None,
            touches: Vec::new(),
            decision: if was_refused(index) { "ask" } else { "allow" }.to_owned(),
            rule: String::new(),
            policy_version: String::new(),
            notes: Vec::new(),
            risk: None,
            definition: None,
            undo: None,
            has_effects: false,
            state: CallState::Received,
            idempotency_key: None,
            replaces: None,
            plan: None,
            parent: None,
            is_own_preview: false,
            deadline_at: at + 30_000,
            queued_until: None,
            created_at: at,
            admitted_at: (!was_refused(index)).then_some(at),
            token: None,
            secrets: None,
            alias: None,
        };
        let close = CloseCall {
            id: new.id,
            state: CallState::Denied,
            code: None,
            result: Vec::new(),
            duration_us: 0,
            witness: None,
            at,
        };
        store.open_and_close_call(new, close).await.unwrap();
    }
    store.close().await;
}

/// The policy of a file as the evaluator takes it, with the device's own ceiling.
fn compiled(text: &str, device: &orion_wire::v1::Device, facts: &str) -> Policy {
    let (file, findings) = orion_policy::check(text, "policy.yaml", &LintContext::default());
    let file: PolicyFile = file.unwrap_or_else(|| panic!("{findings:#?}"));
    let granted =
        file.compile(&device.name.parse().unwrap(), &orion_policy::Labels::default()).unwrap();
    let places = facts_from_json(facts).unwrap().places;
    let ceiling: Grants = serde_json::from_str(&device.ceiling).unwrap();
    Policy {
        grants: granted.grants.compile(&places).0,
        ceiling: Some(ceiling.compile(&places).0),
        rules: granted.rules.into_iter().map(|rule| rule.compile(&places).0).collect(),
        risk: granted.risk,
        ..Policy::deny_all()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_recorded_calls_are_judged_as_each_by_hand() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").ceiling("[ceiling]\nprofile = \"operator\"\npaths = [\"{files}\"]\napps = [\"code\", \"firefox\"]\n").start().await;
    applied(&world, &write(&world, "holds.yaml", &kiosk, HOLDS)).await;
    let candidate = write(&world, "candidate.yaml", &kiosk, CANDIDATE);
    let device = world.admin().device("kiosk").await.unwrap();
    kiosk.stop().await;
    world.server().stop().await;
    let files = kiosk.files().display().to_string();
    let from = now_ms() - i64::from(CALLS) * 200_000 - 60_000;
    record(&world.database(), &device, &files, from).await;
    let facts = facts_of(&world.database()).await;
    world.restart_server().await;

    // Each by hand, both ways.
    let text = |name: &str| std::fs::read_to_string(world.folder().join(name)).unwrap();
    let before = compiled(&text("holds.yaml"), &device, &facts);
    let after = compiled(&text("candidate.yaml"), &device, &facts);
    let places = facts_from_json(&facts).unwrap().places;
    let name = device.name.parse().unwrap();
    let mut expected = [0_u64; 6];
    let mut facts_asked: Vec<(&str, i64)> = Vec::new();
    for index in 0..CALLS {
        let (tool, arguments, user, role) = call(index, &files);
        let at = from + i64::from(index) * 200_000;
        let (spec, _) = find(tool).unwrap();
        let parsed = spec.parse(arguments.as_object().unwrap().clone(), &places).unwrap();
        let caller = Caller { user: user.parse().unwrap(), role, conversation: None };
        let recent = |(who, then): &&(&str, i64)| *who == user && *then >= at - 86_400_000;
        let often = facts_asked.iter().filter(recent).count();
        let earlier = [0, u32::try_from(often).unwrap()];
        let judge = |policy: &Policy| {
            let question = Question {
                tool: spec.facts(),
                touches: Some(&parsed.touches),
                arguments: Some(&parsed.arguments),
                caller: &caller,
                device: &name,
                dry_run: index % 11 == 0,
                confirmed: parsed.confirmed,
                at: Timezone::default().moment(at),
                content: None,
                raises: &[],
                counted: Some(Counted { earlier: &earlier, quantity: None }),
            };
            evaluate(&question, policy).decision()
        };
        let (was, is) = (judge(&before), judge(&after));
        let counts = !was_refused(index) && index % 11 != 0;
        if tool == "get_device_info" && is != Decision::Deny && counts {
            facts_asked.push((user, at));
        }
        expected[match (was, is) {
            (Decision::Deny, Decision::Deny) => 0,
            (_, Decision::Deny) => 1,
            (Decision::Deny, Decision::Allow) => 2,
            (Decision::Allow, Decision::Allow) => 0,
            (_, Decision::Allow) => 4,
            (Decision::Allow | Decision::Deny, _) => 3,
            (_, _) => 0,
        }] += 1;
        expected[5] += 1;
    }

    let begun = Instant::now();
    let test = ["policy", "test", &candidate, "--since", "60d", "--timeout", "1m"];
    let as_json = [&test[..], &["-o", "json", "--fail-on", "never"]].concat();
    let told = fine(world.cli().run(&as_json).await).json();
    let whole = begun.elapsed();
    eprintln!(
        "orion policy test over {CALLS} recorded calls: {} ms judging, {} ms with the command: {expected:?}",
        told["took_us"].as_u64().unwrap() / 1000,
        whole.as_millis()
    );
    let number = |key: &str| told[key].as_u64().unwrap();
    let found = [
        number("unchanged"),
        number("allowed_to_denied"),
        number("denied_to_allowed"),
        number("would_now_ask"),
        number("would_no_longer_ask"),
        number("calls"),
    ];
    assert_eq!(found, expected, "{told:#}");
    assert!(expected[1..].iter().all(|count| *count > 0), "every kind is there: {expected:?}");
    assert_eq!(number("not_evaluated"), 0);
    let samples = told["samples"].as_array().unwrap();
    assert!(samples.len() > 60 && samples.len() <= 100, "{}", samples.len());
    let narrower = world.cli().run(&test).await;
    assert_eq!(narrower.code, 1, "something is newly denied: {narrower:?}");
}

/// What the device said of itself, as the record has it.
async fn facts_of(database: &Path) -> String {
    let store = Store::open(database).await.unwrap();
    let row = store.device("kiosk").await.unwrap();
    store.close().await;
    row.facts.unwrap()
}
