//! The forms in which a request is compared with the phrases: in Dutch also with its verb moved to the start.

use crate::language::Language;
use crate::polite::{after, before};
use crate::words::Word;

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
    const FILLERS: &str = "\
    please just currently actually quickly really kindly also maybe still pls then even eens dan \
    eigenlijk nou gewoon ff effe alvast daarna ook momenteel misschien vandaag allemaal precies graag \
    alsjeblieft aub \
";
    // "Maar" is a filler before these, and "but" elsewhere.
    const BEFORE: &[&str] = &["weer", "weg", "terug", "even", "eens", "op", "in", "naar"];
    let is_filler = |at: usize, word: &Word| {
        let next = words.get(at + 1).map(|word| word.key.as_str()).unwrap_or_default();
        word.quoted.is_none()
            && (FILLERS.split_whitespace().any(|it| it == word.key)
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
    const VERBS: &str = "\
    maken:maak aanmaken:maak creëren:maak toevoegen:voeg verwijderen:verwijder wissen:verwijder \
    weggooien:verwijder weghalen:verwijder deleten:verwijder tonen:toon weergeven:toon opsommen:toon \
    lezen:lees voorlezen:lees openen:open openmaken:open starten:start opstarten:start sluiten:sluit \
    afsluiten:sluit zoeken:zoek opzoeken:zoek vinden:zoek schrijven:schrijf zetten:zet opslaan:bewaar \
    zien:toon bekijken:toon kopiëren:kopieer kopieren:kopieer verplaatsen:verplaats hernoemen:hernoem \
    vervangen:vervang veranderen:verander terugdraaien:terugdraai terugzetten:terugzet \
    herstellen:herstel herstarten:herstart uitvoeren:voer draaien:draai runnen:draai \
    vergelijken:vergelijk tellen:tel controleren:controleer checken:controleer bouwen:bouw testen:test \
    uitrekenen:bereken berekenen:bereken vertellen:vertel formatteren:formatteer geven:geef \
";
    let mut forms = vec![words.to_vec()];
    let Some((last, rest)) = words.split_last() else { return forms };
    let rest = before(rest, "te").unwrap_or(rest);
    let pairs = VERBS.split_whitespace().filter_map(|pair| pair.split_once(':'));
    let Some((_, verb)) = pairs.into_iter().find(|(infinitive, _)| *infinitive == last.key) else {
        return forms;
    };
    let mut rest =
        ["willen", "kunnen", "laten"].iter().find_map(|it| before(rest, it)).unwrap_or(rest);
    if verb == "toon" {
        // "Laat me … zien" and "mij … laten zien".
        rest =
            ["laat_me", "laat_mij", "laat"].iter().find_map(|it| after(rest, it)).unwrap_or(rest);
        rest = before(rest, "laten").unwrap_or(rest);
    }
    let mut moved = vec![Word { key: verb.to_owned(), breaks: false, ..last.clone() }];
    moved.extend_from_slice(rest);
    forms.push(moved);
    forms
}
