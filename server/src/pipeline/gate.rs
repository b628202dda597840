//! The checks before the whole call is evaluated, in one order for calls, plans and explanations: first the
//! tool and the device, then whether the caller may use the tool there, and only then the arguments.

use orion_catalog::ParsedCall;
use orion_domain::ToolError;
use orion_domain::evaluate::Evidence;

use super::audit::CallContext;
use super::authorize::{self, ToolRefused};
use super::validate::{self, Target};
use crate::backend::Backend;
use crate::store::StoreError;

/// A call that did not pass the gate.
#[derive(Debug)]
pub(super) struct Stopped {
    /// The tool and the device. None if they were not found.
    pub(super) target: Option<Target>,
    /// The error for the caller.
    pub(super) error: ToolError,
    /// The evidence about the tool, with the name of each rule and whether it decided. Empty if the call
    /// was stopped for another reason.
    pub(super) trace: Vec<(Evidence, String, bool)>,
}

/// Returns the tool and the device of a call, if the caller may use the tool there.
///
/// # Errors
/// Why the call was stopped.
pub(super) fn target(backend: &Backend, incoming: &CallContext) -> Result<Target, Box<Stopped>> {
    let stopped = |target, error| Box::new(Stopped { target, error, trace: Vec::new() });
    let target =
        validate::find_target(backend, &incoming.request).map_err(|error| stopped(None, error))?;
    if let Err(error) = validate::takes_calls(&target.device) {
        return Err(stopped(Some(target), error));
    }
    match authorize::tool(incoming, &target) {
        Ok(()) => Ok(target),
        Err(refused) => {
            let ToolRefused { error, trace } = *refused;
            Err(Box::new(Stopped { target: Some(target), error, trace }))
        }
    }
}

/// Prepares a call for its whole evaluation.
///
/// # Errors
/// The database cannot be read. The inner error is why the call was stopped.
pub(super) async fn take(
    backend: &Backend,
    incoming: &CallContext,
) -> Result<Result<(Target, ParsedCall), Box<Stopped>>, StoreError> {
    let target = match target(backend, incoming) {
        Ok(target) => target,
        Err(stopped) => return Ok(Err(stopped)),
    };
    let arguments = incoming.request.arguments.clone();
    Ok(match validate::arguments(backend, &incoming.caller, &target, arguments).await? {
        Ok(parsed) => Ok((target, parsed)),
        Err(error) => Err(Box::new(Stopped { target: Some(target), error, trace: Vec::new() })),
    })
}
