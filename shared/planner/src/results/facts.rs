//! Describes the success of each tool.

use serde_json::Value;

use super::envelope::ResultFacts;
use super::{devices, files, programs, services};
use crate::language::Language;

/// How many entries of a list are shown.
pub(super) const SHOWN: usize = 20;
/// How much of a file is shown, in characters.
const SHOWN_TEXT: usize = 3000;

/// Returns the sentence or the short list. `None` where the tool's own message is best.
pub(super) fn sentence(result: &ResultFacts, language: Language) -> Option<String> {
    let english = language == Language::English;
    let by = |english_text: String, dutch: String| Some(if english { english_text } else { dutch });
    let device = result.text("/meta/device");
    let on = match (device, english) {
        ("", _) => String::new(),
        (device, true) => format!(" on {device}"),
        (device, false) => format!(" op {device}"),
    };
    let path = result.text("/data/path");
    match result.text("/meta/tool") {
        "create_directory" => {
            let path = result.text("/data/created_path");
            match (result.is("/data/created"), result.dry_run()) {
                (true, false) => by(
                    format!("Created the folder {path}{on}."),
                    format!("De map {path} is gemaakt{on}."),
                ),
                (true, true) => by(
                    format!("This would create the folder {path}{on}."),
                    format!("Dit zou de map {path} maken{on}."),
                ),
                (false, _) => by(
                    format!("The folder {path} is there already{on}."),
                    format!("De map {path} bestaat al{on}."),
                ),
            }
        }
        "delete_directory" => {
            let entries = entries(result.count("/data/entries")?, english);
            let bytes = size(result.at("/data/bytes")?);
            if result.dry_run() {
                return by(
                    format!("This would delete {path}{on}: {entries}, {bytes}."),
                    format!("Dit zou {path} verwijderen{on}: {entries}, {bytes}."),
                );
            }
            by(
                format!("Moved {path} to the trash{on}: {entries}, {bytes}."),
                format!("{path} staat in de prullenbak{on}: {entries}, {bytes}."),
            )
        }
        "write_file" => {
            let bytes = size(result.at("/data/size_bytes")?);
            if result.dry_run() {
                let diff = indented(result.text("/data/diff"));
                return by(
                    format!("This would change {path}{on}:\n{diff}"),
                    format!("Dit zou {path} veranderen{on}:\n{diff}"),
                );
            }
            let created = result.at("/data/created").and_then(Value::as_bool);
            let is_over = result.text("/data/mode") == "write" && created == Some(false);
            let (over, erover) = match is_over {
                true => (" What it held before was replaced.", " Wat erin stond is vervangen."),
                false => ("", ""),
            };
            by(
                format!("Wrote {path}{on}; it holds {bytes}.{over}"),
                format!("{path} is geschreven{on}; het bestand bevat {bytes}.{erover}"),
            )
        }
        "open_app" => {
            let app = result.text("/data/app");
            if result.dry_run() {
                return by(
                    format!("This would open {app}{on}."),
                    format!("Dit zou {app} openen{on}."),
                );
            }
            by(format!("Opened {app}{on}."), format!("{app} is geopend{on}."))
        }
        "read_file" => {
            if result.text("/data/encoding") == "base64" {
                return None;
            }
            let content = result.text("/data/content");
            if content.is_empty() {
                return by(format!("{path}{on} is empty."), format!("{path}{on} is leeg."));
            }
            let more = if result.is_partial() { "\n  …" } else { "" };
            Some(format!("{path}{on}:\n{}{more}", indented(content)))
        }
        "list_directory" => {
            let listed_entries = result.list("/data/entries");
            let pattern = result.text("/data/pattern");
            let at_least = at_least(result, english);
            let head = match (result.count("/data/count"), english) {
                (Some(0), true) if !matches!(pattern, "" | "*") => {
                    return Some(format!("Nothing in {path}{on} matches {pattern}."));
                }
                (Some(0), false) if !matches!(pattern, "" | "*") => {
                    return Some(format!("In {path}{on} past niets op {pattern}."));
                }
                (Some(0), true) => return Some(format!("{path}{on} is empty.")),
                (Some(0), false) => return Some(format!("{path}{on} is leeg.")),
                (Some(count), true) => {
                    format!("{path}{on} holds {at_least}{}:", entries(count, english))
                }
                (Some(1), false) => format!("In {path}{on} staat 1 item:"),
                (Some(count), false) => format!("In {path}{on} staan {at_least}{count} items:"),
                (None, true) => format!("The first entries of {path}{on}:"),
                (None, false) => format!("De eerste items van {path}{on}:"),
            };
            Some(listed(result, head, listed_entries, path, english))
        }
        "search_files" => {
            let (results, pattern) = (result.list("/data/results"), result.text("/data/pattern"));
            let at_least = at_least(result, english);
            let head = match (result.count("/data/count"), english) {
                (Some(0), true) => {
                    return Some(format!("No file in {path}{on} matches {pattern}."));
                }
                (Some(0), false) => {
                    return Some(format!("Geen bestand in {path}{on} past bij {pattern}."));
                }
                (Some(count), true) => {
                    format!("Found {at_least}{count} for {pattern} in {path}{on}:")
                }
                (Some(count), false) => {
                    format!("{at_least}{count} gevonden voor {pattern} in {path}{on}:")
                }
                (None, true) => format!("Found for {pattern}{on}:"),
                (None, false) => format!("Gevonden voor {pattern}{on}:"),
            };
            Some(listed(result, head, results, path, english))
        }
        "get_device_info" => Some(device_facts(result, english)).filter(|text| !text.is_empty()),
        "list_devices" => Some(devices(result, english)),
        "get_datetime" => {
            let (date, time) = (result.text("/data/date"), result.text("/data/time"));
            let zone = result.text("/data/timezone");
            by(
                format!("It is {time} on {date} ({zone}){on}."),
                format!("Het is {time} op {date} ({zone}){on}."),
            )
        }
        _ => devices::sentence(result, english, &on)
            .or_else(|| files::sentence(result, english, &on))
            .or_else(|| services::sentence(result, english, &on))
            .or_else(|| programs::sentence(result, english, &on)),
    }
}

