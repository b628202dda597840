//! The worker processes of this agent: started ahead of a call, kept for a while for the next call of the same
//! person in the same folders, and ended when nothing needs them.
//!
//! One thread starts and ends them, and exists only while there are workers: the kernel ends a worker with the
//! thread that started it.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use orion_domain::{Policy, UserName};

use crate::process::{WorkerProcess, WorkerProgram};
use crate::roots::{GrantedRoots, Roots};
use crate::sandbox::Reach;

/// How long a worker is kept without a call.
pub(super) const IDLE: Duration = Duration::from_secs(30);
/// The most workers that are kept without a call, besides the one that no call had yet.
const MAX_IDLE: usize = 4;
/// How often it is asked whether the workers in use have ended.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// What a worker is confined to, and whom it worked for.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) ground: Arc<GrantedRoots>,
    /// The folders that exist, which the kernel lets the worker reach.
    pub(super) folders: Vec<Arc<Dir>>,
    pub(super) policy: Option<Arc<Policy>>,
    pub(super) reach: Option<Reach>,
    /// The person whose calls the worker runs.
    pub(super) user: Option<UserName>,
    #[cfg(test)]
    pub(super) naive: bool,
}

impl Key {
    /// Returns the key of a call in these folders.
    pub(super) fn of(
        roots: &Roots,
        policy: Option<&Arc<Policy>>,
        reach: Option<Reach>,
        user: Option<UserName>,
    ) -> Self {
        Self {
            ground: Arc::clone(roots.ground()),
            folders: roots.handles(),
            policy: policy.map(Arc::clone),
            reach,
            user,
            #[cfg(test)]
            naive: roots.is_naive(),
        }
    }

    fn fits(&self, other: &Self) -> bool {
        #[cfg(test)]
        if self.naive != other.naive {
            return false;
        }
        let same = |(one, other): (&Arc<Dir>, &Arc<Dir>)| Arc::ptr_eq(one, other);
        Arc::ptr_eq(&self.ground, &other.ground)
            && self.folders.len() == other.folders.len()
            && self.folders.iter().zip(&other.folders).all(same)
            && match (&self.policy, &other.policy) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (one, other) => one.is_none() && other.is_none(),
            }
            && self.reach == other.reach
            && self.user == other.user
    }
}

/// A worker that a call uses.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) process: WorkerProcess,
    /// What the worker was bound to. `None` before its first call.
    pub(super) key: Option<Key>,
    /// The number of renewals before the worker was taken for its call.
    renewals: u64,
    /// Counts the workers that exist.
    _token: Arc<()>,
}

/// The workers of one agent.
#[derive(Debug)]
pub(super) struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    program: WorkerProgram,
    idle: Duration,
    state: Mutex<State>,
    changed: Condvar,
    token: Arc<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Workers without a call, the one that was used last at the end.
    idle: Vec<(Worker, Instant)>,
    /// A worker that is bound to nothing yet.
    spare: Option<(Worker, Instant)>,
    wants_spare: bool,
    waiting: VecDeque<Sender<io::Result<Worker>>>,
    has_thread: bool,
    /// How often the folders or the policy changed.
    renewals: u64,
    is_closed: bool,
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn started(&self) -> io::Result<Worker> {
        let process = self.program.start()?;
        Ok(Worker { process, key: None, renewals: 0, _token: Arc::clone(&self.token) })
    }
}

