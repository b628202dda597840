//! The worker's side: confines itself when it gets its folders, then runs one call after another. One thread
//! receives, another runs the tools, so that a call can be cancelled, and the worker ends at once when the agent
//! is gone.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use orion_domain::{ErrorCode, Policy, ToolError, Touches};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::MAX_DATA;
use super::protocol::{Binding, FromWorker, Order, ToWorker};
use crate::apps::Apps;
use crate::call::{Context, MAX_RESULT_BYTES, Memory, ObservationMode, Outcome};
use crate::coordination::{Agent, Answer, Question, become_worker_of};
use crate::perform::{Performance, perform, thinned};
use crate::process::AgentSocket;
use crate::programs::Programs;
use crate::roots::Roots;
use crate::sandbox::confine;
use crate::tools::{Executor, Installed};
use crate::trash::Trash;
use crate::verdict::Verdict;

/// Does the work of a worker until the agent is gone.
pub(super) fn main() -> ExitCode {
    let filter = std::env::var("ORION_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).without_time();
    let registry = tracing_subscriber::registry()
        .with(filter.unwrap_or_else(|| Targets::new().with_default(LevelFilter::WARN)));
    // In a test there is one already.
    drop(registry.with(layer.with_writer(io::stderr)).try_init());
    let _large_files = match super::signals::survive_large_files() {
        Ok(held) => held,
        Err(error) => {
            tracing::error!(%error, "a worker could not be set up");
            return ExitCode::FAILURE;
        }
    };
    let socket = match AgentSocket::become_worker(MAX_DATA) {
        Ok(socket) => Arc::new(socket),
        Err(error) => {
            tracing::error!(%error, "a worker could not be confined");
            return ExitCode::FAILURE;
        }
    };
    match receive_all(&socket) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "a worker ends");
            ExitCode::FAILURE
        }
    }
}

