//! Devices that ask: real agents, and requests as an agent makes them.

use std::net::IpAddr;

use orion_domain::Digest;
use orion_mtls::{Comparison, DeviceKey, Fingerprint, first_seen};
use orion_tests::{Client, Device, Process, Terminal, World, channel_from, eventually};
use orion_wire::v1;
use orion_wire::v1::enrollment_service_client::EnrollmentServiceClient;
use tonic::Status;
use tonic::transport::Channel;

/// What a device shows.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) code: String,
    pub(super) words: String,
}

/// What the agent asks for once it was told of a confirmation.
pub(super) const ASKS: &str = "Type the admin's two words:";

/// Starts an agent that asks at an address, at a terminal, and waits until it shows its code.
pub(super) async fn at_terminal(
    address: &str,
    device: &Device,
    more: &[&str],
) -> (Terminal, Shown) {
    let words = ["enroll", "--server", address, "--name", &device.name];
    let mut agent = device.agent_terminal(&[&words, more].concat());
    let text = agent.sees("Words that are not accepted").await;
    (agent, shown(&text).unwrap())
}

/// Has an admin confirm, and returns the words for the device.
pub(super) async fn confirmed(world: &World, Shown { code, words }: &Shown) -> String {
    let line = ["devices", "enroll", code, "--words", words, "--yes", "-o", "json"];
    let confirmed = world.cli().run(&line).await;
    assert_eq!(confirmed.code, 0, "{confirmed:?}");
    confirmed.json()["answer"].as_str().unwrap().to_owned()
}

/// Starts an agent without a terminal that knows the authority and asks, and waits until it shows its code.
pub(super) async fn asking(world: &World, device: &Device, more: &[&str]) -> (Process, Shown) {
    let pin = authority(world).to_string();
    let address = world.device_address();
    let words = ["enroll", "--server", &address, "--name", &device.name, "--ca-fingerprint", &pin];
    let earlier = device.agent_command(&["--version"]);
    earlier.exit_code().await;
    let before = shown(&earlier.log()).map(|shown| shown.code);
    let agent = device.agent_command(&[&words, more].concat());
    let shown = eventually("a code", async || {
        assert!(agent.is_running(), "{}", agent.log());
        // Commands of one device share a log.
        shown(&agent.log()).filter(|shown| Some(&shown.code) != before.as_ref())
    })
    .await;
    (agent, shown)
}

/// Reads what an agent has shown last.
fn shown(log: &str) -> Option<Shown> {
    let (_, after) = log.rsplit_once("orion devices enroll ")?;
    let code = after.split_whitespace().next()?.to_owned();
    let is_words = |line: &&str| line.split('-').count() == 3 && !line.contains(' ');
    let words = after.lines().map(str::trim).find(is_words)?.to_owned();
    after.contains("Words that are not accepted").then_some(Shown { code, words })
}

/// Asserts that nothing is known of a device on either side.
pub(super) async fn seen_by_nobody(world: &World, device: &Device) {
    let list = world.admin().devices().list_devices(v1::ListDevicesRequest::default()).await;
    assert_eq!(list.unwrap().into_inner().devices, []);
    for file in ["identity.toml", "pending.toml", "key.pem", "authorities.pem"] {
        assert!(!device.state_dir().join(file).exists(), "{file}");
    }
}

async fn rows(world: &World) -> Vec<v1::AuditRow> {
    let request = v1::ListAuditRequest { limit: 500, ..Default::default() };
    world.admin().audit().list_audit(request).await.unwrap().into_inner().rows
}

/// How often each of these stands in the audit.
pub(super) async fn audited<const N: usize>(world: &World, kinds: [&str; N]) -> [usize; N] {
    let rows = rows(world).await;
    kinds.map(|kind| rows.iter().filter(|row| row.kind == kind).count())
}

/// Everything in the audit, as text.
pub(super) async fn whole_audit(world: &World) -> String {
    rows(world).await.iter().map(|row| format!("{} {}\n", row.kind, row.body)).collect()
}

