//! The Dutch sentences of the grammar. The order matters: more specific sentences come first.

use crate::grammar::{Filled, Row};
use crate::plan::{self, Plan};

const fn row(pattern: &'static str, plan: fn(&Filled) -> Plan) -> Row {
    Row { pattern, plan }
}

const ALL: &[&str] = &["system", "cpu", "memory", "disk"];

/// The sentences.
pub(crate) const ROWS: &[Row] = &[
    row(
        "maak|creëer|creeer ?me|mij ?even|eens ?een|de|het ?nieuwe|lege geneste|diepe map|folder|directory ?genaamd|met_de_naam|met_als_naam <path> ?aan",
        |f| plan::nested(f.get("path")),
    ),
    row(
        "maak|creëer|creeer ?me|mij ?even|eens ?een|de|het ?nieuwe|lege map|folder|directory ?genaamd|met_de_naam <path> ?aan met|inclusief ?alle bovenliggende|tussenliggende mappen|folders ?aan",
        |f| plan::nested(f.get("path")),
    ),
    row(
        "maak|creëer|creeer|nieuwe ?me|mij ?even|eens ?een|de|het ?nieuwe|nieuw|lege map|mapje|folder|directory|submap ?genaamd|met_de_naam|met_als_naam <path> ?aan",
        |f| plan::create(f.get("path")),
    ),
    row(
        "maak|creëer|creeer ?me|mij ?even|eens ?een|de|het ?nieuwe|nieuw|lege map|mapje|folder|directory|submap ?genaamd|met_de_naam|met_als_naam <name> ?aan in|onder|binnen ?de|het|mijn ?map|folder <parent> ?aan",
        |f| plan::create_in(f.get("parent"), f.get("name")),
    ),
    row(
        "maak|creëer|creeer ?even|eens in|onder|binnen ?de|het|mijn ?map|folder <parent> een|de ?nieuwe|nieuw|lege map|mapje|folder|directory|submap ?genaamd|met_de_naam <name> ?aan",
        |f| plan::create_in(f.get("parent"), f.get("name")),
    ),
    row("verwijder|wis|gooi ?even|eens ?de|het|mijn lege map|folder|directory <path> ?weg", |f| {
        plan::delete(f.get("path"))
    }),
    row(
        "verwijder|wis|gooi ?even|eens ?de|het|mijn map|mapje|folder|directory ?genaamd <path> ?weg met|en|inclusief ?en alles ?wat_er|dat_er ?erin|in ?staat|zit ?weg",
        |f| plan::delete_all(f.get("path")),
    ),
    row(
        "verwijder|wis|gooi ?even|eens ?de|het|mijn map|mapje|folder|directory ?genaamd <path> ?weg met_inhoud|inclusief_inhoud|en_de_inhoud|met_de_inhoud|recursief|en_alles_erin ?weg",
        |f| plan::delete_all(f.get("path")),
    ),
    row(
        "verwijder|wis|gooi ?even|eens ?de|het|mijn map|mapje|folder|directory ?genaamd <path> ?weg",
        |f| plan::delete(f.get("path")),
    ),
    row(
        "gooi|zet|verplaats ?even ?de|mijn map|folder|directory <path> in|naar de prullenbak|prullenmand",
        |f| plan::delete_all(f.get("path")),
    ),
    // Undo.
    row("maak dat|dit|het ?maar|even|weer ongedaan", |_| Plan::undo()),
    row(
        "maak ?de laatste|vorige wijziging|verandering|actie|stap|aanroep ?weer|maar ongedaan",
        |_| Plan::undo(),
    ),
    row("draai dat|dit|het ?maar|weer terug", |_| Plan::undo()),
    row("draai de laatste|vorige wijziging|verandering|actie|stap terug", |_| Plan::undo()),
    row("terugdraai dat|dit|het", |_| Plan::undo()),
    row("herstel dat|de_laatste_wijziging|de_vorige_wijziging", |_| Plan::undo()),
    row("ongedaan", |_| Plan::undo()),
    // Files.
    row(
        "verwijder|wis|gooi ?even|eens ?het|mijn bestand|tekstbestand|file ?genaamd <path> ?weg",
        |f| plan::delete_file(f.get("path")),
    ),
    row("verwijder|wis|gooi ?even|eens ?het|mijn <file> ?weg", |f| {
        plan::delete_file(f.get("file"))
    }),
    row(
        "gooi|zet|verplaats ?even ?het|mijn bestand|file <path> in|naar de prullenbak|prullenmand",
        |f| plan::delete_file(f.get("path")),
    ),
    row("gooi|zet|verplaats ?even ?het|mijn <file> in|naar de prullenbak|prullenmand", |f| {
        plan::delete_file(f.get("file"))
    }),
    row(
        "kopieer ?even ?het|de|mijn ?bestand|map|folder|directory <source> naar|in ?de|mijn map|folder|directory <parent>",
        |f| plan::copy_into(f.get("source"), f.get("parent")),
    ),
    row(
        "kopieer ?even ?het|de|mijn ?bestand|map|folder|directory <source> naar|als ?het ?bestand <target>",
        |f| plan::copy(f.get("source"), f.get("target")),
    ),
    row(
        "verplaats|zet ?even ?het|de|mijn ?bestand|map|folder|directory <source> naar|in ?de|mijn map|folder|directory <parent>",
        |f| plan::move_into(f.get("source"), f.get("parent")),
    ),
    row(
        "verplaats ?even ?het|de|mijn ?bestand|map|folder|directory <source> naar ?het ?bestand <target>",
        |f| plan::move_to(f.get("source"), f.get("target")),
    ),
    row(
        "hernoem ?even ?het|de|mijn ?bestand|map|folder|directory <source> naar|tot|in|als <target>",
        |f| plan::rename(f.get("source"), f.get("target")),
    ),
    row(
        "vervang|verander ?even ?de ?tekst|het ?woord <old> door|in|naar <new> in ?het|mijn ?bestand <path>",
        |f| plan::edit(f.get("path"), f.get("old"), f.get("new")),
    ),
    row(
        "lees|toon|open|bekijk ?me|mij ?even ?het|de|mijn configuratie|config|configuratiebestand|instellingenbestand|instellingen ?bestand ?uit|van|in <path>",
        |f| plan::read_config(f.get("path")),
    ),
    row(
        "?toon|geef|wat_is ?me|mij ?de|het sha256|sha-256|controlesom|hash van ?het|mijn ?bestand <path>",
        |f| plan::file_hash(f.get("path")),
    ),
    row(
        "?toon|geef ?me|mij ?de info|informatie|gegevens|details over|van ?het|de|mijn bestand|map|folder <path>",
        |f| plan::file_info(f.get("path")),
    ),
    row("?toon|geef ?me|mij ?de info|informatie|gegevens|details over|van ?mijn <file>", |f| {
        plan::file_info(f.get("file"))
    }),
    row(
        "?toon|geef ?me|mij ?de bestandsinfo|bestandsinformatie|bestandsgegevens ?over|van ?het <path>",
        |f| plan::file_info(f.get("path")),
    ),
    row("hoe groot is ?het|mijn bestand <path>", |f| plan::file_info(f.get("path"))),
    row("hoe groot is ?mijn <file>", |f| plan::file_info(f.get("file"))),
    row("wat is de grootte van ?het|mijn ?bestand <file>", |f| plan::file_info(f.get("file"))),
    row(
        "wanneer is|werd ?het|de|mijn ?bestand|map <path> ?voor_het_laatst|het_laatst gewijzigd|veranderd|aangepast",
        |f| plan::file_info(f.get("path")),
    ),
    row(
        "maak|creëer|creeer ?even ?een|het ?nieuw|nieuwe bestand|tekstbestand|file ?genaamd|met_de_naam <path> ?aan met ?als|daarin|de ?de ?tekst|inhoud|regel <text> ?erin|aan",
        |f| plan::write(f.get("path"), f.get("text")),
    ),
    row(
        "maak|creëer|creeer ?even ?een|het ?nieuw|nieuwe|leeg bestand|tekstbestand|file ?genaamd|met_de_naam <path> ?aan",
        |f| plan::touch(f.get("path")),
    ),
    row(
        "voeg|zet|schrijf ?even ?de|een ?nieuwe regel <text> ?toe aan|in|onderaan|aan_het_eind_van|aan_het_einde_van ?het|mijn ?bestand <path> ?toe",
        |f| plan::append_line(f.get("path"), f.get("text")),
    ),
    row(
        "voeg ?even ?de ?tekst <text> ?toe aan|aan_het_eind_van|aan_het_einde_van|onderaan ?het|mijn ?bestand <path> ?toe",
        |f| plan::append(f.get("path"), f.get("text")),
    ),
    row(
        "schrijf|zet|bewaar ?even ?de ?tekst|woorden <text> in|naar|als ?het|mijn|een ?nieuw ?bestand <path>",
        |f| plan::write(f.get("path"), f.get("text")),
    ),
    row("schrijf <words> naar ?het|mijn ?bestand <path>", |f| {
        plan::write(f.get("path"), f.get("words"))
    }),
    row(
        "lees|toon|geef ?me|mij ?even de eerste <count> regels van|uit|in ?het|mijn ?bestand <path> ?voor",
        |f| plan::read_lines(f.get("path"), f.get("count")),
    ),
    row(
        "lees|toon|open|geef|bekijk ?me|mij ?even ?de ?inhoud_van|tekst_van ?het|mijn bestand <path> ?voor",
        |f| plan::read(f.get("path")),
    ),
    row(
        "lees|toon|open|geef|bekijk ?me|mij ?even ?de inhoud|tekst van ?het|mijn ?bestand <file>",
        |f| plan::read(f.get("file")),
    ),
    row("toon|open|bekijk|lees ?me|mij ?even ?het|mijn <file> ?voor", |f| {
        plan::read(f.get("file"))
    }),
    row("wat staat|zit er ?allemaal in ?het|mijn bestand <path>", |f| plan::read(f.get("path"))),
    row("wat staat|zit er ?allemaal in ?het|mijn <file>", |f| plan::read(f.get("file"))),
    row("wat is de inhoud van ?het ?bestand <file>", |f| plan::read(f.get("file"))),
    row("lees ?even <path> ?voor", |f| plan::read(f.get("path"))),
    // Searching.
    row(
        "zoek|vind|toon|geef ?me|mij ?even ?naar|op ?alle ?de|mijn <glob> ?bestanden|bestand in|onder|binnen ?de|het|mijn ?map|folder <path> ?op",
        |f| plan::search(f.get("glob"), f.get("path")),
    ),
    row(
        "zoek|vind|toon|geef ?me|mij ?even ?naar|op ?alle ?de|mijn <glob> ?bestanden|bestand ?op",
        |f| plan::search(f.get("glob"), "."),
    ),
    row("zoek in|onder ?de|het|mijn ?map|folder <path> naar ?alle ?de <glob> ?bestanden", |f| {
        plan::search(f.get("glob"), f.get("path"))
    }),
    row(
        "zoek|vind|toon|geef ?me|mij ?even ?naar|op ?alle ?de|mijn <kind> bestanden|documenten in|onder|binnen ?de|het|mijn ?map|folder <path> ?op",
        |f| plan::search(f.get("kind"), f.get("path")),
    ),
    row(
        "zoek|vind|toon|geef ?me|mij ?even ?naar|op ?alle ?de|mijn <kind> bestanden|documenten ?op",
        |f| plan::search(f.get("kind"), "."),
    ),
    row(
        "zoek|vind ?even ?naar ?alle bestanden|bestand met <name> in ?de|hun naam in|onder ?de|het|mijn ?map|folder <path>",
        |f| plan::search_part(f.get("name"), f.get("path")),
    ),
    row("zoek|vind ?even ?naar ?alle bestanden|bestand met <name> in ?de|hun naam", |f| {
        plan::search_part(f.get("name"), ".")
    }),
    row(
        "zoek|vind ?even ?naar ?alle|een|het|de|mijn bestand|bestanden ?genaamd|met_de_naam|die <name> ?heten in|onder|binnen ?de|het|mijn ?map|folder <path> ?op",
        |f| plan::search(f.get("name"), f.get("path")),
    ),
    row(
        "zoek|vind ?even ?naar ?alle|een|het|de|mijn bestand|bestanden ?genaamd|met_de_naam|die <name> ?op|heten",
        |f| plan::search(f.get("name"), "."),
    ),
    row(
        "zoek|vind ?even ?naar ?mijn|het <file> in|onder|binnen ?de|het|mijn ?map|folder <path> ?op",
        |f| plan::search(f.get("file"), f.get("path")),
    ),
    row("zoek|vind ?even ?naar ?mijn|het <file> ?op", |f| plan::search(f.get("file"), ".")),
    row("waar is|staat|vind_ik ?het|mijn ?bestand <file>", |f| plan::search(f.get("file"), ".")),
    row(
        "zoek|vind ?even ?naar ?een|de|mijn map|folder|directory ?genaamd|met_de_naam <name> in|onder|binnen ?de|het|mijn ?map|folder <path> ?op",
        |f| plan::search_folder(f.get("name"), f.get("path")),
    ),
    row(
        "zoek|vind ?even ?naar ?een|de|mijn map|folder|directory ?genaamd|met_de_naam <name> ?op",
        |f| plan::search_folder(f.get("name"), "."),
    ),
    row("waar is|staat|vind_ik ?de|mijn map|folder|directory ?genaamd <name>", |f| {
        plan::search_folder(f.get("name"), ".")
    }),
    row(
        "zoek|vind ?even ?naar ?de|het tekst|woord|woorden <name> ?op in|onder|binnen ?de|het|mijn ?bestand|bestanden|map|folder ?in|onder <path> ?op",
        |f| plan::search_text(f.get("name"), f.get("path")),
    ),
    row("zoek|vind ?even ?naar ?de|het tekst|woord|woorden <name> ?op", |f| {
        plan::search_text(f.get("name"), ".")
    }),
    row(
        "zoek|vind ?even ?naar <text> in|onder|binnen ?de|het|mijn ?bestand|bestanden|map|folder ?in|onder <path> ?op",
        |f| plan::search_text(f.get("text"), f.get("path")),
    ),
    row("zoek|vind ?even ?naar <text> ?op", |f| plan::search_text(f.get("text"), ".")),
    row(
        "zoek ?even ?naar <name> in|onder|binnen ?de|het|mijn ?bestand|bestanden|map|folder ?in|onder <path> ?op",
        |f| plan::search_text(f.get("name"), f.get("path")),
    ),
    row(
        "zoek ?even in|onder ?de|het|mijn ?map|folder|bestand <path> naar ?de|het ?tekst|woord <name>",
        |f| plan::search_text(f.get("name"), f.get("path")),
    ),
    row("in welke bestanden staat ?de|het ?tekst|woord <name>", |f| {
        plan::search_text(f.get("name"), ".")
    }),
    row("welke bestanden bevatten ?de|het ?tekst|woord <name>", |f| {
        plan::search_text(f.get("name"), ".")
    }),
    // Disk usage, before listings: both are lists.
    row(
        "wat neemt ?er ?de|het ?meeste|veel|zoveel|alle ruimte|plek|schijfruimte|plaats in in|onder|binnen ?de|het|mijn ?map|folder <path>",
        |f| plan::analyze(f.get("path")),
    ),
    row(
        "wat neemt ?er in|onder ?de|het|mijn ?map|folder <path> ?de|het ?meeste|veel|zoveel|alle ruimte|plek|schijfruimte|plaats in",
        |f| plan::analyze(f.get("path")),
    ),
    row(
        "wat neemt ?er ?de|het ?meeste|veel|zoveel|alle ruimte|plek|schijfruimte|plaats in",
        |_| plan::analyze("."),
    ),
    row(
        "welke bestanden|mappen|bestanden_en_mappen nemen ?de|het ?meeste|veel|zoveel ruimte|plek|schijfruimte in",
        |_| plan::analyze("."),
    ),
    row(
        "?toon|geef|zoek|wat_zijn|welke ?me|mij ?even ?zijn ?de grootste bestanden|mappen|bestanden_en_mappen ?zijn_er in|onder|binnen ?de|het|mijn ?map|folder <path> ?op",
        |f| plan::analyze(f.get("path")),
    ),
    row(
        "?toon|geef|zoek|wat_zijn|welke ?me|mij ?even ?zijn ?de grootste bestanden|mappen|bestanden_en_mappen ?zijn_er|op",
        |_| plan::analyze("."),
    ),
    // Processes, before listings: both are lists.
    row(
        "?welke|toon|geef ?me|mij ?de ?draaiende programma's|processen ?draaien|lopen|zijn_er ?er ?actief ?nu",
        |_| plan::info(&["processes"]),
    ),
    row("welke programma's|processen gebruiken ?het meeste|veel geheugen", |_| {
        plan::processes("memory")
    }),
    row(
        "welke programma's|processen gebruiken ?de|het meeste|veel cpu|processor|processortijd",
        |_| plan::processes("cpu"),
    ),
    row("?welke|toon|geef ?me|mij ?de apps|applicaties draaien|lopen ?er ?nu", |_| {
        plan::apps(true)
    }),
    row("?welke|toon|geef ?me|mij ?alle|de ?toegestane apps|applicaties ?zijn_er", |_| {
        plan::apps(false)
    }),
    row("controleer|toon ?de gezondheid", |_| plan::health()),
    row("controleer ?het|de netwerk|netwerkverbinding|internetverbinding", |_| plan::network()),
    row("?toon|geef ?me|mij ?de netwerkinfo|netwerkinformatie|netwerk|netwerkstatus", |_| {
        plan::info(&["network"])
    }),
    row("wat|toon ?is ?mijn|het|me ?mijn|het ip-adres|ip", |_| plan::info(&["network"])),
    // Listings.
    row(
        "toon|geef|bekijk|lijst ?me|mij ?even ?alle|de ?de ?bestanden|inhoud|mappen in|van|uit|onder ?de|het|mijn ?map|folder <path> recursief|en_daaronder|en_submappen|met_submappen",
        |f| plan::list_deep(f.get("path")),
    ),
    row(
        "toon|geef|bekijk|lijst ?me|mij ?even ?alle|de|een ?de ?lijst_met ?alle ?bestanden|inhoud|mappen|bestanden_en_mappen|alles in|van|uit ?de|het|mijn ?map|folder <path>",
        |f| plan::list(f.get("path")),
    ),
    row("inhoud van ?de|het|mijn ?map|folder <path>", |f| plan::list(f.get("path"))),
    row("toon|open|bekijk|geef ?me|mij ?even ?de|mijn map|mapje|folder|directory <path>", |f| {
        plan::list(f.get("path"))
    }),
    row(
        "toon|geef|bekijk|lijst ?me|mij ?even ?alle|de|mijn ?mijn bestanden|mappen|bestanden_en_mappen|alles|werkmap ?hier",
        |_| plan::list("."),
    ),
    row("wat staat|zit|is er ?allemaal in ?de|het|mijn ?map|folder <path>", |f| {
        plan::list(f.get("path"))
    }),
    row("wat zit|staat in ?de|het|mijn ?map|folder <path>", |f| plan::list(f.get("path"))),
    row(
        "welke bestanden|mappen|bestanden_en_mappen staan|zitten|zijn er ?allemaal in ?de|het|mijn ?map|folder <path>",
        |f| plan::list(f.get("path")),
    ),
    row("welke bestanden|mappen staan|zitten|zijn in ?de|het|mijn ?map|folder <path>", |f| {
        plan::list(f.get("path"))
    }),
    row("welke bestanden|mappen staan|zijn|heb ?er|hier|ik ?allemaal", |_| plan::list(".")),
    row("wat staat|zit|is er|hier ?allemaal", |_| plan::list(".")),
    // The device.
    row(
        "?toon|geef ?me|mij ?de systeeminfo|systeeminformatie|apparaatinfo|apparaatinformatie|systeemstatus|apparaatgegevens|systeemgegevens",
        |_| plan::info(ALL),
    ),
    row(
        "?toon|geef ?me|mij ?de info|informatie|gegevens over ?het|dit|mijn|de apparaat|systeem|computer",
        |_| plan::info(ALL),
    ),
    row("wat|welk voor ?een apparaat|computer|systeem is dit|het", |_| plan::info(&["system"])),
    row("welk|welke apparaat|computer|systeem is dit|het", |_| plan::info(&["system"])),
    row("hoe gaat het met ?het|dit|mijn|de apparaat|computer|systeem", |_| plan::info(ALL)),
    row(
        "hoeveel ?vrije schijfruimte|ruimte|opslag|opslagruimte|schijf is|heb|heeft ?er|ik|het ?nog ?over|vrij|beschikbaar",
        |_| plan::info(&["disk"]),
    ),
    row("hoe vol is|zijn|zit|zitten ?de|mijn schijf|schijven|harde_schijf", |_| {
        plan::info(&["disk"])
    }),
    row(
        "?toon|geef|wat_is|controleer ?me|mij ?de|mijn ?vrije schijfruimte|schijfgebruik|opslagruimte",
        |_| plan::info(&["disk"]),
    ),
    row(
        "hoeveel ?vrij|werk geheugen|werkgeheugen|ram is|heb|heeft ?er|ik|het ?nog ?over|vrij|beschikbaar|in_gebruik",
        |_| plan::info(&["memory"]),
    ),
    row(
        "?toon|geef|wat_is|controleer ?me|mij ?het|mijn geheugen|geheugengebruik|werkgeheugen",
        |_| plan::info(&["memory"]),
    ),
    row(
        "?toon|geef|wat_is ?me|mij ?het|de processorgebruik|cpu-gebruik|processorbelasting|cpu|processor",
        |_| plan::info(&["cpu"]),
    ),
    row("hoe druk is|heeft ?de|het processor|computer|apparaat|cpu ?het", |_| plan::info(&["cpu"])),
    row("waar|in_welke_mappen mag|kan|kun ?je|ik schrijven|werken|lezen", |_| {
        plan::info(&["workspace"])
    }),
    row("?toon ?me|mij ?de toegestane mappen|paden", |_| plan::info(&["workspace"])),
    // Applications, after files: the same verb opens both.
    row(
        "open|start ?even ?de|het ?app|programma|applicatie|browser <app> met|en_ga_naar|op ?de|het ?pagina|adres|site <url> ?op",
        |f| plan::open_at(f.get("app"), f.get("url")),
    ),
    row("open|toon|ga_naar <url> in|met ?de ?browser <app>", |f| {
        plan::open_at(f.get("app"), f.get("url"))
    }),
    row("open|start ?even ?de|het app|programma|applicatie|browser <app> ?op", |f| {
        plan::open(f.get("app"))
    }),
    row("start <app> ?op", |f| plan::open(f.get("app"))),
    row("sluit ?even ?de|het ?app|programma|applicatie|browser <app> ?af", |f| {
        plan::close(f.get("app"))
    }),
    row("hoe laat is het ?nu in <zone>", |f| plan::clock_in(f.get("zone"))),
    row("tijd in <zone>", |f| plan::clock_in(f.get("zone"))),
    row("hoe laat is het ?nu", |_| plan::clock()),
    row("welke dag|datum|tijd is het ?vandaag|nu", |_| plan::clock()),
    row("?wat_is|toon|geef ?me|mij ?de ?huidige datum|tijd ?vandaag|nu", |_| plan::clock()),
    row("?wat_is|toon|geef ?me|mij ?de datum_en_tijd|datum_van_vandaag", |_| plan::clock()),
    // The backend's own tools.
    row("wat_is|hoeveel_is|bereken|reken_uit <expression>", |f| {
        plan::calculate(f.get("expression"))
    }),
    row("welke|wat_voor apparaten heb|gebruik|zie ik|je", |_| plan::devices()),
    row("welke apparaten zijn er|verbonden|online", |_| plan::devices()),
    row("toon|geef ?me|mij ?al ?mijn|de|alle apparaten", |_| plan::devices()),
    // Help.
    row("hulp|help ?me|mij", |_| Plan::Help),
    row("wat kan|kun je ?allemaal ?doen|begrijpen", |_| Plan::Help),
    row("wie|wat ben je", |_| Plan::Help),
];
