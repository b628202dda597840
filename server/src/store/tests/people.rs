//! People, tokens and conversations.

use orion_domain::TurnId;

use super::*;
use crate::store::{
    ChangeUserError, LinkedSession, MessageRow, NewToken, SessionsAfter, StoreError, TokenError,
    TokenFilter,
};

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

fn new_token(name: &str, kind: &str, expires_at: i64) -> NewToken {
    NewToken {
        user: user("admin"),
        hash: Digest::of(name.as_bytes()),
        kind: kind.parse().unwrap(),
        name: if kind == "session" { String::new() } else { name.to_owned() },
        created_by: None,
        expires_at,
    }
}

/// A store with an admin, and an operator called bob.
async fn peopled() -> Place {
    let place = Place::new().await;
    let admin = user("admin");
    let hash = || Some("hash".to_owned());
    place.store.create_first_admin(&admin, hash(), 1).await.unwrap();
    let made = place.store.create_user(&user("bob"), Role::Operator, hash(), &admin, 2).await;
    assert_eq!(made, Ok(()));
    place
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

    let session = new_token("token", "session", 100);
    let token = session.hash;
    let made = store.create_token(session.clone(), 10).await.unwrap();
    assert_eq!((made.created_at, made.last_used_at), (10, None));
    assert_eq!(store.token(token, 99).await, Ok(Some((made, Role::Admin))));
    assert_eq!(store.token(token, 100).await, Ok(None));
    assert_eq!(store.token(Digest::of(b"other"), 50).await, Ok(None));
    let twice = store.create_token(session.clone(), 10).await;
    assert_eq!(twice, Err(TokenError::Store(StoreError::Conflict)));
    let nobody = NewToken { user: user("bob"), ..new_token("b", "session", 100) };
    assert_eq!(store.create_token(nobody, 10).await, Err(TokenError::NoUser));
    // An expired token is replaced by one of the same kind.
    store.create_token(NewToken { expires_at: 200, ..session }, 150).await.unwrap();
    store.audit_event("auth.failed", json!({"user": "bob"}), 160).await.unwrap();
    assert_eq!(
        place.kinds().await,
        ["user.created", "token.created", "token.created", "auth.failed"]
    );
    assert!(!format!("{:?}", store.user(&admin).await).contains("password"));
}

#[tokio::test]
async fn a_tokens_use_is_recorded_once_a_minute() {
    let place = peopled().await;
    let (store, token) = (&place.store, new_token("ci", "read", 1_000_000));
    store.create_token(token.clone(), 10).await.unwrap();
    let used = async |now| {
        store.token_used(token.hash, now).await.unwrap();
        store.token(token.hash, now).await.unwrap().unwrap().0.last_used_at
    };
    assert_eq!(used(1_000).await, Some(1_000));
    assert_eq!(used(60_999).await, Some(1_000));
    assert_eq!(used(61_000).await, Some(61_000));
}

#[tokio::test]
async fn api_tokens_have_names_of_their_own_and_are_not_without_number() {
    let place = peopled().await;
    let store = &place.store;
    for n in 0..100 {
        let token = new_token(&format!("t{n}"), "read call", 1_000);
        store.create_token(token, 10).await.unwrap();
    }
    let one_more = store.create_token(new_token("t100", "read", 1_000), 10).await;
    assert_eq!(one_more, Err(TokenError::TooMany));
    let twice = store.create_token(new_token("t0", "read", 1_000), 10).await;
    assert_eq!(twice, Err(TokenError::Taken));
    let bobs = NewToken {
        user: user("bob"),
        hash: Digest::of(b"bobs"),
        created_by: Some(user("admin")),
        ..new_token("t0", "read", 1_000)
    };
    store.create_token(bobs, 10).await.unwrap();

    let ambiguous = store.revoke_token("t0", None, &user("admin"), 20).await;
    assert_eq!(ambiguous, Err(StoreError::Ambiguous));
    let gone = store.revoke_token("t0", Some(&user("bob")), &user("admin"), 20).await.unwrap();
    assert_eq!(gone.hash, Digest::of(b"bobs"));
    assert_eq!(store.token(gone.hash, 21).await, Ok(None));
    let id = Digest::of(b"t1").to_string();
    let front = store.revoke_token(&id[..6], Some(&user("admin")), &user("admin"), 20).await;
    assert_eq!(front.unwrap().name, "t1");
    for nothing in ["", "t1", &id[..3], "%", "session"] {
        let found = store.revoke_token(nothing, None, &user("admin"), 20).await;
        assert_eq!(found, Err(StoreError::NotFound), "{nothing:?}");
    }
    let listed = store.tokens(TokenFilter { user: Some(user("admin")), sessions: true }).await;
    assert_eq!(listed.unwrap().len(), 99);
}

