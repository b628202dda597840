//! Secrets in the results of calls: hidden where they are looked up, shown to who may see them, on the record.

use orion_domain::Role;
use orion_tests::{World, audit_of};
use orion_wire::v1;
use serde_json::{Value, json};

/// A key in two parts, so that no file here looks as if it held one.
fn key() -> String {
    format!("{}{}", "AKIA", "ABCDEFGH234567IJ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_that_are_looked_up_are_hidden_and_shown_on_demand_on_the_record() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("deploy.txt", format!("region = eu\nkey = {}\n", key()));
    let cli = world.cli();
    let made = cli.run(&["call", "kiosk", "read_file", "path=deploy.txt", "-o", "json"]).await;
    let id = made.json()["meta"]["call_id"].as_str().unwrap().to_owned();
    assert!(made.stdout.contains(&key()), "the answer to the call is whole: {made:?}");

    let shown = cli.run(&["calls", "show", &id, "-o", "json"]).await;
    let content = shown.json()["result"]["data"]["content"].as_str().unwrap().to_owned();
    assert!(content.starts_with("region = eu\nkey = [secret: aws access key, id "), "{content}");
    assert!(!shown.stdout.contains("AKIA") && shown.stderr.contains("--reveal"), "{shown:?}");
    let watched = cli.run(&["calls", "watch", &id]).await;
    assert!(!watched.stdout.contains("AKIA") && watched.stderr.contains("--reveal"), "{watched:?}");
    let kinds = async || {
        let rows = audit_of(world.admin(), &id).await;
        rows.into_iter()
            .filter(|row| row.kind == "secret.revealed")
            .map(|row| row.body)
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds().await, Vec::<String>::new());

    for format in ["table", "json"] {
        let revealed = cli.run(&["calls", "show", &id, "--reveal", "-o", format]).await;
        assert!(revealed.code == 0 && revealed.stdout.contains(&key()), "{revealed:?}");
    }
    let bodies = kinds().await;
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    let body: Value = serde_json::from_str(&bodies[0]).unwrap();
    assert_eq!(body, json!({"by": "admin", "caller": "admin"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_else_and_no_program_is_shown_a_secret() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("deploy.txt", key());
    let ann = world.person("ann", Role::Operator).await;
    let bob = world.person("bob", Role::Operator).await;
    let made = ann.call("kiosk", "read_file", json!({"path": "deploy.txt"})).await;
    let request = || v1::RevealCallRequest { call_id: made.id.to_string() };
    let refused = bob.tools().reveal_call(request()).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::NotFound, "{refused:?}");
    let token = v1::CreateTokenRequest {
        name: "program".to_owned(),
        scopes: vec![v1::Scope::Read.into(), v1::Scope::Call.into()],
        ..Default::default()
    };
    let token = ann.auth().create_token(token).await.unwrap().into_inner().secret;
    let program = ann.with_token(&token);
    let refused = program.tools().reveal_call(request()).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");
    let looked = v1::GetCallRequest { call_id: made.id.to_string(), wait_ms: 0 };
    let looked = program.tools().get_call(looked).await.unwrap().into_inner().call.unwrap();
    assert!(!String::from_utf8_lossy(&looked.result).contains("AKIA"), "{looked:?}");
    let rows = audit_of(world.admin(), &made.id.to_string()).await;
    assert!(rows.iter().all(|row| row.kind != "secret.revealed"), "{rows:?}");

    let revealed = ann.tools().reveal_call(request()).await.unwrap().into_inner().call.unwrap();
    assert!(String::from_utf8_lossy(&revealed.result).contains(&key()), "{revealed:?}");
    world.admin().tools().reveal_call(request()).await.unwrap();
    let rows = audit_of(world.admin(), &made.id.to_string()).await;
    let bodies: Vec<&str> = rows
        .iter()
        .filter(|row| row.kind == "secret.revealed")
        .map(|row| row.body.as_str())
        .collect();
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    assert!(bodies.iter().all(|body| body.contains("\"caller\":\"ann\"")), "{bodies:?}");
    assert!(bodies.iter().any(|body| body.contains("\"by\":\"admin\"")), "{bodies:?}");
}
