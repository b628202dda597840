//! What a person sees of calls and tools, the same for every way in: their own calls, or every call for an
//! admin, and the tools that they may call.

use std::sync::Arc;
use std::time::Duration;

use orion_catalog::{CATALOG, ToolSpec};
use orion_domain::evaluate::Decision;
use orion_domain::{Caller, DeviceId, DeviceName, Question, Role, ToolError, evaluate};
use tokio::time::{Instant, timeout_at};

use super::Pipeline;
use super::view::CallView;
use crate::clock::now_ms;
use crate::fleet::DeviceSnapshot;
use crate::store::{CallRow, ListedCall, StoreError};

/// Maximum number of calls in a list.
const MAX_LISTED: u32 = 1_000;
/// Number of calls in a list where the request names none.
const DEFAULT_LISTED: u32 = 50;
/// Maximum time that one request waits for the end of a call.
pub const MAX_WAIT: Duration = Duration::from_secs(60);

/// Returns a call that this person may see: their own, or any call for an admin. `id` may be shortened.
///
/// # Errors
/// [`StoreError::NotFound`]: there is no such call, or it is another person's. The database cannot be read.
pub async fn visible(
    pipeline: &Pipeline,
    caller: &Caller,
    id: &str,
) -> Result<CallRow, StoreError> {
    let row = pipeline.store.find_call(id).await?;
    if row.caller.user != caller.user && caller.role != Role::Admin {
        return Err(StoreError::NotFound);
    }
    Ok(row)
}

/// The calls that a list contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallFilter {
    /// The device of the calls. None for every device.
    pub device: Option<DeviceId>,
    /// Whether only calls that are open or whose outcome is unknown are listed.
    pub open: bool,
    /// Whether previews are listed too.
    pub previews: bool,
    /// The maximum number of calls; 0 stands for 50, and more than 1,000 are never listed.
    pub limit: u32,
}

/// Returns the newest calls that a person may see, without arguments and results.
///
/// # Errors
/// The database cannot be read.
pub async fn newest_visible(
    pipeline: &Pipeline,
    caller: &Caller,
    filter: CallFilter,
) -> Result<Vec<ListedCall>, StoreError> {
    let CallFilter { device, open, previews, limit } = filter;
    let user = (caller.role != Role::Admin).then_some(&caller.user);
    let limit = if limit == 0 { DEFAULT_LISTED } else { limit.min(MAX_LISTED) };
    pipeline.store.newest_calls(user, device, open, previews, limit).await
}

/// Waits until a call that this person may see has ended, for [`MAX_WAIT`] at most. Returns its last state.
///
/// # Errors
/// As [`visible`].
pub async fn wait_until_closed(
    pipeline: &Pipeline,
    caller: &Caller,
    id: &str,
    wait: Duration,
) -> Result<CallView, StoreError> {
    let mut view = CallView::from(visible(pipeline, caller, id).await?);
    let deadline = Instant::now() + wait.min(MAX_WAIT);
    let mut changes = pipeline.bus.watch_call(view.call);
    let id = view.call.to_string();
    while !wait.is_zero() && !view.state.is_closed() {
        // The call is read again first: it may have changed before the watcher subscribed.
        view = CallView::from(visible(pipeline, caller, &id).await?);
        if view.state.is_closed() || timeout_at(deadline, changes.changed()).await.is_err() {
            break;
        }
    }
    Ok(view)
}

/// Returns the tools that a person may call on a device, or all tools if `device` is None.
///
/// # Errors
/// There is no such device.
pub fn visible_tools(
    pipeline: &Pipeline,
    caller: &Caller,
    device: Option<&str>,
) -> Result<Vec<&'static ToolSpec>, ToolError> {
    let device = device.map(|name| pipeline.fleet.find(name)).transpose()?;
    Ok(match device {
        Some(device) => tools_on(caller, &device),
        None => CATALOG.iter().collect(),
    })
}

/// Returns the tools that a person may call on a device.
#[must_use]
pub fn tools_on(caller: &Caller, device: &Arc<DeviceSnapshot>) -> Vec<&'static ToolSpec> {
    let all = CATALOG.iter().chain(device.terms.custom.iter().copied());
    all.filter(|spec| may_call(caller, device, spec)).collect()
}

/// Returns the custom tools that a person may call, each with its device, by the names of both.
#[must_use]
pub fn custom_tools_anywhere(
    pipeline: &Pipeline,
    caller: &Caller,
) -> Vec<(&'static ToolSpec, DeviceName)> {
    let mut found = Vec::new();
    for device in pipeline.fleet.all().iter().filter(|device| device.is_approved()) {
        let usable = device.terms.custom.iter().filter(|spec| may_call(caller, device, spec));
        found.extend(usable.map(|spec| (*spec, device.name.clone())));
    }
    found.sort_by(|(one, at), (other, there)| (one.name, at).cmp(&(other.name, there)));
    found
}

/// Returns the tools that a person may call on at least one approved device, or on the backend.
#[must_use]
pub fn tools_anywhere(pipeline: &Pipeline, caller: &Caller) -> Vec<&'static ToolSpec> {
    let mut devices = pipeline.fleet.all();
    devices.retain(|device| device.is_approved());
    let is_visible = |spec: &&ToolSpec| devices.iter().any(|it| may_call(caller, it, spec));
    CATALOG.iter().filter(is_visible).collect()
}

/// Returns whether a person may call a tool on a device with some arguments, with or without an approval.
fn may_call(caller: &Caller, device: &Arc<DeviceSnapshot>, spec: &ToolSpec) -> bool {
    let device = device.for_calls(&spec.facts(), caller);
    let question = Question {
        tool: spec.facts(),
        touches: None,
        arguments: None,
        caller,
        device: &device.name,
        dry_run: false,
        confirmed: false,
        at: device.timezone.moment(now_ms()),
        content: None,
        raises: &[],
        counted: None,
    };
    spec.runs_on == device.runs()
        && evaluate(&question, &device.policy).decision() != Decision::Deny
}
