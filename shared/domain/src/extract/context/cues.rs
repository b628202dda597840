//! The words that show whether a sentence denies, asks, explains or tells.

use super::NotMeant;

const NEGATED: &[&str] = &[
    " not ",
    "n't ",
    " never ",
    " no longer ",
    " cannot ",
    " without ",
    " refus",
    " declin",
    " avoid",
    " instead of ",
    " rather than ",
    " nor ",
    " neither ",
    " unable ",
    " no circumstances ",
    " no way ",
    " forbid",
    " dangerous ",
    " unsafe ",
    " cancel",
    " removed ",
    " skipped ",
    " stopped ",
    " blocked ",
    " rejected ",
    " denied ",
    " failed ",
    " malicious ",
    " harmful ",
    " niet ",
    " nooit ",
    " geen ",
    " zonder ",
    " weiger",
    " in plaats van ",
    " nicht ",
    " kein",
    " niemals ",
    " ohne ",
    " ne ",
    " jamais ",
    " nunca ",
    " sin ",
    " no voy ",
    " non ",
];

const HYPOTHETICAL: &[&str] = &[
    " would ",
    " could ",
    " might ",
    " should i ",
    " shall i ",
    " should we ",
    " shall we ",
    " may i ",
    " can i ",
    " do you want ",
    " you'd ",
    " i'd ",
    " only if ",
    " if you want ",
    " if you agree ",
    " if you confirm ",
    " if you approve ",
    " if you say ",
    " if you like ",
    " if you need ",
    " unless ",
    " once you ",
    " suppose ",
    " should you ",
    " i should ",
    " let me know ",
    " whether to ",
    " explain ",
    " todo ",
    " what does ",
    " imagine ",
    " hypothetical",
    " zou ",
    " zal ik ",
    " wil je dat ",
    " als je wilt ",
    " als je akkoord ",
    " soll ich ",
    " dois je ",
    " debo ",
];

const EXAMPLE: &[&str] = &[
    " example",
    " for instance ",
    " e g ",
    " such as ",
    " looks like ",
    " look like ",
    " something like ",
    " call like ",
    " calls like ",
    " form of ",
    " attacker",
    " format ",
    " syntax ",
    " schema ",
    " template",
    " placeholder",
    " is written ",
    " you write ",
    " you can ",
    " you may ",
    " one can ",
    " can be ",
    " must be ",
    " documentation",
    " docs ",
    " the manual ",
    " tutorial",
    " sample ",
    " illustrat",
    " demonstrat",
    " how to ",
    " how you ",
    " how a ",
    " usage ",
    " equivalent ",
    " bijvoorbeeld ",
    " voorbeeld",
    " zoals ",
    " beispiel",
    " zum beispiel ",
    " par exemple ",
    " exemple ",
    " por ejemplo ",
    " ejemplo ",
];

const TOLD: &[&str] = &[
    " says ",
    " said ",
    " wrote ",
    " written in ",
    " contains ",
    " contained ",
    " reads ",
    " told me ",
    " tells me to ",
    " asks me to ",
    " instructs ",
    " instruction",
    " inject",
    " tries to ",
    " tried to ",
    " returned ",
    " responded ",
    " replied ",
    " request was ",
    " result of ",
    " emitted ",
    " output was ",
    " output is ",
    " response was ",
    " response is ",
    " i called ",
    " i ran ",
    " i made ",
    " was called ",
    " called with ",
    " was made ",
    " previously ",
    " already called ",
    " already made ",
    " already ran ",
    " history ",
    " log shows ",
    " logs show ",
    " in the log ",
    " in the file ",
    " on the page ",
    " in the message ",
    " found the text ",
    " the text ",
    " the line ",
    " the string ",
    " staat ",
    " zei ",
    " heb ik ",
    " stond ",
];