#[tokio::test]
async fn of_a_persons_sessions_the_newest_hundred_stay() {
    let place = peopled().await;
    let store = &place.store;
    for n in 0..102_i64 {
        let token = new_token(&format!("s{n}"), "session", 10_000);
        store.create_token(token, n).await.unwrap();
    }
    assert_eq!(store.token(Digest::of(b"s1"), 200).await, Ok(None));
    assert!(store.token(Digest::of(b"s2"), 200).await.unwrap().is_some());
    let account = store.account(&user("admin"), 200).await.unwrap();
    assert_eq!((account.sessions, account.tokens), (100, 0));
}

#[tokio::test]
async fn a_session_by_a_link_needs_the_session_that_made_it_and_ends_no_later() {
    let place = peopled().await;
    let store = &place.store;
    for (name, kind, ends) in
        [("short", "session", 100), ("long", "session", 9_000), ("ci", "read", 9_000)]
    {
        store.create_token(new_token(name, kind, ends), 10).await.unwrap();
    }
    let by = async |maker: &str, name: &str, now| {
        let hash = |name: &str| Digest::of(name.as_bytes());
        let (hash, maker) = (hash(name), hash(maker));
        let session = LinkedSession { hash, maker, expires_at: 500, source: "here".to_owned() };
        store.create_linked_session(session, now).await.map(|row| (row.user, row.expires_at))
    };
    assert_eq!(by("short", "a", 20).await, Ok((user("admin"), 100)));
    assert_eq!(by("long", "b", 20).await, Ok((user("admin"), 500)));
    let rows = place.audit().await;
    let signed_in = json!({"user": "admin", "from": "here", "link": true});
    assert_eq!(rows[rows.len() - 2], ("auth.signed_in".to_owned(), signed_in));
    assert_eq!(rows[rows.len() - 1].0, "token.created");
    // No token, no session that has ended and none that never was lets anybody in.
    for (maker, now) in [("ci", 20), ("short", 100), ("none", 20)] {
        assert_eq!(by(maker, "c", now).await, Err(TokenError::NoUser), "{maker}");
    }
    store.sign_out(&user("admin"), None, 30).await.unwrap();
    assert_eq!(by("long", "d", 40).await, Err(TokenError::NoUser));
}

#[tokio::test]
async fn signing_out_ends_one_session_or_all_and_no_api_token() {
    let place = peopled().await;
    let (store, admin) = (&place.store, user("admin"));
    for (name, kind) in [("a", "session"), ("b", "session"), ("c", "session"), ("ci", "read")] {
        store.create_token(new_token(name, kind, 10_000), 10).await.unwrap();
    }
    let hash = |name: &str| Digest::of(name.as_bytes());
    assert_eq!(store.sign_out(&admin, Some(hash("ci")), 20).await, Ok(0));
    assert_eq!(store.sign_out(&admin, Some(hash("a")), 20).await, Ok(1));
    assert_eq!(store.sign_out(&admin, Some(hash("a")), 20).await, Ok(0));
    let set =
        async |sessions| store.set_password(&admin, "hash".to_owned(), &admin, sessions, 30).await;
    assert_eq!(set(SessionsAfter::One(hash("b"))).await, Ok(1));
    assert!(store.token(hash("b"), 40).await.unwrap().is_some());
    assert_eq!(store.token(hash("c"), 40).await, Ok(None));
    assert_eq!(store.sign_out(&admin, None, 50).await, Ok(1));
    assert!(store.token(hash("ci"), 60).await.unwrap().is_some());
}

