//! The generated types of `proto/orion/v1`, and their conversions to the domain and back.
//!
//! A message is converted to a domain value once, whole, so that a new field breaks the build until
//! someone decides what it means. Generated types are named here and in the
//! backend's `rpc/`.

mod call;
mod dispatch;
mod error;
mod link;
mod timezone;
mod token;

pub use call::{
    call_request, call_state, call_state_from, risk, risk_from, risk_raise, risk_raise_from,
};
pub use dispatch::{DevicePolicy, Dispatched, MAX_OBSERVED_BYTES, approval_basis, observed_bytes};
pub use error::{
    CERTIFICATE_EXPIRED_METADATA, ERROR_METADATA, WireError, status_from, tool_error_from,
};
pub use link::{DeviceFacts, Os, PROTOCOL, ProtocolVersion, projects};
pub use prost::bytes::Bytes;
pub use timezone::{Timezone, UnknownTimezone};
pub use token::{EnrollmentToken, TokenError, is_address};

/// The maximum size of one message in bytes, both ways.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// HTTP/2's flow control window of a stream between device and backend, both ways, in bytes. A
/// connection has twice that, so that an unread stream does not block the others. Data in flight delays
/// a ping: on a link of 20 KB/s a full window takes less time than a ping's timeout.
pub const LINK_WINDOW: u32 = 64 * 1024;

/// The generated types.
#[expect(missing_docs, reason = "the comments in proto/ are the documentation")]
#[expect(
    clippy::large_enum_variant,
    reason = "a message is moved once, from the stream to its handler"
)]
#[expect(clippy::allow_attributes, reason = "generated code allows lints for itself")]
#[expect(clippy::allow_attributes_without_reason, reason = "generated code gives no reasons")]
pub mod v1 {
    tonic::include_proto!("orion.v1");

    /// The compiled descriptors, for reflection.
    pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/orion.v1.bin"));
}
