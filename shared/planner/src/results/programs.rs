//! Describes the success of the tools that run programs: commands, git, and the tasks of projects.

use serde_json::Value;

use super::envelope::ResultFacts;
use super::facts::{SHOWN, indented};

/// Returns the sentence with what was printed. `None` for another tool.
pub(super) fn sentence(result: &ResultFacts, english: bool, on: &str) -> Option<String> {
    let by = |english_text: &str, dutch: &str| {
        if english { english_text.to_owned() } else { dutch.to_owned() }
    };
    match result.text("/meta/tool") {
        "execute_command" => {
            let command = result.text("/data/command");
            if result.dry_run() {
                return Some(by(
                    &format!("This would run {command}{on}."),
                    &format!("Dit zou {command} uitvoeren{on}."),
                ));
            }
            let end = ended(result, &by("ended with code", "eindigde met code"));
            Some(format!("{command}{on}{end}{}", printed(result, "/data/stdout", "/data/stderr")))
        }
        "git_status" => {
            let branch = match result.text("/data/branch") {
                "" => by("no branch", "geen branch"),
                branch => branch.to_owned(),
            };
            let count = |name: &str| result.count(name).unwrap_or_default();
            let clean = by("nothing is changed", "er is niets veranderd");
            let state = if result.is("/data/clean") {
                clean
            } else {
                format!(
                    "{} {}, {} {}, {} {}",
                    count("/data/staged"),
                    by("staged", "klaargezet"),
                    count("/data/unstaged"),
                    by("changed", "veranderd"),
                    count("/data/untracked"),
                    by("untracked", "niet gevolgd"),
                )
            };
            Some(format!("{branch}{on}: {state}."))
        }
        "git_diff" => {
            let diff = result.text("/data/stdout");
            if diff.is_empty() {
                return Some(by(
                    &format!("Nothing is changed{on}."),
                    &format!("Er is niets veranderd{on}."),
                ));
            }
            Some(format!("{}{on}:\n{}", by("Changes", "Veranderingen"), indented(diff)))
        }
        "run_tests" | "run_lint" | "run_build" | "run_typecheck" | "run_format" => {
            Some(task(result, english, on))
        }
        "get_audit_log" => {
            let mut text =
                by("The newest rows of the audit log:", "De nieuwste regels van het auditlog:");
            for row in result.list("/data/entries").iter().take(SHOWN) {
                let field = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
                text.push_str(&format!(
                    "\n  {} {} {}",
                    field("at"),
                    field("kind"),
                    field("call_id")
                ));
            }
            Some(text)
        }
        "calculate" => {
            Some(format!("{} = {}", result.text("/data/expression"), result.text("/data/result")))
        }
        _ => None,
    }
}

fn ended(result: &ResultFacts, words: &str) -> String {
    match result.at("/data/exit_code").and_then(Value::as_i64) {
        Some(0) | None => String::new(),
        Some(code) => format!(" {words} {code}"),
    }
}

fn printed(result: &ResultFacts, out: &str, err: &str) -> String {
    let texts = [result.text(out), result.text(err)];
    let shown: Vec<String> =
        texts.iter().filter(|it| !it.trim().is_empty()).map(|it| indented(it)).collect();
    if shown.is_empty() { ".".to_owned() } else { format!(":\n{}", shown.join("\n")) }
}

fn task(result: &ResultFacts, english: bool, on: &str) -> String {
    let command = result.text("/data/command");
    if result.dry_run() {
        return if english {
            format!("This would run {command}{on}.")
        } else {
            format!("Dit zou {command} uitvoeren{on}.")
        };
    }
    let tests = match (result.count("/data/passed"), result.count("/data/failed"), english) {
        (Some(passed), Some(failed), true) => format!(", {passed} passed, {failed} failed"),
        (Some(passed), Some(failed), false) => format!(", {passed} geslaagd, {failed} mislukt"),
        _ => String::new(),
    };
    let words = if english { "ended with code" } else { "eindigde met code" };
    let end = ended(result, words);
    let mut text = format!("{command}{on}{end}{tests}");
    for project in result.list("/data/projects").iter().take(SHOWN) {
        let name = project.get("project").and_then(Value::as_str).unwrap_or_default();
        let code = project.get("exit_code").filter(|it| !it.is_null()).map(ToString::to_string);
        text.push_str(&format!("\n  {name}: {}", code.unwrap_or_else(|| "–".to_owned())));
    }
    format!("{text}{}", printed(result, "/data/stdout_tail", "/data/stderr_tail"))
}
