//! Who gets in at the devices' door: a certificate of this backend's authority, for an approved
//! device, that is still good. Nobody else.

use std::sync::Arc;
use std::time::Duration;

use orion_agent::state::Identity;
use orion_domain::{CallState, ErrorCode};
use orion_mtls::{CertificateAuthority, PinSet, mutual, pinned, secret_file};
use orion_tests::{Device, LyingAgent, World, connect, eventually, now_ms};
use orion_wire::{PROTOCOL, v1};
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::Instant;

/// The backend's own authority, out of its data folder.
fn authority(world: &World) -> CertificateAuthority {
    let key = secret_file::read_text(&world.data_dir().join("ca.key")).unwrap();
    let certificate = std::fs::read_to_string(world.data_dir().join("ca.pem")).unwrap();
    CertificateAuthority::load(key.expose(), &certificate).unwrap()
}

fn identity(device: &Device) -> Identity {
    Identity::read(&device.state_dir()).unwrap().unwrap()
}

/// How the door answers somebody who says hello with this certificate: what is said, or that it was
/// shut in the handshake.
async fn knock(world: &World, tls: Arc<ClientConfig>) -> Result<(), String> {
    let mut client =
        connect(&world.device_address(), tls).await.map_err(|_| "no handshake".to_owned())?;
    let (protocol_major, protocol_minor) = (PROTOCOL.major, PROTOCOL.minor);
    let hello = v1::Hello { protocol_major, protocol_minor, ..Default::default() };
    let hello = v1::link_request::Message::Hello(hello);
    let messages = tokio_stream::iter([v1::LinkRequest { message: Some(hello) }]);
    match client.link(messages).await {
        Ok(_) => Ok(()),
        Err(status) if status.code() == tonic::Code::Unauthenticated => {
            Err(status.message().to_owned())
        }
        Err(status) if status.code() == tonic::Code::InvalidArgument => Ok(()),
        Err(_) => Err("no handshake".to_owned()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_devices_own_certificate_opens_the_door() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").enroll().await;
    // The hello lacks facts: that is what is refused, and not who says it.
    assert_eq!(knock(&world, identity(&kiosk).tls().unwrap()).await, Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_certificate_only_enrolment_is_open() {
    let world = World::new().await;
    let pins = PinSet::new([authority(&world).fingerprint()]).unwrap();
    let said = knock(&world, pinned(pins).unwrap()).await.unwrap_err();
    assert!(said.starts_with("This device showed no certificate"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_another_authority_is_refused() {
    let world = World::new().await;
    let kiosk = identity(&world.device("kiosk").enroll().await);
    let other = CertificateAuthority::create(now_ms()).unwrap();
    let csr = kiosk.key.csr().unwrap();
    let issued = other
        .issue_device(
            csr.as_bytes(),
            &kiosk.device_id.to_string(),
            Duration::from_hours(1),
            now_ms(),
        )
        .unwrap();
    let tls = mutual(&[&kiosk.authorities], &issued.cert_pem, &kiosk.key).unwrap();
    assert_eq!(knock(&world, tls).await, Err("no handshake".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_has_ended_or_not_begun_is_refused() {
    let world = World::new().await;
    let kiosk = identity(&world.device("kiosk").enroll().await);
    let csr = kiosk.key.csr().unwrap();
    // Certificates begin five minutes before they are issued, for clocks that are behind.
    let minute = 60_000;
    let cases = [(now_ms() - 4 * minute, "has expired"), (now_ms() + 10 * minute, "no handshake")];
    for (issued_at, why) in cases {
        let issued = authority(&world)
            .issue_device(
                csr.as_bytes(),
                &kiosk.device_id.to_string(),
                Duration::from_mins(1),
                issued_at,
            )
            .unwrap();
        let tls = mutual(&[&kiosk.authorities], &issued.cert_pem, &kiosk.key).unwrap();
        let refused = knock(&world, tls).await.unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backends_certificate_is_no_devices() {
    let world = World::new().await;
    let authority = authority(&world);
    let issued = authority.issue_server(&[], Duration::from_hours(1), now_ms()).unwrap();
    let chain = CertificateDer::pem_slice_iter(issued.chain_pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .unwrap();
    let key = PrivateKeyDer::from_pem_slice(issued.key_pem.expose().as_bytes()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.cert_pem().as_bytes()).unwrap()).unwrap();
    let mut tls = ClientConfig::builder_with_protocol_versions(&[&rustls::version::TLS13])
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .unwrap();
    tls.alpn_protocols = vec![b"h2".to_vec()];
    assert_eq!(knock(&world, Arc::new(tls)).await, Err("no handshake".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_for_a_device_that_nobody_enrolled_is_refused() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").enroll().await;
    let own = identity(&kiosk);
    let csr = own.key.csr().unwrap();
    let nobody = uuid::Uuid::now_v7().to_string();
    let issued = authority(&world)
        .issue_device(csr.as_bytes(), &nobody, Duration::from_hours(1), now_ms())
        .unwrap();
    std::fs::write(kiosk.state_dir().join("certificate.pem"), &issued.cert_pem).unwrap();
    let refused = LyingAgent::connect(&kiosk, &world.device_address(), 1).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unauthenticated, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_device_is_cut_off_at_once_and_stays_out() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let revoked_at = Instant::now();
    let revoked = world.cli().run(&["devices", "revoke", "kiosk", "--yes"]).await;
    assert_eq!(revoked.code, 0, "{revoked:?}");
    // The agent says why it is out, which also shows that it was out.
    eventually("the agent out", async || {
        assert!(kiosk.agent().is_running(), "a refused agent gives up: {}", kiosk.agent().log());
        let seen = world.admin().device("kiosk").await;
        (!seen.is_ok_and(|seen| seen.online)).then_some(())
    })
    .await;
    assert!(revoked_at.elapsed() < Duration::from_secs(10), "{:?}", revoked_at.elapsed());
    assert_eq!(
        knock(&world, identity(&kiosk).tls().unwrap()).await,
        Err("no handshake".to_owned())
    );
    let refused = LyingAgent::connect(&kiosk, &world.device_address(), 1_000).await;
    refused.expect_err("a revoked device was let in");
    let call = world.admin().call("kiosk", "get_datetime", serde_json::json!({})).await;
    assert_ne!(call.state, CallState::Succeeded);

    // Also after the backend was started again.
    world.server().stop().await;
    world.restart_server().await;
    assert_eq!(
        knock(&world, identity(&kiosk).tls().unwrap()).await,
        Err("no handshake".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quarantined_device_is_held_until_an_admin_approves_it_again() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let held = world.cli().run(&["devices", "quarantine", "kiosk", "--yes"]).await;
    assert_eq!(held.code, 0, "{held:?}");
    kiosk.offline().await;
    let refused = LyingAgent::connect(&kiosk, &world.device_address(), 1_000).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");
    let call = world.admin().call("kiosk", "get_datetime", serde_json::json!({})).await;
    assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)));

    let freed = world.cli().run(&["devices", "approve", "kiosk", "--yes"]).await;
    assert_eq!(freed.code, 0, "{freed:?}");
    LyingAgent::connect(&kiosk, &world.device_address(), 1_001).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_is_released_connects_by_itself_soon() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for _ in 0..2 {
        let held = world.cli().run(&["devices", "quarantine", "kiosk", "--yes"]).await;
        assert_eq!(held.code, 0, "{held:?}");
        kiosk.offline().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let freed = world.cli().run(&["devices", "approve", "kiosk", "--yes"]).await;
        assert_eq!(freed.code, 0, "{freed:?}");
        kiosk.ready().await;
    }
}
