//! Queued calls, and calls whose outcome only their device knows.

use super::calls::put;
use super::*;
use crate::store::{QueueError, StoreError, UnreconciledCall};

#[tokio::test]
async fn what_waits_and_what_is_not_settled_is_found_by_device_and_in_order() {
    let place = Place::new().await;
    let store = &place.store;
    for (n, state) in (1..).zip([
        CallState::Queued,
        CallState::Dispatched,
        CallState::Queued,
        CallState::AwaitingApproval,
        CallState::Running,
    ]) {
        put(store, n, state).await;
    }
    store.close_call(close(2, CallState::Unknown), ClosedBy::Backend).await.unwrap();
    let ids = |ns: &[u128]| ns.iter().map(|n| call_id(*n)).collect::<Vec<_>>();
    assert_eq!(store.queued_calls(device_id(1), None).await, Ok(ids(&[1, 3])));
    assert_eq!(store.queued_calls(device_id(1), Some(call_id(1))).await, Ok(ids(&[3])));
    assert_eq!(store.queued_calls(device_id(2), None).await, Ok(ids(&[])));
    store.request_cancel(call_id(5), &user("ann"), 1).await.unwrap();
    let unsettled = |n, is_stopped| UnreconciledCall { id: call_id(n), is_stopped };
    assert_eq!(
        store.unsettled_calls(device_id(1), None, 0).await,
        Ok(vec![unsettled(2, false), unsettled(5, true)])
    );
    let after = store.unsettled_calls(device_id(1), Some(call_id(2)), 0).await;
    assert_eq!(after, Ok(vec![unsettled(5, true)]));
    // Only calls that became unknown later are returned.
    let closed_at = close(2, CallState::Unknown).at;
    let later = store.unsettled_calls(device_id(1), None, closed_at).await;
    assert_eq!(later, Ok(vec![unsettled(5, true)]));
    assert_eq!(store.devices_with_unsettled_calls(0).await, Ok(vec![device_id(1)]));
    // A device is not asked again about a call that it does not know itself.
    for n in [2, 5] {
        store.close_call(close(n, CallState::Unknown), ClosedBy::Device).await.unwrap();
    }
    assert_eq!(
        store.unsettled_calls(device_id(1), None, 0).await,
        Ok(vec![unsettled(5, true)]),
        "of the second it is the last word, and of the fifth nobody knows whose"
    );
    let overdue = store.overdue_calls(61_000).await.unwrap();
    assert_eq!(overdue.iter().map(|row| row.id).collect::<Vec<_>>(), ids(&[1, 3]));
    assert_eq!(store.overdue_calls(60_999).await.unwrap(), []);
    let open = store.newest_calls(None, None, true, false, 3).await.unwrap();
    assert_eq!(open.iter().map(|row| row.call.id).collect::<Vec<_>>(), ids(&[5, 4, 3]));
    let of_bob = store.newest_calls(Some(&user("bob")), None, false, false, 3).await.unwrap();
    assert_eq!(of_bob, []);
}

/// A call of ann that waits for device `device`.
fn waits(n: u128, device: u128) -> NewCall {
    let device = Some((device_id(device), "kiosk".parse().unwrap()));
    NewCall { state: CallState::Queued, device, ..call(n) }
}

#[tokio::test]
async fn as_many_calls_wait_for_a_device_and_of_a_person_as_may_and_no_more() {
    let place = Place::new().await;
    let store = &place.store;
    let limits = QueueLimits { per_device: 2, per_person: 3 };
    let of_bob = |n, device| {
        let call = waits(n, device);
        NewCall { caller: Caller { user: user("bob"), ..call.caller }, ..call }
    };
    let queue = async |call| store.open_queued_call(call, limits).await;
    assert_eq!((queue(waits(1, 1)).await, queue(waits(2, 1)).await), (Ok(()), Ok(())));
    assert_eq!(queue(waits(3, 1)).await, Err(QueueError::DeviceFull));
    assert_eq!(queue(of_bob(3, 1)).await, Err(QueueError::DeviceFull));
    assert_eq!(queue(waits(3, 2)).await, Ok(()));
    assert_eq!(queue(waits(4, 3)).await, Err(QueueError::PersonFull));
    assert_eq!(queue(of_bob(4, 3)).await, Ok(()));
    assert_eq!(store.call(call_id(5)).await.unwrap_err(), StoreError::NotFound);

    // The same limits apply to a call that waited for approval before.
    put(store, 5, CallState::AwaitingApproval).await;
    let wait = async || store.queue_call(call_id(5), limits, 3_000).await;
    assert_eq!(wait().await, Err(QueueError::DeviceFull));
    assert!(
        store.close_call(close(1, CallState::Cancelled), ClosedBy::BackendUnsent).await.unwrap()
    );
    assert_eq!((wait().await, wait().await), (Ok(true), Ok(false)));
    assert_eq!(store.queue_call(call_id(9), limits, 3_000).await, Ok(false));
}

#[tokio::test]
async fn of_many_calls_at_once_for_the_last_places_as_many_wait_as_there_are() {
    let place = Place::new().await;
    let limits = QueueLimits { per_device: 5, per_person: 1_000 };
    let mut asking = Vec::new();
    for n in 1..=40 {
        let store = place.store.clone();
        asking.push(tokio::spawn(async move {
            if n % 2 == 0 {
                return store.open_queued_call(waits(n, 1), limits).await.is_ok();
            }
            put(&store, n, CallState::AwaitingApproval).await;
            store.queue_call(call_id(n), limits, 3_000).await.is_ok()
        }));
    }
    let mut waiting = 0;
    for one in asking {
        waiting += usize::from(one.await.unwrap());
    }
    assert_eq!(waiting, 5);
    assert_eq!(place.store.queued_calls(device_id(1), None).await.unwrap().len(), 5);
}
