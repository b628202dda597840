//! The tools that run on the backend. The backend is a target of calls like a device: it has a row, grants and
//! a link, and its link leads to a task of this process instead of a stream. No other module knows the
//! difference, but for which tools run where.

mod calculate;
mod effect;
mod fetch_webpage;
mod get_audit_log;
mod http_request;
mod list_devices;
mod list_llm_models;
mod query_memory;
mod report;
mod task;
mod web;
mod write_memory;

use std::sync::Arc;

use anyhow::Context as _;
use futures_util::future::BoxFuture;
use orion_catalog::tools::calculate::Calculate;
use orion_catalog::tools::fetch_webpage::FetchWebpage;
use orion_catalog::tools::get_audit_log::GetAuditLog;
use orion_catalog::tools::http_request::HttpRequest;
use orion_catalog::tools::list_devices::ListDevices;
use orion_catalog::tools::list_llm_models::ListLlmModels;
use orion_catalog::tools::query_memory::QueryMemory;
use orion_catalog::tools::write_memory::WriteMemory;
use orion_catalog::{Tool, ToolSpec};
use orion_domain::{CallId, Caller, DeviceId, ErrorCode, Grants, PathStyle, Places, ToolError};
use orion_wire::{DeviceFacts, Os};
use serde_json::Value;

use crate::clock::now_ms;
use crate::config::Config;
use crate::fleet::Devices;
use crate::fleet::presence::facts_to_json;
use crate::store::{Store, StoreError};

pub use task::start;

/// The tools that are granted on a new backend: both only read, and neither shows what its person may not see.
const GRANTED: [&str; 2] = [Calculate::NAME, ListDevices::NAME];

/// What one call may use.
#[derive(Debug, Clone)]
struct Context {
    /// The call.
    call: CallId,
    /// The person that the call is made for.
    caller: Caller,
    /// Whether the call only returns what it would do.
    dry_run: bool,
    /// The devices, their database and the active policy.
    devices: Devices,
    /// The operator's configuration.
    config: Arc<Config>,
}

impl Context {
    /// Returns what the policy grants to a call of this tool now.
    fn granted<T: Tool>(&self) -> Result<web::Granted, ToolError> {
        let Some(known) = self.devices.fleet.known(DeviceId::BACKEND) else {
            return Err(ToolError::new(
                ErrorCode::Internal,
                "The grants of backend are not known.",
            ));
        };
        let known = known.for_calls(&ToolSpec::of::<T>().facts(), &self.caller);
        Ok(web::Granted::new(known.policy.grants.clone()))
    }
}

/// What a tool returns.
#[derive(Debug)]
struct Outcome<R> {
    /// One sentence for a person.
    message: String,
    data: R,
    /// Whether the data was cut at a limit.
    truncated: bool,
}

/// A tool that runs on the backend.
trait LocalTool: Tool {
    /// Runs one call.
    fn run(
        arguments: Self::Arguments,
        context: Context,
    ) -> impl Future<Output = Result<Outcome<Self::Returns>, ToolError>> + Send;
}

type Running = BoxFuture<'static, Result<Outcome<Value>, ToolError>>;

/// The executor of one tool.
struct Executor {
    name: &'static str,
    run: fn(Vec<u8>, Context) -> Running,
}

/// Every executor, in the order of the catalogue.
const EXECUTORS: &[Executor] = &[
    Executor::of::<Calculate>(),
    Executor::of::<ListDevices>(),
    Executor::of::<ListLlmModels>(),
    Executor::of::<GetAuditLog>(),
    Executor::of::<FetchWebpage>(),
    Executor::of::<HttpRequest>(),
    Executor::of::<WriteMemory>(),
    Executor::of::<QueryMemory>(),
];

impl Executor {
    const fn of<T: LocalTool>() -> Self {
        Self { name: T::NAME, run: boxed::<T> }
    }

    /// Returns the executor of a tool. None if the tool does not run here.
    fn find(tool: &str) -> Option<&'static Self> {
        EXECUTORS.iter().find(|executor| executor.name == tool)
    }
}

fn boxed<T: LocalTool>(arguments: Vec<u8>, context: Context) -> Running {
    Box::pin(async move {
        if T::HAS_EFFECTS && !context.dry_run {
            // The call had its effect before: it is not run again.
            let earlier = effect::earlier(&context.devices.store, context.call).await;
            if let Some(outcome) = earlier.map_err(effect::failed)? {
                return Ok(outcome);
            }
        }
        let arguments = serde_json::from_slice(&arguments).map_err(|_| {
            let message = format!("The arguments of {} cannot be read.", T::NAME);
            ToolError::new(ErrorCode::InvalidArgument, message)
        })?;
        let Outcome { message, data, truncated } = T::run(arguments, context).await?;
        let data = serde_json::to_value(data).map_err(|_| {
            let message = format!("The result of {} cannot be written.", T::NAME);
            ToolError::new(ErrorCode::Internal, message)
        })?;
        Ok(Outcome { message, data, truncated })
    })
}

/// Stores the backend as a target of calls, the first time with its first grants.
///
/// # Errors
/// The database cannot be written, or a device of an earlier version has the backend's name.
pub async fn register(store: &Store) -> anyhow::Result<()> {
    store.forget_settled_effects().await?;
    let os = Os::current();
    let facts = DeviceFacts {
        os,
        os_version: String::new(),
        hostname: String::new(),
        arch: String::new(),
        sandbox: String::new(),
        places: Places::bare(PathStyle::Posix),
    };
    let grants = Grants {
        tools: Some(GRANTED.iter().map(|tool| (*tool).to_owned()).collect()),
        ..Grants::default()
    };
    let grants = serde_json::to_string(&grants)?;
    match store.record_backend(&facts_to_json(&facts), &grants, os.as_str(), now_ms()).await {
        Err(StoreError::Conflict) => Err(StoreError::Conflict)
            .context("a device is called `backend`, which is the name of the backend itself"),
        recorded => Ok(recorded?),
    }
}

#[cfg(test)]
mod tests {
    use orion_catalog::{CATALOG, RunsOn};

    use super::*;

    #[test]
    fn the_backend_does_every_tool_of_the_catalogue_that_runs_there() {
        let done: Vec<_> = EXECUTORS.iter().map(|executor| executor.name).collect();
        let here = CATALOG.iter().filter(|spec| spec.runs_on == RunsOn::Backend);
        let known: Vec<_> = here.map(|spec| spec.name).collect();
        assert_eq!(
            done, known,
            "EXECUTORS of server/src/local_tools.rs and CATALOG of shared/catalog/src/tools.rs, in one order"
        );
        assert!(done.iter().all(|name| Executor::find(name).is_some()));
    }
}