/// Returns the devices, one line each.
fn devices(result: &ResultFacts, english: bool) -> String {
    let found = result.list("/data/devices");
    if found.is_empty() {
        let none = if english { "There is no device." } else { "Er is geen apparaat." };
        return none.to_owned();
    }
    let head = if english { "Your devices:" } else { "Uw apparaten:" };
    let mut lines = vec![head.to_owned()];
    for device in found.iter().take(SHOWN) {
        let text = |name: &str| device.get(name).and_then(Value::as_str).unwrap_or("?");
        let online = device.get("online").and_then(Value::as_bool).unwrap_or_default();
        let state = match (online, english) {
            (true, true) => "connected",
            (true, false) => "verbonden",
            (false, true) => "not connected",
            (false, false) => "niet verbonden",
        };
        lines.push(format!("  {} ({}, {state})", text("name"), text("os")));
    }
    lines.extend(more(result, found.len(), english));
    lines.join("\n")
}

/// Returns a count with its noun in the singular or the plural.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Returns a count of files and folders.
pub(super) fn entries(count: u64, english: bool) -> String {
    if english { counted(count, "entry", "entries") } else { counted(count, "item", "items") }
}

pub(super) fn listed(
    result: &ResultFacts,
    head: String,
    entries: &[Value],
    base: &str,
    english: bool,
) -> String {
    let mut lines = vec![head];
    for entry in entries.iter().take(SHOWN) {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let name = files::below(text("path"), base);
        if entry.get("is_dir") == Some(&Value::Bool(true)) {
            lines.push(format!("  {name}/"));
        } else {
            let bytes = entry.get("size_bytes").map(size).unwrap_or_default();
            lines.push(format!("  {name}  {bytes}"));
        }
    }
    lines.extend(more(result, entries.len(), english));
    lines.join("\n")
}

/// Returns the line below a list of which not all is shown: how many entries more there are, where that is known.
pub(super) fn more(result: &ResultFacts, listed: usize, english: bool) -> Option<String> {
    let all = result.count("/data/count").and_then(|count| usize::try_from(count).ok());
    let is_least = result.is_truncated() || (result.cut && all.is_none());
    match (all.unwrap_or(listed).saturating_sub(listed.min(SHOWN)), is_least) {
        (0, false) if !result.cut => None,
        (0, _) => Some("  …".to_owned()),
        (hidden, false) if english => Some(format!("  … and {hidden} more")),
        (hidden, true) if english => Some(format!("  … and at least {hidden} more")),
        (hidden, false) => Some(format!("  … en nog {hidden}")),
        (hidden, true) => Some(format!("  … en minstens nog {hidden}")),
    }
}

/// Returns the words before a count of which the device did not count all.
pub(super) fn at_least(result: &ResultFacts, english: bool) -> &'static str {
    match (result.is_truncated(), english) {
        (false, _) => "",
        (true, true) => "at least ",
        (true, false) => "minstens ",
    }
}

