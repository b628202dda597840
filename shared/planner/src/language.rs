//! The languages that the planner speaks.

/// A language that the planner speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    Dutch,
}

impl Language {
    /// Returns the other language.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::English => Self::Dutch,
            Self::Dutch => Self::English,
        }
    }

    /// Returns the text in this language.
    pub(crate) const fn of<'a>(self, english: &'a str, dutch: &'a str) -> &'a str {
        match self {
            Self::English => english,
            Self::Dutch => dutch,
        }
    }
}

/// Returns the language of a text by its ordinary words. `None` where they show none.
pub(crate) fn language_of(text: &str) -> Option<Language> {
    const DUTCH: &str = "\
    een het de ik je jij mij mijn wat hoe waar welke hoeveel maak naar niet kun kan wil zou hallo hoi \
    hulp staat zijn voor met bestand map verwijder schrijf graag en van op lees toon zoek zet geef laat \
    dat die er nog geen ook ja nee bestanden mappen kopieer verplaats hernoem vervang gooi weg wis sluit \
    regel voeg toe welk zie eerste dezelfde hetzelfde opnieuw terug ongedaan draaien draait tel \
    vergelijk bereken controleer herstart voer uit alsjeblieft aub bedankt \
";
    const ENGLISH: &str = "\
    a an the i you me my what what's how where which make to not can could would hello hi please for \
    with file folder delete write and of on read show find put give that it this files folders copy move \
    rename replace remove create list add from is are do does there yes again same back undo running \
    count compare calculate check restart run out thanks don't into by \
";
    let words: Vec<String> = text
        .split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
        .take(64)
        .map(str::to_lowercase)
        .collect();
    let count = |list: &str| {
        words.iter().filter(|word| list.split_whitespace().any(|it| it == word.as_str())).count()
    };
    match count(DUTCH).cmp(&count(ENGLISH)) {
        std::cmp::Ordering::Greater => Some(Language::Dutch),
        std::cmp::Ordering::Less => Some(Language::English),
        std::cmp::Ordering::Equal => None,
    }
}
