//! What a request shows of its sender, and who is admitted by it.

use tokio::sync::broadcast;

use super::RequestPermit;
use crate::listen::Source;
use crate::listen::connections::Admission;
use crate::people::{Change, Identity};

/// What a request shows of its sender.
#[derive(Debug, Clone, Copy)]
pub struct Credentials<'a> {
    /// Where the request comes from. None if nobody knows; then nothing that is limited is admitted.
    pub source: Option<&'a Source>,
    /// The connection of the request: a person who is admitted owns it, and refused requests count against
    /// it. None without one.
    pub connection: Option<&'a Admission>,
    /// The value of the header `authorization`, `Bearer TOKEN`. None if there is none.
    pub authorization: Option<&'a [u8]>,
}

/// Who was admitted.
#[derive(Debug)]
pub enum Admitted {
    /// Anyone.
    Anyone,
    /// A device that showed its certificate.
    Device,
    /// A person.
    Person(Box<AdmittedPerson>),
}

/// A person who was admitted.
#[derive(Debug)]
pub struct AdmittedPerson {
    /// The person, with the session or token of the request.
    pub identity: Identity,
    /// One request in flight. Kept until the response has ended.
    pub permit: RequestPermit,
    /// The changes of accounts and tokens since before the token was looked up, so that none is missed.
    pub changes: broadcast::Receiver<Change>,
}
