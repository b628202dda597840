//! Which devices may use a token, as an admin writes it.

use std::net::IpAddr;

use ipnet::IpNet;
use orion_domain::{ErrorCode, strip_hidden};
use tonic::Status;

use crate::downloads::Platform;
use crate::rpc::status;
use crate::store::InviteScope;

/// The maximum number of platforms and of networks of a token.
const MAX_ENTRIES: usize = 32;

/// Parses the platforms and networks of a token.
pub(super) fn scope(platforms: &[String], networks: &[String]) -> Result<InviteScope, Status> {
    if platforms.len().max(networks.len()) > MAX_ENTRIES {
        return Err(invalid(
            format!("a token has {MAX_ENTRIES} platforms and networks at most"),
            "write fewer, or wider networks",
        ));
    }
    let platform = |text: &String| match text.parse::<Platform>() {
        Ok(platform) => Ok(platform.to_string()),
        Err(error) => Err(invalid(
            format!("`{}` is no platform of devices", strip_hidden(text, 64)),
            error.to_string(),
        )),
    };
    Ok(InviteScope {
        platforms: platforms.iter().map(platform).collect::<Result<_, _>>()?,
        networks: networks.iter().map(|text| network(text)).collect::<Result<_, _>>()?,
        public_key: None,
    })
}

/// Parses a network, or one address.
fn network(text: &str) -> Result<IpNet, Status> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(address.to_canonical().into());
    }
    let shown = strip_hidden(text, 64);
    let network: IpNet = text.parse().map_err(|_| {
        invalid(format!("`{shown}` is no network"), "write one as 10.0.0.0/8 or 192.168.1.5")
    })?;
    // Addresses are compared as IPv4 where they are, so that such a network would let nobody in.
    if let IpNet::V6(mapped) = network
        && mapped.addr().to_ipv4_mapped().is_some()
    {
        return Err(invalid(
            format!("`{shown}` is a network of IPv4 in the form of IPv6"),
            "write it in the form of IPv4, as 10.0.0.0/8",
        ));
    }
    // Bits that do not count may be a mistake in the length, which would let more devices in.
    if network.trunc() != network {
        let hint =
            format!("write {}, or {} for this address alone", network.trunc(), network.addr());
        return Err(invalid(format!("`{shown}` is not the beginning of a network"), hint));
    }
    Ok(network)
}

fn invalid(message: String, hint: impl Into<String>) -> Status {
    status::hinted(ErrorCode::InvalidArgument, message, hint.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_whole_and_a_platform_known() {
        let read = |text: &str| network(text).map(|it| it.to_string());
        assert_eq!(read("10.0.0.0/8").unwrap(), "10.0.0.0/8");
        assert_eq!(read("192.168.1.5").unwrap(), "192.168.1.5/32");
        assert_eq!(read("::ffff:192.168.1.5").unwrap(), "192.168.1.5/32");
        assert_eq!(read("2001:db8::/32").unwrap(), "2001:db8::/32");
        for wrong in ["", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "lab", "10.0.0.0/8 "] {
            assert_eq!(read(wrong).unwrap_err().code(), tonic::Code::InvalidArgument, "{wrong}");
        }
        assert!(scope(&["linux-x86_64".to_owned()], &[]).is_ok());
        assert!(scope(&["linux".to_owned()], &[]).is_err());
        assert!(scope(&vec!["linux-x86_64".to_owned(); 33], &[]).is_err());
    }
}
