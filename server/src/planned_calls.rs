//! Calls that are made later, by a schedule or as the steps of a macro: what they are is settled when they are kept, and
//! whether they may run is decided when they are made.

use std::sync::Arc;

use orion_catalog::tools::planned_call::PlannedCall;
use orion_domain::evaluate::Decision;
use orion_domain::{CallId, CallRequest, Caller, ContentRaise, ErrorCode, Hint, ToolError};

use crate::pipeline::authorize::{self, Counts};
use crate::pipeline::call::CallContext;
use crate::pipeline::calls::tools_on;
use crate::pipeline::validate::Target;
use crate::pipeline::{Pipeline, aliases, validate};
use crate::store::{Label, Provenance, StoreError};

/// Returns a call with the tool that its person's alias stands for. Devices stay as they are written. It is checked again, with the arguments of the alias.
///
/// # Errors
/// The database cannot be read. The inner error says what does not fit.
pub async fn resolved(
    pipeline: &Pipeline,
    caller: &Caller,
    call: &PlannedCall,
) -> Result<Result<PlannedCall, ToolError>, StoreError> {
    let mut request = request(call);
    aliases::expand(pipeline, caller, &mut request).await?;
    let CallRequest { tool, device, arguments, .. } = request;
    let resolved = PlannedCall { tool, device, arguments };
    // What no alias has changed was checked when it was given; a task may run a macro.
    Ok(if resolved == *call { Ok(resolved) } else { resolved.check().map(|()| resolved) })
}

/// Checks that a call could be made now: its tool and device exist, its arguments fit, and its person may call the tool
/// there. Returns why it would be denied nevertheless, because it is decided again when it is made. None where it would
/// not, or where that is not known, such as of a device that is away.
///
/// # Errors
/// The database cannot be read. The inner error says why it could not.
pub async fn could_be_made(
    pipeline: &Arc<Pipeline>,
    caller: &Caller,
    call: &PlannedCall,
) -> Result<Result<Option<ToolError>, ToolError>, StoreError> {
    let caller = Caller { conversation: None, ..caller.clone() };
    let context = CallContext::new(caller, request(call));
    let (caller, request) = (&context.caller, &context.request);
    let target = match validate::target(pipeline, request) {
        Ok(target) => target,
        Err(error) => return Ok(Err(error)),
    };
    if !tools_on(caller, &target.device).iter().any(|spec| spec.name == target.spec.name) {
        let (tool, device) = (target.spec.name, &target.device.name);
        let message = format!("{} may not call {tool} on {device}.", caller.user);
        let why = format!("orion why {device} {tool}");
        return Ok(Err(ToolError::new(ErrorCode::PermissionDenied, message)
            .hint(Hint::run("see what would allow it", why))));
    }
    let device = target.device.for_calls(&target.spec.facts(), caller);
    let target = Target { device, ..target };
    let arguments = request.arguments.clone();
    Ok(match validate::arguments(pipeline, caller, &target, arguments).await? {
        Ok(parsed) => {
            let evaluated =
                authorize::call(context, target, parsed, Counts::default()).as_if_small();
            Ok((evaluated.decision() == Decision::Deny).then(|| evaluated.refusal()))
        }
        // What else is wrong may be right when the call is made, such as a device that is away.
        Err(error) if error.code == ErrorCode::InvalidArgument => Err(error),
        Err(_) => Ok(None),
    })
}

/// Returns the request of a call.
#[must_use]
pub fn request(call: &PlannedCall) -> CallRequest {
    let PlannedCall { tool, device, arguments } = call;
    CallRequest {
        tool: tool.clone(),
        device: device.clone(),
        arguments: arguments.clone(),
        ..CallRequest::default()
    }
}

/// Returns the provenance of a call that was kept by a call of this tool, where somebody else may have written it. What
/// the content was is not known any more, so the call is taken for one that stands in it, crosses devices and names
/// addresses of it.
#[must_use]
pub fn provenance(tainted: bool, kept_by: CallId, tool: &str) -> Provenance {
    let label = Label {
        call: kept_by,
        tool: tool.to_owned(),
        device: orion_domain::DeviceName::BACKEND.to_owned(),
        place: String::new(),
    };
    if !tainted {
        return Provenance::default();
    }
    let raises = vec![ContentRaise::SendsOut, ContentRaise::CrossesDevices, ContentRaise::Copied];
    Provenance { content: vec![label], raises, ..Provenance::default() }
}
