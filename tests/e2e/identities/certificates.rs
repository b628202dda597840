//! The certificates that nobody should be let in with. All but the strangers' are signed by the
//! backend's own authority, whose key was stolen for it: what is wrong with one is only what its row
//! says.

use orion_mtls::{CertificateAuthority, DeviceKey};
use orion_tests::now_ms;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType};
use rustls::AlertDescription as Alert;
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use std::time::Duration;
use tonic::Code;

use super::Expected::{self, Alert as At, Said};
use super::doors::Said as Says;
use super::ground::{Ground, any_authority, chain, from_now, uri};

/// Its name, what it shows, and how it is refused.
type Row = (&'static str, fn(&Ground<'_>) -> ClientConfig, Expected);

const DAY: i64 = 24 * 60 * 60;

/// See the module.
pub(super) const ROWS: &[Row] = &[
    (
        "no certificate",
        none,
        Said(
            Says(Code::Unauthenticated, "showed no certificate"),
            Says(Code::Unauthenticated, "showed no certificate"),
        ),
    ),
    (
        "expired",
        |g| g.forged(|p| (p.not_before, p.not_after) = (from_now(-2 * DAY), from_now(-1))),
        Said(
            Says(Code::Unauthenticated, "has expired"),
            Says(Code::Unauthenticated, "has expired"),
        ),
    ),
    (
        "expired long ago",
        |g| {
            g.forged(|p| (p.not_before, p.not_after) = (from_now(-900 * DAY), from_now(-800 * DAY)))
        },
        At(Alert::CertificateExpired),
    ),
    (
        "not yet valid",
        |g| g.forged(|p| (p.not_before, p.not_after) = (from_now(60), from_now(DAY))),
        At(Alert::CertificateExpired),
    ),
    ("another authority", another_authority, At(Alert::UnknownCA)),
    ("another authority of the same name", same_name, At(Alert::DecryptError)),
    ("self-signed", self_signed, At(Alert::UnknownCA)),
    ("the backend's own certificate", the_backends, At(Alert::UnsupportedCertificate)),
    ("the authority's own certificate", the_authoritys, At(Alert::CertificateUnknown)),
    ("CA:true", |g| g.forged(|p| p.is_ca = any_authority()), At(Alert::CertificateUnknown)),
    (
        "for servers",
        |g| g.forged(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]),
        At(Alert::UnsupportedCertificate),
    ),
    (
        "for servers too",
        |g| g.forged(|p| p.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth)),
        At(Alert::CertificateUnknown),
    ),
    (
        "for anything",
        |g| g.forged(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any]),
        At(Alert::UnsupportedCertificate),
    ),
    (
        "for signing code",
        |g| g.forged(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning]),
        At(Alert::UnsupportedCertificate),
    ),
    (
        "for nothing in particular",
        |g| g.forged(|p| p.extended_key_usages.clear()),
        At(Alert::CertificateUnknown),
    ),
    ("no name", |g| g.forged(|p| p.subject_alt_names.clear()), At(Alert::CertificateUnknown)),
    ("two names", two_names, At(Alert::CertificateUnknown)),
    (
        "a host's name beside its own",
        |g| {
            g.forged(|p| {
                p.subject_alt_names.push(SanType::DnsName("orion-server".try_into().unwrap()))
            })
        },
        At(Alert::CertificateUnknown),
    ),
    (
        "a host's name only",
        |g| g.forged(|p| p.subject_alt_names = vec![SanType::DnsName("kiosk".try_into().unwrap())]),
        At(Alert::CertificateUnknown),
    ),
    ("its name in the subject only", subject_only, At(Alert::CertificateUnknown)),
    (
        "another trust domain",
        |g| {
            g.forged(|p| {
                p.subject_alt_names = vec![uri(&format!("spiffe://other/device/{}", g.kiosk.id))]
            })
        },
        At(Alert::CertificateUnknown),
    ),
    (
        "a person's name",
        |g| {
            g.forged(|p| {
                p.subject_alt_names = vec![uri(&format!("spiffe://orion/user/{}", g.kiosk.id))]
            })
        },
        At(Alert::CertificateUnknown),
    ),
    (
        "a longer path",
        |g| {
            g.forged(|p| {
                p.subject_alt_names =
                    vec![uri(&format!("spiffe://orion/device/{}/admin", g.kiosk.id))]
            })
        },
        At(Alert::CertificateUnknown),
    ),
    (
        "a name with a query",
        |g| {
            g.forged(|p| {
                p.subject_alt_names = vec![uri(&format!("spiffe://orion/device/{}?x", g.kiosk.id))]
            })
        },
        At(Alert::CertificateUnknown),
    ),
    (
        "an id in capitals",
        |g| {
            g.forged(|p| {
                p.subject_alt_names =
                    vec![uri(&format!("spiffe://orion/device/{}", g.kiosk.id.to_uppercase()))]
            })
        },
        At(Alert::CertificateUnknown),
    ),
    (
        "a name where an id belongs",
        |g| g.forged(|p| p.subject_alt_names = vec![uri("spiffe://orion/device/kiosk")]),
        At(Alert::CertificateUnknown),
    ),
    ("an RSA key", rsa, At(Alert::CertificateUnknown)),
    ("signed by a device", signed_by_a_device, At(Alert::UnknownCA)),
    ("an authority in between", in_between, At(Alert::UnknownCA)),
    ("a long chain", long_chain, At(Alert::UnknownCA)),
    ("another's certificate without its key", without_its_key, At(Alert::DecryptError)),
    ("a certificate with one bit changed", one_bit, At(Alert::DecryptError)),
    (
        "garbage for a certificate",
        |g| {
            g.shows(
                vec![CertificateDer::from(vec![0x30, 0x82, 0xff, 0xff, 1, 2, 3])],
                g.kiosk.key.to_pem().expose(),
            )
        },
        At(Alert::BadCertificate),
    ),
    (
        "a request for a certificate",
        |g| g.shows(vec![CertificateDer::from(csr_der(g))], g.kiosk.key.to_pem().expose()),
        At(Alert::CertificateUnknown),
    ),
    (
        "revoked",
        |g| g.shows(chain(&g.revoked.certificate), g.revoked.key.to_pem().expose()),
        At(Alert::CertificateRevoked),
    ),
    (
        "revoked, with a certificate that nobody recorded",
        revoked_anew,
        Said(
            Says(Code::PermissionDenied, "is revoked"),
            Says(Code::PermissionDenied, "is revoked"),
        ),
    ),
    (
        "quarantined",
        |g| g.shows(chain(&g.held.certificate), g.held.key.to_pem().expose()),
        Said(
            Says(Code::PermissionDenied, "is quarantined"),
            Says(Code::PermissionDenied, "is quarantined"),
        ),
    ),
    (
        "a device that nobody enrolled",
        nobody,
        Said(Says(Code::Unauthenticated, "does not know this device"), Says(Code::NotFound, "")),
    ),
    (
        "a device's name on another key",
        another_key,
        Said(
            Says(Code::Unauthenticated, "another key"),
            Says(Code::PermissionDenied, "another key"),
        ),
    ),
    (
        "another device's name on a device's key",
        anothers_name,
        Said(
            Says(Code::Unauthenticated, "another key"),
            Says(Code::PermissionDenied, "another key"),
        ),
    ),
];

