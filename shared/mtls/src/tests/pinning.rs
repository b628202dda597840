//! Enrolment: which backend a device with only a fingerprint talks to, and that it sends nothing to any
//! other.

use std::io::{Read, Write};
use std::sync::Arc;

use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rstest::rstest;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

use super::support::*;
use crate::certificate::{chain_from_pem, one_from_pem};
use crate::*;

#[tokio::test]
async fn a_device_without_a_certificate_reaches_the_backend_it_pinned() {
    let world = World::new();
    let outcome = connect(&world.listener, pinned(world.pins()).unwrap()).await;
    // TLS accepts it without an identity; the RPC layer limits what it may do.
    assert_eq!(outcome.server.unwrap(), None);
    assert_eq!(outcome.client.unwrap().alpn.as_deref(), Some(b"h2".as_slice()));
}

#[tokio::test]
async fn one_of_several_pins_is_enough() {
    let [old, new] = [World::new(), World::new()];
    let pins = PinSet::new([old.authority.fingerprint(), new.authority.fingerprint()]).unwrap();
    for world in [old, new] {
        let outcome = connect(&world.listener, pinned(pins.clone()).unwrap()).await;
        assert!(outcome.client.is_ok());
    }
}

#[tokio::test]
async fn a_backend_with_another_authority_is_refused() {
    let [invited, other] = [World::new(), World::new()];
    let outcome = connect(&other.listener, pinned(invited.pins()).unwrap()).await;
    assert_eq!(outcome.refused_by_client("NotPinned"), Some(Refusal::BackendNotPinned));
}

/// What the server's application receives from a client that writes `INVITATION` as early as it can,
/// before the handshake begins. The server decrypts whatever arrives.
fn received(server: Arc<ServerConfig>, client: Arc<ClientConfig>) -> (Vec<u8>, bool) {
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let mut client = ClientConnection::new(client, name).unwrap();
    let mut server = ServerConnection::new(server).unwrap();
    client.writer().write_all(INVITATION).unwrap();
    let mut read = Vec::new();
    let mut wire = Vec::new();
    let mut refused = false;
    while client.wants_write() || server.wants_write() {
        let mut from_client = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut from_client).unwrap();
        }
        wire.extend_from_slice(&from_client);
        let mut unread = from_client.as_slice();
        while !unread.is_empty() {
            server.read_tls(&mut unread).unwrap();
            // After the client closes, only its close alert arrives.
            drop(server.process_new_packets());
        }
        let mut buffer = [0; 256];
        while let Ok(length @ 1..) = server.reader().read(&mut buffer) {
            read.extend_from_slice(&buffer[..length]);
        }
        let mut from_server = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut from_server).unwrap();
        }
        let mut unread = from_server.as_slice();
        while !unread.is_empty() && !refused {
            client.read_tls(&mut unread).unwrap();
            refused = client.process_new_packets().is_err();
        }
    }
    let in_the_clear = wire.windows(INVITATION.len()).any(|window| window == INVITATION);
    assert!(!in_the_clear);
    (read, refused)
}

const INVITATION: &[u8] = b"the secret of an invitation";

#[test]
fn nothing_that_the_application_writes_reaches_a_backend_that_is_not_pinned() {
    let [invited, other] = [World::new(), World::new()];
    let client = pinned(invited.pins()).unwrap();
    // The same client, the same early write: it arrives where the pin matches …
    assert_eq!(received(invited.listener, Arc::clone(&client)), (INVITATION.to_vec(), false));
    // … and no byte of it where the pin differs.
    assert_eq!(received(other.listener, client), (Vec::new(), true));
}

#[rstest]
#[case::authority_at_the_end(true)]
#[case::authority_instead_of_its_own(false)]
#[tokio::test]
async fn showing_the_pinned_authority_without_its_signature_is_refused(#[case] with_own: bool) {
    let [invited, liar_world] = [World::new(), World::new()];
    let issued = liar_world.authority.issue_server(&[], DAY, now_ms()).unwrap();
    let mut chain = chain_from_pem(&issued.chain_pem).unwrap();
    if !with_own {
        chain.pop();
    }
    chain.push(one_from_pem(invited.authority.cert_pem()).unwrap());
    let listener = liar(chain, issued.key_pem.expose());
    let client = pinned(invited.pins()).unwrap();
    assert_eq!(received(Arc::clone(&listener), client.clone()).0, b"");
    assert_eq!(
        connect(&listener, client).await.refused_by_client("UnknownIssuer"),
        Some(Refusal::BackendUntrusted)
    );
}

#[tokio::test]
async fn an_authority_of_the_same_name_is_not_the_pinned_one() {
    let invited = World::new();
    let genuine = one_from_pem(invited.authority.cert_pem()).unwrap();
    let forged_key = KeyPair::generate().unwrap();
    // The genuine authority's name and key identifier, with the forger's key.
    let forged = Issuer::from_ca_cert_der(&genuine, forged_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([SERVER_NAME.to_owned()]).unwrap();
    params.use_authority_key_identifier_extension = true;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let leaf = params.signed_by(&key, &forged).unwrap();
    let listener = liar(vec![leaf.into(), genuine], &key.serialize_pem());
    connect(&listener, pinned(invited.pins()).unwrap()).await.refused_by_client("BadSignature");
}

#[tokio::test]
async fn a_pin_is_for_an_authority_and_not_for_a_server() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([SERVER_NAME.to_owned()]).unwrap();
    params.is_ca = IsCa::ExplicitNoCa;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let leaf = params.self_signed(&key).unwrap();
    let pins = PinSet::new([Fingerprint::of_certificate(leaf.der())]).unwrap();
    let chain = vec![leaf.der().clone(), leaf.der().clone()];
    connect(&liar(chain, &key.serialize_pem()), pinned(pins).unwrap())
        .await
        .refused_by_client("NotPinned");
}

