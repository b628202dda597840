//! What is committed with an approval request, and with the use of an approval.

use super::*;
use crate::store::tests::approvals::{person, vote};
use crate::store::{ApprovalState, AskError, StoreError};

/// A call that needs approval, and its preview, which was sent.
async fn previewed() -> (Place, CommittedWith) {
    let place = Place::new().await;
    person(&place, "admin", "admin").await;
    let preview = NewCall { state: CallState::Dispatched, dry_run: true, ..call(7) };
    place.store.open_call(preview).await.unwrap();
    let call = NewCall { has_effects: true, ..call(1) };
    let preview = Some(close(7, CallState::Succeeded));
    (place, CommittedWith { call: Some(call), preview })
}

#[tokio::test]
async fn a_call_its_question_and_the_end_of_its_preview_are_recorded_as_one() {
    let (place, along) = previewed().await;
    assert_eq!(place.store.ask(question(1), along).await, Ok(true));
    assert_eq!(
        place.kinds().await,
        ["call.opened", "call.closed", "call.opened", "approval.asked"]
    );
    let asked = place.store.call(call_id(1)).await.unwrap();
    assert_eq!((asked.state, asked.approval), (CallState::AwaitingApproval, Some(approval_id(1))));
    let shown = place.store.call(call_id(7)).await.unwrap();
    assert_eq!(shown.state, CallState::Succeeded);
    // A preview that ended before keeps its end, and the request is stored.
    let along = CommittedWith { call: Some(call(2)), preview: Some(close(7, CallState::Failed)) };
    assert_eq!(place.store.ask(question(2), along).await, Ok(false));
    let shown = place.store.call(call_id(7)).await.unwrap();
    assert_eq!(shown.state, CallState::Succeeded);
}

#[tokio::test]
async fn where_nobody_can_be_asked_nothing_of_it_is_recorded() {
    let (place, along) = previewed().await;
    place.store.open_call(call(2)).await.unwrap();
    place.store.ask(question(2), CommittedWith::default()).await.unwrap();
    let taken = NewApproval { id: approval_id(2), ..question(1) };
    let refused = place.store.ask(taken, along).await;
    assert_eq!(refused, Err(AskError::Store(StoreError::Conflict)));
    assert_eq!(place.store.call(call_id(1)).await.unwrap_err(), StoreError::NotFound);
    let shown = place.store.call(call_id(7)).await.unwrap();
    assert_eq!(shown.state, CallState::Dispatched);
    assert_eq!(place.kinds().await, ["call.opened", "call.opened", "approval.asked"]);
}

#[tokio::test]
async fn a_yes_is_not_spent_on_a_call_that_has_ended() {
    let (place, along) = previewed().await;
    place.store.ask(question(1), along).await.unwrap();
    place.store.vote(vote("admin", true, 2_000)).await.unwrap();
    place.store.close_call(close(1, CallState::Cancelled), ClosedBy::Backend).await.unwrap();
    assert_eq!(place.store.dispatch_approved(approval_id(1), 2_100).await, Ok(false));
    let approval = place.store.approval(approval_id(1)).await.unwrap();
    assert_eq!((approval.state, approval.consumed_at), (ApprovalState::Approved, None));
    assert!(!place.kinds().await.contains(&"approval.used".to_owned()));
}

#[tokio::test]
async fn with_a_yes_that_is_spent_its_call_is_on_its_way() {
    let (place, along) = previewed().await;
    place.store.ask(question(1), along).await.unwrap();
    place.store.vote(vote("admin", true, 2_000)).await.unwrap();
    assert_eq!(place.store.dispatch_approved(approval_id(1), 2_100).await, Ok(true));
    let row = place.store.call(call_id(1)).await.unwrap();
    assert_eq!(row.state, CallState::Dispatched);
    let approval = place.store.approval(approval_id(1)).await.unwrap();
    assert_eq!(approval.consumed_at, Some(2_100));
}
