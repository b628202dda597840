//! The sentences that are understood in Dutch. The order matters: what says more stands first.

use super::grammar::{Filled, Row};
use super::plan::{self, Plan};

const fn row(pattern: &'static str, plan: fn(&Filled) -> Plan) -> Row {
    Row { pattern, plan }
}

const ALL: &[&str] = &["system", "cpu", "memory", "disk"];

/// The sentences.
pub(super) const ROWS: &[Row] = &[
    // Folders.
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
    // Files.
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
    // What is running, before looking around: both are lists.
    row(
        "?welke|toon|geef ?me|mij ?de ?draaiende programma's|processen ?draaien|lopen|zijn_er ?er ?actief ?nu",
        |_| plan::info(&["processes"]),
    ),
    row("welke programma's|processen gebruiken ?het meeste|veel geheugen", |_| {
        plan::info(&["processes"])
    }),
    row("?toon|geef ?me|mij ?de netwerkinfo|netwerkinformatie|netwerk|netwerkstatus", |_| {
        plan::info(&["network"])
    }),
    row("wat|toon ?is ?mijn|het|me ?mijn|het ip-adres|ip", |_| plan::info(&["network"])),
    // Looking around.
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
    // Applications. After files, as one opens both.
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
    // The clock.
    row("hoe laat is het ?nu in <zone>", |f| plan::clock_in(f.get("zone"))),
    row("tijd in <zone>", |f| plan::clock_in(f.get("zone"))),
    row("hoe laat is het ?nu", |_| plan::clock()),
    row("welke dag|datum|tijd is het ?vandaag|nu", |_| plan::clock()),
    row(
        "?wat_is|toon|geef ?me|mij ?de ?huidige datum|tijd|datum_en_tijd ?vandaag|nu|van_vandaag",
        |_| plan::clock(),
    ),
    // Help.
    row("hulp|help ?me|mij", |_| Plan::Help),
    row("wat kan|kun je ?allemaal ?doen|begrijpen", |_| Plan::Help),
    row("wie|wat ben je", |_| Plan::Help),
];