fn none(ground: &Ground<'_>) -> ClientConfig {
    (*orion_mtls::pinned(ground.pins()).unwrap()).clone()
}

/// Signed by somebody else for the honest device's own key.
fn signed(ground: &Ground<'_>, issuer: &Issuer<'_, KeyPair>) -> CertificateDer<'static> {
    let key = KeyPair::from_pem(ground.kiosk.key.to_pem().expose()).unwrap();
    ground.honest().signed_by(&key, issuer).unwrap().der().clone()
}

fn another_authority(ground: &Ground<'_>) -> ClientConfig {
    let other = CertificateAuthority::create(now_ms()).unwrap();
    let key = KeyPair::from_pem(other.key_pem().expose()).unwrap();
    let issuer = Issuer::from_ca_cert_pem(other.cert_pem(), key).unwrap();
    let both = [vec![signed(ground, &issuer)], chain(other.cert_pem())].concat();
    ground.shows(both, ground.kiosk.key.to_pem().expose())
}

fn same_name(ground: &Ground<'_>) -> ClientConfig {
    let genuine = ground.authorities.signer().cert_pem();
    let issuer = Issuer::from_ca_cert_pem(genuine, KeyPair::generate().unwrap()).unwrap();
    let both = [vec![signed(ground, &issuer)], chain(genuine)].concat();
    ground.shows(both, ground.kiosk.key.to_pem().expose())
}

fn self_signed(ground: &Ground<'_>) -> ClientConfig {
    let key = KeyPair::from_pem(ground.kiosk.key.to_pem().expose()).unwrap();
    let certificate = ground.honest().self_signed(&key).unwrap();
    ground.shows(vec![certificate.der().clone()], &key.serialize_pem())
}

fn the_backends(ground: &Ground<'_>) -> ClientConfig {
    let validity = Duration::from_hours(1);
    let issued = ground.authorities.signer().issue_server(&[], validity, now_ms()).unwrap();
    ground.shows(chain(&issued.chain_pem), issued.key_pem.expose())
}

fn the_authoritys(ground: &Ground<'_>) -> ClientConfig {
    let signer = ground.authorities.signer();
    ground.shows(chain(signer.cert_pem()), signer.key_pem().expose())
}

