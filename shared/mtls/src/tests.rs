//! Both ends together: real handshakes, with peers that lie.

mod authority;
mod devices;
mod pinning;
mod protocol;
mod support;