/// Returns how long a device has been on.
fn on_for(seconds: u64, english: bool) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, english) {
        (0, true) => format!(", on for {hours} h {minutes} min"),
        (0, false) => format!(", {hours} uur en {minutes} min aan"),
        (1, true) => format!(", on for 1 day and {hours} h"),
        (1, false) => format!(", 1 dag en {hours} uur aan"),
        (days, true) => format!(", on for {days} days and {hours} h"),
        (days, false) => format!(", {days} dagen en {hours} uur aan"),
    }
}

fn device_facts(result: &ResultFacts, english: bool) -> String {
    let word = |english_word: &'static str, dutch: &'static str| {
        if english { english_word } else { dutch }
    };
    let number = |pointer: &str| result.at(pointer).map(ToString::to_string).unwrap_or_default();
    let bytes = |pointer: &str| result.at(pointer).map(size).unwrap_or_default();
    let mut lines = Vec::new();
    if result.at("/data/system").is_some() {
        lines.push(format!(
            "{}: {}, {}, {} GiB {}{}",
            result.text("/data/system/hostname"),
            result.text("/data/system/os"),
            result.text("/data/system/cpu"),
            number("/data/system/ram_gb"),
            word("memory", "geheugen"),
            result
                .at("/data/system/uptime_seconds")
                .and_then(Value::as_u64)
                .map(|seconds| on_for(seconds, english))
                .unwrap_or_default(),
        ));
    }
    if result.at("/data/cpu").is_some() {
        lines.push(format!(
            "{}: {}, {}%",
            word("Processor", "Processor"),
            result.text("/data/cpu/name"),
            number("/data/cpu/used_percent")
        ));
    }
    if result.at("/data/memory").is_some() {
        let (free, all) =
            (bytes("/data/memory/available_bytes"), bytes("/data/memory/total_bytes"));
        lines.push(if english {
            format!("Memory: {free} of {all} available")
        } else {
            format!("Geheugen: {free} van {all} beschikbaar")
        });
    }
    for drive in result.list("/data/disk/drives").iter().take(SHOWN) {
        let value = |name: &str| drive.get(name).map(ToString::to_string).unwrap_or_default();
        let mount = drive.get("mount").and_then(Value::as_str).unwrap_or_default();
        let (free, all, percent) = (value("free_gb"), value("total_gb"), value("percentage_free"));
        lines.push(if english {
            format!("Disk {mount}: {free} of {all} GiB free ({percent}%)")
        } else {
            format!("Schijf {mount}: {free} van {all} GiB vrij ({percent}%)")
        });
    }
    for interface in result.list("/data/network").iter().take(SHOWN) {
        let addresses = interface.get("addresses").and_then(Value::as_array);
        let addresses: Vec<&str> =
            addresses.into_iter().flatten().filter_map(Value::as_str).collect();
        let name = interface.get("name").and_then(Value::as_str).unwrap_or_default();
        lines.push(format!("{} {name}: {}", word("Network", "Netwerk"), addresses.join(", ")));
    }
    for process in result.list("/data/processes").iter().take(SHOWN) {
        let name = process.get("name").and_then(Value::as_str).unwrap_or_default();
        let pid = process.get("pid").map(ToString::to_string).unwrap_or_default();
        let memory = process.get("memory_bytes").map(size).unwrap_or_default();
        lines.push(format!("  {name} ({pid})  {memory}"));
    }
    let paths = result.texts("/data/workspace/paths");
    if !paths.is_empty() {
        let writable = match (result.is("/data/workspace/writable"), english) {
            (true, _) => "",
            (false, true) => " (read only)",
            (false, false) => " (alleen lezen)",
        };
        let lead = word("Allowed folders", "Toegestane mappen");
        lines.push(format!("{lead}: {}{writable}", paths.join(", ")));
    }
    lines.join("\n")
}

pub(super) fn indented(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_TEXT).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// Formats a number of bytes for people.
pub(super) fn size(bytes: &Value) -> String {
    let Some(mut amount) = bytes.as_f64() else { return String::new() };
    if amount < 1024.0 {
        return if amount == 1.0 { "1 byte".to_owned() } else { format!("{amount} bytes") };
    }
    let mut unit = "KiB";
    for larger in ["MiB", "GiB", "TiB"] {
        amount /= 1024.0;
        if amount < 1024.0 {
            break;
        }
        unit = larger;
    }
    format!("{amount:.1} {unit}")
}
