//! Whether a word is a misspelling of another.

/// The shortest word of the grammar that is recognised misspelt, in characters.
const MIN_CHARS: usize = 4;

/// Returns whether `word` is `meant` with one slip of the pen, or two in a long word: a letter too many, too
/// few or another, or two letters swapped.
pub(crate) fn is_near(word: &str, meant: &str) -> bool {
    let (word, meant): (Vec<char>, Vec<char>) = (word.chars().collect(), meant.chars().collect());
    if meant.len() < MIN_CHARS || word.len() < MIN_CHARS - 1 || word == meant {
        return false;
    }
    let allowed = if meant.len() >= 8 { 2 } else { 1 };
    word.len().abs_diff(meant.len()) <= allowed && distance(&word, &meant) <= allowed
}

/// Returns the number of slips between two words (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at =
                |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let mut best = (at(&above, j) + usize::from(x != y))
                .min(at(&above, j + 1) + 1)
                .min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::is_near;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        for (word, meant) in [
            ("fodler", "folder"),
            ("crate", "create"),
            ("delte", "delete"),
            ("verwijdr", "verwijder"),
        ] {
            assert!(is_near(word, meant), "{word}");
        }
        for (word, meant) in [
            ("folder", "folder"),
            ("not", "now"),
            ("in", "on"),
            ("photos", "folder"),
            ("st", "list"),
        ] {
            assert!(!is_near(word, meant), "{word}");
        }
    }
}
