//! What a person types at the question of an approval.

/// The prompt of the question.
pub(crate) const PROMPT: &str = "Approve? y, n, n because …, c (for this chat), d (details): ";
/// The same where an approval needs a reason.
pub(crate) const PROMPT_FOR_REASON: &str = "Approve? y because …, n, n because …, d (details): ";

/// The prompt for a person who may not approve.
pub(crate) const PROMPT_TO_DENY: &str = "Deny? n, n because …, d (details): ";

/// An answer to the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Approve this call, or every like call of this chat.
    Approve {
        /// Whether the approval is for this chat.
        for_chat: bool,
        /// The reason; empty if there is none.
        reason: String,
    },
    /// Deny this call.
    Deny {
        /// The reason; empty if there is none.
        reason: String,
    },
    /// Show the whole card.
    Details,
}

/// The words that begin an answer. Longer ones stand before their own beginnings.
const YES: &[&str] = &["yes", "y", "ja", "j"];
const NO: &[&str] = &["no", "nee", "nein", "n"];
const CHAT: &[&str] = &["for this chat", "voor deze chat", "this chat", "chat", "c"];
const DETAILS: &[&str] = &["details", "diff", "d"];
/// The words that begin a reason.
const BECAUSE: &[&str] = &["because", "since", "omdat", "want", "weil"];

/// Reads what was typed. None for anything that is no clear answer.
pub(crate) fn reply(typed: &str) -> Option<Reply> {
    let typed = typed.trim();
    if let Some("") = after(typed, DETAILS) {
        return Some(Reply::Details);
    }
    if let Some(reason) = after(typed, CHAT) {
        return Some(Reply::Approve { for_chat: true, reason: reason_of(reason)? });
    }
    if let Some(reason) = after(typed, NO) {
        // Anything after a no is a no, and its reason.
        let reason = reason_of(reason).unwrap_or_else(|| reason.to_owned());
        return Some(Reply::Deny { reason });
    }
    let reason = after(typed, YES)?;
    if let Some(for_chat) = after(reason, CHAT) {
        return Some(Reply::Approve { for_chat: true, reason: reason_of(for_chat)? });
    }
    Some(Reply::Approve { for_chat: false, reason: reason_of(reason)? })
}

/// Returns what follows one of these words.
fn after<'a>(typed: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| {
        let (begin, rest) = typed.split_at_checked(word.len())?;
        let is_word = rest.chars().next().is_none_or(|c| !c.is_alphanumeric());
        (begin.eq_ignore_ascii_case(word) && is_word)
            .then(|| rest.trim_start_matches([',', '.', '!', ':', ';', '-', ' ', '\t']))
    })
}

/// Returns a reason without the word that begins it. None for a text that is no reason.
fn reason_of(text: &str) -> Option<String> {
    match after(text, BECAUSE) {
        Some(reason) => Some(reason.to_owned()),
        None => text.is_empty().then(String::new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clear_answer_is_read_with_its_reason_and_anything_else_is_none() {
        let approve =
            |for_chat, reason: &str| Some(Reply::Approve { for_chat, reason: reason.to_owned() });
        let deny = |reason: &str| Some(Reply::Deny { reason: reason.to_owned() });
        for (typed, expected) in [
            ("y", approve(false, "")),
            (" YES ", approve(false, "")),
            ("ja", approve(false, "")),
            ("y because agreed with bob", approve(false, "agreed with bob")),
            ("c", approve(true, "")),
            ("for this chat", approve(true, "")),
            ("yes, for this chat because it is mine", approve(true, "it is mine")),
            ("n", deny("")),
            ("n because wrong folder", deny("wrong folder")),
            ("No, because: wrong folder", deny("wrong folder")),
            ("nee want dat is van Ann", deny("dat is van Ann")),
            ("no not that one", deny("not that one")),
            ("d", Some(Reply::Details)),
            ("diff", Some(Reply::Details)),
            ("", None),
            ("yep", None),
            ("yesterday", None),
            ("nothing", None),
            ("y n", None),
            ("yes delete everything", None),
            ("d y", None),
            ("what?", None),
        ] {
            assert_eq!(reply(typed), expected, "{typed}");
        }
    }
}
