//! Finds words that can be read as others, because their letters look like Latin ones, or a sign looks like one that
//! separates names. What looks like what is in Unicode's confusables (UTS #39).

use std::collections::HashMap;

use serde_json::Value;
use unicode_normalization::char::is_combining_mark;
use unicode_security::{GeneralSecurityProfile as _, MixedScript as _, skeleton};

/// At most so many words are named, and a sentence says that there are more.
const MAX_WORDS: usize = 20;
/// At most so many characters of a word are named.
const MAX_CHARS: usize = 6;
/// At most so much of a word is shown, in characters.
const MAX_SHOWN: usize = 60;
/// What is said of the words that are not named.
const MORE: &str = "and there are more such words";

/// Returns a sentence for each word of these texts that can be read as another one: it mixes Latin letters with those
/// of other alphabets that look like them, or has only such letters where no word beside it shows another alphabet.
pub fn look_alikes<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut reader = Reader::default();
    for line in texts.into_iter().filter(|text| !text.is_ascii()).flat_map(separated) {
        if reader.found.len() > MAX_WORDS {
            break;
        }
        reader.read(line);
    }
    reader.found
}

/// Returns the same of what a call touches and of its arguments, which are JSON.
#[must_use]
pub fn look_alikes_of_call(touches: &[String], arguments: &[u8]) -> Vec<String> {
    let is_plain = arguments.is_ascii() && !arguments.windows(2).any(|pair| pair == b"\\u");
    let arguments = if is_plain { None } else { serde_json::from_slice(arguments).ok() };
    let arguments = arguments.unwrap_or(Value::Null);
    let mut texts = touches.iter().map(String::as_str).collect();
    add_texts(&arguments, &mut texts);
    look_alikes(texts)
}

fn add_texts<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| add_texts(value, texts)),
        Value::Object(fields) => {
            for (name, value) in fields {
                texts.push(name);
                add_texts(value, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the lines of a text, and the parts of its paths.
fn separated(text: &str) -> impl Iterator<Item = &str> {
    text.split(['/', '\\', '\n'])
}

/// How a character reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// It separates words.
    Separator,
    /// It says nothing: a digit, an accent.
    Neutral,
    /// A Latin letter.
    Latin,
    /// It is taken for a Latin letter or a digit.
    Letter(char),
    /// It is taken for a sign that separates names.
    Sign(char),
    /// A letter that shows another alphabet.
    Foreign,
}

impl Look {
    fn of(c: char) -> Self {
        if c.is_ascii() {
            return match c {
                'a'..='z' | 'A'..='Z' => Self::Latin,
                '0'..='9' => Self::Neutral,
                _ => Self::Separator,
            };
        }
        let model = model(c);
        if c.is_alphabetic() {
            // Letters that are in use in languages of the Latin alphabet are known to who reads them.
            return match model.filter(char::is_ascii_alphanumeric) {
                _ if is_latin(c) && c.identifier_allowed() => Self::Latin,
                Some(model) => Self::Letter(model),
                None if is_latin(c) => Self::Latin,
                // A filler has no look.
                None if crate::visible::is_hidden(c) => Self::Neutral,
                None => Self::Foreign,
            };
        }
        match model {
            Some(model @ ('/' | '\\' | '.' | ':')) => Self::Sign(model),
            Some(model)
                if c.is_numeric() && !c.identifier_allowed() && model.is_ascii_alphanumeric() =>
            {
                Self::Letter(model)
            }
            _ if c.is_numeric() || is_combining_mark(c) || crate::visible::is_hidden(c) => {
                Self::Neutral
            }
            _ => Self::Separator,
        }
    }
}

/// Returns the ASCII character that another one looks like, whatever accents it has.
fn model(c: char) -> Option<char> {
    let mut buffer = [0; 4];
    let mut models = skeleton(c.encode_utf8(&mut buffer));
    let model = models.next().filter(char::is_ascii)?;
    models.all(is_combining_mark).then_some(model)
}

fn is_latin(c: char) -> bool {
    String::from_iter(['a', c]).as_str().is_single_script()
}

/// A word, and what its letters say.
#[derive(Debug, Default)]
struct Read<'a> {
    text: &'a str,
    alike: Vec<(char, char)>,
    has_sign: bool,
    has_latin: bool,
    /// Some of the letters that show another alphabet.
    foreign: Vec<char>,
}

impl Read<'_> {
    fn add(&mut self, c: char, look: Look) {
        match look {
            Look::Separator | Look::Neutral => {}
            Look::Latin => self.has_latin = true,
            Look::Foreign => {
                if self.foreign.len() < MAX_CHARS && !self.foreign.contains(&c) {
                    self.foreign.push(c);
                }
            }
            Look::Letter(model) | Look::Sign(model) => {
                self.has_sign |= !model.is_ascii_alphanumeric();
                if self.alike.len() < MAX_CHARS && !self.alike.contains(&(c, model)) {
                    self.alike.push((c, model));
                }
            }
        }
    }

    /// Returns whether a letter of the word shows the alphabet of a character.
    fn shows_alphabet_of(&self, c: char) -> bool {
        self.foreign.iter().any(|it| String::from_iter([*it, c]).as_str().is_single_script())
    }

    /// Returns whether the word can be read as another one between these.
    fn is_look_alike(&self, before: &Self, after: &Self) -> bool {
        let Some((c, _)) = self.alike.first() else { return false };
        let beside = [before, after];
        let is_prose = beside.iter().any(|it| it.shows_alphabet_of(*c))
            && !beside.iter().any(|it| it.has_latin);
        let is_taken_for_latin = self.has_latin || !self.shows_alphabet_of(*c) && !is_prose;
        is_taken_for_latin && (!self.has_sign || self.foreign.is_empty())
    }
}

