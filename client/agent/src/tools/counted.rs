//! Counts with the right singular or plural.

/// Returns `1 line` or `2 lines`.
pub(super) fn counted(count: u64, one: &str) -> String {
    match one.strip_suffix('y') {
        _ if count == 1 => format!("1 {one}"),
        Some(stem) => format!("{count} {stem}ies"),
        None => format!("{count} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one() {
        let texts = [0, 1, 2].map(|count| counted(count, "line"));
        assert_eq!(texts, ["0 lines", "1 line", "2 lines"]);
        assert_eq!([1, 2].map(|count| counted(count, "entry")), ["1 entry", "2 entries"]);
    }
}
