//! The names of hosts in addresses, as people see them and as DNS has them.

use orion_domain::{ErrorCode, ToolError, is_hidden, visible};
use unicode_security::{RestrictionLevel, RestrictionLevelDetection as _};

/// Returns the host of a URL in its ASCII form for DNS; `None` where it is in ASCII already. People see
/// both forms, because letters of one script can look like those of another.
///
/// # Errors
/// `URL_FORBIDDEN` for a URL with hidden characters, and for a host that mixes scripts or has letters
/// that no name uses: its destination is not visible.
pub fn host_in_ascii(url: &str) -> Result<Option<String>, ToolError> {
    if url.chars().any(|c| is_hidden(c) && !c.is_control()) {
        return Err(forbidden(
            url,
            "has characters in it that are not seen or turn the text round",
        ));
    }
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    if host.is_ascii() {
        return Ok(None);
    }
    let is_of_one_script = |label: &str| {
        label.is_ascii() || label.check_restriction_level(RestrictionLevel::HighlyRestrictive)
    };
    if !host.split('.').all(is_of_one_script) {
        return Err(forbidden(url, "has a host that mixes scripts or has letters of no language"));
    }
    idna::domain_to_ascii(host).map(Some).map_err(|_| forbidden(url, "has a host that is no name"))
}

fn forbidden(url: &str, what: &str) -> ToolError {
    let shown = visible(&url.chars().take(200).collect::<String>());
    ToolError::new(ErrorCode::UrlForbidden, format!("{shown} {what}."))
        .hint("write its host as DNS has it (xn--…) if it is really meant")
}
