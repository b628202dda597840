//! The device's executors: one file per tool, and one line per tool in [`EXECUTORS`].
//!
//! An executor is blocking code. It does not decide whether the call may run; that is decided before. It
//! touches files only through [`Roots`](crate::roots::Roots), which enforces its own limits.

mod analyze_disk;
#[cfg(target_os = "linux")]
mod artifact;
mod asking;
#[cfg(target_os = "linux")]
mod check_compose;
mod check_disk_space;
#[cfg(target_os = "linux")]
mod check_docker;
#[cfg(target_os = "linux")]
mod check_git;
mod check_memory;
mod check_network;
mod check_ports;
#[cfg(target_os = "linux")]
mod check_python;
#[cfg(target_os = "linux")]
mod check_service;
#[cfg(target_os = "linux")]
mod check_service_health;
mod close_app;
mod config_format;
mod copy_path;
mod counted;
mod create_directory;
mod delete_directory;
mod delete_file;
mod difference;
mod download_file;
mod edit_file;
#[cfg(target_os = "linux")]
mod execute_command;
mod get_datetime;
mod get_device_info;
mod get_file_info;
#[cfg(target_os = "linux")]
mod git_diff;
#[cfg(target_os = "linux")]
mod git_status;
mod glob;
mod health_check;
#[cfg(target_os = "linux")]
mod http;
#[cfg(target_os = "linux")]
mod install_artifact;
#[cfg(target_os = "linux")]
mod installed;
mod kinds;
mod list_apps;
mod list_directory;
mod list_processes;
#[cfg(target_os = "linux")]
mod list_services;
mod modify_config;
mod move_path;
mod nearby;
mod open_app;
mod processes;
#[cfg(target_os = "linux")]
mod project;
mod reach;
mod read_config;
mod read_file;
#[cfg(target_os = "linux")]
mod read_logs;
mod receive;
#[cfg(target_os = "linux")]
mod restart_docker;
#[cfg(target_os = "linux")]
mod restart_service;
#[cfg(target_os = "linux")]
mod run_build;
#[cfg(target_os = "linux")]
mod run_commands;
#[cfg(target_os = "linux")]
mod run_format;
#[cfg(target_os = "linux")]
mod run_lint;
#[cfg(target_os = "linux")]
mod run_tests;
#[cfg(target_os = "linux")]
mod run_typecheck;
mod running;
mod search_directory;
mod search_files;
mod search_text;
#[cfg(target_os = "linux")]
mod service_managers;
#[cfg(test)]
pub(crate) mod testing;
mod transfer_file;
mod typed;
mod undo_call;
mod upload_file;
#[cfg(target_os = "linux")]
mod verify_artifact;
mod write_file;

use std::fmt;

#[cfg(target_os = "linux")]
use orion_catalog::custom::Definition;
use orion_catalog::{Execution, ToolSpec, tools as catalog};
#[cfg(target_os = "linux")]
use orion_domain::Digest;
use orion_domain::{ErrorCode, ToolError};
use serde_json::Value;

pub use asking::{AskingContext, AskingTool};
pub use get_file_info::cache_accounts;
#[cfg(target_os = "linux")]
pub(crate) use get_file_info::{know_accounts, known_accounts};
#[cfg(target_os = "linux")]
pub use kinds::CommandTool;
pub use kinds::{AppTool, FileTool, PlainTool};

#[cfg(target_os = "linux")]
use typed::run_command;
use typed::{run_app, run_asking, run_file, run_plain};

use crate::apps::Apps;
use crate::call::{AppContext, Context, FileContext, Outcome, TakeOutput};
#[cfg(target_os = "linux")]
use crate::custom;
use crate::programs::Programs;
#[cfg(target_os = "linux")]
use crate::programs::{CommandContext, LiveOutput};
use crate::roots::regular;

/// An executor as a value.
#[derive(Debug, Clone, Copy)]
pub struct Executor {
    /// The tool's name.
    pub name: &'static str,
    /// The tool's function.
    pub run: Run,
}

