//! A device that does not play by the rules: the identity of a device that really enrolled, the real
//! protocol, and whatever a test wants to say in it.

use orion_agent::state::Identity;
use orion_wire::v1::{link_request, link_response};
use orion_wire::{PROTOCOL, v1};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::dial::connect;
use crate::eventually::PATIENCE;
use crate::world::Device;

/// See the module.
#[derive(Debug)]
pub struct LyingAgent {
    to_backend: mpsc::Sender<v1::LinkRequest>,
    from_backend: Streaming<v1::LinkResponse>,
}

impl LyingAgent {
    /// Connects as this device, which enrolled and whose own agent does not run, and takes whatever
    /// policy it is sent. Its connection counter says `generation`.
    ///
    /// # Errors
    /// The backend does not take it.
    ///
    /// # Panics
    /// The device is not enrolled, or the backend breaks the protocol.
    pub async fn connect(device: &Device, address: &str, generation: u64) -> Result<Self, Status> {
        Self::greet(device, address, hello(device, generation)).await
    }

    /// The same, saying of itself what the test wants it to.
    ///
    /// # Errors
    /// The backend does not take it.
    ///
    /// # Panics
    /// As [`LyingAgent::connect`].
    pub async fn greet(device: &Device, address: &str, hello: v1::Hello) -> Result<Self, Status> {
        let identity = Identity::read(&device.state_dir()).unwrap().expect("the device enrolled");
        let mut client = connect(address, identity.tls().unwrap())
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        let (to_backend, outgoing) = mpsc::channel(16);
        to_backend.send(request(link_request::Message::Hello(hello))).await.unwrap();
        let from_backend = client.link(ReceiverStream::new(outgoing)).await?.into_inner();
        let mut agent = Self { to_backend, from_backend };
        match agent.hear().await? {
            Some(link_response::Message::Welcome(_)) => {}
            other => panic!("instead of a welcome: {other:?}"),
        }
        match agent.hear().await? {
            Some(link_response::Message::PolicyUpdate(v1::PolicyUpdate { version, policy: _ })) => {
                let ack = v1::PolicyAck { version, ..v1::PolicyAck::default() };
                agent.say(link_request::Message::PolicyAck(ack)).await;
            }
            other => panic!("instead of a policy: {other:?}"),
        }
        Ok(agent)
    }

    /// Says anything.
    ///
    /// # Panics
    /// The backend has ended the stream.
    pub async fn say(&self, message: link_request::Message) {
        self.to_backend.send(request(message)).await.expect("the backend listens");
    }

    /// Where to put what is said beside what is heard, one message after the other.
    #[must_use]
    pub fn voice(&self) -> mpsc::Sender<v1::LinkRequest> {
        self.to_backend.clone()
    }

    /// The next thing that the backend says; none where it ended the stream.
    ///
    /// # Errors
    /// How the backend ended the stream.
    ///
    /// # Panics
    /// It neither says anything nor ends the stream.
    pub async fn hear(&mut self) -> Result<Option<link_response::Message>, Status> {
        let heard = tokio::time::timeout(PATIENCE, self.from_backend.message()).await;
        Ok(heard.expect("the backend says something")?.and_then(|heard| heard.message))
    }

    /// Waits for a call.
    ///
    /// # Panics
    /// None comes.
    pub async fn order(&mut self) -> v1::Dispatch {
        loop {
            match self.hear().await {
                Ok(Some(link_response::Message::Dispatch(order))) => return order,
                Ok(Some(_)) => {}
                ended => panic!("instead of a call: {ended:?}"),
            }
        }
    }

    /// Waits until the backend says that a result is on the record.
    ///
    /// # Panics
    /// It does not.
    pub async fn acknowledged(&mut self, call_id: &str) {
        loop {
            match self.hear().await {
                Ok(Some(link_response::Message::ResultAck(ack))) if ack.call_id == call_id => {
                    return;
                }
                Ok(Some(_)) => {}
                ended => panic!("instead of an acknowledgement: {ended:?}"),
            }
        }
    }
}

fn request(message: link_request::Message) -> v1::LinkRequest {
    v1::LinkRequest { message: Some(message) }
}

/// What a device says of itself that lends its folder.
#[must_use]
pub fn hello(device: &Device, generation: u64) -> v1::Hello {
    let files = device.files().display().to_string();
    v1::Hello {
        protocol_major: PROTOCOL.major,
        protocol_minor: PROTOCOL.minor,
        agent_version: "0.0.0".to_owned(),
        facts: Some(v1::DeviceFacts {
            os: "linux".to_owned(),
            os_version: "6".to_owned(),
            hostname: "somewhere".to_owned(),
            home: "/root".to_owned(),
            workspace: files.clone(),
            arch: "x86_64".to_owned(),
            sandbox: "none".to_owned(),
        }),
        ceiling: serde_json::json!({"profile": "operator", "paths": [files]}).to_string().into(),
        tools: Vec::new(),
        generation,
        unfinished_calls: Vec::new(),
        ..v1::Hello::default()
    }
}
