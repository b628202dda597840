//! Extracts host and port from a URL, and rejects URLs that other programs may read differently.

use std::collections::BTreeSet;
use std::fmt;

/// A host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// In lower case; an IPv6 address has no brackets.
    pub host: String,
    /// The written port, or the scheme's default.
    pub port: u16,
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

/// Returns whether one of the entries, such as `api.example.com:443` or `[::1]:8080`, matches the URL.
pub(super) fn lists(entries: &BTreeSet<String>, url: &str) -> bool {
    let Some(Address { host, port }) = address_of(url) else { return false };
    entries.iter().filter_map(|entry| entry.rsplit_once(':')).any(|(listed, at)| {
        let listed = listed.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(listed);
        listed.eq_ignore_ascii_case(&host) && at.parse() == Ok(port)
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
            assert_eq!(lists(&entries, url), listed, "{url}");
        }
    }
}
