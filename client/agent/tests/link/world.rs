//! One backend, one device, and one folder that the device allows.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use orion_agent::Config;
use orion_agent::config::Settings;
use orion_agent::state::{Identity, State, Status};
use orion_domain::{
    ApprovalBasis, CallBinding, CallId, Caller, CanonicalArguments, DeviceId, Envelope, Grants,
    Role,
};
use orion_mtls::{CertificateAuthority, DeviceKey, ServerCertificate, device_listener};
use orion_usage::GivenOptions;
use orion_wire::v1::link_request::Message as FromDevice;
use orion_wire::v1::link_response::Message as ToDevice;
use orion_wire::{DevicePolicy, PROTOCOL, call_state_from, v1};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::backend::{Script, Stream, serve};

/// Timeout of every wait: only a hanging test takes so long.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

pub(crate) struct World {
    pub(crate) authority: Arc<CertificateAuthority>,
    pub(crate) address: SocketAddr,
    pub(crate) script: Arc<Mutex<Script>>,
    pub(crate) device: DeviceId,
    pub(crate) folder: tempfile::TempDir,
    revoked: Arc<Mutex<HashSet<String>>>,
    streams: mpsc::Receiver<Stream>,
    running: Option<(CancellationToken, JoinHandle<anyhow::Result<()>>)>,
}

