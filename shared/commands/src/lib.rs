//! What a command line would do, before anything runs: split it without a shell, refuse what a shell would
//! interpret, and judge each command by the grammar of its program.
//!
//! Nothing in this crate does I/O, reads a clock or runs a program. Start with [`split()`] and [`judge()`].

mod arguments;
mod grammar;
mod judge;
mod judgement;
mod line;
mod refusal;
mod refused;
mod split;
mod table;
mod value;

pub use judge::judge;
pub use judgement::{Ask, AskReason, Effect, Judgement, Known, Network, NoGrammar, Program};
pub use line::{CommandLine, Next, Token, quote};
pub use refusal::{Position, Refusal, RefusalRule};
pub use split::split;
pub use table::{Summary, summaries};

/// The maximum length of a command text, and of all arguments together, in bytes.
pub const MAX_TEXT_BYTES: usize = 8 * 1024;

/// The maximum number of arguments of a command, the program included.
pub const MAX_ARGUMENTS: usize = 256;

/// The maximum number of commands in a sequence.
pub const MAX_COMMANDS: usize = 16;
