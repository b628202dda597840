//! Describes the success of the tools that search, change, move and restore files.

use serde_json::Value;

use super::envelope::ResultFacts;
use super::facts::{SHOWN, at_least, counted, entries, indented, listed, more, size};

/// Returns the sentence or the short list. `None` where the tool's own message is best.
pub(super) fn sentence(result: &ResultFacts, english: bool, on: &str) -> Option<String> {
    let by = |english_text: String, dutch: String| Some(if english { english_text } else { dutch });
    let path = result.text("/data/path");
    match result.text("/meta/tool") {
        "search_directory" => Some(folders(result, english, on)),
        "search_text" => Some(lines(result, english, on)),
        "analyze_disk" => Some(large(result, english, on)),
        "get_file_info" => info(result, english, on),
        "edit_file" | "modify_config" => {
            let diff = indented(result.text("/data/diff"));
            if result.dry_run() {
                return by(
                    format!("This would change {path}{on}:\n{diff}"),
                    format!("Dit zou {path} veranderen{on}:\n{diff}"),
                );
            }
            by(format!("Changed {path}{on}:\n{diff}"), format!("{path} is veranderd{on}:\n{diff}"))
        }
        tool @ ("copy_path" | "move_path") => transfer(result, english, on, tool == "copy_path"),
        "delete_file" => {
            let bytes = size(result.at("/data/bytes")?);
            if result.dry_run() {
                return by(
                    format!("This would delete {path}{on}: {bytes}."),
                    format!("Dit zou {path} verwijderen{on}: {bytes}."),
                );
            }
            by(
                format!("Moved {path} to the trash{on}: {bytes}."),
                format!("{path} staat in de prullenbak{on}: {bytes}."),
            )
        }
        "read_config" => {
            let content = indented(result.text("/data/content"));
            let format = result.text("/data/format");
            let problem = match result.text("/data/problem") {
                "" => String::new(),
                problem => format!("\n{problem}"),
            };
            let more = if result.cut { "\n  …" } else { "" };
            Some(format!("{path}{on} ({format}):\n{content}{more}{problem}"))
        }
        "undo_call" => Some(undone(result, english, on)),
        _ => None,
    }
}

/// Returns what is left of a path beneath a folder, or the path. A name on a Unix device may begin with a backslash.
pub(super) fn below<'a>(path: &'a str, base: &str) -> &'a str {
    let separators: &[char] = if base.starts_with('/') { &['/'] } else { &['/', '\\'] };
    let rest = path.strip_prefix(base).map(|rest| rest.strip_prefix(separators).unwrap_or(rest));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(path)
}

fn folders(result: &ResultFacts, english: bool, on: &str) -> String {
    let (query, base) = (result.text("/data/query"), result.text("/data/base"));
    let matches = result.texts("/data/matches");
    let more = if result.is_partial() { "\n  …" } else { "" };
    match (matches.len(), english) {
        (0, true) => format!("No folder near {base}{on} is called {query}."),
        (0, false) => format!("Bij {base}{on} is geen map die {query} heet."),
        (_, true) => {
            format!("Folders called {query}{on}:\n  {}{more}", matches.join("\n  "))
        }
        (_, false) => {
            format!("Mappen die {query} heten{on}:\n  {}{more}", matches.join("\n  "))
        }
    }
}

fn lines(result: &ResultFacts, english: bool, on: &str) -> String {
    let (matches, path) = (result.list("/data/matches"), result.text("/data/path"));
    let pattern = result.text("/data/pattern");
    let at_least = at_least(result, english);
    let head = match (result.count("/data/count"), english) {
        (Some(0), true) => return format!("No line in {path}{on} matches {pattern}."),
        (Some(0), false) => return format!("Geen regel in {path}{on} past bij {pattern}."),
        (Some(count), true) => {
            format!("{at_least}{} in {path}{on}:", counted(count, "line matches", "lines match"))
        }
        (Some(count), false) => {
            format!(
                "{at_least}{} bij {pattern} in {path}{on}:",
                counted(count, "regel past", "regels passen")
            )
        }
        (None, true) => format!("Lines in {path}{on} that match:"),
        (None, false) => format!("Regels in {path}{on} die passen:"),
    };
    let line = |found: &Value| {
        let text = |name: &str| found.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = found.get("line").map(ToString::to_string).unwrap_or_default();
        format!("\n  {}:{number}: {}", below(text("path"), path), text("text").trim())
    };
    let shown = matches.iter().take(SHOWN).map(line);
    let more = more(result, matches.len(), english).map(|line| format!("\n{line}"));
    format!("{head}{}", shown.chain(more).collect::<String>())
}

