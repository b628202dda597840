//! One file a tool, and the table of all tools.

pub mod analyze_disk;
pub mod calculate;
pub mod cancel_job;
pub mod cancel_task;
pub mod check_compose;
pub mod check_disk_space;
pub mod check_docker;
pub mod check_git;
pub mod check_memory;
pub mod check_network;
pub mod check_ports;
pub mod check_python;
pub mod check_service;
pub mod check_service_health;
pub mod close_app;
pub mod copy_path;
pub mod create_directory;
pub mod delete_directory;
pub mod delete_file;
pub mod download_file;
pub mod edit_file;
pub mod execute_command;
pub mod fetch_webpage;
pub mod generate_arduino_code;
pub mod generate_openscad;
pub mod get_audit_log;
pub mod get_datetime;
pub mod get_device_info;
pub mod get_file_info;
pub mod get_job;
pub mod git_diff;
pub mod git_status;
pub mod health_check;
pub mod http_request;
pub mod install_artifact;
pub mod list_apps;
pub mod list_devices;
pub mod list_directory;
pub mod list_llm_models;
pub mod list_macros;
pub mod list_processes;
pub mod list_services;
pub mod list_tasks;
pub mod macro_calls;
pub mod modify_config;
pub mod move_path;
pub mod open_app;
pub mod planned_call;
pub mod query_memory;
pub mod read_config;
pub mod read_file;
pub mod read_logs;
pub mod restart_docker;
pub mod restart_service;
pub mod run_build;
pub mod run_format;
pub mod run_lint;
pub mod run_macro;
pub mod run_tests;
pub mod run_typecheck;
pub mod save_macro;
pub mod schedule_task;
pub mod search_directory;
pub mod search_files;
pub mod search_text;
pub mod transfer_file;
pub mod undo_call;
pub mod upload_file;
pub mod verify_artifact;
pub mod write_file;
pub mod write_memory;

pub use crate::argument_path::path;
use crate::spec::ToolSpec;

/// Every tool, in the order of the reference.
pub const CATALOG: &[ToolSpec] = &[
    ToolSpec::of::<list_directory::ListDirectory>(),
    ToolSpec::of::<search_files::SearchFiles>(),
    ToolSpec::of::<search_directory::SearchDirectory>(),
    ToolSpec::of::<analyze_disk::AnalyzeDisk>(),
    ToolSpec::of::<search_text::SearchText>(),
    ToolSpec::of::<read_file::ReadFile>(),
    ToolSpec::of::<get_file_info::GetFileInfo>(),
    ToolSpec::of::<write_file::WriteFile>(),
    ToolSpec::of::<edit_file::EditFile>(),
    ToolSpec::of::<create_directory::CreateDirectory>(),
    ToolSpec::of::<copy_path::CopyPath>(),
    ToolSpec::of::<move_path::MovePath>(),
    ToolSpec::of::<delete_file::DeleteFile>(),
    ToolSpec::of::<delete_directory::DeleteDirectory>(),
    ToolSpec::of::<read_config::ReadConfig>(),
    ToolSpec::of::<modify_config::ModifyConfig>(),
    ToolSpec::of::<undo_call::UndoCall>(),
    ToolSpec::of::<download_file::DownloadFile>(),
    ToolSpec::of::<upload_file::UploadFile>(),
    ToolSpec::of::<transfer_file::TransferFile>(),
    ToolSpec::of::<open_app::OpenApp>(),
    ToolSpec::of::<close_app::CloseApp>(),
    ToolSpec::of::<list_apps::ListApps>(),
    ToolSpec::of::<list_processes::ListProcesses>(),
    ToolSpec::of::<execute_command::ExecuteCommand>(),
    ToolSpec::of::<git_status::GitStatus>(),
    ToolSpec::of::<git_diff::GitDiff>(),
    ToolSpec::of::<run_tests::RunTests>(),
    ToolSpec::of::<run_lint::RunLint>(),
    ToolSpec::of::<run_build::RunBuild>(),
    ToolSpec::of::<run_typecheck::RunTypecheck>(),
    ToolSpec::of::<run_format::RunFormat>(),
    ToolSpec::of::<get_device_info::GetDeviceInfo>(),
    ToolSpec::of::<get_datetime::GetDatetime>(),
    ToolSpec::of::<health_check::HealthCheck>(),
    ToolSpec::of::<check_ports::CheckPorts>(),
    ToolSpec::of::<check_network::CheckNetwork>(),
    ToolSpec::of::<check_disk_space::CheckDiskSpace>(),
    ToolSpec::of::<check_memory::CheckMemory>(),
    ToolSpec::of::<check_git::CheckGit>(),
    ToolSpec::of::<check_python::CheckPython>(),
    ToolSpec::of::<check_docker::CheckDocker>(),
    ToolSpec::of::<check_compose::CheckCompose>(),
    ToolSpec::of::<list_services::ListServices>(),
    ToolSpec::of::<check_service::CheckService>(),
    ToolSpec::of::<check_service_health::CheckServiceHealth>(),
    ToolSpec::of::<restart_service::RestartService>(),
    ToolSpec::of::<restart_docker::RestartDocker>(),
    ToolSpec::of::<read_logs::ReadLogs>(),
    ToolSpec::of::<install_artifact::InstallArtifact>(),
    ToolSpec::of::<verify_artifact::VerifyArtifact>(),
    ToolSpec::of::<calculate::Calculate>(),
    ToolSpec::of::<list_devices::ListDevices>(),
    ToolSpec::of::<list_llm_models::ListLlmModels>(),
    ToolSpec::of::<get_audit_log::GetAuditLog>(),
    ToolSpec::of::<fetch_webpage::FetchWebpage>(),
    ToolSpec::of::<http_request::HttpRequest>(),
    ToolSpec::of::<write_memory::WriteMemory>(),
    ToolSpec::of::<query_memory::QueryMemory>(),
    ToolSpec::of::<generate_openscad::GenerateOpenscad>(),
    ToolSpec::of::<generate_arduino_code::GenerateArduinoCode>(),
    ToolSpec::of::<schedule_task::ScheduleTask>(),
    ToolSpec::of::<list_tasks::ListTasks>(),
    ToolSpec::of::<cancel_task::CancelTask>(),
    ToolSpec::of::<get_job::GetJob>(),
    ToolSpec::of::<cancel_job::CancelJob>(),
    ToolSpec::of::<save_macro::SaveMacro>(),
    ToolSpec::of::<list_macros::ListMacros>(),
    ToolSpec::of::<run_macro::RunMacro>(),
];
