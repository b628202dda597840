//! The job of an admitted call: everything that it may use, at this moment.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, atomic::Ordering};

use orion_domain::evaluate::Decision;
use orion_domain::{ErrorCode, Risk, ToolError};
use orion_wire::Dispatched;
use serde_json::Value;
use tokio::time::Instant;

use super::Agent;
use super::ceiling::granted_paths_by;
use crate::call::ObservationMode;
use crate::execute::Job;
use crate::guard::Admitted;
use crate::report::Subject;
use crate::sandbox::Confinement;
use crate::tools::Executor;

/// How and until when an admitted call runs.
pub(super) struct JobTerms {
    pub(super) executor: Executor,
    pub(super) confinement: Confinement,
    pub(super) seeing: ObservationMode,
    pub(super) has_effects: bool,
    pub(super) deadline: Instant,
    pub(super) cancelled: Arc<AtomicBool>,
    /// The risk from which the person at the device had to be asked, where nobody was.
    pub(super) unasked_from: Option<Risk>,
}

impl Agent {
    /// Returns how a tool runs here, and what confines it.
    ///
    /// # Errors
    /// This device cannot run the tool, or cannot confine it.
    pub(super) fn means(
        &self,
        admitted: &Admitted,
        dry_run: bool,
    ) -> Result<(Executor, Confinement), ToolError> {
        let spec = admitted.spec;
        let executor = crate::tools::executor(spec).ok_or_else(|| {
            let message = format!("This device cannot run {}.", spec.name);
            ToolError::new(ErrorCode::NotSupported, message)
        })?;
        Ok((executor, self.toolbox.sandbox.confinement(spec, dry_run)?))
    }

    /// Returns the job of an admitted call.
    pub(super) fn job(
        &self,
        subject: Subject,
        call: Dispatched,
        admitted: Admitted,
        terms: JobTerms,
    ) -> Job {
        let Admitted { permit, spec: _, parsed, verdict, raises, widened, risk: _ } = admitted;
        let JobTerms {
            executor,
            confinement,
            seeing,
            has_effects,
            deadline,
            cancelled,
            unasked_from,
        } = terms;
        let roots = match &widened {
            // What one person got on request is in nobody else's reach.
            Some(policy) => granted_paths_by(&self.settings, policy),
            None => Arc::clone(&self.roots),
        };
        Job {
            subject,
            permit,
            executor,
            confinement,
            arguments: Value::Object(call.arguments_value),
            seeing,
            touches: parsed.touches,
            undo: parsed.undo,
            has_effects,
            memory: Arc::default(),
            deadline: deadline.into_std(),
            cancelled,
            roots,
            verdict: Some(verdict.unasked_from(unasked_from)),
            approved_raises: raises,
            toolbox: Arc::clone(&self.toolbox),
        }
    }

    /// Cancels the transfers that the active policy and ceiling deny, as they began under others.
    pub(super) fn end_denied_transfers(&self) {
        for running in self.running.values() {
            let Some(call) = &running.transfer else { continue };
            let is_denied = self.guard.judge(call).map_or(true, |it| it.decision == Decision::Deny);
            if is_denied {
                tracing::info!(call = %call.call, "a transfer that is not allowed any more was ended");
                running.cancelled.store(true, Ordering::Relaxed);
            }
        }
    }
}
