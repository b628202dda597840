//! Calls that wait, and calls whose end only their device knows.

use super::calls::put;
use super::*;

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
    store.close_call(close(2, CallState::Unknown)).await.unwrap();
    let ids = |ns: &[u128]| ns.iter().map(|n| call_id(*n)).collect::<Vec<_>>();
    assert_eq!(store.queued_calls(device_id(1), None).await, Ok(ids(&[1, 3])));
    assert_eq!(store.queued_calls(device_id(1), Some(call_id(1))).await, Ok(ids(&[3])));
    assert_eq!(store.queued_calls(device_id(2), None).await, Ok(ids(&[])));
    assert_eq!(store.count_queued(device_id(1)).await, Ok(2));
    assert_eq!(store.unsettled_calls(device_id(1), None).await, Ok(ids(&[2, 5])));
    let overdue = store.overdue_calls(61_000).await.unwrap();
    assert_eq!(overdue.iter().map(|row| row.id).collect::<Vec<_>>(), ids(&[1, 3]));
    assert_eq!(store.overdue_calls(60_999).await.unwrap(), []);
    let open = store.newest_calls(None, None, true, 3).await.unwrap();
    assert_eq!(open.iter().map(|row| row.id).collect::<Vec<_>>(), ids(&[5, 4, 3]));
    let of_bob = store.newest_calls(Some(&user("bob")), None, false, 3).await.unwrap();
    assert_eq!(of_bob, []);
}
