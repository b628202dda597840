//! People, tokens and conversations.

use super::*;
use crate::store::{MessageRow, StoreError};

#[tokio::test]
async fn there_is_one_first_admin_however_many_try() {
    let place = Place::new().await;
    assert_eq!(place.store.has_users().await, Ok(false));
    let mut tries = Vec::new();
    for n in 0..20 {
        let store = place.store.clone();
        tries.push(tokio::spawn(async move {
            store.create_first_admin(&user(&format!("admin{n}")), Some("hash".to_owned()), 1).await
        }));
    }
    let mut made = 0;
    for one in tries {
        match one.await.unwrap() {
            Ok(()) => made += 1,
            Err(error) => assert_eq!(error, StoreError::Conflict),
        }
    }
    assert_eq!(made, 1);
    assert_eq!(place.store.has_users().await, Ok(true));
    assert_eq!(place.kinds().await, ["user.created"]);
}

#[tokio::test]
async fn a_token_stands_for_its_person_while_it_is_good() {
    let place = Place::new().await;
    let store = &place.store;
    let admin = user("admin");
    store.create_first_admin(&admin, None, 1).await.unwrap();
    let row = store.user(&admin).await.unwrap();
    assert_eq!((row.name, row.role, row.password_hash), (admin.clone(), Role::Admin, None));
    assert_eq!(store.user(&user("bob")).await, Err(StoreError::NotFound));

    let token = Digest::of(b"token");
    store.create_token(&admin, token, "session", 100, 10).await.unwrap();
    assert_eq!(store.token(token, 99).await, Ok(Some((admin.clone(), Role::Admin))));
    assert_eq!(store.token(token, 100).await, Ok(None));
    assert_eq!(store.token(Digest::of(b"other"), 50).await, Ok(None));
    let twice = store.create_token(&admin, token, "session", 100, 10).await;
    assert_eq!(twice, Err(StoreError::Conflict));
    let nobody = store.create_token(&user("bob"), Digest::of(b"b"), "session", 100, 10).await;
    assert_eq!(nobody, Err(StoreError::Conflict));
    // An expired token makes room for its like.
    store.create_token(&admin, token, "session", 200, 150).await.unwrap();
    store.audit_event("auth.failed", json!({"user": "bob"}), 160).await.unwrap();
    assert_eq!(
        place.kinds().await,
        ["user.created", "token.created", "token.created", "auth.failed"]
    );
    assert!(!format!("{:?}", store.user(&admin).await).contains("password"));
}

#[tokio::test]
async fn a_conversation_is_read_by_its_owner_alone() {
    let place = Place::new().await;
    let (store, id) = (&place.store, conversation_id(1));
    store.create_conversation(id, &user("ann"), 1).await.unwrap();
    store.append_message(id, "user", r#"{"text":"hello"}"#, 2).await.unwrap();
    store.append_message(id, "assistant", r#"{"text":"hi"}"#, 3).await.unwrap();
    let said = |role: &str, text: &str, at| MessageRow {
        role: role.to_owned(),
        content: json!({ "text": text }).to_string(),
        at,
    };
    let all = vec![said("user", "hello", 2), said("assistant", "hi", 3)];
    assert_eq!(store.messages(id, &user("ann")).await, Ok(all));
    assert_eq!(store.messages(id, &user("bob")).await, Err(StoreError::NotFound));
    assert_eq!(store.owns_conversation(id, &user("ann")).await, Ok(true));
    assert_eq!(store.owns_conversation(id, &user("bob")).await, Ok(false));
    let no = Err(StoreError::Conflict);
    assert_eq!(store.append_message(conversation_id(2), "user", "{}", 4).await, no);
    assert_eq!(store.append_message(id, "system", "{}", 4).await, no);
    assert_eq!(store.create_conversation(id, &user("bob"), 4).await, no);
}

#[tokio::test]
async fn of_a_long_conversation_the_newest_messages_are_given() {
    let place = Place::new().await;
    let id = conversation_id(1);
    place.store.create_conversation(id, &user("ann"), 0).await.unwrap();
    for at in 1..=510 {
        place.store.append_message(id, "user", "{}", at).await.unwrap();
    }
    let messages = place.store.messages(id, &user("ann")).await.unwrap();
    assert_eq!(
        messages.iter().map(|message| message.at).collect::<Vec<_>>(),
        (11..=510).collect::<Vec<_>>()
    );
}
