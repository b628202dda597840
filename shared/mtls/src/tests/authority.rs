//! The certificates that the authority issues, and the requests that it rejects.

use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use rstest::rstest;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::support::*;
use crate::certificate::{Facts, chain_from_pem, one_from_pem};
use crate::*;

/// The time of most of these tests: 2026-11-20T00:00:00.999Z.
const NOW_MS: i64 = 1_795_132_800_999;
const FIVE_MINUTES_MS: i64 = 5 * 60 * 1000;

fn authority() -> CertificateAuthority {
    CertificateAuthority::create(NOW_MS).unwrap()
}

fn csr() -> Vec<u8> {
    DeviceKey::generate().unwrap().csr().unwrap().into_bytes()
}

#[test]
fn an_authority_lasts_ten_years_and_may_sign_leaves_only() {
    let authority = authority();
    let der = one_from_pem(authority.cert_pem()).unwrap();
    let facts = Facts::read(&der).unwrap();
    assert_eq!(facts.not_before_ms, NOW_MS - 999 - FIVE_MINUTES_MS);
    assert_eq!(facts.not_after_ms, NOW_MS - 999 + 3650 * DAY_MS);
    assert_eq!(authority.not_after_ms(), facts.not_after_ms);
    assert!(facts.is_leaf_authority);
    let (_, parsed) = X509Certificate::from_der(&der).unwrap();
    let usage = parsed.key_usage().unwrap().unwrap().value;
    // keyCertSign and cRLSign, and nothing else.
    assert_eq!(usage.flags, 0b110_0000);
}

#[test]
fn an_authority_survives_being_stored_and_shows_nothing_of_its_key() {
    let authority = authority();
    let key = authority.key_pem();
    let loaded = CertificateAuthority::load(key.expose(), authority.cert_pem()).unwrap();
    assert_eq!(loaded.fingerprint(), authority.fingerprint());
    assert_eq!(loaded.not_after_ms(), authority.not_after_ms());
    assert_eq!(
        format!("{authority:?} {key:?}"),
        format!("CertificateAuthority({}) Secret(hidden)", authority.fingerprint())
    );
}

#[test]
fn what_is_no_authority_is_not_loaded() {
    let [mine, other] = [authority(), authority()];
    let mine_key = mine.key_pem().into_inner();
    let mixed = CertificateAuthority::load(&mine_key, other.cert_pem()).unwrap_err();
    assert!(matches!(mixed, MtlsError::KeyMismatch), "{mixed:?}");

    let server = mine.issue_server(&[], DAY, NOW_MS).unwrap();
    let two = CertificateAuthority::load(&mine_key, &server.chain_pem).unwrap_err();
    assert!(matches!(two, MtlsError::CertificateCount { found: 2, .. }), "{two:?}");

    let leaf = &server.chain_pem[..server.chain_pem.len() - mine.cert_pem().len()];
    let leaf = CertificateAuthority::load(server.key_pem.expose(), leaf).unwrap_err();
    assert!(matches!(leaf, MtlsError::NotAnAuthority), "{leaf:?}");

    for garbage in ["", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n"] {
        assert!(CertificateAuthority::load(&mine_key, garbage).is_err());
        assert!(CertificateAuthority::load(garbage, mine.cert_pem()).is_err());
    }
}

#[test]
fn a_device_certificate_says_what_the_authority_decided() {
    let authority = authority();
    let key = DeviceKey::generate().unwrap();
    let issued = authority.issue_device(key.csr().unwrap().as_bytes(), BOB, DAY, NOW_MS).unwrap();
    let der = one_from_pem(&issued.cert_pem).unwrap();
    let device = DeviceIdentity::from_certificate(&der).unwrap();
    assert_eq!(
        device,
        DeviceIdentity {
            device_id: BOB.to_owned(),
            serial_hex: issued.serial_hex,
            not_before_ms: NOW_MS - 999 - FIVE_MINUTES_MS,
            not_after_ms: NOW_MS - 999 + DAY_MS,
            public_key_fingerprint: key.fingerprint(),
            issuer: authority.name(),
        }
    );
    assert_eq!(issued.not_after_ms, device.not_after_ms);
    assert_eq!(issued.public_key_fingerprint, key.fingerprint());
    assert_eq!(device.serial_hex.len(), 32);
}

