//! The device's executors: one file per tool, and one line per tool in [`EXECUTORS`].
//!
//! An executor is blocking code. It does not decide whether the call may run; that is decided before. It
//! touches files only through [`Roots`](crate::roots::Roots), which enforces its own limits.

mod analyze_disk;
mod config_format;
mod copy_path;
mod counted;
mod create_directory;
mod delete_directory;
mod delete_file;
mod difference;
mod edit_file;
mod get_datetime;
mod get_device_info;
mod get_file_info;
mod glob;
mod list_directory;
mod modify_config;
mod move_path;
mod nearby;
mod open_app;
mod read_config;
mod read_file;
mod search_directory;
mod search_files;
mod search_text;
#[cfg(test)]
pub(crate) mod testing;
mod undo_call;
mod write_file;

use orion_catalog::{Tool, tools as catalog};
use orion_domain::{ErrorCode, ToolError};
use serde_json::Value;

pub use get_file_info::cache_accounts;

use crate::call::{Context, Outcome};
use crate::roots::regular;

/// A tool that this device executes.
pub trait Execute: Tool {
    /// Executes the tool. With `context.dry_run`, reports what it would do and changes nothing.
    ///
    /// # Errors
    /// Every failure of the tool, and `TIMEOUT` or `CANCELLED` if the call was stopped.
    fn run(
        arguments: Self::Arguments,
        context: &Context<'_>,
    ) -> Result<Outcome<Self::Returns>, ToolError>;
}

/// An executor as a value.
#[derive(Debug, Clone, Copy)]
pub struct Executor {
    /// The tool's name.
    pub name: &'static str,
    /// Executes the tool with the canonical arguments of the call. Blocks.
    ///
    /// # Errors
    /// As [`Execute::run`], and `INVALID_ARGUMENT` for arguments that do not fit the tool.
    pub run: fn(Value, &Context<'_>) -> Result<Outcome, ToolError>,
}

impl Executor {
    const fn of<T: Execute>() -> Self {
        Self { name: T::NAME, run: run::<T> }
    }
}

/// Every tool of the device, in the order of the catalogue.
pub const EXECUTORS: &[Executor] = &[
    Executor::of::<catalog::list_directory::ListDirectory>(),
    Executor::of::<catalog::search_files::SearchFiles>(),
    Executor::of::<catalog::search_directory::SearchDirectory>(),
    Executor::of::<catalog::analyze_disk::AnalyzeDisk>(),
    Executor::of::<catalog::search_text::SearchText>(),
    Executor::of::<catalog::read_file::ReadFile>(),
    Executor::of::<catalog::get_file_info::GetFileInfo>(),
    Executor::of::<catalog::write_file::WriteFile>(),
    Executor::of::<catalog::edit_file::EditFile>(),
    Executor::of::<catalog::create_directory::CreateDirectory>(),
    Executor::of::<catalog::copy_path::CopyPath>(),
    Executor::of::<catalog::move_path::MovePath>(),
    Executor::of::<catalog::delete_file::DeleteFile>(),
    Executor::of::<catalog::delete_directory::DeleteDirectory>(),
    Executor::of::<catalog::read_config::ReadConfig>(),
    Executor::of::<catalog::modify_config::ModifyConfig>(),
    Executor::of::<catalog::undo_call::UndoCall>(),
    Executor::of::<catalog::open_app::OpenApp>(),
    Executor::of::<catalog::get_device_info::GetDeviceInfo>(),
    Executor::of::<catalog::get_datetime::GetDatetime>(),
];

/// Returns the executor of a tool by its name; aliases do not match.
#[must_use]
pub fn find(name: &str) -> Option<&'static Executor> {
    EXECUTORS.iter().find(|executor| executor.name == name)
}

fn run<T: Execute>(arguments: Value, context: &Context<'_>) -> Result<Outcome, ToolError> {
    let arguments = serde_json::from_value(arguments)
        .map_err(|error| invalid(format!("The arguments of {} do not fit: {error}.", T::NAME)))?;
    context.check()?;
    let Outcome { message, data, truncated, observed, raises } = T::run(arguments, context)?;
    let data = serde_json::to_value(data).map_err(|_| {
        ToolError::new(
            ErrorCode::Internal,
            format!("The result of {} cannot be written as JSON.", T::NAME),
        )
    })?;
    Ok(Outcome { message, data, truncated, observed, raises })
}

/// Returns the error for an invalid argument.
fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use orion_catalog::CATALOG;

    use super::*;

    #[test]
    fn the_device_does_every_tool_of_the_catalogue() {
        let done: Vec<_> = EXECUTORS.iter().map(|executor| executor.name).collect();
        let known: Vec<_> = CATALOG.iter().map(|spec| spec.name).collect();
        assert_eq!(done, known);
        assert!(done.iter().all(|name| find(name).is_some()));
        assert!(find("file_list").is_none(), "aliases end at the backend");
    }
}
