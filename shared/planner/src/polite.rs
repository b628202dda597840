//! Removes what surrounds a request: courtesies, the device, the wish for a preview. In Dutch, moves a verb
//! at the end to the start.

use crate::language::Language;
use crate::words::Word;

/// Removes courtesies from both ends.
pub(crate) fn trim(words: &[Word]) -> &[Word] {
    const BEFORE: &[&str] = &[
        "please",
        "kindly",
        "hey",
        "hi",
        "hello",
        "orion",
        "ok",
        "okay",
        "now",
        "and",
        "then",
        "also",
        "just",
        "so",
        "well",
        "quickly",
        "can_you",
        "could_you",
        "would_you",
        "will_you",
        "can_u",
        "can_i_please",
        "i_want_you_to",
        "i'd_like_you_to",
        "i_would_like_you_to",
        "i_need_you_to",
        "i_want_to",
        "i'd_like_to",
        "i_would_like_to",
        "i_need_to",
        "i_wanna",
        "let's",
        "let_us",
        "help_me_to",
        "help_me",
        "go_ahead_and",
        "go_and",
        "would_you_mind",
        "do_me_a_favor_and",
        "is_it_possible_to",
        "can_we",
        "could_we",
        "can_i",
        "could_i",
        "may_i",
        "would_you_please",
        "tell_me_please",
        "quick",
        "oh",
        "yes_please",
        "great",
        "thanks",
        "thank_you",
        "cool",
        "right",
        "alright",
        "hallo",
        "hoi",
        "graag",
        "even",
        "alsjeblieft",
        "alstublieft",
        "aub",
        "nu",
        "en",
        "dan",
        "ook",
        "daarna",
        "eens",
        "snel",
        "goed",
        "dag",
        "kun_je",
        "kan_je",
        "wil_je",
        "zou_je",
        "kunt_u",
        "wilt_u",
        "zou_u",
        "kan_jij",
        "kun_jij",
        "ik_wil_graag",
        "ik_wil_dat_je",
        "ik_wil",
        "ik_zou_graag",
        "ik_moet",
        "mag_ik",
        "kan_ik",
        "kunnen_we",
        "zullen_we",
        "help_me_om",
        "zou_jij",
        "bedankt",
        "dank_je",
        "oké",
        "oke",
        "voor_mij",
        "voor_me",
    ];
    const AFTER: &[&str] = &[
        "please",
        "thanks",
        "thank_you",
        "thx",
        "for_me",
        "now",
        "right_now",
        "real_quick",
        "quickly",
        "too",
        "as_well",
        "then",
        "if_you_can",
        "if_possible",
        "would_you",
        "will_you",
        "could_you",
        "can_you",
        "ok",
        "okay",
        "at_once",
        "immediately",
        "at_the_moment",
        "pls",
        "plz",
        "alsjeblieft",
        "alstublieft",
        "aub",
        "graag",
        "bedankt",
        "dank_je",
        "dankjewel",
        "dank_u",
        "voor_mij",
        "voor_me",
        "orion",
        "eens",
        "even",
        "nu",
        "ook",
        "als_je_wilt",
        "als_het_kan",
        "op_dit_moment",
        "meteen",
        "svp",
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
    let ends = (2..=4).filter_map(|length| words.len().checked_sub(length));
    let starts: Vec<usize> = ends.chain(0..words.len().min(4)).collect();
    for start in starts {
        let Some(tail) = words.get(start..) else { continue };
        let Some((rest, device)) = on(text, tail) else { continue };
        if start > 3 && !rest.is_empty() {
            continue;
        }
        let around = [words.get(..start).unwrap_or_default(), rest].concat();
        return (around, device);
    }
    (words.to_vec(), None)
}

/// Returns what follows "on DEVICE", and the device. None where words do not begin so.
fn on<'a>(text: &str, words: &'a [Word]) -> Option<(&'a [Word], Option<String>)> {
    const ON: &[&str] = &[
        "on_the_device",
        "on_device",
        "on_the_computer",
        "on_the",
        "on_my",
        "on_this",
        "on",
        "from_my_device",
        "op_het_apparaat",
        "op_apparaat",
        "op_de_computer",
        "op_de",
        "op_het",
        "op_mijn",
        "op_deze",
        "op_dit",
        "op",
    ];
    ON.iter().find_map(|phrase| {
        let (name, rest) = after(words, phrase)?.split_first()?;
        match name.key.as_str() {
            "computer" | "pc" | "device" | "machine" | "system" | "apparaat" | "disk"
            | "schijf" | "systeem" | "here" => Some((rest, None)),
            key if NO_DEVICES.contains(&key) => None,
            _ => device_name(text, name).map(|device| (rest, Some(device))),
        }
    })
}

