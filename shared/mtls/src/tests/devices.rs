//! The devices that the listener accepts.

use rcgen::{ExtendedKeyUsagePurpose, Issuer, KeyPair};
use rstest::rstest;
use rustls::HandshakeKind;

use super::support::*;
use crate::certificate::{Facts, chain_from_pem, one_from_pem};
use crate::*;

#[tokio::test]
async fn an_enrolled_device_and_its_backend_know_each_other() {
    let world = World::new();
    let (key, issued) = world.device(now_ms());
    let client = mutual(&[world.authority.cert_pem()], &issued.cert_pem, &key).unwrap();
    let outcome = connect(&world.listener, client).await;
    let not_before_ms =
        Facts::read(&one_from_pem(&issued.cert_pem).unwrap()).unwrap().not_before_ms;
    assert_eq!(
        outcome.server.unwrap(),
        Some(DeviceIdentity {
            device_id: BOB.to_owned(),
            serial_hex: issued.serial_hex,
            not_before_ms,
            not_after_ms: issued.not_after_ms,
            public_key_fingerprint: key.fingerprint(),
            issuer: world.authority.name(),
        })
    );
    let seen = outcome.client.unwrap();
    assert_eq!(seen.alpn.as_deref(), Some(b"h2".as_slice()));
    assert_eq!(seen.tickets, 0);
}

#[tokio::test]
async fn a_key_that_was_stored_and_read_serves_the_same() {
    let world = World::new();
    let (key, issued) = world.device(now_ms());
    let key = DeviceKey::from_pem(key.to_pem().expose()).unwrap();
    let client = mutual(&[world.authority.cert_pem()], &issued.cert_pem, &key).unwrap();
    let device = connect(&world.listener, client).await.server.unwrap();
    assert_eq!(device.unwrap().device_id, BOB);
}

#[tokio::test]
async fn a_device_may_know_several_authorities_while_one_takes_over() {
    let [old, new] = [World::new(), World::new()];
    let (key, issued) = old.device(now_ms());
    let roots = [old.authority.cert_pem(), new.authority.cert_pem()];
    let client = mutual(&roots, &issued.cert_pem, &key).unwrap();
    let issued = new.authority.issue_server(&[], DAY, now_ms()).unwrap();
    let listener = device_listener(
        &roots,
        std::sync::Arc::new(ServerCertificate::new(&issued).unwrap()),
        std::sync::Arc::new(|_: &str| false),
    )
    .unwrap();
    let device = connect(&listener, client).await.server.unwrap();
    assert_eq!(device.unwrap().device_id, BOB);
}

#[tokio::test]
async fn an_authority_counts_from_when_it_is_trusted_until_it_is_not() {
    let [old, new] = [World::new(), World::new()];
    let trust = std::sync::Arc::new(DeviceTrust::new(&[old.authority.cert_pem()]).unwrap());
    let listener = device_listener_trusting(
        trust.clone(),
        old.certificate.clone(),
        std::sync::Arc::new(|_: &str| false),
        std::time::Duration::ZERO,
    )
    .unwrap();
    let clients = [&old, &new].map(|world| {
        let (key, issued) = world.device(now_ms());
        // Both trust the backend.
        mutual(&[old.authority.cert_pem()], &issued.cert_pem, &key).unwrap()
    });
    let both = [old.authority.cert_pem(), new.authority.cert_pem()];
    for (trusted, in_of_old, in_of_new) in
        [(&both[..1], true, false), (&both[..], true, true), (&both[1..], false, true)]
    {
        trust.replace(trusted).unwrap();
        for (client, is_in) in clients.iter().zip([in_of_old, in_of_new]) {
            let outcome = connect(&listener, client.clone()).await;
            if is_in {
                assert!(outcome.client.is_ok());
            } else {
                let said = outcome.refused_by_server("UnknownIssuer");
                assert_eq!(said, Some(Refusal::DeviceUntrusted));
            }
        }
    }
    let nobody: [&str; 0] = [];
    assert!(trust.replace(&nobody).is_err());
    assert!(connect(&listener, clients[1].clone()).await.client.is_ok());
}

