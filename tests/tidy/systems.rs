//! The tools of the systems that Orion's catalogue comes from, and which of Orion's a call by each name reaches.

use crate::markdown::Page;

/// The systems, each with the names of its tools in the order of its documentation.
const SYSTEMS: [(&str, &[&str]); 5] = [
    (
        "Halbert",
        &[
            "read_logs",
            "query_memory",
            "read_config",
            "system_status",
            "restart_service",
            "modify_config",
            "schedule_task",
            "write_memory",
            "analyze_disk",
        ],
    ),
    (
        "AI Orchestrator",
        &[
            "execute_command",
            "get_system_info",
            "get_datetime",
            "list_llm_models",
            "get_audit_log",
            "read_file",
            "write_file",
            "list_directory",
            "search_files",
            "search_directory",
            "git_status",
            "git_diff",
            "run_tests",
            "run_lint",
            "run_format",
            "run_build",
            "run_typecheck",
            "http_request",
            "calculate",
        ],
    ),
    (
        "OMNI",
        &[
            "health_check",
            "check_docker",
            "check_compose",
            "check_python",
            "check_git",
            "check_ports",
            "check_network",
            "check_disk_space",
            "check_memory",
            "restart_docker",
            "restart_service",
            "view_logs",
            "setup_hostagent_server",
            "verify_hostagent_server",
            "get_system_time",
        ],
    ),
    ("cortex-net", &["file_read", "file_write", "file_edit", "file_list", "shell", "search_code"]),
    (
        "Orion Assistant",
        &[
            "create_directory",
            "delete_directory",
            "search_files",
            "open_app",
            "close_app",
            "get_device_info",
            "check_service_health",
            "restart_service",
            "fetch_webpage",
            "generate_openscad",
            "generate_arduino_code",
        ],
    ),
];

#[test]
fn the_page_says_which_tool_each_name_of_another_system_reaches() {
    let wanted: Vec<[String; 3]> = SYSTEMS
        .iter()
        .flat_map(|(system, names)| names.iter().map(move |name| (system, name)))
        .map(|(system, name)| {
            let reached = match orion_catalog::find(name) {
                Some((spec, _)) => format!("[`{0}`](tools/{0}.md)", spec.name),
                None => "none yet".to_owned(),
            };
            [(*system).to_owned(), format!("`{name}`"), reached]
        })
        .collect();
    let page = Page::read("docs/tested-tools.md").section("Names of other systems");
    let rows: Vec<[String; 3]> =
        page.rows().into_iter().filter_map(|row| row.try_into().ok()).collect();
    let lines: Vec<_> = wanted.iter().map(|row| format!("| {} |", row.join(" | "))).collect();
    assert!(rows == wanted, "docs/tested-tools.md must have:\n{}", lines.join("\n"));
}
