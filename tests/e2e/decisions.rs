//! One table of decisions, three that answer: the evaluator, a real backend over gRPC, and a device's
//! guard, in this process and in a real agent that a lying backend asks. All say the same, by the same
//! line.

mod answers;
#[path = "../../shared/policy/tests/policy/decisions/table.rs"]
mod table;
mod wide;
mod wire;

use std::collections::BTreeMap;

use answers::{Answer, Device};
use orion_domain::Role;
use orion_tests::{Client, LyingAgent, World};
use orion_wire::{PROTOCOL, v1};
use serde_json::json;
use table::Row;

/// The rows that anyone can be asked about.
fn plain() -> Vec<Row> {
    table::rows().into_iter().filter(Row::is_plain).collect()
}

fn wanted(row: &Row) -> Answer {
    Answer { decision: row.decision.clone(), rule: row.rule.clone() }
}

/// Holds answers to the table, and says how many there were.
#[expect(clippy::print_stdout, reason = "how many agree is what is asked of this")]
fn hold(who: &str, rows: &[Row], answers: &[Answer]) {
    assert_eq!(rows.len(), answers.len());
    let differ = rows.iter().zip(answers).filter(|(row, answer)| wanted(row) != **answer);
    let wrong: Vec<_> = differ
        .map(|(row, found)| {
            format!("{}\n  wanted {:?}\n  found  {found:?}", row.title, wanted(row))
        })
        .collect();
    println!("{who}: {} of {} rows agree", rows.len() - wrong.len(), rows.len());
    assert!(wrong.is_empty(), "{who} on {} rows:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_evaluator_and_the_devices_guard_answer_as_the_table_says() {
    let rows = plain();
    assert!(rows.len() >= 300, "{}", rows.len());
    let mut devices = BTreeMap::new();
    let mut device = |row: &Row| -> Device {
        devices.entry(row.device.clone()).or_insert_with(|| Device::of(row)).clone()
    };
    let evaluated: Vec<_> = rows.iter().map(|row| device(row).evaluated(row)).collect();
    hold("evaluate", &rows, &evaluated);
    let guarded: Vec<_> = rows.iter().map(|row| device(row).guarded(row)).collect();
    hold("the device's guard", &rows, &guarded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backend_answers_as_the_table_says_over_grpc() {
    let world = World::new().await;
    let mut rows = plain();
    // One policy at a time, and one role of a person at a time.
    rows.sort_by(|a, b| (&a.policy, &a.user, &a.role).cmp(&(&b.policy, &b.user, &b.role)));
    let mut devices: BTreeMap<&str, ()> = BTreeMap::new();
    let mut people: BTreeMap<String, (Client, String)> = BTreeMap::new();
    let (mut policy, mut answers) = ("", Vec::new());
    for row in &rows {
        if !devices.contains_key(row.device.as_str()) {
            enrol(&world, row).await;
            devices.insert(&row.device, ());
        }
        if policy != row.policy {
            apply(&world, &row.policy).await;
            policy = &row.policy;
        }
        let client = person(&world, row, &mut people).await;
        answers.push(explained(&client, row).await);
    }
    hold("the backend over gRPC", &rows, &answers);
}

/// A device that said of itself what the row says.
async fn enrol(world: &World, row: &Row) {
    let device = world.device(&row.device).enroll().await;
    let ceiling = if row.ceiling.is_null() { wide::ceiling(row) } else { row.ceiling.clone() };
    let hello = v1::Hello {
        protocol_major: PROTOCOL.major,
        protocol_minor: PROTOCOL.minor,
        agent_version: "0.0.0".to_owned(),
        facts: Some(v1::DeviceFacts {
            os: if row.style == "windows" { "windows" } else { "linux" }.to_owned(),
            hostname: row.device.clone(),
            home: row.home.clone(),
            workspace: row.workspace.clone(),
            ..v1::DeviceFacts::default()
        }),
        ceiling: ceiling.to_string().into(),
        generation: 1,
        ..v1::Hello::default()
    };
    drop(LyingAgent::greet(&device, &world.device_address(), hello).await.unwrap());
}

async fn apply(world: &World, text: &str) {
    let request =
        v1::ApplyPolicyRequest { text: text.to_owned(), expected_version: -1, note: String::new() };
    world.admin().policy().apply_policy(request).await.unwrap();
}

async fn person(
    world: &World,
    row: &Row,
    people: &mut BTreeMap<String, (Client, String)>,
) -> Client {
    let role: Role = row.role.parse().unwrap();
    if let Some((client, held)) = people.get_mut(&row.user) {
        if *held != row.role {
            let (user, role) = (row.user.clone(), row.role.clone());
            let request = v1::SetUserRoleRequest { user, role: role.clone() };
            world.admin().auth().set_user_role(request).await.unwrap();
            *held = role;
        }
        return client.clone();
    }
    let client = world.person(&row.user, role).await;
    people.insert(row.user.clone(), (client.clone(), row.role.clone()));
    client
}

async fn explained(client: &Client, row: &Row) -> Answer {
    let mut arguments = row.arguments.clone();
    if let Some(call_id) = arguments.get_mut("call_id") {
        // A backend answers only about calls that it knows of: one of the same person on the same device.
        *call_id = client.call(&row.device, "get_datetime", json!({})).await.id.into();
    }
    let request = v1::ExplainCallRequest {
        tool: row.tool.clone(),
        device: row.device.clone(),
        arguments: serde_json::to_vec(&arguments).unwrap().into(),
        dry_run: row.when.dry_run,
        ..Default::default()
    };
    let said = client.policy().explain_call(request).await.unwrap().into_inner();
    assert_eq!((said.user.as_str(), said.role.as_str()), (row.user.as_str(), row.role.as_str()));
    if said.evidence.is_empty() {
        assert_eq!(said.decision, "deny", "{}", row.title);
        return Answer::invalid();
    }
    let deciding = said.evidence.iter().find(|line| line.deciding).unwrap();
    Answer::new(&said.decision, &deciding.name)
}
