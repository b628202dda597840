//! Describes the failure of a call. The backend's messages are English, so in Dutch the code says what
//! happened.

use orion_catalog::Tool as _;
use orion_catalog::tools::undo_call::{ALREADY_UNDONE, UndoCall};
use orion_domain::{Actor, Hint};

use super::envelope::ResultFacts;
use crate::language::Language;

/// Returns what happened and what to do.
pub(super) fn say(result: &ResultFacts, language: Language) -> String {
    let code = result.text("/error/code");
    let message = match (result.text("/message"), language) {
        ("", Language::English) => "the result could not be read".to_owned(),
        ("", Language::Dutch) => "het resultaat kon niet worden gelezen".to_owned(),
        (message, Language::English) => message.to_owned(),
        (_, Language::Dutch) => in_dutch(code, result),
    };
    let lead = language.of("That did not work", "Dat is niet gelukt");
    let mut text = format!("{lead}: {message}");
    if !code.is_empty() {
        text = format!("{} ({code}).", text.trim_end_matches('.'));
    }
    // A similar name is no help to somebody who wants a file gone: it is another file.
    let is_deletion = result.text("/meta/tool").starts_with("delete_");
    for hint in result.hints() {
        match (hint.values.is_empty(), language) {
            (false, _) if is_deletion && code.ends_with("NOT_FOUND") => {}
            (false, _) => {
                let lead = language.of("Perhaps", "Misschien");
                text.push_str(&format!("\n{lead}: {}", hint.values.join(", ")));
            }
            (true, Language::English) => text.push_str(&format!("\nHint: {hint}")),
            (true, Language::Dutch) => {
                text.push_str(&tip(&hint));
            }
        }
    }
    let allowed = result.texts("/error/details/allowed_paths");
    if !allowed.is_empty() {
        let lead = language.of("Allowed are", "Toegestaan zijn");
        text.push_str(&format!("\n{lead}: {}", allowed.join(", ")));
    }
    let hint = match (code, result.text("/meta/tool")) {
        ("DEVICE_REQUIRED", _) => language.of("On which device?", "Op welk apparaat?"),
        ("NOT_EMPTY", "delete_directory") => language.of(
            "Say \"delete it with everything in it\" to delete what is in it too.",
            "Zeg \"verwijder hem met alles erin\" om ook de inhoud te verwijderen.",
        ),
        ("PERMISSION_DENIED", "get_audit_log") => language.of(
            "An admin reads the audit log with `orion audit list`.",
            "Een beheerder leest het auditlogboek met `orion audit list`.",
        ),
        _ => return text,
    };
    format!("{text}\n{hint}")
}

/// Returns a step as a line in Dutch: who takes it, and the command. Empty where no command takes it.
fn tip(hint: &Hint) -> String {
    let who = match hint.who {
        Actor::Admin => " voor een beheerder",
        Actor::Owner => " voor de eigenaar van het apparaat",
        Actor::Requester | Actor::Approver | Actor::Nobody => "",
    };
    let Some(command) = hint.command.as_deref() else { return String::new() };
    let is_edit = hint.who == Actor::Owner && !command.starts_with("orion");
    let step = match is_edit {
        true => "pas [ceiling] in agent.toml aan, dat orion-agent status vindt",
        false => command,
    };
    format!("\nTip{who}: {step}")
}

fn in_dutch(code: &str, result: &ResultFacts) -> String {
    let path = match result.text("/error/details/attempted_path") {
        "" => String::new(),
        path => format!(" ({path})"),
    };
    let what = match code {
        "TOOL_NOT_FOUND" => "die tool bestaat niet",
        "INVALID_ARGUMENT" => "de aanroep is niet geldig",
        "DEVICE_REQUIRED" => "er zijn meer apparaten, en de aanroep noemt er geen",
        "DEVICE_NOT_FOUND" => "zo heet geen apparaat",
        "DEVICE_OFFLINE" => "het apparaat is niet verbonden",
        "DEVICE_PAUSED" => "de eigenaar heeft het apparaat gepauzeerd",
        "PERMISSION_DENIED" => "dat is niet toegestaan",
        "INVALID_PATH" => "dat pad is niet geldig",
        "PATH_NOT_ALLOWED" => "dat pad is niet toegestaan",
        "FILE_NOT_FOUND" => "dat bestand bestaat niet",
        "DIRECTORY_NOT_FOUND" => "die map bestaat niet",
        "PATH_NOT_FOUND" => "daar staat geen bestand en geen map",
        "NOT_FOUND" => "dat bestaat niet",
        "ALREADY_EXISTS" => "daar staat al iets met die naam",
        "NOT_EMPTY" => "de map is niet leeg",
        "TEXT_NOT_UNIQUE" => "die tekst staat er niet precies één keer in",
        "PRECONDITION_FAILED" if result.text("/meta/tool") == UndoCall::NAME => not_undone(result),
        "PRECONDITION_FAILED" => "het is veranderd sinds het werd getoond; vraag het opnieuw",
        "APP_NOT_WHITELISTED" => "die applicatie staat niet op de lijst van het apparaat",
        "COMMAND_NOT_ALLOWED" => "die opdracht is niet toegestaan",
        "URL_FORBIDDEN" => "dat adres is niet toegestaan",
        "WRITE_DISABLED" => "hier mag niets worden veranderd",
        "CONFIRMATION_REQUIRED" => "de bevestiging ontbreekt",
        "APPROVAL_REQUIRED" => "de aanroep wacht op goedkeuring",
        "APPROVAL_REJECTED" => "iemand heeft de aanroep afgewezen",
        "APPROVAL_EXPIRED" => "de goedkeuring kwam niet op tijd",
        "EXECUTION_FAILED" => "de uitvoering is mislukt",
        "TIMEOUT" => "het duurde te lang",
        "CANCELLED" => "de aanroep is gestopt",
        "OUTCOME_UNKNOWN" => "het is niet bekend hoe het is afgelopen",
        "NOT_SUPPORTED" => "dat apparaat kan dit niet",
        "RATE_LIMITED" => "er zijn te veel aanroepen in te korte tijd",
        "RESOURCE_EXHAUSTED" => "een grens is bereikt",
        "INTERNAL" => "een fout in Orion",
        _ => "de aanroep is mislukt",
    };
    format!("{what}{path}")
}

/// Returns why a call was not taken back.
fn not_undone(result: &ResultFacts) -> &'static str {
    if result.is(&format!("/error/details/{ALREADY_UNDONE}")) {
        "die aanroep is al ongedaan gemaakt"
    } else if result.at("/error/details/conflicts").is_some() {
        "er is daarna nog iets veranderd"
    } else {
        "die aanroep kan niet ongedaan worden gemaakt"
    }
}
