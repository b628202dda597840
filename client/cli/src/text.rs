//! Makes text from models, devices and files safe to print: it cannot move the cursor, change colours or
//! change the direction of reading.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use orion_domain::is_hidden;
use orion_domain::visible::{REPLACEMENT, visible_char, written_out};

/// Begins each line of an approval card in a chat. No text of a model or a device contains it.
pub(crate) const MARK: char = '\u{258c}';

/// Returns a character as a text of others may show it: nothing that looks like the mark of a card.
const fn unmarked(c: char) -> char {
    if matches!(c, '\u{2588}'..='\u{2590}' | '\u{1fb6c}'..='\u{1fb97}') { '|' } else { c }
}

/// Begins each line with the mark.
pub(crate) fn marked(text: &str) -> String {
    text.lines().map(|line| format!("{MARK} {line}")).collect::<Vec<_>>().join("\n")
}

/// Keeps line breaks and tabs, and replaces everything else that controls a terminal or is invisible.
/// Joiners of letters and emoji are kept, because ordinary texts need them.
pub(crate) fn plain(text: &str) -> String {
    let text = netted(&text.replace("\r\n", "\n").replace('\u{1b}', "\u{fffd}"));
    text.chars().map(unmarked).collect()
}

/// Does the same for all output for people, and keeps Orion's own colours.
pub(crate) fn netted(text: &str) -> String {
    let is_kept = |c| matches!(c, '\n' | '\t' | '\u{1b}' | '\u{200c}' | '\u{200d}');
    text.chars().map(|c| if is_hidden(c) && !is_kept(c) { REPLACEMENT } else { c }).collect()
}

/// Writes hidden characters of JSON as `\uXXXX`, which is the same value.
pub(crate) fn escaped_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        // Outside texts, JSON has no other hidden character than line ends.
        if is_hidden(c) && c != '\n' {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Writes out what is hidden or looks like a space, accents that stand apart, and the signs that stand for them, as
/// `\u{202e}`: two names that a person decides about do not look the same where only these tell them apart.
pub(crate) fn distinct(text: &str) -> String {
    written_out(text, |c| {
        let is_sign = matches!(c, '\u{2409}' | '\u{240a}' | '\u{240d}' | REPLACEMENT);
        let is_unseen = visible_char(c) == REPLACEMENT
            || unmarked(c) != c
            || (c.is_whitespace() && !matches!(c, ' ' | '\n' | '\r' | '\t'))
            || matches!(c, '\u{2800}' | '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}')
            || matches!(c, '\u{2126}' | '\u{212a}' | '\u{212b}');
        is_sign || is_unseen
    })
    .into_owned()
}

/// Formats a text as one line of at most `limit` characters, in which nothing is hidden.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for (index, c) in text.chars().enumerate() {
        if index + 1 == limit && text.chars().nth(limit).is_some() {
            line.push('…');
            return line;
        }
        line.push(unmarked(visible_char(c)));
    }
    line
}

/// Returns how many columns of a terminal a character takes, or more.
const fn columns(c: char) -> usize {
    // From here on characters may be wide.
    if c < '\u{1100}' { 1 } else { 2 }
}

/// Formats a text as one line of at most so many columns, whose middle is left out where it is long: a path says most at
/// its end. It says how many characters are missing there, so that nobody takes both ends for the whole.
pub(crate) fn both_ends(text: &str, most: usize) -> String {
    let shown = |c: char| unmarked(visible_char(c));
    let mut width = 0;
    let is_short = text.chars().all(|c| {
        width += columns(shown(c));
        width <= most
    });
    if is_short {
        return text.chars().map(shown).collect();
    }
    let count = text.chars().count();
    // As wide as the longest that it can be: fewer are left out than there are.
    let widest = left_out(count).chars().count();
    // Where there is no room for the count, its place is for the text.
    let (is_counted, mark) = if most > 2 * widest { (true, widest) } else { (false, 1) };
    let room = most.saturating_sub(mark);
    let begin: String = within(text.chars().map(shown), room / 3);
    let end: String = within(text.chars().rev().map(shown), room - room / 3);
    let left = count - begin.chars().count() - end.chars().count();
    let mark = if is_counted { left_out(left) } else { "…".to_owned() };
    format!("{begin}{mark}{}", end.chars().rev().collect::<String>())
}

fn left_out(count: usize) -> String {
    format!(" …{count} left out… ")
}

/// Returns as many of these characters as so many columns hold.
fn within(characters: impl Iterator<Item = char>, most: usize) -> String {
    let mut width = 0;
    let fits = |c: &char| {
        width += columns(*c);
        width <= most
    };
    characters.take_while(fits).collect()
}

/// Formats a text as one line of at most so many columns, in which nothing is hidden.
pub(crate) fn fitted(text: &str, most: usize) -> String {
    let line = one_line(text, most.max(1));
    let mut width = 0;
    let fits = |c: char| {
        width += columns(c);
        width <= most
    };
    if line.chars().all(fits) {
        return line;
    }
    let mut cut = within(line.chars(), most.saturating_sub(1));
    cut.push('…');
    cut
}

/// Returns the prefix of an id, long enough to distinguish two ids of the same second. The backend
/// completes it.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(..18).unwrap_or(id)
}

