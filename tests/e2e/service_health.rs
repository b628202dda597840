//! Whether services of a real device are well: real HTTP servers on loopback, and programs in the place of the
//! managers of services, as in `services.rs`.
#![cfg(target_os = "linux")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Call, Device, World};
use serde_json::{Value, json};

use super::services::{DOCKER, SYSTEMCTL};

/// A server that answers by the path of each request. It serves until the test's process ends.
fn serve() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let requests = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            requests.fetch_add(1, Ordering::Relaxed);
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default();
            let (status, body) = match path {
                "/api/health" => ("200 OK", r#"{"database":"ok","version":"12.0.0"}"#.to_owned()),
                "/bad/api/health" => ("200 OK", "{}".to_owned()),
                "/api/info/login" => {
                    ("200 OK", r#"{"https_port":443,"dns":false,"took":0.01}"#.to_owned())
                }
                "/-/healthy" => ("200 OK", "Prometheus Server is Healthy.\n".to_owned()),
                "/away" => ("302 Found\r\nLocation: http://127.0.0.1:1/", String::new()),
                "/endless" => {
                    // Says how long it is and never comes to the end of it.
                    drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"));
                    while stream.write_all(&[b' '; 4096]).is_ok() {}
                    continue;
                }
                "/silent" => {
                    std::mem::forget(stream);
                    continue;
                }
                _ => ("503 Service Unavailable", "secret of the body".to_owned()),
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    (address, count)
}

async fn homelab(hosts: &[String]) -> (World, Device) {
    let world = World::new().await;
    let services = json!(["nginx", "db"]);
    let grants = json!({
        "profile": "homelab", "paths": ["{files}"], "services": services, "hosts": hosts,
    });
    let ceiling = format!(
        "[ceiling]\nprofile = \"homelab\"\npaths = [\"{{files}}\"]\nservices = {services}\nhosts = {}\n",
        json!(hosts)
    );
    let kiosk = world.device("kiosk").grant(grants).ceiling(&ceiling).enroll().await;
    kiosk.install("systemctl", SYSTEMCTL);
    kiosk.install("docker", DOCKER);
    kiosk.run().await;
    (world, kiosk)
}

async fn check(world: &World, service: &str, endpoint: Option<String>) -> Call {
    let arguments = json!({"service": service, "endpoint": endpoint});
    let admin = world.admin();
    let call = admin.call("kiosk", "check_service_health", arguments).await;
    if call.state != CallState::AwaitingApproval {
        return call;
    }
    admin.decide(call.approval_id(), true, "").await.unwrap();
    admin.ended(&call.id).await.unwrap()
}

fn found(call: &Call) -> (bool, Value, String) {
    let data = call.data();
    let detail = data["detail"].as_str().unwrap().to_owned();
    (data["healthy"].as_bool().unwrap(), data["status_code"].clone(), detail)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_are_well_where_their_address_and_their_manager_say_so() {
    let (address, _) = serve();
    let (world, kiosk) = homelab(&[format!("localhost:{}", address.port())]).await;
    let at = |path: &str| Some(format!("http://localhost:{}{path}", address.port()));
    for (service, path, healthy, status) in [
        ("grafana", "/api/health", true, 200),
        ("prometheus", "/-/healthy", true, 200),
        ("pihole", "/api/info/login", false, 200),
        ("grafana", "/bad/api/health", true, 200),
        ("grafana", "/other?token=hidden", false, 503),
        ("prometheus", "/away", false, 302),
        ("nginx", "/-/healthy", true, 200),
        ("db", "/-/healthy", false, 200),
    ] {
        let call = check(&world, service, at(path)).await;
        let (is_healthy, code, detail) = found(&call);
        assert_eq!((is_healthy, code), (healthy, json!(status)), "{service} {path}: {call:?}");
        assert!(call.data()["latency_ms"].as_f64().unwrap() >= 0.0);
        assert!(!detail.contains("hidden") && !detail.contains("secret of"), "{detail}");
    }
    let nginx = check(&world, "nginx", None).await;
    assert_eq!(found(&nginx), (true, Value::Null, "nginx.service is active.".to_owned()));
    assert!(!found(&check(&world, "db", None).await).0);
    let docker = check(&world, "docker", None).await;
    assert_eq!(found(&docker).2, "Docker is running, with 2 containers.");
    kiosk.install(
        "docker",
        "#!/bin/sh\necho '{\"Client\":{\"Version\":\"28.2.2\"},\"Server\":null}'\nexit 1\n",
    );
    let docker = check(&world, "docker", None).await;
    assert_eq!((found(&docker).0, found(&docker).1), (false, Value::Null), "{docker:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_is_none_of_a_health_check_is_requested_once_a_person_approved_it() {
    let (address, requests) = serve();
    let (world, _kiosk) = homelab(&[address.to_string()]).await;
    let admin = world.admin();
    let arguments =
        |path: &str| json!({"service": "nginx", "endpoint": format!("http://{address}{path}")});
    let off = arguments("/relay/0?turn=off");
    let asked = admin.call("kiosk", "check_service_health", off.clone()).await;
    assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
    // It says itself that it changes nothing, so a dry run of it is the call.
    let previewed = admin.dry_run("kiosk", "check_service_health", off).await;
    assert_eq!(previewed.state, CallState::AwaitingApproval, "{previewed:?}");
    assert_eq!(requests.load(Ordering::Relaxed), 0, "nobody has approved it");
    admin.decide(asked.approval_id(), true, "").await.unwrap();
    let done = admin.ended(&asked.id).await.unwrap();
    assert_eq!((found(&done).1, requests.load(Ordering::Relaxed)), (json!(503), 1), "{done:?}");
    let usual = admin.call("kiosk", "check_service_health", arguments("/-/healthy")).await;
    assert_eq!(found(&usual).1, json!(200), "{usual:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_without_an_end_or_a_start_ends_with_the_check() {
    let (address, _) = serve();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let hosts = [address, closed].map(|it| it.to_string());
    let (world, _kiosk) = homelab(&hosts).await;
    let endless = Some(format!("http://{address}/endless"));
    assert!(found(&check(&world, "prometheus", endless).await).0, "its status says enough");
    let silent = check(&world, "prometheus", Some(format!("http://{address}/silent"))).await;
    let (healthy, status, detail) = found(&silent);
    assert_eq!((healthy, status), (false, Value::Null), "{silent:?}");
    assert!(detail.contains("did not answer in time"), "{detail}");
    let nobody = check(&world, "prometheus", Some(format!("http://{closed}/"))).await;
    assert!(found(&nobody).2.contains("accepted no connection"), "{nobody:?}");
    let plain = check(&world, "prometheus", Some(format!("https://{address}/"))).await;
    assert!(!found(&plain).0, "{plain:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_host_is_contacted_that_is_not_granted_whatever_its_address_is_written_like() {
    let (address, requests) = serve();
    let port = address.port();
    let (world, _kiosk) = homelab(&[format!("127.1:{port}"), "localhost:1".to_owned()]).await;
    for endpoint in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://localhost.:{port}/"),
    ] {
        let denied = check(&world, "grafana", Some(endpoint.clone())).await;
        let end = (CallState::Denied, Some(ErrorCode::UrlForbidden));
        assert_eq!(denied.end(), end, "{endpoint}: {denied:?}");
    }
    // A granted name that leads to the device itself.
    let itself = check(&world, "grafana", Some(format!("http://127.1:{port}/"))).await;
    assert_eq!(itself.error().code, ErrorCode::UrlForbidden, "{itself:?}");
    for wrong in
        ["file:///etc/passwd", "http://ann@localhost:1/", "localhost:1", "http://localhost:1/#a"]
    {
        let refused = check(&world, "grafana", Some(wrong.to_owned())).await;
        assert_eq!(refused.error().code, ErrorCode::InvalidArgument, "{wrong}: {refused:?}");
    }
    let known = check(&world, "prometheus", None).await;
    assert_eq!(known.end(), (CallState::Denied, Some(ErrorCode::UrlForbidden)), "{known:?}");
    assert_eq!(requests.load(Ordering::Relaxed), 0);
}
