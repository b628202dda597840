//! The tools that run on the backend. The backend is a target of calls like a device: it has a row, grants and
//! a link, and its link leads to a task of this process instead of a stream. No other module knows the
//! difference, but for which tools run where.

mod calculate;
mod cancel_job;
mod cancel_task;
mod effect;
mod fetch_webpage;
mod get_audit_log;
mod get_job;
mod http_request;
mod list_devices;
mod list_llm_models;
mod list_macros;
mod list_tasks;
mod own_calls;
mod query_memory;
mod report;
mod run_macro;
mod save_macro;
mod schedule_task;
mod secrets_of_request;
mod task;
mod templates;
mod web;
mod write_memory;

use std::sync::Arc;

use anyhow::Context as _;
use futures_util::future::BoxFuture;
use orion_catalog::tools::calculate::Calculate;
use orion_catalog::tools::cancel_job::CancelJob;
use orion_catalog::tools::cancel_task::CancelTask;
use orion_catalog::tools::fetch_webpage::FetchWebpage;
use orion_catalog::tools::generate_arduino_code::GenerateArduinoCode;
use orion_catalog::tools::generate_openscad::GenerateOpenscad;
use orion_catalog::tools::get_audit_log::GetAuditLog;
use orion_catalog::tools::get_job::GetJob;
use orion_catalog::tools::http_request::HttpRequest;
use orion_catalog::tools::list_devices::ListDevices;
use orion_catalog::tools::list_llm_models::ListLlmModels;
use orion_catalog::tools::list_macros::ListMacros;
use orion_catalog::tools::list_tasks::ListTasks;
use orion_catalog::tools::query_memory::QueryMemory;
use orion_catalog::tools::run_macro::RunMacro;
use orion_catalog::tools::save_macro::SaveMacro;
use orion_catalog::tools::schedule_task::ScheduleTask;
use orion_catalog::tools::write_memory::WriteMemory;
use orion_catalog::{Tool, ToolSpec};
use orion_domain::{CallId, Caller, DeviceId, ErrorCode, Grants, PathStyle, Places, ToolError};
use orion_wire::{DeviceFacts, Os};
use serde_json::Value;

use crate::clock::now_ms;
use crate::config::Config;
use crate::fleet::Devices;
use crate::fleet::presence::facts_to_json;
use crate::pipeline::Pipeline;
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
    /// Runs the calls that this one makes.
    pipeline: Arc<Pipeline>,
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

/// Where the effect of a tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// In the database, in one transaction with the result. Once it began, the call ends as it ends.
    Database,
    /// Elsewhere. The call is broken off when it is cancelled, when its time is over and when the backend stops; what
    /// happened by then may be unknown.
    Outside {
        /// What is unknown of a call that was broken off, a sentence.
        unknown: &'static str,
        /// What its person can do.
        hint: &'static str,
    },
}

/// A tool that runs on the backend.
trait LocalTool: Tool {
    /// Where its effect is, for a tool that has effects.
    const EFFECT: Effect = Effect::Database;

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
    effect: Effect,
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
    Executor::of::<GenerateOpenscad>(),
    Executor::of::<GenerateArduinoCode>(),
    Executor::of::<ScheduleTask>(),
    Executor::of::<ListTasks>(),
    Executor::of::<CancelTask>(),
    Executor::of::<GetJob>(),
    Executor::of::<CancelJob>(),
    Executor::of::<SaveMacro>(),
    Executor::of::<ListMacros>(),
    Executor::of::<RunMacro>(),
];

impl Executor {
    const fn of<T: LocalTool>() -> Self {
        Self { name: T::NAME, effect: T::EFFECT, run: boxed::<T> }
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
