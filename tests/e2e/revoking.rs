//! What ends a live stream: revoking, quarantine, and the end of the certificate it began with.
//!
//! `ORION_REVOCATIONS` devices are revoked one after the other (30); `make test-identity` has 300.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use orion_mtls::{CertificateAuthority, secret_file};
use orion_tests::{Enrolled, Linked, World, connect, now_ms, percentile};
use orion_wire::{EnrollmentToken, v1};

use crate::one_use::number;

async fn token(world: &World, uses: usize) -> EnrollmentToken {
    let uses = u32::try_from(uses).unwrap();
    let request = v1::InviteDeviceRequest { preapproved: true, uses, ..Default::default() };
    let invited = world.admin().devices().invite_device(request).await.unwrap();
    invited.into_inner().token.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoking_ends_live_streams_at_once() {
    let world = World::new().await;
    let devices = number("ORION_REVOCATIONS", 30);
    let (token, address) = (token(&world, devices).await, world.device_address());
    let mut linked = Vec::new();
    for device in 0..devices {
        // An address may enrol only so many a minute.
        let from = IpAddr::from([127, 0, 1, u8::try_from(1 + device / 50).unwrap()]);
        let enrolled = Enrolled::coming_from(from, &token, &format!("pi-{device}")).await.unwrap();
        let stream = enrolled.link(&address, 1).await.unwrap();
        linked.push((enrolled, stream));
    }
    let mut times = Vec::new();
    for (enrolled, stream) in &mut linked {
        let began = Instant::now();
        let request =
            v1::RevokeDeviceRequest { device: enrolled.id.clone(), reason: "lost".to_owned() };
        world.admin().devices().revoke_device(request).await.unwrap();
        stream.ended().await;
        times.push(began.elapsed());
        enrolled.link(&address, 2).await.expect_err("a revoked device was let in");
    }
    times.sort();
    let [p50, p99, last] = [50, 99, 100].map(|percent| percentile(&times, percent));
    eprintln!("revoke to closed stream, {devices} devices: p50 {p50:?}, p99 {p99:?}");
    assert!(last < Duration::from_secs(10), "{times:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quarantine_ends_a_live_stream() {
    let world = World::new().await;
    let token = token(&world, 1).await;
    let enrolled = Enrolled::with(&token, "pi").await.unwrap();
    let mut stream = enrolled.link(&world.device_address(), 1).await.unwrap();
    let request = v1::QuarantineDeviceRequest { device: "pi".to_owned(), reason: String::new() };
    world.admin().devices().quarantine_device(request).await.unwrap();
    stream.ended().await;
    let refused = enrolled.link(&world.device_address(), 2).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_ends_with_the_certificate_that_it_began_with() {
    let world = World::new().await;
    let token = token(&world, 1).await;
    let enrolled = Enrolled::with(&token, "pi").await.unwrap();
    // The backend's own authority gives the same device a certificate of ten seconds.
    let key = secret_file::read_text(&world.data_dir().join("ca.key")).unwrap();
    let certificate = std::fs::read_to_string(world.data_dir().join("ca.pem")).unwrap();
    let authority = CertificateAuthority::load(key.expose(), &certificate).unwrap();
    let short = Duration::from_secs(10);
    let csr = enrolled.key.csr().unwrap();
    let issued = authority.issue_device(csr.as_bytes(), &enrolled.id, short, now_ms()).unwrap();
    let tls = orion_mtls::mutual(&enrolled.authorities, &issued.cert_pem, &enrolled.key).unwrap();
    let client = connect(&world.device_address(), tls).await.unwrap();
    let mut stream = Linked::greet(client.clone(), 1).await.unwrap();
    assert!(now_ms() < issued.not_after_ms, "it took too long to connect");
    stream.ended().await;
    assert!(now_ms() >= issued.not_after_ms, "it ended before its certificate did");
    // The connection stands, and is good for nothing.
    let refused = Linked::greet(client.clone(), 2).await.map(drop).unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unauthenticated, "{refused:?}");
    let request = v1::RenewCertificateRequest { certificate_request: csr, generation: 0 };
    let refused = client.clone().renew_certificate(request).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unauthenticated, "{refused:?}");
    assert!(refused.message().contains("has expired"), "{refused:?}");
    enrolled.link(&world.device_address(), 2).await.unwrap();
}