#[rstest]
#[case::expired(-3 * DAY_MS, "Expired")]
#[case::not_yet_valid(DAY_MS, "NotValidYet")]
#[tokio::test]
async fn a_certificate_out_of_date_is_refused(#[case] from_now_ms: i64, #[case] reason: &str) {
    let world = World::new();
    let (key, issued) = world.device(now_ms() + from_now_ms);
    let client = mutual(&[world.authority.cert_pem()], &issued.cert_pem, &key).unwrap();
    let outcome = connect(&world.listener, client).await;
    assert_eq!(outcome.refused_by_server(reason), Some(Refusal::DeviceNotInDate));
}

#[tokio::test]
async fn a_device_of_another_authority_is_refused() {
    let [world, other] = [World::new(), World::new()];
    let (key, issued) = other.device(now_ms());
    let client = mutual(&[world.authority.cert_pem()], &issued.cert_pem, &key).unwrap();
    let outcome = connect(&world.listener, client).await;
    assert_eq!(outcome.refused_by_server("UnknownIssuer"), Some(Refusal::DeviceUntrusted));
}

#[tokio::test]
async fn revoking_a_device_counts_from_the_next_handshake() {
    let world = World::new();
    let (key, issued) = world.device(now_ms());
    let client = mutual(&[world.authority.cert_pem()], &issued.cert_pem, &key).unwrap();
    assert!(connect(&world.listener, client.clone()).await.client.is_ok());

    world.revoke(&issued.serial_hex);
    let outcome = connect(&world.listener, client).await;
    assert_eq!(outcome.refused_by_server("Revoked"), Some(Refusal::DeviceRevoked));

    // Another device's certificate has another serial number.
    let (key, issued) = world.device(now_ms());
    let client = mutual(&[world.authority.cert_pem()], &issued.cert_pem, &key).unwrap();
    assert!(connect(&world.listener, client).await.client.is_ok());
}

#[tokio::test]
async fn a_client_that_would_resume_is_verified_each_time_and_gets_no_ticket() {
    let world = World::new();
    let (key, issued) = world.device(now_ms());
    // rustls' own defaults: a client that resumes whenever it can.
    let client = std::sync::Arc::new(world.client(&issued.cert_pem, key.to_pem().expose()));
    for _ in 0..2 {
        let outcome = connect(&world.listener, client.clone()).await;
        let seen = outcome.client.unwrap();
        assert_eq!((seen.kind, seen.tickets), (Some(HandshakeKind::Full), 0));
    }
    world.revoke(&issued.serial_hex);
    connect(&world.listener, client).await.refused_by_server("Revoked");
}

#[tokio::test]
async fn a_self_signed_certificate_is_refused() {
    let world = World::new();
    let key = KeyPair::generate().unwrap();
    let certificate = device_params().self_signed(&key).unwrap();
    let client = world.client(&certificate.pem(), &key.serialize_pem());
    connect(&world.listener, client).await.refused_by_server("UnknownIssuer");
}

#[tokio::test]
async fn a_backends_certificate_is_no_device() {
    let world = World::new();
    let issued = world.authority.issue_server(&[], DAY, now_ms()).unwrap();
    let client = world.client(&issued.chain_pem, issued.key_pem.expose());
    connect(&world.listener, client).await.refused_by_server("InvalidPurpose");
}

#[tokio::test]
async fn the_authority_itself_is_no_device() {
    let world = World::new();
    let client = world.client(world.authority.cert_pem(), world.authority.key_pem().expose());
    connect(&world.listener, client).await.refused_by_server("CaUsedAsEndEntity");
}

