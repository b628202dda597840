//! Tests of the streams and places of transfers.

use std::time::Duration;

use orion_domain::{DeviceId, ErrorCode};
use uuid::Uuid;

use super::*;

fn call() -> CallId {
    CallId::new(Uuid::from_u128(1))
}

const ASK: ContentRequest = ContentRequest::Read { offset: 0 };

#[tokio::test]
async fn a_part_waits_for_its_device_and_is_asked_again_where_a_stream_ends() {
    let transfers = Arc::new(Transfers::default());
    let asking = tokio::spawn({
        let transfers = Arc::clone(&transfers);
        async move { transfers.exchange(call(), ASK).await }
    });
    tokio::task::yield_now().await;
    let mut lost = transfers.attach(call());
    let first = lost.next().await.unwrap();
    let mut stream = transfers.attach(call());
    assert!(lost.next().await.is_none(), "the newer stream takes over");
    drop((lost, first.reply));
    let second = stream.next().await.unwrap();
    assert_ne!(first.number, second.number, "an answer to the lost stream is recognised");
    second.reply.send(ContentAnswer::Received(7)).unwrap();
    assert_eq!(asking.await.unwrap(), ContentAnswer::Received(7));
    drop(stream);
    assert!(transfers.streams.is_empty());
}

#[tokio::test]
async fn no_other_call_gets_a_part() {
    let transfers = Arc::new(Transfers::default());
    let mut stream = transfers.attach(call());
    let other = CallId::new(Uuid::from_u128(2));
    let limit = Duration::from_millis(50);
    let waited = tokio::time::timeout(limit, transfers.exchange(other, ASK)).await;
    assert!(waited.is_err());
    assert!(tokio::time::timeout(limit, stream.next()).await.is_err());
}

#[test]
fn a_person_and_a_device_have_so_many_places_and_get_them_back() {
    let places = Arc::new(Places::default());
    let (ann, bob) = ("ann".parse().unwrap(), "bob".parse().unwrap());
    let device = |number| DeviceId::new(Uuid::from_u128(number));
    let take = |user, number| places.take(user, device(number));
    let full: Vec<_> = (0..places::MAX_PER_DEVICE).map(|_| take(&ann, 1).unwrap()).collect();
    let refused = take(&bob, 1).unwrap_err();
    assert_eq!(refused.code, ErrorCode::ResourceExhausted);
    assert!(refused.message.contains("on this device"), "{refused:?}");
    let more: Vec<_> = (0..places::MAX_PER_DEVICE).map(|_| take(&ann, 2).unwrap()).collect();
    assert!(take(&ann, 3).unwrap_err().message.starts_with("ann has the maximum of 8"));
    assert!(take(&bob, 3).is_ok());
    drop((full, more));
    assert!(take(&bob, 1).is_ok());
}
