//! What the planner says about itself: questions, and why nothing is done.

mod undo;

use crate::language::Language;
use crate::words::Word;

pub(crate) use self::undo::{account, no_undo, too_many_changes};

/// Why a message is not carried out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Miss {
    /// It is not a sentence of the grammar; with the nearest example.
    Unknown(Option<&'static str>),
    /// This part of it is not understood, and another part is.
    Clause(String),
    /// It has this word, which denies, excludes or sets a condition.
    Restricted(String),
    /// There is no earlier call that could be made again.
    NothingToRepeat,
    /// It is too long.
    TooLong,
}

/// Returns the help text: what people can ask.
pub(crate) fn help(language: Language) -> String {
    let (lead, end) = match language {
        Language::English => (
            "I am Orion's built-in planner: a small fixed grammar, not a language model. You can say, for example:",
            "Add \"on DEVICE\" to say where, and \"dry run\" to only see what would happen. Say \"undo that\" to take the last change back. \
             To talk freely, an admin connects a language model: docs/models.md shows how.",
        ),
        Language::Dutch => (
            "Ik ben de ingebouwde planner van Orion: een kleine vaste grammatica, geen taalmodel. U kunt bijvoorbeeld zeggen:",
            "Zet er \"op APPARAAT\" bij om te zeggen waar, en \"proefdraaien\" om alleen te zien wat er zou gebeuren. Zeg \"maak dat ongedaan\" om de laatste verandering terug te draaien. \
             Om vrij te praten verbindt een beheerder een taalmodel: docs/models.md laat zien hoe.",
        ),
    };
    let topic = |(topic, examples): &(&str, &[&str])| {
        format!("{topic}:\n{}", examples.iter().map(|it| format!("  {it}\n")).collect::<String>())
    };
    let topics: String = topics(language).iter().map(topic).collect();
    format!("{lead}\n{topics}{end}")
}

/// Returns why a message is not carried out, in one line.
pub(crate) fn miss(miss: &Miss, language: Language) -> String {
    let nothing = language.of("so I did nothing", "dus ik heb niets gedaan");
    let help = language
        .of("Say “help” to see what I understand.", "Zeg “hulp” om te zien wat ik begrijp.");
    match (miss, language) {
        (Miss::Unknown(Some(near)), Language::English) => {
            format!(
                "I did not understand that, {nothing}. The nearest that I know is “{near}”. {help}"
            )
        }
        (Miss::Unknown(Some(near)), Language::Dutch) => {
            format!(
                "Dat begrijp ik niet, {nothing}. Wat ik ken en er het meest op lijkt is “{near}”. {help}"
            )
        }
        (Miss::Unknown(None), Language::English) => {
            format!("I did not understand that, {nothing}. {help}")
        }
        (Miss::Unknown(None), Language::Dutch) => format!("Dat begrijp ik niet, {nothing}. {help}"),
        (Miss::Clause(part), Language::English) => {
            format!("I did not understand “{part}”, so I did nothing of it. {help}")
        }
        (Miss::Clause(part), Language::Dutch) => {
            format!("“{part}” begrijp ik niet, dus ik heb er niets van gedaan. {help}")
        }
        (Miss::Restricted(word), Language::English) => {
            format!(
                "I do not know what “{word}” changes about that, {nothing}. Say only what to do, without it."
            )
        }
        (Miss::Restricted(word), Language::Dutch) => {
            format!(
                "Ik weet niet wat “{word}” daaraan verandert, {nothing}. Zeg alleen wat er moet gebeuren, zonder dat woord."
            )
        }
        (Miss::NothingToRepeat, Language::English) => {
            format!("There is no call in this chat that I can make again like that, {nothing}.")
        }
        (Miss::NothingToRepeat, Language::Dutch) => {
            format!("Er is in dit gesprek geen aanroep die ik zo opnieuw kan doen, {nothing}.")
        }
        (Miss::TooLong, Language::English) => format!("That is too long for me, {nothing}. {help}"),
        (Miss::TooLong, Language::Dutch) => format!("Dat is te lang voor mij, {nothing}. {help}"),
    }
}

