//! The address of the page to which passkeys are bound. It comes from the configuration and never from a request, which
//! could name another page of this machine.

use std::net::IpAddr;

use orion_domain::Digest;
use reqwest::Url;

/// The page, as browsers name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RelyingParty {
    /// The page's origin, such as `https://orion.example`.
    pub(super) origin: String,
    /// The name to which passkeys are bound: the origin's host.
    pub(super) id: String,
}

impl RelyingParty {
    /// Returns the page at this address. None where browsers offer no passkeys: at an IP address, and without TLS
    /// elsewhere than on this machine.
    pub(super) fn at(address: &str) -> Option<Self> {
        let url = Url::parse(address).ok()?;
        let id = url.domain()?.to_owned();
        let is_here = id == "localhost";
        let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_here);
        is_safe.then(|| Self { origin: url.origin().ascii_serialization(), id })
    }

    /// Returns the page of a backend that listens at this address and has no other configured. An address of this
    /// machine alone is also `localhost`.
    pub(super) fn of_listener(address: &str) -> Option<Self> {
        let mut url = Url::parse(address).ok()?;
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']');
        if host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()) {
            url.set_host(Some("localhost")).ok()?;
        }
        Self::at(url.as_str())
    }

    /// Returns the hash of the name, as authenticators sign it.
    pub(super) fn hash(&self) -> Digest {
        Digest::of(self.id.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passkeys_need_a_name_and_tls_or_this_machine() {
        let at = |address: &str| RelyingParty::at(address).map(|it| (it.origin, it.id));
        let of = |address: &str| RelyingParty::of_listener(address).map(|it| (it.origin, it.id));
        let page = |origin: &str, id: &str| Some((origin.to_owned(), id.to_owned()));
        assert_eq!(at("https://Orion.Example/"), page("https://orion.example", "orion.example"));
        assert_eq!(
            at("https://orion.example:8443/x"),
            page("https://orion.example:8443", "orion.example")
        );
        assert_eq!(at("http://localhost:7080"), page("http://localhost:7080", "localhost"));
        for none in
            ["http://orion.example", "https://192.0.2.1", "http://127.0.0.1:7080", "orion", ""]
        {
            assert_eq!(at(none), None, "{none}");
        }
        assert_eq!(of("http://127.0.0.1:7080"), page("http://localhost:7080", "localhost"));
        assert_eq!(of("https://[::1]:7080"), page("https://localhost:7080", "localhost"));
        assert_eq!(of("http://192.0.2.1:7080"), None);
        assert_eq!(of("http://0.0.0.0:7080"), None);
        assert_eq!(of("https://orion.lab:7080"), page("https://orion.lab:7080", "orion.lab"));
    }
}
