//! The planner's texts about itself.

use crate::language::Language;
use crate::undo::Impossible;

/// Returns the help text: what people can ask.
pub(crate) fn help(language: Language) -> String {
    match language {
        Language::English => format!(
            "I am Orion's built-in planner: a small fixed grammar, not a language model. You can say, for example:\n{}\n\
             Add \"on DEVICE\" to say where, and \"dry run\" to only see what would happen. Say \"undo that\" to take the last change back.\n{}",
            EXAMPLES_ENGLISH, MODEL_ENGLISH
        ),
        Language::Dutch => format!(
            "Ik ben de ingebouwde planner van Orion: een kleine vaste grammatica, geen taalmodel. U kunt bijvoorbeeld zeggen:\n{}\n\
             Zet er \"op APPARAAT\" bij om te zeggen waar, en \"proefdraaien\" om alleen te zien wat er zou gebeuren. Zeg \"maak dat ongedaan\" om de laatste verandering terug te draaien.\n{}",
            EXAMPLES_DUTCH, MODEL_DUTCH
        ),
    }
}

/// Returns the answer to a request that the planner does not understand.
pub(crate) fn unknown(language: Language) -> String {
    match language {
        Language::English => format!(
            "I did not understand that, so I did nothing. I am Orion's built-in planner: a small fixed grammar, not a language model. I understand requests such as:\n{EXAMPLES_ENGLISH}\n{MODEL_ENGLISH}"
        ),
        Language::Dutch => format!(
            "Dat begrijp ik niet, dus ik heb niets gedaan. Ik ben de ingebouwde planner van Orion: een kleine vaste grammatica, geen taalmodel. Ik begrijp verzoeken zoals:\n{EXAMPLES_DUTCH}\n{MODEL_DUTCH}"
        ),
    }
}

/// Returns why nothing can be undone.
pub(crate) fn no_undo(why: &Impossible, language: Language) -> String {
    const COMMAND_ENGLISH: &str = "`orion undo CALL` takes back a call by its id, and `orion audit list` shows those on record.";
    const COMMAND_DUTCH: &str = "`orion undo AANROEP` draait een aanroep terug op zijn id, en `orion audit list` toont wat er is vastgelegd.";
    let (why, command) = match (why, language) {
        (Impossible::Nothing, Language::English) => (
            "Nothing that I can see in this chat was changed, so I did nothing.".to_owned(),
            COMMAND_ENGLISH,
        ),
        (Impossible::Nothing, Language::Dutch) => (
            "Voor zover ik in dit gesprek kan zien is er niets veranderd, dus ik heb niets gedaan.".to_owned(),
            COMMAND_DUTCH,
        ),
        (Impossible::Tool(tool), Language::English) => (
            format!("The last change here was by {tool}, which cannot be taken back, so I did nothing."),
            COMMAND_ENGLISH,
        ),
        (Impossible::Tool(tool), Language::Dutch) => (
            format!("De laatste verandering hier was door {tool}, en dat kan niet ongedaan worden gemaakt, dus ik heb niets gedaan."),
            COMMAND_DUTCH,
        ),
        (Impossible::Unseen, Language::English) => (
            "I cannot see here what became of the last change, so I did nothing.".to_owned(),
            COMMAND_ENGLISH,
        ),
        (Impossible::Unseen, Language::Dutch) => (
            "Ik kan hier niet zien wat er van de laatste verandering is geworden, dus ik heb niets gedaan.".to_owned(),
            COMMAND_DUTCH,
        ),
    };
    format!("{why} {command}")
}

const EXAMPLES_ENGLISH: &str = "  create folder Test
  create folder Photos in Documents
  what is in Documents
  find *.zip files in Downloads
  read notes.txt
  write \"Milk\" to shopping.txt
  add line \"Bread\" to shopping.txt
  search for milk in Documents
  copy notes.txt to Archive
  rename notes.txt to letter.txt
  delete file notes.txt
  delete folder Test with everything in it
  what takes up space
  open firefox with https://example.com
  how much disk space is left
  what time is it";

const EXAMPLES_DUTCH: &str = "  maak een map Test
  maak een map Foto's in Documenten
  wat staat er in Documenten
  zoek *.zip bestanden in Downloads
  lees notities.txt
  schrijf \"Melk\" naar boodschappen.txt
  voeg regel \"Brood\" toe aan boodschappen.txt
  zoek melk in Documenten
  kopieer notities.txt naar Archief
  hernoem notities.txt naar brief.txt
  verwijder het bestand notities.txt
  verwijder de map Test met alles erin
  wat neemt ruimte in
  open firefox met https://example.com
  hoeveel schijfruimte is er nog vrij
  hoe laat is het";

const MODEL_ENGLISH: &str = "To talk freely, connect a language model: add a [[models]] section with kind = \"openai\", url and model to orion-server.toml, and restart orion-server.";

const MODEL_DUTCH: &str = "Om vrij te praten verbindt u een taalmodel: zet een sectie [[models]] met kind = \"openai\", url en model in orion-server.toml en herstart orion-server.";
