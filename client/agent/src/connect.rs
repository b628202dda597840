//! The connection to the backend: dialled by the device, over mutual TLS, one stream for as long as
//! it lasts. What is said on it is for the loop to judge.

pub mod backoff;
pub mod dial;
mod error;
pub mod link;
pub mod renew;
mod watched;

pub use error::{ConnectError, printable};
pub use link::{BackendHello, Link};
