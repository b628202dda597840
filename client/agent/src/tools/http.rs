//! Requests web addresses that were evaluated. The name is resolved once, its addresses are checked, and one of
//! them is contacted. No redirect is followed, and no proxy is used.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use orion_catalog::web::WebAddress;
use orion_domain::{ErrorCode, ToolError};
use reqwest::{Client, Response, Url, redirect};

use super::Context;
use super::reach::resolve;

/// How long a host has to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a waiting call checks whether to stop.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A web address with the only IP addresses that are contacted for it.
pub(super) struct Request<'a> {
    address: &'a WebAddress,
    url: Url,
    ips: Vec<SocketAddr>,
}

impl<'a> Request<'a> {
    /// Resolves the host of a web address.
    ///
    /// # Errors
    /// As [`resolve`], and `INVALID_ARGUMENT` for an address that programs read differently.
    pub(super) fn new(address: &'a WebAddress, context: &Context<'_>) -> Result<Self, ToolError> {
        let ips = resolve(&address.address, context)?;
        let url = Url::parse(&address.url).ok().filter(|url| {
            let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
            let same_ip =
                || host.parse::<std::net::IpAddr>().ok() == address.address.host.parse().ok();
            let same_host = host == address.address.host
                || (address.address.host.parse::<std::net::IpAddr>().is_ok() && same_ip());
            same_host && url.port_or_known_default() == Some(address.address.port)
        });
        let url = url.ok_or_else(|| {
            let message = "The address is written so that programs read it differently.";
            ToolError::new(ErrorCode::InvalidArgument, message)
        })?;
        let port = address.address.port;
        let ips = ips.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        Ok(Self { address, url, ips })
    }

    /// Sends the request and passes the response on, within a time. Returns what is made of it; `None` where
    /// nothing answers in that time.
    ///
    /// # Errors
    /// `CANCELLED`, `TIMEOUT`, those of `use_response`, and `EXECUTION_FAILED` for a request that cannot be sent.
    pub(super) fn get<T, F: Future<Output = Result<T, ToolError>>>(
        self,
        time: Duration,
        context: &Context<'_>,
        use_response: impl FnOnce(Response) -> F,
    ) -> Result<Result<T, NoAnswer>, ToolError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|_| failed("The device could not start the request."))?;
        let Self { address, url, ips } = self;
        runtime.block_on(async move {
            let client = client(address, &ips)?;
            let work = async {
                match client.get(url).send().await {
                    Ok(response) => use_response(response).await.map(Ok),
                    Err(error) => Ok(Err(NoAnswer::of(&error))),
                }
            };
            let mut work = pin!(tokio::time::timeout(time, work));
            loop {
                tokio::select! {
                    done = &mut work => {
                        return done.unwrap_or(Ok(Err(NoAnswer("It did not answer in time."))));
                    }
                    () = tokio::time::sleep(CHECK_INTERVAL) => context.check()?,
                }
            }
        })
    }
}

/// Why nothing answered, as a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoAnswer(pub(super) &'static str);

impl NoAnswer {
    fn of(error: &reqwest::Error) -> Self {
        let causes = std::iter::successors(std::error::Error::source(error), |it| it.source());
        let mut certificates = causes.filter_map(|it| it.downcast_ref::<rustls::Error>());
        Self(if certificates.next().is_some() {
            "Its certificate is not trusted on this device."
        } else if error.is_timeout() {
            "It did not answer in time."
        } else if error.is_connect() {
            "It accepted no connection."
        } else {
            "It ended the connection without an answer."
        })
    }
}

fn client(address: &WebAddress, ips: &[SocketAddr]) -> Result<Client, ToolError> {
    // The client panics without a provider.
    orion_mtls::install_crypto_provider();
    let mut builder = Client::builder()
        .user_agent(concat!("orion/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .resolve_to_addrs(&address.address.host, ips);
    if !address.is_https() {
        // Plain HTTP needs no certificates, so a device without any must not fail here.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|_| failed("The certificates of this device cannot be used."))
}

fn failed(message: &str) -> ToolError {
    ToolError::new(ErrorCode::ExecutionFailed, message)
}