/// The fingerprint of the backend's authority.
pub(super) fn authority(world: &World) -> Fingerprint {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    let pem = std::fs::read(world.data_dir().join("ca.pem")).unwrap();
    Fingerprint::of_certificate(&CertificateDer::from_pem_slice(&pem).unwrap())
}

/// A request as an agent makes it, without an agent.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) client: EnrollmentServiceClient<Channel>,
    pub(super) key: DeviceKey,
    pub(super) secret: String,
    pub(super) asked: v1::RequestEnrollmentResponse,
}

impl Raw {
    /// Asks from an address of this machine.
    pub(super) async fn ask(world: &World, from: [u8; 4]) -> Result<Self, Status> {
        Self::ask_with(world, from, |_| {}).await
    }

    /// Asks with a request that was changed.
    pub(super) async fn ask_with(
        world: &World,
        from: [u8; 4],
        change: impl FnOnce(&mut v1::RequestEnrollmentRequest),
    ) -> Result<Self, Status> {
        let (tls, seen) = first_seen().unwrap();
        let address = world.device_address();
        let channel = channel_from(IpAddr::from(from), &address, tls).await.unwrap();
        assert_eq!(seen.authority(), Some(authority(world)));
        let mut client = EnrollmentServiceClient::new(channel);
        let key = DeviceKey::generate().unwrap();
        let secret = Digest::of(key.fingerprint().to_string().as_bytes()).to_string();
        let mut request = v1::RequestEnrollmentRequest {
            certificate_request: key.csr().unwrap(),
            commitment: Digest::of(secret.as_bytes()).to_string(),
            authority: authority(world).to_string(),
            suggested_name: "kiosk".to_owned(),
            hostname: "kiosk.lab".to_owned(),
            os: "linux".to_owned(),
            arch: "x86_64".to_owned(),
            agent_version: "0.1.0".to_owned(),
        };
        change(&mut request);
        let asked = client.request_enrollment(request).await?.into_inner();
        Ok(Self { client, key, secret, asked })
    }

    /// Asks, and reveals the secret, so that the code can be typed.
    pub(super) async fn open(world: &World) -> Self {
        let raw = Self::ask(world, [127, 0, 0, 1]).await.unwrap();
        let request = v1::AwaitConfirmationRequest {
            request_id: raw.asked.request_id.clone(),
            secret: raw.secret.clone(),
        };
        raw.client.clone().await_confirmation(request).await.unwrap();
        raw
    }

    fn comparison(&self, world: &World) -> Comparison<'_> {
        let nonce = <[u8; 32]>::try_from(&*self.asked.nonce).unwrap();
        let (authority, key) = (authority(world), self.key.fingerprint());
        Comparison { authority, key, nonce, secret: &self.secret }
    }

    /// The words that this device shows.
    pub(super) fn words(&self, world: &World) -> String {
        self.comparison(world).words()
    }

    /// The words that it awaits.
    pub(super) fn answer(&self, world: &World) -> String {
        self.comparison(world).answer()
    }

    /// Confirms the request as this person.
    pub(super) async fn confirm(
        &self,
        by: &Client,
        words: &str,
    ) -> Result<v1::ConfirmEnrollmentResponse, Status> {
        let request = v1::ConfirmEnrollmentRequest {
            code: self.asked.code.clone(),
            words: words.to_owned(),
            ..Default::default()
        };
        Ok(by.devices().confirm_enrollment(request).await?.into_inner())
    }

    /// The request that enrols with what was confirmed.
    pub(super) fn enroll_request(&self, csr: String) -> v1::EnrollRequest {
        v1::EnrollRequest {
            invite_id: self.asked.request_id.clone(),
            secret: self.secret.clone(),
            certificate_request: csr,
            // No admin has seen this name.
            suggested_name: "backdoor".to_owned(),
            hostname: "kiosk.lab".to_owned(),
            os: "linux".to_owned(),
            ticket: String::new(),
            arch: "x86_64".to_owned(),
        }
    }
}