#[rstest]
#[case::a_device(|_: &mut CertificateParams| (), "InvalidPurpose")]
#[case::no_purpose(|params: &mut CertificateParams| params.extended_key_usages.clear(), "WrongPurpose")]
#[case::an_authority(|params: &mut CertificateParams| params.is_ca = any_ca(), "CaUsedAsEndEntity")]
#[case::another_name(|params: &mut CertificateParams| {
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.subject_alt_names = CertificateParams::new(["home.example".to_owned()]).unwrap().subject_alt_names;
}, "NotValidForName")]
#[tokio::test]
async fn a_certificate_that_is_no_backends_is_refused_though_the_pinned_authority_signed_it(
    #[case] change: fn(&mut CertificateParams),
    #[case] reason: &str,
) {
    let world = World::new();
    let (leaf, key) = world.sign(|params| {
        params.subject_alt_names =
            CertificateParams::new([SERVER_NAME.to_owned()]).unwrap().subject_alt_names;
        change(params);
    });
    let chain = chain_from_pem(&[leaf.as_str(), world.authority.cert_pem()].concat()).unwrap();
    let listener = liar(chain, &key);
    let (device_key, issued) = world.device(now_ms());
    let enrolled = mutual(&[world.authority.cert_pem()], &issued.cert_pem, &device_key).unwrap();
    for client in [pinned(world.pins()).unwrap(), enrolled] {
        connect(&listener, client).await.refused_by_client(reason);
    }
}

#[tokio::test]
async fn a_backends_expired_certificate_is_refused() {
    let world = World::new();
    let expired = world.authority.issue_server(&[], DAY, now_ms() - 2 * DAY_MS).unwrap();
    world.certificate.replace(&expired.chain_pem, &expired.key_pem).unwrap();
    let outcome = connect(&world.listener, pinned(world.pins()).unwrap()).await;
    assert_eq!(outcome.refused_by_client("Expired"), Some(Refusal::BackendNotInDate));
}

#[tokio::test]
async fn an_enrolled_device_refuses_a_backend_of_another_authority() {
    let [mine, other] = [World::new(), World::new()];
    let (key, issued) = mine.device(now_ms());
    let client = mutual(&[mine.authority.cert_pem()], &issued.cert_pem, &key).unwrap();
    let outcome = connect(&other.listener, client).await;
    assert_eq!(outcome.refused_by_client("UnknownIssuer"), Some(Refusal::BackendUntrusted));
}

#[tokio::test]
async fn the_address_that_was_dialled_plays_no_part() {
    let world = World::new();
    for dialled in ["10.1.2.3", "laptop.example"] {
        let name = ServerName::try_from(dialled).unwrap();
        let mut client = ClientConnection::new(pinned(world.pins()).unwrap(), name).unwrap();
        let mut server = ServerConnection::new(Arc::clone(&world.listener)).unwrap();
        while client.is_handshaking() || server.is_handshaking() {
            let mut bytes = Vec::new();
            client.write_tls(&mut bytes).unwrap();
            server.read_tls(&mut bytes.as_slice()).unwrap();
            server.process_new_packets().unwrap();
            let mut bytes = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut bytes).unwrap();
            }
            client.read_tls(&mut bytes.as_slice()).unwrap();
            client.process_new_packets().unwrap();
        }
    }
}

#[tokio::test]
async fn a_device_that_knows_no_authority_notes_the_one_that_signed_and_keeps_to_it() {
    let [world, other] = [World::new(), World::new()];
    let (client, seen) = first_seen().unwrap();
    assert_eq!(seen.authority(), None);
    assert!(connect(&world.listener, Arc::clone(&client)).await.client.is_ok());
    assert_eq!(seen.authority(), Some(world.authority.fingerprint()));
    // The same configuration accepts no other backend after that.
    connect(&other.listener, client).await.refused_by_client("NotPinned");
    assert_eq!(seen.authority(), Some(world.authority.fingerprint()));
}

#[rstest]
#[case::beside_its_own(true, "NotOneAuthority")]
#[case::instead_of_its_own(false, "UnknownIssuer")]
#[tokio::test]
async fn a_device_notes_no_authority_that_did_not_sign(#[case] with_own: bool, #[case] why: &str) {
    let [genuine, liar_world] = [World::new(), World::new()];
    let issued = liar_world.authority.issue_server(&[], DAY, now_ms()).unwrap();
    let mut chain = chain_from_pem(&issued.chain_pem).unwrap();
    if !with_own {
        chain.pop();
    }
    chain.push(one_from_pem(genuine.authority.cert_pem()).unwrap());
    let (client, seen) = first_seen().unwrap();
    connect(&liar(chain, issued.key_pem.expose()), client).await.refused_by_client(why);
    assert_eq!(seen.authority(), None);
}
