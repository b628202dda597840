//! The link of a connected device: one loop that takes one event at a time.

use std::sync::Arc;
use std::time::Instant;

use orion_wire::v1;
use orion_wire::v1::link_request;
use tokio::sync::{mpsc, watch};
use tokio_stream::{Stream, StreamExt as _};
use tonic::Status;

use super::from_device::from_device;
use super::outgoing::{last_words, renew_certificate, to_device};
use super::pace::Pace;
use super::rate_limits::DeviceRateLimits;
use crate::backend::Backend;
use crate::fleet::{DeviceLink, DeviceSnapshot, ToDevice};

/// Every event of a device's connection.
enum Event {
    FromDevice(Box<link_request::Message>),
    ToDevice(ToDevice),
    OtherAuthorities,
    Ended(&'static str),
}

/// Takes events until the link ends. Returns why it ended.
pub(super) async fn converse(
    shared: (&Arc<Backend>, &DeviceRateLimits, Instant),
    known: &DeviceSnapshot,
    link: &DeviceLink,
    (mut orders, mut changes): (mpsc::Receiver<ToDevice>, watch::Receiver<()>),
    mut incoming: impl Stream<Item = Result<v1::LinkRequest, Status>> + Unpin,
    outgoing: &mpsc::Sender<Result<v1::LinkResponse, Status>>,
) -> &'static str {
    let mut pace = Pace::new(Instant::now());
    loop {
        let wait = pace.waits_until(Instant::now());
        let next = async {
            if let Some(at) = wait {
                tokio::time::sleep_until(at.into()).await;
            }
            incoming.next().await
        };
        let event = tokio::select! {
            () = link.ended() => Event::Ended("ended by the backend"),
            order = orders.recv() => match order {
                Some(order) => Event::ToDevice(order),
                None => Event::Ended("ended by the backend"),
            },
            Ok(()) = changes.changed() => Event::OtherAuthorities,
            message = next => match message {
                Some(Ok(v1::LinkRequest { message: Some(message) })) => {
                    pace.count(message.encoded_len(), Instant::now());
                    Event::FromDevice(Box::new(message))
                }
                Some(Ok(v1::LinkRequest { message: None })) => Event::Ended("a message without content"),
                Some(Err(_)) => Event::Ended("the link was lost"),
                None => Event::Ended("the device hung up"),
            },
        };
        let message = match event {
            Event::Ended(reason) => {
                last_words(shared.0, None, &mut orders, outgoing);
                return reason;
            }
            Event::ToDevice(order) if link.has_ended() => {
                last_words(shared.0, Some(order), &mut orders, outgoing);
                return "ended by the backend";
            }
            Event::ToDevice(order) => to_device(shared.0, order),
            Event::OtherAuthorities => renew_certificate(shared.0),
            Event::FromDevice(message) => {
                // The future is boxed so that a silent device does not hold its memory.
                match Box::pin(from_device(shared, (known, link), *message)).await {
                    Ok(()) => continue,
                    Err(reason) => return reason,
                }
            }
        };
        let message = v1::LinkResponse { message: Some(message) };
        // A device that does not read its stream blocks only its own.
        tokio::select! {
            sent = outgoing.send(Ok(message)) => if sent.is_err() { return "the link was lost" },
            () = link.ended() => return "ended by the backend",
        }
    }
}
