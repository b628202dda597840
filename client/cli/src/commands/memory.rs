//! `orion memory`: what was kept for you for later chats.

use clap::{Args, Subcommand};
use orion_wire::v1;

use crate::app::App;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::{MemoryView, memories_table};
use crate::text;

const NOTHING_KEPT: &str = "nothing is kept for you yet; `orion call write_memory text=…` keeps a memory, where an admin has \
     granted that tool on `backend`";

const NO_MATCH: &str = "no memory of yours matches; `orion memory list` shows all";

/// What was kept for you for later chats.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion call write_memory text='The backups run on nas-1 at 03:00.' tags=backup
  orion memory list
  orion memory search backups
  orion memory forget 01a2fc13-f72a-727b

Nobody else sees your memories.")]
pub(crate) struct Memory {
    #[command(subcommand)]
    what: MemoryCommand,
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    /// List your memories, the newest first
    #[command(after_help = "Examples:\n  orion memory list\n  orion memory list --tag backup")]
    List {
        /// Only memories with this tag; may be given more than once
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
        /// How many
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
    },
    /// Find memories by their words, the best match first
    #[command(after_help = "Example:\n  orion memory search backups nas")]
    Search {
        /// Words, any of which a memory has
        #[arg(value_name = "WORD", required = true)]
        words: Vec<String>,
        /// Only memories with this tag; may be given more than once
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
    },
    /// Delete a memory
    #[command(after_help = "Example:\n  orion memory forget 01a2fc13-f72a-727b")]
    Forget {
        /// Its id, or the beginning of it
        #[arg(value_name = "ID")]
        memory_id: String,
    },
}

impl Memory {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such memory, or the backend rejects the request.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let (request, none) = match self.what {
            MemoryCommand::List { tags, limit } => {
                let none = if tags.is_empty() { NOTHING_KEPT } else { NO_MATCH };
                (v1::ListMemoriesRequest { query: String::new(), tags, limit }, none)
            }
            MemoryCommand::Search { words, tags } => {
                (v1::ListMemoriesRequest { query: words.join(" "), tags, limit: 0 }, NO_MATCH)
            }
            MemoryCommand::Forget { memory_id } => return forget(app, memory_id).await,
        };
        let client = app.signed_in().await?;
        let list = client.ask(client.memories().list_memories(request)).await?;
        let memories: Vec<_> = list.memories.into_iter().map(MemoryView::from).collect();
        if memories.is_empty() {
            app.out.next(none);
        }
        app.out.show(&memories, || memories_table(app.out, &memories))?;
        Ok(0)
    }
}

async fn forget(app: &App<'_>, memory_id: String) -> Result<u8, Failure> {
    let client = app.signed_in().await?;
    let request = v1::ForgetMemoryRequest { memory_id };
    let answer = client.ask(client.memories().forget_memory(request)).await?;
    let memory = MemoryView::from(answer.memory.unwrap_or_default());
    app.out.note(&format!("{GOOD}✓{GOOD:#} forgotten: {}", text::one_line(&memory.text, 80)));
    app.out.show(&memory, String::new)?;
    Ok(0)
}
