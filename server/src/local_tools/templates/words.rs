//! Reads a description: its words, and the measures that stand beside them.

use std::sync::LazyLock;

use regex::Regex;

/// The largest measure, in millimetres or milliseconds.
const MAX: f64 = 1_000_000.0;

/// A number with a unit of length or time, or none.
static MEASURE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^(\d{1,7}(?:[.,]\d{1,3})?)(mm|cm|m|in|inch|inches|ms|s|sec|seconds?|minutes?|min)?$",
    )
    .ok()
});

/// One word or measure of a description.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    /// In millimetres or milliseconds.
    Measure(f64),
}

/// A description.
#[derive(Debug)]
pub(super) struct Words(Vec<Token>);

impl Words {
    /// Reads a description in lower case. A unit may stand apart from its number.
    pub(super) fn of(text: &str) -> Self {
        let lower = text.to_lowercase().replace('\u{d7}', " x ");
        let parts: Vec<_> = lower
            .split(|c: char| c.is_whitespace() || matches!(c, ';' | ':' | '(' | ')' | '"'))
            .flat_map(dimensions)
            .map(|part| part.trim_matches([',', '.', '!', '?']).to_owned())
            .filter(|part| !part.is_empty())
            .collect();
        let mut tokens = Vec::new();
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            let joined = parts.peek().and_then(|unit| measure(&format!("{part}{unit}")));
            match (measure(&part), joined) {
                (Some(_), Some(with_unit)) if unit(parts.peek()) => {
                    parts.next();
                    tokens.push(Token::Measure(with_unit));
                }
                (Some(alone), _) => tokens.push(Token::Measure(alone)),
                (None, _) => tokens.push(Token::Word(part)),
            }
        }
        Self(tokens)
    }

    /// Returns whether one of these words occurs.
    pub(super) fn has(&self, words: &[&str]) -> bool {
        self.0
            .iter()
            .any(|token| matches!(token, Token::Word(word) if words.contains(&word.as_str())))
    }

    /// Returns the first measure after one of these words, before another word than `of`, `is` and the like.
    pub(super) fn after(&self, words: &[&str]) -> Option<f64> {
        let at = self.0.iter().position(
            |token| matches!(token, Token::Word(word) if words.contains(&word.as_str())),
        )?;
        let rest = self.0.get(at + 1..)?.iter().skip_while(|token| {
            matches!(token, Token::Word(word) if matches!(word.as_str(), "of" | "is" | "=" | "van" | "a" | "pin" | "every" | "with"))
        });
        match rest.take(1).next()? {
            Token::Measure(value) => Some(*value),
            Token::Word(_) => None,
        }
    }

    /// Returns the word after one of these words.
    pub(super) fn word_after(&self, words: &[&str]) -> Option<&str> {
        let at = self.0.iter().position(
            |token| matches!(token, Token::Word(word) if words.contains(&word.as_str())),
        )?;
        match self.0.get(at + 1)? {
            Token::Word(word) => Some(word),
            Token::Measure(_) => None,
        }
    }

    /// Returns the numbers of two pins.
    pub(super) fn pins(&self) -> Option<[f64; 2]> {
        let pins = self.0.windows(2).filter_map(|two| match two {
            [Token::Word(word), Token::Measure(pin)] if word == "pin" => Some(*pin),
            _ => None,
        });
        <[f64; 2]>::try_from(pins.collect::<Vec<_>>()).ok()
    }

    /// Returns three measures with an `x` between them.
    pub(super) fn three(&self) -> Option<[f64; 3]> {
        let times =
            |token: &Token| matches!(token, Token::Word(word) if word == "x" || word == "by");
        self.0.windows(5).find_map(|five| match five {
            [Token::Measure(a), x, Token::Measure(b), y, Token::Measure(c)]
                if times(x) && times(y) =>
            {
                Some([*a, *b, *c])
            }
            _ => None,
        })
    }
}

/// Splits `40x30x20mm` into its parts.
fn dimensions(part: &str) -> Vec<String> {
    let is_joined = part.contains('x') && part.starts_with(|c: char| c.is_ascii_digit());
    if !is_joined {
        return vec![part.to_owned()];
    }
    let mut parts = Vec::new();
    for (number, piece) in part.split('x').enumerate() {
        if number > 0 {
            parts.push("x".to_owned());
        }
        parts.push(piece.to_owned());
    }
    parts
}

fn unit(part: Option<&String>) -> bool {
    part.is_some_and(|part| {
        matches!(
            part.as_str(),
            "mm" | "cm"
                | "m"
                | "in"
                | "inch"
                | "inches"
                | "ms"
                | "s"
                | "sec"
                | "second"
                | "seconds"
                | "min"
                | "minute"
                | "minutes"
        )
    })
}

/// Returns a measure in millimetres or milliseconds.
fn measure(part: &str) -> Option<f64> {
    let found = MEASURE.as_ref()?.captures(part)?;
    let value: f64 = found.get(1)?.as_str().replace(',', ".").parse().ok()?;
    let factor = match found.get(2).map(|unit| unit.as_str()) {
        None | Some("mm" | "ms") => 1.0,
        Some("cm") => 10.0,
        Some("m" | "s" | "sec" | "second" | "seconds") => 1000.0,
        Some("in" | "inch" | "inches") => 25.4,
        Some(_) => 60_000.0,
    };
    Some(value * factor).filter(|value| (0.0..=MAX).contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_read_with_their_units_beside_them_or_apart() {
        let words = Words::of("Box 4cm x 30 mm x 20, walls of 2,5 mm every 0.5 s on pin 13");
        assert_eq!(words.three(), Some([40.0, 30.0, 20.0]));
        assert_eq!((words.after(&["walls"]), words.after(&["every"])), (Some(2.5), Some(500.0)));
        assert_eq!((words.after(&["pin"]), words.after(&["hole"])), (Some(13.0), None));
        assert_eq!(Words::of("10x20x30mm").three(), Some([10.0, 20.0, 30.0]));
        assert_eq!(Words::of("box 99999999 x 1 x 1").three(), None);
        assert_eq!(Words::of("sensor on A0").word_after(&["on"]), Some("a0"));
    }
}
