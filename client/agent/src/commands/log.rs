//! `orion-agent log`: what ran on this device with effects, and what it refused, from its own audit log.

use std::collections::HashMap;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use clap::{Args, ValueEnum};
use orion_agent::chain::{earlier, read};
use orion_agent::clock::shown;
use orion_agent::consent::{ConsentEntry, read_record};
use orion_agent::run::NotEnrolled;
use orion_audit::device::{DeviceEntry, Happened};
use orion_domain::strip_hidden;
use serde::Serialize;

use super::print;

/// How often the file is read again with `--follow`.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);
/// The longest name of a tool, in characters: a hostile backend chooses it.
const MAX_TOOL: usize = 64;

/// What to show.
#[derive(Debug, Args)]
pub(super) struct Log {
    /// At most this many entries.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
    /// Go on with what happens from now on, oldest first.
    #[arg(long, short)]
    follow: bool,
    /// How. JSON is one object a line.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// One entry for programs.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    seq: i64,
    at: i64,
    call_id: &'a str,
    tool: String,
    state: &'static str,
    code: &'a str,
    arguments_sha256: Option<String>,
    result_sha256: String,
    /// What the person at the device answered. None where nobody was asked.
    consent: Option<&'a str>,
    answered_by: Option<&'a str>,
}

pub(super) fn run(state_dir: &Path, arguments: &Log) -> anyhow::Result<()> {
    if !state_dir.is_dir() {
        return Err(NotEnrolled.into());
    }
    let Log { limit, follow, output } = arguments;
    let last = {
        let (entries, answers) = load(state_dir)?;
        let newest = entries.iter().rev().take(*limit);
        // What follows is appended, so the newest is at the end there.
        let lines: Vec<_> = if *follow {
            newest.rev().map(|entry| line(entry, &answers, *output)).collect()
        } else {
            newest.map(|entry| line(entry, &answers, *output)).collect()
        };
        match (*output, lines.is_empty()) {
            (Format::Table, true) if !*follow => {
                let before = earlier(state_dir).map(|before| {
                    format!(
                        " What was recorded before the device enrolled again is in {} and what is numbered after it.",
                        before.display()
                    )
                });
                let before = before.unwrap_or_default();
                print(&format!("Nothing ran with effects here, and nothing was refused.{before}"))?
            }
            (Format::Table, _) => {
                print(HEADER)?;
                lines.iter().try_for_each(|line| print(line))?;
            }
            (Format::Json, _) => lines.iter().try_for_each(|line| print(line))?,
        }
        entries.last().map_or(0, |entry| entry.seq)
    };
    if *follow { go_on(state_dir, last, *output) } else { Ok(()) }
}

/// Shows the entries after `last` as they are written. Returns only with an error.
fn go_on(state_dir: &Path, mut last: i64, output: Format) -> anyhow::Result<()> {
    loop {
        sleep(FOLLOW_INTERVAL);
        let (entries, answers) = load(state_dir)?;
        // A chain that began again, because the device enrolled again, is shown from its start.
        if entries.last().map_or(0, |entry| entry.seq) < last {
            last = 0;
        }
        for entry in entries.iter().filter(|entry| entry.seq > last) {
            print(&line(entry, &answers, output))?;
        }
        last = entries.last().map_or(last, |entry| entry.seq);
    }
}

const HEADER: &str =
    "TIME                     TOOL                STATE       CODE                 CONSENT    CALL";

type Answers = HashMap<String, ConsentEntry>;

fn load(state_dir: &Path) -> anyhow::Result<(Vec<DeviceEntry>, Answers)> {
    let entries = read(state_dir)?.map(|chain| chain.entries).unwrap_or_default();
    let answers = read_record(state_dir)?.into_iter().map(|entry| (entry.call_id.clone(), entry));
    Ok((entries, answers.collect()))
}

fn line(entry: &DeviceEntry, answers: &Answers, output: Format) -> String {
    let DeviceEntry { seq, what, .. } = entry;
    let Happened { at, call_id, tool, arguments, state, code, result } = what;
    let tool = strip_hidden(tool, MAX_TOOL);
    let answer = answers.get(call_id);
    match output {
        Format::Table => {
            let consent = answer.map(|it| it.answer.as_str()).unwrap_or_default();
            let line = format!(
                "{}  {tool:<18}  {:<10}  {code:<19}  {consent:<9}  {call_id}",
                shown(*at),
                state.as_str(),
            );
            line.trim_end().to_owned()
        }
        Format::Json => {
            let entry = Entry {
                seq: *seq,
                at: *at,
                call_id,
                tool,
                state: state.as_str(),
                code,
                arguments_sha256: arguments.as_ref().map(ToString::to_string),
                result_sha256: result.to_string(),
                consent: answer.map(|it| it.answer.as_str()),
                answered_by: answer.map(|it| it.by.as_str()).filter(|by| !by.is_empty()),
            };
            // A struct of texts and numbers always serialises.
            serde_json::to_string(&entry).unwrap_or_default()
        }
    }
}
