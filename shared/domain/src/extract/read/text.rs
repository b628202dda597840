//! Joins the prose that stays, and finds what looks like a call in it.

use crate::extract::ExtractProblem;

/// What stands in calls of forms that are not read, or whose tokens a server took out.
const SIGNS: [(&str, &str); 6] = [
    ("to=functions.", "a message of Harmony without its tokens"),
    ("\nAction Input:", "Action and Action Input"),
    ("<tool_use>", "<tool_use>"),
    ("<|tool_call", "a call between tokens"),
    ("<｜tool", "a call between tokens"),
    ("✿FUNCTION✿", "✿FUNCTION✿"),
];

/// Returns the problem with prose of `output` that holds a sign of a call.
pub(super) fn unread(text: &str, output: &str) -> Option<ExtractProblem> {
    let (sign, form) = SIGNS.iter().find(|(sign, _)| {
        let before = text.split_once(sign).map(|(before, _)| before);
        before.is_some_and(|before| !before.ends_with('`'))
    })?;
    let at = output.rfind(sign)?;
    Some(ExtractProblem::NotUnderstood { start: at, at, form, why: "this form is not read" })
}

/// The white space around a cut, of which one separator is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    None,
    Space,
    Line,
}

impl Gap {
    fn of(white: &str) -> Self {
        if white.contains('\n') {
            Self::Line
        } else if white.is_empty() {
            Self::None
        } else {
            Self::Space
        }
    }
}

/// Appends the prose after a cut. `gap` is the white space before the cut; the result is that before the
/// next one.
pub(super) fn join(text: &mut String, gap: Gap, prose: &str) -> Gap {
    let words = prose.trim();
    if words.is_empty() {
        return gap.max(Gap::of(prose));
    }
    let leading = prose.len() - prose.trim_start().len();
    let trailing = prose.trim_end().len();
    match gap.max(Gap::of(prose.get(..leading).unwrap_or_default())) {
        Gap::Line if !text.is_empty() => text.push('\n'),
        Gap::Space if !text.is_empty() => text.push(' '),
        Gap::Line | Gap::Space | Gap::None => {}
    }
    text.push_str(words);
    Gap::of(prose.get(trailing..).unwrap_or_default())
}
