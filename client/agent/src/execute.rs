//! Runs one admitted call: waits for the journal, gives the tool a place to run, enforces the deadline, and
//! reports how the call ended. Whatever a tool does, it ends exactly one call.
//!
//! A file tool runs in a [worker process](crate::workers), and a thread of the agent attends it. Any other tool
//! runs in a thread. The number of calls in flight limits both.

mod event;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use orion_domain::{ErrorCode, Permit, Places, RiskRaise, ToolError, Touches, Undo};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::sync::oneshot::{self, error::RecvError};

use crate::apps::Apps;
use crate::call::{Context, Installation, Memory, ObservationMode, Outcome, TakeOutput};
use crate::journal::{Admission, Ended};
use crate::perform::{Performance, perform, thinned};
use crate::programs::Programs;
use crate::report::Subject;
use crate::roots::GrantedPaths;
use crate::sandbox::{Confinement, Sandbox};
#[cfg(target_os = "linux")]
use crate::sandbox::{Reach, confine};
use crate::tools::{Executor, Installed};
use crate::trash::Trash;
use crate::verdict::Verdict;
#[cfg(target_os = "linux")]
use crate::workers::{FileCall, Workers};
pub use event::{CallEvent, Slot};

/// How long a tool may take to notice its deadline. Tools check the clock in their loops, but not while a
/// disk hangs. Less than a backend waits beyond the deadline, so that the backend receives the result.
const GRACE: Duration = Duration::from_secs(1);

/// What every call of this device shares.
#[derive(Debug)]
pub struct Toolbox {
    /// Where relative paths and `~` begin.
    pub places: Places,
    /// The applications that may be opened.
    pub apps: Apps,
    /// The programs that commands may name.
    pub programs: Programs,
    /// The agent's trash.
    pub trash: Arc<Trash>,
    /// The device's id, as text.
    pub device_id: String,
    /// The sandbox of file tools on this device.
    pub sandbox: Sandbox,
    /// The agent's state folder and backend.
    pub installation: Installation,
    /// The processes that file tools run in.
    #[cfg(target_os = "linux")]
    pub workers: Arc<Workers>,
}

/// One call, ready to run.
#[derive(Debug)]
pub struct Job {
    /// The call, as it is reported.
    pub subject: Subject,
    /// The right to run the call.
    pub permit: Permit,
    /// The tool's implementation.
    pub executor: Executor,
    /// The call's arguments.
    pub arguments: Value,
    /// Whether the touched paths are observed or compared before the tool runs.
    pub seeing: ObservationMode,
    /// What the call touches.
    pub touches: Touches,
    /// What an undo call undoes or does again. None for other calls.
    pub undo: Option<Undo>,
    /// How the call is confined.
    pub confinement: Confinement,
    /// Whether the call may change something.
    pub has_effects: bool,
    /// The call's part of the memory that all calls share.
    pub memory: Arc<Memory>,
    /// When the call must end.
    pub deadline: Instant,
    /// Set to cancel the call.
    pub cancelled: Arc<AtomicBool>,
    /// The granted folders.
    pub roots: Arc<GrantedPaths>,
    /// The decision, to be checked again for the real paths. None for a call that names no path.
    pub verdict: Option<Verdict>,
    /// Why the call's risk is higher than its tool's, as shown to the person who approved it.
    pub approved_raises: Vec<RiskRaise>,
    /// What every call shares.
    pub toolbox: Arc<Toolbox>,
}

/// Receives the result of a running call.
pub type Work = oneshot::Receiver<Result<Outcome, ToolError>>;

