//! Shows a streamed answer as it arrives, up to where a call may begin.

/// Releases the text of an answer piece by piece. What it released depends only on the whole text, never on
/// how it was split; what it holds back is shown when the calls are known.
#[derive(Debug, Default)]
pub struct Released {
    /// The first word, as long as it may become the name of a function.
    first: String,
    state: State,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// In the first word of the answer.
    #[default]
    First,
    /// In prose.
    Open,
    /// A call may have begun.
    Held,
}

impl Released {
    /// Takes the next piece and returns what can be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        let mut shown = String::new();
        for letter in piece.chars() {
            match self.state {
                State::Held => break,
                State::Open if is_opening(letter) => self.state = State::Held,
                State::Open => shown.push(letter),
                State::First => self.first(letter, &mut shown),
            }
        }
        shown
    }

    fn first(&mut self, letter: char, shown: &mut String) {
        let in_word = letter.is_ascii_alphanumeric() || "_.".contains(letter);
        let is_blank = self.first.trim().is_empty();
        if in_word || (is_blank && letter.is_whitespace()) {
            return self.first.push(letter);
        }
        // `f(a=1)` without brackets, and Phi's `functools[…]`.
        if letter == '(' || self.first.trim() == "functools" {
            self.state = State::Held;
            return;
        }
        shown.push_str(&std::mem::take(&mut self.first));
        self.state = State::Open;
        if is_opening(letter) {
            self.state = State::Held;
        } else {
            shown.push(letter);
        }
    }
}

const fn is_opening(letter: char) -> bool {
    matches!(letter, '{' | '[' | '<' | '`')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> String {
        Released::default().push(text)
    }

    #[test]
    fn what_may_be_a_call_is_held_back() {
        for (text, shown) in [
            ("Sure! {\"tool\"", "Sure! "),
            ("read_file(path=", ""),
            (" functools [{", ""),
            ("functools are", ""),
            ("Hello, world (x)", "Hello, world (x)"),
            ("Hi<tool_call>", "Hi"),
            ("Hi", ""),
            ("It is `x`", "It is "),
        ] {
            assert_eq!(whole(text), shown, "{text}");
        }
    }

    #[test]
    fn any_split_shows_the_same() {
        for text in ["Sure! é {\"tool\"", "read_file(path=", " functools [{", "Hello, world (x) ☕"]
        {
            let mut released = Released::default();
            let shown: String =
                text.chars().map(|letter| released.push(letter.encode_utf8(&mut [0; 4]))).collect();
            assert_eq!(shown, whole(text), "{text}");
        }
    }
}