/// Returns the question for what a request lacks.
pub(crate) fn question(key: &str, language: Language) -> &'static str {
    let (english, dutch) = match key {
        "name" => ("What shall it be called?", "Hoe moet het heten?"),
        "file" => ("Which file?", "Welk bestand?"),
        "folder" => ("Which folder?", "Welke map?"),
        "text" => ("What shall it say?", "Wat moet erin staan?"),
        "where" => ("Where to?", "Waarheen?"),
        "into" => ("Into which file?", "In welk bestand?"),
        "search" => ("What shall I look for?", "Waar moet ik naar zoeken?"),
        "app" => ("Which application?", "Welke applicatie?"),
        "service" => ("Which service?", "Welke dienst?"),
        "port" => ("Which port?", "Welke poort?"),
        "command" => ("Which command?", "Welke opdracht?"),
        "expression" => ("What shall I calculate?", "Wat moet ik uitrekenen?"),
        "new_name" => ("What shall its new name be?", "Wat moet de nieuwe naam worden?"),
        "new_text" => ("What shall take its place?", "Wat moet ervoor in de plaats komen?"),
        "old_text" => ("Which text shall I replace?", "Welke tekst moet ik vervangen?"),
        "other" => ("With which file?", "Met welk bestand?"),
        "which" => ("Which one do you mean? Say its name.", "Welke bedoelt u? Noem de naam."),
        _ => ("What do you mean by that? Say its name.", "Wat bedoelt u daarmee? Noem de naam."),
    };
    match language {
        Language::English => english,
        Language::Dutch => dutch,
    }
}

/// Returns the question whether a corrected message is meant.
pub(crate) fn correction(text: &str, language: Language) -> String {
    match language {
        Language::English => format!("Did you mean “{text}”? Say yes or no."),
        Language::Dutch => format!("Bedoelde u “{text}”? Zeg ja of nee."),
    }
}

/// Returns whether a text is such a question.
pub(crate) fn is_correction(text: &str) -> bool {
    let begins =
        |language| correction("”", language).split_once("”").map(|(begin, _)| begin.to_owned());
    let begins = [begins(Language::English), begins(Language::Dutch)];
    begins.iter().flatten().any(|begin| text.starts_with(begin.as_str()))
}

/// Returns the answer to somebody who wants nothing done.
pub(crate) fn dropped(language: Language) -> &'static str {
    language.of("OK, I did nothing.", "Goed, ik heb niets gedaan.")
}

/// Returns the answer to a yes or a no without a question.
pub(crate) fn no_question(language: Language) -> &'static str {
    language.of(
        "I asked nothing, so I did nothing. Say what you want done.",
        "Ik heb niets gevraagd, dus ik heb niets gedaan. Zeg wat u gedaan wilt hebben.",
    )
}

/// Returns why the planner cannot do something.
pub(crate) fn cannot(key: &str, language: Language) -> &'static str {
    let (english, dutch) = match key {
        "several_devices" => (
            "A request runs on one device, so I did nothing. Say it for one: “… on DEVICE”; then “and on OTHER?” does the same there.",
            "Een verzoek gaat naar één apparaat, dus ik heb niets gedaan. Zeg het voor één: “… op APPARAAT”; daarna doet “en op ANDER?” daar hetzelfde.",
        ),
        "transfer" => (
            "Files go to and from your own computer with `orion cp`, so I did nothing.",
            "Bestanden gaan van en naar uw eigen computer met `orion cp`, dus ik heb niets gedaan.",
        ),
        "delete_many" => (
            "I delete one file or folder at a time, by its name, so I did nothing.",
            "Ik verwijder één bestand of map tegelijk, op naam, dus ik heb niets gedaan.",
        ),
        "access" => (
            "I cannot change what is allowed, so I did nothing. An admin of the backend allows a folder with `orion devices permissions add DEVICE --path FOLDER --access read`, and the owner of the device with `orion-agent allow FOLDER`. Where a call was denied, its answer says which of them is needed.",
            "Ik kan niet veranderen wat er mag, dus ik heb niets gedaan. Een beheerder van de backend staat een map toe met `orion devices permissions add APPARAAT --path MAP --access read`, en de eigenaar van het apparaat met `orion-agent allow MAP`. Waar een aanroep geweigerd werd, zegt het antwoord wat daarvan nodig is.",
        ),
        "undo_all" => (
            "I take back what one request changed, the last one first, so I did nothing. Say “undo that” for the last one, and then “undo the earlier change”.",
            "Ik draai terug wat één verzoek veranderde, het laatste eerst, dus ik heb niets gedaan. Zeg “maak dat ongedaan” voor het laatste, en daarna “maak de eerdere verandering ongedaan”.",
        ),
        "power" => (
            "I cannot switch a device off, restart it or lock it, so I did nothing.",
            "Ik kan een apparaat niet uitzetten, opnieuw starten of vergrendelen, dus ik heb niets gedaan.",
        ),
        _ => (
            "That is nothing that I can do, so I did nothing.",
            "Dat kan ik niet, dus ik heb niets gedaan.",
        ),
    };
    language.of(english, dutch)
}

