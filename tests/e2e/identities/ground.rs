//! What forgers have to work with: the backend's own authority and key, as after a theft, and devices in
//! every state.

use std::sync::Arc;
use std::time::Duration;

use orion_mtls::{Authorities, DeviceKey, Fingerprint, PinSet, secret_file};
use orion_tests::{Enrolled, World, channel, connect, enroll_request, enrolling};
use orion_wire::v1::enrollment_service_client::EnrollmentServiceClient;
use orion_wire::{EnrollmentToken, v1};
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType,
};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use time::OffsetDateTime;
use tonic::Status;

/// How many devices there are, none of them bad.
pub(super) const DEVICES: usize = 3;

/// See the module.
pub(super) struct Ground<'a> {
    world: &'a World,
    /// An honest device.
    pub(super) kiosk: Enrolled,
    /// One that was revoked.
    pub(super) revoked: Enrolled,
    /// One in quarantine.
    pub(super) held: Enrolled,
    /// The backend's authority, with its key.
    pub(super) authorities: Authorities,
    /// A token that is good for one device.
    pub(super) token: EnrollmentToken,
    /// Tokens that are good for none: expired, and spent.
    pub(super) spent: EnrollmentToken,
}

impl<'a> Ground<'a> {
    pub(super) async fn new(world: &'a World) -> Self {
        let spent = token(world, 3).await;
        let enrolled = async |name| Enrolled::with(&spent, name).await.unwrap();
        let [kiosk, revoked, held] =
            [enrolled("kiosk").await, enrolled("revoked").await, enrolled("held").await];
        let mut devices = world.admin().devices();
        let (device, reason) = (revoked.id.clone(), String::new());
        devices.revoke_device(v1::RevokeDeviceRequest { device, reason }).await.unwrap();
        let (device, reason) = (held.id.clone(), String::new());
        devices.quarantine_device(v1::QuarantineDeviceRequest { device, reason }).await.unwrap();
        let keys = secret_file::read_text(&world.data_dir().join("ca.key")).unwrap();
        let certificates = std::fs::read_to_string(world.data_dir().join("ca.pem")).unwrap();
        Self {
            world,
            kiosk,
            revoked,
            held,
            authorities: Authorities::load(keys.expose(), &certificates).unwrap(),
            token: token(world, 1).await,
            spent,
        }
    }

    /// How many devices the backend knows.
    pub(super) async fn devices(&self) -> usize {
        let request = v1::ListDevicesRequest::default();
        self.world.admin().devices().list_devices(request).await.unwrap().into_inner().devices.len()
    }

    /// Where devices come in.
    pub(super) fn address(&self) -> String {
        self.world.device_address()
    }

    /// The enrolment service, asked over a connection of this configuration.
    pub(super) async fn enrolling(
        &self,
        tls: Arc<ClientConfig>,
    ) -> Result<EnrollmentServiceClient<tonic::transport::Channel>, tonic::transport::Error> {
        Ok(EnrollmentServiceClient::new(channel(&self.address(), tls).await?))
    }

    /// Asks to become a device, as everybody may.
    pub(super) async fn enroll(&self, request: v1::EnrollRequest) -> Result<(), Status> {
        enrolling(&self.token).await.enroll(request).await.map(drop)
    }

    /// Asks for a new certificate, as the honest device.
    pub(super) async fn renew(&self, certificate_request: String) -> Result<(), Status> {
        let mut client = connect(&self.address(), self.kiosk.tls()).await.unwrap();
        let request = v1::RenewCertificateRequest { certificate_request, ..Default::default() };
        client.renew_certificate(request).await.map(drop)
    }

    /// An enrolment with the good token.
    pub(super) fn request(&self, csr: String) -> v1::EnrollRequest {
        enroll_request(&self.token, "new", csr)
    }

    /// A request for a certificate that nothing is wrong with.
    pub(super) fn a_csr(&self) -> String {
        DeviceKey::generate().unwrap().csr().unwrap()
    }

    /// The pins of the backend's authority.
    pub(super) fn pins(&self) -> PinSet {
        PinSet::new(self.token.pins.iter().map(|pin| Fingerprint(*pin.as_bytes()))).unwrap()
    }

    /// The backend's authority as a forger uses it.
    pub(super) fn issuer(&self) -> Issuer<'static, KeyPair> {
        let signer = self.authorities.signer();
        let key = KeyPair::from_pem(signer.key_pem().expose()).unwrap();
        Issuer::from_ca_cert_pem(signer.cert_pem(), key).unwrap()
    }

    /// The name of the honest device.
    pub(super) fn uri(&self) -> SanType {
        uri(&format!("spiffe://orion/device/{}", self.kiosk.id))
    }

    /// What the honest device's certificate says.
    pub(super) fn honest(&self) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.not_before = from_now(-Duration::from_hours(1).as_secs().cast_signed());
        params.not_after = from_now(Duration::from_hours(1).as_secs().cast_signed());
        params.is_ca = IsCa::ExplicitNoCa;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.subject_alt_names = vec![self.uri()];
        params
    }

    /// A certificate that the stolen authority signed for the honest device's own key, with something
    /// changed.
    pub(super) fn forged(&self, change: impl FnOnce(&mut CertificateParams)) -> ClientConfig {
        let key = KeyPair::from_pem(self.kiosk.key.to_pem().expose()).unwrap();
        let mut params = self.honest();
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer()).unwrap();
        self.shows(vec![certificate.der().clone()], &key.serialize_pem())
    }

    /// A client that shows this chain, signs with this key (PEM), whether or not they belong together,
    /// and trusts the backend.
    pub(super) fn shows(&self, chain: Vec<CertificateDer<'static>>, key_pem: &str) -> ClientConfig {
        let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes()).unwrap();
        let key = ring::sign::any_supported_type(&key).unwrap();
        let certified = CertifiedKey::new(chain, key);
        let mut config = (*orion_mtls::pinned(self.pins()).unwrap()).clone();
        config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(certified));
        config
    }
}

async fn token(world: &World, uses: u32) -> EnrollmentToken {
    let request = v1::InviteDeviceRequest { preapproved: true, uses, ..Default::default() };
    let invited = world.admin().devices().invite_device(request).await.unwrap();
    invited.into_inner().token.parse().unwrap()
}

/// A moment this many seconds from now.
pub(super) fn from_now(seconds: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(orion_tests::now_ms() / 1000 + seconds).unwrap()
}

pub(super) fn uri(text: &str) -> SanType {
    SanType::URI(text.try_into().unwrap())
}

/// An authority that may have others below it.
pub(super) fn any_authority() -> IsCa {
    IsCa::Ca(BasicConstraints::Unconstrained)
}

/// The certificates of a PEM text.
pub(super) fn chain(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>().unwrap()
}
