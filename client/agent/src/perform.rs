//! Performs one call in the process that this is: looks at what the call touches, runs the tool, and adds what
//! was found. The same in the agent and in its workers.

use std::cell::Cell;
use std::time::{Duration, Instant};

use orion_domain::observation::Observation;
use orion_domain::{RiskRaise, ToolError, Touches, Undo};
use serde_json::Value;

use crate::call::{Context, ExpectedState, FileContext, ObservationMode, Outcome, RiskGate};
use crate::observe::{compare, compare_programs, observe, observe_programs};
use crate::tools::{Executor, Installed};
use crate::trash::Trash;
use crate::verdict::Verdict;

/// The shortest time between two reports of progress, which are for people only.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// The longest note of progress, in characters.
const MAX_NOTE: usize = 200;

/// Returns a report of progress that passes on only some of what it gets, with a short note.
pub(crate) fn thinned<'a>(
    report: &'a dyn Fn(u64, Option<u64>, &str),
) -> impl Fn(u64, Option<u64>, &str) + 'a {
    let last = Cell::new(None::<Instant>);
    move |done, total, note| {
        if last.get().is_some_and(|at| at.elapsed() < PROGRESS_INTERVAL) {
            return;
        }
        last.set(Some(Instant::now()));
        let note: String = note.chars().take(MAX_NOTE).collect();
        report(done, total, &note);
    }
}

/// At most so many paths are named with the place that they lead to.
const MAX_REAL_PATHS: usize = 4;

/// A call with everything that it may use.
pub(crate) struct Performance<'a> {
    /// What every tool may use. Its roots are those of every call.
    pub(crate) common: Context<'a>,
    /// The tool's implementation.
    pub(crate) executor: &'a Executor,
    /// The call's arguments.
    pub(crate) arguments: Value,
    /// Whether the touched paths are observed or compared before the tool runs.
    pub(crate) seeing: &'a ObservationMode,
    /// What the call touches.
    pub(crate) touches: &'a Touches,
    /// What the call undoes or does again.
    pub(crate) undo: Option<&'a Undo>,
    /// The decision, to be checked again for the real paths.
    pub(crate) verdict: Option<Verdict>,
    /// Why the call's risk is higher than its tool's, as shown to the person who approved it.
    pub(crate) approved_raises: Vec<RiskRaise>,
    /// The trash.
    pub(crate) trash: &'a Trash,
    /// What is installed on the device.
    pub(crate) installed: Installed<'a>,
}

/// Performs the call. Blocks.
///
/// # Errors
/// Every failure of the tool, and a touched path that is not as it was shown.
pub(crate) fn perform(call: Performance<'_>) -> Result<Outcome, ToolError> {
    let Performance {
        common,
        executor,
        arguments,
        seeing,
        touches,
        undo,
        verdict,
        approved_raises,
        trash,
        installed,
    } = call;
    let programs = installed.programs;
    let risk = RiskGate::new(verdict.clone(), approved_raises, common.dry_run);
    let of_call = verdict.map(|verdict| common.roots.of_call(verdict));
    let expected = match seeing {
        ObservationMode::Compare(touches, before) => Some(ExpectedState { touches, before }),
        ObservationMode::Nothing | ObservationMode::Tell(_) => None,
    };
    let is_final = Cell::new(false);
    let common = Context { roots: of_call.as_ref().unwrap_or(common.roots), ..common };
    let (risk_gate, is_final) = (&risk, &is_final);
    let context = FileContext { common, trash, risk: risk_gate, is_final, touches, undo, expected };
    // Compared here so that a stale call ends at once, and again under its path locks, so that no other
    // call changes the paths in between.
    compare(&context)?;
    compare_programs(expected, programs, &common)?;
    let observed = match seeing {
        ObservationMode::Nothing | ObservationMode::Compare(..) => None,
        ObservationMode::Tell(touches) => {
            let mut observed = observe(touches, &context)?;
            observed.extend(observe_programs(touches, programs, &common)?);
            Some(observed)
        }
    };
    let outcome = executor.call(arguments, &context, installed)?;
    let seen = match seeing {
        ObservationMode::Compare(_, before) => Some(before),
        ObservationMode::Nothing | ObservationMode::Tell(_) => observed.as_ref(),
    };
    let message =
        with_real_paths(outcome.message, &context, touches, seen.map_or(&[], Vec::as_slice));
    let raises = risk.into_reported();
    let message = raises.iter().fold(message, |message, raise| {
        format!("{message} {} A person has to approve this call.", raise.sentence())
    });
    Ok(Outcome { message, observed, raises, ..outcome })
}

/// Adds where the paths lead that have a link on their way below the granted folder: a person is to see what is
/// changed, and not only its name.
fn with_real_paths(
    message: String,
    context: &FileContext<'_>,
    touches: &Touches,
    seen: &[Observation],
) -> String {
    let mut named: Vec<&str> = Vec::new();
    seen.iter().fold(message, |message, seen| {
        let touch = touches.paths.iter().find(|touch| touch.path.to_string() == seen.path);
        let leads_elsewhere = touch.is_some_and(|touch| {
            seen.real != seen.path && context.roots.real(&touch.path).to_string() != seen.real
        });
        if !leads_elsewhere || named.contains(&&*seen.path) {
            return message;
        }
        named.push(&seen.path);
        match named.len() {
            1..=MAX_REAL_PATHS => format!("{message} {} leads to {}.", seen.path, seen.real),
            _ if named.len() == MAX_REAL_PATHS + 1 => {
                format!("{message} More of the paths lead elsewhere.")
            }
            _ => message,
        }
    })
}
