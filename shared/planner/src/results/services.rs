//! Describes the success of the tools for services, logs, ports and what is installed.

use serde_json::Value;

use super::envelope::ResultFacts;
use super::facts::{SHOWN, counted, more};

/// Returns the sentence or the short list. `None` for another tool.
pub(super) fn sentence(result: &ResultFacts, english: bool, on: &str) -> Option<String> {
    let by = |english_text: String, dutch: String| Some(if english { english_text } else { dutch });
    match result.text("/meta/tool") {
        "check_service" => {
            let (service, state) = (result.text("/data/service"), result.text("/data/state"));
            by(format!("{service}{on}: {state}."), format!("{service}{on}: {state}."))
        }
        "list_services" => {
            let services = result.list("/data/services");
            if services.is_empty() {
                return by(format!("No services{on}."), format!("Geen diensten{on}."));
            }
            let head = if english { format!("Services{on}:") } else { format!("Diensten{on}:") };
            let mut lines = vec![head];
            let line = |it| format!("  {}: {}", field(it, "service"), field(it, "state"));
            lines.extend(services.iter().take(SHOWN).map(line));
            lines.extend(more(result, services.len(), english));
            Some(lines.join("\n"))
        }
        "check_service_health" => match result.is("/data/healthy") {
            true => by(format!("The service is healthy{on}."), format!("De dienst is gezond{on}.")),
            false => by(
                format!("The service is not healthy{on}."),
                format!("De dienst is niet gezond{on}."),
            ),
        },
        "restart_service" | "restart_docker" => {
            let service = match result.text("/data/service") {
                "" => "docker",
                service => service,
            };
            if result.dry_run() {
                return by(
                    format!("This would restart {service}{on}."),
                    format!("Dit zou {service} herstarten{on}."),
                );
            }
            by(format!("Restarted {service}{on}."), format!("{service} is herstart{on}."))
        }
        "read_logs" => Some(logs(result, english, on)),
        "check_ports" => Some(ports(result, english, on)),
        tool @ ("check_docker" | "check_compose" | "check_git" | "check_python") => {
            Some(installed(result, english, on, tool))
        }
        "check_disk_space" => {
            let (free, all) = (number(result, "/data/free_gb"), number(result, "/data/total_gb"));
            by(
                format!("{free} of {all} GiB are free{on}."),
                format!("{free} van {all} GiB is vrij{on}."),
            )
        }
        "check_memory" => {
            let (free, all) =
                (number(result, "/data/available_mb"), number(result, "/data/total_mb"));
            by(
                format!("{free} of {all} MiB of memory are available{on}."),
                format!("{free} van {all} MiB geheugen is beschikbaar{on}."),
            )
        }
        _ => None,
    }
}

fn field<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number(result: &ResultFacts, pointer: &str) -> String {
    result.at(pointer).map(ToString::to_string).unwrap_or_default()
}

fn logs(result: &ResultFacts, english: bool, on: &str) -> String {
    let lines = result.list("/data/lines");
    if lines.is_empty() {
        return if english {
            format!("The log is empty{on}.")
        } else {
            format!("Het log is leeg{on}.")
        };
    }
    let mut text = if english { format!("The log{on}:") } else { format!("Het log{on}:") };
    let hidden = lines.len().saturating_sub(SHOWN);
    if hidden > 0 || result.is_partial() {
        text.push_str("\n  …");
    }
    for line in lines.iter().skip(hidden) {
        let time = field(line, "time");
        let space = if time.is_empty() { "" } else { " " };
        text.push_str(&format!("\n  {time}{space}{}", field(line, "text")));
    }
    text
}

fn ports(result: &ResultFacts, english: bool, on: &str) -> String {
    let line = |it: &Value| {
        let port = it.get("port").map(ToString::to_string).unwrap_or_default();
        let listening = it.get("listening").and_then(Value::as_bool).unwrap_or_default();
        let process = match field(it, "process") {
            "" => String::new(),
            process => format!(" ({process})"),
        };
        match (listening, english) {
            (true, true) => format!("Something listens on port {port}{on}{process}."),
            (false, true) => format!("Nothing listens on port {port}{on}."),
            (true, false) => format!("Op poort {port} luistert iets{on}{process}."),
            (false, false) => format!("Op poort {port} luistert niets{on}."),
        }
    };
    result.list("/data/ports").iter().map(line).collect::<Vec<_>>().join("\n")
}

fn installed(result: &ResultFacts, english: bool, on: &str, tool: &str) -> String {
    let name = match tool {
        "check_docker" => "Docker",
        "check_compose" => "Docker Compose",
        "check_git" => "Git",
        _ => "Python",
    };
    if !result.is("/data/installed") {
        return if english {
            format!("{name} is not installed{on}.")
        } else {
            format!("{name} is niet geïnstalleerd{on}.")
        };
    }
    let version = match result.text("/data/version") {
        "" => String::new(),
        version => format!(" {version}"),
    };
    let state = match (result.at("/data/running").and_then(Value::as_bool), english) {
        (Some(true), true) => " and running",
        (Some(false), true) => " and not running",
        (Some(true), false) => " en draait",
        (Some(false), false) => " en draait niet",
        (None, _) => "",
    };
    let containers = match (result.count("/data/containers"), english) {
        (Some(count), _) => format!(": {}", counted(count, "container", "containers")),
        (None, _) => String::new(),
    };
    if english {
        format!("{name}{version} is installed{state}{on}{containers}.")
    } else {
        format!("{name}{version} is geïnstalleerd{state}{on}{containers}.")
    }
}
