//! Receives the messages of one connection, and posts them to the loop.

use tokio::sync::mpsc;

use super::event::Event;
use crate::connect::link::Reader;

/// Posts every message of a connection, then the reason why it ended. Waits while the loop is busy, so that
/// the backend waits too.
pub(super) async fn receive(link: u64, mut reader: Reader, events: mpsc::Sender<Event>) {
    let why = loop {
        match reader.next().await {
            Ok(message) => {
                if events.send(Event::Received { link, message }).await.is_err() {
                    return;
                }
            }
            Err(why) => break why,
        }
    };
    drop(events.send(Event::Lost { link, why }).await);
}
