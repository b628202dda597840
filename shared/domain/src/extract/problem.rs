//! Errors in the way a model wrote a call. Each message can be shown to the model, which can usually
//! write the call again.

use serde::Serialize;
use thiserror::Error;

/// Something that looks like a call and could not be read as one. `start` and `at` are byte offsets in
/// the input text. Names quoted from the text are cut to 64 characters.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum ExtractProblem {
    /// The text exceeds the limit; nothing of it was read.
    #[error(
        "the text is {size_bytes} bytes and at most {limit_bytes} are read; write less, or split the content"
    )]
    TooLarge {
        /// Size of the text.
        size_bytes: usize,
        /// The maximum size.
        limit_bytes: usize,
    },
    /// The text ends inside a call.
    #[error(
        "the JSON that starts at byte {start} is unfinished: the text ends at byte {at}; write the whole call again"
    )]
    Unfinished {
        /// Where the JSON starts.
        start: usize,
        /// Where the text ends.
        at: usize,
    },
    /// A call stops being JSON at some byte. Nothing after it was read for calls, since its end is
    /// unknown.
    #[error(
        "the JSON that starts at byte {start} is broken at byte {at}: {why}; \
         write the call again as strict JSON (double quotes, no trailing commas, no comments, line breaks as \\n)"
    )]
    Broken {
        /// Where the JSON starts.
        start: usize,
        /// Where it stops being JSON.
        at: usize,
        /// The syntax error.
        why: String,
    },
    /// A call that follows broken JSON and may be part of it.
    #[error(
        "the call at byte {start} follows JSON that is broken at byte {broken_at}, so it may be part of that text \
         and not a call; write the call again by itself"
    )]
    AfterBroken {
        /// Where the call starts.
        start: usize,
        /// Where the JSON before it breaks.
        broken_at: usize,
    },
    /// Brackets nested beyond the limit. Nothing after them was read for calls.
    #[error(
        "the JSON that starts at byte {start} is nested too deep at byte {at}; at most 64 levels are read"
    )]
    TooDeep {
        /// Where the JSON starts.
        start: usize,
        /// Where it passes the limit.
        at: usize,
    },
    /// One object has the same name twice; parsers disagree on which value counts.
    #[error(
        "the JSON that starts at byte {start} has the name \"{key}\" twice in one object; give each name once"
    )]
    DuplicateKey {
        /// Where the JSON starts.
        start: usize,
        /// The name that is given twice.
        key: String,
    },
    /// There are more calls than the limit; those from `at` on were ignored.
    #[error(
        "there are more than {limit} calls; those from byte {at} on were not taken, make them in the next answer"
    )]
    TooManyCalls {
        /// The maximum number of calls.
        limit: usize,
        /// Where the first ignored call starts.
        at: usize,
    },
    /// A place reserved for a call holds something else: tags, `tool_calls`, or a native call without a
    /// name.
    #[error(
        "what is at byte {start} is not a call; write {{\"tool\": NAME, \"device\": DEVICE, \"parameters\": {{…}}}}"
    )]
    NotACall {
        /// Where it starts.
        start: usize,
    },
    /// A call in another form than JSON that does not go on as that form. Nothing after it was read for calls,
    /// since its end is unknown.
    #[error(
        "the call at byte {start} begins as {form} and is something else at byte {at}: {why}; \
         write the whole call again"
    )]
    NotUnderstood {
        /// Where the call starts.
        start: usize,
        /// Where it stops being one.
        at: usize,
        /// The form.
        form: &'static str,
        /// What is missing or wrong.
        why: &'static str,
    },
    /// The name of the tool cannot be a tool's name.
    #[error(
        "the call at byte {start} names a tool with characters that no tool's name has; \
         write letters, digits, `_`, `-`, `.`, `:` and `/` only, at most 128"
    )]
    NotAName {
        /// Where the call starts.
        start: usize,
    },
    /// Text that looks like a call, in an answer whose calls come in the provider's own form.
    #[error(
        "the answer has a call as text; tools are offered to this model natively, so text is not searched for \
         calls: call the tool natively, or answer without a call (an admin can set `tool_calls = \"text\"` for a \
         model that has no native calls)"
    )]
    WrittenAsText,
    /// A list in which only some items are calls.
    #[error(
        "some items of the list at byte {start} are calls and some are not; put only calls in it"
    )]
    MixedList {
        /// Where the list starts.
        start: usize,
    },
    /// One object that holds several calls under different names.
    #[error("the object at byte {start} holds more than one call; write each call by itself")]
    SeveralCalls {
        /// Where the object starts.
        start: usize,
    },
    /// The arguments are text that isn't JSON.
    #[error(
        "the {key} of \"{tool}\" are text that is not JSON at its byte {at}: {why}; write them as a JSON object"
    )]
    ArgumentsNotJson {
        /// The call's tool.
        tool: String,
        /// The name that holds the arguments.
        key: String,
        /// Where in the arguments' text the JSON breaks.
        at: usize,
        /// The syntax error.
        why: String,
    },
    /// The arguments are JSON, but not an object.
    #[error("the {key} of \"{tool}\" are not a JSON object; write them as {{\"name\": value}}")]
    ArgumentsNotObject {
        /// The call's tool.
        tool: String,
        /// The name that holds the arguments.
        key: String,
    },
    /// The arguments are given under two names at once.
    #[error("\"{tool}\" has its arguments both under {first} and under {second}; use one")]
    TwoArguments {
        /// The call's tool.
        tool: String,
        /// One of the names.
        first: String,
        /// The other.
        second: String,
    },
    /// One name given in two places of a call, so that its value is ambiguous.
    #[error("\"{tool}\" has \"{key}\" in two places of the call; give it once")]
    GivenTwice {
        /// The call's tool.
        tool: String,
        /// The name.
        key: String,
    },
    /// `dry_run` or `queue` is something else than true or false.
    #[error("\"{key}\" of \"{tool}\" must be true or false, without quotes")]
    NotABool {
        /// The call's tool.
        tool: String,
        /// The name.
        key: String,
    },
    /// `device` is something else than text.
    #[error(
        "\"{key}\" of \"{tool}\" must be text: one device, or a selector such as \"group:laptops\""
    )]
    NotText {
        /// The call's tool.
        tool: String,
        /// The name.
        key: String,
    },
    /// Reasoning that never ends; everything from its start was left out.
    #[error(
        "the reasoning that starts at byte {start} has no end, so the text ends before an answer; answer again"
    )]
    UnfinishedThinking {
        /// Where the reasoning starts.
        start: usize,
    },
}

/// Returns a name quoted from the text, cut for a message.
pub(super) fn short(name: &str) -> String {
    name.chars().take(64).collect()
}
