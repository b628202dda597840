//! Removes what surrounds a request: courtesies, the device, the wish for a preview. In Dutch, moves a verb
//! at the end to the start.

use crate::words::Word;

/// Removes courtesies from both ends.
pub(crate) fn trim(words: &[Word]) -> &[Word] {
    const BEFORE: [&str; 27] = [
        "please",
        "kindly",
        "hey",
        "hi",
        "hello",
        "orion",
        "ok",
        "okay",
        "now",
        "can_you",
        "could_you",
        "would_you",
        "will_you",
        "i_want_you_to",
        "hallo",
        "hoi",
        "graag",
        "even",
        "alsjeblieft",
        "alstublieft",
        "aub",
        "kun_je",
        "kan_je",
        "wil_je",
        "zou_je",
        "kunt_u",
        "wilt_u",
    ];
    const AFTER: [&str; 17] = [
        "please",
        "thanks",
        "thank_you",
        "for_me",
        "now",
        "alsjeblieft",
        "alstublieft",
        "aub",
        "graag",
        "bedankt",
        "dank_je",
        "dankjewel",
        "voor_mij",
        "voor_me",
        "orion",
        "eens",
        "even",
    ];
    let mut words = words;
    while let Some(rest) = BEFORE.iter().find_map(|phrase| after(words, phrase)) {
        words = rest;
    }
    while let Some(rest) = AFTER.iter().find_map(|phrase| before(words, phrase)) {
        words = rest;
    }
    words
}

/// Returns the words without the wish for a preview. `None` where there is no such wish.
pub(crate) fn preview(words: &[Word]) -> Option<&[Word]> {
    const AT_THE_START: [&str; 10] = [
        "as_a_dry_run",
        "as_a_preview",
        "dry_run",
        "dry-run",
        "dryrun",
        "preview",
        "als_proef",
        "bij_wijze_van_proef",
        "proefdraaien",
        "proef",
    ];
    const AT_THE_END: [&str; 16] = [
        "as_a_dry_run",
        "as_dry_run",
        "as_a_preview",
        "as_preview",
        "in_preview",
        "with_dry_run",
        "dry_run",
        "dry-run",
        "dryrun",
        "preview",
        "als_proef",
        "als_preview",
        "als_dry_run",
        "bij_wijze_van_proef",
        "proefdraaien",
        "proef",
    ];
    AT_THE_START
        .iter()
        .find_map(|phrase| after(words, phrase))
        .or_else(|| AT_THE_END.iter().find_map(|phrase| before(words, phrase)))
}

/// Returns the words without the device, and the device. The device is at the end, at the start or, as in
/// Dutch, after the verb. "On this computer" names none.
pub(crate) fn device(text: &str, words: &[Word]) -> (Vec<Word>, Option<String>) {
    const ON: [&str; 14] = [
        "on_the_device",
        "on_device",
        "on_the",
        "on_my",
        "on_this",
        "on",
        "op_het_apparaat",
        "op_apparaat",
        "op_de",
        "op_het",
        "op_mijn",
        "op_deze",
        "op_dit",
        "op",
    ];
    for phrase in ON {
        let length = phrase.split('_').count() + 1;
        for start in [words.len().checked_sub(length), Some(0), Some(1)].into_iter().flatten() {
            let Some((name, rest)) = after(words.get(start..).unwrap_or_default(), phrase)
                .and_then(|tail| tail.split_first())
            else {
                continue;
            };
            let named = match name.key.as_str() {
                "computer" | "pc" | "device" | "machine" | "system" | "apparaat" | "disk"
                | "schijf" | "systeem" => None,
                _ => match device_name(text, name) {
                    Some(named) => Some(named),
                    None => continue,
                },
            };
            let around = [words.get(..start).unwrap_or_default(), rest].concat();
            return (around, named);
        }
    }
    (words.to_vec(), None)
}

/// Returns a device's name, or a selector such as `label:env=lab`.
fn device_name(text: &str, word: &Word) -> Option<String> {
    let name = text.get(word.start..word.end)?;
    let fits = name.len() <= 128
        && name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:=-".contains(&b));
    fits.then(|| name.to_owned())
}

/// Turns "… maken" into "maak …", and "laat … zien" into "toon …".
pub(crate) fn verb_first(words: &[Word]) -> Vec<Word> {
    const VERBS: [(&str, &str); 29] = [
        ("maken", "maak"),
        ("aanmaken", "maak"),
        ("creëren", "maak"),
        ("toevoegen", "voeg"),
        ("verwijderen", "verwijder"),
        ("wissen", "verwijder"),
        ("weggooien", "verwijder"),
        ("tonen", "toon"),
        ("weergeven", "toon"),
        ("opsommen", "toon"),
        ("lezen", "lees"),
        ("voorlezen", "lees"),
        ("openen", "open"),
        ("starten", "start"),
        ("opstarten", "start"),
        ("zoeken", "zoek"),
        ("opzoeken", "zoek"),
        ("vinden", "zoek"),
        ("schrijven", "schrijf"),
        ("zetten", "zet"),
        ("opslaan", "bewaar"),
        ("zien", "toon"),
        ("kopiëren", "kopieer"),
        ("kopieren", "kopieer"),
        ("verplaatsen", "verplaats"),
        ("hernoemen", "hernoem"),
        ("vervangen", "vervang"),
        ("terugdraaien", "terugdraai"),
        ("herstellen", "herstel"),
    ];
    let Some((last, rest)) = words.split_last() else { return Vec::new() };
    let Some((_, verb)) = VERBS.iter().find(|(infinitive, _)| *infinitive == last.key) else {
        return words.to_vec();
    };
    let mut rest = before(rest, "willen").or_else(|| before(rest, "kunnen")).unwrap_or(rest);
    if *verb == "toon" {
        // "Laat me … zien" and "mij … laten zien".
        rest = ["laat_me", "laat_mij", "laat"]
            .iter()
            .find_map(|phrase| after(rest, phrase))
            .unwrap_or(rest);
        rest = before(rest, "laten").unwrap_or(rest);
    }
    let mut moved = vec![Word { key: (*verb).to_owned(), breaks: false, ..last.clone() }];
    moved.extend_from_slice(rest);
    moved
}

fn after<'a>(words: &'a [Word], phrase: &str) -> Option<&'a [Word]> {
    let (head, rest) = words.split_at_checked(phrase.split('_').count())?;
    is(head, phrase).then_some(rest)
}

fn before<'a>(words: &'a [Word], phrase: &str) -> Option<&'a [Word]> {
    let (rest, tail) =
        words.split_at_checked(words.len().checked_sub(phrase.split('_').count())?)?;
    is(tail, phrase).then_some(rest)
}

fn is(words: &[Word], phrase: &str) -> bool {
    phrase.split('_').zip(words).all(|(part, word)| word.key == part)
}
