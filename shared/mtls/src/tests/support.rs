//! One installation for a test: an authority, a listener, and helpers for handshakes.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ServerConfig};
use time::OffsetDateTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::certificate::{chain_from_pem, roots_from_pem};
use crate::provider::provider;
use crate::*;

pub(super) const BOB: &str = "019a9c3e-7a10-7cc2-b2d5-6d1f6f3f2b10";
pub(super) const DAY: Duration = Duration::from_hours(24);
pub(super) const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Returns the system's time in Unix milliseconds, because rustls uses it in a handshake.
pub(super) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

/// An authority and the listener of its backend.
pub(super) struct World {
    pub(super) authority: CertificateAuthority,
    pub(super) certificate: Arc<ServerCertificate>,
    pub(super) listener: Arc<ServerConfig>,
    revoked: Arc<Mutex<HashSet<String>>>,
}

impl World {
    pub(super) fn new() -> Self {
        let authority = CertificateAuthority::create(now_ms() - 30 * DAY_MS).unwrap();
        let issued = authority.issue_server(&[], DAY, now_ms()).unwrap();
        let certificate = Arc::new(ServerCertificate::new(&issued).unwrap());
        let revoked = Arc::new(Mutex::new(HashSet::new()));
        let asked = Arc::clone(&revoked);
        let listener = device_listener(
            &[authority.cert_pem()],
            Arc::clone(&certificate),
            Arc::new(move |serial: &str| asked.lock().unwrap().contains(serial)),
        )
        .unwrap();
        Self { authority, certificate, listener, revoked }
    }

    pub(super) fn revoke(&self, serial_hex: &str) {
        self.revoked.lock().unwrap().insert(serial_hex.to_owned());
    }

    pub(super) fn pins(&self) -> PinSet {
        PinSet::new([self.authority.fingerprint()]).unwrap()
    }

    /// Enrols a device at `enrolled_ms`, for a day.
    pub(super) fn device(&self, enrolled_ms: i64) -> (DeviceKey, IssuedCertificate) {
        enrolled(&self.authority, enrolled_ms)
    }

    /// Returns a client that presents any given chain, and trusts this world's backend.
    pub(super) fn client(&self, chain_pem: &str, key_pem: &str) -> ClientConfig {
        ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots_from_pem(&[self.authority.cert_pem()]).unwrap())
            .with_client_auth_cert(chain_from_pem(chain_pem).unwrap(), key_der(key_pem))
            .unwrap()
    }

    /// Signs an honest device's certificate after `change` modified it.
    pub(super) fn sign(&self, change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        sign_by(&self.authority, change)
    }
}

pub(super) fn enrolled(
    authority: &CertificateAuthority,
    enrolled_ms: i64,
) -> (DeviceKey, IssuedCertificate) {
    let key = DeviceKey::generate().unwrap();
    let issued =
        authority.issue_device(key.csr().unwrap().as_bytes(), BOB, DAY, enrolled_ms).unwrap();
    (key, issued)
}

/// Returns a certificate and its key (PEM) signed by `authority`: an honest device's, as `change`d.
pub(super) fn sign_by(
    authority: &CertificateAuthority,
    change: impl FnOnce(&mut CertificateParams),
) -> (String, String) {
    let signer = KeyPair::from_pem(authority.key_pem().expose()).unwrap();
    let issuer = Issuer::from_ca_cert_pem(authority.cert_pem(), signer).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = device_params();
    change(&mut params);
    let certificate = params.signed_by(&key, &issuer).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// Returns the contents of an honest device's certificate.
pub(super) fn device_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    let now = OffsetDateTime::from_unix_timestamp(now_ms() / 1000).unwrap();
    params.not_before = now - DAY;
    params.not_after = now + DAY;
    params.is_ca = IsCa::ExplicitNoCa;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.subject_alt_names = vec![uri(&format!("spiffe://orion/device/{BOB}"))];
    params
}

pub(super) fn uri(text: &str) -> SanType {
    SanType::URI(text.try_into().unwrap())
}

pub(super) fn any_ca() -> IsCa {
    IsCa::Ca(BasicConstraints::Unconstrained)
}

pub(super) fn key_der(pem: &str) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap()
}

/// Returns a listener that requires no certificate and presents any given chain.
pub(super) fn liar(chain: Vec<CertificateDer<'static>>, key_pem: &str) -> Arc<ServerConfig> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key_der(key_pem))
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

/// The result on each side of a connection on which one message went each way.
pub(super) struct Outcome {
    /// The peer that the server identified.
    pub(super) server: Result<Option<DeviceIdentity>, io::Error>,
    pub(super) client: Result<Seen, io::Error>,
}

/// What the client observed.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) alpn: Option<Vec<u8>>,
    pub(super) server_certificate: Fingerprint,
    pub(super) kind: Option<rustls::HandshakeKind>,
    pub(super) tickets: u32,
}

pub(super) async fn connect(
    server: &Arc<ServerConfig>,
    client: impl Into<Arc<ClientConfig>>,
) -> Outcome {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let acceptor = TlsAcceptor::from(Arc::clone(server));
    let connector = TlsConnector::from(client.into());
    let serving = async move {
        let mut stream = acceptor.accept(far).await?;
        let device =
            DeviceIdentity::from_peer_certificates(stream.get_ref().1.peer_certificates()).unwrap();
        let asked = stream.read_u8().await?;
        stream.write_u8(asked).await?;
        stream.flush().await?;
        // Waits until the client closes, so that the answer is not lost with the pipe.
        drop(stream.read_u8().await);
        Ok(device)
    };
    let asking = async move {
        // The dialled address, which devices do not compare with the certificate.
        let name = ServerName::try_from("orion-server").unwrap();
        let mut stream = connector.connect(name, near).await?;
        stream.write_u8(42).await?;
        stream.flush().await?;
        assert_eq!(stream.read_u8().await?, 42);
        let session = stream.get_ref().1;
        Ok(Seen {
            alpn: session.alpn_protocol().map(<[u8]>::to_vec),
            server_certificate: Fingerprint::of_certificate(
                &session.peer_certificates().unwrap()[0],
            ),
            kind: session.handshake_kind(),
            tickets: session.tls13_tickets_received(),
        })
    };
    let (server, client) =
        tokio::time::timeout(Duration::from_secs(30), async { tokio::join!(serving, asking) })
            .await
            .unwrap();
    Outcome { server, client }
}

impl Outcome {
    /// Asserts that the server rejected the connection for a reason that contains `reason`, and that the
    /// client got no answer. Returns what the client can report to its user.
    pub(super) fn refused_by_server(self, reason: &str) -> Option<Refusal> {
        let error = format!("{:?}", self.server.unwrap_err());
        assert!(error.contains(reason), "{error}");
        Refusal::find(&self.client.unwrap_err())
    }

    /// Asserts that the client rejected the connection for a reason that contains `reason`.
    pub(super) fn refused_by_client(self, reason: &str) -> Option<Refusal> {
        assert!(self.server.is_err());
        let error = self.client.unwrap_err();
        assert!(format!("{error:?}").contains(reason), "{error:?}");
        Refusal::find(&error)
    }
}
