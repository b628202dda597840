//! The door of a device whose certificate has expired: it renews it there, and nothing else is to be had. Each way to
//! misuse it is refused, and as its row says.

use std::sync::Arc;

use orion_tests::{Linked, World, channel, connect};
use orion_wire::v1;
use orion_wire::v1::content_service_client::ContentServiceClient;
use orion_wire::v1::device_service_client::DeviceServiceClient;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use rustls::{AlertDescription as Alert, ClientConfig};
use tonic::{Code, Status};

use super::doors::{Said, handshake};
use super::ground::{Ground, any_authority, chain, from_now, uri};

const DAY: i64 = 24 * 60 * 60;

/// What is shown.
type Show = fn(&Ground<'_>) -> ClientConfig;

/// What a renewal asks for: its certificate request, and the count of connections.
type Ask = fn(&Ground<'_>) -> (String, u64);

/// Renewals that TLS lets in: the name, the certificate, what is asked, and the answer.
const RENEWALS: &[(&str, Show, Ask, Said)] = &[
    ("no count", ended, |g| (own(g), 0), Said(Code::Unauthenticated, "has expired")),
    (
        "another key's request",
        ended,
        |g| (g.a_csr(), 10),
        Said(Code::PermissionDenied, "another key"),
    ),
    (
        "another device's request",
        ended,
        |g| (g.held.key.csr().unwrap(), 10),
        Said(Code::PermissionDenied, "another key"),
    ),
    ("no request", ended, |_| (String::new(), 10), Said(Code::InvalidArgument, "")),
    (
        "bytes for a request",
        ended,
        |_| ("\0\u{1}x".repeat(100), 10),
        Said(Code::InvalidArgument, ""),
    ),
    ("a request for a name", ended, |g| (naming(g), 10), Said(Code::InvalidArgument, "")),
    (
        "a certificate for a request",
        ended,
        |g| (g.kiosk.certificate.clone(), 10),
        Said(Code::InvalidArgument, ""),
    ),
    (
        "a revoked device",
        |g| ended_of(g, &g.revoked.id, &g.revoked.key.to_pem()),
        |g| (g.revoked.key.csr().unwrap(), 10),
        Said(Code::PermissionDenied, "is revoked"),
    ),
    (
        "a quarantined device",
        |g| ended_of(g, &g.held.id, &g.held.key.to_pem()),
        |g| (g.held.key.csr().unwrap(), 10),
        Said(Code::PermissionDenied, "is quarantined"),
    ),
    (
        "a device that nobody enrolled",
        |g| ended_of(g, "019a9c3e-7a10-7cc2-b2d5-6d1f6f3f2b10", &g.kiosk.key.to_pem()),
        |g| (own(g), 10),
        Said(Code::NotFound, ""),
    ),
    (
        "a device's name on another device's key",
        |g| ended_of(g, &g.kiosk.id, &g.held.key.to_pem()),
        |g| (g.held.key.csr().unwrap(), 10),
        Said(Code::PermissionDenied, "another key"),
    ),
];

/// Certificates that TLS refuses though they have expired a moment ago.
const REFUSED: &[(&str, Show, Alert)] = &[
    (
        "expired 91 days ago",
        |g| g.forged(|p| (p.not_before, p.not_after) = (from_now(-100 * DAY), from_now(-91 * DAY))),
        Alert::CertificateExpired,
    ),
    (
        "never valid",
        |g| g.forged(|p| (p.not_before, p.not_after) = (from_now(-1), from_now(-60))),
        Alert::CertificateExpired,
    ),
    ("another authority's", anothers, Alert::UnknownCA),
    ("signed by itself", self_signed, Alert::UnknownCA),
    ("an authority's", |g| changed(g, |p| p.is_ca = any_authority()), Alert::CertificateExpired),
    (
        "for servers",
        |g| changed(g, |p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]),
        Alert::CertificateExpired,
    ),
    (
        "for servers too",
        |g| changed(g, |p| p.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth)),
        Alert::CertificateExpired,
    ),
    ("without a name", |g| changed(g, |p| p.subject_alt_names.clear()), Alert::CertificateExpired),
    (
        "a person's",
        |g| {
            let name = uri(&format!("spiffe://orion/user/{}", g.kiosk.id));
            changed(g, |p| p.subject_alt_names = vec![name])
        },
        Alert::CertificateExpired,
    ),
    ("without its key", without_its_key, Alert::DecryptError),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_certificate_can_be_renewed_and_misused_for_nothing() {
    let world = World::new().await;
    let ground = Ground::new(&world).await;
    ground.kiosk.link(&ground.address(), 7).await.unwrap();
    let mut wrong = Vec::new();
    for (name, tls, ask, expected) in RENEWALS {
        let (request, generation) = ask(&ground);
        match renew(&ground, tls(&ground), request, generation).await {
            Err(status) if expected.fits(&status) => {}
            other => wrong.push(format!("{name}: {other:?}")),
        }
    }
    for (name, tls, expected) in REFUSED {
        let alert = handshake(&ground.address(), &Arc::new(tls(&ground))).await;
        if alert != Some(*expected) {
            wrong.push(format!("{name}: {alert:?}"));
        }
        if renew(&ground, tls(&ground), own(&ground), 10).await.is_ok() {
            wrong.push(format!("{name}: a certificate"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");

    // Every other operation that a device has.
    let tls = || Arc::new(ended(&ground));
    let client = connect(&ground.address(), tls()).await.unwrap();
    let refused = Linked::greet(client, 10).await.map(drop).unwrap_err();
    assert!(Said(Code::Unauthenticated, "has expired").fits(&refused), "{refused:?}");
    let mut content = ContentServiceClient::new(channel(&ground.address(), tls()).await.unwrap());
    let message = v1::MoveContentRequest::default();
    let refused = content.move_content(tokio_stream::once(message)).await.map(drop).unwrap_err();
    assert!(Said(Code::Unauthenticated, "has expired").fits(&refused), "{refused:?}");
    let mut people = DeviceServiceClient::new(channel(&ground.address(), tls()).await.unwrap());
    let refused = people.list_devices(v1::ListDevicesRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated, "{refused:?}");

    // The control, and after it the copy, whose count stands still.
    let renewed = renew(&ground, ended(&ground), own(&ground), 11).await.unwrap();
    assert!(renewed.not_after > orion_tests::now_ms(), "{renewed:?}");
    assert_eq!(audited(&world, "device.returned").await, 1);
    let copied = renew(&ground, ended(&ground), own(&ground), 11).await.unwrap_err();
    assert!(Said(Code::Unauthenticated, "copied").fits(&copied), "{copied:?}");
    let held = renew(&ground, ended(&ground), own(&ground), 12).await.unwrap_err();
    assert!(Said(Code::PermissionDenied, "is quarantined").fits(&held), "{held:?}");
    assert_eq!(audited(&world, "device.returned").await, 1);
    let ways = RENEWALS.len() + REFUSED.len() + 5;
    eprintln!("{ways} ways to misuse an expired certificate: all refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_certificate_is_refused_in_the_handshake_where_the_backend_says_so() {
    let world = World::configured("renew_within_days = 0\n").await;
    let ground = Ground::new(&world).await;
    let alert = handshake(&ground.address(), &Arc::new(ended(&ground))).await;
    assert_eq!(alert, Some(Alert::CertificateExpired));
}

async fn renew(
    ground: &Ground<'_>,
    tls: ClientConfig,
    certificate_request: String,
    generation: u64,
) -> Result<v1::RenewCertificateResponse, Status> {
    let client = connect(&ground.address(), Arc::new(tls)).await;
    let mut client = client.map_err(|error| Status::unavailable(error.to_string()))?;
    let request = v1::RenewCertificateRequest { certificate_request, generation };
    client.renew_certificate(request).await.map(tonic::Response::into_inner)
}

async fn audited(world: &World, kind: &str) -> usize {
    let request = v1::ListAuditRequest { limit: 500, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    rows.iter().filter(|row| row.kind == kind).count()
}

/// A request of the honest device for its own key.
fn own(ground: &Ground<'_>) -> String {
    ground.kiosk.key.csr().unwrap()
}

/// The same for a name.
fn naming(ground: &Ground<'_>) -> String {
    let key = KeyPair::from_pem(ground.kiosk.key.to_pem().expose()).unwrap();
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![uri(&format!("spiffe://orion/device/{}", ground.held.id))];
    params.serialize_request(&key).unwrap().pem().unwrap()
}

/// The honest device's certificate of two days ago, which was valid for one.
fn ended(ground: &Ground<'_>) -> ClientConfig {
    changed(ground, |_| {})
}

fn changed(ground: &Ground<'_>, change: impl FnOnce(&mut CertificateParams)) -> ClientConfig {
    ground.forged(|params| {
        past(params);
        change(params);
    })
}

fn past(params: &mut CertificateParams) {
    (params.not_before, params.not_after) = (from_now(-2 * DAY), from_now(-DAY));
}

/// An expired certificate of the backend's authority with this id, for this key (PEM).
fn ended_of(ground: &Ground<'_>, id: &str, pem: &orion_mtls::Secret<String>) -> ClientConfig {
    let key = KeyPair::from_pem(pem.expose()).unwrap();
    let mut params = ground.honest();
    past(&mut params);
    params.subject_alt_names = vec![uri(&format!("spiffe://orion/device/{id}"))];
    let certificate = params.signed_by(&key, &ground.issuer()).unwrap();
    ground.shows(vec![certificate.der().clone()], pem.expose())
}

fn anothers(ground: &Ground<'_>) -> ClientConfig {
    let other = orion_mtls::CertificateAuthority::create(orion_tests::now_ms()).unwrap();
    let key = KeyPair::from_pem(other.key_pem().expose()).unwrap();
    let issuer = Issuer::from_ca_cert_pem(other.cert_pem(), key).unwrap();
    let key = KeyPair::from_pem(ground.kiosk.key.to_pem().expose()).unwrap();
    let mut params = ground.honest();
    past(&mut params);
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let both = [vec![certificate.der().clone()], chain(other.cert_pem())].concat();
    ground.shows(both, &key.serialize_pem())
}

fn self_signed(ground: &Ground<'_>) -> ClientConfig {
    let key = KeyPair::from_pem(ground.kiosk.key.to_pem().expose()).unwrap();
    let mut params = ground.honest();
    past(&mut params);
    let certificate = params.self_signed(&key).unwrap();
    ground.shows(vec![certificate.der().clone()], &key.serialize_pem())
}

fn without_its_key(ground: &Ground<'_>) -> ClientConfig {
    let key = KeyPair::from_pem(ground.kiosk.key.to_pem().expose()).unwrap();
    let mut params = ground.honest();
    past(&mut params);
    let certificate = params.signed_by(&key, &ground.issuer()).unwrap();
    let own = KeyPair::generate().unwrap();
    ground.shows(vec![certificate.der().clone()], &own.serialize_pem())
}
