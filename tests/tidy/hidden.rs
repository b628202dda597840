//! What is hidden is hidden everywhere: the page writes out each character that the domain calls hidden.

use orion_domain::is_hidden;

use crate::tree::root;

/// Reads the ranges of a class of characters as TypeScript writes it: `\u00ad`, `\u{e0000}-\u{e0fff}`.
fn ranges(class: &str) -> Vec<(u32, u32)> {
    let number = |text: &str| {
        let digits = text.trim_end_matches('-').trim_start_matches('{').trim_end_matches('}');
        u32::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("{text} in {class}"))
    };
    let mut ranges = Vec::new();
    let mut begin = None;
    for part in class.split("\\u").skip(1) {
        let at = number(part);
        ranges.push((begin.take().unwrap_or(at), at));
        if part.ends_with('-') {
            begin = ranges.pop().map(|(first, _)| first);
        }
    }
    ranges
}

#[test]
fn the_page_writes_out_every_hidden_character() {
    let text = std::fs::read_to_string(root().join("server/web/src/lib/text.ts")).unwrap();
    let (_, class) = text.split_once("const HIDDEN = /[").expect("the class of hidden characters");
    let (class, _) = class.split_once(']').unwrap();
    let ranges = ranges(class);
    assert!(ranges.contains(&(0xad, 0xad)) && ranges.contains(&(0x202e - 6, 0x202e)), "{ranges:?}");
    let shown = |c: char| !ranges.iter().any(|&(from, to)| (from..=to).contains(&u32::from(c)));
    // A line break and a tab have signs of their own there.
    let unseen: Vec<_> = ('\0'..=char::MAX)
        .filter(|&c| is_hidden(c) && shown(c) && !matches!(c, '\n' | '\t'))
        .collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}
