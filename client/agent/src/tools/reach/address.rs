//! Which IP addresses a tool contacts.

use std::net::IpAddr;

/// Returns whether no tool contacts this address. A granted name may lead into a private network, but neither
/// to the device itself nor to its link, where cloud providers hand out credentials. An address that the
/// grants name themselves (`is_written`) was meant, unless it is no address of one host.
pub(super) fn is_forbidden(ip: IpAddr, is_written: bool) -> bool {
    let ip = ip.to_canonical();
    let is_no_host = ip.is_unspecified() || ip.is_multicast();
    match ip {
        IpAddr::V4(ip) => {
            let [first, ..] = ip.octets();
            is_no_host
                || first == 0
                || first >= 240
                || (!is_written && (ip.is_loopback() || ip.is_link_local()))
        }
        IpAddr::V6(ip) => {
            let [first, second, ..] = ip.segments();
            // 6to4, NAT64, Teredo and the deprecated forms hold an IPv4 address, which may be anything.
            let holds_ipv4 = first == 0x2002
                || (first == 0x0064 && second == 0xff9b)
                || (first == 0x2001 && second == 0)
                || (!ip.is_loopback() && ip.segments().iter().take(6).all(|it| *it == 0));
            is_no_host
                || (!is_written && (holds_ipv4 || ip.is_loopback() || ip.is_unicast_link_local()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_neither_to_the_device_itself_nor_to_its_link() {
        for (ip, by_name, written) in [
            ("192.168.1.10", false, false),
            ("10.0.0.1", false, false),
            ("203.0.113.7", false, false),
            ("2001:db8::1", false, false),
            ("fd00::1", false, false),
            ("127.0.0.1", true, false),
            ("::1", true, false),
            ("::ffff:127.0.0.1", true, false),
            ("169.254.169.254", true, false),
            ("::ffff:169.254.169.254", true, false),
            ("fe80::1", true, false),
            ("64:ff9b::a9fe:a9fe", true, false),
            ("2002:7f00:1::", true, false),
            ("2001:0:1::1", true, false),
            ("::7f00:1", true, false),
            ("0.0.0.0", true, true),
            ("0.1.2.3", true, true),
            ("::", true, true),
            ("224.0.0.1", true, true),
            ("255.255.255.255", true, true),
            ("ff02::1", true, true),
        ] {
            let parsed: IpAddr = ip.parse().unwrap();
            let is = [false, true].map(|is_written| is_forbidden(parsed, is_written));
            assert_eq!(is, [by_name, written], "{ip}");
        }
    }
}
