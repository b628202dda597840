//! Which connection makes room for which, and what closes one.

use super::*;
use crate::listen::frames::{Frame, FrameKind};

fn source(n: u8) -> Source {
    Source::Address([192, 0, 2, n].into())
}

fn ann() -> Owner {
    Owner::Person("ann".parse().unwrap())
}

fn table(per_address: usize, anonymous: usize, total: usize) -> Arc<ConnectionTable> {
    let limits =
        ConnectionLimits { anonymous, per_owner: 2, ..ConnectionLimits::new(total, per_address) };
    ConnectionTable::new(limits)
}

/// Returns why each connection was closed, if it was.
fn closed(connections: &[Admission]) -> Vec<Option<CloseReason>> {
    connections.iter().map(|connection| connection.state().closed_for()).collect()
}

#[test]
fn an_address_that_has_its_share_makes_room_for_itself_and_what_has_asked_stays_longest() {
    let (table, now) = (table(3, 100, 100), Instant::now());
    let from = |n| table.admit(source(n), now).unwrap();
    let held = [from(1), from(1), from(1)];
    held[0].state().works();
    let (other, newer) = (from(2), from(1));
    assert_eq!(closed(&held), [None, Some(CloseReason::NoRoom), None]);
    let newest = [from(1), from(1), from(1)];
    assert_eq!(closed(&held), [None, Some(CloseReason::NoRoom), Some(CloseReason::NoRoom)]);
    assert_eq!(closed(&newest), [Some(CloseReason::NoRoom), None, None]);
    assert_eq!(closed(&[other, newer]), [None, Some(CloseReason::NoRoom)]);
}

#[test]
fn where_all_is_taken_the_address_that_has_most_makes_room() {
    let (table, now) = (table(10, 4, 100), Instant::now());
    let from = |n| table.admit(source(n), now).unwrap();
    let held = [from(1), from(2), from(2), from(2)];
    let newest = from(3);
    assert_eq!(closed(&held), [None, Some(CloseReason::NoRoom), None, None]);
    assert_eq!(newest.state().closed_for(), None);
}

#[test]
fn what_belongs_to_somebody_makes_room_for_nobody_and_no_one_keeps_more_than_their_part() {
    let (table, now) = (table(10, 10, 3), Instant::now());
    let from = |n| table.admit(source(n), now).unwrap();
    let of_ann = [from(1), from(1), from(1)];
    of_ann.iter().for_each(|connection| connection.belongs_to(&ann()));
    let signed_in = of_ann.each_ref().map(|connection| connection.state().is_signed_in());
    assert_eq!(signed_in, [true, true, false]);
    let flooder = from(1);
    assert_eq!(closed(&of_ann), [None, None, Some(CloseReason::NoRoom)]);
    flooder.belongs_to(&Owner::Person("bob".parse().unwrap()));
    assert!(table.admit(source(2), now).is_none(), "somebody who is known made room");
    drop(flooder);
    assert!(table.admit(source(2), now).is_some());
}

#[test]
fn nobody_makes_room_before_the_grace_is_over() {
    let limits =
        ConnectionLimits { grace: Duration::from_secs(1), ..ConnectionLimits::new(100, 1) };
    let (table, now) = (ConnectionTable::new(limits), Instant::now());
    let first = table.admit(source(1), now).unwrap();
    assert!(table.admit(source(1), now + Duration::from_millis(999)).is_none());
    assert!(table.admit(source(1), now + Duration::from_secs(1)).is_some());
    assert_eq!(first.state().closed_for(), Some(CloseReason::NoRoom));
}

#[test]
fn a_table_forgets_what_is_over() {
    let (table, now) = (table(10, 10, 10), Instant::now());
    let held: Vec<_> = (0..5).map(|n| table.admit(source(n), now).unwrap()).collect();
    held[0].belongs_to(&ann());
    drop(held);
    table.sweep(Instant::now() + PEER_TTL);
    let open = table.open();
    assert_eq!((open.anonymous, open.connections.len(), open.by_owner.len()), (0, 0, 0));
    assert!(open.peers.is_empty());
}

