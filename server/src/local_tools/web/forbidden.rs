//! Which hosts and IP addresses no call reaches unless they are granted. Of IPv6, only what is known to be public
//! is reachable.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ranges of IPv4 that are not public, from IANA's registry of special-purpose addresses, with why.
const IPV4: [(Ipv4Addr, u32, &str); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an address of this host"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "a carrier's private address"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "a metadata address"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "an address for documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "a reserved address"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "an address of a relay to IPv6"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "an address for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "an address for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "an address for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 3, "a multicast or reserved address"),
];

/// Ranges inside the global unicast addresses of IPv6 (2000::/3) that are not public, with why.
const IPV6: [(Ipv6Addr, u32, &str); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "a reserved address, such as of Teredo"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "an address for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "an address of 6to4"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "an address for documentation"),
];

/// Names that lead to the machine itself or to metadata in a cloud.
const NAMES: [&str; 4] =
    ["localhost", "metadata.google.internal", "metadata.packet.net", "metadata.goog"];

/// Ends of names that are not public, from IANA's registry of special-use names, and `internal`.
const ENDS: [&str; 10] = [
    ".alt",
    ".arpa",
    ".home",
    ".internal",
    ".intranet",
    ".lan",
    ".local",
    ".localdomain",
    ".localhost",
    ".onion",
];

/// Returns why an IP address is not requested. None for a public one.
pub(super) fn address(ip: IpAddr) -> Option<&'static str> {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            let found = IPV4.iter().find(|(network, bits, _)| {
                ip.to_bits().checked_shr(32 - bits) == network.to_bits().checked_shr(32 - bits)
            });
            found.map(|(.., why)| *why)
        }
        IpAddr::V6(ip) => {
            if ip.to_bits() >> 125 != 1 {
                return Some(outside_unicast(ip));
            }
            let found = IPV6.iter().find(|(network, bits, _)| {
                ip.to_bits() >> (128 - bits) == network.to_bits() >> (128 - bits)
            });
            found.map(|(.., why)| *why)
        }
    }
}

fn outside_unicast(ip: Ipv6Addr) -> &'static str {
    match ip.segments() {
        _ if ip.is_loopback() => "a loopback address",
        _ if ip.is_unspecified() => "an address of this host",
        [0x64, 0xff9b, ..] => "an address of NAT64",
        [first, ..] if first & 0xfe00 == 0xfc00 => "a private address",
        [first, ..] if first & 0xffc0 == 0xfe80 => "a link-local address",
        [first, ..] if first & 0xffc0 == 0xfec0 => "a site-local address",
        [first, ..] if first & 0xff00 == 0xff00 => "a multicast address",
        _ => "a reserved address",
    }
}

/// Returns why an address is not requested although a granted name leads to it: a name may lead to a private
/// address, and not to one that only its own machine or its link means.
pub(super) fn address_of_granted_name(ip: IpAddr) -> Option<&'static str> {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            let is_lent = ip.is_private() || ip.is_loopback() || (ip.to_bits() >> 22) == 0x0191;
            address(IpAddr::V4(ip)).filter(|_| !is_lent)
        }
        IpAddr::V6(ip) => {
            let is_metadata = ip.segments().starts_with(&[0xfd00, 0xec2]);
            let is_lent = (ip.is_unique_local() && !is_metadata) || ip.is_loopback();
            address(IpAddr::V6(ip)).filter(|_| !is_lent)
        }
    }
}

/// Returns why a name is not even looked up. None for one that may be public.
pub(super) fn name(host: &str) -> Option<&'static str> {
    if NAMES.contains(&host) {
        return Some("its name leads to this machine or to metadata");
    }
    if !host.contains('.') {
        return Some("a name without a dot is of a private network");
    }
    ENDS.iter().any(|end| host.ends_with(end)).then_some("its name is of a private network")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn only_public_addresses_are_requested() {
        for text in
            ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.32.0.1", "192.0.1.1"]
        {
            assert_eq!(address(ip(text)), None, "{text}");
        }
        for text in
            ["2606:4700::1111", "2a00::1", "2001:200::1", "2003::1", "3ffe::1", "::ffff:1.1.1.1"]
        {
            assert_eq!(address(ip(text)), None, "{text}");
        }
        for text in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.1",
            "100.64.0.0",
            "100.127.255.255",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::1.1.1.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::1.1.1.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:7f00:1::",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::",
            "3fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(address(ip(text)).is_some(), "{text}");
        }
    }

    #[test]
    fn a_granted_name_leads_to_private_addresses_and_to_no_metadata() {
        for text in
            ["10.0.0.1", "192.168.1.1", "127.0.0.1", "100.64.1.1", "fd12::1", "::1", "1.1.1.1"]
        {
            assert_eq!(address_of_granted_name(ip(text)), None, "{text}");
        }
        for text in
            ["169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1", "fd00:ec2::254", "168.63.129.16"]
        {
            assert!(address_of_granted_name(ip(text)).is_some(), "{text}");
        }
    }

    #[test]
    fn a_name_of_a_private_network_is_not_looked_up() {
        for host in
            ["example.com", "metadata.example.com", "localhost.example.com", "a.home.example"]
        {
            assert_eq!(name(host), None, "{host}");
        }
        for host in
            ["localhost", "a.localhost", "metadata", "ip6-localhost", "nas.local", "x.internal"]
        {
            assert!(name(host).is_some(), "{host}");
        }
    }
}
