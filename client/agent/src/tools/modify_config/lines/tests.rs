//! Line changes by example and by property.

use orion_domain::PathStyle;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn change(line: u64, old: &str, new: Option<&str>) -> Change {
    Change { line, old: old.to_owned(), new: new.map(ToOwned::to_owned) }
}

fn edited(text: &str, changes: &[Change]) -> Result<String, ToolError> {
    edit(text, changes, &DevicePath::parse(PathStyle::Posix, "/w/a.toml").unwrap())
}

#[test]
fn lines_are_changed_added_and_taken_out() {
    let set = |new| change(2, "b", new);
    for (text, changes, expected) in [
        ("a\nb\nc\n", vec![set(Some("x"))], "a\nx\nc\n"),
        ("a\nb\nc\n", vec![set(Some("x\ny"))], "a\nx\ny\nc\n"),
        ("a\nb\nc\n", vec![set(None)], "a\nc\n"),
        ("a\nb\nc\n", vec![set(Some(""))], "a\n\nc\n"),
        ("a\r\nb\r\nc", vec![set(Some("x\ny"))], "a\r\nx\r\ny\r\nc"),
        ("a\r\nb\r\nc", vec![set(Some("x\r\ny"))], "a\r\nx\r\ny\r\nc"),
        ("a\r\nb", vec![set(Some("x\ny"))], "a\r\nx\r\ny"),
        ("a\nb", vec![set(None)], "a"),
        ("a\r\nb", vec![set(None)], "a"),
        ("a\nb", vec![set(Some("b\n"))], "a\nb\n"),
        ("a\r\nb\nc\r\n", vec![set(Some("x"))], "a\r\nx\nc\r\n"),
        ("\u{feff}a\nb\n", vec![change(1, "a", Some("x"))], "\u{feff}x\nb\n"),
        ("\u{feff}a\nb\n", vec![change(1, "\u{feff}a", None)], "\u{feff}b\n"),
        ("a\nb\n", vec![set(Some("x")), change(1, "a", Some("y"))], "y\nx\n"),
        ("", vec![change(1, "", Some("a\n"))], "a\n"),
        ("a", vec![change(1, "a", None)], ""),
        ("a\rb\nb\n", vec![change(1, "a\rb", Some("x"))], "x\nb\n"),
    ] {
        assert_eq!(edited(text, &changes).as_deref(), Ok(expected), "{text:?} {changes:?}");
    }
}

#[test]
fn a_line_that_is_not_what_it_is_taken_for_stops_all() {
    let text = "a\nb\nc\nb\nd\n";
    let error = edited(text, &[change(1, "a", Some("x")), change(5, "b", None)]).unwrap_err();
    assert_eq!(error.code, ErrorCode::PreconditionFailed);
    assert_eq!(
        serde_json::to_value(&error.details).unwrap(),
        json!({
            "attempted_path": "/w/a.toml", "line": 5, "expected": "b", "found": "d",
            "nearest_line": 4,
        })
    );
    let error = edited(text, &[change(9, "none", None)]).unwrap_err();
    assert_eq!(
        (&error.details["found"], &error.details["nearest_line"]),
        (&json!(null), &json!(null))
    );
    for old in ["b ", "b\n", "B"] {
        let error = edited(text, &[change(2, old, None)]).unwrap_err();
        assert_eq!(error.code, ErrorCode::PreconditionFailed, "{old:?}");
    }
}

#[test]
fn lines_are_named_once_and_from_one() {
    for changes in [
        vec![change(0, "a", None)],
        vec![change(1, "a", None), change(1, "a", Some("x"))],
        vec![change(u64::MAX, "a", None), change(u64::MAX, "a", None)],
    ] {
        assert_eq!(edited("a\n", &changes).unwrap_err().code, ErrorCode::InvalidArgument);
    }
}

/// Lines with their ends; the last line may have none.
fn texts() -> impl Strategy<Value = (Vec<(String, &'static str)>, bool, bool)> {
    let end = prop::sample::select(vec!["\n", "\r\n"]);
    let line = ("[ a-c#=]{0,6}", end);
    (prop::collection::vec(line, 1..12), any::<bool>(), any::<bool>())
}

proptest! {
    #[test]
    fn a_change_and_its_opposite_leave_every_byte(
        (lines, open, marked) in texts(),
        picked in prop::collection::btree_map(0_usize..12, "[ a-c#=]{0,6}", 1..6),
    ) {
        let mut text: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect();
        if open {
            text.truncate(text.len() - lines.last().map_or(0, |(_, end)| end.len()));
        }
        if marked {
            text.insert(0, MARK);
        }
        let count = split(text.trim_start_matches(MARK)).len();
        let changes: Vec<_> = picked
            .iter()
            .filter(|(index, _)| **index < count)
            .map(|(index, new)| change(*index as u64 + 1, &lines[*index].0, Some(new)))
            .collect();
        prop_assume!(!changes.is_empty());
        let there = edited(&text, &changes).unwrap();
        let back: Vec<_> = changes
            .iter()
            .map(|it| change(it.line, it.new.as_deref().unwrap(), Some(&it.old)))
            .collect();
        // An unfinished last line that becomes empty disappears.
        let last_is_gone = open && changes.iter().any(|it| {
            it.line == count as u64 && (it.new.as_deref() == Some("") || it.old.is_empty())
        });
        prop_assume!(!last_is_gone);
        prop_assert_eq!(edited(&there, &back).unwrap(), text);
    }

    #[test]
    fn lines_added_and_taken_out_again_leave_every_byte(
        (lines, open, _) in texts(),
        at in 0_usize..12,
        added in prop::collection::vec("[a-c#=]{1,6}", 1..4),
    ) {
        let mut text: String = lines.iter().flat_map(|(line, _)| [line.as_str(), "\r\n"]).collect();
        if open {
            text.truncate(text.len() - 2);
        }
        let known = split(&text);
        let index = at % known.len();
        let old = known[index].text.to_owned();
        prop_assume!(!(open && old.is_empty()));
        let line = index as u64 + 1;
        let new = format!("{old}\n{}", added.join("\n"));
        let there = edited(&text, &[change(line, &old, Some(&new))]).unwrap();
        let back: Vec<_> =
            (line + 1..).zip(&added).map(|(line, text)| change(line, text, None)).collect();
        prop_assert_eq!(edited(&there, &back).unwrap(), text);
    }
}
