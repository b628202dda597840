//! The table of programs in the documentation is that of the grammars.

use orion_commands::{MAX_ARGUMENTS, MAX_COMMANDS, MAX_TEXT_BYTES, RefusalRule, summaries};

use crate::markdown::{Page, names};

#[test]
fn the_page_of_commands_lists_every_program_with_what_its_grammar_covers() {
    let wanted: Vec<String> = summaries()
        .map(|summary| {
            let programs: Vec<_> =
                summary.programs.iter().map(|program| format!("`{program}`")).collect();
            format!("| {} | {} |", programs.join(", "), summary.covers)
        })
        .collect();
    let page = Page::read("docs/commands.md").section("Programs");
    let rows: Vec<_> =
        page.text.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect();
    assert!(rows == wanted, "the table must be:\n{}", wanted.join("\n"));
}

#[test]
fn the_page_of_commands_lists_every_rule_and_limit() {
    let page = Page::read("docs/commands.md");
    let rows = page.section("What is refused").rows();
    let listed: Vec<_> = rows.iter().flat_map(|row| names(&row[0])).collect();
    let rules: Vec<_> = RefusalRule::ALL.iter().map(|rule| rule.as_str()).collect();
    assert_eq!(listed, rules);
    for limit in [
        format!("{} KiB", MAX_TEXT_BYTES / 1024),
        format!("{MAX_ARGUMENTS} arguments"),
        format!("{MAX_COMMANDS} commands"),
    ] {
        assert!(page.text.contains(&limit), "{limit}");
    }
}
