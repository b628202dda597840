//! One command: its program and arguments as the program would receive them.

use orion_domain::is_hidden;

use crate::refusal::{Position, Refusal, RefusalRule};
use crate::{MAX_ARGUMENTS, MAX_TEXT_BYTES};

/// One argument, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The argument, byte for byte as the program receives it.
    pub text: String,
    /// Where it is.
    pub position: Position,
}

/// When the next command of a sequence runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Only if this command succeeds: `&&`.
    OnSuccess,
    /// Whether this command succeeds or fails: `;`.
    Always,
}

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    program: Token,
    arguments: Vec<Token>,
    next: Option<Next>,
}

impl CommandLine {
    /// Creates a command from a list of the program and its arguments, in which nothing is quoted.
    ///
    /// # Errors
    /// A list that is empty or too long, and a control or hidden character.
    pub fn from_argv(argv: Vec<String>) -> Result<Self, Refusal> {
        let start = Position::Argument(0);
        if argv.iter().map(String::len).sum::<usize>() > MAX_TEXT_BYTES {
            return Err(Refusal::new("", start, RefusalRule::TooLong));
        }
        let mut tokens = Vec::new();
        for (number, text) in argv.into_iter().enumerate() {
            let position = Position::Argument(number);
            if let Some((letter, rule)) = text.chars().find_map(|it| Some((it, unwanted(it)?))) {
                return Err(Refusal::new(letter.to_string(), position, rule));
            }
            tokens.push(Token { text, position });
        }
        Self::new(tokens, None, start)
    }

    /// Creates a command of tokens; the first is the program. The position is where it starts.
    pub(crate) fn new(
        tokens: Vec<Token>,
        next: Option<Next>,
        start: Position,
    ) -> Result<Self, Refusal> {
        if let Some(first_above) = tokens.get(MAX_ARGUMENTS) {
            let Token { text, position } = first_above.clone();
            return Err(Refusal::new(text, position, RefusalRule::TooManyArguments));
        }
        let mut tokens = tokens.into_iter();
        match tokens.next() {
            Some(program) if !program.text.is_empty() => {
                Ok(Self { program, arguments: tokens.collect(), next })
            }
            _ => Err(Refusal::new("", start, RefusalRule::Empty)),
        }
    }

    /// Returns the program as it was named.
    #[must_use]
    pub const fn program(&self) -> &Token {
        &self.program
    }

    /// Returns the arguments without the program.
    #[must_use]
    pub fn arguments(&self) -> &[Token] {
        &self.arguments
    }

    /// Returns when the next command of the sequence runs. None for the last one.
    #[must_use]
    pub const fn next(&self) -> Option<Next> {
        self.next
    }

    /// Returns the command as text that [`split`](crate::split()) splits to the same arguments.
    #[must_use]
    pub fn quoted(&self) -> String {
        let mut text = quote(&self.program.text);
        for argument in &self.arguments {
            text.push(' ');
            text.push_str(&quote(&argument.text));
        }
        text
    }
}

/// Returns the rule that refuses a character wherever it is. A line end and a tab are refused only outside
/// of quotes, where the splitter sees them.
pub(crate) fn unwanted(letter: char) -> Option<RefusalRule> {
    match letter {
        '\n' | '\t' => None,
        letter if letter.is_control() => Some(RefusalRule::ControlCharacter),
        letter if is_hidden(letter) => Some(RefusalRule::HiddenCharacter),
        _ => None,
    }
}

/// Returns one argument with quotes where it needs them.
#[must_use]
pub fn quote(argument: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@%+,".contains(letter);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}
