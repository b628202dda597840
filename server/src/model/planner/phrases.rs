//! What the planner says of itself.

use super::Language;

/// What can be asked.
pub(super) fn help(language: Language) -> String {
    match language {
        Language::English => format!(
            "I am Orion's built-in planner: a small fixed grammar, not a language model. You can say, for example:\n{}\n\
             Add \"on DEVICE\" to say where, and \"dry run\" to only see what would happen.\n{}",
            EXAMPLES_ENGLISH, MODEL_ENGLISH
        ),
        Language::Dutch => format!(
            "Ik ben de ingebouwde planner van Orion: een kleine vaste grammatica, geen taalmodel. U kunt bijvoorbeeld zeggen:\n{}\n\
             Zet er \"op APPARAAT\" bij om te zeggen waar, en \"proefdraaien\" om alleen te zien wat er zou gebeuren.\n{}",
            EXAMPLES_DUTCH, MODEL_DUTCH
        ),
    }
}

/// That a request is not understood.
pub(super) fn unknown(language: Language) -> String {
    match language {
        Language::English => format!(
            "I did not understand that, so I did nothing. I am Orion's built-in planner: a small fixed grammar, not a language model. I understand requests such as:\n{EXAMPLES_ENGLISH}\n{MODEL_ENGLISH}"
        ),
        Language::Dutch => format!(
            "Dat begrijp ik niet, dus ik heb niets gedaan. Ik ben de ingebouwde planner van Orion: een kleine vaste grammatica, geen taalmodel. Ik begrijp verzoeken zoals:\n{EXAMPLES_DUTCH}\n{MODEL_DUTCH}"
        ),
    }
}

const EXAMPLES_ENGLISH: &str = "  create folder Test
  create folder Photos in Documents
  what is in Documents
  find *.zip files in Downloads
  read notes.txt
  write \"Milk\" to shopping.txt
  add line \"Bread\" to shopping.txt
  delete folder Test with everything in it
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
  verwijder de map Test met alles erin
  open firefox met https://example.com
  hoeveel schijfruimte is er nog vrij
  hoe laat is het";

const MODEL_ENGLISH: &str = "To talk freely, connect a language model: add a [[models]] section with kind = \"openai\", url and model to orion-server.toml, and restart orion-server.";

const MODEL_DUTCH: &str = "Om vrij te praten verbindt u een taalmodel: zet een sectie [[models]] met kind = \"openai\", url en model in orion-server.toml en herstart orion-server.";