/// Returns the example that shares most words with a message. `None` where none does.
pub(crate) fn nearest(words: &[Word], language: Language) -> Option<&'static str> {
    let shared = |example: &str| {
        let parts: Vec<&str> = example.split(' ').collect();
        let has = |word: &&Word| {
            word.key.len() > 2 && parts.iter().any(|part| part.eq_ignore_ascii_case(&word.key))
        };
        words.iter().filter(has).count()
    };
    let found = examples(language).rev().max_by_key(|example| shared(example))?;
    (shared(found) > 0).then_some(found)
}

/// Returns what the planner understands: topics, each with examples.
fn topics(language: Language) -> &'static [(&'static str, &'static [&'static str])] {
    match language {
        Language::English => &[
            (
                "Look",
                &[
                    "what is in Documents",
                    "how many files are in Documents",
                    "find *.zip files in Downloads",
                    "search for milk in Documents",
                    "read notes.txt",
                    "compare a.txt and b.txt",
                ],
            ),
            (
                "Change",
                &[
                    "create folder Test",
                    "create folder Photos in Documents",
                    "make Photos and put all jpgs in it",
                    "write \"Milk\" to shopping.txt",
                    "add line \"Bread\" to shopping.txt",
                    "replace foo with bar in notes.txt",
                    "copy notes.txt to Archive",
                    "rename notes.txt to letter.txt",
                    "delete file notes.txt",
                    "delete folder Test with everything in it",
                ],
            ),
            (
                "Programs and services",
                &[
                    "open firefox with https://example.com",
                    "what is running",
                    "is nginx running",
                    "show the logs of nginx",
                    "what uses port 8080",
                    "run the tests in backend",
                    "run git status in project",
                ],
            ),
            (
                "The device",
                &[
                    "what takes up space",
                    "how much disk space is left",
                    "list devices",
                    "what time is it",
                ],
            ),
        ],
        Language::Dutch => &[
            (
                "Kijken",
                &[
                    "wat staat er in Documenten",
                    "hoeveel bestanden staan er in Documenten",
                    "zoek *.zip bestanden in Downloads",
                    "zoek melk in Documenten",
                    "lees notities.txt",
                    "vergelijk a.txt en b.txt",
                ],
            ),
            (
                "Veranderen",
                &[
                    "maak een map Test",
                    "maak een map Foto's in Documenten",
                    "maak Foto's en zet alle jpg's erin",
                    "schrijf \"Melk\" naar boodschappen.txt",
                    "voeg regel \"Brood\" toe aan boodschappen.txt",
                    "vervang foo door bar in notities.txt",
                    "kopieer notities.txt naar Archief",
                    "hernoem notities.txt naar brief.txt",
                    "verwijder het bestand notities.txt",
                    "verwijder de map Test met alles erin",
                ],
            ),
            (
                "Programma's en diensten",
                &[
                    "open firefox met https://example.com",
                    "wat draait er",
                    "draait nginx",
                    "toon de logs van nginx",
                    "wat gebruikt poort 8080",
                    "draai de tests in backend",
                    "voer git status uit in project",
                ],
            ),
            (
                "Het apparaat",
                &[
                    "wat neemt ruimte in",
                    "hoeveel schijfruimte is er nog vrij",
                    "toon mijn apparaten",
                    "hoe laat is het",
                ],
            ),
        ],
    }
}

/// Returns examples of what the planner understands.
pub(crate) fn examples(language: Language) -> impl DoubleEndedIterator<Item = &'static str> {
    topics(language).iter().flat_map(|(_, examples)| *examples).copied()
}