/// Returns a device's name, or a selector such as `label:env=lab`.
pub(crate) fn device_name(text: &str, word: &Word) -> Option<String> {
    let name = text.get(word.start..word.end)?;
    let fits = name.len() <= 128
        && name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:=-".contains(&b));
    fits.then(|| name.to_owned())
}

/// Returns the forms in which words are compared with the phrases of a language: as they are, without the
/// little words that change nothing, and with "in there" as "in it".
pub(crate) fn forms(words: &[Word], language: Language) -> Vec<Vec<Word>> {
    let mut forms = Vec::new();
    for form in [words.to_vec(), without_fillers(words), with_pronouns(&without_fillers(words))] {
        let ordered = match language {
            Language::English => vec![form],
            Language::Dutch => verb_first(&form),
        };
        for form in ordered {
            if !forms.contains(&form) && !form.is_empty() {
                forms.push(form);
            }
        }
    }
    forms
}

fn without_fillers(words: &[Word]) -> Vec<Word> {
    const FILLERS: &[&str] = &[
        "please",
        "just",
        "currently",
        "actually",
        "quickly",
        "really",
        "kindly",
        "also",
        "maybe",
        "still",
        "pls",
        "then",
        "even",
        "eens",
        "dan",
        "eigenlijk",
        "nou",
        "gewoon",
        "ff",
        "effe",
        "alvast",
        "daarna",
        "ook",
        "momenteel",
        "misschien",
        "vandaag",
        "allemaal",
        "precies",
        "graag",
        "alsjeblieft",
        "aub",
    ];
    // "Maar" is a filler before these, and "but" elsewhere.
    const BEFORE: &[&str] = &["weer", "weg", "terug", "even", "eens", "op", "in", "naar"];
    let is_filler = |at: usize, word: &Word| {
        let next = words.get(at + 1).map(|word| word.key.as_str()).unwrap_or_default();
        word.quoted.is_none()
            && (FILLERS.contains(&word.key.as_str())
                || (word.key == "maar" && BEFORE.contains(&next))
                || (word.key == "weer" && matches!(next, "weg" | "terug" | "open" | "")))
    };
    let kept = words.iter().enumerate().filter(|(at, word)| !is_filler(*at, word));
    kept.map(|(_, word)| word.clone()).collect()
}

/// Returns the words with "in there" and "daarin" as a preposition and a pronoun.
fn with_pronouns(words: &[Word]) -> Vec<Word> {
    let mut split = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let (preposition, pronoun) = match word.key.as_str() {
            "daarin" | "erin" | "hierin" if word.quoted.is_none() => ("in", "dat"),
            "daarheen" | "ernaartoe" if word.quoted.is_none() => ("naar", "dat"),
            "there" if at > 0 && word.quoted.is_none() => {
                let after_in =
                    words.get(at - 1).is_some_and(|it| it.key == "in" || it.key == "into");
                (if after_in { "" } else { "in" }, "it")
            }
            _ => {
                split.push(word.clone());
                continue;
            }
        };
        if !preposition.is_empty() {
            split.push(Word { key: preposition.to_owned(), breaks: false, ..word.clone() });
        }
        split.push(Word { key: pronoun.to_owned(), ..word.clone() });
    }
    split
}