/// Runs the call and posts its events; `start` gives it a thread. Returns when the tool has ended, however
/// late.
pub async fn execute<E: From<CallEvent>>(
    job: Job,
    admission: Admission,
    events: mpsc::Sender<E>,
    start: impl FnOnce(Job, mpsc::Sender<E>) -> io::Result<Work>,
) {
    let Job { subject, deadline, has_effects, .. } = &job;
    let (subject, deadline, has_effects) = (subject.clone(), *deadline, *has_effects);
    let (call, memory) = (subject.call, Arc::clone(&job.memory));
    let finished = |ended: Ended, slot: Slot| CallEvent::Finished { call, ended, slot };

    let admitted = match tokio::time::timeout_at(deadline.into(), admission.wait()).await {
        Ok(admitted) => admitted.map_err(|error| error.refusal()),
        Err(_) => Err(not_noted()),
    };
    if let Err(error) = admitted {
        let ended = subject.failure(error, Duration::ZERO);
        return post(&events, finished(ended, Slot::Free)).await;
    }
    if job.cancelled.load(Ordering::Relaxed) {
        let error =
            ToolError::new(ErrorCode::Cancelled, "The call was cancelled before it started.");
        let ended = subject.failure(error, Duration::ZERO);
        return post(&events, finished(ended, Slot::Free)).await;
    }
    post(&events, CallEvent::Started { call }).await;

    let started = Instant::now();
    let mut work = match start(job, events.clone()) {
        Ok(work) => work,
        Err(error) => {
            tracing::error!(tool = subject.tool, %error, "a thread could not be started");
            let ended = subject.failure(no_thread(), started.elapsed());
            return post(&events, finished(ended, Slot::Free)).await;
        }
    };
    let in_time = tokio::time::timeout_at((deadline + GRACE).into(), &mut work).await;
    let result = match in_time {
        Ok(result) => result,
        Err(_) => {
            memory.give_back();
            let ended = subject.failure(given_up(&subject.tool, has_effects), started.elapsed());
            post(&events, finished(ended, Slot::GivenUp)).await;
            work.await
        }
    };
    let took = started.elapsed();
    let ended = match flatten(result, &subject.tool, has_effects) {
        Ok(outcome) => subject.success(outcome, took),
        Err(error) => subject.failure(error, took),
    };
    memory.give_back();
    post(&events, finished(ended, Slot::Free)).await;
}

/// Returns the result of a preview that nobody else waits for.
///
/// # Errors
/// The error of the tool; `TIMEOUT` where the preview does not end by then.
pub async fn preview(
    work: io::Result<Work>,
    deadline: tokio::time::Instant,
) -> Result<Outcome, ToolError> {
    let work = work.map_err(|_| no_thread())?;
    match tokio::time::timeout_at(deadline, work).await {
        Ok(result) => flatten(result, "the preview", false),
        Err(_) => Err(given_up("The preview", false)),
    }
}

/// Starts the call in a thread, which sends the result at the end.
pub(crate) fn begin<E: From<CallEvent> + Send + 'static>(
    job: Job,
    progress: mpsc::Sender<E>,
) -> io::Result<Work> {
    let (done, work) = oneshot::channel();
    let confinement = job.confinement;
    let run = move || drop(done.send(run(job, &progress)));
    match confinement {
        // A confined thread ends with its call.
        Confinement::Program | Confinement::Thread(_) => {
            drop(thread::Builder::new().name("call".to_owned()).spawn(run)?);
        }
        Confinement::Landlock(_) | Confinement::Worker | Confinement::Handles => {
            drop(tokio::task::spawn_blocking(run));
        }
    }
    Ok(work)
}

/// Posts an event. The loop ends after every call, so it receives the event unless the process ends.
async fn post<E: From<CallEvent>>(events: &mpsc::Sender<E>, event: CallEvent) {
    drop(events.send(event.into()).await);
}

fn run<E: From<CallEvent>>(job: Job, events: &mpsc::Sender<E>) -> Result<Outcome, ToolError> {
    let Job { subject, permit, executor, confinement, .. } = &job;
    let (call, confinement) = (subject.call, *confinement);
    tracing::debug!(%call, tool = executor.name, rule = permit.rule(), "running a call");
    let progress = |done: u64, total: Option<u64>, note: &str| {
        // If the loop is busy, the progress report is dropped.
        let (total, note) = (total.unwrap_or(0), note.to_owned());
        drop(events.try_send(CallEvent::Progress { call, done, total, note }.into()));
    };
    // If the loop is busy, the output waits, and its oldest part is left out.
    let output = |offset: u64, data: Vec<u8>| {
        events.try_send(CallEvent::Output { call, offset, data }.into()).is_ok()
    };
    let progress = thinned(&progress);
    match confinement {
        #[cfg(target_os = "linux")]
        Confinement::Landlock(reach) => in_a_worker(job, Some(reach), &progress),
        #[cfg(target_os = "linux")]
        Confinement::Worker => in_a_worker(job, None, &progress),
        #[cfg(not(target_os = "linux"))]
        Confinement::Landlock(_) | Confinement::Worker | Confinement::Thread(_) => Err(no_thread()),
        #[cfg(target_os = "linux")]
        Confinement::Thread(reach) => {
            let granted: Vec<_> = job.roots.granted().collect();
            confine(&granted, &[job.toolbox.trash.dir()], reach).map_err(|error| {
                tracing::error!(%call, %error, "a thread could not be confined");
                error.refusal()
            })?;
            here(job, &progress, &output)
        }
        Confinement::Program | Confinement::Handles => here(job, &progress, &output),
    }
}