#[rstest]
#[case::authority(|params: &mut rcgen::CertificateParams| params.is_ca = any_ca(), "CaUsedAsEndEntity")]
#[case::no_purpose(|params: &mut rcgen::CertificateParams| params.extended_key_usages.clear(), "WrongPurpose")]
#[case::two_purposes(|params: &mut rcgen::CertificateParams| params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth), "WrongPurpose")]
#[case::any_purpose(|params: &mut rcgen::CertificateParams| params.extended_key_usages.push(ExtendedKeyUsagePurpose::Any), "WrongPurpose")]
#[case::no_name(|params: &mut rcgen::CertificateParams| params.subject_alt_names.clear(), "NotADevice")]
#[case::two_names(|params: &mut rcgen::CertificateParams| params.subject_alt_names.push(uri("spiffe://orion/device/019a9c3e-0000-7000-8000-000000000000")), "NotADevice")]
#[case::other_domain(|params: &mut rcgen::CertificateParams| params.subject_alt_names = vec![uri(&format!("spiffe://other/device/{BOB}"))], "NotADevice")]
#[case::no_uuid(|params: &mut rcgen::CertificateParams| params.subject_alt_names = vec![uri("spiffe://orion/device/bob")], "NotADevice")]
#[case::longer_path(|params: &mut rcgen::CertificateParams| params.subject_alt_names = vec![uri(&format!("spiffe://orion/device/{BOB}/x"))], "NotADevice")]
#[tokio::test]
async fn a_certificate_that_is_not_exactly_a_devices_is_refused_though_our_authority_signed_it(
    #[case] change: fn(&mut rcgen::CertificateParams),
    #[case] reason: &str,
) {
    let world = World::new();
    let (certificate, key) = world.sign(change);
    let client = world.client(&certificate, &key);
    connect(&world.listener, client).await.refused_by_server(reason);
}

#[tokio::test]
async fn an_authority_below_ours_cannot_vouch_for_a_device() {
    let world = World::new();
    let (below_pem, below_key) = world.sign(|params| {
        params.is_ca = any_ca();
        params.extended_key_usages.clear();
        params.subject_alt_names.clear();
    });
    let signer = KeyPair::from_pem(&below_key).unwrap();
    let below = Issuer::from_ca_cert_pem(&below_pem, signer).unwrap();
    let key = KeyPair::generate().unwrap();
    let device = device_params().signed_by(&key, &below).unwrap();
    let chain = [device.pem(), below_pem].concat();
    let client = world.client(&chain, &key.serialize_pem());
    connect(&world.listener, client).await.refused_by_server("UnknownIssuer");
}

#[tokio::test]
async fn a_stolen_certificate_without_its_key_is_refused() {
    let world = World::new();
    let (_, issued) = world.device(now_ms());
    let thief = DeviceKey::generate().unwrap();
    let error = mutual(&[world.authority.cert_pem()], &issued.cert_pem, &thief).unwrap_err();
    assert!(matches!(error, MtlsError::KeyMismatch), "{error:?}");

    // A client that uses its certificate without checking it.
    let certified = rustls::sign::CertifiedKey::new(
        chain_from_pem(&issued.cert_pem).unwrap(),
        crate::provider::provider().key_provider.load_private_key(thief.private_key_der()).unwrap(),
    );
    let (own_key, own) = world.device(now_ms());
    let mut client = world.client(&own.cert_pem, own_key.to_pem().expose());
    client.client_auth_cert_resolver =
        std::sync::Arc::new(rustls::sign::SingleCertAndKey::from(certified));
    connect(&world.listener, client).await.refused_by_server("BadSignature");
}

#[test]
fn a_device_does_not_start_with_what_is_not_its_own() {
    let world = World::new();
    let (key, issued) = world.device(now_ms());
    let authority = world.authority.cert_pem();
    let none: [&str; 0] = [];
    assert!(mutual(&none, &issued.cert_pem, &key).is_err());
    assert!(mutual(&[&issued.cert_pem], &issued.cert_pem, &key).is_err());
    assert!(mutual(&[authority], authority, &key).is_err());
    assert!(mutual(&[authority], "", &key).is_err());
    let two = [issued.cert_pem.as_str(), authority].concat();
    assert!(mutual(&[authority], &two, &key).is_err());
}
