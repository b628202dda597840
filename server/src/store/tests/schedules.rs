//! Tasks: bounded for each person, and each time claimed once.

use serde_json::Map;

use super::*;
use crate::store::{LocalEffect, MAX_SCHEDULES, NewScheduleError, ScheduleRow, ScheduleState};

fn task(person: &str, number: u128, name: &str) -> ScheduleRow {
    ScheduleRow {
        id: call_id(number),
        user: user(person),
        role: Role::Operator,
        name: name.to_owned(),
        times: "every 1h".to_owned(),
        timezone: "UTC".to_owned(),
        tool: "calculate".to_owned(),
        device: None,
        arguments: Map::new(),
        tainted: false,
        token: None,
        created_at: 1,
        next_at: Some(100),
        last_at: None,
        last_call: None,
        ended_at: None,
        ended_by: None,
    }
}

fn effect(number: u128) -> LocalEffect {
    LocalEffect { call: call_id(number), outcome: "{}".to_owned() }
}

#[tokio::test]
async fn of_those_who_claim_a_time_together_one_gets_it() {
    let place = Place::new().await;
    let store = &place.store;
    store.create_user(&user("ann"), Role::Operator, None, &user("admin"), 1).await.unwrap();
    let row = task("ann", 1, "a");
    store.add_schedule(&row, &effect(1)).await.unwrap();
    assert_eq!(store.due_schedules(99).await.unwrap(), []);
    let [due] = &store.due_schedules(100).await.unwrap()[..] else { panic!("one is due") };
    assert_eq!(*due, row);
    // Several processes have read the same row.
    let claims = (2..12).map(|number| {
        let (store, due) = (store.clone(), due.clone());
        tokio::spawn(
            async move { store.claim_schedule(&due, call_id(number), Some(200), 101).await },
        )
    });
    let mut won = 0;
    for claim in claims.collect::<Vec<_>>() {
        won += usize::from(claim.await.unwrap().unwrap());
    }
    assert_eq!(won, 1);
    assert!(!store.skip_schedule(due, Some(300), 102).await.unwrap(), "its time was claimed");
    let [claimed] = &store.schedules(None, "").await.unwrap()[..] else { panic!("one task") };
    assert_eq!((claimed.next_at, claimed.last_at), (Some(200), Some(100)));
    assert_eq!(store.claimed_schedules().await.unwrap(), std::slice::from_ref(claimed));
    let ran = place.audit().await;
    assert_eq!(ran.iter().filter(|(kind, _)| kind == "schedule.ran").count(), 1);

    // The last time ends it, and a cancelled one is not claimed.
    assert!(store.claim_schedule(claimed, call_id(20), None, 201).await.unwrap());
    let done = store.schedules(Some(&user("ann")), "").await.unwrap().remove(0);
    assert_eq!((done.state(), done.next_at), (ScheduleState::Done, None));
    assert!(!store.cancel_schedule(&done, &user("ann"), None, 202).await.unwrap());
    let row = task("ann", 3, "b");
    store.add_schedule(&row, &effect(3)).await.unwrap();
    assert!(store.cancel_schedule(&row, &user("ann"), None, 203).await.unwrap());
    assert!(!store.claim_schedule(&row, call_id(21), Some(300), 204).await.unwrap());
}

#[tokio::test]
async fn a_person_has_so_many_tasks_with_a_name_each() {
    let place = Place::new().await;
    let store = &place.store;
    for person in ["ann", "bob"] {
        store.create_user(&user(person), Role::Operator, None, &user("admin"), 1).await.unwrap();
    }
    let most = u128::try_from(MAX_SCHEDULES).unwrap();
    for number in 0..most {
        let row = task("ann", number + 1, &number.to_string());
        store.add_schedule(&row, &effect(number + 1)).await.unwrap();
    }
    let full = store.add_schedule(&task("ann", 90, "more"), &effect(90)).await;
    assert_eq!(full, Err(NewScheduleError::Full));
    store.add_schedule(&task("bob", 91, "0"), &effect(91)).await.unwrap();
    let first = task("ann", 1, "0");
    assert!(store.cancel_schedule(&first, &user("ann"), None, 5).await.unwrap());
    let taken = store.add_schedule(&task("ann", 92, "1"), &effect(92)).await;
    assert_eq!(taken, Err(NewScheduleError::NameInUse));
    store.add_schedule(&task("ann", 93, "0"), &effect(93)).await.unwrap();
    // What ended long ago is deleted with the next task.
    assert_eq!(store.schedules(Some(&user("ann")), "").await.unwrap().len(), 51);
    store.cancel_schedule(&task("ann", 2, "1"), &user("ann"), None, 6).await.unwrap();
    let later = ScheduleRow { created_at: 31 * 86_400_000, ..task("ann", 94, "later") };
    store.add_schedule(&later, &effect(94)).await.unwrap();
    assert_eq!(store.schedules(Some(&user("ann")), "").await.unwrap().len(), 50);
    store.delete_user(&user("ann"), &user("admin"), 9).await.unwrap();
    assert_eq!(store.schedules(None, "").await.unwrap().len(), 1);
}
