//! The messages between the agent and a worker.

use std::collections::HashMap;
use std::path::PathBuf;

use orion_domain::touches::PathTouch;
use orion_domain::{CallId, Observation, Places, Policy, RiskRaise, ToolError, Touches, Undo};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Installation, ObservationMode, Outcome};
use crate::coordination::{Answer, Question};
use crate::roots::SentRoots;
use crate::sandbox::Reach;
use crate::verdict::SentVerdict;

/// What the agent tells a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ToWorker {
    /// Confines the worker for good, and says what its calls share. Comes once, before the first call. The
    /// handles travel beside it: the trash, then each existing folder.
    Bind(Box<Binding>),
    /// Runs a call. Comes when the call before it has ended.
    Run(Box<Order>),
    /// Answers the worker's question.
    Answer(Answer),
    /// Cancels the running call.
    Cancel,
}

/// What all calls of one worker share.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Binding {
    /// What the kernel lets the worker do in the folders. `None` where the kernel cannot confine it.
    pub(super) reach: Option<Reach>,
    /// The granted folders.
    pub(super) roots: SentRoots,
    /// The number of handles.
    pub(super) handles: usize,
    /// The policy that decided on the calls.
    pub(super) policy: Option<Policy>,
    /// Where relative paths and `~` begin.
    pub(super) places: Places,
    /// The device's id.
    pub(super) device_id: String,
    /// The agent that runs the calls.
    pub(super) installation: Installation,
    /// The path of the trash.
    pub(super) trash: PathBuf,
    /// Names of the device's accounts, which the worker could not look up.
    pub(super) accounts: HashMap<u32, String>,
}

/// One call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) call: CallId,
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) dry_run: bool,
    /// Milliseconds until the call must end.
    pub(super) time_left_ms: u64,
    pub(super) touches: TouchedPaths,
    pub(super) seeing: Seeing,
    pub(super) undo: Option<Undo>,
    pub(super) verdict: Option<SentVerdict>,
    pub(super) approved_raises: Vec<RiskRaise>,
}

/// What a file tool touches: paths, and nothing else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TouchedPaths {
    paths: Vec<PathTouch>,
    whole: bool,
}

impl TouchedPaths {
    /// Returns the paths. `None` if the call touches anything else.
    pub(super) fn of(touches: &Touches) -> Option<Self> {
        let Touches { paths, apps, urls, commands, services, logs, hosts, whole, definition } =
            touches;
        let alone = apps.is_empty()
            && urls.is_empty()
            && commands.is_empty()
            && services.is_empty()
            && logs.is_empty()
            && definition.is_none()
            && hosts.is_empty();
        alone.then(|| Self { paths: paths.clone(), whole: *whole })
    }
}

impl From<TouchedPaths> for Touches {
    fn from(TouchedPaths { paths, whole }: TouchedPaths) -> Self {
        Self { paths, whole, ..Self::default() }
    }
}

/// What to do about the touched paths before the call runs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Seeing {
    Nothing,
    Tell(TouchedPaths),
    Compare(TouchedPaths, Vec<Observation>),
}

impl Seeing {
    /// Returns the same for a worker. `None` if the call touches anything but paths.
    pub(super) fn of(mode: &ObservationMode) -> Option<Self> {
        Some(match mode {
            ObservationMode::Nothing => Self::Nothing,
            ObservationMode::Tell(touches) => Self::Tell(TouchedPaths::of(touches)?),
            ObservationMode::Compare(touches, before) => {
                Self::Compare(TouchedPaths::of(touches)?, before.clone())
            }
        })
    }
}

impl From<Seeing> for ObservationMode {
    fn from(seeing: Seeing) -> Self {
        match seeing {
            Seeing::Nothing => Self::Nothing,
            Seeing::Tell(touches) => Self::Tell(touches.into()),
            Seeing::Compare(touches, before) => Self::Compare(touches.into(), before),
        }
    }
}

/// What a worker tells the agent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromWorker {
    /// Asks about what all calls share. The tool waits for the answer.
    Ask(Question),
    /// Reports progress, for people.
    Progress { done: u64, total: Option<u64>, note: String },
    /// The call has ended.
    Ended(Box<Result<Outcome, ToolError>>),
}
