//! Describes the success of the tools that look after a device: its applications, processes and health.

use serde_json::Value;

use super::envelope::ResultFacts;
use super::facts::{SHOWN, counted, size};

/// Returns the sentence or the short list. `None` where the tool's own message is best.
pub(super) fn sentence(result: &ResultFacts, english: bool, on: &str) -> Option<String> {
    let by = |english_text: String, dutch: String| if english { english_text } else { dutch };
    match result.text("/meta/tool") {
        "list_processes" => {
            let head = by(format!("Processes{on}:"), format!("Processen{on}:"));
            Some(lines(head, result.list("/data/processes"), process))
        }
        "list_apps" => {
            let apps = result.list("/data/apps");
            if apps.is_empty() {
                return Some(by(format!("No applications{on}."), format!("Geen applicaties{on}.")));
            }
            let head = by(format!("Applications{on}:"), format!("Applicaties{on}:"));
            Some(lines(head, apps, |it| app(it, english)))
        }
        "close_app" => {
            let app = result.text("/data/app");
            let count = result.list("/data/closed").len() as u64;
            let processes = if english {
                counted(count, "process", "processes")
            } else {
                counted(count, "proces", "processen")
            };
            Some(match (count, result.dry_run()) {
                (0, _) => by(format!("{app} does not run{on}."), format!("{app} draait niet{on}.")),
                (_, true) => by(
                    format!("This would close {app}{on}: {processes}."),
                    format!("Dit zou {app} sluiten{on}: {processes}."),
                ),
                (_, false) => by(
                    format!("Closed {app}{on}: {processes}."),
                    format!("{app} is gesloten{on}: {processes}."),
                ),
            })
        }
        "health_check" => {
            let overall = status(result.text("/data/overall"), english);
            let head = by(format!("Health{on}: {overall}"), format!("Gezondheid{on}: {overall}"));
            Some(lines(head, result.list("/data/checks"), |it| {
                let found = status(text(it, "status"), english);
                // The detail is English.
                let detail =
                    if english { format!(". {}", text(it, "detail")) } else { String::new() };
                format!("{}: {found}{detail}", check(text(it, "name"), english))
            }))
        }
        "check_network" => {
            let head = by(format!("Network{on}:"), format!("Netwerk{on}:"));
            Some(lines(head, result.list("/data/targets"), |it| {
                let latency = it.get("latency_ms").filter(|it| !it.is_null());
                let latency = latency.map(|it| format!(" ({it} ms)")).unwrap_or_default();
                let reachable = it.get("reachable").and_then(Value::as_bool).unwrap_or_default();
                let found = match (english, reachable) {
                    (true, _) => text(it, "detail"),
                    (false, true) => "bereikbaar",
                    (false, false) => "niet bereikbaar",
                };
                format!("{}{latency}: {found}", text(it, "target"))
            }))
        }
        _ => None,
    }
}

fn lines(head: String, list: &[Value], line: impl Fn(&Value) -> String) -> String {
    let mut text = head;
    for it in list.iter().take(SHOWN) {
        text.push_str("\n  ");
        text.push_str(&line(it));
    }
    if list.len() > SHOWN {
        text.push_str("\n  …");
    }
    text
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn process(it: &Value) -> String {
    let number = |name: &str| it.get(name).map(ToString::to_string).unwrap_or_default();
    let memory = it.get("memory_bytes").map(size).unwrap_or_default();
    let cpu = number("cpu_percent");
    format!("{} ({})  {cpu}%  {memory}", text(it, "name"), number("pid"))
}

fn app(it: &Value, english: bool) -> String {
    let is = |name: &str| it.get(name).and_then(Value::as_bool).unwrap_or_default();
    let state = match (is("installed"), is("running"), english) {
        (_, true, true) => "running",
        (_, true, false) => "draait",
        (true, false, true) => "not running",
        (true, false, false) => "draait niet",
        (false, false, true) => "not installed",
        (false, false, false) => "niet geïnstalleerd",
    };
    format!("{}: {state}", text(it, "app"))
}

fn status(status: &str, english: bool) -> &str {
    match (status, english) {
        ("ok", false) => "goed",
        ("warn", false) => "let op",
        ("fail", false) => "mis",
        ("skipped", false) => "onbekend",
        (status, _) => status,
    }
}

fn check(check: &str, english: bool) -> &str {
    match (check, english) {
        ("disk", false) => "schijf",
        ("memory", false) => "geheugen",
        ("network", false) => "netwerk",
        ("clock", false) => "klok",
        ("state", false) => "eigen map",
        (check, _) => check,
    }
}