/// What a sentence behind a call says of it.
const BEHIND: &[(&str, NotMeant)] = &[
    (" this is an example", NotMeant::Example),
    (" this is just an example", NotMeant::Example),
    (" this is only an example", NotMeant::Example),
    (" the above is", NotMeant::Example),
    (" this is how ", NotMeant::Example),
    (" that is how ", NotMeant::Example),
    (" that's how ", NotMeant::Example),
    (" that would ", NotMeant::Hypothetical),
    (" this would ", NotMeant::Hypothetical),
    (" which would ", NotMeant::Hypothetical),
    (" i did not ", NotMeant::Negated),
    (" i didn't ", NotMeant::Negated),
    (" i will not ", NotMeant::Negated),
    (" i won't ", NotMeant::Negated),
    (" i have not ", NotMeant::Negated),
    (" i haven't ", NotMeant::Negated),
    (" do not ", NotMeant::Negated),
    (" don't ", NotMeant::Negated),
    (" just kidding ", NotMeant::Negated),
];

/// How a sentence refuses, so that a call behind it is not meant.
const REFUSED: &[&str] = &[
    " i won't ",
    " i will not ",
    " i refuse",
    " i decline",
    " sorry ",
    " not going to ",
    " not allowed ",
    " never mind ",
    " i can't do ",
    " i cannot do ",
    " can't help ",
    " cannot help ",
    " ik weiger ",
    " dat doe ik niet ",
];

/// How a text goes on that says something of the call before it.
const STATED: &[&str] = &[" was ", " were ", " is ", " has ", " had ", " failed ", " al gedaan "];

/// What makes the end of a sentence stand for itself, whatever its beginning says.
const TURNS: &[&str] = &[
    ", so ",
    "; so ",
    ", therefore ",
    ", dus ",
    ", i'll ",
    ", i will ",
    ", let me ",
    "; i'll ",
    "; i will ",
    "; let me ",
    ", but i'll ",
    ", maar ik ",
    ", ik maak ",
    ", ik ga ",
];

/// The labels at the start of a line that say who speaks, and whether it is another person's turn.
const LABELS: &[(&str, bool)] = &[
    ("user:", true),
    ("human:", true),
    ("gebruiker:", true),
    ("observation:", false),
    ("tool:", false),
    ("tool result:", false),
    ("tool response:", false),
    ("tool output:", false),
    ("function result:", false),
    ("system:", false),
    ("result:", false),
    ("output:", false),
    ("expected output:", false),
    ("input:", false),
    ("request:", false),
    ("[user]:", true),
    ("response:", false),
    ("resultaat:", false),
];

/// How many bytes behind a call are judged.
const MAX_AFTER_BYTES: usize = 160;

/// Returns why a call is not meant that ends this sentence.
pub(super) fn before(sentence: &str) -> Option<NotMeant> {
    let lower = sentence.to_lowercase().replace('’', "'");
    let conditional =
        ["if ", "als ", "wenn "].iter().any(|word| lower.trim_start().starts_with(word));
    if conditional {
        return Some(NotMeant::Hypothetical);
    }
    let from = TURNS.iter().filter_map(|turn| lower.rfind(turn)).max().unwrap_or_default();
    let words = words(lower.get(from..).unwrap_or_default());
    let kinds = [
        (NEGATED, NotMeant::Negated),
        (HYPOTHETICAL, NotMeant::Hypothetical),
        (EXAMPLE, NotMeant::Example),
        (TOLD, NotMeant::Echoed),
    ];
    let has = |cues: &[&str]| cues.iter().any(|cue| words.contains(cue));
    let is_no = words.starts_with(" no ") && !words.starts_with(" no problem ");
    if is_no || lower.ends_with("~~") {
        return Some(NotMeant::Negated);
    }
    kinds.into_iter().find(|(cues, _)| has(cues)).map(|(_, why)| why)
}

/// Returns whether a sentence refuses something.
pub(super) fn refuses(sentence: &str) -> bool {
    let words = words(&sentence.to_lowercase().replace('’', "'"));
    matches!(&*words, " no " | " nee ") || REFUSED.iter().any(|cue| words.contains(cue))
}

