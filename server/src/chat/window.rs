//! Fits a conversation into a model's window. The oldest results are shortened first, then the oldest turns
//! left out; the instructions and the person's newest message always stay, and a call keeps its result.

use crate::model::{Message, Role, ToolDefinition};

/// How many bytes count as one token. English prose has about four and program text about three, so that the
/// estimate is rather too high.
const BYTES_PER_TOKEN: usize = 3;
/// The tokens that each message costs beside its text.
const TOKENS_PER_MESSAGE: usize = 6;
/// How many bytes of a result stay when it is shortened.
const SHORTENED_BYTES: usize = 200;
/// What a shortened result ends with.
const SHORTENED: &str = "\n[shortened to make room; make the call again to read it]";

/// Returns how many tokens a text has, rather too high.
pub(super) const fn tokens_of(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Returns how many tokens a message has.
fn tokens(message: &Message) -> usize {
    let calls = message.tool_calls.iter().map(|call| call.name.len() + call.arguments.len() + 32);
    let state = message.state.iter().flat_map(|state| &state.items);
    let state = state.map(|item| item.to_string().len());
    let bytes = message.content.len() + calls.sum::<usize>() + state.sum::<usize>();
    tokens_of(bytes) + TOKENS_PER_MESSAGE
}

/// Returns how many tokens the messages and the tools have.
pub(super) fn total(messages: &[Message], tools: &[ToolDefinition]) -> usize {
    let tools = tools.iter().map(|tool| {
        let schema = serde_json::to_string(&tool.parameters).map_or(0, |text| text.len());
        tokens_of(tool.name.len() + tool.description.len() + schema) + TOKENS_PER_MESSAGE
    });
    messages.iter().map(tokens).sum::<usize>() + tools.sum::<usize>()
}

/// Makes the messages fit into `room` tokens beside the tools, as far as may be. Returns whether anything was
/// left out or shortened.
pub(super) fn fit(messages: &mut Vec<Message>, tools: &[ToolDefinition], room: usize) -> bool {
    let mut have = total(messages, tools);
    if have <= room {
        return false;
    }
    for message in messages.iter_mut().filter(|it| it.role == Role::Tool) {
        if have <= room {
            return true;
        }
        let before = tokens(message);
        shorten(message);
        have -= before.saturating_sub(tokens(message));
    }
    // The turns before the newest message of the person, then the rounds after it.
    while have > room {
        let Some(last_user) = messages.iter().rposition(|it| it.role == Role::User) else { break };
        let first = messages.iter().position(|it| it.role != Role::System).unwrap_or(last_user);
        let from = if first < last_user { first } else { last_user + 1 };
        let rest = messages.get(from + 1..).unwrap_or_default();
        let is_begin = |it: &Message| match it.role {
            Role::User => true,
            Role::Assistant => from > last_user,
            Role::System | Role::Tool => false,
        };
        // The newest round stays: the model waits for its results.
        let Some(length) = rest.iter().position(is_begin) else { break };
        let removed = messages.drain(from..=from + length);
        have -= removed.map(|message| tokens(&message)).sum::<usize>();
    }
    true
}

fn shorten(message: &mut Message) {
    if message.content.len() > SHORTENED_BYTES + SHORTENED.len() {
        message.content.truncate(message.content.floor_char_boundary(SHORTENED_BYTES));
        message.content.push_str(SHORTENED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NativeCall;

    fn call(id: &str) -> Message {
        let call = NativeCall {
            id: id.to_owned(),
            name: "read_file".to_owned(),
            arguments: "{}".to_owned(),
        };
        Message::assistant("", vec![call])
    }

    fn conversation() -> Vec<Message> {
        let mut messages = vec![Message::system("Be brief.")];
        for turn in ["a", "b"] {
            messages.push(Message::user(format!("question {turn}")));
            for round in 0..2 {
                let id = format!("{turn}{round}");
                messages.push(call(&id));
                messages.push(Message::tool(id, "é".repeat(3000)));
            }
            messages.push(Message::assistant(format!("answer {turn}"), Vec::new()));
        }
        messages.push(Message::user("the newest"));
        for id in ["c0", "c1"] {
            messages.push(call(id));
            messages.push(Message::tool(id, "x".repeat(6000)));
        }
        messages
    }

    /// Whether each result follows its call and each call has its result.
    fn is_paired(messages: &[Message]) -> bool {
        messages.windows(2).all(|two| {
            let call = two[0].tool_calls.first().map(|call| call.id.as_str());
            call == two[1].tool_call_id.as_deref()
        })
    }

    #[test]
    fn whatever_the_room_the_instructions_the_newest_message_and_pairs_stay() {
        let whole = conversation();
        let all = total(&whole, &[]);
        for room in (0..=all + 10).step_by(7) {
            let mut messages = whole.clone();
            let changed = fit(&mut messages, &[], room);
            assert_eq!(changed, room < all, "{room}");
            assert_eq!(messages[0], whole[0]);
            assert!(messages.contains(&Message::user("the newest")), "{room}");
            assert!(is_paired(&messages), "{room}: {messages:?}");
            assert_eq!(messages.last().unwrap().role, Role::Tool, "{room}");
            let least = messages.len() == 4;
            assert!(total(&messages, &[]) <= room || least, "{room}: {}", messages.len());
        }
    }

    #[test]
    fn the_oldest_results_are_shortened_before_anything_is_left_out() {
        let whole = conversation();
        let mut messages = whole.clone();
        let room = total(&whole, &[]) - 3000;
        assert!(fit(&mut messages, &[], room));
        assert_eq!(messages.len(), whole.len());
        let shortened: Vec<bool> = messages
            .iter()
            .filter(|it| it.role == Role::Tool)
            .map(|it| it.content.ends_with(SHORTENED))
            .collect();
        assert_eq!(shortened, [true, true, false, false, false, false]);
    }
}
