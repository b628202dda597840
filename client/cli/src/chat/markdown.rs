//! Shows a model's markdown plainly as it streams: bold, code, headings and lists. Everything else stays as it
//! is written, so that no text is lost where it is no markdown.

use clap::builder::styling::{AnsiColor, Style};

const BOLD: Style = Style::new().bold();
const CODE: Style = AnsiColor::Cyan.on_default();

/// Renders a text that comes in pieces. The text has no control characters any more.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// What is not decided yet: marks that may grow, and the beginning of a line.
    held: String,
    in_line: bool,
    in_fence: bool,
    in_code: bool,
    is_bold: bool,
    is_heading: bool,
}

impl Markdown {
    /// Returns what can be shown of the text so far.
    pub(super) fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for c in text.chars() {
            self.take(c, &mut out);
        }
        out
    }

    /// Returns what is still held, and ends every style.
    pub(super) fn finish(&mut self) -> String {
        let mut out = String::new();
        self.settle(None, &mut out);
        out.push_str(&self.held);
        self.held.clear();
        self.end_styles(&mut out);
        *self = Self::default();
        out
    }

    fn take(&mut self, c: char, out: &mut String) {
        if c == '\n' {
            self.settle(None, out);
            if !self.in_fence || self.in_line {
                self.end_styles(out);
            }
            out.push('\n');
            self.in_line = false;
            return;
        }
        let is_mark = |it: char| matches!(it, '*' | '`' | '#' | '-');
        let grows = match self.held.chars().next() {
            // A mark at the beginning of a line is decided by what follows it.
            Some(first) => c == first && is_mark(c),
            None => is_mark(c) && (c == '*' || c == '`' || !self.in_line),
        };
        if grows {
            self.held.push(c);
            return;
        }
        self.settle(Some(c), out);
        if is_mark(c) && (c == '*' || c == '`') {
            self.held.push(c);
            return;
        }
        self.in_line |= !c.is_whitespace();
        out.push(c);
    }

    /// Decides what the held marks are, by what follows them.
    fn settle(&mut self, next: Option<char>, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        let begins = !self.in_line;
        let is_space = next == Some(' ');
        match held.as_str() {
            "" => return,
            _ if begins && held.starts_with("```") => {
                self.in_fence = !self.in_fence;
                self.in_line = true;
                out.push_str(&format!("{CODE}{held}"));
                if !self.in_fence {
                    out.push_str(&format!("{CODE:#}"));
                }
                return;
            }
            _ if self.in_fence => out.push_str(&held),
            "`" => {
                self.in_code = !self.in_code;
                out.push_str(&if self.in_code { CODE.to_string() } else { format!("{CODE:#}") });
            }
            "**" if !self.in_code && (self.is_bold || next.is_some_and(|c| !c.is_whitespace())) => {
                self.is_bold = !self.is_bold;
                out.push_str(&if self.is_bold { BOLD.to_string() } else { format!("{BOLD:#}") });
            }
            "-" | "*" if begins && is_space => out.push('•'),
            _ if begins && held.starts_with('#') && held.len() <= 6 && is_space => {
                self.is_heading = true;
                out.push_str(&format!("{BOLD}{held}"));
            }
            _ => out.push_str(&held),
        }
        self.in_line = true;
    }

    /// Ends what does not go on in the next line.
    fn end_styles(&mut self, out: &mut String) {
        if self.in_code || self.is_bold || self.is_heading {
            out.push_str(&format!("{BOLD:#}"));
        }
        (self.in_code, self.is_bold, self.is_heading) = (false, false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut whole = Markdown::default();
        let mut all = whole.push(text);
        all.push_str(&whole.finish());
        let mut pieces = Markdown::default();
        let mut single: String = text.chars().map(|c| pieces.push(&c.to_string())).collect();
        single.push_str(&pieces.finish());
        assert_eq!(single, all, "letter by letter");
        all.replace('\u{1b}', "~")
    }

    #[test]
    fn bold_code_headings_and_lists_are_styled_and_the_rest_is_as_written() {
        for (text, expected) in [
            ("a **b** c", "a ~[1mb~[0m c"),
            ("run `ls -l` now", "run ~[36mls -l~[0m now"),
            ("- one\n- two", "• one\n• two"),
            ("* one", "• one"),
            ("## Title\ntext", "~[1m## Title~[0m\ntext"),
            ("2 * 3 ** 4 - 5 # 6", "2 * 3 ** 4 - 5 # 6"),
            ("a-b #tag --flag", "a-b #tag --flag"),
            ("**open\nnext", "~[1mopen~[0m\nnext"),
            ("`**`", "~[36m**~[0m"),
            ("*", "*"),
            ("---", "---"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn a_fence_shows_its_lines_as_they_are() {
        let text = "```sh\nls **x** - `y`\n```\nend";
        let plain: String = strip(&shown(text));
        assert_eq!(plain, text);
        assert!(shown(text).ends_with("~[0m\nend"), "{}", shown(text));
    }

    fn strip(text: &str) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('~') {
            plain.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        plain + rest
    }
}