/// Returns why a call is not meant that stands before this text.
pub(super) fn after(text: &str, fenced: bool) -> Option<NotMeant> {
    let text = text.get(..text.floor_char_boundary(MAX_AFTER_BYTES)).unwrap_or_default();
    let same_line = text.split('\n').next().unwrap_or_default();
    let same =
        if fenced { "" } else { same_line.split(['{', '[', '<']).next().unwrap_or_default() };
    let sentence = same.get(..end_of_sentence(same).unwrap_or(same.len())).unwrap_or_default();
    if sentence.trim_end().ends_with('?') {
        return Some(NotMeant::Hypothetical);
    }
    let same_words = words(&sentence.to_lowercase().replace('’', "'"));
    let denied = [" not ", "n't ", " never ", " niet ", " would ", " is an example", " nicht "];
    if denied.iter().any(|cue| same_words.contains(cue)) && !same_words.starts_with(" and ") {
        return Some(NotMeant::Negated);
    }
    if STATED.iter().any(|cue| same_words.starts_with(cue)) {
        return Some(NotMeant::Echoed);
    }
    let closing = |letter: char| letter.is_whitespace() || "`.,;:)".contains(letter);
    let mut next = text.trim_start_matches(closing);
    while let Some((_, behind)) = next.strip_prefix('<').and_then(|tag| tag.split_once('>')) {
        next = behind.trim_start_matches(closing);
    }
    let next = next.get(..end_of_sentence(next).unwrap_or(next.len())).unwrap_or_default();
    let words = words(&next.to_lowercase().replace('’', "'"));
    BEHIND.iter().find(|(cue, _)| words.starts_with(cue)).map(|(_, why)| *why)
}

/// Returns the text up to an empty line.
pub(super) fn paragraph(text: &str) -> &str {
    let text = text.get(..text.floor_char_boundary(4 * MAX_AFTER_BYTES)).unwrap_or_default();
    text.split("\n\n").next().unwrap_or_default()
}

/// Returns the byte behind the last sentence that ends in a line.
pub(super) fn end_of_sentence(line: &str) -> Option<usize> {
    let is_end = |(at, letter): &(usize, char)| {
        let rest = line.get(at + letter.len_utf8()..).unwrap_or_default();
        ".!?".contains(*letter) && rest.starts_with([' ', '\t']) && !is_abbreviated(line, *at)
    };
    line.char_indices().rev().find(is_end).map(|(at, _)| at + 1)
}

fn is_abbreviated(line: &str, dot: usize) -> bool {
    let before = line.get(..dot).unwrap_or_default().to_ascii_lowercase();
    ["e.g", "i.e", "bijv", "etc", "z.b"].iter().any(|short| before.ends_with(short))
}

/// Returns whether a line is one item of a list.
pub(super) fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(['-', '*', '•'])
        || line.trim_start_matches(|it: char| it.is_ascii_digit()).starts_with(['.', ')'])
}

/// Returns whether a line begins as a comment of some programming language.
pub(super) fn is_comment(line: &str) -> bool {
    ["//", "# ", "/*", "-- ", "REM ", "; "].iter().any(|mark| line.starts_with(mark))
}

/// Returns whether a line says who speaks: true for another person.
pub(super) fn label(line: &str) -> Option<bool> {
    let line = line.trim_start_matches(['*', '#', ' ']);
    let line = line.get(..line.floor_char_boundary(24)).unwrap_or_default().to_lowercase();
    let line = line.replace('*', "");
    LABELS.iter().find(|(label, _)| line.starts_with(label)).map(|(_, turn)| *turn)
}

/// Returns the words with one space around each.
fn words(lower: &str) -> String {
    let mut words = String::from(" ");
    for word in lower.split(|it: char| !it.is_alphanumeric() && it != '\'') {
        if !word.is_empty() {
            words.push_str(word);
            words.push(' ');
        }
    }
    words
}
