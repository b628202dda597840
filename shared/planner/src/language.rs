//! The languages that the planner speaks.

/// A language that the planner speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Dutch,
}

/// Returns the language of words that the grammar does not know.
pub(crate) fn language_of(text: &str) -> Language {
    const DUTCH: [&str; 32] = [
        "een",
        "het",
        "de",
        "ik",
        "je",
        "jij",
        "mij",
        "mijn",
        "wat",
        "hoe",
        "waar",
        "welke",
        "hoeveel",
        "maak",
        "naar",
        "niet",
        "kun",
        "kan",
        "wil",
        "zou",
        "hallo",
        "hoi",
        "hulp",
        "staat",
        "zijn",
        "voor",
        "met",
        "bestand",
        "map",
        "verwijder",
        "schrijf",
        "graag",
    ];
    let dutch = text
        .split(|letter: char| !letter.is_alphanumeric())
        .take(64)
        .any(|word| DUTCH.contains(&word.to_lowercase().as_str()));
    if dutch { Language::Dutch } else { Language::English }
}
