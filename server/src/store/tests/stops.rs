//! Stops: stored once for each scope with their audit event, kept over a restart, and the calls that they cover.

use super::*;
use crate::store::{StopRow, StopScope};

fn stop(of: Option<&str>, on: Option<u128>, by: &str, at: i64) -> StopRow {
    StopRow {
        scope: StopScope { user: of.map(user), device: on.map(device_id) },
        device_name: on.map(|_| "kiosk".parse().unwrap()),
        by: user(by),
        at,
        reason: "too fast".to_owned(),
    }
}

#[tokio::test]
async fn a_stop_is_stored_once_with_its_event_and_survives_a_restart() {
    let disk = Place::new().await;
    let (all, anns) = (stop(None, None, "admin", 5), stop(Some("ann"), Some(1), "ann", 6));
    for stop in [&all, &anns] {
        assert!(disk.store.set_stop(stop).await.unwrap());
        assert!(!disk.store.set_stop(&StopRow { at: 9, ..stop.clone() }).await.unwrap());
    }
    let disk = disk.reopened().await;
    assert_eq!(disk.store.stops().await.unwrap(), [all.clone(), anns.clone()]);
    assert!(
        !disk.store.lift_stop(&StopRow { at: 9, ..all.clone() }, &user("admin"), 10).await.unwrap()
    );
    assert!(disk.store.lift_stop(&all, &user("admin"), 10).await.unwrap());
    assert!(!disk.store.lift_stop(&all, &user("admin"), 11).await.unwrap());
    assert_eq!(disk.store.stops().await.unwrap(), [anns]);
    let audit = disk.audit().await;
    let kinds: Vec<_> = audit.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["calls.stopped", "calls.stopped", "calls.resumed"]);
    assert_eq!(
        audit[0].1,
        json!({"user": null, "device": null, "device_id": null, "by": "admin", "reason": "too fast"})
    );
    assert_eq!(audit[1].1["device"], "kiosk");
    assert_eq!(audit[2].1["by"], "admin");
}

#[tokio::test]
async fn a_stop_of_ones_own_calls_gives_way_to_one_of_somebody_else_and_not_the_other_way() {
    let disk = Place::new().await;
    let (own, admins) = (stop(Some("ann"), None, "ann", 5), stop(Some("ann"), None, "admin", 6));
    assert!(disk.store.set_stop(&own).await.unwrap());
    assert!(disk.store.set_stop(&admins).await.unwrap());
    assert!(!disk.store.set_stop(&StopRow { at: 7, ..own.clone() }).await.unwrap());
    assert!(!disk.store.lift_stop(&own, &user("ann"), 8).await.unwrap());
    assert_eq!(disk.store.stops().await.unwrap(), [admins]);
}

#[tokio::test]
async fn a_stop_covers_open_calls_of_its_person_on_its_device() {
    let disk = Place::new().await;
    disk.store.open_call(call(1)).await.unwrap();
    let of_bob = NewCall { caller: Caller { user: user("bob"), ..call(2).caller }, ..call(2) };
    disk.store.open_call(of_bob).await.unwrap();
    let elsewhere = Some((device_id(2), "laptop".parse().unwrap()));
    disk.store.open_call(NewCall { device: elsewhere, ..call(3) }).await.unwrap();
    disk.store.open_call(call(4)).await.unwrap();
    assert!(disk.store.close_call(close(4, CallState::Denied), ClosedBy::Backend).await.unwrap());
    let covered = async |of: Option<&str>, on: Option<u128>, after: Option<u128>| {
        let scope = StopScope { user: of.map(user), device: on.map(device_id) };
        let rows = disk.store.covered_calls(&scope, after.map(call_id), 0).await.unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(covered(None, None, None).await, [1, 2, 3].map(call_id));
    assert_eq!(covered(None, None, Some(1)).await, [2, 3].map(call_id));
    assert_eq!(covered(None, Some(1), None).await, [1, 2].map(call_id));
    assert_eq!(covered(Some("ann"), None, None).await, [1, 3].map(call_id));
    assert_eq!(covered(Some("ann"), Some(2), None).await, [3].map(call_id));
}