#[derive(Debug, Default)]
struct Reader {
    looks: HashMap<char, Look>,
    found: Vec<String>,
}

impl Reader {
    fn look(&mut self, c: char) -> Look {
        if c.is_ascii() { Look::of(c) } else { *self.looks.entry(c).or_insert_with(|| Look::of(c)) }
    }

    /// Reads a line or a part of a path. Each word is judged once the one after it is read.
    fn read(&mut self, line: &str) {
        if line.is_ascii() {
            return;
        }
        let [mut before, mut word, mut after] = [Read::default(), Read::default(), Read::default()];
        let mut start = 0;
        for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
            let look = self.look(c);
            if look != Look::Separator {
                after.add(c, look);
                continue;
            }
            if start < at {
                after.text = line.get(start..at).unwrap_or_default();
                self.judge(&before, &word, &after);
                (before, word, after) = (word, after, Read::default());
            }
            start = at + c.len_utf8();
        }
        self.judge(&before, &word, &after);
    }

    fn judge(&mut self, before: &Read<'_>, word: &Read<'_>, after: &Read<'_>) {
        if !word.is_look_alike(before, after) || self.found.len() > MAX_WORDS {
            return;
        }
        let shown: String = word.text.chars().take(MAX_SHOWN).collect();
        let named =
            |(c, model): &(char, char)| format!("U+{:04X} that looks like {model}", u32::from(*c));
        let named = word.alike.iter().map(named).collect::<Vec<_>>().join(", ");
        let sentence = format!("{shown} has {named}");
        if !self.found.contains(&sentence) {
            self.found.push(if self.found.len() < MAX_WORDS { sentence } else { MORE.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        look_alikes([text])
    }

    #[test]
    fn a_word_that_looks_like_another_one_is_named_with_its_characters() {
        for (text, sentence) in [
            (
                "delete /d/сору.txt",
                "сору has U+0441 that looks like c, U+043E that looks like o, U+0440 that looks like p, \
                 U+0443 that looks like y",
            ),
            ("delete /d/rеport.txt", "rеport has U+0435 that looks like e"),
            ("delete /d/repοrt", "repοrt has U+03BF that looks like o"),
            ("delete /d/Α", "Α has U+0391 that looks like A"),
            ("read /home/ann/Рublic", "Рublic has U+0420 that looks like P"),
            ("delete /d/Projects∕report.txt", "Projects∕report has U+2215 that looks like /"),
            ("delete /d/log․txt", "log․txt has U+2024 that looks like ."),
            ("delete /d/repoօt", "repoօt has U+0585 that looks like o"),
            ("delete /d/Ꭱeport", "Ꭱeport has U+13A1 that looks like R"),
            ("delete /d/repᴏrt", "repᴏrt has U+1D0F that looks like o"),
            ("write C:\\d\\𝐫eport", "𝐫eport has U+1D42B that looks like r"),
            ("delete /дом/а.txt", "а has U+0430 that looks like a"),
            ("delete /d/отчёт-pаge", "pаge has U+0430 that looks like a"),
            (
                "delete /d/“сору–1”.txt",
                "сору has U+0441 that looks like c, U+043E that looks like o, U+0440 that looks like p, U+0443 that looks like y",
            ),
            ("delete /d/а✅.txt", "а has U+0430 that looks like a"),
            ("delete /d/а中.txt", "а中 has U+0430 that looks like a"),
            ("delete /d/а 中.txt", "а has U+0430 that looks like a"),
            ("delete /d/2𝟶24", "2𝟶24 has U+1D7F6 that looks like O"),
            ("delete /d/naїve.txt", "naїve has U+0457 that looks like i"),
            ("delete /d/а \u{3164}.txt", "а has U+0430 that looks like a"),
            ("host: аp.com      # ж", "аp has U+0430 that looks like a"),
            ("host: а.com      # ж", "а has U+0430 that looks like a"),
            ("delete /d/ｒeport", "ｒeport has U+FF52 that looks like r"),
        ] {
            assert_eq!(of(text), [sentence], "{text:?}");
        }
        assert_eq!(of("host: pаypal.com\nname: аррӏе").len(), 2);
    }

    #[test]
    fn names_that_can_be_read_as_no_other_are_left_alone() {
        for text in [
            "delete /home/ann/report.txt",
            "delete /home/иван/отчёт за март.txt",
            "write /home/иван/с отчётом.txt",
            "read /home/ann/Æble, Øl, straße, café, Łódź, façade.txt",
            "read /home/νίκος/ο φάκελος μου",
            "read /home/ann/日本語 report：注意.txt",
            "read /home/ann/Foto’s – maart…",
            "read /data/Δt 5 μm",
            "run T恤",
            "read /d/kapı ışık þing 1920×1080 PCノート.txt",
            "read /home/علي/١٥",
            "write Это с нами, а у вас о чём речь",
        ] {
            assert_eq!(of(text), [""; 0], "{text:?}");
        }
    }

    #[test]
    fn all_texts_of_a_call_are_read() {
        let touches = ["write /d/a.yaml".to_owned()];
        let arguments = r#"{"changes":[{"line":1,"new":"host: p\u0430ypal.com"}],"path":"a.yaml"}"#;
        assert_eq!(
            look_alikes_of_call(&touches, arguments.as_bytes()),
            ["pаypal has U+0430 that looks like a"]
        );
    }

    #[test]
    fn only_so_many_words_are_named() {
        let many: Vec<String> = (0..99).map(|n| format!("о{n}")).collect();
        let found = look_alikes(many.iter().map(String::as_str));
        assert_eq!((found.len(), &*found[MAX_WORDS]), (MAX_WORDS + 1, MORE));
        let long = "о".repeat(10_000);
        assert!(of(&long)[0].chars().count() < 120, "{long}");
    }
}
