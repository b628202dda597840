//! Splits a text into commands and arguments by the quoting rules of a POSIX shell, and refuses everything
//! else that a shell would interpret.

use crate::line::{CommandLine, Next, Token, unwanted};
use crate::refusal::{Position, Refusal, RefusalRule};
use crate::{MAX_ARGUMENTS, MAX_COMMANDS, MAX_TEXT_BYTES};

/// What may follow a `$` inside double quotes, so that no shell substitutes anything.
const LITERAL_AFTER_DOLLAR: &str = "\" |)/,.:%=";

/// Splits a text into its commands, in the order in which they run.
///
/// # Errors
/// The first token that a shell would interpret, or that is never allowed, with its position and the rule.
pub fn split(text: &str) -> Result<Vec<CommandLine>, Refusal> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(Refusal::new("", Position::Byte(MAX_TEXT_BYTES), RefusalRule::TooLong));
    }
    if let Some((at, letter, rule)) =
        text.char_indices().find_map(|(at, letter)| Some((at, letter, unwanted(letter)?)))
    {
        return Err(Refusal::new(letter.to_string(), Position::Byte(at), rule));
    }
    Splitter { text, at: 0, command_start: 0, word: None, tokens: Vec::new(), lines: Vec::new() }
        .run()
}

/// A word that is not complete yet.
struct Word {
    text: String,
    start: usize,
    /// Whether a part of it was quoted.
    is_quoted: bool,
    /// Whether the last character was an unquoted `=` or `:`, behind which some shells expand a tilde.
    after_separator: bool,
}

struct Splitter<'t> {
    text: &'t str,
    at: usize,
    command_start: usize,
    word: Option<Word>,
    tokens: Vec<Token>,
    lines: Vec<CommandLine>,
}

impl Splitter<'_> {
    fn run(mut self) -> Result<Vec<CommandLine>, Refusal> {
        while let Some(letter) = self.peek() {
            match letter {
                ' ' | '\t' => {
                    self.end_word()?;
                    self.at += 1;
                }
                '\'' => self.single_quoted()?,
                '"' => self.double_quoted()?,
                '\\' => self.escaped()?,
                ';' if !self.rest().starts_with(";;") => {
                    self.end_command(Next::Always)?;
                    self.at += 1;
                }
                '&' if self.rest().starts_with("&&") => {
                    self.end_command(Next::OnSuccess)?;
                    self.at += 2;
                }
                _ => self.plain(letter)?,
            }
        }
        self.end_word()?;
        self.finish()
    }

    /// Ends the last command. It may be missing only behind a `;`.
    fn finish(mut self) -> Result<Vec<CommandLine>, Refusal> {
        let ends_in_separator = self.lines.last().and_then(CommandLine::next) == Some(Next::Always);
        if !(self.tokens.is_empty() && ends_in_separator) {
            self.push_command(None)?;
        }
        Ok(self.lines)
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn refuse(&self, token: &str, rule: RefusalRule) -> Refusal {
        Refusal::new(token, Position::Byte(self.at), rule)
    }

    fn word(&mut self) -> &mut Word {
        let start = self.at;
        self.word.get_or_insert_with(|| Word {
            text: String::new(),
            start,
            is_quoted: false,
            after_separator: false,
        })
    }

    /// Takes one character literally.
    fn take(&mut self, letter: char) {
        let word = self.word();
        word.text.push(letter);
        word.after_separator = false;
        self.at += letter.len_utf8();
    }

    /// Takes one character that is neither quoted nor a separator.
    fn plain(&mut self, letter: char) -> Result<(), Refusal> {
        let starts_word = self.word.is_none();
        let after_separator = self.word.as_ref().is_some_and(|word| word.after_separator);
        if let Some((token, rule)) = interpreted(self.rest(), starts_word, after_separator) {
            return Err(self.refuse(token, rule));
        }
        if letter == '=' && self.tokens.is_empty() {
            self.check_assignment()?;
        }
        self.take(letter);
        if matches!(letter, '=' | ':') {
            self.word().after_separator = true;
        }
        Ok(())
    }

    /// Refuses `NAME=` before the program.
    fn check_assignment(&self) -> Result<(), Refusal> {
        let Some(word) = self.word.as_ref().filter(|word| !word.is_quoted) else { return Ok(()) };
        let name = word.text.trim_end_matches('+');
        let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && name.starts_with(|first: char| !first.is_ascii_digit());
        if !is_name {
            return Ok(());
        }
        let token = self.text.get(word.start..).unwrap_or_default();
        let token = token.split([' ', '\t']).next().unwrap_or_default();
        Err(Refusal::new(token, Position::Byte(word.start), RefusalRule::Assignment))
    }

    fn single_quoted(&mut self) -> Result<(), Refusal> {
        let inner = self.text.get(self.at + 1..).unwrap_or_default();
        let Some(end) = inner.find('\'') else {
            return Err(self.refuse("'", RefusalRule::Unterminated));
        };
        let inner = inner.get(..end).unwrap_or_default().to_owned();
        let word = self.word();
        word.is_quoted = true;
        word.after_separator = false;
        word.text.push_str(&inner);
        self.at += inner.len() + 2;
        Ok(())
    }

    fn double_quoted(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        let word = self.word();
        word.is_quoted = true;
        word.after_separator = false;
        self.at += 1;
        while let Some(letter) = self.peek() {
            let next = self.rest().chars().nth(1);
            match (letter, next) {
                ('"', _) => {
                    self.at += 1;
                    return Ok(());
                }
                ('\\', Some('\n')) => return Err(self.refuse("\\\n", RefusalRule::Newline)),
                ('\\', Some(escaped @ ('$' | '`' | '"' | '\\'))) => {
                    self.at += 1;
                    self.take(escaped);
                }
                ('`', _) => return Err(self.refuse("`", RefusalRule::Substitution)),
                ('$', Some(next)) if !LITERAL_AFTER_DOLLAR.contains(next) => {
                    return Err(self.refuse(substitution(self.rest()), RefusalRule::Substitution));
                }
                _ => self.take(letter),
            }
        }
        Err(Refusal::new("\"", Position::Byte(start), RefusalRule::Unterminated))
    }

    fn escaped(&mut self) -> Result<(), Refusal> {
        match self.rest().chars().nth(1) {
            None => Err(self.refuse("\\", RefusalRule::Unterminated)),
            Some('\n') => Err(self.refuse("\\\n", RefusalRule::Newline)),
            Some(letter) => {
                self.word().is_quoted = true;
                self.at += 1;
                self.take(letter);
                Ok(())
            }
        }
    }

    fn end_word(&mut self) -> Result<(), Refusal> {
        if let Some(Word { text, start, .. }) = self.word.take() {
            if self.tokens.len() >= MAX_ARGUMENTS {
                let at = Position::Byte(start);
                return Err(Refusal::new(text, at, RefusalRule::TooManyArguments));
            }
            self.tokens.push(Token { text, position: Position::Byte(start) });
        }
        Ok(())
    }

    fn end_command(&mut self, next: Next) -> Result<(), Refusal> {
        self.end_word()?;
        if self.tokens.is_empty() {
            let token = if next == Next::Always { ";" } else { "&&" };
            return Err(self.refuse(token, RefusalRule::Empty));
        }
        self.push_command(Some(next))?;
        self.command_start = self.at;
        Ok(())
    }

    fn push_command(&mut self, next: Option<Next>) -> Result<(), Refusal> {
        let start = Position::Byte(self.command_start);
        let line = CommandLine::new(std::mem::take(&mut self.tokens), next, start)?;
        if self.lines.len() >= MAX_COMMANDS {
            let Token { text, position } = line.program().clone();
            return Err(Refusal::new(text, position, RefusalRule::TooManyCommands));
        }
        self.lines.push(line);
        Ok(())
    }
}

