//! `orion chats`: lists, shows and searches the person's chats.

use clap::{Args, Subcommand};
use orion_wire::v1;
use serde::Serialize;

use crate::app::App;
use crate::chat::UsageView;
use crate::failure::Failure;
use crate::output::{DIM, Output, table};
use crate::text;

/// Your chats.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion chats list
  orion chats show
  orion chats show 0199b2c4-7f3e-7c11
  orion chats search invoice

`orion chat --resume` goes on with the newest one, `orion chat --resume ID` with another.")]
pub(crate) struct Chats {
    #[command(subcommand)]
    what: ChatsCommand,
}

#[derive(Debug, Subcommand)]
enum ChatsCommand {
    /// List your chats, the newest first
    #[command(after_help = "Example:\n  orion chats list --limit 10")]
    List {
        /// How many at most
        #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
    },
    /// Show what was said and done in a chat, with the ids of its turns for `orion undo`
    #[command(after_help = "Example:\n  orion chats show 0199b2c4-7f3e-7c11")]
    Show {
        /// The chat's id; may be shortened. The newest chat if none is given
        #[arg(value_name = "CHAT", default_value = "", hide_default_value = true)]
        chat: String,
    },
    /// List the chats in which you or the model said this, among your newest 200
    #[command(after_help = "Example:\n  orion chats search invoice")]
    Search {
        /// The text
        text: String,
        /// How many at most
        #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
    },
}

/// A chat for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct ChatView {
    conversation_id: String,
    created_at: i64,
    last_at: i64,
    first_message: String,
    found: String,
}

/// A message for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct MessageView {
    role: String,
    text: String,
    at: i64,
    calls: Vec<String>,
    turn_id: String,
    /// Of a person's message: the model that answered it; empty where none was recorded.
    model: String,
    /// Of a person's message: what its answer used. None where nothing was recorded.
    usage: Option<UsageView>,
}

impl Chats {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such chat, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        match self.what {
            ChatsCommand::List { limit } => list(app, String::new(), limit).await,
            ChatsCommand::Search { text, limit } => list(app, text, limit).await,
            ChatsCommand::Show { chat } => show(app, chat).await,
        }
    }
}

async fn list(app: &App<'_>, text: String, limit: u32) -> Result<u8, Failure> {
    let client = app.signed_in().await?;
    let is_search = !text.is_empty();
    let request = v1::ListChatsRequest { text, limit };
    let chats = client.ask(client.chat().list_chats(request)).await?.chats;
    let view = |chat: v1::ChatSummary| {
        let v1::ChatSummary { conversation_id, created_at, last_at, first_message, found } = chat;
        ChatView { conversation_id, created_at, last_at, first_message, found }
    };
    let chats: Vec<_> = chats.into_iter().map(view).collect();
    if chats.is_empty() {
        app.out.note(if is_search { "no chat holds that" } else { "there is no chat yet" });
    }
    app.out.show(&chats, || {
        let row = |chat: &ChatView| {
            let said = if is_search { &chat.found } else { &chat.first_message };
            vec![
                text::short_id(&chat.conversation_id).to_owned(),
                text::when(&app.out.zone, chat.last_at),
                text::one_line(said, 36),
            ]
        };
        let said = if is_search { "FOUND" } else { "BEGINS WITH" };
        table(&["ID", "LAST MESSAGE", said], chats.iter().map(row))
    })?;
    Ok(0)
}

async fn show(app: &App<'_>, chat: String) -> Result<u8, Failure> {
    let client = app.signed_in().await?;
    let request = v1::GetChatRequest { conversation_id: chat };
    let v1::GetChatResponse { conversation_id, messages, turns, can_go_on } =
        client.ask(client.chat().get_chat(request)).await?;
    let view = |message: v1::ChatMessage| {
        let v1::ChatMessage { role, text, at, calls, turn_id } = message;
        let turn = turns.iter().find(|turn| role == "user" && turn.turn_id == turn_id);
        let usage = turn.and_then(|turn| turn.usage).map(UsageView::from);
        let model = turn.map(|turn| turn.model.clone()).unwrap_or_default();
        MessageView { role, text, at, calls, turn_id, model, usage }
    };
    let messages: Vec<_> = messages.into_iter().map(view).collect();
    app.out.note(&format!("{DIM}chat{DIM:#} {conversation_id}"));
    if can_go_on {
        let resume = format!("orion chat --resume {}", text::short_id(&conversation_id));
        app.out.next(&format!("its last answer is not finished; `{resume}` goes on with it"));
    }
    app.out.show(&messages, || page(app.out, &messages))?;
    Ok(0)
}

/// Formats the messages of a chat. Results are one line each.
fn page(out: &Output, messages: &[MessageView]) -> String {
    let mut lines = Vec::new();
    for message in messages {
        match message.role.as_str() {
            "user" => {
                let at = text::when(&out.zone, message.at);
                let turn = if message.turn_id.is_empty() {
                    String::new()
                } else {
                    format!("  turn {}", message.turn_id)
                };
                lines.push(format!("{DIM}{at}{turn}{DIM:#}"));
                if let Some(usage) = &message.usage {
                    let model = text::one_line(&message.model, 64);
                    lines.push(format!("{DIM}{model}: {}{DIM:#}", usage.line()));
                }
                lines.push(format!("› {}", text::plain(&message.text)));
            }
            "tool" => {
                let envelope: serde_json::Value =
                    serde_json::from_str(&message.text).unwrap_or_default();
                let said = envelope["message"].as_str().unwrap_or("(a result that was cut)");
                lines.push(format!("  {DIM}→{DIM:#} {}", text::one_line(said, 200)));
            }
            _ => {
                if !message.text.is_empty() {
                    lines.push(text::plain(&message.text));
                }
                let call = |call: &String| format!("  {}", text::one_line(call, 200));
                lines.extend(message.calls.iter().map(call));
            }
        }
    }
    lines.join("\n")
}
