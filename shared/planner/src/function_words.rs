//! Words that are no names: words that join or restrict others, and words for any thing of a kind.

/// Words that join other words, or say when, how often or of which.
const JOINING: &str = "\
    a an the and then or for from with without that which called named in inside into on of to if when \
    all it me by every each any both this there here them those these everything not don't dont never no \
    but except unless until only than older newer before after bigger larger smaller is are was what how \
    whether while because please nor i we you they who its yesterday tomorrow tonight een de het en dan \
    daarna voor van uit met zonder dat die genaamd naar op aan als wanneer alle alles dit deze mij er \
    toe door elke iedere beide niet geen nooit maar behalve tenzij totdat alleen ouder nieuwer groter \
    kleiner hier daar zijn wat hoe welke omdat terwijl onder om te ik jij je wij u ze wie gisteren \
    morgen vannacht \
";

/// Words for any thing of a kind, which name none.
const GENERAL: &str = "\
    file files folder folders directory directories device devices nothing something anything stuff \
    things process processes services containers ports commands line lines bestand bestanden map mappen \
    apparaat apparaten niets iets processen diensten poorten regel regels last first again laatste \
    eerste opnieuw \
";

/// Words for the state of a thing.
const STATES: &str = "top bottom end beginning front einde begin new empty blank old whole entire nieuw nieuwe leeg lege oude hele";

/// Words that deny, exclude or set a condition. A request with one of them that no pattern accounts for is not
/// carried out.
const RESTRICTING: &str = "\
    not don't dont doesn't never no nor without but except excluding unless until if only older newer \
    bigger larger smaller than before after besides instead niet geen nooit zonder maar behalve \
    uitgezonderd tenzij totdat als indien alleen ouder nieuwer groter kleiner voordat nadat \
";

/// Verbs that begin a request of their own, and that people seldom put in a name.
const COMMANDS: &str = "\
    delete remove erase trash move copy duplicate rename make create verwijder wis verplaats kopieer dupliceer hernoem maak";

fn has(words: &str, key: &str) -> bool {
    words.split_whitespace().any(|word| word == key)
}

/// Returns whether a word in lower case joins or restricts other words.
pub(crate) fn is_joining(key: &str) -> bool {
    has(JOINING, key)
}

/// Returns whether a word in lower case is for any thing of a kind.
pub(crate) fn is_general(key: &str) -> bool {
    has(GENERAL, key)
}

/// Returns whether a word in lower case denies, excludes or sets a condition.
pub(crate) fn is_restricting(key: &str) -> bool {
    has(RESTRICTING, key)
}

/// Returns whether a word in lower case begins a request of its own.
pub(crate) fn is_command(key: &str) -> bool {
    has(COMMANDS, key)
}

/// Returns whether a word in lower case is for the state of a thing.
pub(crate) fn is_state(key: &str) -> bool {
    has(STATES, key)
}
