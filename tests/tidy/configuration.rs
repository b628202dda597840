//! Every key of both configuration files is in the reference, and no other.

use std::collections::BTreeSet;

use orion_agent::config::Settings;
use orion_server::config::Config;

use crate::markdown::{Page, names};

/// A name that is never a key.
const UNKNOWN: &str = "no_such_key";

/// Returns the keys that a parser knows, from its error for an unknown key. Aliases of a key count as
/// keys.
fn known(error: Option<String>) -> BTreeSet<String> {
    let Some((_, after)) = error.as_deref().and_then(|text| text.split_once(UNKNOWN)) else {
        return BTreeSet::new();
    };
    let after = after.split("did you mean").next().unwrap_or_default();
    let after = after.split("Did you mean").next().unwrap_or_default();
    // The first backquote closes the unknown key.
    names(after.trim_start_matches('`')).into_iter().collect()
}

/// Returns the keys of one table: at the top, in a section, or in a repeated section.
fn keys(read: impl Fn(&str) -> Option<String>, header: &str) -> BTreeSet<String> {
    known(read(&format!("{header}\n{UNKNOWN} = 1\n")))
}

fn server(text: &str) -> Option<String> {
    toml::from_str::<Config>(text).err().map(|error| error.message().to_owned())
}

fn agent(text: &str) -> Option<String> {
    Settings::parse(text, None, &[]).err()
}

/// Returns the keys of a section in the reference.
fn documented(page: &Page, heading: &str) -> BTreeSet<String> {
    let rows = page.section(heading).rows();
    rows.iter().flat_map(|row| names(row.first().unwrap())).collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn every_key_of_the_backends_file_is_in_the_reference() {
    let page = Page::read("docs/configuration.md").section("orion-server.toml");
    let mut sections = BTreeSet::new();
    for section in keys(server, "") {
        let (once, several) = (format!("[{section}]"), format!("[[{section}]]"));
        let named = format!("[{section}.NAME]");
        let headers = [once, several, named];
        let found = headers.iter().map(|header| (header, keys(server, header)));
        let found = found.into_iter().find(|(_, keys)| !keys.is_empty());
        let (header, keys) = found.unwrap_or_else(|| panic!("no keys of {section} were found"));
        assert_eq!(documented(&page, &format!("`{header}`")), keys, "{header}");
        sections.insert(section);
    }
    assert_eq!(
        sections,
        set(&[
            "approvals",
            "artifacts",
            "assistants",
            "calls",
            "chat",
            "devices",
            "downloads",
            "models",
            "people",
            "spending"
        ])
    );
}

#[test]
fn every_key_of_the_devices_file_is_in_the_reference() {
    let page = Page::read("docs/configuration.md").section("agent.toml");
    let sections = [
        "apps",
        "artifacts",
        "ceiling",
        "consent",
        "mcp",
        "notices",
        "projects",
        "read_only",
        "sandbox",
        "timeouts",
        "transfers",
        "upgrade",
    ];
    assert_eq!(keys(agent, ""), set(&sections));
    assert_eq!(documented(&page, "At the top"), set(&["read_only", "sandbox"]));
    assert_eq!(documented(&page, "`[ceiling]`"), keys(agent, "[ceiling]"));
    assert_eq!(documented(&page, "`[timeouts]`"), keys(agent, "[timeouts]"));
    assert_eq!(documented(&page, "`[transfers]`"), keys(agent, "[transfers]"));
    assert_eq!(documented(&page, "`[artifacts]`"), keys(agent, "[artifacts]"));
    assert_eq!(documented(&page, "`[consent]`"), keys(agent, "[consent]"));
    assert_eq!(documented(&page, "`[notices]`"), keys(agent, "[notices]"));
    assert_eq!(documented(&page, "`[upgrade]`"), keys(agent, "[upgrade]"));
    assert_eq!(documented(&page, "`[mcp]`"), keys(agent, "[mcp.x]"));
    assert!(page.text.contains("### `[apps]`") && page.text.contains("### `[projects]`"));
}
