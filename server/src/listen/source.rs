//! The source of a request, as rate limits count it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use super::Peer;

/// The source of a request: a device or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// A device that showed its certificate.
    Device(String),
    /// An IPv4 address, or the /64 network of an IPv6 address.
    Address(IpAddr),
}

impl Source {
    /// Returns the source that a peer counts as.
    #[must_use]
    pub fn of(peer: &Peer) -> Self {
        if let Some(device) = &peer.device {
            return Self::Device(device.device_id.clone());
        }
        Self::of_address(peer.address.ip())
    }

    /// Returns the source of an address, whatever certificate was shown from there.
    #[must_use]
    pub fn of_address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            // A client with one IPv6 address usually controls the 64 bits below it as well.
            IpAddr::V6(address) if !address.is_loopback() => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64))
            }
            address @ (IpAddr::V4(_) | IpAddr::V6(_)) => address,
        })
    }

    /// Returns whether the source is the backend's own machine.
    #[must_use]
    pub fn is_here(&self) -> bool {
        match self {
            Self::Device(_) => false,
            Self::Address(address) => address.is_loopback(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(id) => write!(f, "device {id}"),
            Self::Address(IpAddr::V6(address)) if !address.is_loopback() => {
                write!(f, "{address}/64")
            }
            Self::Address(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(address: &str) -> Source {
        let address = (address.parse::<IpAddr>().unwrap(), 1).into();
        Source::of(&Peer { address, device: None, since: std::time::Instant::now() })
    }

    #[test]
    fn neighbours_in_ipv6_and_the_two_forms_of_ipv4_are_one_source() {
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
        assert_eq!(source("2001:db8::1").to_string(), "2001:db8::/64");
    }

    #[test]
    fn this_machine_is_known_by_its_loopback() {
        assert!(source("127.0.0.1").is_here() && source("::1").is_here());
        assert!(!source("192.0.2.1").is_here() && !source("::").is_here());
    }
}
