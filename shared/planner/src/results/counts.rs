//! Describes results by a number or a comparison, where that is what was asked.

use super::envelope::ResultFacts;
use super::facts::{counted, size};
use crate::language::Language;

/// Returns how many files and folders a listing has.
pub(super) fn of_listing(result: &ResultFacts, language: Language) -> Option<String> {
    let entries = result.list("/data/entries");
    let folders = entries.iter().filter(|it| it.get("is_dir").is_some_and(|is| is == true)).count();
    let files = entries.len() - folders;
    let (path, on) = (result.text("/data/path"), on(result, language));
    let least = result.is_partial();
    let (files, folders) = (files as u64, folders as u64);
    Some(match language {
        Language::English => format!(
            "{path}{on} has {}{} and {}.",
            if least { "at least " } else { "" },
            counted(files, "file", "files"),
            counted(folders, "folder", "folders")
        ),
        Language::Dutch => format!(
            "In {path}{on} staan {}{} en {}.",
            if least { "minstens " } else { "" },
            counted(files, "bestand", "bestanden"),
            counted(folders, "map", "mappen")
        ),
    })
}

/// Returns whether two files have the same content.
pub(super) fn of_two_files(
    one: &ResultFacts,
    other: &ResultFacts,
    language: Language,
) -> Option<String> {
    let digests = (one.text("/data/sha256"), other.text("/data/sha256"));
    let (a, b) = (one.text("/data/path"), other.text("/data/path"));
    if digests.0.is_empty() || digests.1.is_empty() {
        return None;
    }
    let same = digests.0 == digests.1;
    let sizes = (size(one.at("/data/size_bytes")?), size(other.at("/data/size_bytes")?));
    Some(match (same, language) {
        (true, Language::English) => format!("{a} and {b} have the same content: {}.", sizes.0),
        (true, Language::Dutch) => format!("{a} en {b} hebben dezelfde inhoud: {}.", sizes.0),
        (false, Language::English) => {
            format!("{a} and {b} differ: {} and {}.", sizes.0, sizes.1)
        }
        (false, Language::Dutch) => format!("{a} en {b} verschillen: {} en {}.", sizes.0, sizes.1),
    })
}

fn on(result: &ResultFacts, language: Language) -> String {
    match result.text("/meta/device") {
        "" => String::new(),
        device => format!(" {} {device}", language.of("on", "op")),
    }
}
