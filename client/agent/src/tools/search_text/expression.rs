//! Compiles the regular expression within limits.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use orion_domain::ToolError;
use regex_automata::nfa::thompson::{self, NFA};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::tools::invalid;

/// Maximum length of an expression, in bytes.
const MAX_BYTES: usize = 4096;
/// The longest expression whose size is estimated, in bytes, and the most `\`, `[` and `.` in it.
const MAX_ESTIMATED_BYTES: usize = 512;
const MAX_ESTIMATED_CLASSES: usize = 16;
/// The memory of a search beside its expression, in bytes.
const SEARCH_BYTES: u64 = 2 * 1024 * 1024;
/// The memory of each state, in bytes.
const STATE_BYTES: u64 = 320;
/// The memory of a search with the largest expression, in bytes.
const MAX_ROOM_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum size of the compiled expression, in bytes.
const MAX_COMPILED_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of states of the compiled expression.
const MAX_STATES: usize = 50_000;
/// Maximum cache of the expression in a thread, in bytes.
const MAX_CACHE_BYTES: usize = 512 * 1024;
/// Maximum work between two checks of the deadline, as states times bytes. The library may follow every state
/// for each byte, and does not check the deadline itself. At worst about a tenth of a second.
const MAX_WORK: usize = 100_000_000;
/// Maximum length of a line for any expression, in bytes. Longer lines are hardly text.
const MAX_LINE_BYTES: usize = 256 * 1024;
/// Maximum nesting of groups.
const MAX_NESTING: u32 = 100;

/// An expression that is matched line by line.
#[derive(Debug, Clone)]
pub(in crate::tools) struct Expression {
    pub(in crate::tools) matcher: RegexMatcher,
    /// Maximum length of a line for this expression, in bytes: the larger the expression, the shorter.
    pub(in crate::tools) max_line_bytes: usize,
}

/// Returns how many bytes a search may take: the expression in all the forms that the library makes of it, what
/// each thread keeps of it, and what is found. An expression with many classes counts as the largest, because
/// reading it takes much already.
pub(in crate::tools) fn room_bytes(text: &str) -> u64 {
    if text.len() > MAX_ESTIMATED_BYTES
        || text.matches(['\\', '[', '.']).count() > MAX_ESTIMATED_CLASSES
    {
        return MAX_ROOM_BYTES;
    }
    // An expression that is not one is refused when it is parsed.
    let states = syntax(text).map_or(0, |hir| estimated_states(&hir));
    SEARCH_BYTES.saturating_add(states.saturating_mul(STATE_BYTES)).min(MAX_ROOM_BYTES)
}

/// Reads the syntax of an expression. Nothing is compiled.
fn syntax(text: &str) -> Result<Hir, Box<regex_syntax::Error>> {
    let mut parser = regex_syntax::ParserBuilder::new().nest_limit(MAX_NESTING).utf8(false).build();
    parser.parse(text).map_err(Box::new)
}

/// Returns about how many states an expression has once it is compiled.
fn estimated_states(hir: &Hir) -> u64 {
    let sum = |parts: &[Hir]| parts.iter().map(estimated_states).fold(0, u64::saturating_add);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => 4 * class.ranges().len() as u64,
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() as u64,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            estimated_states(&repetition.sub).saturating_mul(times.into())
        }
        HirKind::Capture(capture) => estimated_states(&capture.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}

/// Compiles an expression.
pub(in crate::tools) fn parse(text: &str) -> Result<Expression, ToolError> {
    if text.is_empty() || text.len() > MAX_BYTES {
        return Err(invalid(format!("A regular expression has 1 to {MAX_BYTES} bytes.")));
    }
    let hir = syntax(text).map_err(|error| refused(text, &error))?;
    let bounds = thompson::Config::new().utf8(false).nfa_size_limit(Some(MAX_COMPILED_BYTES));
    let nfa = NFA::compiler().configure(bounds).build_from_hir(&hir);
    let states = nfa.map_or(usize::MAX, |nfa| nfa.states().len());
    if states > MAX_STATES {
        return Err(too_large(text));
    }
    let matcher = RegexMatcherBuilder::new()
        .multi_line(true)
        .nest_limit(MAX_NESTING + 1)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_CACHE_BYTES)
        // A line ends with LF or CR LF, and `$` matches before both.
        .crlf(true)
        .build(text)
        .map_err(|error| match error.kind() {
            ErrorKind::NotAllowed(_) => invalid(format!(
                "`{}` can match a line's end, and lines are matched one by one; write an expression for one line.",
                shown(text)
            )),
            ErrorKind::Regex(_) | ErrorKind::InvalidLineTerminator(_) | ErrorKind::Banned(_) => {
                too_large(text)
            }
            // Future versions of the library may add kinds.
            _ => invalid(format!(
                "`{}` is not a regular expression that can be matched line by line.",
                shown(text)
            )),
        })?;
    let max_line_bytes = (MAX_WORK / states.max(1)).min(MAX_LINE_BYTES);
    Ok(Expression { matcher, max_line_bytes })
}

fn too_large(text: &str) -> ToolError {
    invalid(format!(
        "`{}` is too large once compiled: {MAX_STATES} states and {MAX_COMPILED_BYTES} bytes are the most. Repeat less in it.",
        shown(text)
    ))
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
    #[test]
    fn the_larger_an_expression_is_the_shorter_are_the_lines_that_it_searches() {
        let line = |text: &str| parse(text).unwrap().max_line_bytes;
        assert_eq!(line("fn main"), MAX_LINE_BYTES);
        assert_eq!(line(r"(?i)fn\s+main"), MAX_LINE_BYTES);
        let large = line("a[ab]{20000}[xyz]");
        assert!((2_000..10_000).contains(&large), "{large}");
        for small in ["fn main", r"(?i)fn\s+main\(\) \{", r"\d{4}-\d{2}", r"\w+@\w+\.\w+"] {
            assert!(room_bytes(small) < 3 * SEARCH_BYTES, "{small}: {}", room_bytes(small));
        }
        for large in ["a[ab]{20000}[xyz]", &r"\w".repeat(64), &"x".repeat(600)] {
            assert_eq!(room_bytes(large), MAX_ROOM_BYTES, "{large}");
        }
        assert!(parse("[ab]{60000}").unwrap_err().message.contains("Repeat less"));
    }
}
