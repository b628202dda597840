//! Checks the database, read outside the backend: the state of every call after each step, and at the
//! end the invariants of every story.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use orion_domain::CallState;
use orion_server::store::{AuditVerdict, verify_file};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::runtime::{Builder, Runtime};

use crate::call::Calls;
use crate::world::World;

/// A reader of the database.
#[derive(Debug)]
pub(crate) struct Record {
    path: PathBuf,
    runtime: Runtime,
    connection: SqliteConnection,
    /// The states of each call, by its number.
    states: BTreeMap<usize, Vec<CallState>>,
}

impl Record {
    pub(crate) fn open(path: &Path) -> Self {
        // A runtime with an ordinary clock.
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let options = SqliteConnectOptions::new().filename(path).read_only(true);
        let connection = runtime.block_on(options.connect()).unwrap();
        Self { path: path.to_owned(), runtime, connection, states: BTreeMap::new() }
    }

    fn read(&mut self, calls: &Calls) -> BTreeMap<usize, Vec<CallState>> {
        let rows = sqlx::query_as("SELECT id, state FROM calls ORDER BY id");
        let rows: Vec<(String, String)> =
            self.runtime.block_on(rows.fetch_all(&mut self.connection)).unwrap();
        let mut states: BTreeMap<usize, Vec<CallState>> = BTreeMap::new();
        for (id, state) in rows {
            let number = calls.number(&id).expect("every recorded call was made");
            states.entry(number).or_default().push(state.parse().unwrap());
        }
        states
    }

    /// Returns what has changed since the last read.
    pub(crate) fn changes(&mut self, calls: &Calls) -> Vec<String> {
        let now = self.read(calls);
        let text = |states: &[CallState]| {
            states.iter().map(|state| state.as_str()).collect::<Vec<_>>().join("+")
        };
        let changed = now.iter().filter(|(number, states)| self.states.get(number) != Some(states));
        let changes = changed.map(|(number, states)| format!("#{number} {}", text(states)));
        let changes = changes.collect();
        self.states = now;
        changes
    }

    /// Returns whether a call has ended for good.
    pub(crate) fn has_ended(&self, number: usize) -> bool {
        let is_over = |state: &CallState| state.is_closed() && *state != CallState::Unknown;
        self.states.get(&number).is_some_and(|states| states.iter().all(is_over))
    }

    /// Returns whether a call is in the database and has not ended.
    pub(crate) fn is_open(&self, number: usize) -> bool {
        self.states.get(&number).is_some_and(|states| states.iter().any(|it| !it.is_closed()))
    }

    /// Returns the number of calls by outcome.
    pub(crate) fn ends(&self) -> BTreeMap<&'static str, usize> {
        let mut ends = BTreeMap::new();
        for state in self.states.values().flatten() {
            *ends.entry(state.as_str()).or_default() += 1;
        }
        ends
    }

    fn is_unknown(&self, number: usize) -> bool {
        self.states.get(&number).is_some_and(|states| states.contains(&CallState::Unknown))
    }

    /// Checks that each call was opened and closed as often as it must be, and that the audit chain is
    /// unbroken.
    fn audit(&mut self, calls: &Calls, wrong: &mut Vec<String>) {
        let rows = sqlx::query_as(
            "SELECT call_id, kind FROM audit WHERE kind IN ('call.opened', 'call.closed')",
        );
        let rows: Vec<(String, String)> =
            self.runtime.block_on(rows.fetch_all(&mut self.connection)).unwrap();
        let mut counts: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (id, kind) in rows {
            let (opened, closed) = counts.entry(calls.number(&id).unwrap()).or_default();
            *(if kind == "call.opened" { opened } else { closed }) += 1;
        }
        for (number, states) in &self.states {
            let counted = counts.get(number).copied().unwrap_or_default();
            if counted != (states.len(), states.len()) {
                wrong.push(format!(
                    "the audit of #{number} was opened and closed {counted:?} times"
                ));
            }
        }
        let accused = sqlx::query_as("SELECT problem FROM device_chains WHERE problem <> ''");
        let accused: Vec<(String,)> =
            self.runtime.block_on(accused.fetch_all(&mut self.connection)).unwrap();
        wrong.extend(accused.into_iter().map(|(problem,)| format!("an honest device: {problem}")));
        match self.runtime.block_on(verify_file(&self.path, None)).unwrap() {
            AuditVerdict::Whole { .. } => {}
            AuditVerdict::Broken { broken, .. } => wrong.push(format!("the audit: {broken}")),
        }
    }
}

impl World {
    /// Returns whether every call has ended.
    pub(crate) fn is_at_its_end(&self) -> bool {
        let all = 0..self.calls.all.len();
        let open = |number: usize| {
            let may_stay = self.calls.all[number].may_stay_unknown;
            self.record.is_open(number) || (self.record.is_unknown(number) && !may_stay)
        };
        self.links.len() == self.devices.len() && !all.into_iter().any(open)
    }

    /// Returns the violated invariants.
    pub(crate) fn wrong(&mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (number, call) in self.calls.all.iter().enumerate() {
            let states = self.record.states.get(&number).map_or(&[][..], Vec::as_slice);
            let lines = self.devices.iter().enumerate().flat_map(|(device, it)| {
                it.lines.iter().filter(|line| **line == number).map(move |_| device)
            });
            let lines: Vec<_> = lines.collect();
            if lines.len() > 1 {
                wrong.push(format!("#{number} ran {} times", lines.len()));
            }
            if lines.iter().any(|device| *device != call.device) {
                wrong.push(format!("#{number} ran elsewhere"));
            }
            match states {
                [] if !lines.is_empty() => wrong.push(format!("#{number} ran without a record")),
                [] => {}
                [CallState::Succeeded] if lines.is_empty() && !call.is_read => {
                    wrong.push(format!("#{number} succeeded and has no line"));
                }
                [CallState::Succeeded] => {}
                [CallState::Unknown] if call.may_stay_unknown => {}
                [CallState::Unknown] => wrong.push(format!("#{number} is unknown for no reason")),
                [state] if !state.is_closed() => wrong.push(format!("#{number} is still {state}")),
                [state] if !lines.is_empty() => {
                    wrong.push(format!("#{number} is {state} and has its line"));
                }
                [_] => {}
                [_, ..] => wrong.push(format!("#{number} is recorded {} times", states.len())),
            }
            for (_, answer) in self.told.iter().filter(|(answer, _)| *answer == number) {
                let Some(answer) = answer.filter(|it| it.is_closed() && *it != CallState::Unknown)
                else {
                    continue;
                };
                if states != [answer] {
                    wrong.push(format!("#{number} was told to be {answer} and is {states:?}"));
                }
            }
        }
        self.record.audit(&self.calls, &mut wrong);
        wrong
    }
}
