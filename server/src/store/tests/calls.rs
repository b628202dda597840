//! Calls: the state machine, idempotency, lookups, recovery.

use orion_domain::{ContentRaise, TurnId};

use super::*;
use crate::store::{ApprovalScope, CallRow, NewVote, QueueError, StateChange, StoreError};

/// Brings call `n` into a state.
pub(super) async fn put(store: &Store, n: u128, state: CallState) {
    if state.is_closed() {
        let denied = state == CallState::Denied;
        let first = if denied { CallState::Received } else { CallState::Dispatched };
        store.open_call(NewCall { state: first, ..call(n) }).await.unwrap();
        assert!(store.close_call(close(n, state), ClosedBy::Backend).await.unwrap());
    } else {
        enter(store, NewCall { state, ..call(n) }).await;
    }
}

/// Stores a call in any open state.
async fn enter(store: &Store, call: NewCall) {
    if call.state == CallState::Queued {
        store.open_queued_call(call, ROOM).await.unwrap();
    } else {
        store.open_call(call).await.unwrap();
    }
}

#[tokio::test]
async fn a_call_moves_only_as_its_machine_allows() {
    let place = Place::new().await;
    let mut n = 0;
    for from in CallState::ALL {
        for to in CallState::ALL {
            n += 1;
            put(&place.store, n, from).await;
            let moved = if to.is_closed() {
                place.store.close_call(close(n, to), ClosedBy::Backend).await.unwrap()
            } else if to == CallState::Queued {
                place.store.queue_call(call_id(n), ROOM, 3_000).await.unwrap()
            } else {
                place.store.advance_call(call_id(n), to, 3_000).await.unwrap()
            };
            assert_eq!(moved, from.can_become(to), "{from} -> {to}");
            let row = place.store.call(call_id(n)).await.unwrap();
            assert_eq!(row.state, if moved { to } else { from }, "{from} -> {to}");
            assert_eq!(row.closed_at.is_some(), row.state.is_closed(), "{from} -> {to}");
        }
    }
    place.audited().await;
}

#[tokio::test]
async fn a_shortened_id_means_the_call_and_not_its_preview() {
    let place = Place::new().await;
    let front = &call_id(1).to_string()[..18];
    let preview = |n| NewCall { dry_run: true, ..call(n) };
    place.store.open_call(preview(1)).await.unwrap();
    assert_eq!(place.store.find_call(front).await.unwrap().id, call_id(1), "a preview by itself");
    place.store.open_call(preview(2)).await.unwrap();
    assert_eq!(place.store.find_call(front).await.unwrap_err(), StoreError::Ambiguous);
    place.store.open_call(call(3)).await.unwrap();
    assert_eq!(place.store.find_call(front).await.unwrap().id, call_id(3));
    place.store.open_call(call(4)).await.unwrap();
    assert_eq!(place.store.find_call(front).await.unwrap_err(), StoreError::Ambiguous);
}

