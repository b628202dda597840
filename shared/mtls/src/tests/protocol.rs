//! Versions, application protocols and renewing the backend's certificate.

use std::sync::Arc;

use rustls::version::TLS12;
use rustls::{ClientConfig, ServerConfig};

use super::support::*;
use crate::certificate::{chain_from_pem, roots_from_pem};
use crate::provider::provider;
use crate::*;

#[tokio::test]
async fn a_client_that_speaks_tls_1_2_only_is_refused() {
    let world = World::new();
    let client = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS12])
        .unwrap()
        .with_root_certificates(roots_from_pem(&[world.authority.cert_pem()]).unwrap())
        .with_no_client_auth();
    connect(&world.listener, client).await.refused_by_server("Tls12NotOffered");
}

#[tokio::test]
async fn a_server_that_speaks_tls_1_2_only_is_refused() {
    let world = World::new();
    let issued = world.authority.issue_server(&[], DAY, now_ms()).unwrap();
    let old = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS12])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            chain_from_pem(&issued.chain_pem).unwrap(),
            key_der(issued.key_pem.expose()),
        )
        .unwrap();
    let outcome = connect(&Arc::new(old), pinned(world.pins()).unwrap()).await;
    assert!(outcome.server.is_err());
    assert!(outcome.client.is_err());
}

#[tokio::test]
async fn a_client_that_wants_another_protocol_than_http_2_is_refused() {
    let world = World::new();
    let (key, issued) = world.device(now_ms());
    let mut client = world.client(&issued.cert_pem, key.to_pem().expose());
    client.alpn_protocols = vec![b"http/1.1".to_vec()];
    connect(&world.listener, client).await.refused_by_server("NoApplicationProtocol");
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_from_the_next_connection_on() {
    let world = World::new();
    let client = pinned(world.pins()).unwrap();
    let before = connect(&world.listener, client.clone()).await;
    let before = before.client.unwrap().server_certificate;

    let renewed =
        world.authority.issue_server(&["home.example".to_owned()], 2 * DAY, now_ms()).unwrap();
    world.certificate.replace(&renewed.chain_pem, &renewed.key_pem).unwrap();
    assert_eq!(world.certificate.not_after_ms(), renewed.not_after_ms);
    let after = connect(&world.listener, client).await;
    let after = after.client.unwrap().server_certificate;
    let expected = &chain_from_pem(&renewed.chain_pem).unwrap()[0];
    assert_eq!(after, Fingerprint::of_certificate(expected));
    assert_ne!(after, before);
}

#[tokio::test]
async fn a_bad_renewal_leaves_the_old_certificate_in_place() {
    let world = World::new();
    let end = world.certificate.not_after_ms();
    let other = world.authority.issue_server(&[], 2 * DAY, now_ms()).unwrap();
    let issued = world.authority.issue_server(&[], 3 * DAY, now_ms()).unwrap();
    let leaf_only = issued.chain_pem.replace(world.authority.cert_pem().trim(), "");
    let (key, device) = world.device(now_ms());
    let device_chain = [device.cert_pem.as_str(), world.authority.cert_pem()].concat();
    for (chain, key) in [
        (issued.chain_pem.as_str(), &other.key_pem),
        (leaf_only.as_str(), &issued.key_pem),
        (device_chain.as_str(), &key.to_pem()),
        (world.authority.cert_pem(), &world.authority.key_pem()),
        ("", &issued.key_pem),
        (issued.chain_pem.as_str(), &Secret::new("garbage".to_owned())),
    ] {
        assert!(world.certificate.replace(chain, key).is_err());
    }
    assert_eq!(world.certificate.not_after_ms(), end);
    let outcome = connect(&world.listener, pinned(world.pins()).unwrap()).await;
    assert!(outcome.client.is_ok());
}
