//! Under which names people reach this port. A page of another site can have its own name lead here (DNS rebinding), so
//! requests to other names are refused.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri};

use crate::config::PeopleConfig;

/// What a request to another name is answered.
pub(super) const UNKNOWN_NAME: &str = "This name is not known to be of this backend. Use its IP address, or add the name to `names` of [people] in orion-server.toml.";

/// The names of this port.
#[derive(Debug, Clone)]
pub struct PublicAddress(Arc<Names>);

#[derive(Debug)]
struct Names {
    scheme: &'static str,
    names: Vec<String>,
}

/// The address of this backend that a request was sent to, such as `http://127.0.0.1:7080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnAddress(String);

/// Returns the names of the port of people on a machine of this name.
#[must_use]
pub fn public_address(people: &PeopleConfig, hostname: Option<String>) -> PublicAddress {
    let is_encrypted = people.tls.is_some() || people.key.is_some();
    let scheme = if is_encrypted { "https" } else { "http" };
    let names = people.names.iter().cloned().chain(hostname);
    let names = names.map(|name| name.to_ascii_lowercase()).collect();
    PublicAddress(Arc::new(Names { scheme, names }))
}

impl PublicAddress {
    /// Returns the address that a request was sent to. `None` for a name that is not of this machine: an address of
    /// numbers and `localhost` are, for no name server decides where they lead.
    pub(super) fn of(&self, uri: &Uri, headers: &HeaderMap) -> Option<OwnAddress> {
        let header = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse().ok());
        let authority: Authority = uri.authority().cloned().or(header)?;
        let host = authority.host().to_ascii_lowercase();
        let number = host.trim_start_matches('[').trim_end_matches(']');
        let is_known =
            number.parse::<IpAddr>().is_ok() || host == "localhost" || self.0.names.contains(&host);
        let scheme = self.0.scheme;
        // As a browser writes an origin: without the port that the scheme has anyway.
        let usual = if scheme == "https" { 443 } else { 80 };
        let port = authority.port().map(|port| format!(":{port}")).unwrap_or_default();
        let shown = if authority.port_u16() == Some(usual) { "" } else { &port };
        (is_known && authority.as_str().len() == host.len() + port.len())
            .then(|| OwnAddress(format!("{scheme}://{host}{shown}")))
    }
}

impl OwnAddress {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a request comes from no page, or from one of this address. Where the backend has TLS, its page
    /// has it too: whoever is on the way could have written another one. Where it has none, a proxy may have.
    pub(super) fn admits(&self, headers: &HeaderMap) -> bool {
        let proxied = self.0.strip_prefix("http://").map(|rest| format!("https://{rest}"));
        let is_own = |origin: &HeaderValue| {
            let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
            origin == self.0 || Some(origin) == proxied
        };
        headers.get_all(ORIGIN).iter().all(is_own)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns the address of a request to this host, on a backend without TLS.
    pub(in crate::http) fn address_of(host: &str) -> Option<OwnAddress> {
        let people =
            PeopleConfig { names: vec!["Orion.example".to_owned()], ..PeopleConfig::default() };
        let headers = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
        public_address(&people, None).of(&Uri::from_static("/mcp"), &headers)
    }

    #[test]
    fn numbers_and_own_names_are_known_and_no_other() {
        for (host, address) in [
            ("127.0.0.1:7080", Some("http://127.0.0.1:7080")),
            ("[::1]:7080", Some("http://[::1]:7080")),
            ("localhost", Some("http://localhost")),
            ("localhost:80", Some("http://localhost")),
            ("localhost:443", Some("http://localhost:443")),
            ("ORION.example", Some("http://orion.example")),
            ("orion.example.evil.test", None),
            ("evil.test:7080", None),
            ("user@127.0.0.1", None),
            ("127.0.0.1.evil.test", None),
            ("a\"b", None),
        ] {
            let found = address_of(host);
            assert_eq!(found.as_ref().map(OwnAddress::as_str), address, "{host}");
        }
        let names = public_address(&PeopleConfig::default(), None);
        assert_eq!(names.of(&Uri::from_static("/mcp"), &HeaderMap::new()), None);
        let uri = Uri::from_static("http://evil.test:7080/");
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost"))]);
        assert_eq!(names.of(&uri, &headers), None, "the address of the request itself counts");
    }

    #[test]
    fn only_pages_of_this_address_are_admitted_and_with_tls_only_encrypted_ones() {
        let tls = PeopleConfig { key: Some("key.pem".into()), ..PeopleConfig::default() };
        let (plain, tls) =
            (public_address(&PeopleConfig::default(), None), public_address(&tls, None));
        let uri = Uri::from_static("/");
        for (host, origins, without_tls, with_tls) in [
            ("localhost:7080", &[][..], true, true),
            ("localhost:7080", &["http://localhost:7080"], true, false),
            ("localhost:7080", &["https://localhost:7080"], true, true),
            ("localhost:80", &["http://LOCALHOST"], true, false),
            ("localhost:443", &["https://localhost"], false, true),
            ("localhost:7080", &["http://localhost"], false, false),
            ("localhost:7080", &["null"], false, false),
            ("localhost:7080", &["localhost:7080"], false, false),
            ("localhost:7080", &["https://localhost:7080", "http://evil.test"], false, false),
        ] {
            let mut headers = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
            for origin in origins {
                headers.append(ORIGIN, HeaderValue::from_static(origin));
            }
            let admitted = [&plain, &tls].map(|it| it.of(&uri, &headers).unwrap().admits(&headers));
            assert_eq!(admitted, [without_tls, with_tls], "{host} {origins:?}");
        }
    }
}
