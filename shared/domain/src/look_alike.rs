//! Finds words that can be read as others, because their letters look like Latin ones, or a sign looks like one that
//! separates names. What looks like what is in Unicode's confusables (UTS #39).

use serde_json::Value;
use unicode_security::{MixedScript as _, skeleton};

/// At most so many words are named.
const MAX_WORDS: usize = 20;
/// At most so many characters of a word are named.
const MAX_CHARS: usize = 6;
/// At most so much of a word is shown, in characters.
const MAX_SHOWN: usize = 60;

/// Returns a sentence for each word of these texts that can be read as another one.
///
/// Such a word mixes alphabets, or all of it looks Latin and nothing in its line or part of a path shows that it is
/// of another alphabet.
pub fn look_alikes<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let names = texts.into_iter().flat_map(|text| text.split(['/', '\\', '\n']));
    for name in names.filter(|name| !name.is_ascii()) {
        let is_foreign = name.chars().any(|c| !looks_latin(c));
        let separates = |c: char| c.is_whitespace() || c.is_ascii() && !c.is_alphanumeric();
        for word in name.split(separates).filter(|word| !word.is_ascii()) {
            if found.len() == MAX_WORDS {
                return found;
            }
            if let Some(sentence) = look_alike(word, is_foreign).filter(|it| !found.contains(it)) {
                found.push(sentence);
            }
        }
    }
    found
}

/// Returns the same of what a call touches and of its arguments, which are JSON.
#[must_use]
pub fn look_alikes_of_call(touches: &[String], arguments: &[u8]) -> Vec<String> {
    let arguments = serde_json::from_slice(arguments).unwrap_or(Value::Null);
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

fn look_alike(word: &str, is_foreign: bool) -> Option<String> {
    let mixes = !word.is_single_script();
    let looks_ascii = !is_foreign && word.chars().all(|c| c.is_ascii() || model(c).is_some());
    let mut alike: Vec<(char, char)> = Vec::new();
    for (c, model) in word.chars().filter_map(|c| Some((c, model(c)?))) {
        let counts = looks_ascii || mixes && c.is_alphabetic();
        if counts && !alike.contains(&(c, model)) && alike.len() < MAX_CHARS {
            alike.push((c, model));
        }
    }
    if alike.is_empty() {
        return None;
    }
    let shown: String = word.chars().take(MAX_SHOWN).collect();
    let named =
        alike.iter().map(|(c, model)| format!("U+{:04X} that looks like {model}", u32::from(*c)));
    Some(format!("{shown} has {}", named.collect::<Vec<_>>().join(", ")))
}

/// Returns the ASCII character that another character looks like: a letter, a digit, or a sign that separates names.
fn model(c: char) -> Option<char> {
    if c.is_ascii() {
        return None;
    }
    let mut buffer = [0; 4];
    let mut models = skeleton(c.encode_utf8(&mut buffer));
    let (model, None) = (models.next()?, models.next()) else { return None };
    (model.is_ascii_alphanumeric() || matches!(model, '/' | '\\' | '.' | ':')).then_some(model)
}

/// Returns whether a character is no letter, or one that is taken for a Latin one.
fn looks_latin(c: char) -> bool {
    !c.is_alphabetic() || c.is_ascii() || model(c).is_some() || is_latin(c)
}

fn is_latin(c: char) -> bool {
    ['a', c].iter().collect::<String>().is_single_script()
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
        assert_eq!(look_alikes(many.iter().map(String::as_str)).len(), MAX_WORDS);
        let long = "о".repeat(10_000);
        assert!(of(&long)[0].chars().count() < 120, "{long}");
    }
}
