//! Mistakes that newcomers make, each with the real programs: the exit code, and a text that says what is wrong and
//! what to do next. The snapshots hold every text; [`Mistakes`] refuses those that leave a person standing.

mod calls;
mod command_line;
mod enrolment;
mod network;
mod people;
mod server;

use std::fmt::Write as _;

use orion_tests::{Cli, Output, World};

/// Words of libraries and of the system in the place of an explanation.
const RAW: &[&str] = &[
    "panicked",
    "RUST_BACKTRACE",
    "os error",
    "transport error",
    "tonic",
    "hyper",
    "rustls",
    "sqlx",
    "SqliteError",
    "called `Result",
    "called `Option",
    "Error {",
    "Some(",
    "TOML parse error",
    "invalid digit found",
    "UnknownIssuer",
    "CaUsedAsEndEntity",
    "InvalidContentType",
    "unexpected end of input",
    "did not match any variant",
    "frame with invalid size",
    "expected struct",
    "(code: ",
    "received fatal alert",
];

/// What a next step begins with.
const STEPS: &[&str] = &["hint: ", "try '--help'", "tip: ", "Usage: "];

/// A list of mistakes, as it is run.
struct Mistakes<'a> {
    world: &'a World,
    cli: Cli,
    /// Texts that differ from run to run, and what stands for them.
    replaced: Vec<(String, &'static str)>,
    shown: String,
    faults: Vec<String>,
}

impl<'a> Mistakes<'a> {
    fn new(world: &'a World) -> Self {
        let replaced = vec![
            (world.people_address(), "[address]"),
            (world.device_address(), "[devices]"),
            (world.folder().display().to_string(), "[folder]"),
        ];
        Self { world, cli: world.cli(), replaced, shown: String::new(), faults: Vec::new() }
    }

    /// Replaces a text that differs from run to run.
    fn replacing(&mut self, text: impl ToString, word: &'static str) {
        self.replaced.insert(0, (text.to_string(), word));
    }

    /// Makes mistakes: each is a line as it is typed, and its exit code.
    async fn make(&mut self, mistakes: &[(&str, i32)]) {
        for (line, code) in mistakes {
            self.make_with(line, b"", *code).await;
        }
    }

    /// Makes a mistake with this standard input.
    async fn make_with(&mut self, line: &str, stdin: &[u8], code: i32) {
        let words = split(line);
        let (program, arguments) = words.split_first().unwrap();
        let output = self.cli.program(program, arguments, stdin).await;
        self.check(line, &output, code);
    }

    fn check(&mut self, line: &str, output: &Output, code: i32) {
        let Output { code: ended, stdout, stderr } = output;
        let mut fault = |what: &str| {
            self.faults.push(format!("$ {line}\n{what}:\n{stdout}{stderr}"));
        };
        if *ended != code {
            fault(&format!("exit {ended} instead of {code}"));
        }
        let said = format!("{stdout}{stderr}");
        if let Some(raw) = RAW.iter().find(|raw| said.contains(**raw)) {
            fault(&format!("says `{raw}`"));
        }
        if !STEPS.iter().any(|step| said.contains(step)) {
            fault("no next step");
        }
        // The log of a program has times, and depends on who runs the tests.
        let is_log =
            |line: &&str| [" WARN ", " INFO ", " DEBUG "].iter().any(|it| line.contains(it));
        let lines: Vec<_> = said.lines().filter(|line| !is_log(line)).collect();
        let mut text = lines.join("\n");
        let mut line = line.to_owned();
        for (from, to) in &self.replaced {
            text = text.replace(from, to);
            line = line.replace(from, to);
        }
        let text = self.world.seen().in_text(text.trim_end());
        writeln!(self.shown, "$ {line}\n{text}\n(exit {ended})\n").unwrap();
    }

    /// Returns all texts.
    ///
    /// # Panics
    /// One of them leaves a person standing.
    fn done(self) -> String {
        let count = self.faults.len();
        assert!(count == 0, "{count} mistakes are badly explained:\n\n{}", self.faults.join("\n"));
        self.shown
    }
}

/// Splits a line into words, as a shell does with quotes.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_word) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => (quote, is_word) = (Some(c), true),
            (' ', None) => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            (c, _) => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

#[test]
fn a_line_is_split_as_a_shell_does() {
    assert_eq!(split("a 'b c' \"\" d=\"e f\""), ["a", "b c", "", "d=e f"]);
}