#[tokio::test]
async fn a_call_is_read_back_as_it_was_written() {
    let place = Place::new().await;
    let new = NewCall {
        conversation: Some(conversation_id(1)),
        recovered: true,
        tainted: true,
        quoted: true,
        content_raises: vec![ContentRaise::Copied],
        turn: Some(TurnId::new(Uuid::from_u128(7))),
        state: CallState::Dispatched,
        idempotency_key: Some("k".to_owned()),
        token: Some(Digest::of(b"token")),
        secrets: Some(Secret::new("{}")),
        ..call(1)
    };
    place.store.open_call(new.clone()).await.unwrap();
    let open = place.store.call(new.id).await.unwrap();
    assert_eq!((open.arguments, open.secrets), (new.arguments.clone(), new.secrets.clone()));
    assert!(place.store.advance_call(new.id, CallState::Running, 1_500).await.unwrap());
    assert!(place.store.close_call(close(1, CallState::Failed), ClosedBy::Backend).await.unwrap());
    let expected = CallRow {
        id: new.id,
        caller: Caller { conversation: Some(conversation_id(1)), ..new.caller },
        device: new.device,
        tool: new.tool,
        arguments: new.arguments,
        // Gone with the end.
        secrets: None,
        arguments_digest: new.arguments_digest,
        dry_run: false,
        recovered: true,
        tainted: true,
        quoted: true,
        content_raises: new.content_raises,
        turn: new.turn,
        touches: new.touches,
        decision: new.decision,
        rule: new.rule,
        policy_version: new.policy_version,
        risk: new.risk,
        undo: new.undo,
        has_effects: false,
        state: CallState::Failed,
        history: vec![
            StateChange { state: CallState::Received, at: 1_000 },
            StateChange { state: CallState::Dispatched, at: 1_000 },
            StateChange { state: CallState::Running, at: 1_500 },
            StateChange { state: CallState::Failed, at: 2_000 },
        ],
        idempotency_key: new.idempotency_key,
        plan: new.plan,
        deadline_at: 61_000,
        queued_until: None,
        created_at: 1_000,
        approval: None,
        code: Some(ErrorCode::ExecutionFailed),
        result: Some(br#"{"success":true}"#.to_vec()),
        duration_us: 250,
        closed_at: Some(2_000),
        token: Some(Digest::of(b"token")),
    };
    assert_eq!(place.store.call(new.id).await.unwrap(), expected);
    assert_eq!(place.store.find_idempotent(&user("ann"), "k").await.unwrap(), Some(expected));
    assert_eq!(place.store.find_idempotent(&user("bob"), "k").await.unwrap(), None);
    assert_eq!(place.store.call_device(new.id).await, Ok(Some(device_id(1))));
    assert_eq!(place.store.call_device(call_id(9)).await, Err(StoreError::NotFound));
}

#[tokio::test]
async fn a_call_closes_once() {
    let place = Place::new().await;
    put(&place.store, 1, CallState::Dispatched).await;
    assert_eq!(
        place.store.close_call(close(1, CallState::Succeeded), ClosedBy::Backend).await,
        Ok(true)
    );
    assert_eq!(
        place.store.close_call(close(1, CallState::Succeeded), ClosedBy::Backend).await,
        Ok(false)
    );
    assert_eq!(
        place.store.close_call(close(1, CallState::Failed), ClosedBy::Backend).await,
        Ok(false)
    );
    assert_eq!(
        place.store.close_call(close(2, CallState::Failed), ClosedBy::Backend).await,
        Ok(false)
    );
    assert_eq!(place.kinds().await, ["call.opened", "call.closed"]);
}

#[tokio::test]
async fn states_that_do_not_fit_the_way_are_refused() {
    let place = Place::new().await;
    let no = Err(StoreError::Conflict);
    let opened_closed = NewCall { state: CallState::Failed, ..call(1) };
    assert_eq!(place.store.open_call(opened_closed).await, no);
    // Queued calls are counted, so no other function may store one.
    let queued = NewCall { state: CallState::Queued, ..call(1) };
    assert_eq!(place.store.open_call(queued).await, no);
    let waiting = place.store.open_queued_call(call(1), ROOM).await;
    assert_eq!(waiting, Err(QueueError::Store(StoreError::Conflict)));
    put(&place.store, 2, CallState::Dispatched).await;
    let end = place.store.advance_call(call_id(2), CallState::Failed, 1).await;
    assert_eq!(end, Err(StoreError::Conflict));
    let wait = place.store.advance_call(call_id(2), CallState::Queued, 1).await;
    assert_eq!(wait, Err(StoreError::Conflict));
    let open = place.store.close_call(close(2, CallState::Running), ClosedBy::Backend).await;
    assert_eq!(open, Err(StoreError::Conflict));
    let done = close(3, CallState::Succeeded);
    assert_eq!(place.store.open_and_close_call(call(3), done).await, no);
    assert_eq!(place.kinds().await, ["call.opened"]);
}

#[tokio::test]
async fn a_denial_is_opened_and_closed_as_one() {
    let place = Place::new().await;
    let end = CloseCall { code: Some(ErrorCode::PathNotAllowed), ..close(1, CallState::Denied) };
    place.store.open_and_close_call(call(1), end).await.unwrap();
    let row = place.store.call(call_id(1)).await.unwrap();
    assert_eq!(row.state, CallState::Denied);
    assert_eq!(row.code, Some(ErrorCode::PathNotAllowed));
    assert_eq!(row.closed_at, Some(2_000));
    assert_eq!(place.kinds().await, ["call.opened", "call.closed"]);
}

#[tokio::test]
async fn a_key_names_one_call_of_one_person() {
    let place = Place::new().await;
    let keyed = |n, name| {
        let mut call = NewCall { idempotency_key: Some("same".to_owned()), ..call(n) };
        call.caller.user = user(name);
        call
    };
    assert_eq!(place.store.open_call(keyed(1, "ann")).await, Ok(()));
    assert_eq!(place.store.open_call(keyed(2, "ann")).await, Err(StoreError::KeyInUse));
    assert_eq!(place.store.open_call(keyed(3, "bob")).await, Ok(()));
    // Another conflict is not reported as the key's: here the id is taken.
    assert_eq!(place.store.open_call(keyed(3, "eve")).await, Err(StoreError::Conflict));
    assert_eq!(place.audited().await, 2);
}

#[tokio::test]
async fn a_call_is_found_by_the_beginning_of_its_id() {
    let place = Place::new().await;
    put(&place.store, 0x10, CallState::Received).await;
    put(&place.store, 0x11, CallState::Received).await;
    put(&place.store, 0x20, CallState::Received).await;
    let whole = call_id(0x20).to_string();
    let found = async |text: &str| place.store.find_call(text).await.map(|row| row.id);
    assert_eq!(found(&whole).await, Ok(call_id(0x20)));
    assert_eq!(found(&whole[..35]).await, Ok(call_id(0x20)));
    assert_eq!(found(&whole.to_uppercase()).await, Ok(call_id(0x20)));
    assert_eq!(found(&whole[..34]).await, Err(StoreError::Ambiguous));
    for bad in ["", "0200", "%", "x", "0199%", &format!("{whole}0")] {
        assert_eq!(found(bad).await, Err(StoreError::NotFound), "{bad}");
    }
}

#[tokio::test]
async fn the_open_calls_of_a_device_are_its_own_and_open() {
    let place = Place::new().await;
    put(&place.store, 1, CallState::Dispatched).await;
    put(&place.store, 2, CallState::Queued).await;
    put(&place.store, 3, CallState::Failed).await;
    let elsewhere = Some((device_id(2), "other".parse().unwrap()));
    place.store.open_call(NewCall { device: elsewhere, ..call(4) }).await.unwrap();
    let open = place.store.open_calls_of_device(device_id(1)).await.unwrap();
    assert_eq!(open.into_iter().map(|row| row.id).collect::<Vec<_>>(), [call_id(1), call_id(2)]);
}

#[tokio::test]
async fn a_restart_ends_what_was_under_way_and_keeps_what_waits() {
    let place = Place::new().await;
    super::approvals::person(&place, "admin", "admin").await;
    let effects = |n, state| NewCall { has_effects: true, state, ..call(n) };
    let store = &place.store;
    store.open_call(call(1)).await.unwrap();
    store.open_call(NewCall { state: CallState::Dispatched, ..call(2) }).await.unwrap();
    store.open_call(effects(3, CallState::Dispatched)).await.unwrap();
    store.open_call(effects(4, CallState::Dispatched)).await.unwrap();
    store.advance_call(call_id(4), CallState::Running, 1_100).await.unwrap();
    enter(store, effects(5, CallState::Queued)).await;
    // Requests that are open, denied, approved and used.
    for n in 6..10 {
        store.open_call(effects(n, CallState::Received)).await.unwrap();
        store.ask(question(n), CommittedWith::default()).await.unwrap();
    }
    for (n, yes) in [(7, false), (8, true), (9, true)] {
        let vote = NewVote {
            approval: approval_id(n),
            by: user("admin"),
            role: Role::Admin,
            yes,
            reason: String::new(),
            lasting: ApprovalScope::Once,
            at: 2_000,
            habit: crate::store::VoteHabit::default(),
            passkey: None,
        };
        store.vote(vote).await.unwrap();
    }
    // Earlier versions used an approval before they sent its call.
    tamper(&place, "UPDATE approvals SET consumed_at = 2100 WHERE call_id LIKE '%9'").await;

    let place = place.reopened().await;
    assert_eq!(place.store.recover_open_calls(9_000).await, Ok(6));
    let mut states = Vec::new();
    for n in 1..10 {
        let row = place.store.call(call_id(n)).await.unwrap();
        states.push((row.state, row.code));
    }
    assert_eq!(
        states,
        [
            (CallState::Failed, Some(ErrorCode::Internal)),
            (CallState::Failed, Some(ErrorCode::Internal)),
            (CallState::Unknown, Some(ErrorCode::OutcomeUnknown)),
            (CallState::Unknown, Some(ErrorCode::OutcomeUnknown)),
            (CallState::Queued, None),
            (CallState::AwaitingApproval, None),
            (CallState::Denied, Some(ErrorCode::ApprovalRejected)),
            (CallState::AwaitingApproval, None),
            (CallState::Failed, Some(ErrorCode::Internal)),
        ]
    );
    assert_eq!(place.store.recover_open_calls(9_001).await, Ok(0));
    // The device reconnects and reports.
    assert_eq!(
        place.store.close_call(close(3, CallState::Succeeded), ClosedBy::Backend).await,
        Ok(true)
    );
    assert_eq!(place.kinds().await.last().unwrap(), "call.reconciled");
    place.audited().await;
}

#[tokio::test]
async fn recovery_goes_on_past_its_first_page() {
    let place = Place::new().await;
    for n in 0..450 {
        place.store.open_call(call(n)).await.unwrap();
    }
    assert_eq!(place.store.recover_open_calls(9_000).await, Ok(450));
    assert_eq!(place.audited().await, 900);
}

#[tokio::test]
async fn recorded_calls_come_in_pages_of_so_many_bytes_and_one_at_least() {
    let place = Place::new().await;
    for n in 1..=4 {
        let arguments = vec![b'x'; if n == 3 { 9 } else { 3 } * 1024 * 1024];
        let admitted_at = (n == 2).then_some(1_000);
        place.store.open_call(NewCall { arguments, admitted_at, ..call(n) }).await.unwrap();
    }
    // The backend's own previews belong to nobody.
    place.store.open_call(NewCall { is_own_preview: true, ..call(5) }).await.unwrap();
    let page = async |after: u128| {
        let after = if after == 0 { String::new() } else { call_id(after).to_string() };
        let page = place.store.calls_after(&after, Some(device_id(1))).await.unwrap();
        page.into_iter().map(|call| (call.id, call.was_admitted)).collect::<Vec<_>>()
    };
    assert_eq!(page(0).await, [(call_id(1), false), (call_id(2), true)]);
    assert_eq!(page(2).await, [(call_id(3), false)]);
    assert_eq!(page(3).await, [(call_id(4), false)]);
    assert_eq!(page(4).await, []);
    let begins = async |most| place.store.newest_calls_begin(most, Some(device_id(1))).await;
    assert_eq!(begins(3).await, Ok(Some((call_id(1).to_string(), 1_000))));
    assert_eq!(begins(4).await, Ok(None));
    assert_eq!(place.store.newest_calls_begin(0, Some(device_id(2))).await, Ok(None));
}

#[tokio::test]
async fn calls_are_counted_by_when_they_were_let_through_and_what_was_not_sent_is_not() {
    let place = Place::new().await;
    let store = &place.store;
    let seen = async |since| {
        let found =
            store.admitted_calls(&user("ann"), device_id(1), since, call_id(99), 10, 0).await;
        found.unwrap().into_iter().map(|row| row.admitted_at).collect::<Vec<_>>()
    };
    let sent = |n, at| NewCall { state: CallState::Dispatched, admitted_at: Some(at), ..call(n) };
    store.open_call(sent(1, 1_010)).await.unwrap();
    store.open_call(NewCall { dry_run: true, ..sent(2, 1_020) }).await.unwrap();
    store.open_call(call(3)).await.unwrap();
    // Requested at 1,500 and admitted much later.
    store.ask(question(3), CommittedWith::default()).await.unwrap();
    assert_eq!(seen(0).await, [1_010]);
    assert_eq!(store.advance_call(call_id(3), CallState::Dispatched, 4_000).await, Ok(true));
    assert_eq!(seen(0).await, [4_000, 1_010]);
    assert_eq!(seen(2_000).await, [4_000]);
    // A call that was never sent does not count.
    store.open_call(call(4)).await.unwrap();
    assert_eq!(store.close_call(close(4, CallState::Failed), ClosedBy::Backend).await, Ok(true));
    assert_eq!(seen(0).await, [4_000, 1_010]);
    // The outcome does not matter.
    assert_eq!(store.close_call(close(3, CallState::Succeeded), ClosedBy::Backend).await, Ok(true));
    assert_eq!(seen(0).await, [4_000, 1_010]);
}

#[tokio::test]
async fn of_counted_calls_the_newest_come_with_their_arguments_up_to_so_many_bytes() {
    let place = Place::new().await;
    for n in 1..=3 {
        let admitted_at = Some(1_000 + i64::try_from(n).unwrap());
        let (state, arguments) = (CallState::Dispatched, vec![b'x'; 100]);
        place.store.open_call(NewCall { state, arguments, admitted_at, ..call(n) }).await.unwrap();
    }
    let sizes = async |most, bytes| {
        let (ann, device) = (user("ann"), device_id(1));
        let found = place.store.admitted_calls(&ann, device, 0, call_id(99), most, bytes).await;
        found.unwrap().into_iter().map(|row| row.arguments.len()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(10, 0).await, [0, 0, 0]);
    assert_eq!(sizes(10, 250).await, [100, 100, 0]);
    assert_eq!(sizes(2, 1_000).await, [100, 100]);
}
