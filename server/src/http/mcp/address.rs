//! Under which address a client reaches `/mcp`: names that anybody can point at this machine are refused, and clients
//! without a token learn how to get one.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Json;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use crate::config::PeopleConfig;

/// The names of this port.
#[derive(Debug, Clone)]
pub struct PublicAddress(Arc<Names>);

#[derive(Debug)]
struct Names {
    scheme: &'static str,
    names: Vec<String>,
}

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
    fn of(&self, uri: &Uri, headers: &HeaderMap) -> Option<String> {
        let header = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse().ok());
        let authority: Authority = uri.authority().cloned().or(header)?;
        let host = authority.host().to_ascii_lowercase();
        let number = host.trim_start_matches('[').trim_end_matches(']');
        let is_known =
            number.parse::<IpAddr>().is_ok() || host == "localhost" || self.0.names.contains(&host);
        let port = authority.port().map(|port| format!(":{port}")).unwrap_or_default();
        (is_known && authority.as_str().len() == host.len() + port.len())
            .then(|| format!("{}://{host}{port}", self.0.scheme))
    }
}

/// Returns whether a request comes from no page, or from one of this address.
fn is_own(address: &str, headers: &HeaderMap) -> bool {
    let authority = |url: &str| url.split_once("://").map(|(_, rest)| rest.to_ascii_lowercase());
    headers.get_all(ORIGIN).iter().all(|origin| {
        let origin = origin.to_str().ok().and_then(authority);
        origin.is_some() && origin == authority(address)
    })
}

fn address_of(request: &Request) -> Option<String> {
    let names = request.extensions().get::<PublicAddress>()?;
    names.of(request.uri(), request.headers())
}

/// Refuses requests to names that are not of this machine, for a page could have its name lead here, and requests of
/// pages of other sites.
pub(super) async fn own_pages_only(request: Request, next: Next) -> Response {
    let message = match address_of(&request) {
        Some(address) if is_own(&address, request.headers()) => return next.run(request).await,
        Some(_) => {
            "This request comes from a page of another site (its `Origin`), which may not use this backend."
        }
        None => {
            "This name is not known to be of this backend. Use its IP address, or add the name to `names` of [people] in orion-server.toml."
        }
    };
    let error = json!({"error": {"code": "PERMISSION_DENIED", "message": message}});
    (StatusCode::FORBIDDEN, Json(error)).into_response()
}

/// `GET /.well-known/oauth-protected-resource`: where tokens are sent. Tokens come from `orion tokens create`; there
/// is no authorization server to name.
pub(super) async fn metadata(request: Request) -> Response {
    let address = address_of(&request).unwrap_or_default();
    let metadata = json!({
        "resource": format!("{address}/mcp"),
        "resource_name": "Orion",
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["call", "read"],
    });
    let mut response = Json(metadata).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns the challenge to a request without a token.
pub(in crate::http) fn challenge(
    uri: &Uri,
    headers: &HeaderMap,
    names: Option<&PublicAddress>,
) -> HeaderValue {
    let bare = HeaderValue::from_static("Bearer");
    if uri.path() != "/mcp" {
        return bare;
    }
    let Some(address) = names.and_then(|names| names.of(uri, headers)) else { return bare };
    let challenge = format!(
        "Bearer resource_metadata=\"{address}/.well-known/oauth-protected-resource/mcp\", scope=\"call\""
    );
    HeaderValue::from_str(&challenge).unwrap_or(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_own_names_are_known_and_no_other() {
        let people =
            PeopleConfig { names: vec!["Orion.example".to_owned()], ..PeopleConfig::default() };
        let names = public_address(&people, None);
        let of = |host: &str| {
            let headers = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
            names.of(&Uri::from_static("/mcp"), &headers)
        };
        for (host, address) in [
            ("127.0.0.1:7080", Some("http://127.0.0.1:7080")),
            ("[::1]:7080", Some("http://[::1]:7080")),
            ("localhost", Some("http://localhost")),
            ("ORION.example", Some("http://orion.example")),
            ("orion.example.evil.test", None),
            ("evil.test:7080", None),
            ("user@127.0.0.1", None),
            ("127.0.0.1.evil.test", None),
            ("a\"b", None),
        ] {
            assert_eq!(of(host).as_deref(), address, "{host}");
        }
        assert_eq!(names.of(&Uri::from_static("/mcp"), &HeaderMap::new()), None);
    }
}
