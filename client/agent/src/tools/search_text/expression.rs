//! The regular expression, within bounds.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use orion_domain::ToolError;

use crate::tools::invalid;

/// The longest expression, in bytes.
const MAX_BYTES: usize = 4096;
/// What it may take once it is compiled, in bytes.
const MAX_COMPILED_BYTES: usize = 10 * 1024 * 1024;
/// What a thread may keep of it while it searches, in bytes.
const MAX_CACHE_BYTES: usize = 8 * 1024 * 1024;
/// How deep groups may stand in each other.
const MAX_NESTING: u32 = 100;

/// Reads an expression that is matched line by line.
pub(super) fn parse(text: &str) -> Result<RegexMatcher, ToolError> {
    if text.is_empty() || text.len() > MAX_BYTES {
        return Err(invalid(format!("A regular expression has 1 to {MAX_BYTES} bytes.")));
    }
    if let Err(error) =
        regex_syntax::ParserBuilder::new().nest_limit(MAX_NESTING).utf8(false).build().parse(text)
    {
        return Err(refused(text, &error));
    }
    RegexMatcherBuilder::new()
        .multi_line(true)
        .nest_limit(MAX_NESTING + 1)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_CACHE_BYTES)
        // A line ends with LF or with CR LF, and `$` matches before both.
        .crlf(true)
        .build(text)
        .map_err(|error| {
            let shown = shown(text);
            invalid(match error.kind() {
                ErrorKind::NotAllowed(_) => format!(
                    "`{shown}` can match a line's end, and lines are matched one by one; write an expression for one line."
                ),
                ErrorKind::Regex(_) | ErrorKind::InvalidLineTerminator(_) | ErrorKind::Banned(_) => {
                    format!("`{shown}` takes more than {MAX_COMPILED_BYTES} bytes once compiled; repeat less in it.")
                }
                // The library may come to know more.
                _ => format!("`{shown}` is not a regular expression that can be matched line by line."),
            })
        })
}

fn refused(text: &str, error: &regex_syntax::Error) -> ToolError {
    let (reason, column) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), error.span().start.column),
        regex_syntax::Error::Translate(error) => {
            (error.kind().to_string(), error.span().start.column)
        }
        _ => ("it cannot be read".to_owned(), 1),
    };
    invalid(format!(
        "`{}` is not a regular expression: {reason}, at character {column}.",
        shown(text)
    ))
    .with("position", column)
}

fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_expression_is_told_with_its_place() {
        let error = |text: &str| parse(text).unwrap_err();
        let open = error("fn (main");
        assert_eq!(
            open.message,
            "`fn (main` is not a regular expression: unclosed group, at character 4."
        );
        assert_eq!(open.details["position"], serde_json::json!(4));
        for text in ["", "a\\nb", "[a", "a{2", "*", "(?=a)", "\\p{nothing}", "(?:\\w{900}){900}"] {
            let error = error(text);
            assert_eq!(error.code, orion_domain::ErrorCode::InvalidArgument, "{text}");
        }
        let deep = format!("{}a{}", "(".repeat(200), ")".repeat(200));
        assert!(error(&deep).message.contains("nest"), "{}", error(&deep).message);
        let long = "x".repeat(MAX_BYTES + 1);
        assert_eq!(error(&long).code, orion_domain::ErrorCode::InvalidArgument);
    }
}