/// Returns ids as a list shows them: shortened, or whole where `is_wide` or where another one begins alike.
pub(crate) fn listed_ids<'a>(ids: &[&'a str], is_wide: bool) -> Vec<&'a str> {
    let begins_so = |id: &str| ids.iter().filter(|other| short_id(other) == short_id(id)).count();
    ids.iter().map(|id| if is_wide || begins_so(id) > 1 { id } else { short_id(id) }).collect()
}

/// Formats a number of things in singular or plural.
pub(crate) fn counted<N: std::fmt::Display + PartialEq + From<u8>>(
    count: N,
    one: &str,
    many: &str,
) -> String {
    let word = if count == N::from(1) { one } else { many };
    format!("{count} {word}")
}

/// Formats Unix milliseconds for people; a dash when there is no time.
pub(crate) fn when(zone: &TimeZone, ms: i64) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) if ms > 0 => time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Ok(_) | Err(_) => "-".to_owned(),
    }
}

/// Formats Unix milliseconds for people, with the name of the time zone.
pub(crate) fn when_with_zone(zone: &TimeZone, ms: i64) -> String {
    match (when(zone, ms), Timestamp::from_millisecond(ms)) {
        (time, Ok(at)) if ms > 0 => format!("{time} {}", at.to_zoned(zone.clone()).strftime("%Z")),
        (time, Ok(_) | Err(_)) => time,
    }
}

/// Formats bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_long_line_keeps_both_ends() {
        assert_eq!(both_ends("/a/b.txt", 8), "/a/b.txt");
        let long = format!("/{}/signed.txt", "x".repeat(200));
        let (begin, end) = ("x".repeat(13), "x".repeat(19));
        assert_eq!(both_ends(&long, 60), format!("/{begin} …168 left out… {end}/signed.txt"));
        let wide = format!("{} …28 left out… {}", "界".repeat(4), "界".repeat(8));
        assert_eq!(both_ends(&"界".repeat(40), 40), wide);
        assert_eq!(both_ends("界界界界界", 7), "界…界界");
        assert_eq!(both_ends("a\u{2588}b", 9), "a|b");
    }

    #[test]
    fn a_list_shows_an_id_whole_where_another_begins_alike() {
        let ids = [
            "01a222aa-1c49-728d-86f6-3937f82a9fb7",
            "01a222aa-1c49-728d-86f6-3937f82a9fb8",
            "01a222aa-1c4a-7089-86f6-3937f82a9fb9",
        ];
        assert_eq!(listed_ids(&ids, false), [ids[0], ids[1], "01a222aa-1c4a-7089"]);
        assert_eq!(listed_ids(&ids, true), ids);
    }

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        assert_eq!(
            plain("a\x1b[31mb\r\n\tc\u{9b}d\u{202e}e\r"),
            "a\u{fffd}[31mb\n\tc\u{fffd}d\u{fffd}e\u{fffd}"
        );
        assert_eq!(one_line("a\nb\x07", 10), "a\u{240a}b\u{fffd}");
        assert_eq!(plain("a\u{2028}b\u{200b}c\u{200d}"), "a\u{fffd}b\u{fffd}c\u{200d}");
        assert_eq!(netted("\x1b[1ma\u{9b}b\x1b[0m"), "\x1b[1ma\u{fffd}b\x1b[0m");
    }

    #[test]
    fn hidden_characters_are_escaped_in_json_and_stay_what_they_are() {
        let value = serde_json::json!({"a\u{7f}": "\n\u{9b}\u{202e}\u{2028}\u{200b}\u{e0041}é"});
        let text = escaped_json(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(
            text,
            "{\n  \"a\\u007f\": \"\\n\\u009b\\u202e\\u2028\\u200b\\udb40\\udc41é\"\n}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn names_that_differ_look_different() {
        let names = [
            "a\nb",
            "a\u{240a}b",
            "a\u{202e}b",
            "a\u{200b}b",
            "a\\u{202e}b",
            "a\u{fffd}b",
            "a|b",
            "a\u{2588}b",
            "a\u{258c}b",
            "ab",
            "a b",
            "a\u{a0}b",
            "a\u{2800}b",
            "é",
            "e\u{301}",
            "K",
            "\u{212a}",
            "ab\u{fe0f}",
            "a\r\nb",
        ];
        let shown: HashSet<_> = names.iter().map(|it| one_line(&distinct(it), 80)).collect();
        assert_eq!(shown.len(), names.len(), "{shown:?}");
        assert_eq!(distinct("a\\b C:\\users \u{202e}"), "a\\b C:\\users \\u{202e}");
    }

    #[test]
    fn a_line_is_cut_only_where_it_is_too_long() {
        assert_eq!(one_line("abcd", 4), "abcd");
        assert_eq!(one_line("abcde", 4), "abc…");
        assert_eq!(one_line("", 4), "");
    }

    #[test]
    fn a_line_fits_into_its_columns_also_where_characters_are_wide() {
        assert_eq!(fitted("abcd", 4), "abcd");
        assert_eq!(fitted("abcde", 4), "abc…");
        assert_eq!(fitted("日本語", 6), "日本語");
        assert_eq!(fitted("日本語", 5), "日本…");
    }

    #[test]
    fn no_text_of_others_has_the_mark_of_a_card() {
        let imitation = marked("? delete_file asks for approval");
        assert!(imitation.starts_with(MARK));
        for shown in [plain(&imitation), one_line(&imitation, 80)] {
            assert!(!shown.contains(MARK) && shown.starts_with("| ?"), "{shown}");
        }
        assert_eq!(marked("a\nb"), "\u{258c} a\n\u{258c} b");
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
