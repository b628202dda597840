//! Somebody between the device and the backend: an authority of their own on the device's side, and the real protocol
//! on the backend's.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use orion_mtls::{CertificateAuthority, DeviceKey, ServerCertificate, device_listener, first_seen};
use orion_tests::{World, channel, door, now_ms};
use orion_wire::v1;
use orion_wire::v1::enrollment_service_client::EnrollmentServiceClient;
use orion_wire::v1::enrollment_service_server::{EnrollmentService, EnrollmentServiceServer};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use super::ground::{Shown, asking, at_terminal, audited, authority, confirmed, seen_by_nobody};

/// What the one in the middle does with the device's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    /// Asks for a certificate of the device's key.
    Device,
    /// Asks for a certificate of a key of their own.
    Own,
}

/// Somebody in the middle. Everything that the device sends is passed on, but for what must be changed.
#[derive(Clone)]
struct Middle {
    backend: EnrollmentServiceClient<Channel>,
    /// The authority that the backend has, which the device is to believe it met.
    authority: String,
    key: Option<Arc<DeviceKey>>,
    /// How often anything was asked.
    asked: Arc<Mutex<u32>>,
}

impl Middle {
    async fn start(world: &World, key: Key) -> (String, Self, CancellationToken) {
        let (to_backend, _) = first_seen().unwrap();
        let backend = channel(&world.device_address(), to_backend).await.unwrap();
        let middle = Self {
            backend: EnrollmentServiceClient::new(backend),
            authority: authority(world).to_string(),
            key: (key == Key::Own).then(|| Arc::new(DeviceKey::generate().unwrap())),
            asked: Arc::default(),
        };
        let own = CertificateAuthority::create(now_ms()).unwrap();
        let (address, stop) = serve(&own, middle.clone()).await;
        (address, middle, stop)
    }

    fn count_one(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn count(&self) -> u32 {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves devices with an authority of one's own. Returns the address.
pub(super) async fn serve(
    own: &CertificateAuthority,
    service: impl EnrollmentService,
) -> (String, CancellationToken) {
    let issued = own.issue_server(&[], Duration::from_hours(1), now_ms()).unwrap();
    let certificate = Arc::new(ServerCertificate::new(&issued).unwrap());
    let tls = device_listener(&[own.cert_pem()], certificate, Arc::new(|_: &str| false)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let stop = CancellationToken::new();
    let routes = Routes::new(EnrollmentServiceServer::new(service));
    tokio::spawn(door(listener, Some(tls)).serve(routes, stop.clone()));
    (address, stop)
}

#[tonic::async_trait]
impl EnrollmentService for Middle {
    async fn request_enrollment(
        &self,
        request: Request<v1::RequestEnrollmentRequest>,
    ) -> Result<Response<v1::RequestEnrollmentResponse>, Status> {
        self.count_one();
        let mut request = request.into_inner();
        request.authority.clone_from(&self.authority);
        if let Some(key) = &self.key {
            request.certificate_request = key.csr().unwrap();
        }
        self.backend.clone().request_enrollment(request).await
    }

    async fn await_confirmation(
        &self,
        request: Request<v1::AwaitConfirmationRequest>,
    ) -> Result<Response<v1::AwaitConfirmationResponse>, Status> {
        self.count_one();
        self.backend.clone().await_confirmation(request.into_inner()).await
    }

    async fn enroll(
        &self,
        request: Request<v1::EnrollRequest>,
    ) -> Result<Response<v1::EnrollResponse>, Status> {
        self.backend.clone().enroll(request.into_inner()).await
    }

    async fn get_enrollment(
        &self,
        request: Request<v1::GetEnrollmentRequest>,
    ) -> Result<Response<v1::GetEnrollmentResponse>, Status> {
        self.backend.clone().get_enrollment(request.into_inner()).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_in_the_middle_shows_other_words_to_the_admin() {
    refused_for_its_words(Key::Own).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_in_the_middle_who_passes_the_devices_key_on_shows_other_words_too() {
    refused_for_its_words(Key::Device).await;
}

async fn refused_for_its_words(key: Key) {
    let world = World::new().await;
    let (address, middle, stop) = Middle::start(&world, key).await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    // The same code at both ends, so that the admin finds the request.
    let (mut agent, Shown { code, words }) = at_terminal(&address, &kiosk, &[]).await;
    assert!(middle.count() >= 2, "it asked, and revealed its secret");

    // The words that the device shows are not those of the request, whoever types them.
    let line = ["devices", "enroll", &code, "--words", &words, "--yes"];
    let scripted = world.cli().run(&line).await;
    assert_eq!(scripted.code, 9, "{scripted:?}");
    assert!(scripted.stderr.contains("not the words of this request"), "{scripted:?}");
    let question = "Type the words that the device shows:";
    for (typed, said) in [(&*words, "not the words of this request"), ("refuse", "was refused")] {
        let mut admin = world.cli().terminal(&format!("devices enroll {code}"));
        admin.sees(question).await;
        admin.line(typed).await;
        admin.sees(said).await;
        assert_eq!(admin.ended().await, 9, "{}", admin.rest());
    }
    agent.sees("an admin refused this device").await;
    assert_eq!(agent.ended().await, 4);
    assert_eq!(audited(&world, ["enrollment.refused", "enrollment.confirmed"]).await, [1, 0]);
    seen_by_nobody(&world, &kiosk).await;
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_knows_the_authority_tells_nobody_else_anything() {
    let world = World::new().await;
    let (address, middle, stop) = Middle::start(&world, Key::Device).await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let pin = authority(&world).to_string();
    let pinned = ["enroll", "--server", &address, "--ca-fingerprint", &pin];
    let (code, said) = kiosk.agent_says(&pinned).await;
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("Nothing was sent to it"), "{said}");
    assert_eq!(middle.count(), 0);
    seen_by_nobody(&world, &kiosk).await;
    for wrong in ["", "abc", &"g".repeat(64)] {
        let (code, said) =
            kiosk.agent_says(&["enroll", "--server", &address, "--ca-fingerprint", wrong]).await;
        assert_eq!(code, 2, "{said}");
    }
    // At the right address the same fingerprint is good.
    let (agent, shown) = asking(&world, &kiosk, &[]).await;
    confirmed(&world, &shown).await;
    assert_eq!(agent.exit_code().await, 0, "{}", agent.log());
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_keeps_to_the_authority_that_it_met_first() {
    let world = World::new().await;
    let proxy = world.proxy().await;
    let (kiosk, _) = world.device("kiosk").invite().await;
    let (mut agent, shown) = at_terminal(&proxy.address(), &kiosk, &[]).await;
    // Somebody takes the address over after the words were shown.
    let (elsewhere, middle, stop) = Middle::start(&world, Key::Device).await;
    proxy.aim(&elsewhere);
    proxy.cut(orion_tests::Cut::Reset);
    agent.sees("Nothing was sent to it").await;
    assert_eq!(agent.ended().await, 4, "{}", agent.rest());
    assert_eq!(middle.count(), 0);
    // What the admin confirms meanwhile is good for that key alone, which nobody has any more.
    confirmed(&world, &shown).await;
    seen_by_nobody(&world, &kiosk).await;
    stop.cancel();
}
