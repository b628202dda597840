//! Somebody with an authority of their own who answers a device by themselves: that it is confirmed, and with a
//! certificate. No backend hears of it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use orion_mtls::{CertificateAuthority, Comparison, Fingerprint, VerifiedCsr};
use orion_tests::{Device, Terminal, World, now_ms};
use orion_wire::v1;
use orion_wire::v1::enrollment_service_server::EnrollmentService;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::ground::{ASKS, Shown, at_terminal, seen_by_nobody};
use super::middle::serve;

const NONCE: [u8; 32] = [7; 32];

/// Somebody who lies to devices.
#[derive(Clone)]
struct Liar {
    own: Arc<CertificateAuthority>,
    /// Whether they are as an older backend, which knows no codes.
    is_old: Arc<AtomicBool>,
    /// How often the device is told to wait first.
    waits: Arc<AtomicU32>,
    /// How much was asked.
    asked: Arc<AtomicU32>,
    /// How many certificates were given.
    issued: Arc<AtomicU32>,
    key: Arc<Mutex<Option<Fingerprint>>>,
    /// What the device awaits, which somebody in between knows.
    answer: Arc<Mutex<String>>,
}

impl Liar {
    async fn start(waits: u32) -> (String, Self, CancellationToken) {
        let own = Arc::new(CertificateAuthority::create(now_ms()).unwrap());
        let liar = Self {
            own: Arc::clone(&own),
            is_old: Arc::default(),
            waits: Arc::new(AtomicU32::new(waits)),
            asked: Arc::default(),
            issued: Arc::default(),
            key: Arc::default(),
            answer: Arc::default(),
        };
        let (address, stop) = serve(&own, liar.clone()).await;
        (address, liar, stop)
    }

    fn issued(&self) -> u32 {
        self.issued.load(Ordering::SeqCst)
    }
}

#[tonic::async_trait]
impl EnrollmentService for Liar {
    async fn request_enrollment(
        &self,
        request: Request<v1::RequestEnrollmentRequest>,
    ) -> Result<Response<v1::RequestEnrollmentResponse>, Status> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.is_old.load(Ordering::SeqCst) {
            return Err(Status::unimplemented(""));
        }
        let csr = request.into_inner().certificate_request;
        let key = VerifiedCsr::parse(csr.as_bytes()).unwrap().public_key_fingerprint();
        *self.key.lock().unwrap() = Some(key);
        Ok(Response::new(v1::RequestEnrollmentResponse {
            request_id: Uuid::now_v7().to_string(),
            code: "BCDF-GHJK".to_owned(),
            nonce: NONCE.to_vec().into(),
            expires_in_seconds: 600,
        }))
    }

    async fn await_confirmation(
        &self,
        request: Request<v1::AwaitConfirmationRequest>,
    ) -> Result<Response<v1::AwaitConfirmationResponse>, Status> {
        let secret = &request.get_ref().secret;
        let (authority, key) = (self.own.fingerprint(), self.key.lock().unwrap().unwrap());
        *self.answer.lock().unwrap() = Comparison { authority, key, nonce: NONCE, secret }.answer();
        let left = |waits: u32| waits.checked_sub(1);
        let state = match self.waits.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left) {
            Ok(_) => v1::ConfirmationState::Waiting,
            Err(_) => v1::ConfirmationState::Confirmed,
        };
        Ok(Response::new(v1::AwaitConfirmationResponse { state: state.into() }))
    }

    async fn enroll(
        &self,
        request: Request<v1::EnrollRequest>,
    ) -> Result<Response<v1::EnrollResponse>, Status> {
        self.issued.fetch_add(1, Ordering::SeqCst);
        let (csr, id) = (request.into_inner().certificate_request, Uuid::now_v7().to_string());
        let validity = Duration::from_hours(24);
        let issued = self.own.issue_device(csr.as_bytes(), &id, validity, now_ms()).unwrap();
        Ok(Response::new(v1::EnrollResponse {
            device_id: id,
            device_name: "owned".to_owned(),
            certificate: Some(v1::IssuedCertificate {
                certificate: issued.cert_pem,
                not_after: issued.not_after_ms,
                authorities: vec![self.own.cert_pem().to_owned()],
            }),
            ticket: "t".repeat(64),
            fingerprint_words: String::new(),
        }))
    }

    async fn get_enrollment(
        &self,
        _: Request<v1::GetEnrollmentRequest>,
    ) -> Result<Response<v1::GetEnrollmentResponse>, Status> {
        Err(Status::not_found("nothing"))
    }
}

