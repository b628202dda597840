//! Both ends together: real handshakes, with misbehaving peers.

mod authority;
mod devices;
mod pinning;
mod protocol;
mod support;
