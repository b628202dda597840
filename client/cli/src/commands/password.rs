//! Reads passwords from a file, standard input, or a prompt that shows nothing.

use clap::Args;
use orion_domain::Secret;

use crate::failure::Failure;
use crate::input;
use crate::terminal::{self, Wanted};

/// Where a password comes from; asked for at a terminal when nothing is said.
#[derive(Debug, Args)]
pub(crate) struct PasswordSource {
    /// @file with the password, or - for standard input; asked for at a terminal
    #[arg(long, value_name = "@FILE")]
    password: Option<String>,
    /// Read the password from standard input
    #[arg(long, conflicts_with = "password")]
    password_stdin: bool,
}

impl PasswordSource {
    /// Reads the password from the source that the command line names. `None` means the prompt.
    ///
    /// # Errors
    /// The password is in the command line itself, or cannot be read.
    pub(crate) fn read(&self) -> Result<Option<Secret>, Failure> {
        if self.password_stdin {
            return read("-").map(Some);
        }
        self.password.as_deref().map(read).transpose()
    }
}

/// Reads a password from `@file` or `-`, without the line break at its end.
///
/// # Errors
/// As [`PasswordSource::read`].
pub(crate) fn read(given: &str) -> Result<Secret, Failure> {
    if given != "-" && !given.starts_with('@') {
        let message = "others can see a password in the command line".to_owned();
        return Err(Failure::Usage(message).hint("write @file, or - for standard input"));
    }
    let value = input::value(given)?;
    let password = value.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        let source = if given == "-" { "standard input" } else { given };
        return Err(Failure::Usage(format!("there is no password in {source}")));
    }
    Ok(Secret::new(password))
}

/// Prompts for a new password twice.
///
/// # Errors
/// The person stopped the program.
pub(crate) async fn ask_new(question: &'static str, wanted: Wanted) -> Result<Secret, Failure> {
    terminal::password(question, wanted).await.map(Secret::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_never_stands_in_the_command_line() {
        assert_eq!(read("hunter2hunter2").unwrap_err().exit_code(), 2);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, "correct horse battery \r\n").unwrap();
        let read = read(&format!("@{}", path.display())).unwrap();
        assert_eq!(read.expose(), "correct horse battery ");
    }
}