/// Runs the tool in this thread.
fn here(
    job: Job,
    progress: &dyn Fn(u64, Option<u64>, &str),
    output: &TakeOutput<'_>,
) -> Result<Outcome, ToolError> {
    let toolbox = &*job.toolbox;
    let common = Context {
        call: job.subject.call,
        device_id: &toolbox.device_id,
        dry_run: job.subject.dry_run,
        roots: &job.roots,
        places: &toolbox.places,
        installation: &toolbox.installation,
        memory: &job.memory,
        cancelled: &job.cancelled,
        deadline: job.deadline,
        progress,
    };
    perform(Performance {
        common,
        executor: &job.executor,
        arguments: job.arguments,
        seeing: &job.seeing,
        touches: &job.touches,
        undo: job.undo.as_ref(),
        verdict: job.verdict,
        approved_raises: job.approved_raises,
        trash: &toolbox.trash,
        installed: Installed { apps: &toolbox.apps, programs: &toolbox.programs, output },
    })
}

/// Runs the tool in a worker process.
#[cfg(target_os = "linux")]
fn in_a_worker(
    job: Job,
    reach: Option<Reach>,
    progress: &dyn Fn(u64, Option<u64>, &str),
) -> Result<Outcome, ToolError> {
    let toolbox = &*job.toolbox;
    toolbox.workers.run(FileCall {
        call: job.subject.call,
        tool: job.executor.name,
        arguments: job.arguments,
        dry_run: job.subject.dry_run,
        has_effects: job.has_effects,
        reach,
        roots: &job.roots,
        touches: &job.touches,
        seeing: &job.seeing,
        undo: job.undo,
        verdict: job.verdict,
        approved_raises: job.approved_raises,
        trash: &toolbox.trash,
        places: &toolbox.places,
        device_id: &toolbox.device_id,
        installation: &toolbox.installation,
        memory: &job.memory,
        deadline: job.deadline,
        cancelled: &job.cancelled,
        progress,
    })
}

fn flatten(
    result: Result<Result<Outcome, ToolError>, RecvError>,
    tool: &str,
    has_effects: bool,
) -> Result<Outcome, ToolError> {
    result.unwrap_or_else(|RecvError { .. }| {
        tracing::error!(tool, "a tool did not end as it should");
        let (code, so) = if has_effects {
            (ErrorCode::OutcomeUnknown, ", so it is not known what it did")
        } else {
            (ErrorCode::Internal, "")
        };
        let message = format!("{tool} failed inside the agent{so}.");
        Err(ToolError::new(code, message).hint("read the agent's log on the device"))
    })
}

fn not_noted() -> ToolError {
    ToolError::new(
        ErrorCode::Timeout,
        "Nothing was run: the device could not record the call by its deadline. Its disk may hang.",
    )
    .hint("look at the device's disk, then try again")
}

fn no_thread() -> ToolError {
    ToolError::new(
        ErrorCode::ResourceExhausted,
        "Nothing was run: the device could not start a thread for the call.",
    )
    .hint("try again later")
}

fn given_up(tool: &str, has_effects: bool) -> ToolError {
    if has_effects {
        ToolError::new(
            ErrorCode::OutcomeUnknown,
            format!(
                "{tool} did not stop at its deadline, so it is not known what it did. The device will say when it does."
            ),
        )
    } else {
        ToolError::new(
            ErrorCode::Timeout,
            format!("{tool} did not answer by its deadline. The device's disk may be hanging."),
        )
    }
}

#[cfg(test)]
mod tests;