fn large(result: &ResultFacts, english: bool, on: &str) -> String {
    let path = result.text("/data/path");
    let mut text = match (result.at("/data/total_bytes").map(size), result.count("/data/entries")) {
        (Some(total), Some(count)) if english => {
            format!("{path}{on} holds {total} in {}.", entries(count, english))
        }
        (Some(total), Some(count)) => {
            format!("{path}{on} bevat {total} in {}.", entries(count, english))
        }
        _ => format!("{path}{on}:"),
    };
    let parts = [
        ("/data/directories", if english { "Largest folders:" } else { "Grootste mappen:" }),
        ("/data/files", if english { "Largest files:" } else { "Grootste bestanden:" }),
    ];
    for (pointer, head) in parts {
        let found = result.list(pointer);
        if !found.is_empty() {
            text.push('\n');
            text.push_str(&listed(result, head.to_owned(), found, path, english));
        }
    }
    text
}

fn info(result: &ResultFacts, english: bool, on: &str) -> Option<String> {
    let path = result.text("/data/path");
    let kind = match (result.text("/data/kind"), english) {
        ("file", true) => "a file",
        ("file", false) => "een bestand",
        ("directory", true) => "a folder",
        ("directory", false) => "een map",
        ("link", true) => "a link",
        ("link", false) => "een link",
        (_, true) => "neither a file nor a folder",
        (_, false) => "geen bestand en geen map",
    };
    let mut facts = vec![kind.to_owned()];
    if result.text("/data/kind") == "file" {
        facts.push(size(result.at("/data/size_bytes")?));
    }
    let named = [
        ("/data/modified", "changed at", "gewijzigd op"),
        ("/data/mode", "mode", "rechten"),
        ("/data/owner", "owner", "eigenaar"),
        ("/data/sha256", "SHA-256", "SHA-256"),
    ];
    for (pointer, english_word, dutch) in named {
        let value = result.text(pointer);
        if !value.is_empty() {
            facts.push(format!("{} {value}", if english { english_word } else { dutch }));
        }
    }
    Some(format!("{path}{on} is {}.", facts.join(", ")))
}

fn transfer(result: &ResultFacts, english: bool, on: &str, is_copy: bool) -> Option<String> {
    let (source, destination) = (result.text("/data/source"), result.text("/data/destination"));
    let bytes = size(result.at("/data/bytes")?);
    let amount = format!("{}, {bytes}", entries(result.count("/data/entries")?, english));
    let verb = match (result.dry_run(), is_copy, english) {
        (false, true, true) => "Copied",
        (false, false, true) => "Moved",
        (true, true, true) => "This would copy",
        (true, false, true) => "This would move",
        (false, true, false) => "gekopieerd",
        (false, false, false) => "verplaatst",
        (true, true, false) => "kopiëren",
        (true, false, false) => "verplaatsen",
    };
    let replaced = match (result.is("/data/replaced"), result.dry_run(), english) {
        (false, _, _) => "",
        (true, false, true) => " What was there is in the trash.",
        (true, true, true) => " What is there would go to the trash.",
        (true, false, false) => " Wat daar stond, staat in de prullenbak.",
        (true, true, false) => " Wat daar staat, zou naar de prullenbak gaan.",
    };
    Some(match (english, result.dry_run()) {
        (true, _) => format!("{verb} {source} to {destination}{on}: {amount}.{replaced}"),
        (false, false) => {
            format!("{source} is {verb} naar {destination}{on}: {amount}.{replaced}")
        }
        (false, true) => {
            format!("Dit zou {source} {verb} naar {destination}{on}: {amount}.{replaced}")
        }
    })
}

fn undone(result: &ResultFacts, english: bool, on: &str) -> String {
    let tool = result.text("/data/tool");
    let mut text = match (result.dry_run(), english) {
        (false, true) => format!("Took {tool} back{on}."),
        (true, true) => format!("This would take {tool} back{on}."),
        (false, false) => format!("{tool} is teruggedraaid{on}."),
        (true, false) => format!("Dit zou {tool} terugdraaien{on}."),
    };
    for undone in result.list("/data/paths") {
        let value = |name: &str| undone.get(name).and_then(Value::as_str).unwrap_or_default();
        let became = match (value("outcome"), result.dry_run(), english) {
            ("restored", false, true) => "is as it was",
            ("restored", true, true) => "would be as it was",
            ("restored", false, false) => "is zoals het was",
            ("restored", true, false) => "zou zijn zoals het was",
            ("removed", false, true) => "went to the trash",
            ("removed", true, true) => "would go to the trash",
            ("removed", false, false) => "staat in de prullenbak",
            ("removed", true, false) => "zou naar de prullenbak gaan",
            (other, _, _) => other,
        };
        text.push_str(&format!("\n  {} {became}", value("path")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::below;

    #[test]
    fn a_name_keeps_the_backslash_that_it_begins_with() {
        for (path, base, name) in [
            ("/srv/a/\\*b", "/srv/a", "\\*b"),
            ("/srv/a/*b", "/srv/a", "*b"),
            ("/srv", "/", "srv"),
            ("C:\\a\\b", "C:\\a", "b"),
            ("C:/a/b", "C:/a", "b"),
            ("/srv/a", "/srv/a", "/srv/a"),
        ] {
            assert_eq!(below(path, base), name);
        }
    }
}
