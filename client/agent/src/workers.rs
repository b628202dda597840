//! Runs file tools in worker processes: this agent's own binary, confined to what a call may reach
//! ([`serve`] is the worker's side). The agent keeps what all calls share, answers the worker's questions about
//! it, and kills a worker that does not end in time, takes too much memory, or fails. What such a call left is
//! then cleaned up at once, as after a crash of the agent, before any other call may touch the same paths.
//!
//! The agent never waits for a worker without a limit, and takes only messages of limited size from it.

mod desk;
mod killed;
mod pool;
mod protocol;
mod serve;
mod signals;
#[cfg(test)]
pub(crate) mod tests;

use std::ffi::OsStr;
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use orion_domain::{CallId, ErrorCode, Places, RiskRaise, ToolError, Touches, Undo};
use serde_json::Value;

use crate::call::{Installation, Memory, ObservationMode, Outcome, check};
use crate::process::{Received, WORKER, WorkerProgram};
use crate::roots::Roots;
use crate::sandbox::Reach;
use crate::trash::Trash;
use crate::verdict::Verdict;
use desk::Desk;
use killed::{Cause, Killed};
use pool::{Key, Pool, Worker};
use protocol::{Binding, FromWorker, Order, Seeing, ToWorker, TouchedPaths};

/// The most bytes that a worker may reserve, whether it uses them or not: the allocator reserves a GiB ahead. No
/// single piece of memory is larger.
const MAX_DATA: u64 = 4 * 1024 * 1024 * 1024;
/// The most bytes of memory that a worker may take for itself at any time.
const MAX_RESIDENT: u64 = 256 * 1024 * 1024;
/// How long after its deadline or its cancelling a tool may take to end by itself. Then its worker is killed.
/// Less than the call's room and the backend wait, so that the end is reported in time.
const KILL_AFTER: Duration = Duration::from_millis(400);
/// How often a running worker is measured, and its call asked whether it goes on.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The most large messages of one call: its result, and questions about many long paths.
const MAX_LARGE: u32 = 4;

/// Runs file tools in worker processes. By default there are none, and every call is refused.
#[derive(Debug, Default)]
pub struct Workers(Option<Pool>);

/// One call of a file tool, with everything that it may use.
#[expect(missing_debug_implementations, reason = "holds a function")]
pub struct FileCall<'a> {
    /// The call.
    pub call: CallId,
    /// The tool's name.
    pub tool: &'a str,
    /// The call's arguments.
    pub arguments: Value,
    /// Whether the call must change nothing.
    pub dry_run: bool,
    /// Whether the call may change something.
    pub has_effects: bool,
    /// What the kernel lets the call do in the folders. `None` where the kernel cannot confine it.
    pub reach: Option<Reach>,
    /// The granted folders.
    pub roots: &'a Roots,
    /// What the call touches.
    pub touches: &'a Touches,
    /// Whether the touched paths are observed or compared before the tool runs.
    pub seeing: &'a ObservationMode,
    /// What an undo call undoes or does again.
    pub undo: Option<Undo>,
    /// The decision, to be checked again for the real paths.
    pub verdict: Option<Verdict>,
    /// Why the call's risk is higher than its tool's, as shown to the person who approved it.
    pub approved_raises: Vec<RiskRaise>,
    /// The trash.
    pub trash: &'a Trash,
    /// Where relative paths and `~` begin.
    pub places: &'a Places,
    /// The device's id.
    pub device_id: &'a str,
    /// The agent's state folder and backend.
    pub installation: &'a Installation,
    /// The call's part of the memory that all calls share.
    pub memory: &'a Memory,
    /// When the call must end.
    pub deadline: Instant,
    /// Set to cancel the call.
    pub cancelled: &'a AtomicBool,
    /// Reports progress.
    pub progress: &'a dyn Fn(u64, Option<u64>, &str),
}

/// Does the work of a worker. `None` where the first argument does not name it, so that the caller goes on as
/// the agent.
#[must_use]
pub fn internal_command(argument: Option<&OsStr>) -> Option<ExitCode> {
    (argument?.to_str()? == WORKER).then(serve::main)
}

impl Workers {
    /// Returns workers that run this program.
    #[must_use]
    pub fn of(program: WorkerProgram) -> Self {
        Self(Some(Pool::new(program, pool::IDLE)))
    }

    /// Ends the workers of earlier folders, and starts one ahead of the next call.
    pub fn renew(&self) {
        if let Some(pool) = &self.0 {
            pool.renew();
        }
    }

