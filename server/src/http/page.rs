//! The page: files that were built from `server/web` and are part of this program. A program that was built without
//! them says how to build them.

use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, REFERRER_POLICY, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use rust_embed::RustEmbed;

/// The built files. Without a build there is none.
#[derive(RustEmbed)]
#[folder = "web/dist/"]
struct Files;

/// The first parts of the addresses that the page itself resolves.
pub(super) const PAGES: &[&str] = &[
    "access",
    "approvals",
    "audit",
    "calls",
    "chat",
    "devices",
    "enrol",
    "first-admin",
    "insights",
    "jobs",
    "people",
    "plans",
    "policy",
    "sign-in",
    "tools",
];

/// Nothing runs, is shown or is contacted that does not come from this backend, and no other page shows this one.
/// Scripts cannot turn text into markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// What a backend without the page answers.
const NOT_BUILT: &str = "This backend was built without the page. Build it with `make page` (it needs Node.js 20 and \
    npm), build orion-server again, and restart it. The command line works without it: orion --help\n";

/// Returns whether this program contains the page.
#[must_use]
pub fn is_built() -> bool {
    Files::get("index.html").is_some()
}

/// Returns whether an address belongs to the page.
pub(super) fn serves(path: &str) -> bool {
    let first = path.strip_prefix('/').map(|rest| rest.split('/').next().unwrap_or_default());
    path == "/"
        || path == "/icon.svg"
        || path.starts_with("/assets/")
        || first.is_some_and(|first| PAGES.contains(&first))
}

/// Serves a file, or for every address of the page its one document.
pub(super) async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    confined(file(uri.path(), &headers))
}

/// Serves the document, which says that there is no page at an address. None where a program asks, or without the page.
pub(super) fn no_page(headers: &HeaderMap) -> Option<Response> {
    let is_browser = headers.get(ACCEPT)?.to_str().is_ok_and(|types| types.contains("text/html"));
    (is_browser && is_built()).then(|| {
        let mut response = confined(file("/", headers));
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    })
}

/// Returns the response with what keeps the page to itself.
fn confined(mut response: Response) -> Response {
    let fixed: [(HeaderName, &'static str); 4] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn file(path: &str, headers: &HeaderMap) -> Response {
    let is_asset = path.starts_with("/assets/");
    let name = if is_asset || path == "/icon.svg" { &path[1..] } else { "index.html" };
    let takes_gzip = headers
        .get(ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.split(',').any(|it| it.trim().starts_with("gzip")));
    let small = takes_gzip.then(|| Files::get(&format!("{name}.gz"))).flatten();
    let is_small = small.is_some();
    let Some(found) = small.or_else(|| Files::get(name)) else {
        return if is_built() {
            (
                StatusCode::NOT_FOUND,
                "This file belongs to another version of the page. Load it again.\n",
            )
                .into_response()
        } else {
            (StatusCode::NOT_FOUND, NOT_BUILT).into_response()
        };
    };
    let mut response = found.data.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(name)));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if is_small {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if is_asset {
        // The name contains the hash of the content.
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        headers.insert(CACHE_CONTROL, forever);
    }
    response
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("woff2") => "font/woff2",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_its_own_addresses_and_no_others() {
        for path in ["/", "/devices", "/devices/a/b", "/assets/x.js", "/icon.svg", "/sign-in"] {
            assert!(serves(path), "{path}");
        }
        for path in ["", "//", "/v1/models", "/mcp", "/healthz", "/devicesx", "/assets", "*"] {
            assert!(!serves(path), "{path}");
        }
    }

    #[test]
    fn the_pages_router_knows_the_same_addresses() {
        let routes = include_str!("../../web/src/routes.ts");
        let known: Vec<_> = routes
            .lines()
            .filter_map(|line| line.trim().strip_prefix("path: \"/")?.split(['/', '"']).next())
            .filter(|first| !first.is_empty())
            .collect();
        for first in &known {
            assert!(PAGES.contains(first), "the backend does not serve /{first}");
        }
        for page in PAGES {
            assert!(known.contains(page), "the page does not know /{page}");
        }
    }

    #[tokio::test]
    async fn nothing_of_another_origin_and_no_inline_script_is_allowed() {
        let response = serve(Uri::from_static("/assets/none.js"), HeaderMap::new()).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
        for unsafe_word in ["unsafe", "http", "*", "blob"] {
            assert!(!policy.contains(unsafe_word), "{policy}");
        }
    }
}
