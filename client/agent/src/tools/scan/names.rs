//! Many names in little room.

use crate::roots::FileKind;

/// The most that names which wait may take, in bytes.
pub(in crate::tools) const MAX_BYTES: usize = 64 * 1024 * 1024;
/// What a name takes besides its letters.
const EACH: usize = 12;

/// Names one behind the other in one text.
#[derive(Debug, Default)]
pub(in crate::tools) struct Names {
    text: String,
    at: Vec<(u32, u16, FileKind)>,
}

impl Names {
    /// Adds a name; false when there is no room for it.
    pub(in crate::tools) fn push(&mut self, name: &str, what: FileKind) -> bool {
        let (Ok(start), Ok(length)) = (u32::try_from(self.text.len()), u16::try_from(name.len()))
        else {
            return false;
        };
        if self.bytes() + name.len() + EACH > MAX_BYTES {
            return false;
        }
        self.text.push_str(name);
        self.at.push((start, length, what));
        true
    }

    /// What they take, in bytes.
    pub(in crate::tools) fn bytes(&self) -> usize {
        self.text.len() + self.at.len() * EACH
    }

    /// Whether there are none.
    pub(in crate::tools) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Puts them in reverse order, so that the first is the next to be taken.
    pub(in crate::tools) fn sort(&mut self) {
        let text = &self.text;
        self.at.sort_unstable_by(|one, other| name(text, *other).cmp(name(text, *one)));
    }

    /// Takes the last one.
    pub(in crate::tools) fn pop(&mut self) -> Option<(&str, FileKind)> {
        let last = self.at.pop()?;
        Some((name(&self.text, last), last.2))
    }
}

fn name(text: &str, (start, length, _): (u32, u16, FileKind)) -> &str {
    let start = start as usize;
    text.get(start..start + usize::from(length)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_out_in_order() {
        let mut names = Names::default();
        for name in ["b", "é", "", "a.b", "a"] {
            assert!(names.push(name, FileKind::File));
        }
        names.sort();
        let mut out = Vec::new();
        while let Some((name, what)) = names.pop() {
            out.push(name.to_owned());
            assert_eq!(what, FileKind::File);
        }
        assert_eq!(out, ["", "a", "a.b", "b", "é"]);
        assert!(names.is_empty());
    }

    #[test]
    fn there_is_an_end_to_their_room() {
        let mut names = Names::default();
        let long = "x".repeat(60_000);
        let taken = (0..2_000).take_while(|_| names.push(&long, FileKind::Folder)).count();
        assert_eq!(taken, MAX_BYTES / (long.len() + EACH));
    }
}
