//! Splits a message into words; quoted text is one word.

/// Maximum number of words in a message that the planner parses.
const MAX_WORDS: usize = 64;

/// A word of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word in lower case without brackets, to compare with the grammar's words. Empty for quoted text,
    /// which never equals one.
    pub(crate) key: String,
    /// The text between the quotes. None for a word without quotes.
    pub(crate) quoted: Option<String>,
    /// Byte offset of the start, without quotes.
    pub(crate) start: usize,
    /// Byte offset of the end, without quotes and punctuation.
    pub(crate) end: usize,
    /// Whether a comma, or the end of a sentence or line follows.
    pub(crate) breaks: bool,
    /// Whether it begins with a capital letter or a digit.
    pub(crate) capital: bool,
    /// The lengths of its quotes in bytes.
    pub(crate) quotes: (usize, usize),
}

impl Word {
    /// Returns the byte offset of its start, quotes included.
    pub(crate) fn span_start(&self) -> usize {
        self.start - self.quotes.0
    }

    /// Returns the byte offset of its end, quotes included.
    pub(crate) fn span_end(&self) -> usize {
        self.end + self.quotes.1
    }
}

/// Splits a message. `None` where it has too many words.
pub(crate) fn split(text: &str) -> Option<Vec<Word>> {
    let mut words: Vec<Word> = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let spaces = rest.len() - rest.trim_start().len();
        if spaces > 0 {
            if rest.get(..spaces).is_some_and(|gap| gap.contains('\n'))
                && let Some(last) = words.last_mut()
            {
                last.breaks = true;
            }
            at += spaces;
            continue;
        }
        if words.len() == MAX_WORDS {
            return None;
        }
        if let Some((quote, length)) = quoted(rest) {
            let start = at + quote;
            let inside = rest.get(quote..quote + length).unwrap_or_default();
            let after = rest.get(quote + length..).unwrap_or_default();
            let closing = after.chars().next().map_or(0, char::len_utf8);
            let tail = after.get(closing..).unwrap_or_default();
            let punctuation =
                tail.len() - tail.trim_start_matches(['.', ',', ';', '!', '?', ':', ')']).len();
            words.push(Word {
                key: String::new(),
                quoted: Some(inside.to_owned()),
                start,
                end: start + length,
                breaks: punctuation > 0,
                capital: false,
                quotes: (quote, closing),
            });
            at = start + length + closing + punctuation;
        } else {
            let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let word = plain(rest.get(..length).unwrap_or_default(), at);
            at += length;
            // "pdf-bestanden" is one written word.
            match word.key.strip_suffix("-bestanden").map(str::to_owned) {
                Some(kind) => {
                    let middle = word.start + kind.len();
                    words.push(Word { key: kind, end: middle, breaks: false, ..word.clone() });
                    words.push(Word { key: "bestanden".to_owned(), start: middle + 1, ..word });
                }
                None => words.push(word),
            }
        }
    }
    words.retain(|word| word.quoted.is_some() || !word.key.is_empty());
    Some(words)
}

/// Returns the byte offset and length of quoted text at the start of `rest`.
fn quoted(rest: &str) -> Option<(usize, usize)> {
    let open = rest.chars().next()?;
    let close: &[char] = match open {
        '"' => &['"'],
        '\'' => &['\''],
        '`' => &['`'],
        '“' | '„' => &['”', '“', '"'],
        '‘' | '‚' => &['’', '‘'],
        '«' => &['»'],
        _ => return None,
    };
    let inside = rest.get(open.len_utf8()..)?;
    let length = inside.match_indices(close).find_map(|(at, mark)| {
        // An apostrophe within a word is no closing quote.
        let next = inside.get(at + mark.len()..)?.chars().next();
        next.is_none_or(|letter| !letter.is_alphanumeric()).then_some(at)
    })?;
    (length > 0).then_some((open.len_utf8(), length))
}

fn plain(word: &str, start: usize) -> Word {
    let mut value = word;
    let mut breaks = false;
    loop {
        let shorter = match value.chars().next_back() {
            Some(',' | ';' | '!') => value.get(..value.len() - 1),
            Some('?') if !value.contains('*') => value.get(..value.len() - 1),
            Some(':') if value.len() != 2 => value.get(..value.len() - 1),
            Some('.') if value != "." && !value.ends_with("..") => value.get(..value.len() - 1),
            _ => break,
        };
        value = shorter.unwrap_or_default();
        breaks = true;
    }
    let key = value.strip_prefix('(').unwrap_or(value);
    let key = key.strip_suffix(')').unwrap_or(key);
    Word {
        key: key.to_lowercase().replace('’', "'"),
        quoted: None,
        start,
        end: start + value.len(),
        breaks,
        capital: key.starts_with(|it: char| it.is_uppercase() || it.is_ascii_digit()),
        quotes: (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, bool)> {
        split(text)
            .unwrap()
            .into_iter()
            .map(|word| (text[word.start..word.end].to_owned(), word.breaks))
            .collect()
    }

    fn word(text: &str, breaks: bool) -> (String, bool) {
        (text.to_owned(), breaks)
    }

    #[test]
    fn quotes_make_one_word_and_apostrophes_do_not() {
        assert_eq!(
            read("Write 'it's \"done\"' to what's.txt."),
            [
                word("Write", false),
                word("it's \"done\"", false),
                word("to", false),
                word("what's.txt", true)
            ]
        );
        assert_eq!(read("“a b”, „c d”"), [word("a b", true), word("c d", false)]);
        assert_eq!(
            read("'s avonds \"open"),
            [word("'s", false), word("avonds", false), word("\"open", false)]
        );
    }

    #[test]
    fn punctuation_ends_words_and_is_not_part_of_them() {
        assert_eq!(
            read("list C: , . .. *.tx? notes.txt?! (dry run)\nls"),
            [
                word("list", false),
                word("C:", false),
                word(".", false),
                word("..", false),
                word("*.tx?", false),
                word("notes.txt", true),
                word("(dry", false),
                word("run)", true),
                word("ls", false),
            ]
        );
    }

    #[test]
    fn a_text_of_very_many_words_is_not_read() {
        assert_eq!(split(&"a ".repeat(65)), None);
        assert_eq!(split(&"a ".repeat(64)).unwrap().len(), 64);
    }
}
