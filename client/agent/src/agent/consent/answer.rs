//! Waits for the answer to a question, and records it before it is used.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::super::Agent;
use crate::clock::now_ms;
use crate::consent::{ConsentEntry, Folder, Given, OpenQuestion, append};

/// How often an answer is looked for.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Waits for the answer to a question. None where nobody answers in time.
///
/// # Errors
/// There is an answer, and it cannot be read.
pub(super) async fn answer(
    folder: Folder,
    open: OpenQuestion,
    until: Instant,
) -> io::Result<Option<Given>> {
    loop {
        // Looked at before the file is, so that an answer that comes in time counts.
        let is_over = Instant::now() >= until;
        let (folder, open) = (folder.clone(), open.clone());
        let given = tokio::task::spawn_blocking(move || folder.answer(&open)).await??;
        if given.is_some() || is_over {
            return Ok(given);
        }
        sleep(CHECK_INTERVAL.min(until.saturating_duration_since(Instant::now()))).await;
    }
}

impl Agent {
    /// Records an answer, and returns when it is on the disk. The loop waits, so that entries never mix.
    pub(super) async fn record_answer(
        &self,
        OpenQuestion { question, digest, .. }: OpenQuestion,
        given: Option<&Given>,
    ) -> io::Result<()> {
        let (answer, by) = match given {
            Some(Given { allow: true, by }) => ("allowed", by.as_str()),
            Some(Given { allow: false, by }) => ("denied", by.as_str()),
            None => ("no_answer", ""),
        };
        let entry = ConsentEntry {
            at: now_ms(),
            call_id: question.call_id,
            tool: question.tool,
            user: question.user,
            arguments: question.arguments_sha256,
            question: digest,
            answer: answer.to_owned(),
            by: by.to_owned(),
        };
        let dir = self.state.dir().to_owned();
        tokio::task::spawn_blocking(move || append(&dir, &entry)).await?
    }
}