impl Pool {
    pub(super) fn new(program: WorkerProgram, idle: Duration) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self(Arc::new(Inner { program, idle, state, changed, token: Arc::new(()) }))
    }

    /// Ends the workers of earlier folders, and starts one for the next call.
    pub(super) fn renew(&self) {
        let mut state = self.0.state();
        state.renewals += 1;
        let ended = std::mem::take(&mut state.idle);
        state.wants_spare = state.spare.is_none();
        self.wake(&mut state);
        drop(state);
        drop(ended);
    }

    /// Returns a worker that is bound to this key, or to nothing yet.
    pub(super) fn take(&self, key: &Key) -> io::Result<Worker> {
        let (renewals, worker) = self.find(key)?;
        Ok(Worker { renewals, ..worker })
    }

    fn find(&self, key: &Key) -> io::Result<(u64, Worker)> {
        let mut state = self.0.state();
        let renewals = state.renewals;
        let bound = |(worker, _): &(Worker, Instant)| {
            worker.key.as_ref().is_some_and(|bound| bound.fits(key))
        };
        while let Some(at) = state.idle.iter().rposition(bound) {
            let (mut worker, _) = state.idle.remove(at);
            if worker.process.is_alive() {
                return Ok((renewals, worker));
            }
        }
        if let Some((mut worker, _)) = state.spare.take() {
            // The next call that needs another worker finds one too.
            state.wants_spare = true;
            self.wake(&mut state);
            if worker.process.is_alive() {
                return Ok((renewals, worker));
            }
        }
        let (sender, started) = channel();
        state.waiting.push_back(sender);
        self.wake(&mut state);
        drop(state);
        let worker = started.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        Ok((renewals, worker))
    }

    /// Keeps a worker for the next call, unless there are enough or its folders have changed since.
    pub(super) fn give_back(&self, worker: Worker) {
        let mut state = self.0.state();
        if state.is_closed || worker.renewals != state.renewals {
            drop(state);
            // Its folders or its policy are not those of the next call.
            return drop(worker);
        }
        state.idle.push((worker, Instant::now()));
        let oldest = (state.idle.len() > MAX_IDLE).then(|| state.idle.remove(0));
        self.wake(&mut state);
        drop(state);
        drop(oldest);
    }

    /// Returns how many workers exist, those in use included.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        Arc::strong_count(&self.0.token) - 1
    }

    /// Wakes the thread of the workers, or starts it.
    fn wake(&self, state: &mut State) {
        if state.has_thread {
            return self.0.changed.notify_all();
        }
        let inner = Arc::clone(&self.0);
        match thread::Builder::new().name("workers".to_owned()).spawn(move || keep(&inner)) {
            Ok(_) => state.has_thread = true,
            Err(error) => {
                tracing::error!(%error, "no worker can be started");
                state.waiting.clear();
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_closed = true;
        let (idle, spare) = (std::mem::take(&mut state.idle), state.spare.take());
        (state.wants_spare, _) = (false, state.waiting.drain(..).count());
        self.0.changed.notify_all();
        drop(state);
        drop((idle, spare));
    }
}

/// Starts workers that are wanted, and ends those that are not, for as long as there are any.
fn keep(inner: &Inner) {
    let mut state = inner.state();
    loop {
        if let Some(waiting) = state.waiting.pop_front() {
            drop(state);
            // If the call does not wait any more, its worker ends here.
            drop(waiting.send(inner.started()));
            state = inner.state();
            continue;
        }
        if std::mem::take(&mut state.wants_spare) && !state.is_closed && state.spare.is_none() {
            drop(state);
            let started = inner.started();
            state = inner.state();
            match started {
                Ok(worker) if !state.is_closed => state.spare = Some((worker, Instant::now())),
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "a worker could not be started ahead"),
            }
            continue;
        }
        let now = Instant::now();
        let is_over = |since: &Instant| now.duration_since(*since) >= inner.idle;
        let (ended, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut state.idle).into_iter().partition(|(_, since)| is_over(since));
        state.idle = kept;
        let spare = state.spare.take_if(|(_, since)| is_over(since));
        if !ended.is_empty() || spare.is_some() {
            drop(state);
            drop((ended, spare));
            state = inner.state();
            continue;
        }
        if Arc::strong_count(&inner.token) == 1 {
            state.has_thread = false;
            return;
        }
        let since = state.idle.iter().map(|(_, since)| since);
        let next = since.chain(state.spare.iter().map(|(_, since)| since)).min();
        let wait = next.map_or(CHECK_INTERVAL, |since| {
            (*since + inner.idle).saturating_duration_since(now).min(CHECK_INTERVAL)
        });
        state = inner.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
    }
}
