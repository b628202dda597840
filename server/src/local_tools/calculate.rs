//! `calculate`: evaluates an arithmetic expression. An expression has at most 1,000 characters and 64 levels, and
//! a number at most 128 bits or the range of a float, so that every expression ends at once.

mod number;
mod parser;
#[cfg(test)]
mod tests;

use orion_catalog::Tool;
use orion_catalog::tools::calculate::{Arguments, Calculate, Returns};
use orion_domain::{ErrorCode, ToolError};

use super::{Context, LocalTool, Outcome};
use number::Number;

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum CalculationError {
    /// The expression is too long.
    #[error("the expression has more than {} characters", parser::MAX_CHARACTERS)]
    TooLong,
    /// Too many operators or brackets are inside each other.
    #[error("the expression has more than {} levels", parser::MAX_DEPTH)]
    TooDeep,
    /// A character or word has no meaning here.
    #[error("`{found}` at character {at} has no meaning here")]
    Unexpected {
        /// The text.
        found: String,
        /// Its position, from 1.
        at: usize,
    },
    /// Something is missing at the end.
    #[error("the expression is not complete")]
    Incomplete,
    /// A division by zero.
    #[error("the expression divides by zero")]
    DivisionByZero,
    /// A value is larger than any number here.
    #[error("a value of the expression is too large")]
    TooLarge,
    /// A value is no real number.
    #[error("a value of the expression is no real number")]
    NotReal,
}

/// Returns the value of an expression.
fn evaluate(expression: &str) -> Result<Number, CalculationError> {
    parser::Parser::new(expression)?.evaluate()
}

impl LocalTool for Calculate {
    async fn run(arguments: Arguments, _: Context) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { expression } = arguments;
        let value = evaluate(&expression).map_err(|error| {
            let message = orion_domain::envelope::sentence(&error.to_string());
            ToolError::new(ErrorCode::InvalidArgument, message)
                .with("fields", vec!["expression"])
                .with("example", Self::EXAMPLE)
        })?;
        let (result, exact) = (value.to_string(), value.is_exact());
        let data = Returns { expression, result, exact };
        let message = format!("{} = {}", data.expression.trim(), data.result);
        Ok(Outcome { message, data, truncated: false })
    }
}
