//! Requests of a browser: the session is in a cookie, which the browser adds to every request, whoever caused it. It
//! counts only for requests that the page itself makes.

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use orion_domain::{ErrorCode, ToolError};
use serde_json::json;

use super::address::OwnAddress;
use crate::people::Issued;

/// The header that the page adds to each of its requests. Another origin can't: a browser asks this backend first
/// whether it may, and gets no permission.
const FROM_PAGE: &str = "x-orion-page";
/// Maximum length of a session's token, in bytes.
const MAX_TOKEN_BYTES: usize = 256;

/// How this backend names and protects the cookie of a session.
#[derive(Debug, Clone)]
pub struct SessionCookie {
    name: String,
    is_secure: bool,
}

/// A request that the page itself made.
#[derive(Debug, Clone, Copy)]
pub(super) struct FromPage;

impl SessionCookie {
    /// Returns the cookie of the backend on this port. Cookies are shared by all ports of a host, so the port is part
    /// of the name.
    #[must_use]
    pub fn new(port: u16, is_secure: bool) -> Self {
        let prefix = if is_secure { "__Host-" } else { "" };
        Self { name: format!("{prefix}orion-session-{port}"), is_secure }
    }

    /// Puts the session of a request that the page made where every other client puts it. A request from elsewhere, or
    /// to a name that is not of this backend, loses its cookie, and is that of nobody.
    pub(super) fn take<B>(&self, request: &mut Request<B>, address: Option<&OwnAddress>) {
        let token = self.token(request.headers());
        request.headers_mut().remove(COOKIE);
        if !address.is_some_and(|address| is_from_page(request.headers(), address)) {
            return;
        }
        request.extensions_mut().insert(FromPage);
        if let Some(token) = token
            && !request.headers().contains_key(AUTHORIZATION)
            && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {token}"))
        {
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
    }

    /// Returns the token in the cookie. Two cookies of the name are none: one of them was planted.
    fn token(&self, headers: &HeaderMap) -> Option<String> {
        let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut tokens = values
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().strip_prefix(self.name.as_str())?.strip_prefix('='));
        let token = tokens.next().filter(|token| token.len() <= MAX_TOKEN_BYTES)?;
        tokens.next().is_none().then(|| token.to_owned())
    }

    /// Returns the response that gives a browser its session. Scripts never see it.
    pub(super) fn set(&self, session: &Issued, now: i64) -> Response {
        let seconds = (session.expires_at - now).max(0) / 1000;
        self.respond(session.token.expose(), seconds)
    }

    /// Returns the response that takes the session out of a browser.
    pub(super) fn clear(&self) -> Response {
        self.respond("", 0)
    }

    fn respond(&self, token: &str, max_age: i64) -> Response {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let cookie = format!(
            "{}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={max_age}{secure}",
            self.name
        );
        let Ok(mut cookie) = HeaderValue::from_str(&cookie) else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        cookie.set_sensitive(true);
        (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
    }
}

/// Returns whether the page made this request: it has the page's header, and where the browser names the origin, that
/// is this backend.
fn is_from_page(headers: &HeaderMap, address: &OwnAddress) -> bool {
    headers.contains_key(FROM_PAGE)
        && headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin")
        && address.admits(headers)
}

impl<S: Sync> FromRequestParts<S> for FromPage {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        parts.extensions.get::<Self>().copied().ok_or_else(|| {
            let error = ToolError::new(
                ErrorCode::PermissionDenied,
                "Only the page itself can make this request.",
            );
            (StatusCode::FORBIDDEN, Json(json!({ "error": error }))).into_response()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::address::tests::address_of;

    fn taken(host: &str, headers: &[(&str, &str)]) -> (Option<String>, bool) {
        let mut request = Request::post("/x").body(()).unwrap();
        for (name, value) in headers {
            let name: axum::http::HeaderName = name.parse().unwrap();
            request.headers_mut().append(name, value.parse().unwrap());
        }
        SessionCookie::new(7080, false).take(&mut request, address_of(host).as_ref());
        assert!(!request.headers().contains_key(COOKIE));
        let header = request.headers().get(AUTHORIZATION);
        let header = header.map(|value| value.to_str().unwrap().to_owned());
        (header, request.extensions().get::<FromPage>().is_some())
    }

    const OWN: (&str, &str) = ("cookie", "a=b; orion-session-7080=orion_x");
    const PAGE: (&str, &str) = ("x-orion-page", "1");
    const HOST: &str = "127.0.0.1:7080";

    #[test]
    fn a_cookie_counts_only_for_requests_that_the_page_makes() {
        let session = Some("Bearer orion_x".to_owned());
        let own = ("origin", "http://127.0.0.1:7080");
        assert_eq!(taken(HOST, &[OWN, PAGE]), (session.clone(), true));
        assert_eq!(taken(HOST, &[OWN, PAGE, own]), (session.clone(), true));
        assert_eq!(taken(HOST, &[OWN, PAGE, ("sec-fetch-site", "same-origin")]), (session, true));
        assert_eq!(taken(HOST, &[OWN]), (None, false));
        for (name, value) in [
            ("origin", "http://127.0.0.1:7081"),
            ("origin", "http://evil.example"),
            ("origin", "null"),
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "none"),
        ] {
            assert_eq!(taken(HOST, &[OWN, PAGE, (name, value)]), (None, false), "{name} {value}");
        }
    }

    #[test]
    fn a_name_that_anybody_could_point_here_has_no_session() {
        for host in ["orion.evil.test:7080", "127.0.0.1.evil.test:7080", ""] {
            let origin = format!("http://{host}");
            let own = ("origin", origin.as_str());
            assert_eq!(taken(host, &[OWN, PAGE, own]), (None, false), "{host}");
            assert_eq!(taken(host, &[OWN, PAGE]), (None, false), "{host}");
        }
        let session = Some("Bearer orion_x".to_owned());
        let own = ("origin", "http://orion.example:7080");
        assert_eq!(taken("orion.example:7080", &[OWN, PAGE, own]), (session, true));
    }

    #[test]
    fn a_planted_second_cookie_an_overlong_one_and_that_of_another_port_are_none() {
        let long = format!("orion-session-7080={}", "x".repeat(257));
        for cookie in ["orion-session-7080=a; orion-session-7080=b", "orion-session-70=a", &long] {
            assert_eq!(taken(HOST, &[PAGE, ("cookie", cookie)]), (None, true), "{cookie}");
        }
        let bearer = ("authorization", "Bearer own");
        assert_eq!(taken(HOST, &[PAGE, OWN, bearer]), (Some("Bearer own".to_owned()), true));
    }

    #[test]
    fn behind_tls_the_cookie_is_bound_to_this_host() {
        let issued =
            Issued { token: orion_domain::Secret::new("orion_t".to_owned()), expires_at: 61_000 };
        let header = |cookie: SessionCookie| {
            cookie.set(&issued, 1_000).headers()[SET_COOKIE].to_str().unwrap().to_owned()
        };
        let rest = "orion_t; Path=/; HttpOnly; SameSite=Strict; Max-Age=60";
        assert_eq!(header(SessionCookie::new(1, false)), format!("orion-session-1={rest}"));
        assert_eq!(
            header(SessionCookie::new(1, true)),
            format!("__Host-orion-session-1={rest}; Secure")
        );
    }
}