impl World {
    /// Starts a backend for a device that is not enrolled and does not run yet.
    pub(crate) async fn new() -> Self {
        let authority = Arc::new(CertificateAuthority::create(now_ms()).unwrap());
        let revoked = Arc::new(Mutex::new(HashSet::new()));
        let script = Arc::default();
        let device = DeviceId::new(Uuid::from_u128(0x019a_9c3e_7a10_7cc2_b2d5_6d1f_6f3f_2b10));
        let (address, streams) =
            listen(&authority, &authority, &revoked, device, Arc::clone(&script)).await;
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("files")).unwrap();
        Self { authority, address, script, device, folder, revoked, streams, running: None }
    }

    /// Starts a backend for an enrolled device that does not run yet.
    pub(crate) async fn enrolled() -> Self {
        let world = Self::new().await;
        world.enroll(&[world.address], now_ms() + 3_600_000);
        world
    }

    pub(crate) fn enroll(&self, addresses: &[SocketAddr], renew_at: i64) {
        let key = DeviceKey::generate().unwrap();
        let issued = self
            .authority
            .issue_device(
                key.csr().unwrap().as_bytes(),
                &self.device.to_string(),
                Duration::from_hours(24),
                now_ms(),
            )
            .unwrap();
        let identity = Identity {
            device_id: self.device,
            name: "laptop-123".parse().unwrap(),
            addresses: addresses.iter().map(ToString::to_string).collect(),
            renew_at,
            not_after: issued.not_after_ms,
            certificate: issued.cert_pem,
            authorities: self.authority.cert_pem().to_owned(),
            key,
        };
        identity.save(&State::open(&self.state_dir()).unwrap()).unwrap();
    }

    /// Opens another listener of the same backend, or of one that pretends to be.
    pub(crate) async fn listen_by(
        &self,
        shown: &CertificateAuthority,
    ) -> (SocketAddr, mpsc::Receiver<Stream>) {
        listen(shown, &self.authority, &self.revoked, self.device, Arc::clone(&self.script)).await
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    pub(crate) fn revoke(&self) {
        let identity = Identity::read(&self.state_dir()).unwrap().unwrap();
        let serial = serial(&identity.certificate);
        self.revoked.lock().unwrap().insert(serial);
    }

    pub(crate) fn config(&self) -> Config {
        let files = self.files();
        let text =
            format!("[ceiling]\nprofile = \"operator\"\npaths = [{:?}]", files.to_str().unwrap());
        let settings = Settings::parse(&text, None, &[self.state_dir()]).unwrap();
        Config {
            options: GivenOptions::none(),
            state_dir: self.state_dir(),
            settings,
            #[cfg(target_os = "linux")]
            program: orion_agent::process::WorkerProgram::of_agent_at(
                env!("CARGO_BIN_EXE_orion-agent").into(),
            ),
        }
    }

    pub(crate) fn start(&mut self) {
        let shutdown = CancellationToken::new();
        let agent = tokio::spawn(orion_agent::run(self.config(), shutdown.clone()));
        self.running = Some((shutdown, agent));
    }

    pub(crate) async fn stop(&mut self) {
        let (shutdown, agent) = self.running.take().unwrap();
        shutdown.cancel();
        timeout(PATIENCE, agent).await.unwrap().unwrap().unwrap();
    }

    /// Returns the next stream that the device opens, before any message.
    pub(crate) async fn stream(&mut self) -> Session {
        let stream = timeout(PATIENCE, self.streams.recv()).await.unwrap().unwrap();
        Session { stream, device: self.device }
    }

    /// Returns the next stream after `Hello` and `Welcome`.
    pub(crate) async fn session(&mut self) -> (Session, v1::Hello) {
        let mut session = self.stream().await;
        let hello = session.greet().await;
        (session, hello)
    }

    /// Returns the next stream after `Hello`, `Welcome` and a policy that grants everything.
    pub(crate) async fn ready(&mut self) -> Session {
        let (mut session, _) = self.session().await;
        assert_eq!(session.policy(&self.policy()).await, "");
        session
    }

    /// Returns a policy that grants everything: a rejected call is rejected by the ceiling.
    pub(crate) fn policy(&self) -> DevicePolicy {
        let grants: Grants = serde_json::from_value(
            json!({"profile": "developer", "paths": ["/"], "apps": ["chrome"]}),
        )
        .unwrap();
        DevicePolicy { grants, ..DevicePolicy::default() }
    }

    /// Returns a dispatch as an honest backend sends it.
    pub(crate) fn call(&self, number: u128, tool: &str, arguments: &Value) -> v1::Dispatch {
        let (spec, _) = orion_catalog::find(tool).unwrap();
        let object = arguments.as_object().unwrap().clone();
        let parsed = spec.parse(object, &self.config().settings.places).unwrap();
        v1::Dispatch {
            call_id: id(number),
            tool: tool.to_owned(),
            arguments: parsed.arguments.as_bytes().to_vec().into(),
            time_left_ms: 60_000,
            risk: orion_wire::risk(spec.risk).into(),
            policy_version: DevicePolicy::version_of(&self.policy().to_bytes()),
            user: "ann".to_owned(),
            role: "operator".to_owned(),
            device_id: self.device.to_string(),
            ..v1::Dispatch::default()
        }
    }

    pub(crate) fn make(&self, number: u128, path: &Path) -> v1::Dispatch {
        self.call(number, "create_directory", &json!({"path": path}))
    }

    pub(crate) fn delete(&self, number: u128, path: &Path) -> v1::Dispatch {
        let arguments = json!({"path": path, "recursive": true, "confirm": true});
        self.call(number, "delete_directory", &arguments)
    }

    /// Returns the proof that a person approved this call.
    pub(crate) fn approve(&self, approval: u128, call: &v1::Dispatch) -> v1::ApprovalProof {
        let (spec, _) = orion_catalog::find(&call.tool).unwrap();
        let Value::Object(object) = serde_json::from_slice(&call.arguments).unwrap() else {
            panic!("not an object")
        };
        let parsed = spec.parse(object, &self.config().settings.places).unwrap();
        let arguments: Value = serde_json::from_slice(&call.arguments).unwrap();
        let caller =
            Caller { user: "ann".parse().unwrap(), role: Role::Operator, conversation: None };
        let expires_at = orion_agent::clock::now_ms() + 15 * 60 * 1000;
        let binding = CallBinding {
            call: call.call_id.parse::<CallId>().unwrap(),
            device: self.device,
            tool: &call.tool,
            arguments: &CanonicalArguments::from_value(&arguments),
            caller: &caller,
            touches: &parsed.touches,
            basis: ApprovalBasis::Standing,
            observed: &[],
            policy_version: &call.policy_version,
            raises: &[],
            expires_at,
        };
        v1::ApprovalProof {
            approval_id: id(approval),
            binding: binding.digest().as_bytes().to_vec().into(),
            approved_by: "bob".to_owned(),
            expires_at,
            raises: Vec::new(),
            basis: v1::ApprovalBasis::Standing.into(),
        }
    }

    /// Waits until the status shows this error.
    pub(crate) async fn says(&self, words: &str) -> Status {
        let dir = self.state_dir();
        let status = async {
            loop {
                if let Some(status) = Status::read(&dir)
                    && status.last_error.as_deref().is_some_and(|error| error.contains(words))
                {
                    return status;
                }
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, status).await.unwrap_or_else(|_| {
            panic!("{:?} does not say `{words}`", Status::read(&self.state_dir()))
        })
    }
}

async fn listen(
    shown: &CertificateAuthority,
    devices: &Arc<CertificateAuthority>,
    revoked: &Arc<Mutex<HashSet<String>>>,
    device: DeviceId,
    script: Arc<Mutex<Script>>,
) -> (SocketAddr, mpsc::Receiver<Stream>) {
    let issued = shown.issue_server(&[], Duration::from_hours(24), now_ms()).unwrap();
    let asked = Arc::clone(revoked);
    let tls = device_listener(
        &[devices.cert_pem()],
        Arc::new(ServerCertificate::new(&issued).unwrap()),
        Arc::new(move |serial: &str| asked.lock().unwrap().contains(serial)),
    )
    .unwrap();
    serve(tls, Arc::clone(devices), device.to_string(), script).await
}

fn serial(certificate: &str) -> String {
    use rustls::pki_types::pem::PemObject as _;
    let der = rustls::pki_types::CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    orion_mtls::DeviceIdentity::from_certificate(&der).unwrap().serial_hex
}

pub(crate) fn id(number: u128) -> String {
    Uuid::from_u128(number).to_string()
}

/// The backend's side of one stream.
pub(crate) struct Session {
    stream: Stream,
    device: DeviceId,
}

/// How a call ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) call: String,
    pub(crate) state: orion_domain::CallState,
    pub(crate) code: String,
    pub(crate) envelope: Envelope,
}

