//! Finds where a JSON value that starts at some byte ends, or where it stops being JSON.
//!
//! It follows JSON's grammar of brackets, names, colons and commas in one pass without recursion. The
//! parser reads the content of strings and numbers. Because it follows the grammar, and does not only
//! count brackets, a brace in prose does not hide the call after it.

use super::MAX_DEPTH;

/// The error where an object's name is expected and missing.
pub(super) const EXPECTED_NAME: &str = "a name in double quotes is missing here";

/// The measurement of one value.
pub(super) struct Measure {
    /// What the names in the value show, as far as it was read.
    pub(super) names: Names,
    /// The byte after the value, or where and how it breaks.
    pub(super) end: Result<usize, Break>,
}

/// The end of JSON inside a value.
pub(super) struct Break {
    pub(super) at: usize,
    pub(super) why: BreakReason,
}

/// The way in which a value breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BreakReason {
    /// The text ends inside the value.
    Unfinished,
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// Something else than the named element follows.
    Expected(&'static str),
}

/// What the names in a value show about it, without parsing it.
#[derive(Clone, Copy, Default)]
pub(super) struct Names {
    /// At least one name has a colon, so this is JSON and not a brace in prose.
    pub(super) any: bool,
    /// A name shows that a call was meant.
    pub(super) call: bool,
    /// A name shows that the value may be a call.
    pub(super) candidate: bool,
}

impl Names {
    fn note(&mut self, name: &[u8], outermost: bool) {
        self.any = true;
        match name {
            b"tool" | b"tool_calls" | b"tool_call" | b"function_call" | b"function"
            | b"arguments" => self.call = true,
            b"name" => self.call |= outermost,
            // An escaped name may spell any of the others.
            b"tool_name" | b"function_name" | b"action_input" | b"tool_input" | b"tool_args" => {
                self.candidate = true;
            }
            _ => self.candidate |= name == b"action" || name.contains(&b'\\'),
        }
        self.candidate |= self.call;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Name,
    NameOrEnd,
    Colon,
    CommaOrEnd,
}

impl Expect {
    fn describe(self) -> &'static str {
        match self {
            Self::Value | Self::ValueOrEnd => "a value is missing here",
            Self::Name | Self::NameOrEnd => EXPECTED_NAME,
            Self::Colon => "a colon is missing here",
            Self::CommaOrEnd => "a comma or the closing bracket is missing here",
        }
    }
}

/// Measures the value that starts at `start`, which must be a bracket.
pub(super) fn measure(bytes: &[u8], start: usize) -> Measure {
    let mut names = Names::default();
    // One bit for each open bracket, the innermost lowest: 1 for an object. 64 levels fill it.
    let (mut open, mut depth) = (0_u64, 0_u32);
    let mut expect = Expect::Value;
    let mut name: &[u8] = b"";
    let mut at = start;
    let broken = |names, at, why| Measure { names, end: Err(Break { at, why }) };
    loop {
        while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            at += 1;
        }
        let Some(&byte) = bytes.get(at) else {
            return broken(names, at, BreakReason::Unfinished);
        };
        let in_object = open & 1 == 1;
        match (expect, byte) {
            (Expect::Value | Expect::ValueOrEnd, b'{' | b'[') => {
                if depth == MAX_DEPTH {
                    return broken(names, at, BreakReason::TooDeep);
                }
                depth += 1;
                open = (open << 1) + u64::from(byte == b'{');
                expect = if byte == b'{' { Expect::NameOrEnd } else { Expect::ValueOrEnd };
                at += 1;
            }
            (Expect::NameOrEnd | Expect::CommaOrEnd, b'}')
            | (Expect::ValueOrEnd | Expect::CommaOrEnd, b']')
                if in_object == (byte == b'}') =>
            {
                at += 1;
                depth -= 1;
                open >>= 1;
                if depth == 0 {
                    return Measure { names, end: Ok(at) };
                }
                expect = Expect::CommaOrEnd;
            }
            (Expect::Value | Expect::ValueOrEnd | Expect::Name | Expect::NameOrEnd, b'"') => {
                let Some(end) = end_of_string(bytes, at) else {
                    return broken(names, bytes.len(), BreakReason::Unfinished);
                };
                if matches!(expect, Expect::Name | Expect::NameOrEnd) {
                    name = bytes.get(at + 1..end - 1).unwrap_or_default();
                    expect = Expect::Colon;
                } else {
                    expect = Expect::CommaOrEnd;
                }
                at = end;
            }
            (Expect::Colon, b':') => {
                names.note(name, open == 1);
                expect = Expect::Value;
                at += 1;
            }
            (Expect::CommaOrEnd, b',') => {
                expect = if in_object { Expect::Name } else { Expect::Value };
                at += 1;
            }
            (Expect::Value | Expect::ValueOrEnd, _) => {
                let Some(end) = end_of_scalar(bytes, at) else {
                    return broken(names, at, BreakReason::Expected(expect.describe()));
                };
                expect = Expect::CommaOrEnd;
                at = end;
            }
            (Expect::Name | Expect::NameOrEnd | Expect::Colon | Expect::CommaOrEnd, _) => {
                return broken(names, at, BreakReason::Expected(expect.describe()));
            }
        }
    }
}

/// Returns the byte after the string whose opening quote is at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the byte after the number or literal at `at`, if it is one. The parser validates its form.
fn end_of_scalar(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let length = rest.iter().take_while(|byte| part(byte)).count();
    let token = rest.get(..length)?;
    let number = matches!(token.first(), Some(b'-' | b'0'..=b'9'));
    (number || matches!(token, b"true" | b"false" | b"null")).then_some(at + length)
}
