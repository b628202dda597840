//! Parses and evaluates an expression in one pass, by precedence:
//!
//! ```text
//! sum     = product { ( "+" | "-" ) product }
//! product = signed { ( "*" | "/" | "//" | "%" ) signed }
//! signed  = ( "-" | "+" ) signed | power
//! power   = atom [ "**" signed ]
//! atom    = number | "(" sum ")"
//! number  = digits [ "." digits ] [ ( "e" | "E" ) [ "+" | "-" ] digits ], or "." digits …
//! ```

use super::CalculationError;
use super::number::Number;

/// The maximum length of an expression, in characters.
pub(super) const MAX_CHARACTERS: usize = 1000;
/// The maximum number of levels: brackets, signs and powers inside each other.
pub(super) const MAX_DEPTH: usize = 64;
/// The maximum length of a text that an error quotes, in characters.
const MAX_QUOTED: usize = 20;

type Value = Result<Number, CalculationError>;

/// One part of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Token {
    Number(Number),
    Plus,
    Minus,
    Times,
    Over,
    OverFloor,
    Modulo,
    Power,
    Open,
    Close,
}

/// A parser at a position of its expression.
#[derive(Debug)]
pub(super) struct Parser {
    characters: Vec<char>,
    at: usize,
    /// Where the token begins that was read last.
    token_at: usize,
    next: Option<Token>,
    depth: usize,
}

impl Parser {
    /// Creates a parser at the first token.
    ///
    /// # Errors
    /// The expression is too long, or its first token has no meaning.
    pub(super) fn new(expression: &str) -> Result<Self, CalculationError> {
        let characters: Vec<char> = expression.chars().take(MAX_CHARACTERS + 1).collect();
        if characters.len() > MAX_CHARACTERS {
            return Err(CalculationError::TooLong);
        }
        let mut parser = Self { characters, at: 0, token_at: 0, next: None, depth: 0 };
        parser.advance()?;
        Ok(parser)
    }

    /// Evaluates the whole expression.
    ///
    /// # Errors
    /// [`CalculationError`].
    pub(super) fn evaluate(mut self) -> Value {
        let value = self.sum()?;
        if self.next.is_some() { Err(self.unexpected()) } else { Ok(value) }
    }

    fn sum(&mut self) -> Value {
        let mut value = self.product()?;
        loop {
            let operation = match self.next {
                Some(Token::Plus) => Number::add,
                Some(Token::Minus) => Number::subtract,
                _ => return Ok(value),
            };
            self.advance()?;
            value = operation(value, self.product()?)?;
        }
    }

    fn product(&mut self) -> Value {
        let mut value = self.signed()?;
        loop {
            let operation = match self.next {
                Some(Token::Times) => Number::multiply,
                Some(Token::Over) => Number::divide,
                Some(Token::OverFloor) => Number::floor_divide,
                Some(Token::Modulo) => Number::modulo,
                _ => return Ok(value),
            };
            self.advance()?;
            value = operation(value, self.signed()?)?;
        }
    }

    fn signed(&mut self) -> Value {
        if self.depth == MAX_DEPTH {
            return Err(CalculationError::TooDeep);
        }
        self.depth += 1;
        let value = match self.next {
            Some(Token::Minus) => {
                self.advance()?;
                self.signed()?.negate()
            }
            Some(Token::Plus) => {
                self.advance()?;
                self.signed()
            }
            _ => self.power(),
        };
        self.depth -= 1;
        value
    }

    fn power(&mut self) -> Value {
        let base = self.atom()?;
        if self.next != Some(Token::Power) {
            return Ok(base);
        }
        self.advance()?;
        base.power(self.signed()?)
    }

    fn atom(&mut self) -> Value {
        match self.next {
            Some(Token::Number(number)) => {
                self.advance()?;
                Ok(number)
            }
            Some(Token::Open) => {
                self.advance()?;
                let value = self.sum()?;
                match self.next {
                    Some(Token::Close) => self.advance()?,
                    Some(_) => return Err(self.unexpected()),
                    None => return Err(CalculationError::Incomplete),
                }
                Ok(value)
            }
            Some(_) => Err(self.unexpected()),
            None => Err(CalculationError::Incomplete),
        }
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Reads the next token.
    fn advance(&mut self) -> Result<(), CalculationError> {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.token_at = self.at;
        let Some(first) = self.peek() else {
            self.next = None;
            return Ok(());
        };
        if first.is_ascii_digit() || first == '.' {
            self.next = Some(Token::Number(self.number()?));
            return Ok(());
        }
        self.at += 1;
        self.next = Some(match first {
            '+' => Token::Plus,
            '-' | '\u{2212}' => Token::Minus,
            '*' if self.takes('*') => Token::Power,
            '*' => Token::Times,
            '/' if self.takes('/') => Token::OverFloor,
            '/' => Token::Over,
            '%' => Token::Modulo,
            '(' => Token::Open,
            ')' => Token::Close,
            _ => return Err(self.unexpected()),
        });
        Ok(())
    }

    fn number(&mut self) -> Value {
        self.digits();
        let is_integer = self.peek() != Some('.');
        if self.takes('.') {
            self.digits();
        }
        let has_exponent = matches!(self.peek(), Some('e' | 'E'));
        if has_exponent {
            self.at += 1;
            if !self.takes('-') {
                self.takes('+');
            }
            self.digits();
        }
        let text: String =
            self.characters.get(self.token_at..self.at).unwrap_or_default().iter().collect();
        if is_integer
            && !has_exponent
            && let Ok(integer) = text.parse()
        {
            return Ok(Number::Integer(integer));
        }
        let float: f64 = text.parse().map_err(|_| self.unexpected())?;
        Number::float(float)
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|digit| digit.is_ascii_digit()) {
            self.at += 1;
        }
    }

    /// Returns the error for the last token: a whole word, if it begins one.
    fn unexpected(&self) -> CalculationError {
        let rest = self.characters.get(self.token_at..).unwrap_or_default();
        let is_word = |it: &&char| it.is_alphanumeric() || **it == '_' || **it == '.';
        let mut found: String = rest.iter().take_while(is_word).take(MAX_QUOTED).collect();
        if found.is_empty() {
            let end = self.at.saturating_sub(self.token_at).max(1);
            found = rest.iter().take(end).collect();
        }
        let found = orion_domain::strip_hidden(&found, MAX_QUOTED);
        CalculationError::Unexpected { found, at: self.token_at + 1 }
    }
}
