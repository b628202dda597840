//! The events of the agent's loop, which handles one at a time.

use orion_wire::v1;
use tokio::sync::mpsc::OwnedPermit;

use super::consent::ConsentEvent;
use crate::apps::Apps;
use crate::config::Settings;
use crate::connect::renew::Renewed;
use crate::connect::{ConnectError, Link};
use crate::custom::{Manifests, ServerTools};
use crate::execute::CallEvent;

/// An event of the agent's loop.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few wait at once; boxes would cost each call")]
pub enum Event {
    /// A connection attempt succeeded or failed.
    Connected(Result<Box<Link>, ConnectError>),
    /// A message arrived from the backend.
    Received {
        /// Number of the connection. Messages of a connection that ended are ignored.
        link: u64,
        /// The message.
        message: v1::link_response::Message,
    },
    /// A connection ended.
    Lost {
        /// Number of the connection.
        link: u64,
        /// The reason.
        why: ConnectError,
    },
    /// There is room to send on the connection.
    Writable(OwnedPermit<v1::LinkRequest>),
    /// A call started, reports progress, or ended.
    Call(CallEvent),
    /// A certificate renewal succeeded or failed.
    Renewed(Result<Renewed, ConnectError>),
    /// A device whose certificate had expired got a new one, or got none.
    RenewedExpired(Result<Renewed, ConnectError>),
    /// The owner's file changed.
    Owner(OwnerCeiling),
    /// The owner paused or resumed the device.
    Pause,
    /// Something happened to a call that waits for the person at the device.
    Consent(ConsentEvent),
    /// Somebody watches at the device.
    Watched,
    /// The manifests of the owner were read, or changed.
    Manifests(Manifests),
    /// What the MCP servers of the owner offer was looked at.
    ServerTools(ServerTools),
    /// The granted paths are open, and the policy that grants them is stored.
    Opened {
        /// Policy entries that do not match this device.
        found: Vec<v1::PolicyFinding>,
    },
    /// More entries of the device's own audit log are on disk.
    Noted,
    /// A timer expired.
    Due,
    /// The agent must stop.
    Shutdown,
}

impl From<ServerTools> for Event {
    fn from(tools: ServerTools) -> Self {
        Self::ServerTools(tools)
    }
}

impl From<Manifests> for Event {
    fn from(manifests: Manifests) -> Self {
        Self::Manifests(manifests)
    }
}

impl From<CallEvent> for Event {
    fn from(event: CallEvent) -> Self {
        Self::Call(event)
    }
}

/// The content of the owner's file.
#[derive(Debug)]
pub enum OwnerCeiling {
    /// Valid settings, and the applications that they name.
    Settings(Box<Settings>, Apps),
    /// The file is invalid, for this reason.
    Faulty(String),
    /// The file is missing.
    Gone,
}