/// Types other words as often as they are asked for.
async fn types_other_words(mut agent: Terminal, Shown { words, .. }: &Shown) {
    for typed in ["babel-babel-babel", words, "yes"] {
        agent.sees("ype").await;
        agent.line(typed).await;
    }
    let said = agent.sees("another machine may be between this device and the backend").await;
    assert!(!said.contains("enrolled as"), "{said}");
    agent.sees("Nothing was kept").await;
    assert_eq!(agent.ended().await, 4, "{}", agent.rest());
}

async fn is_not_believed(waits: u32) {
    let world = World::new().await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let (address, liar, stop) = Liar::start(waits).await;
    // The words were shown, whatever the first answer was.
    let (agent, shown) = at_terminal(&address, &kiosk, &[]).await;
    types_other_words(agent, &shown).await;
    assert_eq!(liar.issued(), 0);
    seen_by_nobody(&world, &kiosk).await;
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_at_once_that_an_admin_confirmed_is_not_believed() {
    is_not_believed(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_after_a_while_that_an_admin_confirmed_is_not_believed() {
    is_not_believed(1).await;
}

fn identity(device: &Device) -> Vec<Vec<u8>> {
    let files = ["identity.toml", "key.pem", "authorities.pem"];
    files.map(|file| std::fs::read(device.state_dir().join(file)).unwrap_or_default()).into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earlier_identity_survives_who_lies_to_a_device_that_was_to_become_another() {
    let world = World::new().await;
    let (kiosk, token) = world.device("kiosk").invite().await;
    assert_eq!(kiosk.enroll(&token).exit_code().await, 0);
    let before = identity(&kiosk);
    assert!(before.iter().any(|file| !file.is_empty()), "it has an identity");
    let (address, liar, stop) = Liar::start(0).await;
    let (agent, shown) = at_terminal(&address, &kiosk, &["--force"]).await;
    types_other_words(agent, &shown).await;
    assert_eq!(identity(&kiosk), before);
    assert!(!kiosk.state_dir().join("pending.toml").exists());
    assert_eq!(liar.issued(), 0);

    // Nothing but the words keeps it: with those of the liar it would be theirs.
    let (mut agent, _) = at_terminal(&address, &kiosk, &["--force"]).await;
    agent.sees(ASKS).await;
    let answer = liar.answer.lock().unwrap().clone();
    agent.line(&answer).await;
    agent.sees("enrolled as owned").await;
    assert_eq!(agent.ended().await, 0);
    assert_eq!(liar.issued(), 1);
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_terminal_and_a_fingerprint_nobody_is_asked() {
    let world = World::new().await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let (address, liar, stop) = Liar::start(0).await;
    for force in [&[][..], &["--force"]] {
        let line = [&["enroll", "--server", &address], force].concat();
        let (code, said) = kiosk.agent_says(&line).await;
        assert_eq!(code, 4, "{said}");
        assert!(said.contains("no terminal to type the admin's words at"), "{said}");
        assert!(said.contains("--ca-fingerprint SHA256"), "{said}");
    }
    assert_eq!(liar.asked.load(Ordering::SeqCst), 0);
    seen_by_nobody(&world, &kiosk).await;
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_backend_is_named_as_one() {
    let world = World::new().await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let (address, liar, stop) = Liar::start(0).await;
    liar.is_old.store(true, Ordering::SeqCst);
    let pin = liar.own.fingerprint().to_string();
    let line = ["enroll", "--server", &address, "--ca-fingerprint", &pin];
    let (code, said) = kiosk.agent_says(&line).await;
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("the backend is older and has no codes"), "{said}");
    stop.cancel();
}
