//! `query_memory`: finds memories of the person who asks, and of nobody else.

use jiff::Timestamp;
use orion_catalog::tools::query_memory::{Arguments, Match, QueryMemory, Returns};
use orion_domain::ToolError;

use super::effect::failed;
use super::{Context, LocalTool, Outcome};
use crate::store::{MemoryFilter, MemoryRow};

impl LocalTool for QueryMemory {
    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { query, tags, limit } = arguments;
        let filter = MemoryFilter { query, tags, trusted_only: false, limit };
        let store = &context.devices.store;
        let found = store.memories(&context.caller.user, &filter).await.map_err(failed)?;
        let matches: Vec<_> = found.into_iter().map(shown).collect();
        let count = matches.len();
        let message = match count {
            1 => "1 memory.".to_owned(),
            count => format!("{count} memories."),
        };
        Ok(Outcome { message, data: Returns { matches, count }, truncated: false })
    }
}

fn shown(memory: MemoryRow) -> Match {
    let MemoryRow { id, user: _, text, tags, untrusted, created_at, score } = memory;
    Match {
        id: id.to_string(),
        text,
        tags,
        score: i32::try_from(score).map_or(0.0, f64::from) / 1000.0,
        created_at: Timestamp::from_millisecond(created_at)
            .map(|at| at.to_string())
            .unwrap_or_default(),
        untrusted,
    }
}
