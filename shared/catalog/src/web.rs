//! Web addresses that a device requests itself.

use orion_domain::hosts::{Address, address_of};
use orion_domain::{ErrorCode, ToolError};

use serde_json::Value;

use crate::secret_argument::{hidden, hide_text};

/// The longest web address, in bytes. One that is signed beforehand is long.
pub const MAX_URL_BYTES: usize = 4096;

/// A web address, and the host and port that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress {
    /// The address, as it is requested.
    pub url: String,
    /// The host and port.
    pub address: Address,
}

impl WebAddress {
    /// Parses an address that every program reads in the same way.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, without the address itself: it may hold a secret.
    pub fn parse(url: &str) -> Result<Self, ToolError> {
        let is_plain = url.len() <= MAX_URL_BYTES
            && url.bytes().all(|byte| byte.is_ascii_graphic())
            && !url.contains(['#', '\\', '"', '<', '>', '`', '{', '}', '|', '^']);
        let address = address_of(url).filter(|_| is_plain).filter(|it| it.port > 0);
        address.map(|address| Self { url: url.to_owned(), address }).ok_or_else(|| {
            let message = "The address is no plain http or https address of one host.";
            ToolError::new(ErrorCode::InvalidArgument, message)
                .hint("write it like http://localhost:3000/api/health, without a user in it")
        })
    }

    /// Returns whether the connection is encrypted.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.url.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"))
    }

    /// Returns the path, without what is asked there.
    #[must_use]
    pub fn path(&self) -> &str {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        let before = rest.split('?').next().unwrap_or(rest);
        before.find('/').and_then(|at| before.get(at..)).unwrap_or("/")
    }

    /// Returns the address for people: without what comes after the path, which may be a secret.
    #[must_use]
    pub fn shown(&self) -> String {
        let scheme = if self.is_https() { "https" } else { "http" };
        format!("{scheme}://{}{}", self.address, self.path())
    }
}

/// Returns an address with a digest in the place of what is asked there. A text that is no address is hidden whole.
pub(crate) fn hide_query(url: &str) -> String {
    match (WebAddress::parse(url), url.split_once('?')) {
        (Ok(_), None) => url.to_owned(),
        (Ok(_), Some((before, query))) => format!("{before}?{}", hidden(query)),
        (Err(_), _) => hidden(url),
    }
}

/// Hides the query of an argument that is an address, as [`hide_query`] does.
pub(crate) fn hide_query_of(value: &Value) -> Value {
    hide_text(value, hide_query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_hidden_and_the_rest_is_parsed_as_before() {
        assert_eq!(hide_query("https://a.example/b"), "https://a.example/b");
        let shown = hide_query("https://a.example:8443/b?key=secret");
        assert!(shown.starts_with("https://a.example:8443/b?sha256:"), "{shown}");
        let parsed = WebAddress::parse(&shown).unwrap();
        assert_eq!((parsed.path(), parsed.address.port), ("/b", 8443));
        for odd in ["https://ann:secret@a.example/b", "https://a.example/ secret", "secret"] {
            assert!(!hide_query(odd).contains("secret"), "{odd}");
        }
    }

    #[test]
    fn an_address_is_read_in_one_way_and_shown_without_its_secret() {
        let of = |url: &str| WebAddress::parse(url).unwrap();
        let signed = of("https://Files.example/a/b.tar.gz?X-Amz-Signature=secret");
        assert_eq!(signed.shown(), "https://files.example:443/a/b.tar.gz");
        assert_eq!((signed.path(), signed.is_https()), ("/a/b.tar.gz", true));
        let bare = of("http://[::1]:8080");
        assert_eq!((bare.path(), bare.shown().as_str()), ("/", "http://[::1]:8080/"));
        assert_eq!(of("http://a?x=/y").shown(), "http://a:80/");
        for wrong in [
            "",
            "a.example",
            "ftp://a.example/",
            "https://ann@a.example/",
            "https://a.example/ b",
            "https://a.example/\u{e9}",
            "https://a.example\\.b.example/",
            "https://a.example/#top",
            "http://a:0/",
            "https:///x",
            &format!("https://a.example/{}", "x".repeat(MAX_URL_BYTES)),
        ] {
            let error = WebAddress::parse(wrong).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument, "{wrong}");
        }
    }
}
