//! Validates a call: whether the tool exists, which device is meant, and whether the arguments fit. It
//! decides nothing about permissions.

mod arguments;

use std::sync::Arc;

use orion_catalog::{Alias, ToolSpec, find, nearest};
use orion_domain::{CallRequest, ErrorCode, Hint, ToolError};

use super::Pipeline;
use crate::fleet::DeviceSnapshot;

pub use arguments::arguments;

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

/// Finds the tool and the device, which must be approved.
///
/// # Errors
/// As [`find_target`], and `PERMISSION_DENIED`.
pub fn target(pipeline: &Pipeline, request: &CallRequest) -> Result<Target, ToolError> {
    let target = find_target(pipeline, request)?;
    takes_calls(&target.device)?;
    Ok(target)
}

/// Finds the tool and the device, whether or not the device is approved.
///
/// # Errors
/// `TOOL_NOT_FOUND`, `DEVICE_REQUIRED`, `DEVICE_NOT_FOUND`.
pub fn find_target(pipeline: &Pipeline, request: &CallRequest) -> Result<Target, ToolError> {
    let Some((spec, alias)) = find(&request.tool) else {
        let shown: String = request.tool.chars().take(64).collect();
        return Err(ToolError::new(
            ErrorCode::ToolNotFound,
            format!("There is no tool `{shown}`."),
        )
        .hint(Hint::run("list the tools", "orion tools list"))
        .suggesting(nearest(&request.tool)));
    };
    let wanted = request.device.as_deref();
    let device = pipeline.fleet.find(wanted).or_else(|error| {
        // For a device whose identity has ended, the error says so.
        wanted.and_then(|wanted| pipeline.fleet.ended(wanted)).ok_or(error)
    })?;
    Ok(Target { spec, alias, device })
}

/// Checks that a device is approved.
///
/// # Errors
/// `PERMISSION_DENIED`.
pub fn takes_calls(device: &DeviceSnapshot) -> Result<(), ToolError> {
    if device.is_approved() {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorCode::PermissionDenied,
        format!("{} is {} and takes no calls.", device.name, device.state.as_str()),
    ))
}
