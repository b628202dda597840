//! The request of a person whom the access layer identified. A handler that has no [`Signed`] request cannot
//! see who calls.

use std::net::IpAddr;

use tonic::{Request, Status};

use crate::listen::{Peer, Source};
use crate::people::Identity;

/// A request with the identity that its session or token proved.
#[derive(Debug)]
pub(super) struct Signed<T> {
    /// The person, with the session or token of the request.
    pub(super) identity: Identity,
    /// The message.
    pub(super) message: T,
}

impl<T> TryFrom<Request<T>> for Signed<T> {
    type Error = Status;

    /// Takes the identity that the access layer attached.
    fn try_from(mut request: Request<T>) -> Result<Self, Status> {
        let identity = request.extensions_mut().remove::<Identity>();
        let identity = identity.ok_or_else(|| Status::unauthenticated("Nobody is signed in."))?;
        Ok(Self { identity, message: request.into_inner() })
    }
}

/// Returns the source of a request.
pub(super) fn source<T>(request: &Request<T>) -> Result<Source, Status> {
    peer(request).map(Source::of)
}

/// Returns the address of a request's connection.
pub(super) fn address<T>(request: &Request<T>) -> Result<IpAddr, Status> {
    peer(request).map(|peer| peer.address.ip().to_canonical())
}

fn peer<T>(request: &Request<T>) -> Result<&Peer, Status> {
    let peer = request.extensions().get::<Peer>();
    peer.ok_or_else(|| Status::internal("The backend cannot determine the sender's address."))
}
