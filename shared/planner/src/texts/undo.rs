//! What is said of the changes of a chat, and of taking them back.

use crate::language::Language;
use crate::undo::{Earlier, Impossible};

/// Returns what was changed in a chat. `others` are the calls of which that is not known.
pub(crate) fn account(results: &str, is_cut: bool, others: usize, language: Language) -> String {
    let begin = match (results.is_empty(), is_cut) {
        (true, _) => language.of(
            "Nothing that I can see was changed in this chat.",
            "Voor zover ik kan zien is in dit gesprek niets veranderd.",
        ),
        (false, false) => language.of(
            "In this chat, as far as I can see back:",
            "In dit gesprek, voor zover ik terug kan kijken:",
        ),
        (false, true) => language.of(
            "The newest changes of this chat; `orion calls list` shows them all:",
            "De nieuwste veranderingen in dit gesprek; `orion calls list` toont ze alle:",
        ),
    };
    let text = if results.is_empty() { begin.to_owned() } else { format!("{begin}\n\n{results}") };
    match (others, language) {
        (0, _) => text,
        (_, Language::English) => format!(
            "{text}\n\nCalls that did not succeed, or of which I cannot see what became of them: {others}."
        ),
        (_, Language::Dutch) => format!(
            "{text}\n\nAanroepen die niet gelukt zijn, of waarvan ik niet kan zien wat ervan geworden is: {others}."
        ),
    }
}

/// Returns why nothing can be undone.
pub(crate) fn no_undo(why: &Impossible, language: Language) -> String {
    let command = language.of(
        "`orion undo CALL` takes back a call by its id, and `orion calls list` shows your calls.",
        "`orion undo AANROEP` draait een aanroep terug op zijn id, en `orion calls list` toont uw aanroepen.",
    );
    let why = match (why, language) {
        (Impossible::Nothing, Language::English) => {
            "Nothing that I can see in this chat is left to take back, so I did nothing.".to_owned()
        }
        (Impossible::Nothing, Language::Dutch) => {
            "Voor zover ik in dit gesprek kan zien is er niets meer terug te draaien, dus ik heb niets gedaan.".to_owned()
        }
        (Impossible::Tool(tool), Language::English) => {
            format!("The last change here was by {tool}, which cannot be taken back, so I did nothing.")
        }
        (Impossible::Tool(tool), Language::Dutch) => {
            format!("De laatste verandering hier was door {tool}, en dat kan niet ongedaan worden gemaakt, dus ik heb niets gedaan.")
        }
        (Impossible::Beside(tool), Language::English) => {
            format!("The last request here also ran {tool}, which cannot be taken back, so I did nothing.")
        }
        (Impossible::Beside(tool), Language::Dutch) => {
            format!("Het laatste verzoek hier deed ook {tool}, en dat kan niet ongedaan worden gemaakt, dus ik heb niets gedaan.")
        }
        (Impossible::Unseen, Language::English) => {
            "I cannot see here what became of the last change, so I did nothing.".to_owned()
        }
        (Impossible::Unseen, Language::Dutch) => {
            "Ik kan hier niet zien wat er van de laatste verandering is geworden, dus ik heb niets gedaan.".to_owned()
        }
        (Impossible::Earlier(earlier), _) => return earlier_change(earlier, language),
        (Impossible::NotLast, Language::English) => {
            "“Undo that” takes back the last change of this chat; I take back no older one, so I did nothing.".to_owned()
        }
        (Impossible::NotLast, Language::Dutch) => {
            "“Maak dat ongedaan” draait de laatste verandering van dit gesprek terug; een oudere draai ik niet terug, dus ik heb niets gedaan.".to_owned()
        }
    };
    format!("{why} {command}")
}

/// Says that one request changed more than one answer takes back.
pub(crate) fn too_many_changes(count: usize, language: Language) -> String {
    match language {
        Language::English => format!(
            "The last request changed {count} things, which is more than I take back at once, so I did nothing. `/undo` in `orion chat` takes all of them back."
        ),
        Language::Dutch => format!(
            "Het laatste verzoek veranderde {count} dingen, en dat is meer dan ik in één keer terugdraai, dus ik heb niets gedaan. `/undo` in `orion chat` draait ze alle terug."
        ),
    }
}

fn earlier_change(earlier: &Earlier, language: Language) -> String {
    let Earlier { failed, changes } = earlier;
    let mut names = changes.iter().take(5).cloned().collect::<Vec<_>>().join("; ");
    if changes.len() > 5 {
        let more = language.of("more", "meer");
        names.push_str(&format!("; {} {more}", changes.len() - 5));
    }
    match language {
        Language::English => {
            let why = failed.map_or_else(
                || "The last change here is taken back already".to_owned(),
                |failed| format!("The last call here, {failed}, did not succeed, so there is nothing of it to take back"),
            );
            format!(
                "{why}, and I did nothing. The change before it: {names}. To take that one back, say “undo the earlier change”."
            )
        }
        Language::Dutch => {
            let why = failed.map_or_else(
                || "De laatste verandering hier is al teruggedraaid".to_owned(),
                |failed| format!("De laatste aanroep hier, {failed}, is niet gelukt, dus daarvan is niets terug te draaien"),
            );
            format!(
                "{why}, en ik heb niets gedaan. De verandering daarvoor: {names}. Zeg “maak de eerdere verandering ongedaan” om die terug te draaien."
            )
        }
    }
}