fn two_names(ground: &Ground<'_>) -> ClientConfig {
    let other = uri(&format!("spiffe://orion/device/{}", ground.held.id));
    ground.forged(|params| params.subject_alt_names.push(other))
}

fn subject_only(ground: &Ground<'_>) -> ClientConfig {
    ground.forged(|params| {
        params.subject_alt_names.clear();
        let name = format!("spiffe://orion/device/{}", ground.kiosk.id);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
    })
}

fn rsa(ground: &Ground<'_>) -> ClientConfig {
    let key = KeyPair::from_pem(include_str!("rsa.pem")).unwrap();
    let certificate = ground.honest().signed_by(&key, &ground.issuer()).unwrap();
    ground.shows(vec![certificate.der().clone()], &key.serialize_pem())
}

fn signed_by_a_device(ground: &Ground<'_>) -> ClientConfig {
    let key = KeyPair::from_pem(ground.kiosk.key.to_pem().expose()).unwrap();
    let issuer = Issuer::from_ca_cert_pem(&ground.kiosk.certificate, key).unwrap();
    let both = [vec![signed(ground, &issuer)], chain(&ground.kiosk.certificate)].concat();
    ground.shows(both, ground.kiosk.key.to_pem().expose())
}

/// An authority that `issuer` signed.
fn below(issuer: &Issuer<'_, KeyPair>) -> (CertificateDer<'static>, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(rcgen::DnType::CommonName, "below");
    params.is_ca = any_authority();
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    let certificate = params.signed_by(&key, issuer).unwrap();
    let issuer = Issuer::from_ca_cert_der(certificate.der(), key).unwrap();
    (certificate.der().clone(), issuer)
}

fn in_between(ground: &Ground<'_>) -> ClientConfig {
    let (certificate, issuer) = below(&ground.issuer());
    ground.shows(vec![signed(ground, &issuer), certificate], ground.kiosk.key.to_pem().expose())
}

fn long_chain(ground: &Ground<'_>) -> ClientConfig {
    let mut issuer = ground.issuer();
    let mut authorities = Vec::new();
    for _ in 0..12 {
        let (certificate, next) = below(&issuer);
        authorities.insert(0, certificate);
        issuer = next;
    }
    authorities.insert(0, signed(ground, &issuer));
    ground.shows(authorities, ground.kiosk.key.to_pem().expose())
}

fn without_its_key(ground: &Ground<'_>) -> ClientConfig {
    let thief = DeviceKey::generate().unwrap();
    ground.shows(chain(&ground.kiosk.certificate), thief.to_pem().expose())
}

fn one_bit(ground: &Ground<'_>) -> ClientConfig {
    let mut der = chain(&ground.kiosk.certificate).remove(0).to_vec();
    let id = ground.kiosk.id.as_bytes();
    let at = der.windows(id.len()).rposition(|window| window == id).unwrap();
    // Another device's id, one digit away.
    der[at] = if der[at] == b'0' { b'1' } else { b'0' };
    ground.shows(vec![CertificateDer::from(der)], ground.kiosk.key.to_pem().expose())
}

fn csr_der(ground: &Ground<'_>) -> Vec<u8> {
    let key = KeyPair::from_pem(ground.kiosk.key.to_pem().expose()).unwrap();
    CertificateParams::default().serialize_request(&key).unwrap().der().to_vec()
}

fn revoked_anew(ground: &Ground<'_>) -> ClientConfig {
    let key = KeyPair::from_pem(ground.revoked.key.to_pem().expose()).unwrap();
    let mut params = ground.honest();
    params.subject_alt_names = vec![uri(&format!("spiffe://orion/device/{}", ground.revoked.id))];
    let certificate = params.signed_by(&key, &ground.issuer()).unwrap();
    ground.shows(vec![certificate.der().clone()], &key.serialize_pem())
}

fn nobody(ground: &Ground<'_>) -> ClientConfig {
    let nobody = uuid::Uuid::now_v7();
    ground.forged(|p| p.subject_alt_names = vec![uri(&format!("spiffe://orion/device/{nobody}"))])
}

fn another_key(ground: &Ground<'_>) -> ClientConfig {
    let key = KeyPair::generate().unwrap();
    let mut params = ground.honest();
    params.is_ca = IsCa::ExplicitNoCa;
    let certificate = params.signed_by(&key, &ground.issuer()).unwrap();
    ground.shows(vec![certificate.der().clone()], &key.serialize_pem())
}

fn anothers_name(ground: &Ground<'_>) -> ClientConfig {
    let other = uri(&format!("spiffe://orion/device/{}", ground.held.id));
    ground.forged(|params| params.subject_alt_names = vec![other])
}
