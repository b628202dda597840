//! Evaluates a call: the caller, the tool and the device, the arguments, the earlier calls, and at last the
//! policy. Changes nothing, but for previews that a rule measures with.

mod measured;

use orion_catalog::ParsedCall;
use orion_domain::evaluate::Evidence;
use orion_domain::{Caller, ErrorCode, ToolError};

use super::authorize::{self, EvaluatedCall, ToolRefused};
use super::call::{CallContext, Origin};
use super::validate::{self, Target};
use super::{Pipeline, plan, rate_limit, reauthorize};
use crate::store::StoreError;

pub(super) use measured::{is_previewed, measured, previewed};

/// A call that was denied before its evaluation was complete.
#[derive(Debug)]
pub(super) struct Stopped {
    /// The call.
    pub(super) context: CallContext,
    /// The tool and the device. None if they were not found.
    pub(super) target: Option<Target>,
    /// The error for the caller.
    pub(super) error: ToolError,
    /// The evidence about the tool, with the name of each rule and whether it decided. Empty if the call
    /// was stopped for another reason.
    pub(super) trace: Vec<(Evidence, String, bool)>,
}

/// The result of an evaluation: an evaluated call, or why it was stopped before.
pub(super) type Evaluated = Result<EvaluatedCall, Box<Stopped>>;

/// A call whose arguments are not read.
#[derive(Debug)]
pub(super) struct Unread {
    /// The tool and the device. None if they were not found.
    pub(super) target: Option<Target>,
    /// The error for the caller, with its evidence.
    pub(super) refused: ToolRefused,
}

/// Returns the tool and the device of a call, if the caller may use the tool there.
///
/// # Errors
/// The error for the caller, with the target and the evidence as far as they are known.
pub(super) fn target(pipeline: &Pipeline, context: &CallContext) -> Result<Target, Box<Unread>> {
    let unread = |target, refused| Box::new(Unread { target, refused });
    let stopped = |error| ToolRefused { error, trace: Vec::new() };
    let target = validate::find_target(pipeline, &context.request)
        .map_err(|error| unread(None, stopped(error)))?;
    let device = target.device.for_calls(&target.spec.facts(), &context.caller);
    let target = Target { device, ..target };
    if let Err(error) = validate::takes_call(&target) {
        return Err(unread(Some(target), stopped(error)));
    }
    match authorize::tool(context, &target) {
        Ok(()) => Ok(target),
        Err(refused) => Err(unread(Some(target), *refused)),
    }
}

/// Evaluates a call with everything that is known of it.
///
/// # Errors
/// The database cannot be read.
pub(super) async fn evaluate(
    pipeline: &Pipeline,
    mut context: CallContext,
) -> Result<Evaluated, StoreError> {
    let stopped = |context, target, error| {
        Ok(Err(Box::new(Stopped { context, target, error, trace: Vec::new() })))
    };
    match current_caller(pipeline, &context).await? {
        Ok(Some(caller)) => context.caller = caller,
        Ok(None) => {}
        Err(error) => {
            let target = validate::find_target(pipeline, &context.request).ok();
            return stopped(context, target, error);
        }
    }
    let target = match target(pipeline, &context) {
        Ok(target) => target,
        Err(unread) => {
            let Unread { target, refused: ToolRefused { error, trace } } = *unread;
            return Ok(Err(Box::new(Stopped { context, target, error, trace })));
        }
    };
    let refusal = pipeline.stops.refusal(&context.caller.user, target.device.id);
    if let Some(error) = refusal {
        return stopped(context, Some(target), error);
    }
    // A name may be given to another device before the call is evaluated again.
    context.request.device = Some(target.device.id.to_string());
    let arguments = context.request.arguments.clone();
    let parsed = match validate::arguments(pipeline, &context.caller, &target, arguments).await? {
        Ok(parsed) => parsed,
        Err(error) => return stopped(context, Some(target), error),
    };
    if is_redefined(&context, &parsed) {
        let message =
            format!("The definition of {} has changed since the call was made.", target.spec.name);
        let error = ToolError::new(ErrorCode::PreconditionFailed, message)
            .hint("make the call again, if the tool still does what you want");
        return stopped(context, Some(target), error);
    }
    let counts = rate_limit::counts(pipeline, &context, &target, &parsed).await?;
    Ok(Ok(authorize::call(context, target, parsed, counts)))
}

/// Returns whether a call that waited was evaluated with another definition of its custom tool.
fn is_redefined(context: &CallContext, parsed: &ParsedCall) -> bool {
    let Some(definition) = parsed.touches.definition else { return false };
    let line = authorize::definition_line(definition);
    let evaluated = context.stored_call().map(|stored| &stored.row.touches);
    evaluated.is_some_and(|touches| !touches.is_empty() && !touches.contains(&line))
}

/// Returns the caller with the role of this moment, for a call that has waited. None for a call that has not:
/// its request was authenticated a moment ago.
async fn current_caller(
    pipeline: &Pipeline,
    context: &CallContext,
) -> Result<Result<Option<Caller>, ToolError>, StoreError> {
    if context.is_fresh {
        return Ok(Ok(None));
    }
    let is_step = matches!(context.origin, Origin::PlanStep { shown: Some(_), .. });
    let asked_as = context.caller.role;
    Ok(match reauthorize::person(pipeline, &context.caller, context.token).await? {
        Ok(caller) if is_step && caller.role != asked_as => Err(plan::another()),
        // Never with a higher role than the requester had.
        Ok(caller) => Ok(Some(Caller { role: caller.role.min(asked_as), ..caller })),
        Err(error) => Err(error),
    })
}
