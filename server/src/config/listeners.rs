//! `[people]` and `[devices]`: the two ports.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where the certificate for people comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeopleTls {
    /// From an authority that Orion makes for this backend's people.
    Own,
}

/// `[people]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PeopleConfig {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Turns TLS on with a certificate that Orion makes and renews.
    pub tls: Option<PeopleTls>,
    /// Further names and addresses for that certificate.
    pub names: Vec<String>,
    /// The lifetime of that certificate, in seconds.
    pub certificate_seconds: u32,
    /// PEM file with the certificate chain; together with `key` turns TLS on.
    pub certificate: Option<PathBuf>,
    /// PEM file with the private key.
    pub key: Option<PathBuf>,
    /// Whether to listen without TLS on an address that others can reach.
    pub insecure: bool,
    /// The most connections of one address on which nobody has signed in.
    pub max_connections_per_address: u32,
}

impl Default for PeopleConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7080),
            tls: None,
            names: Vec::new(),
            certificate_seconds: 90 * 86_400,
            certificate: None,
            key: None,
            insecure: false,
            max_connections_per_address: 128,
        }
    }
}

/// `[devices]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Devices {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The addresses that enrolment tokens give to devices, `host:port`. The listening address if empty.
    pub addresses: Vec<String>,
    /// The lifetime of a device's certificate, in seconds.
    pub certificate_seconds: u32,
    /// For how many days after its end a device may renew its certificate.
    pub renew_within_days: u32,
    /// How long the code of a device that asks to be enrolled is good, in seconds. 0 turns codes off.
    pub enrollment_code_seconds: u32,
    /// The most connections of one address that have not shown a certificate yet.
    pub max_connections_per_address: u32,
}

impl Default for Devices {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 7443),
            addresses: Vec::new(),
            certificate_seconds: 24 * 3600,
            renew_within_days: 90,
            enrollment_code_seconds: 600,
            max_connections_per_address: 256,
        }
    }
}
