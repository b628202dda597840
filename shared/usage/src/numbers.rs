//! The parser's words about numbers, in plain words.

/// Returns a text in which ranges and numbers that cannot be read are described in words.
pub(crate) fn in_words(text: &str) -> String {
    let text = text.replace("invalid digit found in string", "write a whole number");
    let Some((before, range)) = text.split_once(" is not in ") else { return text };
    let end = range.find('\n').unwrap_or(range.len());
    let (range, after) = range.split_at(end);
    let Some((least, most)) = range.split_once("..") else { return text };
    let most = most.trim_start_matches('=');
    let is_number = |text: &str| text.parse::<i128>().is_ok();
    if !is_number(least) || !is_number(most) {
        return text;
    }
    // The largest number of a type is no limit that anybody chose.
    let is_limit = most.parse::<i128>().is_ok_and(|most| most < i128::from(u32::MAX));
    let wanted = if is_limit { format!("from {least} to {most}") } else { format!("from {least}") };
    let (start, _) = before.rsplit_once(": ").unwrap_or((before, ""));
    format!("{start}: write a whole number {wanted}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_written_as_people_write_them() {
        let said = |text: &str| in_words(text);
        assert_eq!(
            said("invalid value '0' for '--uses <COUNT>': 0 is not in 1..=10000\n\nFor more"),
            "invalid value '0' for '--uses <COUNT>': write a whole number from 1 to 10000\n\nFor more"
        );
        assert_eq!(
            said("invalid value '0' for '<VERSION>': 0 is not in 1..9223372036854775807"),
            "invalid value '0' for '<VERSION>': write a whole number from 1"
        );
        assert_eq!(said("x: invalid digit found in string"), "x: write a whole number");
        assert_eq!(said("a file is not in the list"), "a file is not in the list");
    }
}
