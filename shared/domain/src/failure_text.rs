//! What a program prints on its terminal when it fails: what happened, and the next step.

use std::fmt;

/// A failure in two lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureText {
    /// What happened, and why.
    pub message: String,
    /// What to do.
    pub step: String,
}

impl FailureText {
    /// Puts a failure together from an error and its causes. In each of them, what follows the last semicolon is the
    /// step; `otherwise` is the step where none has one. A cause that an earlier text quotes is left out.
    #[must_use]
    pub fn of(causes: impl IntoIterator<Item = String>, otherwise: &str) -> Self {
        let (mut message, mut step) = (String::new(), String::new());
        for cause in causes {
            let cause = without_system_number(&cause);
            let (what, next) = cause.rsplit_once("; ").unwrap_or((&cause, ""));
            if message.contains(what) {
                continue;
            }
            if !message.is_empty() {
                message.push_str(": ");
            }
            message.push_str(what);
            if step.is_empty() {
                next.clone_into(&mut step);
            }
        }
        if step.is_empty() {
            otherwise.clone_into(&mut step);
        }
        Self { message, step }
    }
}

impl fmt::Display for FailureText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}\nhint: {}", self.message, self.step)
    }
}

/// Returns a text without the numbers that the system's errors end with, such as ` (os error 2)`.
#[must_use]
pub fn without_system_number(text: &str) -> String {
    const BEGIN: &str = " (os error ";
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once(BEGIN) {
        shown.push_str(before);
        match after.split_once(')') {
            Some((number, after)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                rest = after;
            }
            Some(_) | None => {
                shown.push_str(BEGIN);
                rest = after;
            }
        }
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(causes: &[&str]) -> String {
        FailureText::of(causes.iter().map(|&it| it.to_owned()), "read the help").to_string()
    }

    #[test]
    fn the_step_is_what_follows_the_semicolon_of_the_first_cause_that_has_one() {
        assert_eq!(
            shown(&["the port cannot be opened; choose another", "Address in use (os error 98)"]),
            "error: the port cannot be opened: Address in use\nhint: choose another"
        );
        assert_eq!(
            shown(&["x cannot be read", "x cannot be read"]),
            "error: x cannot be read\nhint: read the help"
        );
    }

    #[test]
    fn only_the_number_of_a_system_error_is_left_out() {
        assert_eq!(without_system_number("a (os error 2), b (os error 13)"), "a, b");
        assert_eq!(without_system_number("a (os error x) (b)"), "a (os error x) (b)");
        assert_eq!(without_system_number("a (os error "), "a (os error ");
    }
}