/// Returns the token at the start of an unquoted text that a shell would interpret, with the rule.
fn interpreted(
    rest: &str,
    starts_word: bool,
    after_separator: bool,
) -> Option<(&str, RefusalRule)> {
    use RefusalRule as Rule;
    let operators = [
        ("<<", Rule::HereDocument),
        ("<(", Rule::Substitution),
        (">(", Rule::Substitution),
        (">>", Rule::Redirection),
        (">&", Rule::Redirection),
        ("<&", Rule::Redirection),
        ("<>", Rule::Redirection),
        (">|", Rule::Redirection),
        ("<", Rule::Redirection),
        (">", Rule::Redirection),
        ("||", Rule::Or),
        ("|&", Rule::Pipe),
        ("|", Rule::Pipe),
        ("&>", Rule::Redirection),
        ("&", Rule::Background),
        (";;", Rule::Subshell),
        ("(", Rule::Subshell),
        (")", Rule::Subshell),
        ("{", Rule::Braces),
        ("}", Rule::Braces),
        ("*", Rule::Glob),
        ("?", Rule::Glob),
        ("[", Rule::Glob),
        ("!", Rule::Negation),
        ("`", Rule::Substitution),
        ("\n", Rule::Newline),
    ];
    if rest.starts_with('$') {
        return Some((substitution(rest), Rule::Substitution));
    }
    if starts_word && rest.starts_with('#') {
        return Some(("#", Rule::Comment));
    }
    if (starts_word || after_separator) && rest.starts_with('~') {
        return Some(("~", Rule::Tilde));
    }
    operators.into_iter().find(|(token, _)| rest.starts_with(token))
}

/// Returns the start of a substitution as a message names it: `$(`, `${`, or `$NAME`.
fn substitution(rest: &str) -> &str {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let behind = rest.get(1..).unwrap_or_default();
    let name = behind.find(|letter| !is_name(letter)).unwrap_or(behind.len());
    let len = if name > 0 { name } else { behind.chars().next().map_or(0, char::len_utf8) };
    rest.get(..=len).unwrap_or(rest)
}

#[cfg(test)]
mod tests;
