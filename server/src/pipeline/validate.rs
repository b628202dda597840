//! Validates a call: whether the tool exists, which device is meant, and whether the arguments fit. It
//! decides nothing about permissions.

mod arguments;
mod artifacts;

use std::sync::Arc;

use orion_catalog::{Alias, RunsOn, ToolSpec, find, nearest};
use orion_domain::{Actor, CallRequest, ErrorCode, Hint, ToolError};

use super::Pipeline;
use crate::fleet::{DeviceSnapshot, Fleet};
use crate::store::DeviceState;

pub use arguments::arguments;
pub use artifacts::complete;

/// The tool and the device of a call.
#[derive(Debug, Clone)]
pub struct Target {
    /// The tool.
    pub spec: &'static ToolSpec,
    /// The alias that the request used. None if it used the tool's name.
    pub alias: Option<Alias>,
    /// The device.
    pub device: Arc<DeviceSnapshot>,
}

/// Finds the tool and the device, which must take calls of the tool.
///
/// # Errors
/// As [`find_target`] and [`takes_call`].
pub fn target(pipeline: &Pipeline, request: &CallRequest) -> Result<Target, ToolError> {
    let target = find_target(pipeline, request)?;
    takes_call(&target)?;
    Ok(target)
}

/// Finds the tool and the device, whether or not the device takes calls of the tool.
///
/// # Errors
/// `TOOL_NOT_FOUND`, `DEVICE_REQUIRED`, `DEVICE_NOT_FOUND`.
pub fn find_target(pipeline: &Pipeline, request: &CallRequest) -> Result<Target, ToolError> {
    let fleet = &pipeline.fleet;
    // For a device whose identity has ended, the error says so.
    let named = |wanted| fleet.find(wanted).or_else(|error| fleet.ended(wanted).ok_or(error));
    if let Some((spec, alias)) = find(&request.tool) {
        let device = match request.device.as_deref() {
            Some(wanted) => named(wanted)?,
            None => fleet.only(spec.runs_on)?,
        };
        return Ok(Target { spec, alias, device });
    }
    // Only a device knows its custom tools. A name that is none is not found on any.
    let Ok(device) =
        request.device.as_deref().map_or_else(|| only_with(fleet, &request.tool), named)
    else {
        return Err(match fleet.find(&request.tool) {
            Ok(device) if request.device.is_none() => no_tool_named(&device),
            Ok(_) | Err(_) => no_such_tool(&request.tool),
        });
    };
    match device.tool(&request.tool) {
        Some((spec, alias)) => Ok(Target { spec, alias, device }),
        None if device.terms.undecided.contains(&request.tool) => {
            Err(undecided(&device, &request.tool))
        }
        None => Err(no_such_tool(&request.tool)),
    }
}

/// Returns the only device that has this custom tool, for a caller who names none.
fn only_with(fleet: &Fleet, tool: &str) -> Result<Arc<DeviceSnapshot>, ToolError> {
    let mut devices = fleet.all();
    devices.retain(|device| {
        let is_undecided = device.terms.undecided.iter().any(|name| name == tool);
        device.is_approved() && (is_undecided || device.tool(tool).is_some())
    });
    match &devices[..] {
        [one] => Ok(Arc::clone(one)),
        _ => {
            let only = fleet.only(RunsOn::Device)?;
            if only.is_approved() { Ok(only) } else { Err(not_approved(&only)) }
        }
    }
}

/// Returns the error for a call that names a device in the place of a tool.
fn no_tool_named(device: &DeviceSnapshot) -> ToolError {
    let message = format!("{} is a device, and the call names no tool.", device.name);
    ToolError::new(ErrorCode::ToolNotFound, message)
        .hint(Hint::run(
            "name a tool after the device",
            format!("orion call {} get_datetime", device.name),
        ))
        .hint(Hint::run("list the tools", "orion tools list"))
}

fn no_such_tool(tool: &str) -> ToolError {
    let shown: String = tool.chars().take(64).collect();
    ToolError::new(ErrorCode::ToolNotFound, format!("There is no tool `{shown}`."))
        .hint(Hint::run("list the tools", "orion tools list"))
        .suggesting(nearest(tool))
}

fn undecided(device: &DeviceSnapshot, tool: &str) -> ToolError {
    let message =
        format!("The tool {tool} of {} waits until an admin approves its definition.", device.name);
    let command = format!("orion tools approve {} {tool}", device.name);
    ToolError::new(ErrorCode::PermissionDenied, message)
        .with("rule", "custom tools")
        .hint(Hint::run("read and approve it", command).by(Actor::Admin))
}

/// Returns the error for a call on a device that is not approved.
pub fn not_approved(device: &DeviceSnapshot) -> ToolError {
    let message = format!("{} is {} and takes no calls.", device.name, device.state.as_str());
    let step = match device.state {
        DeviceState::Pending => "compare the words of its fingerprint, and approve it",
        DeviceState::Quarantined => "approve it again, where it is the device that it was",
        DeviceState::Approved | DeviceState::Rejected | DeviceState::Revoked => {
            let command = format!("orion devices invite --name {}", device.name);
            return ToolError::new(ErrorCode::PermissionDenied, message).hint(
                Hint::run(
                    "enrol it again, as a new device: what it did before cannot be taken back then",
                    command,
                )
                .by(Actor::Admin),
            );
        }
    };
    let command = format!("orion devices approve {}", device.name);
    ToolError::new(ErrorCode::PermissionDenied, message)
        .hint(Hint::run(step, command).by(Actor::Admin))
}

/// Checks that a target takes calls of the tool: it is approved, and the tool runs there.
///
/// # Errors
/// `PERMISSION_DENIED`, `NOT_SUPPORTED`.
pub fn takes_call(target: &Target) -> Result<(), ToolError> {
    let Target { spec, device, .. } = target;
    if !device.is_approved() {
        return Err(not_approved(device));
    }
    if spec.runs_on == device.runs() {
        return Ok(());
    }
    let (message, hint) = match spec.runs_on {
        RunsOn::Backend => (
            format!("{} runs on the backend, and {} is a device.", spec.name, device.name),
            "make the call with the device `backend`, or without a device",
        ),
        RunsOn::Device => (
            format!("{} runs on a device, and {} is the backend itself.", spec.name, device.name),
            "make the call with the name of a device",
        ),
    };
    Err(ToolError::new(ErrorCode::NotSupported, message)
        .with("runs_on", spec.runs_on.as_str())
        .hint(hint))
}
