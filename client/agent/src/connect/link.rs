//! The stream: sends `Hello`, receives `Welcome`, then carries messages between the backend and the loop.

use std::fmt;
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt as _, TryStreamExt as _};
use orion_domain::{DeviceId, DeviceName};
use orion_wire::v1::agent_service_client::AgentServiceClient;
use orion_wire::v1::link_request::Message as Outgoing;
use orion_wire::v1::link_response::Message as Incoming;
use orion_wire::{MAX_MESSAGE_BYTES, PROTOCOL, ProtocolVersion, v1};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::transport::Channel;

use super::ConnectError;
use super::dial::Dialled;
use super::error::printable;

/// How long the backend may take for its `Welcome`.
const GREETING_TIMEOUT: Duration = Duration::from_secs(15);
/// Outgoing messages that may wait.
const OUT_QUEUE: usize = 64;

/// The next message of a backend, or the reason why the stream ended.
type FromBackend = Result<v1::LinkResponse, Status>;

/// A stream after `Hello` and `Welcome`.
pub struct Link {
    /// The backend's `Welcome`.
    pub greeting: BackendHello,
    /// Messages to the backend.
    pub out: mpsc::Sender<v1::LinkRequest>,
    /// The client for other RPCs on the same connection.
    pub client: AgentServiceClient<Channel>,
    incoming: BoxStream<'static, FromBackend>,
    dialled: Dialled,
}

/// A checked `Welcome`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendHello {
    /// The backend's version, for people.
    pub server_version: String,
    /// This device's name at the backend.
    pub name: DeviceName,
    /// How long to wait before reconnecting after a loss.
    pub reconnect: Duration,
    /// The head of the backend's audit log. None if the backend does not send it.
    pub audit: Option<v1::ChainHead>,
}

impl BackendHello {
    /// Checks a `Welcome` for `device`.
    ///
    /// # Errors
    /// [`ConnectError::Protocol`] for an incompatible version, another device, or an invalid name.
    pub fn read(welcome: v1::Welcome, device: DeviceId) -> Result<Self, ConnectError> {
        let v1::Welcome {
            protocol_major,
            protocol_minor,
            server_version,
            device_name,
            device_id,
            reconnect_ms,
            audit,
        } = welcome;
        let theirs = ProtocolVersion { major: protocol_major, minor: protocol_minor };
        if !PROTOCOL.works_with(theirs) {
            return Err(ConnectError::Protocol(format!(
                "it speaks version {theirs} of the protocol and this agent {PROTOCOL}; bring the older one up to date"
            )));
        }
        if device_id.parse() != Ok(device) {
            return Err(ConnectError::Protocol("it takes this device for another".to_owned()));
        }
        let name = device_name
            .parse()
            .map_err(|_| ConnectError::Protocol("its name for this device is none".to_owned()))?;
        Ok(Self {
            server_version: printable(&server_version),
            name,
            reconnect: Duration::from_millis(reconnect_ms),
            audit,
        })
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("greeting", &self.greeting).finish_non_exhaustive()
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("dialled", &self.dialled).finish_non_exhaustive()
    }
}

impl Link {
    /// Opens the stream, sends `hello` and waits for the `Welcome`.
    ///
    /// # Errors
    /// [`ConnectError`] when the backend refuses, is too slow, or sends another message first.
    pub async fn open(
        dialled: Dialled,
        hello: v1::Hello,
        device: DeviceId,
    ) -> Result<Self, ConnectError> {
        let stream = |mut client: AgentServiceClient<Channel>, queue| async move {
            client.link(queue).await.map(|response| response.into_inner().boxed())
        };
        Self::open_by(dialled, hello, device, stream).await
    }