/// Returns the words as they are and, for a request with its verb at the end, with the verb moved to the start:
/// "… maken" as "maak …", and "laat … zien" as "toon …".
fn verb_first(words: &[Word]) -> Vec<Vec<Word>> {
    const VERBS: &[(&str, &str)] = &[
        ("maken", "maak"),
        ("aanmaken", "maak"),
        ("creëren", "maak"),
        ("toevoegen", "voeg"),
        ("verwijderen", "verwijder"),
        ("wissen", "verwijder"),
        ("weggooien", "verwijder"),
        ("weghalen", "verwijder"),
        ("deleten", "verwijder"),
        ("tonen", "toon"),
        ("weergeven", "toon"),
        ("opsommen", "toon"),
        ("lezen", "lees"),
        ("voorlezen", "lees"),
        ("openen", "open"),
        ("openmaken", "open"),
        ("starten", "start"),
        ("opstarten", "start"),
        ("sluiten", "sluit"),
        ("afsluiten", "sluit"),
        ("zoeken", "zoek"),
        ("opzoeken", "zoek"),
        ("vinden", "zoek"),
        ("schrijven", "schrijf"),
        ("zetten", "zet"),
        ("opslaan", "bewaar"),
        ("zien", "toon"),
        ("bekijken", "toon"),
        ("kopiëren", "kopieer"),
        ("kopieren", "kopieer"),
        ("verplaatsen", "verplaats"),
        ("hernoemen", "hernoem"),
        ("vervangen", "vervang"),
        ("veranderen", "verander"),
        ("terugdraaien", "terugdraai"),
        ("terugzetten", "terugzet"),
        ("herstellen", "herstel"),
        ("herstarten", "herstart"),
        ("uitvoeren", "voer"),
        ("draaien", "draai"),
        ("runnen", "draai"),
        ("vergelijken", "vergelijk"),
        ("tellen", "tel"),
        ("controleren", "controleer"),
        ("checken", "controleer"),
        ("bouwen", "bouw"),
        ("testen", "test"),
        ("uitrekenen", "bereken"),
        ("berekenen", "bereken"),
        ("vertellen", "vertel"),
        ("formatteren", "formatteer"),
        ("geven", "geef"),
    ];
    let mut forms = vec![words.to_vec()];
    let Some((last, rest)) = words.split_last() else { return forms };
    let rest = before(rest, "te").unwrap_or(rest);
    let Some((_, verb)) = VERBS.iter().find(|(infinitive, _)| *infinitive == last.key) else {
        return forms;
    };
    let mut rest =
        ["willen", "kunnen", "laten"].iter().find_map(|it| before(rest, it)).unwrap_or(rest);
    if *verb == "toon" {
        // "Laat me … zien" and "mij … laten zien".
        rest =
            ["laat_me", "laat_mij", "laat"].iter().find_map(|it| after(rest, it)).unwrap_or(rest);
        rest = before(rest, "laten").unwrap_or(rest);
    }
    let mut moved = vec![Word { key: (*verb).to_owned(), breaks: false, ..last.clone() }];
    moved.extend_from_slice(rest);
    forms.push(moved);
    forms
}

/// Returns the name in an answer such as "call it Photos" or "on the kiosk".
pub(crate) fn name_only(words: &[Word]) -> &[Word] {
    const LEADS: &[&str] = &[
        "call_it",
        "name_it",
        "it's_called",
        "it_is_called",
        "it's",
        "called",
        "named",
        "make_it",
        "use",
        "in_the",
        "in_my",
        "into_the",
        "to_the",
        "on_the",
        "on_my",
        "the_file",
        "the_folder",
        "in",
        "into",
        "to",
        "on",
        "the",
        "my",
        "noem_het",
        "noem_hem",
        "noem_die",
        "het_heet",
        "genaamd",
        "doe_maar",
        "doe",
        "in_de",
        "in_mijn",
        "naar_de",
        "naar_mijn",
        "op_de",
        "op_het",
        "op_mijn",
        "het_bestand",
        "de_map",
        "naar",
        "op",
        "de",
        "het",
        "mijn",
    ];
    LEADS.iter().find_map(|lead| after(words, lead)).filter(|it| !it.is_empty()).unwrap_or(words)
}

/// Words that name no device.
const NO_DEVICES: &[&str] = &[
    "all",
    "every",
    "each",
    "both",
    "any",
    "alle",
    "alles",
    "elke",
    "iedere",
    "beide",
    "it",
    "that",
    "this",
    "them",
    "top",
    "time",
    "port",
    "line",
    "a",
    "an",
    "the",
    "my",
    "desktop",
    "bureaublad",
    "which",
    "what",
    "welke",
    "welk",
    "poort",
    "een",
    "de",
    "het",
    "dit",
    "dat",
    "slot",
    "zich",
];

/// Returns why a request for several devices at once is not made, if it is one.
pub(crate) fn several_devices(words: &[Word]) -> Option<&'static str> {
    const LEADS: &[&str] = &[
        "on_all",
        "on_every",
        "on_each",
        "on_both",
        "on_my_laptops",
        "on_the_laptops",
        "op_alle",
        "op_elke",
        "op_elk",
        "op_iedere",
        "op_ieder",
        "op_al",
        "op_beide",
        "everywhere",
        "overal",
        "on_any",
    ];
    let starts = (0..words.len()).filter_map(|start| words.get(start..));
    let found = starts
        .flat_map(|tail| LEADS.iter().map(move |lead| after(tail, lead)))
        .any(|it| it.is_some());
    found.then_some("several_devices")
}

/// Returns every device that words name.
pub(crate) fn devices(text: &str, words: &[Word]) -> Vec<String> {
    (0..words.len())
        .filter_map(|start| words.get(start..))
        .filter_map(|tail| {
            let (_, device) = on(text, tail)?;
            device
        })
        .collect()
}

/// Returns the words behind a phrase that they begin with.
pub(crate) fn after<'a>(words: &'a [Word], phrase: &str) -> Option<&'a [Word]> {
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
