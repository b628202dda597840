//! The life of a call: decide, record, act. Start reading here.
//!
//! [`decide`] evaluates a call and returns a verdict; `orion why` stops after its first half, [`evaluate`].
//! [`audit`] stores the verdict, denials included, in one transaction. Only then is a call sent, by
//! [`route`], and its end is stored by [`result`]. A call that was approved, whose device is back, that is a
//! step of a plan or that did not arrive enters the same [`Pipeline::resume`], and is decided again. A new
//! call comes from [`requests`].

pub mod access_requests;
pub mod aliases;
pub mod audit;
pub mod authorize;
pub mod call;
pub mod call_limits;
pub mod calls;
pub mod cancel;
pub mod confirm;
pub mod content;
mod decide;
mod evaluate;
pub mod explain;
pub mod extract;
pub mod idempotency;
pub mod names;
pub mod plan;
pub mod preview;
pub mod queue;
mod raise;
pub mod rate_limit;
pub mod reauthorize;
pub mod reconcile;
mod requests;
pub mod result;
pub mod route;
pub mod secrets;
pub mod stops;
mod undo;
pub mod validate;
mod verdict;
pub mod view;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use orion_domain::{ErrorCode, ToolError};

use self::audit::{Dispatched, Recorded};
use self::call::CallContext;
use self::call_limits::CallLimits;
use self::result::DeviceReport;
use self::route::{DispatchSlot, Sent};
use self::stops::Stops;
use self::verdict::{Held, Subject, Verdict};
use crate::bus::Bus;
use crate::config::Config;
use crate::fleet::{Devices, Fleet};
use crate::store::{Store, StoreError};
use crate::tasks::Tasks;
use crate::transfers::Transfers;

pub use self::view::CallView;

/// The most times that one call is decided: it is decided again when it is approved, when it did not arrive,
/// and when a count changed.
const MAX_ROUNDS: usize = 32;

/// What a call needs of the backend.
#[derive(Debug)]
pub struct Pipeline {
    /// The operator's configuration.
    pub config: Arc<Config>,
    /// The database.
    pub store: Store,
    /// The snapshots and links of the devices.
    pub fleet: Arc<Fleet>,
    /// The devices as a whole, to reload one after a rule was made.
    pub devices: Devices,
    /// Wakes tasks that wait for a change.
    pub bus: Bus,
    /// The calls in flight of each person, and their limits.
    pub limits: CallLimits,
    /// The calls that are stopped.
    pub stops: Stops,
    /// The content of files that moves beside calls.
    pub transfers: Arc<Transfers>,
    /// The tasks in which calls run.
    pub tasks: Tasks,
}

/// How the run of a call ended.
#[derive(Debug)]
struct Ended {
    /// The call.
    view: CallView,
    /// The report on a preview, which is not stored yet. None for any other call.
    report: Option<DeviceReport>,
}

impl From<CallView> for Ended {
    fn from(view: CallView) -> Self {
        Self { view, report: None }
    }
}

impl Pipeline {
    /// Puts together what calls need.
    #[must_use]
    pub fn new(config: Arc<Config>, devices: Devices, stops: Stops) -> Self {
        let Devices { store, fleet, bus, tasks, .. } = devices.clone();
        Self {
            config,
            store,
            fleet,
            devices,
            bus,
            limits: CallLimits::default(),
            stops,
            transfers: Arc::default(),
            tasks,
        }
    }

    /// Runs a call, new or stored, until it ends or waits for an approval or its device. A stored call
    /// brings its slot among the calls of its device, if it has one.
    ///
    /// # Errors
    /// As [`Self::run`].
    async fn resume(
        self: &Arc<Self>,
        context: CallContext,
        slot: Option<DispatchSlot>,
    ) -> Result<CallView, StoreError> {
        let held = slot.map_or(Held::Nothing, Held::Slot);
        let id = context.id;
        let mut is_approved = context.approval().is_some();
        match self.rounds(context, held, &mut is_approved).await {
            Ok(Ended { view, report }) => {
                DeviceReport::record_any(report, self).await?;
                // A stop may have been set after the call was decided, and before it waited.
                stops::end_if_covered(self, view).await
            }
            Err(error) => {
                // An approved call that was not sent ends, instead of waiting for a restart.
                if is_approved && let Ok(row) = self.store.call(id).await {
                    audit::break_off(self, &CallView::from(row)).await;
                }
                Err(error)
            }
        }
    }

    /// Runs a preview of another call. The caller stores the report of the device.
    fn run_preview(
        self: &Arc<Self>,
        context: CallContext,
    ) -> BoxFuture<'_, Result<Ended, StoreError>> {
        // Boxed: a call with a preview runs a call.
        Box::pin(async { self.rounds(context, Held::Nothing, &mut false).await })
    }

    /// Decides, records and acts until nothing follows. `is_approved` tells whether the call has an approval
    /// that is not used up.
    async fn rounds<'a>(
        self: &'a Arc<Self>,
        mut context: CallContext,
        mut held: Held<'a>,
        is_approved: &mut bool,
    ) -> Result<Ended, StoreError> {
        // A request with the same key waits for the call that replaces this one.
        let key = context.request.idempotency_key.as_ref();
        let _attempted = key.map(|_| self.limits.attempted(context.id));
        let mut replaced: Option<CallView> = None;
        for _ in 0..MAX_ROUNDS {
            let decided = decide::decide(self, context, held).await?;
            if let (Verdict::Dispatch(_), Some(view)) = (&decided.verdict, &replaced) {
                // The device has a stricter limit than the backend knows, and its refusal counts.
                return Ok(view.clone().into());
            }
            let Dispatched { call, view, permit, proof, mut in_flight } =
                *match audit::record(self, decided).await? {
                    Recorded::Rests(view) => return Ok(view.into()),
                    Recorded::Again(next, slot) => {
                        *is_approved = next.approval().is_some();
                        (context, held) = (*next, slot);
                        continue;
                    }
                    Recorded::Dispatched(dispatched) => {
                        *is_approved = false;
                        dispatched
                    }
                };
            match in_flight.send(&call, permit, proof.clone()).await {
                Sent::Failed(error) => return Ok(audit::close(self, view, error).await?.into()),
                Sent::Reported(answer) if call.context.is_preview() => {
                    let report = DeviceReport::of(call.target.device.id, answer);
                    let only_reads = call.context.request.dry_run && !call.target.spec.has_effects;
                    let report = if only_reads { report.without_data() } else { report };
                    return Ok(Ended { view: report.ends(view), report: Some(report) });
                }
                Sent::Reported(answer) => {
                    let device = call.target.device.id;
                    let view = result::close(self, device, view, answer).await?;
                    drop(in_flight);
                    match raise::replacement(call, proof.as_ref(), &view) {
                        Some(next) => (context, held) = (next, Held::Nothing),
                        None => return Ok(view.into()),
                    }
                    replaced = Some(view);
                }
                Sent::NotDelivered => {
                    let row = self.store.call(view.call).await?;
                    if let Some(error) = in_flight.given_up(&call, &row).await? {
                        return Ok(audit::close(self, view, error).await?.into());
                    }
                    let approval = match &proof {
                        Some(proof) => Some(self.store.approval(proof.id).await?),
                        None => None,
                    };
                    context = call.sent(row, approval);
                    held = Held::InFlight(in_flight);
                }
            }
        }
        let error = ToolError::new(
            ErrorCode::PreconditionFailed,
            "What the call depends on changed again and again. The call did not run.",
        )
        .hint("run it again");
        let subject = Subject::Unread { context: Box::new(context), target: None };
        Ok(audit::denied(self, &subject, error).await?.into())
    }
}
