//! The one HTTP client of calls. It connects only to addresses that were checked: public ones, and those of a
//! host that the grants of `backend` list.

mod body;
mod client;
mod forbidden;
mod names;
mod page;
#[cfg(test)]
mod tests;

use orion_domain::grants::Scope;
use orion_domain::{ErrorCode, ToolError};

pub(super) use body::{Answer, MAX_BYTES};
pub(super) use client::{Outgoing, WebClient};
pub(super) use page::{Page, Wanted, read_page};

/// What the policy grants to one call.
#[derive(Debug, Clone)]
pub(super) struct Granted(Scope);

impl Granted {
    /// Creates the value from the grants that hold for the call.
    pub(super) const fn new(scope: Scope) -> Self {
        Self(scope)
    }

    /// Returns whether the grants name this host at this port.
    fn names(&self, url: &reqwest::Url) -> bool {
        !self.0.hosts.is_empty() && self.0.lists_host(url.as_str())
    }

    /// Returns whether the grants let a call request this address.
    fn admits(&self, url: &reqwest::Url) -> bool {
        self.0.lists_host(url.as_str())
    }
}

/// Returns the error of an address that is not requested: what, and why.
fn refused(url: &reqwest::Url, why: &str) -> ToolError {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    ToolError::new(ErrorCode::UrlForbidden, format!("{host}:{port} is not requested: {why}.")).hint(
        format!("if this host is meant, an admin adds \"{host}:{port}\" to the hosts of backend"),
    )
}
