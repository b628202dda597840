//! A minimal Markdown parser: headings, tables, links and words in backquotes.

use crate::tree::read;

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    /// The path below the root.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn read(path: &str) -> Self {
        Self { path: path.to_owned(), text: read(path) }
    }

    /// Returns everything below the heading with exactly this text, up to the next heading of its level
    /// or above.
    pub(crate) fn section(&self, heading: &str) -> Self {
        let level = |line: &str| line.bytes().take_while(|byte| *byte == b'#').count();
        let mut lines = self.text.lines();
        let start = lines
            .by_ref()
            .find(|line| line.starts_with('#') && line.trim_start_matches('#').trim() == heading)
            .unwrap_or_else(|| panic!("{} has no heading `{heading}`", self.path));
        let text = lines
            .take_while(|line| !line.starts_with('#') || level(line) > level(start))
            .map(|line| format!("{line}\n"))
            .collect();
        Self { path: format!("{} at `{heading}`", self.path), text }
    }

    /// Returns the rows of all tables, without the headings and the separator line.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        let mut in_body = false;
        for line in self.text.lines() {
            let Some(inner) = line.strip_prefix("| ").and_then(|rest| rest.strip_suffix(" |"))
            else {
                in_body = in_body && line.starts_with('|');
                if line.starts_with("|-") || line.starts_with("| -") {
                    in_body = true;
                }
                continue;
            };
            if inner.starts_with("---") {
                in_body = true;
            } else if in_body {
                let escaped = inner.replace("\\|", "\u{1}");
                let cells = escaped.split(" | ").map(|cell| cell.replace('\u{1}', "|"));
                rows.push(cells.map(|cell| cell.trim().to_owned()).collect());
            }
        }
        rows
    }

    /// Returns the links, as text and target.
    pub(crate) fn links(&self) -> Vec<(String, String)> {
        let mut links = Vec::new();
        for line in prose(&self.text) {
            for (at, _) in line.match_indices("](") {
                let text = line
                    .get(..at)
                    .and_then(|before| before.rfind('[').map(|open| &before[open + 1..]));
                let target = line.get(at + 2..).and_then(|rest| rest.split_once(')'));
                if let (Some(text), Some((target, _))) = (text, target) {
                    links.push((text.to_owned(), target.to_owned()));
                }
            }
        }
        links
    }

    /// Returns the anchors of the headings.
    pub(crate) fn anchors(&self) -> Vec<String> {
        prose(&self.text)
            .filter(|line| line.starts_with('#'))
            .map(|line| {
                line.trim_start_matches('#')
                    .trim()
                    .to_lowercase()
                    .chars()
                    .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                    .map(|c| if c == ' ' { '-' } else { c })
                    .collect()
            })
            .collect()
    }
}

/// Returns the lines outside fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Returns the words in backquotes.
pub(crate) fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}