/// The function of a tool. It takes the canonical arguments of the call and what its kind of tools may use.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    /// A file tool.
    File(fn(Value, &FileContext<'_>) -> Result<Outcome, ToolError>),
    /// A plain tool.
    Plain(fn(Value, &Context<'_>) -> Result<Outcome, ToolError>),
    /// A plain tool that also asks programs.
    Asking(fn(Value, &AskingContext<'_>) -> Result<Outcome, ToolError>),
    /// A tool that opens applications.
    DesktopApp(fn(Value, &AppContext<'_>) -> Result<Outcome, ToolError>),
    /// A tool that runs programs.
    #[cfg(target_os = "linux")]
    Command(fn(Value, &CommandContext<'_>) -> Result<Outcome, ToolError>),
    /// A custom tool, by its definition.
    #[cfg(target_os = "linux")]
    Custom(&'static Definition, Digest),
    /// A tool that runs programs, which this system does not confine.
    #[cfg(not(target_os = "linux"))]
    Unconfined,
}

impl Executor {
    const fn file<T: FileTool>() -> Self {
        const { assert!(matches!(T::EXECUTION, Execution::File)) };
        Self { name: T::NAME, run: Run::File(run_file::<T>) }
    }

    const fn plain<T: PlainTool>() -> Self {
        const { assert!(matches!(T::EXECUTION, Execution::Plain)) };
        Self { name: T::NAME, run: Run::Plain(run_plain::<T>) }
    }

    const fn asking<T: AskingTool>() -> Self {
        const { assert!(matches!(T::EXECUTION, Execution::Plain)) };
        Self { name: T::NAME, run: Run::Asking(run_asking::<T>) }
    }

    const fn app<T: AppTool>() -> Self {
        const { assert!(matches!(T::EXECUTION, Execution::DesktopApp)) };
        Self { name: T::NAME, run: Run::DesktopApp(run_app::<T>) }
    }

    #[cfg(not(target_os = "linux"))]
    const fn command<T: orion_catalog::Tool>() -> Self {
        const { assert!(matches!(T::EXECUTION, Execution::ChildProcess)) };
        Self { name: T::NAME, run: Run::Unconfined }
    }

    #[cfg(target_os = "linux")]
    const fn command<T: CommandTool>() -> Self {
        const { assert!(matches!(T::EXECUTION, Execution::ChildProcess)) };
        Self { name: T::NAME, run: Run::Command(run_command::<T>) }
    }

    /// Executes the tool. Blocks.
    ///
    /// # Errors
    /// As [`FileTool::run`], and `INVALID_ARGUMENT` for arguments that do not fit the tool.
    pub fn call(
        &self,
        arguments: Value,
        context: &FileContext<'_>,
        Installed { apps, programs, output }: Installed<'_>,
    ) -> Result<Outcome, ToolError> {
        match self.run {
            Run::File(run) => run(arguments, context),
            Run::Plain(run) => run(arguments, &context.common),
            Run::Asking(run) => {
                let (common, risk) = (context.common, context.risk);
                run(arguments, &AskingContext { common, programs, risk })
            }
            Run::DesktopApp(run) => run(arguments, &AppContext { common: context.common, apps }),
            #[cfg(target_os = "linux")]
            Run::Command(run) => run(
                arguments,
                &CommandContext {
                    common: context.common,
                    programs,
                    risk: context.risk,
                    output: Some(&LiveOutput::new(output)),
                },
            ),
            #[cfg(target_os = "linux")]
            Run::Custom(definition, digest) => {
                let context = CommandContext {
                    common: context.common,
                    programs,
                    risk: context.risk,
                    output: Some(&LiveOutput::new(output)),
                };
                custom::run(definition, digest, arguments, &context)
            }
            #[cfg(not(target_os = "linux"))]
            Run::Unconfined => {
                let (Programs, _) = (programs, output);
                let message = "Programs run on Linux only, where the kernel confines them.";
                Err(ToolError::new(ErrorCode::NotSupported, message))
            }
        }
    }
}

/// What is installed on the device, for the tools that start it.
#[derive(Clone, Copy)]
pub struct Installed<'a> {
    /// The applications on the device's list.
    pub apps: &'a Apps,
    /// The programs that commands name.
    pub programs: &'a Programs,
    /// Takes what programs print while they run.
    pub output: &'a TakeOutput<'a>,
}

impl fmt::Debug for Installed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { apps, programs, output: _ } = self;
        let mut debug = f.debug_struct("Installed");
        debug.field("apps", apps).field("programs", programs).finish_non_exhaustive()
    }
}

/// Every tool of the device, in the order of the catalogue.
pub const EXECUTORS: &[Executor] = &[
    Executor::file::<catalog::list_directory::ListDirectory>(),
    Executor::file::<catalog::search_files::SearchFiles>(),
    Executor::file::<catalog::search_directory::SearchDirectory>(),
    Executor::file::<catalog::analyze_disk::AnalyzeDisk>(),
    Executor::file::<catalog::search_text::SearchText>(),
    Executor::file::<catalog::read_file::ReadFile>(),
    Executor::file::<catalog::get_file_info::GetFileInfo>(),
    Executor::file::<catalog::write_file::WriteFile>(),
    Executor::file::<catalog::edit_file::EditFile>(),
    Executor::file::<catalog::create_directory::CreateDirectory>(),
    Executor::file::<catalog::copy_path::CopyPath>(),
    Executor::file::<catalog::move_path::MovePath>(),
    Executor::file::<catalog::delete_file::DeleteFile>(),
    Executor::file::<catalog::delete_directory::DeleteDirectory>(),
    Executor::file::<catalog::read_config::ReadConfig>(),
    Executor::file::<catalog::modify_config::ModifyConfig>(),
    Executor::file::<catalog::undo_call::UndoCall>(),
    Executor::file::<catalog::download_file::DownloadFile>(),
    Executor::file::<catalog::upload_file::UploadFile>(),
    Executor::file::<catalog::transfer_file::TransferFile>(),
    Executor::app::<catalog::open_app::OpenApp>(),
    Executor::app::<catalog::close_app::CloseApp>(),
    Executor::app::<catalog::list_apps::ListApps>(),
    Executor::plain::<catalog::list_processes::ListProcesses>(),
    Executor::command::<catalog::execute_command::ExecuteCommand>(),
    Executor::command::<catalog::git_status::GitStatus>(),
    Executor::command::<catalog::git_diff::GitDiff>(),
    Executor::command::<catalog::run_tests::RunTests>(),
    Executor::command::<catalog::run_lint::RunLint>(),
    Executor::command::<catalog::run_build::RunBuild>(),
    Executor::command::<catalog::run_typecheck::RunTypecheck>(),
    Executor::command::<catalog::run_format::RunFormat>(),
    Executor::plain::<catalog::get_device_info::GetDeviceInfo>(),
    Executor::plain::<catalog::get_datetime::GetDatetime>(),
    Executor::asking::<catalog::health_check::HealthCheck>(),
    Executor::plain::<catalog::check_ports::CheckPorts>(),
    Executor::plain::<catalog::check_network::CheckNetwork>(),
    Executor::file::<catalog::check_disk_space::CheckDiskSpace>(),
    Executor::plain::<catalog::check_memory::CheckMemory>(),
    Executor::command::<catalog::check_git::CheckGit>(),
    Executor::command::<catalog::check_python::CheckPython>(),
    Executor::command::<catalog::check_docker::CheckDocker>(),
    Executor::command::<catalog::check_compose::CheckCompose>(),
    Executor::command::<catalog::list_services::ListServices>(),
    Executor::command::<catalog::check_service::CheckService>(),
    Executor::command::<catalog::check_service_health::CheckServiceHealth>(),
    Executor::command::<catalog::restart_service::RestartService>(),
    Executor::command::<catalog::restart_docker::RestartDocker>(),
    Executor::command::<catalog::read_logs::ReadLogs>(),
    Executor::command::<catalog::install_artifact::InstallArtifact>(),
    Executor::command::<catalog::verify_artifact::VerifyArtifact>(),
];

/// Returns the executor of a tool. `None` for a tool that does not run here.
#[must_use]
pub fn executor(spec: &'static ToolSpec) -> Option<Executor> {
    let Some((definition, digest)) = spec.definition() else { return find(spec.name).copied() };
    #[cfg(target_os = "linux")]
    return Some(Executor { name: spec.name, run: Run::Custom(definition, digest) });
    #[cfg(not(target_os = "linux"))]
    {
        let (_, _) = (definition, digest);
        Some(Executor { name: spec.name, run: Run::Unconfined })
    }
}

/// Returns the executor of a tool by its name; aliases do not match.
#[must_use]
pub fn find(name: &str) -> Option<&'static Executor> {
    EXECUTORS.iter().find(|executor| executor.name == name)
}

/// Returns the error for an invalid argument.
fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use orion_catalog::{CATALOG, RunsOn};

    use super::*;

    #[test]
    fn the_device_does_every_tool_of_the_catalogue_that_runs_there() {
        let done: Vec<_> = EXECUTORS.iter().map(|executor| executor.name).collect();
        let here = CATALOG.iter().filter(|spec| spec.runs_on == RunsOn::Device);
        let known: Vec<_> = here.map(|spec| spec.name).collect();
        assert_eq!(
            done, known,
            "EXECUTORS of client/agent/src/tools.rs and CATALOG of shared/catalog/src/tools.rs, in one order"
        );
        assert!(done.iter().all(|name| find(name).is_some()));
        assert!(find("file_list").is_none(), "aliases end at the backend");
    }
}
