//! Text from models, devices and files made safe to print: nothing in it can move the cursor, change
//! colours or turn the reading order round.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// What stands in for a character that a terminal would obey.
const REPLACEMENT: char = '\u{fffd}';

fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with line breaks and tabs, and nothing else that a terminal obeys.
pub(crate) fn plain(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars()
        .map(|c| if c != '\n' && c != '\t' && is_obeyed(c) { REPLACEMENT } else { c })
        .collect()
}

/// The same as one line of at most `limit` characters.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for (index, c) in text.chars().enumerate() {
        if index + 1 == limit && text.chars().nth(limit).is_some() {
            line.push('…');
            return line;
        }
        line.push(match c {
            '\n' | '\r' | '\t' => ' ',
            c if is_obeyed(c) => REPLACEMENT,
            c => c,
        });
    }
    line
}

/// The front of an id: as much as tells two ids of the same second apart. The backend finds the
/// rest.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(..18).unwrap_or(id)
}

/// A number of things, in words that fit one as well as many.
pub(crate) fn counted<N: std::fmt::Display + PartialEq + From<u8>>(
    count: N,
    one: &str,
    many: &str,
) -> String {
    let word = if count == N::from(1) { one } else { many };
    format!("{count} {word}")
}

/// A time in Unix milliseconds as people read it; a dash when there is none.
pub(crate) fn when(zone: &TimeZone, ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) if ms > 0 => time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Ok(_) | Err(_) => "-".to_owned(),
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        assert_eq!(
            plain("a\x1b[31mb\r\n\tc\u{9b}d\u{202e}e\r"),
            "a\u{fffd}[31mb\n\tc\u{fffd}d\u{fffd}e\u{fffd}"
        );
        assert_eq!(one_line("a\nb\x07", 10), "a b\u{fffd}");
    }

    #[test]
    fn a_line_is_cut_only_where_it_is_too_long() {
        assert_eq!(one_line("abcd", 4), "abcd");
        assert_eq!(one_line("abcde", 4), "abc…");
        assert_eq!(one_line("", 4), "");
    }

    #[test]
    fn one_thing_is_not_called_many() {
        let rows = |count: u64| counted(count, "row", "rows");
        assert_eq!([rows(0), rows(1), rows(2)], ["0 rows", "1 row", "2 rows"]);
    }

    #[test]
    fn times_are_shown_in_the_zone_and_absent_ones_as_a_dash() {
        assert_eq!(when(&TimeZone::UTC, 1_700_000_000_000), "2023-11-14 22:13:20");
        assert_eq!(when(&TimeZone::UTC, 0), "-");
        assert_eq!(when(&TimeZone::UTC, i64::MAX), "-");
    }
}
