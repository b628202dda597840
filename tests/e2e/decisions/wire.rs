//! The rows of devices of this system, asked of real agents by a backend that grants what the table
//! says and then sends every call, also those that it should not.
//!
//! A call that is allowed is sent as a preview, for nothing is to be done on this machine: then it is
//! known that the device does not refuse it, and not by which line. Everything else is sent to be run.

use std::collections::BTreeMap;

use orion_domain::{CallState, Envelope, ErrorCode};
use orion_tests::{Deceived, LyingServer};
use orion_wire::{call_state_from, v1};
use serde_json::Value;

use super::answers::{Answer, Device};
use super::table::Row;
use super::{hold, plain, wide};

/// How long a call may take: a preview of going through a whole disk need not end.
const TIME_MS: u64 = 3_000;

/// A ceiling as an owner writes it.
fn written(ceiling: &Value) -> String {
    let ceiling: toml::Value = serde_json::from_value(ceiling.clone()).unwrap();
    toml::to_string(&toml::Table::from_iter([("ceiling".to_owned(), ceiling)])).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_devices_answer_as_the_table_says_whatever_is_sent() {
    let mut by_device: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for row in plain().into_iter().filter(|row| row.style == "posix") {
        by_device.entry(row.device.clone()).or_default().push(row);
    }
    let (mut asked, mut answers) = (Vec::new(), Vec::new());
    for rows in by_device.into_values() {
        answers.extend(answered(&rows).await);
        asked.extend(rows);
    }
    hold("real devices over the wire", &asked, &answers);
}

async fn answered(rows: &[Row]) -> Vec<Answer> {
    let first = rows.first().unwrap();
    let device = Device::of(first);
    // Nothing that the guard errs in is tried on this machine.
    for row in rows {
        assert_eq!(device.guarded(row), super::wanted(row), "{}", row.title);
    }
    let ceiling =
        if first.ceiling.is_null() { wide::ceiling(first) } else { first.ceiling.clone() };
    let server = LyingServer::start().await;
    let agent = Deceived::start_in_home(&server, &written(&ceiling), &first.home).await;
    let mut link = server.link().await;
    let ack = link.policy(device.granted().to_bytes()).await;
    assert_eq!(ack.error, "");
    let orders: Vec<_> = rows
        .iter()
        .enumerate()
        .map(|(index, row)| {
            let (spec, _) = orion_catalog::find(&row.tool).unwrap();
            let arguments = Value::Object(row.arguments.clone());
            let dry_run = row.when.dry_run || row.decision == "allow";
            let order = if row.decision == "invalid" {
                v1::Dispatch { approval: None, ..link.any_order(spec, &arguments, dry_run) }
            } else {
                link.order(&row.tool, &arguments)
            };
            let (user, role) = (row.user.clone(), row.role.clone());
            (index, v1::Dispatch { user, role, dry_run, time_left_ms: TIME_MS, ..order })
        })
        .collect();
    let mut answers = vec![Answer::invalid(); rows.len()];
    link.run_all(orders, 12, |index, result| answers[index] = answer(&rows[index], &result)).await;
    drop(agent);
    answers
}

fn answer(row: &Row, result: &v1::CallResult) -> Answer {
    let envelope: Envelope = serde_json::from_slice(&result.result).unwrap();
    let Some(error) = envelope.error else { return Answer::new("allow", &row.rule) };
    // It was taken, and there is nothing at that path on this machine. What is not taken takes no time.
    if result.duration_us > 0 {
        return Answer::new("allow", &row.rule);
    }
    assert_eq!(call_state_from(result.state).unwrap(), CallState::Refused, "{}", row.title);
    match error.details.get("rule").and_then(Value::as_str) {
        None => Answer::invalid(),
        Some(rule) => {
            let is_question = error.code == ErrorCode::ApprovalRequired;
            let decision = match row.decision.as_str() {
                // The device wants a person's yes to both, and says by which line.
                "dry_run_first" | "ask" if is_question => &row.decision,
                _ if is_question => "ask",
                _ => "deny",
            };
            Answer::new(decision, rule)
        }
    }
}
