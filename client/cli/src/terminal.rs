//! Prompts and spinners, which need a terminal with a person. Elsewhere nothing is shown.

mod line;

use std::io::IsTerminal as _;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use indicatif::{ProgressBar, ProgressStyle};
use inquire::validator::Validation;
use inquire::{InquireError, Password, PasswordDisplayMode, Text};

use crate::failure::Failure;
use crate::output::{DIM, Output};
use crate::text;

pub(crate) use line::Question;

/// The minimum length of a password; the backend refuses a shorter one.
const MIN_PASSWORD_CHARS: usize = 12;

/// Returns whether a person can be prompted.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Prompts for yes or no. May be cancelled, such as when the question has answered itself.
///
/// # Errors
/// The input has ended, or the terminal fails.
pub(crate) async fn confirm(question: &str) -> Result<bool, Failure> {
    let mut asked = format!("{} (y/N)", text::one_line(question, 400));
    loop {
        let answer = Question::new(&asked).answer().await?;
        if let Some(is_yes) = confirmed(&answer) {
            return Ok(is_yes);
        }
        // A key that is neither must not decide anything.
        asked = format!("{} (y or n)", text::one_line(question, 400));
    }
}

/// Reads an answer to a question for a yes. None for anything that is neither a yes nor a no.
fn confirmed(typed: &str) -> Option<bool> {
    match typed.trim().to_lowercase().as_str() {
        "y" | "yes" | "j" | "ja" => Some(true),
        "" | "n" | "no" | "nee" | "nein" => Some(false),
        _ => None,
    }
}

/// Prompts for a line of text.
///
/// # Errors
/// The person stopped the program.
pub(crate) async fn ask(question: &'static str) -> Result<String, Failure> {
    prompt(move || Text::new(question).prompt()).await
}

/// What is asked for at a prompt for a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The one that the person has.
    Known,
    /// A new one, twice.
    New,
    /// A new one, twice, or none.
    NewOrNone,
}

/// Prompts for a password without showing it.
///
/// # Errors
/// The person stopped the program.
pub(crate) async fn password(question: &'static str, wanted: Wanted) -> Result<String, Failure> {
    prompt(move || {
        let prompt = Password::new(question).with_display_mode(PasswordDisplayMode::Hidden);
        let is_long = move |text: &str| {
            let is_left_out = wanted == Wanted::NewOrNone && text.is_empty();
            if !is_left_out && text.chars().count() < MIN_PASSWORD_CHARS {
                let short = format!("at least {MIN_PASSWORD_CHARS} characters, such as four words");
                return Ok(Validation::Invalid(short.into()));
            }
            Ok(Validation::Valid)
        };
        match wanted {
            Wanted::Known => prompt.without_confirmation().prompt(),
            Wanted::New | Wanted::NewOrNone => prompt.with_validator(is_long).prompt(),
        }
    })
    .await
}

async fn prompt<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, InquireError> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(ask).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(InquireError::OperationCanceled | InquireError::OperationInterrupted)) => {
            Err(Failure::Interrupted)
        }
        Ok(Err(
            error @ (InquireError::NotTTY
            | InquireError::InvalidConfiguration(_)
            | InquireError::IO(_)
            | InquireError::Custom(_)),
        )) => Err(Failure::Failed(format!("the terminal cannot be asked: {error}"))),
        Err(error) => Err(Failure::Failed(format!("the terminal cannot be asked: {error}"))),
    }
}

/// Restores the terminal after an exit that interrupts a prompt in another thread. Does nothing where
/// there is no terminal.
#[derive(Debug)]
pub(crate) struct Restore {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

impl Restore {
    /// Saves the terminal's state.
    pub(crate) fn later() -> Self {
        Self {
            #[cfg(unix)]
            before: rustix::termios::tcgetattr(std::io::stdin()).ok(),
        }
    }

    /// Restores the saved state.
    pub(crate) fn now(&self, out: &Output) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            use rustix::termios::{OptionalActions, tcsetattr};
            // An error of the restore cannot be reported.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
            // A line editor enables bracketed paste, and a prompt hides the cursor.
            out.error_line("\x1b[?2004l\x1b[?25h");
        }
    }
}

/// A spinner while a person waits; removed when dropped.
#[derive(Debug)]
pub(crate) struct Spinner(ProgressBar);

impl Spinner {
    /// Shows `what` on a terminal, and nothing elsewhere.
    pub(crate) fn on(out: &Output, what: &str) -> Self {
        if out.quiet || !out.is_for_people() || !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.set_message(text::one_line(what, 200));
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }
}

/// A spinner of another owner, to print lines above it.
#[derive(Debug)]
pub(crate) struct SharedSpinner(ProgressBar);

impl SharedSpinner {
    /// Prints a line above the spinner.
    pub(crate) fn line(&self, line: &str) {
        print_above(&self.0, line);
    }

    /// Replaces the text, unless the new text is empty.
    pub(crate) fn say(&self, what: &str) {
        replace_text(&self.0, what);
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> String {
        self.0.message()
    }
}

fn replace_text(bar: &ProgressBar, what: &str) {
    if !what.is_empty() {
        bar.set_message(text::one_line(what, 200));
    }
}

fn print_above(bar: &ProgressBar, line: &str) {
    let is_plain = AutoStream::choice(&std::io::stderr()) == ColorChoice::Never;
    bar.println(if is_plain { format!("│ {line}") } else { format!("{DIM}│ {line}{DIM:#}") });
}

impl Spinner {
    /// Returns the spinner for another task, which does not remove it.
    pub(crate) fn share(&self) -> SharedSpinner {
        SharedSpinner(self.0.clone())
    }

    /// Prints a line above the spinner, in which nothing is hidden.
    pub(crate) fn line(&self, line: &str) {
        print_above(&self.0, line);
    }

    /// Returns whether the spinner is visible.
    pub(crate) fn is_shown(&self) -> bool {
        !self.0.is_hidden()
    }

    /// Replaces the text, unless the new text is empty.
    pub(crate) fn say(&self, what: &str) {
        replace_text(&self.0, what);
    }
}

impl Spinner {
    /// Hides the spinner while a person may be prompted.
    pub(crate) async fn suspend<T>(&self, prompt: impl Future<Output = T>) -> T {
        if self.is_shown() {
            self.0.disable_steady_tick();
            self.0.set_message("");
        }
        prompt.await
    }
}

/// A progress bar of bytes; removed when dropped.
#[derive(Debug)]
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// Shows `what` on a terminal, and nothing elsewhere. The size is not known yet.
    pub(crate) fn on(out: &Output, what: &str) -> Self {
        if out.quiet || !out.is_for_people() || !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{wide_msg} {bytes}") {
            bar.set_style(style);
        }
        bar.set_message(text::one_line(what, 200));
        Self(bar)
    }

    /// Shows `what` with this size from here on.
    pub(crate) fn begin(&self, what: &str, size: u64) {
        if self.0.length() == Some(size) {
            return;
        }
        let template = "{wide_msg} {bar:20} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style);
        }
        self.0.set_message(text::one_line(what, 200));
        self.0.set_length(size);
        self.0.reset();
    }

    /// Moves the bar.
    pub(crate) fn at(&self, bytes: u64) {
        self.0.set_position(bytes);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_answer_decides() {
        for (typed, expected) in [
            ("y", Some(true)),
            (" Yes ", Some(true)),
            ("ja", Some(true)),
            ("", Some(false)),
            ("n", Some(false)),
            ("Nee", Some(false)),
            ("d", None),
            ("yn", None),
            ("what?", None),
        ] {
            assert_eq!(confirmed(typed), expected, "{typed}");
        }
    }
}
