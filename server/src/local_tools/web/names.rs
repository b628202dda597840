//! Looks names up, once for each request.

use core::net::SocketAddr;
use std::fmt;
use std::io;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The most addresses of one name.
const MAX_ADDRESSES: usize = 64;

/// Looks a name up.
pub(super) trait Lookup: fmt::Debug + Send + Sync {
    /// Returns the addresses of a name.
    fn lookup(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;
}

/// The resolver of the operating system.
#[derive(Debug)]
pub(super) struct SystemNames;

impl Lookup for SystemNames {
    fn lookup(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        async move {
            let found = tokio::net::lookup_host((host, port)).await?;
            Ok(found.take(MAX_ADDRESSES).collect())
        }
        .boxed()
    }
}

/// What the HTTP library asks instead of a resolver: it knows the one host, at the addresses that were checked.
#[derive(Debug, Clone)]
pub(super) struct Checked {
    /// The host of the request.
    pub(super) host: String,
    /// Its checked addresses.
    pub(super) addresses: Arc<[SocketAddr]>,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let found = if name.as_str() == self.host {
            let addresses = self.addresses.to_vec();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        } else {
            Err("this name was not checked".into())
        };
        Box::pin(core::future::ready(found))
    }
}
