//! `orion-agent watch`: shows what happens on the device as it happens, and asks the questions of calls that wait.

use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use orion_agent::activity::{self, Happening, Snapshot, Step};
use orion_agent::clock::shown;
use orion_agent::consent::{Folder, OpenQuestion};
use orion_agent::run::NotEnrolled;
use orion_agent::state::State;

use super::ceiling::Output;
use super::consent::{answer, say, waiting, whole};
use super::pause::is_running;
use super::print;

/// How often the agent's file is read.
const READ_INTERVAL: Duration = Duration::from_millis(300);
/// How often the agent learns that somebody watches.
const TOUCH_INTERVAL: Duration = Duration::from_secs(1);
/// What is typed sooner after a question appeared was meant for something before it.
const READING_TIME: Duration = Duration::from_secs(1);
/// The most lines that are typed ahead.
const TYPED_AHEAD: usize = 16;

#[derive(Debug, Args)]
pub(super) struct Watch {
    /// How. JSON is one object a line, and asks no question.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// What was shown so far.
#[derive(Debug, Default)]
struct Seen {
    run: String,
    last: u64,
    /// The question that the next line answers, and since when it is shown.
    question: Option<(OpenQuestion, Instant)>,
}

pub(super) fn run(state_dir: &Path, arguments: &Watch) -> anyhow::Result<()> {
    if !state_dir.is_dir() {
        return Err(NotEnrolled.into());
    }
    let asks = arguments.output == Output::Text;
    let folder = Folder::new(state_dir);
    if asks && !is_running(state_dir) {
        print("No agent runs here now. What it does is shown once it runs.")?;
    }
    let typed = typed();
    let mut seen = Seen::default();
    let mut touched: Option<Instant> = None;
    loop {
        if touched.is_none_or(|at| at.elapsed() >= TOUCH_INTERVAL) {
            touch(state_dir)?;
            touched = Some(Instant::now());
        }
        if let Some(snapshot) = activity::read(state_dir) {
            seen.show(&snapshot, arguments.output)?;
        }
        if asks {
            seen.ask(waiting(state_dir, &folder)?)?;
        }
        match typed.recv_timeout(READ_INTERVAL) {
            Ok(line) if asks => seen.typed(&folder, &line)?,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            // Nobody can type, and the rest is still shown.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(READ_INTERVAL),
        }
    }
}

/// Says that somebody watches, where an agent runs: a folder without one may be another's, or be removed at this moment.
fn touch(state_dir: &Path) -> anyhow::Result<()> {
    if !state_dir.is_dir() {
        return Err(NotEnrolled.into());
    }
    let touched = State::is_used(state_dir)
        .map_err(anyhow::Error::from)
        .and_then(|is_used| if is_used { Ok(activity::watch(state_dir)?) } else { Ok(()) });
    touched.context("the state folder cannot be written; run this as the account of the agent")
}

impl Seen {
    fn show(&mut self, snapshot: &Snapshot, output: Output) -> anyhow::Result<()> {
        if self.run != snapshot.run {
            (self.run, self.last) = (snapshot.run.clone(), 0);
        }
        let first = snapshot.events.first().map_or(0, |event| event.number);
        if self.last > 0 && first > self.last + 1 && output == Output::Text {
            print(&format!("… {} events are left out", first - self.last - 1))?;
        }
        for event in snapshot.events.iter().filter(|event| event.number > self.last) {
            print(&match output {
                Output::Text => line(event),
                Output::Json => serde_json::to_string(event)?,
            })?;
        }
        self.last = snapshot.events.last().map_or(self.last, |event| event.number);
        Ok(())
    }

    /// Shows the oldest question that waits. Another one is shown once this one is over.
    fn ask(&mut self, open: Vec<OpenQuestion>) -> anyhow::Result<()> {
        if let Some((shown, _)) = &self.question {
            if open.iter().any(|it| it.digest == shown.digest) {
                return Ok(());
            }
            print(&format!("Question {} is over.", shown.id))?;
            self.question = None;
        }
        let Some(next) = open.into_iter().next() else { return Ok(()) };
        prompt(&format!("{}Allow it? y or n: ", whole(&next)))?;
        self.question = Some((next, Instant::now()));
        Ok(())
    }

    fn typed(&mut self, folder: &Folder, line: &str) -> anyhow::Result<()> {
        let Some((open, since)) = self.question.take() else { return Ok(()) };
        if since.elapsed() < READING_TIME {
            prompt("That was typed before the question could be read. Allow it? y or n: ")?;
            self.question = Some((open, since));
            return Ok(());
        }
        let allow = match line.trim() {
            "y" | "yes" => true,
            "n" | "no" => false,
            _ => {
                prompt("y allows this call, n denies it. Allow it? y or n: ")?;
                self.question = Some((open, since));
                return Ok(());
            }
        };
        print(&say(answer(folder, &open, allow)?, allow, &open))
    }
}

fn line(event: &Happening) -> String {
    let Happening { at, step, tool, dry_run, user, touches, state, code, .. } = event;
    let tool = if *dry_run { format!("a preview of {tool}") } else { tool.clone() };
    let what = match step {
        Step::Asked => format!("{tool} of {user} waits for you: {touches}"),
        Step::Started => format!("{tool} of {user} runs: {touches}"),
        Step::Ended => format!("{tool} {state} {code}"),
        Step::Refused => format!("{tool} was refused: {code}"),
    };
    format!("{}  {}", shown(*at), what.trim_end_matches([' ', ':']))
}

/// Reads lines in a thread, which ends with the process.
fn typed() -> Receiver<String> {
    let (sender, lines) = sync_channel(TYPED_AHEAD);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn prompt(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout();
    write!(out, "{text}").and_then(|()| out.flush()).context("standard output")
}