#[test]
fn a_request_that_smuggles_names_purposes_or_a_challenge_is_refused() {
    let key = KeyPair::generate().unwrap();
    let refused = |csr: rcgen::CertificateSigningRequest| {
        let error = authority().issue_device(csr.der(), BOB, DAY, NOW_MS).unwrap_err();
        assert!(matches!(error, MtlsError::Csr(CsrError::AsksForMore)), "{error:?}");
    };
    let password = rcgen::Attribute {
        oid: &[1, 2, 840, 113_549, 1, 9, 7],
        values: vec![0x31, 3, 12, 1, b'x'],
    };
    let params = CertificateParams::default();
    refused(params.serialize_request_with_attributes(&key, vec![password]).unwrap());
    let mut params = CertificateParams::new(["admin.example".to_owned()]).unwrap();
    params
        .subject_alt_names
        .push(uri("spiffe://orion/device/019a9c3e-0000-7000-8000-000000000000"));
    params.is_ca = any_ca();
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::Any];
    // An unknown extension, marked critical.
    let mut unknown = rcgen::CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
    unknown.set_criticality(true);
    params.custom_extensions = vec![unknown];
    refused(params.serialize_request(&key).unwrap());
}

#[test]
fn a_refused_request_is_told_apart_from_the_authoritys_own_faults() {
    let error = authority().issue_device(b"garbage", BOB, DAY, NOW_MS).unwrap_err();
    assert!(matches!(error, MtlsError::Csr(CsrError::Unreadable)), "{error:?}");
}

#[rstest]
#[case("")]
#[case("bob")]
#[case("../019a9c3e-7a10-7cc2-b2d5-6d1f6f3f2b10")]
#[case("019A9C3E-7A10-7CC2-B2D5-6D1F6F3F2B10")]
fn a_device_id_that_is_no_uuid_is_refused(#[case] id: &str) {
    let error = authority().issue_device(&csr(), id, DAY, NOW_MS).unwrap_err();
    assert!(matches!(error, MtlsError::DeviceId), "{error:?}");
}

#[test]
fn validity_is_bounded_and_nothing_outlasts_the_authority() {
    let authority = authority();
    for validity in [std::time::Duration::ZERO, DAY * 398] {
        let error = authority.issue_device(&csr(), BOB, validity, NOW_MS).unwrap_err();
        assert!(matches!(error, MtlsError::Validity), "{error:?}");
    }
    let end = authority.not_after_ms();
    let last = authority.issue_device(&csr(), BOB, DAY, end - 60_000).unwrap();
    assert_eq!(last.not_after_ms, end);
    for now_ms in [end, NOW_MS - DAY_MS, i64::MIN, i64::MAX] {
        let error = authority.issue_server(&[], DAY, now_ms).unwrap_err();
        assert!(matches!(error, MtlsError::AuthorityNotValid), "{error:?}");
    }
}

#[test]
fn an_authority_is_not_made_at_a_time_that_certificates_cannot_express() {
    for now_ms in [i64::MIN, -1, i64::MAX] {
        let error = CertificateAuthority::create(now_ms).unwrap_err();
        assert!(matches!(error, MtlsError::Time), "{error:?}");
    }
}

#[test]
fn a_server_certificate_carries_its_names_and_always_the_fixed_one() {
    let names = ["10.0.0.7", "home.example", "::1", "home.example", SERVER_NAME];
    let issued = authority().issue_server(&names.map(str::to_owned), DAY, NOW_MS).unwrap();
    let chain = chain_from_pem(&issued.chain_pem).unwrap();
    assert_eq!(chain.len(), 2);
    let facts = Facts::read(&chain[0]).unwrap();
    assert!(facts.for_servers && !facts.is_ca);
    let (_, parsed) = X509Certificate::from_der(&chain[0]).unwrap();
    let found = parsed.subject_alternative_name().unwrap().unwrap().value;
    let mut localhost = [0; 16];
    localhost[15] = 1;
    assert_eq!(
        found.general_names,
        [
            GeneralName::DNSName(SERVER_NAME),
            GeneralName::IPAddress(&[10, 0, 0, 7]),
            GeneralName::IPAddress(&localhost),
            GeneralName::DNSName("home.example"),
        ]
    );
}

#[rstest]
#[case("*.example")]
#[case("https://home.example")]
#[case("home.example:7443")]
#[case("two words")]
#[case("")]
fn a_name_that_is_no_name_is_refused(#[case] name: &str) {
    let error = authority().issue_server(&[name.to_owned()], DAY, NOW_MS).unwrap_err();
    assert!(matches!(&error, MtlsError::ServerName(refused) if refused == name), "{error:?}");
}

#[test]
fn a_server_certificate_has_room_for_a_bounded_number_of_names() {
    let names: Vec<String> = (0..65).map(|n| format!("host{n}.example")).collect();
    let error = authority().issue_server(&names, DAY, NOW_MS).unwrap_err();
    assert!(matches!(error, MtlsError::TooManyServerNames { count: 65, limit: 64 }));
}
