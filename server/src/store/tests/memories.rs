//! Memories: per person, bounded, found by their words, and written with the effect of their call.

use super::*;
use crate::store::{
    LocalEffect, MAX_MEMORIES, MAX_MEMORY_BYTES, MemoryFilter, MemoryRow, StoreError,
};

fn memory(person: &str, number: u128, text: &str, tags: &[&str]) -> MemoryRow {
    MemoryRow {
        id: call_id(number),
        user: user(person),
        text: text.to_owned(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        untrusted: number.is_multiple_of(2),
        created_at: 1,
        score: 0,
    }
}

fn effect(number: u128) -> LocalEffect {
    LocalEffect { call: call_id(number), outcome: format!("{number}") }
}

async fn with_people(people: &[&str]) -> Place {
    let place = Place::new().await;
    for person in people {
        let (person, by) = (user(person), user("admin"));
        place.store.create_user(&person, Role::Operator, None, &by, 1).await.unwrap();
    }
    place
}

/// Returns the texts of what a person finds.
async fn found(place: &Place, person: &str, filter: MemoryFilter) -> Vec<String> {
    let rows = place.store.memories(&user(person), &filter).await.unwrap();
    rows.into_iter().map(|row| row.text).collect()
}

fn filter(query: &str, tags: &[&str]) -> MemoryFilter {
    let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    MemoryFilter { query: query.to_owned(), tags, trusted_only: false, limit: 10 }
}

#[tokio::test]
async fn memories_are_found_by_their_words_and_tags_and_by_their_person_alone() {
    let place = with_people(&["ann", "bob"]).await;
    let (nas, cafe, shop) =
        ("Backups run on nas-1.", "The Café opens at nine.", "Buy milk. Backup!");
    for (number, person, text, tags) in [
        (1, "ann", nas, vec!["backup", "nas"]),
        (2, "ann", cafe, vec!["food"]),
        (3, "ann", shop, vec!["food", "nas"]),
        (4, "bob", "Backups of bob.", vec!["backup"]),
    ] {
        let memory = memory(person, number, text, &tags);
        assert!(place.store.add_memory(&memory, &effect(number)).await.unwrap());
    }
    for (query, tags, texts) in [
        ("", vec![], vec![shop, cafe, nas]),
        ("cafe", vec![], vec![cafe]),
        ("nas \"backup* OR (", vec!["backup"], vec![nas]),
        ("milk", vec!["food", "nas"], vec![shop]),
        ("milk", vec!["food", "backup"], vec![]),
        ("", vec!["food"], vec![shop, cafe]),
        ("bob", vec![], vec![]),
        ("zebra", vec![], vec![]),
    ] {
        assert_eq!(found(&place, "ann", filter(query, &tags)).await, texts, "{query} {tags:?}");
    }
    let best = found(&place, "ann", filter("backup milk", &[])).await;
    assert_eq!(best, [shop, nas], "that with more of the words is first");
    let trusted = MemoryFilter { trusted_only: true, ..filter("", &[]) };
    assert_eq!(found(&place, "ann", trusted).await, [shop, nas]);
    assert_eq!(found(&place, "bob", filter("backups", &[])).await, ["Backups of bob."]);
}

#[tokio::test]
async fn a_person_has_room_for_so_many_memories_and_bytes_and_forgetting_makes_room() {
    let place = with_people(&["ann", "bob"]).await;
    let store = &place.store;
    let most = u128::try_from(MAX_MEMORIES).unwrap();
    for number in 0..most {
        assert!(store.add_memory(&memory("ann", number, "w", &[]), &effect(number)).await.unwrap());
    }
    let next = memory("ann", most, "w", &[]);
    assert!(!store.add_memory(&next, &effect(most)).await.unwrap());
    assert_eq!(store.local_effect(call_id(most)).await.unwrap(), None, "nothing is left of it");
    let large = "x".repeat(usize::try_from(MAX_MEMORY_BYTES).unwrap());
    let large = memory("bob", most + 1, &large, &["t"]);
    assert!(!store.add_memory(&large, &effect(most + 1)).await.unwrap());

    let id = call_id(7).to_string();
    let other = store.forget_memory(&user("bob"), &id, 5).await;
    assert_eq!(other, Err(StoreError::NotFound), "it is another person's");
    let several = store.forget_memory(&user("ann"), &id[..8], 5).await;
    assert_eq!(several, Err(StoreError::Ambiguous));
    let forgotten = store.forget_memory(&user("ann"), &id, 5).await.unwrap();
    assert_eq!(forgotten, memory("ann", 7, "w", &[]));
    assert!(store.add_memory(&next, &effect(most)).await.unwrap());
    let last = place.audit().await.pop().unwrap();
    assert_eq!(last, ("memory.forgotten".to_owned(), json!({"user": "ann", "memory": id})));

    store.delete_user(&user("ann"), &user("bob"), 9).await.unwrap();
    assert_eq!(found(&place, "ann", filter("w", &[])).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_call_has_its_effect_once_and_what_is_settled_is_forgotten() {
    let place = with_people(&["ann"]).await;
    let store = &place.store;
    let first = memory("ann", 1, "once", &[]);
    assert!(store.add_memory(&first, &effect(1)).await.unwrap());
    let again = MemoryRow { text: "twice".to_owned(), ..first };
    assert!(store.add_memory(&again, &effect(1)).await.is_err());
    assert_eq!(found(&place, "ann", filter("", &[])).await, ["once"]);
    assert_eq!(store.local_effect(call_id(1)).await.unwrap().as_deref(), Some("1"));
    // A call that is not stored at all is not settled.
    store.forget_settled_effects().await.unwrap();
    assert!(store.local_effect(call_id(1)).await.unwrap().is_some());
    store.forget_local_effect(call_id(1)).await.unwrap();
    assert_eq!(store.local_effect(call_id(1)).await.unwrap(), None);
}
