//! Requests for certificates that nobody should get one for: at enrolment with a good token, and at a
//! renewal by an honest device.

use orion_domain::Secret;
use orion_domain::id::InviteId;
use orion_tests::enroll_request;
use orion_wire::{EnrollmentToken, v1};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair};
use tonic::Code;

use super::doors::Said;
use super::ground::{Ground, any_authority, uri};

type Enrolling = (&'static str, fn(&Ground<'_>) -> v1::EnrollRequest, Said);
type Renewing = (&'static str, fn(&Ground<'_>) -> String, Said);

const INVALID: Code = Code::InvalidArgument;

/// At enrolment.
pub(super) const ENROLLING: &[Enrolling] = &[
    ("nothing", |g| g.request(String::new()), Said(INVALID, "can't be read")),
    ("garbage", |g| g.request("\u{1}\u{2}garbage".repeat(50)), Said(INVALID, "can't be read")),
    ("half a request", |g| g.request(half(&g.a_csr())), Said(INVALID, "can't be read")),
    ("a certificate", |g| g.request(g.kiosk.certificate.clone()), Said(INVALID, "can't be read")),
    (
        "a private key",
        |g| g.request(g.kiosk.key.to_pem().into_inner()),
        Said(INVALID, "can't be read"),
    ),
    (
        "a huge one",
        |g| g.request(format!("{}{}", g.a_csr(), "A".repeat(20_000))),
        Said(INVALID, "larger than 16 KiB"),
    ),
    ("one larger than any message", |g| g.request("A".repeat(100_000)), Said(Code::OutOfRange, "")),
    ("an RSA key", |g| g.request(rsa()), Said(INVALID, "key that isn't accepted")),
    (
        "another's public key in it",
        |g| g.request(another_key(g)),
        Said(INVALID, "isn't signed by its own key"),
    ),
    ("a changed signature", |g| g.request(changed_signature(g)), Said(INVALID, "")),
    (
        "another device's name in it",
        |g| g.request(asking(|p| p.subject_alt_names = vec![g.uri()])),
        Said(INVALID, "names or purposes of its own"),
    ),
    (
        "the backend's name in it",
        |g| {
            g.request(asking(|p| {
                p.subject_alt_names =
                    vec![rcgen::SanType::DnsName("orion-server".try_into().unwrap())]
            }))
        },
        Said(INVALID, "names or purposes of its own"),
    ),
    (
        "a person's name in it",
        |g| g.request(asking(|p| p.subject_alt_names = vec![uri("spiffe://orion/user/admin")])),
        Said(INVALID, "names or purposes of its own"),
    ),
    (
        "CA:true in it",
        |g| g.request(asking(|p| p.is_ca = any_authority())),
        Said(INVALID, "names or purposes of its own"),
    ),
    (
        "another purpose in it",
        |g| {
            g.request(asking(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]))
        },
        Said(INVALID, "names or purposes of its own"),
    ),
    (
        "the key of a device that is here",
        |g| g.request(g.kiosk.key.csr().unwrap()),
        Said(Code::PermissionDenied, "A device with this key"),
    ),
    (
        "the key of a device that was revoked",
        |g| g.request(g.revoked.key.csr().unwrap()),
        Said(Code::PermissionDenied, "A device with this key"),
    ),
    (
        "the key of a device in quarantine",
        |g| g.request(g.held.key.csr().unwrap()),
        Said(Code::PermissionDenied, "A device with this key"),
    ),
    (
        "a wrong secret",
        |g| with(g, |t| t.secret = Secret::new("wrong")),
        Said(Code::Unauthenticated, "not one of this backend's"),
    ),
    (
        "an unknown token",
        |g| with(g, |t| t.invite_id = InviteId::new(uuid::Uuid::now_v7())),
        Said(Code::Unauthenticated, "not one of this backend's"),
    ),
    (
        "another token's secret",
        |g| with(g, |t| t.secret = g.spent.secret.clone()),
        Said(Code::Unauthenticated, "not one of this backend's"),
    ),
    (
        "a token that was used up",
        |g| enroll_request(&g.spent, "new", g.a_csr()),
        Said(Code::Unauthenticated, "used as often as it may be"),
    ),
    (
        "a name that is none",
        |g| v1::EnrollRequest { suggested_name: "a b".to_owned(), ..g.request(g.a_csr()) },
        Said(INVALID, "cannot be a device's name"),
    ),
];

/// At a renewal.
pub(super) const RENEWING: &[Renewing] = &[
    ("nothing", |_| String::new(), Said(INVALID, "can't be read")),
    ("another key", |g| g.a_csr(), Said(Code::PermissionDenied, "another key")),
    (
        "another device's key",
        |g| g.held.key.csr().unwrap(),
        Said(Code::PermissionDenied, "another key"),
    ),
    ("an RSA key", |_| rsa(), Said(INVALID, "key that isn't accepted")),
    ("a changed signature", changed_signature, Said(INVALID, "")),
    (
        "another device's name for its own key",
        smuggled,
        Said(INVALID, "names or purposes of its own"),
    ),
];

fn half(text: &str) -> String {
    text[..text.len() / 2].to_owned()
}

/// A request with a key of its own that asks for something.
fn asking(change: impl FnOnce(&mut CertificateParams)) -> String {
    let mut params = CertificateParams::default();
    change(&mut params);
    params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
}

fn smuggled(ground: &Ground<'_>) -> String {
    let key = KeyPair::from_pem(ground.kiosk.key.to_pem().expose()).unwrap();
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![uri(&format!("spiffe://orion/device/{}", ground.held.id))];
    params.serialize_request(&key).unwrap().pem().unwrap()
}

fn rsa() -> String {
    let key = KeyPair::from_pem(include_str!("rsa.pem")).unwrap();
    CertificateParams::default().serialize_request(&key).unwrap().pem().unwrap()
}

/// The honest device's public key in a request that somebody else signed.
fn another_key(ground: &Ground<'_>) -> String {
    let honest = KeyPair::from_pem(ground.kiosk.key.to_pem().expose()).unwrap();
    let own = KeyPair::generate().unwrap();
    let mut der = der(&own);
    let (from, to) = (own.public_key_raw(), honest.public_key_raw());
    let at = der.windows(from.len()).position(|window| window == from).unwrap();
    der[at..at + to.len()].copy_from_slice(to);
    pem(&der)
}

fn changed_signature(ground: &Ground<'_>) -> String {
    let mut der = der(&KeyPair::from_pem(ground.kiosk.key.to_pem().expose()).unwrap());
    let last = der.len() - 1;
    der[last] ^= 1;
    pem(&der)
}

fn der(key: &KeyPair) -> Vec<u8> {
    CertificateParams::default().serialize_request(key).unwrap().der().to_vec()
}

fn pem(der: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let lines: Vec<_> =
        text.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    format!(
        "-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n",
        lines.join("\n")
    )
}

fn with(ground: &Ground<'_>, change: impl FnOnce(&mut EnrollmentToken)) -> v1::EnrollRequest {
    let mut token = ground.token.clone();
    change(&mut token);
    enroll_request(&token, "new", ground.a_csr())
}
