//! `write_memory`: keeps a text of the person who asks.

use orion_catalog::tools::write_memory::{Arguments, Returns, WriteMemory};
use orion_domain::{ErrorCode, Hint, ToolError};

use super::effect::failed;
use super::{Context, LocalTool, Outcome};
use crate::clock::now_ms;
use crate::scope::TokenKind;
use crate::store::{MAX_MEMORIES, MAX_MEMORY_BYTES, MemoryRow, StoreError};

impl LocalTool for WriteMemory {
    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { text, mut tags } = arguments;
        tags.sort();
        tags.dedup();
        if text.trim().is_empty() || tags.iter().any(|tag| tag.trim().is_empty()) {
            let message = "A memory and its tags are not empty.";
            return Err(ToolError::new(ErrorCode::InvalidArgument, message)
                .with("fields", vec!["text", "tags"]));
        }
        if context.dry_run {
            let message = "This text would be kept.".to_owned();
            let data = Returns { id: None, text, tags, untrusted: None };
            return Ok(Outcome { message, data, truncated: false });
        }
        let untrusted = is_untrusted(&context).await.map_err(failed)?;
        let outcome = Outcome {
            message: "This text is kept.".to_owned(),
            data: Returns {
                id: Some(context.call.to_string()),
                text: text.clone(),
                tags: tags.clone(),
                untrusted: Some(untrusted),
            },
            truncated: false,
        };
        let memory = MemoryRow {
            id: context.call,
            user: context.caller.user.clone(),
            text,
            tags,
            untrusted,
            created_at: now_ms(),
            score: 0,
        };
        let effect = context.effect(&outcome)?;
        if context.devices.store.add_memory(&memory, &effect).await.map_err(failed)? {
            return Ok(outcome);
        }
        let message = format!(
            "You have no room for it: {MAX_MEMORIES} memories and {MAX_MEMORY_BYTES} bytes are the most."
        );
        Err(ToolError::new(ErrorCode::ResourceExhausted, message)
            .hint(Hint::run("forget one that you do not need", "orion memory list")))
    }
}

/// Returns whether strangers may have written the text: untrusted content was in the chat, or neither a chat nor a
/// signed-in person made the call.
async fn is_untrusted(context: &Context) -> Result<bool, StoreError> {
    let store = &context.devices.store;
    let row = store.call(context.call).await?;
    // What a program of a person made, also by MCP, may come from what Orion has never seen.
    if row.tainted || row.turn.is_some() {
        return Ok(row.tainted);
    }
    let Some(token) = row.token else { return Ok(true) };
    let token = store.token(token, now_ms()).await?;
    Ok(token.is_none_or(|(token, _)| token.kind != TokenKind::Session))
}
