//! What was recorded is taken in and told, also where whoever asked has gone, and where one device
//! cannot take it.

use std::time::Duration;

use orion_domain::{CallState, ErrorCode};
use orion_tests::{World, eventually, open_record};
use orion_wire::v1;
use serde_json::json;
use sqlx::Connection as _;

fn policy(id: &str, action: &str) -> v1::ApplyPolicyRequest {
    let text = format!(
        "version: 1\nrules:\n  - id: {id}\n    tools: [create_directory]\n    action: {action}\n"
    );
    v1::ApplyPolicyRequest { text, expected_version: -1, note: String::new() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_holds_everywhere_though_the_admin_went_away_while_it_was_applied() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for round in 0..40 {
        let mut policies = world.admin().policy();
        let applying = policies.apply_policy(policy(&format!("round-{round}"), "ask"));
        // Gone at whatever point of it.
        tokio::time::timeout(Duration::from_micros(500 * (round % 20)), applying).await.ok();
    }
    // What its admin did not wait for may still come after one that was waited for.
    let mut attempt = 0;
    eventually("the last policy", async || {
        attempt += 1;
        let last = policy(&format!("last-{attempt}"), "deny");
        let applied = world.admin().policy().apply_policy(last).await;
        let version = applied.unwrap().into_inner().version.unwrap().version;
        kiosk.ready().await;
        let held = world.admin().policy().get_policy(v1::GetPolicyRequest { version: 0 }).await;
        (held.unwrap().into_inner().version.unwrap().version == version).then_some(())
    })
    .await;
    let made = world.admin().call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(made.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{made:?}");
}

async fn tamper(world: &World, sql: &'static str) {
    let mut record = open_record(&world.database()).await;
    sqlx::query(sql).execute(&mut record).await.unwrap();
    record.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_cannot_be_read_takes_no_calls_and_keeps_no_other_from_its_policy() {
    let world = World::new().await;
    let mut devices = Vec::new();
    for name in ["a", "b", "c"] {
        devices.push(world.device(name).start().await);
    }
    world.expect_broken_audit_log();
    tamper(&world, "UPDATE devices SET state = 'nonsense' WHERE name = 'b'").await;
    world.admin().policy().apply_policy(policy("no-folders", "deny")).await.unwrap();
    let make = async |device: &str| {
        world.admin().call(device, "create_directory", json!({"path": "x"})).await
    };
    for name in ["a", "b", "c"] {
        let made = make(name).await;
        assert_eq!(made.state, CallState::Denied, "{name}: {made:?}");
    }
    let look = world.admin().call("b", "list_directory", json!({"path": "."})).await;
    assert_eq!(look.state, CallState::Denied, "{look:?}");

    tamper(&world, "UPDATE devices SET state = 'approved' WHERE name = 'b'").await;
    eventually("the device is granted again what it was", async || {
        let look = world.admin().call("b", "list_directory", json!({"path": "."})).await;
        (look.state == CallState::Succeeded).then_some(())
    })
    .await;
    assert_eq!(make("b").await.error().code, ErrorCode::PermissionDenied);
}
