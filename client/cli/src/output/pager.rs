//! Shows what is longer than the terminal in a pager, as `git` and `man` do.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

use crate::columns::{columns, lines};

/// The pager where the environment names none. It ends by itself where everything fits, and keeps colours.
const LESS: &str = "less";
/// How `less` behaves where the environment does not say.
const LESS_OPTIONS: &str = "FRX";

/// Shows a text in the pager of `ORION_PAGER` or `PAGER`, or in `less`. Returns false where it is to be written as
/// ever: it fits, there is no terminal, or no pager starts.
#[expect(clippy::disallowed_methods, reason = "the person's own pager")]
pub(super) fn page(text: &str) -> bool {
    let (Some(columns), Some(lines)) = (columns(), lines()) else { return false };
    if !io::stdin().is_terminal() || fits(text, columns, lines) {
        return false;
    }
    let named = std::env::var("ORION_PAGER").or_else(|_| std::env::var("PAGER")).ok();
    let mut pager = match named.as_deref().map(str::trim) {
        Some("" | "cat") => return false,
        Some(named) => shell(named),
        None => Command::new(LESS),
    };
    if std::env::var_os("LESS").is_none() {
        pager.env("LESS", LESS_OPTIONS);
    }
    run(pager, text).is_ok()
}

/// A pager of the environment may have options, which a shell splits.
#[expect(clippy::disallowed_methods, reason = "the person's own pager")]
fn shell(named: &str) -> Command {
    let (program, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut shell = Command::new(program);
    shell.args([option, named]);
    shell
}

fn run(mut pager: Command, text: &str) -> io::Result<()> {
    let mut running = pager.stdin(Stdio::piped()).spawn()?;
    // Ctrl-C is for the pager while it runs.
    #[cfg(unix)]
    let _interrupts = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    if let Some(mut input) = running.stdin.take() {
        // Whoever has read enough closes the pager before the end of the text.
        drop(input.write_all(text.as_bytes()));
    }
    running.wait().map(drop)
}

fn fits(text: &str, columns: u16, lines: u16) -> bool {
    let plain = anstream::adapter::strip_str(text).to_string();
    let rows = plain.lines().map(|line| line.chars().count().div_ceil(usize::from(columns)).max(1));
    rows.sum::<usize>() < usize::from(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_fits_if_it_leaves_a_line_for_the_prompt() {
        assert!(fits("a\nb\n", 80, 3));
        assert!(!fits("a\nb\nc\n", 80, 3));
        assert!(!fits(&"x".repeat(21), 10, 3), "long lines take several rows");
        assert!(fits("\x1b[1maaaaaaaaaa\x1b[0m\n", 10, 2), "colours take no room");
    }
}
