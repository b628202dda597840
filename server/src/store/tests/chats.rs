//! The newest messages of long chats.

use orion_domain::TurnId;

use super::*;

/// Returns the times of the messages that a model gets of a chat with these roles: `u`, `a` and `t`.
async fn given(roles: &str, least: u32) -> Vec<i64> {
    let place = Place::new().await;
    let (id, turn) = (conversation_id(1), TurnId::new(Uuid::from_u128(1)));
    place.store.create_conversation(id, &user("ann"), 0).await.unwrap();
    for (at, role) in (1..).zip(roles.chars()) {
        let role = match role {
            'u' => "user",
            'a' => "assistant",
            _ => "tool",
        };
        place.store.append_message(id, turn, (role, "{}"), at).await.unwrap();
    }
    let messages = place.store.newest_turns(id, &user("ann"), least).await.unwrap();
    messages.into_iter().map(|message| message.at).collect()
}

#[tokio::test]
async fn a_model_gets_the_newest_messages_from_a_message_of_the_person_on() {
    assert_eq!(given("uaua", 60).await, [1, 2, 3, 4]);
    assert_eq!(given("uaua", 2).await, [3, 4]);
    assert_eq!(given("uaua", 3).await, [1, 2, 3, 4]);
    assert_eq!(given("", 60).await, Vec::<i64>::new());
}

#[tokio::test]
async fn many_results_push_neither_their_calls_nor_the_persons_message_out() {
    let one_round = format!("uaua{}", "t".repeat(64));
    assert_eq!(given(&one_round, 60).await, (3..=68).collect::<Vec<_>>());
    let endless = format!("uu{}", "at".repeat(300));
    let mut expected = vec![2];
    expected.extend(103..=602);
    assert_eq!(given(&endless, 60).await, expected);
}
