//! The container tools beside a real engine: Docker's own command line, and whatever serves its socket. The
//! story runs where `ORION_TEST_IMAGE` names an image of that engine that has `sh` and `sleep`.
#![cfg(target_os = "linux")]

use std::process::{Command, Output};

use orion_domain::CallState;
use orion_tests::World;
use serde_json::{Value, json};

const CEILING: &str = r#"[ceiling]
profile = "homelab"
paths = ["{files}"]
services = ["container:orion-test-web", "container:orion-test-done", "container:orion-test-none", "docker"]
logs = ["container:orion-test-web"]
"#;

/// Runs Docker's command line.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the engine that the tools are compared with"
)]
fn run(arguments: &[&str]) -> Output {
    Command::new("docker").args(arguments).output().unwrap()
}

/// Runs Docker's command line and returns what it printed.
fn docker(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "docker {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A container that goes with the test.
struct Container(&'static str);

impl Container {
    fn start(name: &'static str, image: &str, script: &str) -> Self {
        run(&["rm", "--force", name]);
        docker(&["run", "--detach", "--name", name, image, "sh", "-c", script]);
        Self(name)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        docker(&["rm", "--force", self.0]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn containers_of_a_real_engine_are_read_and_restarted() {
    let Ok(image) = std::env::var("ORION_TEST_IMAGE") else { return };
    let ticks = "while :; do echo tick; echo tock >&2; sleep 1; done";
    let web = Container::start("orion-test-web", &image, ticks);
    let done = Container::start("orion-test-done", &image, "exit 3");
    let world = World::new().await;
    let services: Value = json!([
        "container:orion-test-web",
        "container:orion-test-done",
        "container:orion-test-none"
    ]);
    let grants = json!({
        "profile": "homelab", "paths": ["{files}"], "services": services,
        "logs": ["container:orion-test-web"],
    });
    let _kiosk = world.device("kiosk").grant(grants).ceiling(CEILING).start().await;
    let admin = world.admin();
    let check = |name: &str| {
        admin.call("kiosk", "check_service", json!({"service": format!("container:{name}")}))
    };

    let found = admin.call("kiosk", "check_docker", json!({})).await;
    let version = docker(&["version", "--format", "{{.Client.Version}}"]);
    assert_eq!(found.data()["installed"], true, "{found:?}");
    assert_eq!(found.data()["running"], true, "{found:?}");
    assert!(found.data().to_string().contains(&version), "{found:?}");
    let count = docker(&["ps", "--quiet"]).lines().count();
    assert_eq!(found.data()["containers"], count, "{found:?}");

    let running = check(web.0).await;
    assert_eq!(running.data()["state"], "running", "{running:?}");
    let pid = running.data()["pid"].as_u64().unwrap();
    let asked = docker(&["inspect", "--format", "{{.State.Pid}}", web.0]);
    assert_eq!(asked, pid.to_string(), "{running:?}");
    let ended = check(done.0).await;
    assert_eq!((&ended.data()["state"], &ended.data()["pid"]), (&json!("exited"), &Value::Null));
    assert_eq!(check("orion-test-none").await.data()["state"], "not-found");

    let log = admin.call("kiosk", "read_logs", json!({"container": web.0, "lines": 4})).await;
    let lines = log.data()["lines"].as_array().unwrap_or_else(|| panic!("{log:?}"));
    assert_eq!(lines.len(), 4, "{log:?}");
    let texts: Vec<_> = lines.iter().filter_map(|line| line["text"].as_str()).collect();
    assert!(texts.contains(&"tick") && texts.contains(&"tock"), "{log:?}");

    let restart = json!({"service": format!("container:{}", web.0), "confirm": true});
    let asked = admin.call("kiosk", "restart_service", restart).await;
    admin.decide(asked.approval_id(), true, "").await.unwrap();
    let restarted = admin.ended(&asked.id).await.unwrap();
    assert_eq!(restarted.end().0, CallState::Succeeded, "{restarted:?}");
    assert_ne!(check(web.0).await.data()["pid"], pid);
}
