//! Stores many names in little memory.

use crate::roots::FileKind;

/// Maximum size of queued names, in bytes.
pub(crate) const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Size of a name besides its text, in bytes.
const EACH: usize = 12;

/// Names stored one after the other in one text.
#[derive(Debug, Default)]
pub(crate) struct Names {
    text: String,
    at: Vec<(u32, u16, FileKind)>,
}

impl Names {
    /// Adds a name. Returns false if there is no space.
    pub(crate) fn push(&mut self, name: &str, what: FileKind) -> bool {
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

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len() + self.at.len() * EACH
    }

    /// Returns whether there are no names.
    pub(crate) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Sorts in reverse order, so that the first name is taken next.
    pub(crate) fn sort(&mut self) {
        let text = &self.text;
        self.at.sort_unstable_by(|one, other| name(text, *other).cmp(name(text, *one)));
    }

    /// Takes the last name.
    pub(crate) fn pop(&mut self) -> Option<(&str, FileKind)> {
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