#[tokio::test]
async fn a_first_password_ends_no_session_and_there_is_one() {
    let place = Place::new().await;
    let (store, admin) = (&place.store, user("admin"));
    store.create_first_admin(&admin, None, 1).await.unwrap();
    let session = store.create_token(new_token("s", "session", 10_000), 10).await.unwrap();
    let set = async || {
        store.set_password(&admin, "hash".to_owned(), &admin, SessionsAfter::All, 30).await
    };
    assert_eq!(set().await, Ok(0));
    assert!(store.token(session.hash, 40).await.unwrap().is_some());
    assert_eq!(set().await, Err(ChangeUserError::IsSet));
}

#[tokio::test]
async fn a_disabled_account_lets_nobody_in_and_an_enabled_one_only_anew() {
    let place = peopled().await;
    let (store, admin, bob) = (&place.store, user("admin"), user("bob"));
    let token = NewToken { user: bob.clone(), ..new_token("ci", "read", 10_000) };
    store.create_token(token.clone(), 10).await.unwrap();
    assert_eq!(store.disable_user(&bob, &admin, 20).await, Ok(Vec::new()));
    assert_eq!(store.disable_user(&bob, &admin, 21).await, Ok(Vec::new()));
    assert_eq!(store.token(token.hash, 30).await, Ok(None));
    assert_eq!(store.create_token(token.clone(), 30).await, Err(TokenError::NoUser));
    assert_eq!(store.account(&bob, 30).await.unwrap().user.disabled_at, Some(20));
    assert_eq!(store.enable_user(&bob, &admin, 40).await, Ok(()));
    assert_eq!(store.token(token.hash, 50).await, Ok(None));
    store.create_token(token, 60).await.unwrap();
    let rows = place.audit().await;
    let ended = json!({"user": "bob", "by": "admin", "ended": 1});
    assert_eq!(
        rows[3..5],
        [
            ("user.disabled".to_owned(), ended),
            ("user.enabled".to_owned(), json!({"user": "bob", "by": "admin"})),
        ]
    );
}

#[tokio::test]
async fn there_is_an_admin_left_whoever_changes_what_at_once() {
    let place = peopled().await;
    let (store, admin, bob) = (&place.store, user("admin"), user("bob"));
    let last = ChangeUserError::LastAdmin;
    assert_eq!(store.disable_user(&admin, &admin, 10).await, Err(last));
    assert_eq!(store.set_role(&admin, Role::Viewer, &admin, 10).await, Err(last));
    assert_eq!(store.set_role(&admin, Role::Admin, &admin, 10).await, Ok(()));
    assert_eq!(store.set_role(&bob, Role::Admin, &admin, 20).await, Ok(()));
    let (one, other) = tokio::join!(
        store.disable_user(&admin, &bob, 30),
        store.set_role(&bob, Role::Operator, &admin, 30)
    );
    assert_ne!(one.is_ok(), other.is_ok(), "both were changed, or neither");
    let accounts = store.accounts(40).await.unwrap();
    let admins = accounts
        .iter()
        .filter(|row| row.user.role == Role::Admin && row.user.disabled_at.is_none());
    assert_eq!(admins.count(), 1);
    // A disabled admin does not count as the last one.
    let nobody = store.set_role(&user("ann"), Role::Viewer, &admin, 50).await;
    assert_eq!(nobody, Err(ChangeUserError::NotFound));
    let taken = store.create_user(&bob, Role::Viewer, None, &admin, 50).await;
    assert_eq!(taken, Err(ChangeUserError::Taken));
}

