//! Sends a request: checks the address, connects to exactly what was checked, and checks each redirect again.

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use orion_catalog::requested_url::RequestedUrl;
use orion_domain::{ErrorCode, ToolError};
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, Url, redirect};
use tokio::time::timeout;

use super::body::{Answer, read};
use super::names::{Checked, Lookup, SystemNames};
use super::{Granted, forbidden, refused};

/// How long a request may take, with its redirects and its answer.
const TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The most redirects of one request.
const MAX_REDIRECTS: usize = 5;

/// A request that a call makes.
#[derive(Debug)]
pub(in crate::local_tools) struct Outgoing {
    /// The method, GET or POST.
    pub(in crate::local_tools) method: Method,
    /// The address.
    pub(in crate::local_tools) url: Url,
    /// The headers that the call gives. They do not follow a redirect to another origin.
    pub(in crate::local_tools) headers: HeaderMap,
    /// What is sent.
    pub(in crate::local_tools) body: Option<Vec<u8>>,
}

/// The client.
#[derive(Debug, Clone)]
pub(in crate::local_tools) struct WebClient {
    names: Arc<dyn Lookup>,
    limit: Duration,
}

impl WebClient {
    /// Creates a client that asks the operating system for addresses.
    pub(in crate::local_tools) fn system() -> Self {
        Self { names: Arc::new(SystemNames), limit: TIMEOUT }
    }

    /// Creates a client that asks for addresses elsewhere.
    #[cfg(test)]
    pub(super) const fn with(names: Arc<dyn Lookup>, limit: Duration) -> Self {
        Self { names, limit }
    }

    /// Sends a request and reads the answer, at most `max` bytes of it.
    ///
    /// # Errors
    /// `URL_FORBIDDEN` for an address that is not requested, also after a redirect; `TIMEOUT`; and
    /// `EXECUTION_FAILED` where nothing answers.
    pub(in crate::local_tools) async fn send(
        &self,
        outgoing: Outgoing,
        granted: &Granted,
        max: usize,
    ) -> Result<Answer, ToolError> {
        let host = outgoing.url.host_str().unwrap_or_default().to_owned();
        timeout(self.limit, self.follow(outgoing, granted, max)).await.unwrap_or_else(|_| {
            let message = format!("{host} did not answer within {} seconds.", self.limit.as_secs());
            Err(ToolError::new(ErrorCode::Timeout, message).hint("try again later"))
        })
    }

    async fn follow(
        &self,
        outgoing: Outgoing,
        granted: &Granted,
        max: usize,
    ) -> Result<Answer, ToolError> {
        let Outgoing { method, mut url, mut headers, body } = outgoing;
        let start = url.origin();
        // What is sent goes where the call says, and nowhere else.
        let redirects = if method == Method::GET { MAX_REDIRECTS } else { 0 };
        for followed in 0..=redirects {
            // A redirect never leads to a host that is reachable only because it is granted, but its own.
            let may_be_granted = url.origin() == start;
            let addresses = self.check(&url, granted, may_be_granted).await?;
            let client = client(&url, addresses)?;
            let request = client.request(method.clone(), url.clone()).headers(headers.clone());
            let request = match &body {
                Some(body) => request.body(body.clone()),
                None => request,
            };
            let response = request.send().await.map_err(|error| failed(&url, &error))?;
            let Some(next) = next_of(&url, &response)? else {
                return read(url, response, max).await;
            };
            if method != Method::GET {
                return read(url, response, max).await;
            }
            if followed == redirects {
                break;
            }
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(refused(&next, "a redirect leads from https to http"));
            }
            if next.origin() != url.origin() {
                headers.clear();
            }
            url = next;
        }
        let message = format!("The address leads on more than {MAX_REDIRECTS} times.");
        Err(ToolError::new(ErrorCode::ExecutionFailed, message)
            .hint("request the address that the page itself has"))
    }

    /// Returns the addresses of a host that may be connected to: all of its addresses, or none.
    async fn check(
        &self,
        url: &Url,
        granted: &Granted,
        may_be_granted: bool,
    ) -> Result<Vec<SocketAddr>, ToolError> {
        if !granted.admits(url) {
            return Err(refused(url, "it is not among the granted hosts"));
        }
        let is_granted = may_be_granted && granted.names(url);
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default().unwrap_or_default();
        if !is_granted && !matches!(port, 80 | 443) {
            return Err(refused(url, "only the ports 80 and 443 are reached without a grant"));
        }
        if let Ok(ip) = host.parse::<IpAddr>() {
            return match forbidden::address(ip).filter(|_| !is_granted) {
                Some(why) => Err(refused(url, &format!("it is {why}"))),
                None => Ok(vec![SocketAddr::new(ip, port)]),
            };
        }
        if let Some(why) = forbidden::name(&host).filter(|_| !is_granted) {
            return Err(refused(url, why));
        }
        let found = self.names.lookup(host, port).await.map_err(|_| unknown(url))?;
        if found.is_empty() {
            return Err(unknown(url));
        }
        for address in &found {
            let ip = address.ip();
            let why = if is_granted {
                forbidden::address_of_granted_name(ip)
            } else {
                forbidden::address(ip)
            };
            if let Some(why) = why {
                return Err(refused(url, &format!("it leads to {ip}, {why}")));
            }
        }
        Ok(found)
    }
}

/// Returns a client for one request to these addresses.
fn client(url: &Url, addresses: Vec<SocketAddr>) -> Result<Client, ToolError> {
    // The client panics without a provider. A provider that the program installed before is kept.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let host = url.host_str().unwrap_or_default().to_owned();
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/html, application/json, text/*, */*"));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    let mut builder = Client::builder()
        .user_agent(concat!("orion/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(0)
        .dns_resolver(Checked { host, addresses: addresses.into() });
    if url.scheme() == "http" {
        // Plain HTTP needs no certificates, so a machine without any must not fail here.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| {
        tracing::warn!(%error, "a request of a call could not be prepared");
        let message = "The root certificates of the backend's system cannot be used.";
        ToolError::new(ErrorCode::ExecutionFailed, message)
            .hint("an admin installs the package ca-certificates on the backend")
    })
}

/// Returns where an answer leads on. None where it is the answer itself.
fn next_of(url: &Url, response: &Response) -> Result<Option<Url>, ToolError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let joined = location.to_str().ok().and_then(|text| url.join(text).ok());
    let Some(joined) = joined else {
        return Err(refused(url, "it leads on to no address"));
    };
    // The words of a web server are content, and never part of an error of the backend.
    let next = RequestedUrl::parse(joined.as_str());
    let next = next.map_err(|_| refused(url, "it leads on to an address that is not requested"))?;
    Ok(Some(next.url))
}

fn unknown(url: &Url) -> ToolError {
    let host = url.host_str().unwrap_or_default();
    ToolError::new(ErrorCode::ExecutionFailed, format!("There is no host called {host}."))
        .hint("check the spelling of the address")
}

fn failed(url: &Url, error: &reqwest::Error) -> ToolError {
    let host = url.host_str().unwrap_or_default();
    let what = if error.is_connect() {
        "cannot be connected to"
    } else if error.is_timeout() {
        "did not answer in time"
    } else {
        "broke off the request"
    };
    tracing::debug!(%host, is_connect = error.is_connect(), "a request of a call failed");
    ToolError::new(ErrorCode::ExecutionFailed, format!("{host} {what}.")).hint("try again later")
}