    /// Runs a call in a worker to its end. Blocks.
    ///
    /// # Errors
    /// Every failure of the tool, and why its worker was killed.
    pub fn run(&self, mut call: FileCall<'_>) -> Result<Outcome, ToolError> {
        let Some(pool) = &self.0 else { return Err(not_started()) };
        let user = call.verdict.as_ref().map(|verdict| verdict.caller().user.clone());
        let policy = call.verdict.as_ref().map(Verdict::policy);
        let key = Key::of(call.roots, policy, call.reach, user);
        let (seeing, touches) = (Seeing::of(call.seeing), TouchedPaths::of(call.touches));
        let (Some(seeing), Some(touches)) = (seeing, touches) else {
            let message = format!("{} touches more than files, so nothing was run.", call.tool);
            return Err(ToolError::new(ErrorCode::Internal, message));
        };
        // Opening the folders may have taken long.
        check(call.cancelled.load(Ordering::Relaxed), call.deadline)?;
        let mut worker = pool.take(&key).map_err(|error| {
            tracing::error!(%error, "a worker could not be started");
            not_started()
        })?;
        let left = call.deadline.saturating_duration_since(Instant::now());
        let order = Order {
            call: call.call,
            tool: call.tool.to_owned(),
            arguments: std::mem::take(&mut call.arguments),
            dry_run: call.dry_run,
            time_left_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
            touches,
            seeing,
            undo: call.undo.take(),
            verdict: call.verdict.as_ref().map(Verdict::to_send),
            approved_raises: std::mem::take(&mut call.approved_raises),
        };
        if let Err(error) = ready(&mut worker, &call, key, order) {
            // The order is one message, and a worker runs nothing before it has all of it.
            tracing::error!(%error, "a worker did not take its call");
            return Err(not_started());
        }
        let mut desk = Desk::of(&call);
        match attend(&mut worker, &call, &mut desk) {
            Ok(result) => {
                pool.give_back(worker);
                result
            }
            Err(cause) => {
                let pid = worker.process.id();
                let status = worker.process.kill();
                tracing::warn!(pid, tool = call.tool, ?cause, ?status, "a worker was killed");
                let short = cause == Cause::Failed && worker.process.was_short_of_memory();
                let cause = if short { Cause::Memory } else { cause };
                // While the desk holds the paths, nobody else changes them.
                let error = Killed { cause, call: &call, forgot: desk.forgot() }.settle();
                drop(desk);
                Err(error)
            }
        }
    }
}

/// Binds a worker that is not bound yet, and gives it the call.
fn ready(worker: &mut Worker, call: &FileCall<'_>, key: Key, order: Order) -> std::io::Result<()> {
    if worker.key.is_none() {
        let (roots, folders) = call.roots.to_send();
        let trash = [call.trash.dir().as_fd()];
        let handles: Vec<_> =
            trash.into_iter().chain(folders.iter().map(|dir| dir.as_fd())).collect();
        let binding = Binding {
            reach: call.reach,
            roots,
            handles: handles.len(),
            policy: key.policy.as_deref().cloned(),
            places: call.places.clone(),
            device_id: call.device_id.to_owned(),
            installation: call.installation.clone(),
            trash: call.trash.path().to_owned(),
            accounts: crate::tools::known_accounts(),
        };
        worker.process.send(&ToWorker::Bind(Box::new(binding)), &handles)?;
        // Kept as they were sent, so that a folder that was replaced in between counts as another one.
        worker.key = Some(Key { folders, ..key });
    }
    worker.process.send(&ToWorker::Run(Box::new(order)), &[])
}

/// Attends a call until it ends.
///
/// # Errors
/// Why its worker is to be killed.
fn attend(
    worker: &mut Worker,
    call: &FileCall<'_>,
    desk: &mut Desk<'_>,
) -> Result<Result<Outcome, ToolError>, Cause> {
    let mut kill = (call.deadline + KILL_AFTER, Cause::Deadline);
    let (mut was_cancelled, mut large) = (false, 0);
    let mut check_at = Instant::now() + CHECK_INTERVAL;
    loop {
        let now = Instant::now();
        match worker.process.next(check_at.saturating_duration_since(now)) {
            Received::Message(FromWorker::Ended(result)) => return Ok(*result),
            Received::Message(FromWorker::Ask(question)) => {
                let answer = ToWorker::Answer(desk.answer(question));
                worker.process.send(&answer, &[]).map_err(|_| Cause::Failed)?;
            }
            Received::Message(FromWorker::Progress { done, total, note }) => {
                (call.progress)(done, total, &note);
            }
            Received::Large(bytes) => {
                let check = || check(call.cancelled.load(Ordering::Relaxed), call.deadline);
                large += 1;
                if large > MAX_LARGE {
                    return Err(Cause::Failed);
                }
                // As it is sent, and as it is read.
                let bytes = 2 * u64::try_from(bytes).unwrap_or(u64::MAX / 2);
                match call.memory.take_for_result(&check, bytes) {
                    Ok(()) => worker.process.receive_large(),
                    Err(error) if error.code == ErrorCode::Cancelled => {
                        return Err(Cause::Cancelled);
                    }
                    Err(_) => return Err(Cause::Deadline),
                }
            }
            Received::Nothing => {}
            Received::Closed => return Err(Cause::Failed),
        }
        let now = Instant::now();
        if !was_cancelled && call.cancelled.load(Ordering::Relaxed) {
            was_cancelled = true;
            worker.process.send(&ToWorker::Cancel, &[]).map_err(|_| Cause::Failed)?;
            if now + KILL_AFTER < kill.0 {
                kill = (now + KILL_AFTER, Cause::Cancelled);
            }
        }
        if now >= kill.0 {
            return Err(kill.1);
        }
        if now >= check_at {
            if worker.process.memory().is_some_and(|bytes| bytes > MAX_RESIDENT) {
                return Err(Cause::Memory);
            }
            check_at = now + CHECK_INTERVAL;
        }
        // Never later than the worker is to be killed.
        check_at = check_at.min(kill.0);
    }
}

fn not_started() -> ToolError {
    let message = "Nothing was run: the device could not start a worker process for the call.";
    ToolError::new(ErrorCode::ResourceExhausted, message).hint("try again later")
}
