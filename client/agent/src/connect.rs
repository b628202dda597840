//! The connection to the backend: dialled by the device over mutual TLS, with one stream for its whole
//! life. Messages are handled by the loop, not here.

pub mod backoff;
pub mod dial;
mod error;
pub mod link;
pub mod renew;
mod watched;

pub use error::{ConnectError, printable};
pub use link::{BackendHello, Link};