impl Session {
    pub(crate) async fn send(&self, message: ToDevice) {
        let response = v1::LinkResponse { message: Some(message) };
        self.stream.responses.send(Ok(response)).await.unwrap();
    }

    /// Returns the next message from the device. `None` if it closed the stream.
    pub(crate) async fn receive(&mut self) -> Option<FromDevice> {
        let next = timeout(PATIENCE, self.stream.requests.message()).await.unwrap();
        next.ok().flatten().and_then(|request| request.message)
    }

    pub(crate) async fn hello(&mut self) -> v1::Hello {
        match self.receive().await {
            Some(FromDevice::Hello(hello)) => hello,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn greet(&mut self) -> v1::Hello {
        let hello = self.hello().await;
        self.send(ToDevice::Welcome(v1::Welcome {
            protocol_major: PROTOCOL.major,
            protocol_minor: PROTOCOL.minor,
            server_version: "test".to_owned(),
            device_name: "laptop-123".to_owned(),
            device_id: self.device.to_string(),
            reconnect_ms: 0,
            audit: None,
        }))
        .await;
        hello
    }

    /// Sends bytes as a policy. Returns the device's error, empty if it applied the policy.
    pub(crate) async fn policy_bytes(&mut self, version: &str, policy: Vec<u8>) -> String {
        let update = v1::PolicyUpdate { version: version.to_owned(), policy: policy.into() };
        self.send(ToDevice::PolicyUpdate(update)).await;
        match self.receive().await {
            Some(FromDevice::PolicyAck(ack)) => {
                assert_eq!(ack.version, version);
                ack.error
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn policy(&mut self, policy: &DevicePolicy) -> String {
        let bytes = policy.to_bytes();
        self.policy_bytes(&DevicePolicy::version_of(&bytes), bytes).await
    }

    /// Returns the next result, and skips start and progress messages before it.
    pub(crate) async fn result(&mut self) -> Answer {
        loop {
            match self.receive().await {
                Some(FromDevice::CallResult(result)) => {
                    return Answer {
                        call: result.call_id,
                        state: call_state_from(result.state).unwrap(),
                        code: result.code,
                        envelope: serde_json::from_slice(&result.result).unwrap(),
                    };
                }
                Some(
                    FromDevice::CallStarted(_)
                    | FromDevice::CallProgress(_)
                    | FromDevice::CallOutput(_),
                ) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) async fn run(&mut self, call: v1::Dispatch) -> Answer {
        let call_id = call.call_id.clone();
        self.send(ToDevice::Dispatch(call)).await;
        let answer = self.result().await;
        assert_eq!(answer.call, call_id);
        answer
    }

    /// Runs a call that the device must reject. Returns the error code.
    pub(crate) async fn refused(&mut self, call: v1::Dispatch) -> String {
        let answer = self.run(call).await;
        assert_eq!(answer.envelope.data, None);
        assert!(!answer.envelope.success);
        answer.code
    }

    pub(crate) async fn acknowledge(&self, call: &str) {
        let ack = v1::ResultAck { call_id: call.to_owned(), audit: None, state: 0 };
        self.send(ToDevice::ResultAck(ack)).await;
    }
}