#[tokio::test]
async fn an_admin_who_cannot_sign_in_is_none_to_count_on() {
    let place = peopled().await;
    let (store, admin, robot) = (&place.store, user("admin"), user("robot"));
    store.create_user(&robot, Role::Admin, None, &admin, 10).await.unwrap();
    let token = NewToken { user: robot.clone(), ..new_token("ci", "admin", 10_000) };
    store.create_token(token, 10).await.unwrap();
    let last = ChangeUserError::LastAdmin;
    assert_eq!(store.disable_user(&admin, &robot, 20).await, Err(last));
    assert_eq!(store.set_role(&admin, Role::Viewer, &robot, 20).await, Err(last));
    let session = NewToken { user: robot.clone(), ..new_token("s", "session", 100) };
    store.create_token(session, 20).await.unwrap();
    assert_eq!(store.disable_user(&admin, &robot, 100).await, Err(last), "the session is over");
    assert_eq!(store.disable_user(&robot, &admin, 100).await, Ok(Vec::new()));
    store.enable_user(&robot, &admin, 110).await.unwrap();
    store.set_password(&robot, "hash".to_owned(), &admin, SessionsAfter::None, 120).await.unwrap();
    assert_eq!(store.disable_user(&admin, &robot, 130).await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_restored_admin_is_enabled_an_admin_and_signed_out() {
    let place = peopled().await;
    let (store, admin, bob) = (&place.store, user("admin"), user("bob"));
    let session = NewToken { user: bob.clone(), ..new_token("s", "session", 10_000) };
    store.create_token(session.clone(), 10).await.unwrap();
    store.restore_admin(&bob, None, 20).await.unwrap();
    assert_eq!(store.token(session.hash, 30).await.unwrap().unwrap().1, Role::Admin);
    store.disable_user(&bob, &admin, 40).await.unwrap();
    store.restore_admin(&bob, Some("hash".to_owned()), 50).await.unwrap();
    let row = store.user(&bob).await.unwrap();
    assert_eq!((row.role, row.disabled_at), (Role::Admin, None));
    assert_eq!(row.password_hash.as_deref(), Some("hash"));
    assert_eq!(store.token(session.hash, 60).await, Ok(None));
    store.restore_admin(&user("ann"), None, 70).await.unwrap();
    assert_eq!(store.user(&user("ann")).await.unwrap().role, Role::Admin);
    let used = place.kinds().await.iter().filter(|kind| *kind == "admin.reset_used").count();
    assert_eq!(used, 3);
}

#[tokio::test]
async fn a_conversation_is_read_by_its_owner_alone() {
    let place = Place::new().await;
    let (store, id) = (&place.store, conversation_id(1));
    let turn = TurnId::new(Uuid::from_u128(1));
    store.create_conversation(id, &user("ann"), 1).await.unwrap();
    store.append_message(id, turn, ("user", r#"{"text":"hello"}"#), 2).await.unwrap();
    store.append_message(id, turn, ("assistant", r#"{"text":"hi"}"#), 3).await.unwrap();
    let said = |role: &str, text: &str, at| MessageRow {
        role: role.to_owned(),
        content: json!({ "text": text }).to_string(),
        at,
        turn: Some(turn),
    };
    let all = vec![said("user", "hello", 2), said("assistant", "hi", 3)];
    assert_eq!(store.messages(id, &user("ann"), 500).await, Ok(all));
    assert_eq!(store.messages(id, &user("bob"), 500).await, Err(StoreError::NotFound));
    assert_eq!(store.owns_conversation(id, &user("ann")).await, Ok(true));
    assert_eq!(store.owns_conversation(id, &user("bob")).await, Ok(false));
    let no = Err(StoreError::Conflict);
    assert_eq!(store.append_message(conversation_id(2), turn, ("user", "{}"), 4).await, no);
    assert_eq!(store.append_message(id, turn, ("system", "{}"), 4).await, no);
    assert_eq!(store.create_conversation(id, &user("bob"), 4).await, no);
}

#[tokio::test]
async fn conversations_are_listed_searched_and_found_by_their_owner_alone() {
    let place = Place::new().await;
    let (store, ann, bob) = (&place.store, user("ann"), user("bob"));
    let turn = TurnId::new(Uuid::from_u128(1));
    for n in 1..=3 {
        store.create_conversation(conversation_id(n), &ann, 1).await.unwrap();
    }
    store.create_conversation(conversation_id(4), &bob, 9).await.unwrap();
    let say = async |n, role: &str, text: &str, at| {
        let content = json!({ "content": text }).to_string();
        store.append_message(conversation_id(n), turn, (role, &content), at).await.unwrap();
    };
    say(2, "user", "say \"100%\"\nplease", 5).await;
    say(1, "user", "hello", 7).await;
    say(1, "tool", "a result of 100%", 8).await;
    say(4, "user", "bob says 100%", 9).await;
    let ids = async |text: Option<&str>, most| {
        let chats = store.chats(&ann, text, most).await.unwrap();
        chats.iter().map(|chat| chat.id).collect::<Vec<_>>()
    };
    // One without messages is not listed.
    assert_eq!(ids(None, 50).await, [1, 2].map(conversation_id));
    assert_eq!(ids(None, 1).await, [conversation_id(1)]);
    for text in ["100%", "\"100%\"\npl", "SAY"] {
        assert_eq!(ids(Some(text), 50).await, [conversation_id(2)], "{text}");
    }
    assert_eq!(ids(Some("100_"), 50).await, []);
    let found = store.chats(&ann, Some("100%"), 50).await.unwrap().remove(0);
    assert_eq!((found.created_at, found.last_at, &found.found), (1, 5, &found.first));
    let find = async |id: &str| store.find_chat(&ann, id).await;
    assert_eq!(find("").await, Ok(conversation_id(1)));
    assert_eq!(find(&conversation_id(3).to_string()).await, Ok(conversation_id(3)));
    assert_eq!(find("0").await, Err(StoreError::Ambiguous));
    for id in [conversation_id(4).to_string(), "x".to_owned()] {
        assert_eq!(find(&id).await, Err(StoreError::NotFound));
    }
}

#[tokio::test]
async fn the_calls_of_a_turn_are_given_in_order_and_to_their_person_alone() {
    let place = Place::new().await;
    let store = &place.store;
    let turn = |n| Some(TurnId::new(Uuid::from_u128(n)));
    for (n, of) in [(1, turn(7)), (2, None), (3, turn(7)), (4, turn(8))] {
        store.open_call(NewCall { turn: of, ..call(n) }).await.unwrap();
    }
    let id = turn(7).unwrap().to_string();
    let calls = store.calls_of_turn(&user("ann"), &id).await.unwrap();
    assert_eq!(calls.iter().map(|it| it.id).collect::<Vec<_>>(), [1, 3].map(call_id));
    let none = store.calls_of_turn(&user("bob"), &id).await;
    assert_eq!(none.unwrap_err(), StoreError::NotFound);
    let both = store.calls_of_turn(&user("ann"), "0").await;
    assert_eq!(both.unwrap_err(), StoreError::Ambiguous);
}

#[tokio::test]
async fn of_a_long_conversation_the_newest_messages_are_given() {
    let place = Place::new().await;
    let id = conversation_id(1);
    let turn = TurnId::new(Uuid::from_u128(1));
    place.store.create_conversation(id, &user("ann"), 0).await.unwrap();
    for at in 1..=510 {
        place.store.append_message(id, turn, ("user", "{}"), at).await.unwrap();
    }
    let messages = place.store.messages(id, &user("ann"), 500).await.unwrap();
    assert_eq!(
        messages.iter().map(|message| message.at).collect::<Vec<_>>(),
        (11..=510).collect::<Vec<_>>()
    );
}
