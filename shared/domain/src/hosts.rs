//! Extracts host and port from a URL, and rejects URLs that other programs may read differently.

// The value alone: it is parsed and compared, and nothing is contacted.
use core::net::IpAddr;
use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};

/// The longest name of a host, in bytes, as DNS has it.
const MAX_HOST_BYTES: usize = 253;

/// A host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// In lower case; an IPv6 address has no brackets.
    pub host: String,
    /// The written port, or the scheme's default.
    pub port: u16,
}

impl Address {
    /// Returns the address of a host, which is a name, or an IP address without brackets. `None` for a name
    /// that programs may read differently.
    #[must_use]
    pub fn new(host: &str, port: u16) -> Option<Self> {
        if let Ok(ip) = host.parse::<IpAddr>() {
            return (port > 0).then(|| Self { host: ip.to_canonical().to_string(), port });
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let fits = (1..=MAX_HOST_BYTES).contains(&host.len()) && host.bytes().all(is_plain);
        (fits && port > 0).then(|| Self { host: host.to_ascii_lowercase(), port })
    }

    /// Parses an address as grants write it: `nas.example:443`, `[::1]:8080`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| is_number)?;
        match host.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            Some(inside) => Self::new(inside, port).filter(|_| inside.contains(':')),
            None => Self::new(host, port).filter(|_| !host.contains(':')),
        }
    }

    /// Returns whether the host is the device itself: `localhost`, or a loopback address.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
    }

    fn is(&self, host: &str, port: u16) -> bool {
        let same_ip = || Some(host.parse::<IpAddr>().ok()? == self.host.parse::<IpAddr>().ok()?);
        port == self.port && (self.host.eq_ignore_ascii_case(host) || same_ip().unwrap_or_default())
    }
}

/// Serializes the address as grants write it.
impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Formats the address as grants write it.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// Returns the host and port of an `http` or `https` URL. `None` for other URLs, and where programs may
/// disagree on the host: a user before the host, a backslash, an escape, a letter outside ASCII.
#[must_use]
pub fn address_of(url: &str) -> Option<Address> {
    let (scheme, rest) = url.split_once("://")?;
    let own = match scheme.to_ascii_lowercase().as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = match authority.strip_prefix('[') {
        Some(inside) => {
            let (host, after) = inside.split_once(']')?;
            let is_ipv6 = host.contains(':')
                && host.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
            (
                Some(host).filter(|_| is_ipv6)?,
                after.strip_prefix(':').or(Some(after).filter(|it| it.is_empty()))?,
            )
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    if host.is_empty() || !host.bytes().all(is_plain) || !is_number {
        return None;
    }
    let port = if port.is_empty() { own } else { port.parse().ok()? };
    Some(Address { host: host.to_ascii_lowercase(), port })
}

/// Returns whether one of the entries, such as `api.example.com:443` or `[::1]:8080`, is the address.
pub(crate) fn lists(entries: &BTreeSet<String>, address: &Address) -> bool {
    entries.iter().filter_map(|entry| entry.rsplit_once(':')).any(|(listed, at)| {
        let listed = listed.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(listed);
        at.parse().is_ok_and(|at| address.is(listed, at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_one_host_and_port_or_none() {
        for (url, expected) in [
            ("https://api.example.com/v1?q=1", Some(("api.example.com", 443))),
            ("HTTP://API.example.com", Some(("api.example.com", 80))),
            ("http://192.168.1.10:3000/x", Some(("192.168.1.10", 3000))),
            ("http://[::1]:8080/", Some(("::1", 8080))),
            ("https://[::1]", Some(("::1", 443))),
            ("https://evil.com#@api.example.com", Some(("evil.com", 443))),
            ("https://api.example.com@evil.com/", None),
            ("https://api.example.com:443@evil.com/", None),
            ("https://evil.com\\@api.example.com/", None),
            ("https://api.example.com\\.evil.com/", None),
            ("https://api%2eexample.com/", None),
            ("https://аpi.example.com/", None),
            ("https://api.example.com:99999/", None),
            ("https://api.example.com:+443/", None),
            ("https://[::1].evil.com/", None),
            ("https://[evil.com]/", None),
            ("https://[cafe]/", None),
            ("https://[g::1]/", None),
            ("https:///x", None),
            ("https:x", None),
            ("ftp://api.example.com/", None),
        ] {
            let expected = expected.map(|(host, port)| Address { host: host.to_owned(), port });
            assert_eq!(address_of(url), expected, "{url}");
        }
    }

    #[test]
    fn an_entry_lists_its_host_at_its_port_alone() {
        let entries = ["API.example.com:443", "[::1]:8080"].map(str::to_owned).into();
        for (url, listed) in [
            ("https://api.example.com/", true),
            ("https://api.example.com:443/", true),
            ("http://api.example.com/", false),
            ("https://api.example.com:444/", false),
            ("https://sub.api.example.com/", false),
            ("http://[::1]:8080/", true),
        ] {
            let is_listed = address_of(url).is_some_and(|address| lists(&entries, &address));
            assert_eq!(is_listed, listed, "{url}");
        }
    }

    #[test]
    fn a_written_address_is_one_host_with_a_port_or_none() {
        for (text, expected) in [
            ("NAS.example:443", Some("nas.example:443")),
            ("192.168.1.10:22", Some("192.168.1.10:22")),
            ("[0:0:0:0:0:0:0:1]:80", Some("[::1]:80")),
            ("[::ffff:127.0.0.1]:80", Some("127.0.0.1:80")),
            ("127.1:80", Some("127.1:80")),
            ("nas.example", None),
            ("nas.example:", None),
            ("nas.example:0", None),
            ("nas.example:+80", None),
            ("nas.example:65536", None),
            (":80", None),
            ("::1:80", None),
            ("[nas.example]:80", None),
            ("[127.0.0.1]:80", None),
            ("[fe80::1%eth0]:80", None),
            ("ann@nas.example:80", None),
            ("n\u{430}s.example:80", None),
            ("nas.example/x:80", None),
            ("nas example:80", None),
        ] {
            let address = Address::parse(text);
            assert_eq!(address.map(|it| it.to_string()).as_deref(), expected, "{text}");
        }
        assert_eq!(Address::new(&"a".repeat(MAX_HOST_BYTES + 1), 80), None);
        for (text, loopback) in [
            ("LOCALHOST:1", true),
            ("127.9.9.9:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("[::1]:1", true),
            ("localhost.:1", false),
            ("localhost.example:1", false),
            ("127.1:1", false),
            ("0.0.0.0:1", false),
        ] {
            assert_eq!(Address::parse(text).unwrap().is_loopback(), loopback, "{text}");
        }
    }
}
