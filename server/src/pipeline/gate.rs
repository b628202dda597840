//! What comes before the judgement of a whole call, in one order for whoever makes calls, plans them or
//! only asks what would become of one: the tool and the device, whether the tool is for this person
//! there, and only then the arguments.

use orion_catalog::ParsedCall;
use orion_domain::ToolError;
use orion_domain::evaluate::Evidence;

use super::audit::CallContext;
use super::authorize::{self, ToolRefused};
use super::validate::{self, Target};
use crate::backend::Backend;
use crate::store::StoreError;

/// A call that came no further.
#[derive(Debug)]
pub(super) struct Stopped {
    /// What it is about, where that was found.
    pub(super) target: Option<Target>,
    /// What the caller is told.
    pub(super) error: ToolError,
    /// Every line that was said of the tool, its name, and whether it decided; nothing where the tool
    /// was not what stopped the call.
    pub(super) trace: Vec<(Evidence, String, bool)>,
}

/// The tool and the device of a call, where the tool is for this person there.
///
/// # Errors
/// Where it was stopped.
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

/// Takes a call to where it can be judged as a whole.
///
/// # Errors
/// The record cannot be read; inside, where it was stopped.
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
