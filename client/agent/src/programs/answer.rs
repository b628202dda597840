//! What a program answered that a tool asked.

/// How a program ended that a tool asked, with what it printed.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The program's file.
    pub(crate) path: String,
    /// The exit code. `None` if a signal ended the program.
    pub(crate) exit_code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// The first line of standard error with anything in it, with nothing hidden.
    pub(crate) complaint: String,
}

impl Answer {
    /// Returns whether the program ended well.
    pub(crate) const fn is_ok(&self) -> bool {
        matches!(self.exit_code, Some(0))
    }
}
