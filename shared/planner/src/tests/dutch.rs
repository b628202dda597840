//! Dutch sentences, each with its call.

pub(super) const SAID: &[(&str, &str)] = &[
    ("wat is 12*7?", r#"{"tool":"calculate","expression":"12*7"}"#),
    ("bereken (3 + 4) : 2", r#"{"tool":"calculate","expression":"(3 + 4) / 2"}"#),
    ("welke apparaten heb ik?", r#"{"tool":"list_devices"}"#),
    ("onthoud dat de kluis in Gent is", r#"{"tool":"write_memory","text":"de kluis in Gent is"}"#),
    ("toon mijn apparaten", r#"{"tool":"list_devices"}"#),
    ("Maak een folder Test", r#"{"tool":"create_directory","path":"Test"}"#),
    (
        "maak map Test aan op laptop-123",
        r#"{"tool":"create_directory","device":"laptop-123","path":"Test"}"#,
    ),
    (
        "Maak op de kiosk een map Test aan.",
        r#"{"tool":"create_directory","device":"kiosk","path":"Test"}"#,
    ),
    (
        "Kun je een nieuwe map 'Zomer 2026' maken?",
        r#"{"tool":"create_directory","path":"Zomer 2026"}"#,
    ),
    (
        "Wil je op kiosk een map Test aanmaken alsjeblieft",
        r#"{"tool":"create_directory","device":"kiosk","path":"Test"}"#,
    ),
    (
        "maak een map Foto's in Documenten",
        r#"{"tool":"create_directory","path":"Documenten/Foto's"}"#,
    ),
    (
        "maak in Documenten een map Test aan",
        r#"{"tool":"create_directory","path":"Documenten/Test"}"#,
    ),
    ("maak map foto's/2026", r#"{"tool":"create_directory","path":"foto's/2026","parents":true}"#),
    ("maak een geneste map Test", r#"{"tool":"create_directory","path":"Test","parents":true}"#),
    (
        "proefdraaien: maak een map Test",
        r#"{"tool":"create_directory","path":"Test","dry_run":true}"#,
    ),
    (
        "maak een map Test op kiosk als proef",
        r#"{"tool":"create_directory","device":"kiosk","path":"Test","dry_run":true}"#,
    ),
    ("verwijder de map Proef", r#"{"tool":"delete_directory","path":"Proef","confirm":true}"#),
    (
        "verwijder de map Proef, proefdraaien",
        r#"{"tool":"delete_directory","path":"Proef","confirm":true,"dry_run":true}"#,
    ),
    ("wat staat er in Preview", r#"{"tool":"list_directory","path":"Preview"}"#),
    ("maak een map Sub in Preview", r#"{"tool":"create_directory","path":"Preview/Sub"}"#),
    ("maak een map Sub, proef", r#"{"tool":"create_directory","path":"Sub","dry_run":true}"#),
    ("maak een map proefdraaien", r#"{"tool":"create_directory","path":"proefdraaien"}"#),
    ("toon de bestanden", r#"{"tool":"list_directory","path":"."}"#),
    ("Wat staat er in Documenten?", r#"{"tool":"list_directory","path":"Documenten"}"#),
    (
        "wat zit er in de map Test op kiosk",
        r#"{"tool":"list_directory","device":"kiosk","path":"Test"}"#,
    ),
    ("wat staat er op kiosk", r#"{"tool":"list_directory","device":"kiosk","path":"."}"#),
    ("Laat me de bestanden in Downloads zien", r#"{"tool":"list_directory","path":"Downloads"}"#),
    ("welke bestanden staan er in Downloads?", r#"{"tool":"list_directory","path":"Downloads"}"#),
    ("open de map Documenten", r#"{"tool":"list_directory","path":"Documenten"}"#),
    (
        "zoek *.zip bestanden in Downloads",
        r#"{"tool":"search_files","query":"*.zip","path":"Downloads"}"#,
    ),
    (
        "zoek alle pdf-bestanden in Documenten",
        r#"{"tool":"search_files","query":"*.pdf","path":"Documenten"}"#,
    ),
    (
        "zoek naar bestanden met de naam rapport.pdf",
        r#"{"tool":"search_files","query":"rapport.pdf","path":"."}"#,
    ),
    (
        "zoek bestanden met factuur in de naam",
        r#"{"tool":"search_files","query":"*factuur*","path":"."}"#,
    ),
    ("waar staat rapport.pdf?", r#"{"tool":"search_files","query":"rapport.pdf","path":"."}"#),
    ("lees notities.txt", r#"{"tool":"read_file","path":"notities.txt"}"#),
    ("lees het bestand notities.txt voor", r#"{"tool":"read_file","path":"notities.txt"}"#),
    ("kun je notities.txt lezen", r#"{"tool":"read_file","path":"notities.txt"}"#),
    ("wat staat er in notities.txt?", r#"{"tool":"read_file","path":"notities.txt"}"#),
    (
        "lees de eerste 5 regels van server.log",
        r#"{"tool":"read_file","path":"server.log","limit":5}"#,
    ),
    (
        "schrijf \"Melk\" naar boodschappen.txt",
        r#"{"tool":"write_file","path":"boodschappen.txt","content":"Melk"}"#,
    ),
    (
        "zet 'Melk en brood' in het bestand boodschappen.txt op kiosk",
        r#"{"tool":"write_file","device":"kiosk","path":"boodschappen.txt","content":"Melk en brood\n","append":true,"own_line":true}"#,
    ),
    (
        "maak een bestand hallo.txt met de tekst \"hoi\"",
        r#"{"tool":"write_file","path":"hallo.txt","content":"hoi"}"#,
    ),
    (
        "maak een leeg bestand hallo.txt aan",
        r#"{"tool":"write_file","path":"hallo.txt","content":"","append":true}"#,
    ),
    (
        "voeg \"Brood\" toe aan boodschappen.txt",
        r#"{"tool":"write_file","path":"boodschappen.txt","content":"Brood\n","append":true,"own_line":true}"#,
    ),
    (
        "voeg de regel \"Brood\" toe aan boodschappen.txt",
        r#"{"tool":"write_file","path":"boodschappen.txt","content":"Brood\n","append":true,"own_line":true}"#,
    ),
    ("verwijder de map Test", r#"{"tool":"delete_directory","path":"Test","confirm":true}"#),
    (
        "verwijder map Test met alles erin",
        r#"{"tool":"delete_directory","path":"Test","recursive":true,"confirm":true}"#,
    ),
    (
        "gooi de map Test weg op kiosk",
        r#"{"tool":"delete_directory","device":"kiosk","path":"Test","confirm":true}"#,
    ),
    (
        "Zou je de map Test willen verwijderen?",
        r#"{"tool":"delete_directory","path":"Test","confirm":true}"#,
    ),
    (
        "Kun je de map Test met inhoud verwijderen?",
        r#"{"tool":"delete_directory","path":"Test","recursive":true,"confirm":true}"#,
    ),
    ("start firefox op", r#"{"tool":"open_app","app":"firefox"}"#),
    (
        "open firefox met https://example.com",
        r#"{"tool":"open_app","app":"firefox","args":["https://example.com"]}"#,
    ),
    (
        "hoeveel schijfruimte is er nog vrij op kiosk?",
        r#"{"tool":"get_device_info","device":"kiosk","include":["disk"]}"#,
    ),
    ("hoe vol is de schijf", r#"{"tool":"get_device_info","include":["disk"]}"#),
    ("hoeveel geheugen is er vrij", r#"{"tool":"get_device_info","include":["memory"]}"#),
    (
        "toon systeeminfo",
        r#"{"tool":"get_device_info","include":["system","cpu","memory","disk"]}"#,
    ),
    ("welke programma's draaien er nu?", r#"{"tool":"get_device_info","include":["processes"]}"#),
    (
        "welke processen gebruiken het meeste geheugen op kiosk",
        r#"{"tool":"list_processes","device":"kiosk","sort_by":"memory"}"#,
    ),
    ("welke programma's gebruiken veel cpu?", r#"{"tool":"list_processes","sort_by":"cpu"}"#),
    ("welke apps draaien er nu?", r#"{"tool":"list_apps","running_only":true}"#),
    ("controleer de gezondheid op kiosk", r#"{"tool":"health_check","device":"kiosk"}"#),
    ("controleer het netwerk", r#"{"tool":"check_network"}"#),
    ("sluit firefox af", r#"{"tool":"close_app","app":"firefox","confirm":true}"#),
    ("Hoe laat is het?", r#"{"tool":"get_datetime"}"#),
    ("welke dag is het vandaag", r#"{"tool":"get_datetime"}"#),
    ("hoe laat is het in Tokio", r#"{"tool":"get_datetime","timezone":"Asia/Tokyo"}"#),
    ("zoek MILK in Projecten", r#"{"tool":"search_text","pattern":"MILK","path":"Projecten"}"#),
    (
        "zoek naar \"a+b\" in de map Projecten",
        r#"{"tool":"search_text","pattern":"a\\+b","path":"Projecten"}"#,
    ),
    ("Kun je naar het woord melk zoeken?", r#"{"tool":"search_text","pattern":"melk","path":"."}"#),
    ("welke bestanden bevatten \"melk\"", r#"{"tool":"search_text","pattern":"melk","path":"."}"#),
    ("zoek de map facturen", r#"{"tool":"search_directory","name":"facturen","base":"."}"#),
    (
        "waar staat de map facturen op kiosk?",
        r#"{"tool":"search_directory","device":"kiosk","name":"facturen","base":"."}"#,
    ),
    ("wat neemt ruimte in", r#"{"tool":"analyze_disk","path":".","threshold_mb":0}"#),
    (
        "Wat neemt de meeste ruimte in in Documenten?",
        r#"{"tool":"analyze_disk","path":"Documenten","threshold_mb":0}"#,
    ),
    (
        "toon de grootste bestanden in Downloads",
        r#"{"tool":"analyze_disk","path":"Downloads","threshold_mb":0}"#,
    ),
    (
        "verwijder het bestand notities.txt",
        r#"{"tool":"delete_file","path":"notities.txt","confirm":true}"#,
    ),
    (
        "gooi notities.txt weg op kiosk",
        r#"{"tool":"delete_file","device":"kiosk","path":"notities.txt","confirm":true}"#,
    ),
    (
        "zet notities.txt in de prullenbak",
        r#"{"tool":"delete_file","path":"notities.txt","confirm":true}"#,
    ),
    (
        "kopieer notities.txt naar Archief",
        r#"{"tool":"copy_path","source":"notities.txt","destination":"Archief/notities.txt"}"#,
    ),
    (
        "Kun je de map Foto's naar de map Archief kopiëren?",
        r#"{"tool":"copy_path","source":"Foto's","destination":"Archief/Foto's"}"#,
    ),
    (
        "verplaats concept.md naar Klaar/brief.md",
        r#"{"tool":"move_path","source":"concept.md","destination":"Klaar/brief.md"}"#,
    ),
    (
        "hernoem het bestand Klaar/a.txt naar b.txt",
        r#"{"tool":"move_path","source":"Klaar/a.txt","destination":"Klaar/b.txt"}"#,
    ),
    (
        "vervang \"Melk\" door \"Havermelk\" in boodschappen.txt",
        r#"{"tool":"edit_file","path":"boodschappen.txt","old_text":"Melk","new_text":"Havermelk"}"#,
    ),
    (
        "lees het configuratiebestand instellingen.toml",
        r#"{"tool":"read_config","path":"instellingen.toml"}"#,
    ),
    ("hoe groot is rapport.pdf?", r#"{"tool":"get_file_info","path":"rapport.pdf"}"#),
    (
        "wanneer is rapport.pdf voor het laatst gewijzigd",
        r#"{"tool":"get_file_info","path":"rapport.pdf"}"#,
    ),
    ("informatie over het bestand rapport.pdf", r#"{"tool":"get_file_info","path":"rapport.pdf"}"#),
    (
        "wat is de controlesom van rapport.pdf",
        r#"{"tool":"get_file_info","path":"rapport.pdf","sha256":true}"#,
    ),
];
