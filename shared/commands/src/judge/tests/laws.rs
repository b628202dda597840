//! What holds for every command line, and for each line of the list of injections.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use orion_domain::{ErrorCode, Risk, ToolError};
use proptest::prelude::*;

use super::word;
use crate::{CommandLine, Judgement, MAX_TEXT_BYTES, judge, quote, refused, split, table};

/// The maximum time for the longest command line, in a build without optimization on a busy machine.
const MAX_TIME: Duration = Duration::from_millis(500);

fn words() -> impl Strategy<Value = String> {
    let programs: Vec<_> = table::FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let parts = [
        "-",
        "--",
        "-x",
        "-rf",
        "--force",
        "--output=/etc/x",
        "-o",
        "=",
        "status",
        "push",
        "run",
        "get",
        "/",
        "..",
        ".",
        "~",
        "'a b'",
        "\"",
        "@x",
        "-C",
        "-e",
        "-la",
        "--=",
        "-=",
        "\\",
        "&&",
        ";",
        "|",
        "$x",
        "é",
        "-é",
        "--é=日",
        "-n5",
        "-5",
        "\u{200b}",
        "http://a",
        "*",
    ];
    let parts: Vec<_> = parts.iter().map(|part| (*part).to_owned()).collect();
    let word = prop_oneof![
        2 => prop::sample::select(programs),
        6 => prop::sample::select(parts),
        1 => ".{0,6}",
    ];
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn nothing_panics_and_nothing_unknown_is_low(text in words()) {
        for line in split(&text).unwrap_or_default() {
            let judgement = judge(&line);
            prop_assert!(!judgement.reason().is_empty());
            match &judgement {
                Judgement::Known(known) => {
                    prop_assert!(known.asks.is_empty() || known.risk() == Risk::High);
                    // The program receives every argument, in its order.
                    let mut given = known.arguments.iter();
                    for token in line.arguments() {
                        prop_assert!(given.any(|it| *it == token.text), "{:?}", known);
                    }
                    prop_assert_eq!(
                        known.arguments.len(),
                        line.arguments().len() + known.fixed_arguments.len()
                    );
                }
                Judgement::NoGrammar(_) => prop_assert_eq!(judgement.risk(), Risk::High),
                Judgement::Refused(_) => prop_assert_eq!(judgement.risk(), Risk::Critical),
            }
            let again = split(&line.quoted()).unwrap();
            prop_assert_eq!(judge(&again[0]).risk(), judgement.risk());
        }
    }

    #[test]
    fn no_option_that_a_grammar_does_not_list_is_admitted(
        file in 0..table::FILES.len(),
        option in "--[a-z]{3,9}-[a-z]{3,9}(=x)?",
    ) {
        let grammar = &table::grammars()[file];
        let line = CommandLine::from_argv(vec![grammar.program.clone(), option.clone()]).unwrap();
        let name = option.split('=').next().unwrap();
        if grammar.line.option(name).is_none() {
            let Judgement::Known(known) = judge(&line) else { panic!() };
            prop_assert!(known.asks.iter().any(|ask| ask.token.text == option));
        }
    }
}

#[test]
fn the_longest_lines_are_judged_in_bounded_time() {
    let options = format!("git {}", "-a ".repeat(200));
    let text = |part: &str| part.repeat(MAX_TEXT_BYTES / part.len());
    for text in [text("a"), text("'"), text("\\"), text("\"a\" "), text("a;"), text("é"), options]
    {
        let start = Instant::now();
        for line in split(&text).unwrap_or_default() {
            let _judgement = judge(&line);
        }
        assert!(start.elapsed() < MAX_TIME, "{:?}", start.elapsed());
    }
}

#[test]
fn each_injection_arrives_byte_for_byte_or_is_refused() {
    let folder = std::env::var_os("ORION_CORPORA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora")),
        PathBuf::from,
    );
    let say = |text: &str| drop(writeln!(std::io::stderr(), "{text}"));
    let Ok(bytes) = std::fs::read(folder.join("commands/injection.txt")) else {
        return say(&format!("skipped: no commands/injection.txt in {}", folder.display()));
    };
    let (mut same, mut refused, mut refused_as_text) = (0, 0, 0);
    let mut known = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(value) = std::str::from_utf8(line) else {
            refused += 1;
            continue;
        };
        let argv = CommandLine::from_argv(vec!["echo".to_owned(), value.to_owned()]);
        let quoted = split(&format!("echo {}", quote(value)));
        match (argv, quoted) {
            (Ok(argv), Ok(quoted)) => {
                assert_eq!(argv.arguments()[0].text, value);
                assert_eq!(quoted.len(), 1, "{value}");
                assert_eq!(quoted[0].arguments()[0].text, value);
                assert_eq!(quoted[0].arguments().len(), 1, "{value}");
                same += 1;
            }
            (Err(_), Err(_)) => refused += 1,
            (argv, quoted) => panic!("{value}: {argv:?} {quoted:?}"),
        }
        // The same line behind a command, without quotes.
        match split(&format!("ls {value}")) {
            Err(_) => refused_as_text += 1,
            Ok(lines) => {
                for line in &lines[1..] {
                    known.push(format!("{}: {}", word(&judge(line)), line.quoted()));
                }
            }
        }
    }
    say(&format!("injections as arguments: {same} byte-identical, {refused} refused"));
    say(&format!(
        "injections as text: {refused_as_text} refused, {} chained commands",
        known.len()
    ));
    let changed: Vec<_> =
        known.iter().filter(|it| it.starts_with("writes") || it.starts_with("project")).collect();
    assert_eq!(changed, Vec::<&String>::new());
}

#[test]
fn every_refused_program_is_refused_by_its_name_and_its_absolute_path() {
    let mut count = 0;
    for name in refused::names() {
        for program in [name.to_owned(), format!("/usr/bin/{name}")] {
            let line = CommandLine::from_argv(vec![program.clone(), "x".to_owned()]).unwrap();
            let Judgement::Refused(refusal) = judge(&line) else { panic!("{program}") };
            assert_eq!(refusal.token, program);
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
    for program in
        ["BASH", "cmd.exe", "C:\\Windows\\System32\\CMD.EXE", "mkfs.ext4", "Sudo", "bin/sh"]
    {
        let line = CommandLine::from_argv(vec![program.to_owned()]).unwrap();
        assert!(matches!(judge(&line), Judgement::Refused(_)), "{program}");
    }
}

#[test]
fn a_refusal_becomes_an_error_with_token_and_rule() {
    let error = ToolError::from(split("cat x | bash").unwrap_err());
    assert_eq!(error.code, ErrorCode::CommandNotAllowed);
    assert_eq!(error.details["token"], "|");
    assert_eq!(error.details["rule"], "pipe");
    assert_eq!(error.details["position"], "byte 6");
    assert_eq!(
        error.message,
        "`|` at byte 6 is refused. No shell runs, so that commands are not connected by pipes."
    );
    assert_eq!(error.hints.len(), 1);
}