/// Receives until the agent is gone. Then the process ends, whatever its tool does.
fn receive_all(socket: &Arc<AgentSocket>) -> io::Result<()> {
    let (answers, answered) = channel();
    let link = Link { socket: Arc::clone(socket), answered: Mutex::new(answered) };
    become_worker_of(Box::new(link));
    let cancelled = Arc::new(AtomicBool::new(false));
    let mut orders: Option<Sender<Box<Order>>> = None;
    while let Some((message, mut handles)) = socket.receive::<ToWorker>()? {
        match message {
            ToWorker::Bind(binding) if orders.is_none() => {
                socket.receive_handles(&mut handles, binding.handles)?;
                let workplace = Workplace::confined(*binding, handles);
                let (sender, receiver) = channel();
                let (socket, cancelled) = (Arc::clone(socket), Arc::clone(&cancelled));
                // Started when this thread is confined, and so confined as well.
                std::thread::Builder::new()
                    .name("file tool".to_owned())
                    .spawn(move || run_all(&workplace, &receiver, &socket, &cancelled))?;
                orders = Some(sender);
            }
            ToWorker::Run(order) => {
                cancelled.store(false, Ordering::Relaxed);
                let sent = orders.as_ref().map(|orders| orders.send(order));
                if !matches!(sent, Some(Ok(()))) {
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
            ToWorker::Answer(answer) => drop(answers.send(answer)),
            ToWorker::Cancel => cancelled.store(true, Ordering::Relaxed),
            ToWorker::Bind(_) => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
    Ok(())
}

/// The agent, on the other end of the socket.
struct Link {
    socket: Arc<AgentSocket>,
    answered: Mutex<Receiver<Answer>>,
}

impl Agent for Link {
    fn ask(&self, question: Question) -> Answer {
        // One question at a time, so that each answer is to it.
        let answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = self.socket.send(&FromWorker::Ask(question));
        let answer = asked.ok().and_then(|()| answered.recv().ok());
        answer.unwrap_or_else(|| {
            let message = "The worker process cannot reach its agent.";
            Answer::Stop(ToolError::new(ErrorCode::Internal, message))
        })
    }
}

/// What all calls of this worker share.
struct Workplace {
    roots: Roots,
    trash: Trash,
    policy: Option<Arc<Policy>>,
    places: orion_domain::Places,
    device_id: String,
    installation: crate::call::Installation,
}

impl Workplace {
    /// Confines this thread, and returns what its calls use.
    ///
    /// # Errors
    /// The tool error for each call: then nothing may run here.
    fn confined(binding: Binding, handles: Vec<OwnedFd>) -> Result<Self, ToolError> {
        let Binding { reach, roots, policy, places, device_id, installation, trash, .. } = binding;
        crate::tools::know_accounts(binding.accounts);
        let mut handles = handles.into_iter().map(|it| Dir::from_std_file(File::from(it)));
        let incomplete = || {
            let message = "Nothing was run: the worker process did not get its folders.";
            ToolError::new(ErrorCode::Internal, message)
        };
        let dir = handles.next().ok_or_else(incomplete)?;
        let (roots, granted) = Roots::received(roots, handles).ok_or_else(incomplete)?;
        if let Some(reach) = reach {
            confine(&granted, &[&dir], reach).map_err(|error| {
                tracing::error!(%error, "a worker could not be confined");
                error.refusal()
            })?;
        }
        let trash = Trash::of_worker(dir, trash);
        Ok(Self { roots, trash, policy: policy.map(Arc::new), places, device_id, installation })
    }
}

/// Runs one call after another. Ends the process where a tool failed in a way that no tool should.
fn run_all(
    workplace: &Result<Workplace, ToolError>,
    orders: &Receiver<Box<Order>>,
    socket: &AgentSocket,
    cancelled: &AtomicBool,
) {
    while let Ok(order) = orders.recv() {
        let tool = order.tool.clone();
        let spec = orion_catalog::find(&tool);
        let has_effects = !order.dry_run && spec.is_some_and(|(spec, _)| spec.has_effects);
        let run = || match workplace {
            Ok(workplace) => run_one(workplace, *order, socket, cancelled),
            Err(error) => Err(error.clone()),
        };
        let Ok(result) = catch_unwind(AssertUnwindSafe(run)) else {
            tracing::error!(tool, "a tool did not end as it should");
            std::process::exit(1);
        };
        if !report(result, has_effects, socket) {
            std::process::exit(1);
        }
    }
}

fn run_one(
    workplace: &Workplace,
    order: Order,
    socket: &AgentSocket,
    cancelled: &AtomicBool,
) -> Result<Outcome, ToolError> {
    let Workplace { roots, trash, policy, places, device_id, installation } = workplace;
    let unknown = || {
        let message = format!("The worker process does not know {}.", order.tool);
        ToolError::new(ErrorCode::Internal, message)
    };
    let executor = find(&order.tool).ok_or_else(unknown)?;
    let verdict = match (order.verdict, policy) {
        (Some(sent), Some(policy)) => {
            Some(Verdict::received(sent, Arc::clone(policy)).ok_or_else(unknown)?)
        }
        (Some(_), None) => return Err(unknown()),
        (None, _) => None,
    };
    let progress = |done: u64, total: Option<u64>, note: &str| {
        let note = note.to_owned();
        drop(socket.send(&FromWorker::Progress { done, total, note }));
    };
    let progress = thinned(&progress);
    let memory = Memory::default();
    let common = Context {
        call: order.call,
        device_id,
        dry_run: order.dry_run,
        roots,
        places,
        installation,
        memory: &memory,
        cancelled,
        deadline: Instant::now() + Duration::from_millis(order.time_left_ms),
        progress: &progress,
    };
    perform(Performance {
        common,
        executor,
        arguments: order.arguments,
        seeing: &ObservationMode::from(order.seeing),
        touches: &Touches::from(order.touches),
        undo: order.undo.as_ref(),
        verdict,
        approved_raises: order.approved_raises,
        trash,
        installed: Installed {
            apps: &Apps::default(),
            programs: &Programs::default(),
            output: &|_, _| true,
        },
    })
}

fn find(tool: &str) -> Option<&'static Executor> {
    #[cfg(test)]
    if let Some(found) = super::tests::find(tool) {
        return Some(found);
    }
    crate::tools::find(tool)
}

/// Sends the result. Of one that is too large, a change keeps its message, and a read fails: it can be repeated
/// in parts.
fn report(result: Result<Outcome, ToolError>, has_effects: bool, socket: &AgentSocket) -> bool {
    let ended = FromWorker::Ended(Box::new(result));
    match socket.send(&ended) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
        sent => return sent.is_ok(),
    }
    let FromWorker::Ended(result) = ended else { return false };
    let less = result.and_then(|outcome| {
        if has_effects {
            let message = format!("{} (The details are too large to send.)", outcome.message);
            return Outcome::new(message, ()).cut(true).encoded("the tool");
        }
        let message = format!("The result has more than the maximum of {MAX_RESULT_BYTES} bytes.");
        let error = ToolError::new(ErrorCode::ResourceExhausted, message);
        Err(error.hint("ask for less at once"))
    });
    socket.send(&FromWorker::Ended(Box::new(less))).is_ok()
}
