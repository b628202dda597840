//! Who may close a call, and in which states.

use super::calls::put;
use super::*;
use crate::store::Witness;

#[tokio::test]
async fn only_a_call_that_was_not_sent_can_be_ended_as_unsent() {
    let place = Place::new().await;
    let open = CallState::ALL.into_iter().filter(|state| !state.is_closed());
    for (n, from) in (1..).zip(open) {
        put(&place.store, n, from).await;
        let ended =
            place.store.close_call(close(n, CallState::Cancelled), ClosedBy::BackendUnsent).await;
        let unsent = !matches!(from, CallState::Dispatched | CallState::Running);
        assert_eq!(ended, Ok(unsent), "{from}");
        let row = place.store.call(call_id(n)).await.unwrap();
        assert_eq!(row.state, if unsent { CallState::Cancelled } else { from });
        // A call that was sent ends as its device reports, and a call that was not sent is never sent.
        let sent = place.store.advance_call(call_id(n), CallState::Dispatched, 3_000).await;
        assert_eq!(sent, Ok(false), "{from}");
        let late = place.store.close_call(close(n, CallState::Succeeded), ClosedBy::Backend).await;
        assert_eq!(late, Ok(!unsent), "{from}");
    }
    place.audited().await;
}

#[tokio::test]
async fn an_unknown_outcome_that_becomes_known_is_reconciled() {
    let place = Place::new().await;
    put(&place.store, 1, CallState::Dispatched).await;
    assert!(place.store.close_call(close(1, CallState::Unknown), ClosedBy::Backend).await.unwrap());
    assert!(
        place.store.close_call(close(1, CallState::Succeeded), ClosedBy::Backend).await.unwrap()
    );
    assert!(!place.store.close_call(close(1, CallState::Failed), ClosedBy::Backend).await.unwrap());
    assert_eq!(place.kinds().await, ["call.opened", "call.closed", "call.reconciled"]);
}

#[tokio::test]
async fn the_devices_unknown_takes_the_place_of_the_backends_once() {
    let place = Place::new().await;
    put(&place.store, 1, CallState::Dispatched).await;
    assert!(place.store.close_call(close(1, CallState::Unknown), ClosedBy::Backend).await.unwrap());
    assert!(
        !place.store.close_call(close(1, CallState::Unknown), ClosedBy::Backend).await.unwrap()
    );
    let told = CloseCall { result: b"the device died".to_vec(), ..close(1, CallState::Unknown) };
    assert!(place.store.close_call(told.clone(), ClosedBy::Device).await.unwrap());
    assert!(!place.store.close_call(close(1, CallState::Unknown), ClosedBy::Device).await.unwrap());
    let row = place.store.call(call_id(1)).await.unwrap();
    assert_eq!((row.state, row.result), (CallState::Unknown, Some(told.result)));
    assert!(
        place.store.close_call(close(1, CallState::Succeeded), ClosedBy::Device).await.unwrap()
    );
    assert_eq!(
        place.kinds().await,
        ["call.opened", "call.closed", "call.reconciled", "call.reconciled"]
    );
}

#[tokio::test]
async fn the_devices_unknown_that_came_first_stands_whatever_it_forgets_later() {
    let place = Place::new().await;
    put(&place.store, 1, CallState::Dispatched).await;
    let witness = Some(Witness { entry: 3, seq: 3, hash: Digest::ZERO });
    let result = b"the device died".to_vec();
    let told = CloseCall { result, witness, ..close(1, CallState::Unknown) };
    assert!(place.store.close_call(told.clone(), ClosedBy::Device).await.unwrap());
    let again = CloseCall { witness, ..close(1, CallState::Unknown) };
    assert!(!place.store.close_call(again, ClosedBy::Device).await.unwrap());
    let row = place.store.call(call_id(1)).await.unwrap();
    assert_eq!((row.state, row.result), (CallState::Unknown, Some(told.result)));
}
