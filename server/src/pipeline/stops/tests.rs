//! Tests of which calls a stop covers, who lifts it, and of a stop at the same moment as calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use uuid::Uuid;

use super::*;

fn user(name: &str) -> UserName {
    name.parse().unwrap()
}

fn device(n: u128) -> DeviceId {
    DeviceId::new(Uuid::from_u128(n))
}

fn caller(name: &str, role: Role) -> Caller {
    Caller { user: user(name), role, conversation: None }
}

fn stop(of: Option<&str>, on: Option<u128>, by: &str) -> StopRow {
    StopRow {
        scope: StopScope { user: of.map(user), device: on.map(device) },
        device_name: on.map(|_| "kiosk".parse().unwrap()),
        by: user(by),
        at: 1_700_000_000_000,
        reason: String::new(),
    }
}

async fn opened() -> (tempfile::TempDir, Store, Stops) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("orion.db")).await.unwrap();
    let stops = Stops::load(&store).await.unwrap();
    (dir, store, stops)
}

#[tokio::test]
async fn a_stop_covers_its_person_and_its_device_and_nothing_else() {
    for (of, on, covered) in [
        (None, None, [true, true, true, true]),
        (None, Some(1), [true, false, true, false]),
        (Some("ann"), None, [true, true, false, false]),
        (Some("ann"), Some(1), [true, false, false, false]),
    ] {
        let (_dir, store, stops) = opened().await;
        stops.add(&store, stop(of, on, "admin")).await.unwrap();
        let calls = [("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2)];
        let is_refused = calls.map(|(name, on)| stops.refusal(&user(name), device(on)).is_some());
        assert_eq!(is_refused, covered, "{of:?} {on:?}");
        let is_sent = calls.map(|(name, on)| stops.pass(&user(name), device(on)).is_ok());
        assert_eq!(is_sent, covered.map(|it| !it));
        let again = Stops::load(&store).await.unwrap();
        assert_eq!(again.refusal(&user("ann"), device(1)), stops.refusal(&user("ann"), device(1)));
    }
}

#[tokio::test]
async fn a_refusal_says_who_stopped_what_when_and_how_it_goes_on() {
    let (_dir, store, stops) = opened().await;
    stops.add(&store, stop(Some("ann"), Some(1), "ann")).await.unwrap();
    let own = stops.refusal(&user("ann"), device(1)).unwrap();
    assert_eq!(own.message, "ann stopped the calls of ann on kiosk at 2023-11-14 22:13:20 UTC.");
    assert_eq!(own.hints[0].command.as_deref(), Some("orion resume kiosk"));
    stops.add(&store, stop(None, None, "admin")).await.unwrap();
    let wide = stops.refusal(&user("ann"), device(1)).unwrap();
    assert_eq!(wide.message, "admin stopped all calls at 2023-11-14 22:13:20 UTC.");
    assert_eq!(wide.hints[0].command.as_deref(), Some("orion resume --all"));
}

#[tokio::test]
async fn a_person_lifts_their_own_stops_and_an_admin_any() {
    let (_dir, store, stops) = opened().await;
    let (ann, admin) = (caller("ann", Role::Operator), caller("admin", Role::Admin));
    for set in [
        stop(None, None, "admin"),
        stop(Some("ann"), None, "admin"),
        stop(Some("ann"), Some(1), "ann"),
        stop(Some("bob"), None, "bob"),
    ] {
        assert!(stops.add(&store, set).await.unwrap().1);
    }
    assert_eq!(stops.visible(&ann).len(), 3, "what covers bob only is not shown");
    let of_ann = StopScope { user: Some(user("ann")), device: None };
    let lifted = stops.lift(&store, &ann, &of_ann).await.unwrap();
    assert_eq!(lifted, [stop(Some("ann"), Some(1), "ann")]);
    assert_eq!(stops.lift(&store, &ann, &of_ann).await.unwrap(), []);
    let everybodys = StopScope { user: None, device: None };
    assert_eq!(stops.lift(&store, &ann, &everybodys).await.unwrap(), []);
    assert_eq!(stops.lift(&store, &admin, &of_ann).await.unwrap().len(), 1);
    assert_eq!(stops.lift(&store, &admin, &everybodys).await.unwrap().len(), 1);
    assert!(stops.refusal(&user("ann"), device(1)).is_none());
    assert!(stops.refusal(&user("bob"), device(1)).is_some());
    assert_eq!(store.stops().await.unwrap(), [stop(Some("bob"), None, "bob")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn from_the_moment_that_a_stop_is_set_no_call_is_sent() {
    let (_dir, store, stops) = opened().await;
    let (stops, sent) = (Arc::new(stops), Arc::new(AtomicUsize::new(0)));
    let is_over = Arc::new(AtomicBool::new(false));
    let senders: Vec<_> = (0..4)
        .map(|_| {
            let (stops, sent, over) = (Arc::clone(&stops), Arc::clone(&sent), Arc::clone(&is_over));
            std::thread::spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    if let Ok(_unstopped) = stops.pass(&user("ann"), device(1)) {
                        // A call is sent between the check and the end of the right to send it.
                        std::thread::yield_now();
                        sent.fetch_add(1, Ordering::SeqCst);
                    }
                }
            })
        })
        .collect();
    let admin = caller("admin", Role::Admin);
    for _ in 0..50 {
        let before = sent.load(Ordering::SeqCst);
        while sent.load(Ordering::SeqCst) == before {
            tokio::task::yield_now().await;
        }
        stops.add(&store, stop(None, None, "admin")).await.unwrap();
        let at_stop = sent.load(Ordering::SeqCst);
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        assert_eq!(sent.load(Ordering::SeqCst), at_stop);
        let all = StopScope { user: None, device: None };
        stops.lift(&store, &admin, &all).await.unwrap();
    }
    is_over.store(true, Ordering::SeqCst);
    for sender in senders {
        sender.join().unwrap();
    }
}
