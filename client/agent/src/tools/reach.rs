//! Contacts hosts by TCP, within bounded time: a name is resolved once, every address is checked, and those
//! addresses are contacted. Nothing is sent.

mod address;

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use orion_domain::hosts::Address;
use orion_domain::{ErrorCode, ToolError};

use super::Context;
use address::is_forbidden;

/// How long a host has to answer.
const CONTACT_TIMEOUT: Duration = Duration::from_millis(1500);
/// How long a name has to be resolved.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a waiting call checks whether to stop.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of addresses that are contacted of one name.
const MAX_ADDRESSES: usize = 4;
/// Maximum number of names that are resolved at a time, those included that nobody waits for any more.
const MAX_RESOLVING: usize = 8;
/// Maximum number of hosts that are contacted at a time by one call.
const MAX_AT_ONCE: usize = 8;

/// The answer of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contact {
    /// It accepted the connection.
    Accepted(Duration),
    /// It answered that nothing listens on the port.
    Refused(Duration),
    /// It did not answer.
    Silent,
}

impl Contact {
    /// Returns how long the answer took, whatever it was.
    pub(super) const fn latency(self) -> Option<Duration> {
        match self {
            Self::Accepted(took) | Self::Refused(took) => Some(took),
            Self::Silent => None,
        }
    }
}

/// Returns the IP addresses of a host.
///
/// # Errors
/// `URL_FORBIDDEN` if the name leads to an address that no granted name may lead to, `EXECUTION_FAILED` if it
/// is not known, `CANCELLED`, `TIMEOUT` and `RESOURCE_EXHAUSTED`.
pub(super) fn resolve(address: &Address, context: &Context<'_>) -> Result<Vec<IpAddr>, ToolError> {
    if let Ok(ip) = address.host.parse::<IpAddr>() {
        return checked(vec![ip], address, true);
    }
    if address.is_loopback() {
        return Ok(vec![IpAddr::from([127, 0, 0, 1]), std::net::Ipv6Addr::LOCALHOST.into()]);
    }
    known(address, checked(look_up(address.clone(), context)?, address, false)?)
}

/// As [`resolve`], for a host that the device's owner named: any address may be the owner's.
///
/// # Errors
/// As [`resolve`], but for `URL_FORBIDDEN`.
pub(super) fn resolve_any(
    address: &Address,
    context: &Context<'_>,
) -> Result<Vec<IpAddr>, ToolError> {
    if let Ok(ip) = address.host.parse::<IpAddr>() {
        return Ok(vec![ip]);
    }
    known(address, look_up(address.clone(), context)?)
}

fn known(address: &Address, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, ToolError> {
    if found.is_empty() {
        let message = format!("The name of {address} is not known to the device's resolver.");
        return Err(ToolError::new(ErrorCode::ExecutionFailed, message));
    }
    Ok(found.into_iter().take(MAX_ADDRESSES).collect())
}

/// Refuses all addresses if one is forbidden: who answers with such an address has something in mind.
fn checked(
    found: Vec<IpAddr>,
    address: &Address,
    is_written: bool,
) -> Result<Vec<IpAddr>, ToolError> {
    if let Some(ip) = found.iter().find(|ip| is_forbidden(**ip, is_written)) {
        let message = format!("{address} leads to {ip}, which no tool contacts.");
        return Err(ToolError::new(ErrorCode::UrlForbidden, message)
            .with("attempted_host", address.to_string()));
    }
    Ok(found)
}

/// Resolves a name in a thread of its own: the operating system's resolver cannot be stopped.
fn look_up(address: Address, context: &Context<'_>) -> Result<Vec<IpAddr>, ToolError> {
    static RESOLVING: AtomicUsize = AtomicUsize::new(0);
    struct Slot;
    impl Drop for Slot {
        fn drop(&mut self) {
            RESOLVING.fetch_sub(1, Ordering::Relaxed);
        }
    }
    let busy = || {
        ToolError::new(ErrorCode::ResourceExhausted, "The device's resolver does not answer.")
            .hint("try again later")
    };
    let before = RESOLVING.fetch_add(1, Ordering::Relaxed);
    let slot = Slot;
    if before >= MAX_RESOLVING {
        return Err(busy());
    }
    let (done, found) = mpsc::sync_channel(1);
    let resolve = move || {
        let _slot = slot;
        let found = (address.host.as_str(), address.port).to_socket_addrs();
        let found: Vec<_> = found.into_iter().flatten().map(|it| it.ip()).collect();
        drop(done.send(found));
    };
    let thread = std::thread::Builder::new().name("resolver".to_owned()).spawn(resolve);
    thread.map_err(|_| busy())?;
    let until = Instant::now() + RESOLVE_TIMEOUT;
    loop {
        context.check()?;
        match found.recv_timeout(CHECK_INTERVAL) {
            Ok(found) => return Ok(found),
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Ok(Vec::new());
            }
        }
    }
}

/// Contacts each of these hosts, some at a time. A host with several addresses has answered with the first
/// one that accepts, or else that refuses.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`.
pub(super) fn contact(
    hosts: &[Vec<SocketAddr>],
    context: &Context<'_>,
) -> Result<Vec<Contact>, ToolError> {
    let mut contacts = Vec::with_capacity(hosts.len());
    let (cancelled, deadline) = (context.cancelled, context.deadline);
    for some in hosts.chunks(MAX_AT_ONCE) {
        context.check()?;
        let in_time = std::thread::scope(|scope| {
            let spawn = |addresses| {
                let contact = move || first_answer(addresses, cancelled, deadline);
                std::thread::Builder::new().name("contact".to_owned()).spawn_scoped(scope, contact)
            };
            let threads: Vec<_> =
                some.iter().map(|addresses| spawn(addresses.as_slice())).collect();
            let ends = threads.into_iter().map(|thread| thread.ok()?.join().ok());
            ends.collect::<Option<Vec<_>>>()
        });
        contacts.extend(in_time.ok_or_else(no_thread)?);
    }
    context.check()?;
    Ok(contacts)
}

/// Returns the first connection that is accepted, or else the first that is refused.
fn first_answer(addresses: &[SocketAddr], cancelled: &AtomicBool, deadline: Instant) -> Contact {
    let mut best = Contact::Silent;
    for address in addresses {
        if cancelled.load(Ordering::Relaxed) {
            break;
        }
        match contact_one(address, deadline) {
            accepted @ Contact::Accepted(_) => return accepted,
            refused @ Contact::Refused(_) if best == Contact::Silent => best = refused,
            Contact::Refused(_) | Contact::Silent => {}
        }
    }
    best
}

fn no_thread() -> ToolError {
    ToolError::new(ErrorCode::ResourceExhausted, "The device could not start a thread.")
        .hint("try again later")
}

fn contact_one(address: &SocketAddr, deadline: Instant) -> Contact {
    let began = Instant::now();
    let time = deadline.saturating_duration_since(began).min(CONTACT_TIMEOUT);
    if time.is_zero() {
        return Contact::Silent;
    }
    match TcpStream::connect_timeout(address, time) {
        Ok(_) => Contact::Accepted(began.elapsed()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            Contact::Refused(began.elapsed())
        }
        Err(_) => Contact::Silent,
    }
}

#[cfg(test)]
mod tests;
