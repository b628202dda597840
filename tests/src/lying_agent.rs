//! A misbehaving device: the identity of a really enrolled device, the real protocol, and any messages
//! that a test sends.

use orion_agent::state::Identity;
use orion_wire::v1::agent_service_client::AgentServiceClient;
use orion_wire::v1::content_service_client::ContentServiceClient;
use orion_wire::v1::{link_request, link_response};
use orion_wire::{PROTOCOL, v1};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::dial::channel;
use crate::eventually::PATIENCE;
use crate::world::Device;

/// A misbehaving device.
#[derive(Debug)]
pub struct LyingAgent {
    channel: Channel,
    to_backend: mpsc::Sender<v1::LinkRequest>,
    from_backend: Streaming<v1::LinkResponse>,
}

impl LyingAgent {
    /// Connects as this enrolled device, whose own agent does not run, and accepts any policy. Its
    /// connection counter is `generation`.
    ///
    /// # Errors
    /// The backend rejects it.
    ///
    /// # Panics
    /// The device is not enrolled, or the backend breaks the protocol.
    pub async fn connect(device: &Device, address: &str, generation: u64) -> Result<Self, Status> {
        Self::greet(device, address, hello(device, generation)).await
    }

    /// Connects with the hello that the test provides.
    ///
    /// # Errors
    /// The backend rejects it.
    ///
    /// # Panics
    /// As [`LyingAgent::connect`].
    pub async fn greet(device: &Device, address: &str, hello: v1::Hello) -> Result<Self, Status> {
        let identity = Identity::read(&device.state_dir()).unwrap().expect("the device enrolled");
        let channel = channel(address, identity.tls().unwrap())
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        let mut client = AgentServiceClient::new(channel.clone());
        let (to_backend, outgoing) = mpsc::channel(16);
        to_backend.send(request(link_request::Message::Hello(hello))).await.unwrap();
        let from_backend = client.link(ReceiverStream::new(outgoing)).await?.into_inner();
        let mut agent = Self { channel, to_backend, from_backend };
        match agent.receive().await? {
            Some(link_response::Message::Welcome(_)) => {}
            other => panic!("instead of a welcome: {other:?}"),
        }
        match agent.receive().await? {
            Some(link_response::Message::PolicyUpdate(v1::PolicyUpdate { version, policy: _ })) => {
                let ack = v1::PolicyAck { version, ..v1::PolicyAck::default() };
                agent.say(link_request::Message::PolicyAck(ack)).await;
            }
            other => panic!("instead of a policy: {other:?}"),
        }
        Ok(agent)
    }

    /// Sends any message.
    ///
    /// # Panics
    /// The backend has ended the stream.
    pub async fn say(&self, message: link_request::Message) {
        self.to_backend.send(request(message)).await.expect("the backend listens");
    }

    /// Returns the sender of its messages, for sending while it receives.
    #[must_use]
    pub fn voice(&self) -> mpsc::Sender<v1::LinkRequest> {
        self.to_backend.clone()
    }

    /// Opens a stream for the content of a call.
    ///
    /// # Errors
    /// The backend rejects it.
    ///
    /// # Panics
    /// Never: the queue is new.
    pub async fn open_content(
        &self,
        call_id: &str,
    ) -> Result<(mpsc::Sender<v1::MoveContentRequest>, Streaming<v1::MoveContentResponse>), Status>
    {
        let (answers, outgoing) = mpsc::channel(1);
        let opened = v1::ContentOpened { call_id: call_id.to_owned() };
        let message = Some(v1::move_content_request::Message::Opened(opened));
        answers.send(v1::MoveContentRequest { number: 0, message }).await.unwrap();
        let mut client = ContentServiceClient::new(self.channel.clone());
        let requests = client.move_content(ReceiverStream::new(outgoing)).await?.into_inner();
        Ok((answers, requests))
    }

    /// Returns the next message of the backend; `None` where it ended the stream.
    ///
    /// # Errors
    /// The status with which the backend ended the stream.
    ///
    /// # Panics
    /// The backend neither sends anything nor ends the stream.
    pub async fn receive(&mut self) -> Result<Option<link_response::Message>, Status> {
        let received = tokio::time::timeout(PATIENCE, self.from_backend.message()).await;
        Ok(received.expect("the backend says something")?.and_then(|received| received.message))
    }

    /// Waits for a call.
    ///
    /// # Panics
    /// There is none.
    pub async fn order(&mut self) -> v1::Dispatch {
        loop {
            match self.receive().await {
                Ok(Some(link_response::Message::Dispatch(order))) => return order,
                Ok(Some(_)) => {}
                ended => panic!("instead of a call: {ended:?}"),
            }
        }
    }

    /// Waits until the backend acknowledges that a result is in the database.
    ///
    /// # Panics
    /// It does not.
    pub async fn acknowledged(&mut self, call_id: &str) {
        loop {
            match self.receive().await {
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

/// Returns the hello of a device that grants its folder.
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
            ..v1::DeviceFacts::default()
        }),
        ceiling: serde_json::json!({"profile": "operator", "paths": [files]}).to_string().into(),
        tools: Vec::new(),
        generation,
        unfinished_calls: Vec::new(),
        ..v1::Hello::default()
    }
}
