//! Certificates are renewed in time, and nothing is dropped for it.

use orion_domain::CallState;
use orion_tests::{Enrolled, Faults, World, eventually};
use orion_wire::v1;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

/// How long certificates are good here, in seconds.
const LIFETIME: i64 = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_renewed_at_two_thirds_of_their_life_and_no_call_is_dropped_for_it() {
    let world = World::configured(&format!("certificate_seconds = {LIFETIME}\n")).await;
    let kiosk = world.device("kiosk").start().await;
    let until = Instant::now() + Duration::from_secs(28);
    let calling = (0..2).map(|_| {
        let admin = world.admin().clone();
        tokio::spawn(async move {
            let mut done = 0;
            while Instant::now() < until {
                let call = admin.call("kiosk", "get_datetime", json!({})).await;
                assert_eq!(call.end(), (CallState::Succeeded, None), "after {done}: {call:?}");
                done += 1;
            }
            done
        })
    });
    for one in calling.collect::<Vec<_>>() {
        assert!(one.await.unwrap() > 20);
    }
    let request = v1::ListAuditRequest { limit: 500, ..Default::default() };
    let mut issued = Vec::new();
    let mut before_seq = 0;
    loop {
        let request = v1::ListAuditRequest { before_seq, ..request.clone() };
        let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
        let Some(oldest) = rows.iter().map(|row| row.seq).min() else { break };
        before_seq = oldest;
        issued.extend(rows.iter().filter(|row| row.kind == "certificate.issued").map(|row| row.at));
    }
    issued.sort_unstable();
    let gaps: Vec<_> = issued.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.len() >= 2, "{gaps:?}");
    // Two thirds or a little before, of a certificate whose times are whole seconds; and what a busy
    // machine takes.
    let due = (LIFETIME - 1) * 1000 * 56 / 100..LIFETIME * 1000 * 95 / 100;
    assert!(gaps.iter().all(|gap| due.contains(gap)), "{gaps:?}");
    let log = kiosk.agent().log();
    assert!(!log.contains("not connected"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_slept_past_the_end_of_its_certificate_comes_back_by_itself() {
    let world = World::configured("certificate_seconds = 10\n").await;
    let kiosk = world.device("kiosk").start().await;
    let expired = async || {
        eventually("the end of its certificate", async || {
            let device = world.admin().device("kiosk").await.unwrap();
            (device.certificate_not_after < orion_tests::now_ms()).then_some(())
        })
        .await;
    };
    // It sleeps while it runs, as a laptop does.
    kiosk.agent().freeze();
    expired().await;
    kiosk.agent().thaw();
    eventually("a call on the device", async || {
        let call = world.admin().call("kiosk", "get_datetime", json!({})).await;
        (call.end() == (CallState::Succeeded, None)).then_some(())
    })
    .await;
    let request = v1::ListAuditRequest { limit: 500, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    assert_eq!(rows.iter().filter(|row| row.kind == "device.returned").count(), 1);
    assert!(kiosk.agent().log().contains("the certificate has expired; asking for a new one"));
}

/// As a device hangs up on its older link when it hears that it is welcome on the newer one, calls must
/// find that by then, however busy the backend is with what holds on devices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_hears_that_it_is_welcome_is_connected() {
    let world = World::new().await;
    let invite = v1::InviteDeviceRequest { preapproved: true, uses: 1, ..Default::default() };
    let invited = world.admin().devices().invite_device(invite).await.unwrap().into_inner();
    let pi = Enrolled::with(&invited.token.parse().unwrap(), "pi").await.unwrap();
    let mut changing = JoinSet::new();
    for _ in 0..8 {
        let admin = world.admin().clone();
        changing.spawn(async move {
            loop {
                let request = v1::SetDevicePermissionsRequest {
                    device: "pi".to_owned(),
                    grants: json!({}).to_string(),
                    expected_version: String::new(),
                };
                admin.policy().set_device_permissions(request).await.unwrap();
            }
        });
    }
    for generation in 1..=40 {
        let link = pi.link(&world.device_address(), generation).await.unwrap();
        let seen = world.admin().device("pi").await.unwrap();
        assert!(seen.online, "welcomed on its link {generation}, and not connected");
        drop(link);
    }
    assert!(changing.try_join_next().is_none(), "somebody changed nothing any more");
    changing.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_cannot_connect_with_its_new_certificate_tries_again_before_the_old_one_ends()
{
    let world = World::configured("certificate_seconds = 30\n").await;
    let proxy = world.proxy().await;
    let kiosk = world.device("kiosk").via_proxy(&proxy).start().await;
    proxy.set(Faults::refusing());
    eventually("an attempt that fails", async || {
        kiosk.agent().log().contains("not connected with the new certificate yet").then_some(())
    })
    .await;
    proxy.heal();
    eventually("a connection that takes over", async || {
        (kiosk.agent().log().matches("session: connected to").count() == 2).then_some(())
    })
    .await;
    assert!(world.server().log().contains("reason=ended by the backend"), "the old one went first");
}
