//! `orion-agent consent`: answers the questions of calls that wait for the person at the device.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use clap::Subcommand;
use orion_agent::clock::{now_ms, shown};
use orion_agent::consent::{Folder, OpenQuestion, Shown};

use super::ceiling::Output;
use super::{Places, pause, print};

#[derive(Debug, Subcommand)]
pub(super) enum Consent {
    /// List the calls that wait for an answer.
    List {
        /// How.
        #[arg(short, long, value_enum, default_value_t = Output::Text)]
        output: Output,
    },
    /// Let a call run, once.
    Allow {
        /// The question's id. It names exactly the call that was shown under it.
        id: String,
    },
    /// Let a call not run.
    Deny {
        /// The question's id.
        id: String,
    },
}

pub(super) fn run(places: &Places, command: Consent) -> anyhow::Result<()> {
    let state_dir = places.state_dir.as_path();
    let folder = Folder::new(state_dir);
    let open = waiting(state_dir, &folder)?;
    match command {
        Consent::List { output: Output::Json } => print(&serde_json::to_string_pretty(&open)?),
        Consent::List { output: Output::Text } if open.is_empty() => {
            if pause::is_idle(state_dir) {
                return print(&format!("No call waits for an answer: {}.", no_agent(state_dir)));
            }
            print("No call waits for an answer.")
        }
        Consent::List { output: Output::Text } => {
            open.iter().try_for_each(|open| print(&whole(open)))?;
            let id = if let [only] = open.as_slice() { &*only.id } else { "ID" };
            let how = format!(
                "Answer with `orion-agent consent allow {id}` or `orion-agent consent deny {id}`."
            );
            print(&places.options.add_to(&how))
        }
        Consent::Allow { id } => give(&folder, named(state_dir, &open, &id)?, true),
        Consent::Deny { id } => give(&folder, named(state_dir, &open, &id)?, false),
    }
}

/// Says that no agent could ask.
fn no_agent(state_dir: &Path) -> String {
    format!(
        "no agent runs with the state folder {}; name the folder of one that does with --state-dir",
        state_dir.display()
    )
}

/// Returns the questions that wait. Without an agent none does, whatever an earlier one left.
pub(super) fn waiting(state_dir: &Path, folder: &Folder) -> anyhow::Result<Vec<OpenQuestion>> {
    if !pause::is_running(state_dir) {
        return Ok(Vec::new());
    }
    let read = folder.open_questions(now_ms());
    read.with_context(|| {
        format!("{} cannot be read; run this as the account of the agent", state_dir.display())
    })
}

/// Returns a question as a person reads it, with its id.
pub(super) fn whole(open: &OpenQuestion) -> String {
    let OpenQuestion { id, question, .. } = open;
    format!("Question {id}, asked at {}\n{}", shown(question.asked_at), Shown(question))
}

fn named<'a>(
    state_dir: &Path,
    open: &'a [OpenQuestion],
    id: &str,
) -> anyhow::Result<&'a OpenQuestion> {
    open.iter().find(|it| it.id == id).ok_or_else(|| {
        let id: String = id.chars().take(64).flat_map(char::escape_debug).collect();
        if pause::is_idle(state_dir) {
            return anyhow!("no question {id} waits for an answer: {}", no_agent(state_dir));
        }
        anyhow!(
            "no question {id} waits for an answer: it was answered, or its time is over; `orion-agent consent list` shows those that wait"
        )
    })
}

fn give(folder: &Folder, open: &OpenQuestion, allow: bool) -> anyhow::Result<()> {
    print(&say(answer(folder, open, allow)?, allow, open))
}

/// Answers a question. Returns whether this answer is the first, and so counts.
pub(super) fn answer(folder: &Folder, open: &OpenQuestion, allow: bool) -> anyhow::Result<bool> {
    let given = folder.give(open, allow, &pause::account());
    given.context("the answer cannot be written; run this as the account of the agent")
}

/// Returns what became of an answer.
pub(super) fn say(counts: bool, allow: bool, open: &OpenQuestion) -> String {
    let tool = &open.question.tool;
    match (counts, allow) {
        (true, true) => format!("Allowed: {tool} runs once, as it was shown."),
        (true, false) => format!("Denied: {tool} does not run."),
        (false, _) => format!("{tool} was answered before; the first answer counts."),
    }
}