    /// Does the same on the stream that `stream` opens; `stream` gets the queue of outgoing messages.
    #[doc(hidden)]
    pub async fn open_by<S>(
        dialled: Dialled,
        hello: v1::Hello,
        device: DeviceId,
        stream: impl FnOnce(AgentServiceClient<Channel>, ReceiverStream<v1::LinkRequest>) -> S,
    ) -> Result<Self, ConnectError>
    where
        S: Future<Output = Result<BoxStream<'static, FromBackend>, Status>>,
    {
        let client = AgentServiceClient::new(dialled.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let (out, queue) = mpsc::channel(OUT_QUEUE);
        let hello = v1::LinkRequest { message: Some(Outgoing::Hello(hello)) };
        // The queue is new and has room.
        drop(out.try_send(hello));
        let address = dialled.address.clone();
        let greeted = async {
            let mut incoming = stream(client.clone(), ReceiverStream::new(queue))
                .await
                .map_err(|status| dialled.error(&status))?;
            let first = incoming.try_next().await.map_err(|status| dialled.error(&status))?;
            match first.and_then(|response| response.message) {
                Some(Incoming::Welcome(welcome)) => {
                    Ok((BackendHello::read(welcome, device)?, incoming))
                }
                Some(
                    Incoming::PolicyUpdate(_)
                    | Incoming::Dispatch(_)
                    | Incoming::CancelCall(_)
                    | Incoming::CallQuery(_)
                    | Incoming::ResultAck(_)
                    | Incoming::Drain(_)
                    | Incoming::CeilingAck(_)
                    | Incoming::RenewCertificate(_)
                    | Incoming::CustomToolsRefused(_),
                ) => Err(ConnectError::Protocol("it did not greet first".to_owned())),
                None => Err(ConnectError::Ended("the backend said nothing".to_owned())),
            }
        };
        let (greeting, incoming) = timeout(GREETING_TIMEOUT, greeted)
            .await
            .map_err(|_| ConnectError::TimedOut { address })??;
        Ok(Self { greeting, out, client, incoming, dialled })
    }

    /// Returns the address that was dialled, `host:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.dialled.address
    }

    /// Returns the channel of the connection, for streams beside this one.
    #[must_use]
    pub fn channel(&self) -> Channel {
        self.dialled.channel.clone()
    }

    /// Splits the link, so that the receiving half can be read elsewhere.
    #[must_use]
    pub fn split(self) -> (mpsc::Sender<v1::LinkRequest>, AgentServiceClient<Channel>, Reader) {
        let Self { greeting: _, out, client, incoming, dialled } = self;
        (out, client, Reader { incoming, dialled })
    }
}

/// The receiving half of a [`Link`].
pub struct Reader {
    incoming: BoxStream<'static, FromBackend>,
    dialled: Dialled,
}

impl Reader {
    /// Waits for the next message.
    ///
    /// # Errors
    /// The reason why the stream ended.
    pub async fn next(&mut self) -> Result<Incoming, ConnectError> {
        loop {
            match self.incoming.try_next().await {
                Ok(Some(v1::LinkResponse { message: Some(message) })) => return Ok(message),
                // An unknown message of a newer backend decodes to none, and is skipped.
                Ok(Some(v1::LinkResponse { message: None })) => {}
                Ok(None) => return Err(ConnectError::Ended("the backend closed it".to_owned())),
                Err(status) => return Err(self.dialled.error(&status)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn welcome() -> v1::Welcome {
        v1::Welcome {
            protocol_major: PROTOCOL.major,
            protocol_minor: PROTOCOL.minor + 1,
            server_version: "9.9.9\x1b".to_owned(),
            device_name: "web-1".to_owned(),
            device_id: Uuid::from_u128(7).to_string(),
            reconnect_ms: 250,
            audit: None,
        }
    }

    #[test]
    fn a_backend_one_minor_version_ahead_is_greeted_back() {
        let greeting = BackendHello::read(welcome(), DeviceId::new(Uuid::from_u128(7))).unwrap();
        let expected = BackendHello {
            server_version: "9.9.9".to_owned(),
            name: "web-1".parse().unwrap(),
            reconnect: Duration::from_millis(250),
            audit: None,
        };
        assert_eq!(greeting, expected);
    }

    #[test]
    fn a_greeting_that_is_not_for_this_device_or_this_version_ends_the_connection() {
        let device = DeviceId::new(Uuid::from_u128(7));
        type Change = fn(&mut v1::Welcome);
        let changes: [(Change, &str); 4] = [
            (|w| w.protocol_major += 1, "version 2.3"),
            (|w| w.protocol_minor += 1, "version 1.4"),
            (|w| w.device_id = Uuid::from_u128(8).to_string(), "for another"),
            (|w| w.device_name = "Not A Name".to_owned(), "name"),
        ];
        for (change, word) in changes {
            let mut welcome = welcome();
            change(&mut welcome);
            let error = BackendHello::read(welcome, device).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
