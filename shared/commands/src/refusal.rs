//! Refusals: the token at fault, its position, and the rule that refuses it.

use std::fmt;

use orion_domain::{ErrorCode, ToolError, visible};

/// The maximum number of characters of a token in a message.
const MAX_SHOWN_CHARS: usize = 80;

/// Where a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The offset of its first byte in the text.
    Byte(usize),
    /// The number of the argument, where the arguments came as a list. The program is number 0.
    Argument(usize),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(at) => write!(f, "byte {at}"),
            Self::Argument(number) => write!(f, "argument {number}"),
        }
    }
}

macro_rules! rules {
    ($($variant:ident = $name:literal, $sentence:literal;)+) => {
        /// The rule by which a command line is refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum RefusalRule {
            $(#[doc = $sentence] $variant,)+
        }

        impl RefusalRule {
            /// Every rule, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the stable name of the rule.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the reason as a sentence.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)+ }
            }

            /// Returns the rule with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|rule| rule.as_str() == name)
            }
        }
    };
}

rules! {
    TooLong = "too_long", "The command line is longer than 8 KiB.";
    TooManyArguments = "too_many_arguments", "A command has more than 256 arguments.";
    TooManyCommands = "too_many_commands", "The sequence has more than 16 commands.";
    Empty = "empty", "A command is empty.";
    Unterminated = "unterminated", "A quote or a backslash is not completed.";
    Substitution = "substitution", "No shell runs, so that nothing is substituted.";
    Redirection = "redirection", "No shell runs, so that nothing is redirected.";
    HereDocument = "here_document", "No shell runs, so that there are no here-documents.";
    Pipe = "pipe", "No shell runs, so that commands are not connected by pipes.";
    Background = "background", "No command runs in the background.";
    Or = "or", "A command that runs only after a failure is not supported.";
    Subshell = "subshell", "No shell runs, so that there are no subshells or functions.";
    Braces = "braces", "No shell runs, so that braces are not expanded.";
    Glob = "glob", "No shell runs, so that patterns are not expanded to file names.";
    Tilde = "tilde", "No shell runs, so that a tilde is not expanded to a folder.";
    Comment = "comment", "A command line has no comments.";
    Newline = "newline", "A command line is one line.";
    Negation = "negation", "No shell runs, so that nothing is negated or repeated from the history.";
    Assignment = "assignment", "A command line sets no variables.";
    ControlCharacter = "control_character", "A control character is not allowed.";
    HiddenCharacter = "hidden_character", "A character without a visible form is not allowed.";
    Shell = "shell", "A shell would interpret what nobody checked.";
    ShellBuiltin = "shell_builtin", "This word means something only to a shell, and no shell runs.";
    Wrapper = "wrapper", "This program runs another program that its arguments name.";
    InlineCode = "inline_code", "A program text on the command line is not checked.";
    Socket = "socket", "This program opens connections to run or send whatever they carry.";
    SpecialFile = "special_file", "Special files and devices are not created or addressed.";
    FilePermissions = "file_permissions", "Owners and permissions of files are not changed.";
    Privilege = "privilege", "No command runs as another user.";
    Disk = "disk", "Disks and file systems are not changed.";
    System = "system", "The running system is not stopped, and its kernel is not changed.";
    Accounts = "accounts", "Accounts and passwords are not changed.";
    Schedule = "schedule", "No command is left to run later.";
    DeleteAbove = "delete_above", "The root, the home folder, the working directory and the folders above it are not deleted or moved.";
}

/// Why a command line is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The token at fault, as it was written.
    pub token: String,
    /// Where it is.
    pub position: Position,
    /// The rule.
    pub rule: RefusalRule,
}

impl Refusal {
    /// Creates a refusal of a token.
    pub(crate) fn new(token: impl Into<String>, position: Position, rule: RefusalRule) -> Self {
        Self { token: token.into(), position, rule }
    }

    /// Returns what is refused and why, for people.
    #[must_use]
    pub fn message(&self) -> String {
        format!(
            "`{}` at {} is refused. {}",
            shown(&self.token),
            self.position,
            self.rule.sentence()
        )
    }

    /// Returns what helps, if anything does.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        use RefusalRule as Rule;
        match self.rule {
            Rule::Glob
            | Rule::Braces
            | Rule::Tilde
            | Rule::Comment
            | Rule::Negation
            | Rule::Substitution
            | Rule::Background
            | Rule::Subshell => {
                Some("put the argument in single quotes if it is meant as it is written")
            }
            Rule::Pipe | Rule::Redirection | Rule::HereDocument => Some(
                "run the program alone and use its output, or put the argument in single quotes",
            ),
            Rule::Or | Rule::Newline => Some("join commands by && or ;"),
            Rule::ShellBuiltin => Some("give the working directory beside the command"),
            Rule::Wrapper | Rule::Privilege => Some("name the program itself"),
            Rule::InlineCode => Some("write the program to a file and ask to run that"),
            Rule::TooLong
            | Rule::TooManyArguments
            | Rule::TooManyCommands
            | Rule::Empty
            | Rule::Unterminated
            | Rule::Assignment
            | Rule::ControlCharacter
            | Rule::HiddenCharacter
            | Rule::Shell
            | Rule::Socket
            | Rule::SpecialFile
            | Rule::FilePermissions
            | Rule::Disk
            | Rule::System
            | Rule::Accounts
            | Rule::Schedule
            | Rule::DeleteAbove => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        let error = Self::new(ErrorCode::CommandNotAllowed, refusal.message())
            .with("token", shown(&refusal.token))
            .with("position", refusal.position.to_string())
            .with("rule", refusal.rule.as_str());
        match refusal.hint() {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// Returns a token as a message shows it: one line, nothing hidden, of limited length.
pub(crate) fn shown(token: &str) -> String {
    let mut letters = token.chars();
    let start: String = letters.by_ref().take(MAX_SHOWN_CHARS).collect();
    let end = if letters.next().is_some() { "…" } else { "" };
    visible(&start) + end
}