#[test]
fn where_too_much_is_refused_a_connection_is_lost_and_nobody_pays_for_others() {
    let (table, now) = (table(10, 10, 10), Instant::now());
    let connections = [(); 3].map(|()| table.admit(source(1), now).unwrap());
    connections[0].belongs_to(&ann());
    for _ in 0..REFUSED_BURST.get() {
        connections[1].refused(false);
    }
    assert_eq!(closed(&connections), [None, None, None]);
    for _ in 0..100 {
        connections[0].refused(false);
        connections[2].refused(false);
    }
    assert_eq!(closed(&connections), [None, None, Some(CloseReason::Refused)]);
    for is_misuse in [false, true] {
        assert_eq!(closed(&connections)[0], None);
        for _ in 0..2 * KNOWN_REFUSED_BURST.get() {
            connections[0].refused(!is_misuse);
        }
    }
    assert_eq!(closed(&connections)[0], Some(CloseReason::Refused));
}

#[test]
fn an_address_that_misused_a_connection_waits_on_its_next_ones_for_a_while() {
    let (table, now) = (table(10, 10, 10), Instant::now());
    let from = |n, at| table.admit(source(n), at).unwrap();
    let ended = |connection: Admission, reason| connection.state().close(reason);
    ended(from(1, now), CloseReason::Idle);
    assert_eq!(from(1, now).delay(), None);
    ended(from(1, now), CloseReason::Frames);
    let delay = from(1, now).delay().unwrap();
    assert!((PENALTY_DELAY..2 * PENALTY_DELAY).contains(&delay), "{delay:?}");
    assert_eq!(from(2, now).delay(), None);
    assert_eq!(from(1, Instant::now() + PENALTY).delay(), None);
}

#[test]
fn each_wait_has_its_end() {
    let limits = ConnectionLimits::default();
    let now = Instant::now();
    let after = |long: Duration| now + long;
    let ended = |what: &dyn Fn(&ConnectionState), is_known: bool, at: Instant| {
        let state = ConnectionState::new(now);
        what(&state);
        state.check(is_known, at, &limits);
        state.check(is_known, at + limits.drain, &limits);
        state.closed_for()
    };
    let spoke = |state: &ConnectionState| state.spoke();
    let just_before =
        |long: Duration| after(long.saturating_sub(limits.drain + Duration::from_millis(1)));

    assert_eq!(ended(&|_| (), false, after(limits.preface)), Some(CloseReason::Preface));
    assert_eq!(ended(&spoke, false, just_before(limits.idle)), None);
    assert_eq!(ended(&spoke, false, after(limits.idle)), Some(CloseReason::Idle));
    assert_eq!(ended(&spoke, true, just_before(limits.idle_known)), None);
    assert_eq!(ended(&spoke, true, after(limits.idle_known)), Some(CloseReason::Idle));

    let works = |state: &ConnectionState| {
        state.spoke();
        state.works();
    };
    let long = after(Duration::from_secs(86_400));
    assert_eq!(ended(&works, true, long), None, "a stream that waits is not idle");

    let blocked = |state: &ConnectionState| {
        works(state);
        state.wrote(true, now);
    };
    assert_eq!(ended(&blocked, true, just_before(limits.write)), None);
    assert_eq!(ended(&blocked, true, after(limits.write)), Some(CloseReason::Write));
    let moved = |state: &ConnectionState| {
        blocked(state);
        state.wrote(false, now);
    };
    assert_eq!(ended(&moved, true, long), None);

    let opens = |state: &ConnectionState, streams: u32| {
        for stream in 0..streams {
            let (kind, stream) = (FrameKind::Headers, 2 * stream + 1);
            let frame = Frame { kind, len: 0, ends_stream: true, stream };
            assert!(state.with_streams(|streams| streams.received(frame, now)));
        }
    };
    let worked_on = |state: &ConnectionState| {
        works(state);
        opens(state, 1);
    };
    assert_eq!(ended(&worked_on, true, long), None);
    let not_taken = |state: &ConnectionState| {
        works(state);
        opens(state, 2);
    };
    assert_eq!(ended(&not_taken, true, just_before(limits.answer)), None);
    assert_eq!(ended(&not_taken, true, after(limits.answer)), Some(CloseReason::Answer));
}
