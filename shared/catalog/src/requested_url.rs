//! Web addresses that the backend requests for a call, written in one way.

use orion_domain::hosts::{Address, address_of};
use orion_domain::{ErrorCode, ToolError, visible};
use serde::{Deserialize as _, Deserializer};
use url::Url;

use crate::host_name::host_in_ascii;
use crate::web::MAX_URL_BYTES;

/// A web address as it is requested, and the host and port that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedUrl {
    /// The address: ASCII, without a fragment.
    pub url: Url,
    /// The host and port.
    pub address: Address,
}

impl RequestedUrl {
    /// Parses an address of which every program reads the same host.
    ///
    /// # Errors
    /// `URL_FORBIDDEN` for another scheme, for credentials, and for a host that programs may read differently.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let text = text.trim();
        if text.len() > MAX_URL_BYTES {
            return Err(forbidden(text, "is longer than 4,096 bytes"));
        }
        if text.chars().any(char::is_control) {
            return Err(forbidden(text, "has control characters in it"));
        }
        let ascii = in_ascii(text)?;
        let Some(written) = address_of(&ascii) else {
            return Err(forbidden(text, "is no plain http or https address of one host"));
        };
        if written.host.ends_with('.') {
            return Err(forbidden(text, "has a host with a dot at its end"));
        }
        let mut url = Url::parse(&ascii).map_err(|_| forbidden(text, "cannot be read"))?;
        url.set_fragment(None);
        let address = Address::new(&written.host, written.port);
        // A number such as 0x7f000001 or 127.1 is a name to one program and an address to another.
        match (address, address_in(&url)) {
            (Some(address), Some(same)) if address == same => Ok(Self { url, address }),
            _ => Err(forbidden(text, "has a host that programs may read differently")),
        }
    }
}

/// Returns the host and port that a parsed address names.
#[must_use]
pub fn address_in(url: &Url) -> Option<Address> {
    let host = url.host_str()?.trim_matches(['[', ']']);
    Address::new(host, url.port_or_known_default()?)
}

/// Returns the text with its host as DNS has it.
fn in_ascii(text: &str) -> Result<String, ToolError> {
    let host = host_in_ascii(text).map_err(|_| {
        forbidden(text, "has a host that mixes scripts, or characters that are not seen")
    })?;
    let Some(host) = host else { return Ok(text.to_owned()) };
    let no_host = || forbidden(text, "has no host");
    let (scheme, rest) = text.split_once("://").ok_or_else(no_host)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    if authority.contains(['@', '\\']) {
        return Err(forbidden(text, "has a user or a backslash before its host"));
    }
    let port = authority.split_once(':').map_or("", |(_, port)| port);
    let colon = if port.is_empty() { "" } else { ":" };
    Ok(format!("{scheme}://{host}{colon}{port}{rest}"))
}

/// Reads an address, and writes it in the one way in which it is requested. One that is forbidden stays as it
/// is: `touches` says why.
///
/// # Errors
/// The value is no text.
pub fn requested<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(RequestedUrl::parse(&text).map_or(text, |parsed| parsed.url.into()))
}

fn forbidden(text: &str, what: &str) -> ToolError {
    // Errors are stored and shown, and the rest of an address may hold a secret.
    let shown = visible(&origin_of(text).chars().take(200).collect::<String>());
    ToolError::new(ErrorCode::UrlForbidden, format!("`{shown}` {what}."))
        .hint("write it like https://example.com/page, without a user in it")
}

/// Returns the beginning of an address for an error: its scheme and host, and no more where there may be a user.
fn origin_of(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let ends = |c: char| matches!(c, '?' | '#' | '/' | '\\') || c.is_control() || c.is_whitespace();
    let host = rest.split(ends).next().unwrap_or_default();
    match (scheme, text.contains('@')) {
        (_, true) => "the address".to_owned(),
        ("", false) => host.to_owned(),
        (scheme, false) => format!("{scheme}://{host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_the_host_and_neither_user_nor_path_nor_query() {
        for text in [
            "https://ann:hunter2@example.com/",
            "https://example.com./hunter2",
            "https://example.com.?token=hunter2",
            "https://example.com\\hunter2",
            "ftp://example.com/?hunter2",
            "example.com#hunter2",
            "https:///?hunter2",
            "https://ann:hunter2\\@example.com/",
            "https://example.com\thunter2",
            "https://exa\u{202e}mple.com/?hunter2",
            "https://p\u{430}ypal.com/?hunter2",
        ] {
            let error = RequestedUrl::parse(text).unwrap_err();
            assert!(!format!("{error:?}").contains("hunter2"), "{text}: {error:?}");
        }
    }

    #[test]
    fn an_address_is_written_in_one_way() {
        for (text, written) in [
            (" https://Example.com ", "https://example.com/"),
            ("https://example.com/a/../b?q=a b#top", "https://example.com/b?q=a%20b"),
            (
                "https://m\u{fc}ller.example:8443/\u{fc}",
                "https://xn--mller-kva.example:8443/%C3%BC",
            ),
            ("http://[::ffff:1.1.1.1]:80/", "http://[::ffff:101:101]/"),
            ("http://1.1.1.1:8080", "http://1.1.1.1:8080/"),
        ] {
            let parsed = RequestedUrl::parse(text).unwrap();
            assert_eq!(parsed.url.as_str(), written, "{text}");
            assert_eq!(RequestedUrl::parse(written).unwrap(), parsed, "{text}");
        }
    }

    #[test]
    fn a_host_that_programs_may_read_differently_is_forbidden() {
        for text in [
            "",
            "example.com",
            "file:///etc/passwd",
            "ftp://example.com/",
            "gopher://example.com/",
            "javascript:alert(1)",
            "https://ann@example.com/",
            "https://ann:secret@example.com/",
            "https://example.com\\@evil.example/",
            "https://example.com:80:\\@@evil.example/",
            "http://127.1/",
            "http://0177.0.0.1/",
            "http://0x7f000001/",
            "http://2130706433/",
            "http://0xA9.0xFE.0xA9.0xFE/",
            "http://425.510.425.510/",
            "http://127.0.0.1!/",
            "http://127.0.0.1./",
            "http://example.com./",
            "http://\u{2460}\u{2461}\u{2466}.0.0.1/",
            "http://\u{ff11}27.0.0.1/",
            "http://p\u{430}ypal.com/",
            "http://example.com\u{202e}/",
            "http://exa\tmple.com/",
            "http://example.com:0/",
            "http://example.com:99999/",
            "http://%31%32%37.0.0.1/",
            "http://[::1%25eth0]/",
            "http:///x",
            &format!("https://example.com/{}", "x".repeat(MAX_URL_BYTES)),
        ] {
            let code = RequestedUrl::parse(text).map_err(|error| error.code);
            assert_eq!(code, Err(ErrorCode::UrlForbidden), "{text}");
        }
    }
}
