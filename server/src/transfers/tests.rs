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
    let refused = |user, number| {
        let error = take(user, number).unwrap_err();
        assert_eq!(error.code, ErrorCode::ResourceExhausted);
        error.message
    };
    let taken = |user, number, count: u32| -> Vec<Place> {
        (0..count).map(|_| take(user, number).unwrap()).collect()
    };
    // However many she begins, somebody else finds a place on the device.
    let first = taken(&ann, 1, places::MAX_PER_PERSON_AND_DEVICE);
    assert_eq!(refused(&ann, 1), "ann has the maximum of 3 transfers under way on this device.");
    let other = take(&bob, 1).unwrap();
    assert_eq!(refused(&bob, 1), "The maximum of 4 transfers is under way on this device.");
    let more = [taken(&ann, 2, 3), taken(&ann, 3, 2)];
    assert_eq!(refused(&ann, 4), "ann has the maximum of 8 transfers under way.");
    assert!(take(&bob, 4).is_ok());
    drop((first, more));
    assert!(take(&bob, 1).is_ok() && take(&ann, 4).is_ok());
    drop(other);
    assert!(places.is_empty(), "nothing is kept of those that ended");
}
