//! Compares the splitter with a real shell: what it accepts, `/bin/sh` splits to the same arguments.

use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::super::split;
use crate::quote;

/// How many texts one shell gets, and how many shells are started.
const TEXTS: usize = 1_000;
const SHELLS: usize = 2;

/// Ends the arguments of one text in the shell's output.
const END: &str = "\u{1}";

/// Returns the arguments of each text as the shell splits them.
fn split_by_shell(texts: &[String]) -> Vec<Vec<String>> {
    let mut script = String::new();
    for text in texts {
        script.push_str(&format!("printf '%s\\0' {text} '{END}'\n"));
    }
    #[expect(clippy::disallowed_methods, reason = "the comparison needs a real shell")]
    let mut shell = Command::new("/bin/sh")
        .arg("-s")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = shell.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(script.as_bytes()).unwrap());
    let output = shell.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    let mut all = Vec::new();
    let mut arguments = Vec::new();
    for argument in String::from_utf8(output.stdout).unwrap().split_terminator('\0') {
        if argument == END {
            all.push(std::mem::take(&mut arguments));
        } else {
            arguments.push(argument.to_owned());
        }
    }
    all
}

/// Returns the arguments of a text that is accepted as one command.
fn split_here(text: &str) -> Option<Vec<String>> {
    let lines = split(text).ok()?;
    let [line] = lines.as_slice() else { return None };
    let tokens = std::iter::once(line.program()).chain(line.arguments());
    line.next().is_none().then(|| tokens.map(|token| token.text.clone()).collect())
}

/// Texts of the characters at which shells and splitters differ.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[ab ]",
        4 => Just("'".to_owned()),
        4 => Just("\"".to_owned()),
        3 => Just("\\".to_owned()),
        2 => "[-=:,.%@+^/~#\\]!$]",
        1 => "[*?\\[{}()<>|&;`\t\n]",
        1 => "[éß日]",
        2 => "'[ab$`\\\\\"*; \n]{0,4}'",
        2 => "\"[ab'*; ~#!$|/.]{0,4}\"",
    ];
    prop::collection::vec(part, 1..12).prop_map(|parts| parts.concat())
}

#[test]
fn what_is_accepted_a_real_shell_splits_to_the_same_arguments() {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]),
    );
    let strategy = texts();
    let mut compared = 0;
    for _ in 0..SHELLS {
        let mut accepted = Vec::new();
        while accepted.len() < TEXTS {
            let text = strategy.new_tree(&mut runner).unwrap().current();
            if let Some(arguments) = split_here(&text) {
                accepted.push((text, arguments));
            }
        }
        let texts: Vec<_> = accepted.iter().map(|(text, _)| text.clone()).collect();
        let by_shell = split_by_shell(&texts);
        assert_eq!(by_shell.len(), accepted.len());
        for ((text, ours), shells) in accepted.iter().zip(&by_shell) {
            assert_eq!(ours, shells, "{text:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, TEXTS * SHELLS);
}

#[test]
fn an_argument_that_is_quoted_comes_back_byte_for_byte_here_and_from_a_real_shell() {
    let mut runner = TestRunner::deterministic();
    let argument = prop_oneof![texts(), "[ -~]{0,20}", "[ -~é日\n\t]{0,20}"];
    let arguments: Vec<String> =
        (0..TEXTS).map(|_| argument.new_tree(&mut runner).unwrap().current()).collect();
    let quoted: Vec<_> = arguments.iter().map(|argument| quote(argument)).collect();
    let by_shell = split_by_shell(&quoted);
    for ((argument, quoted), shells) in arguments.iter().zip(&quoted).zip(by_shell) {
        assert_eq!(shells, [argument.as_str()], "{quoted}");
        let ours = split_here(&format!("echo {quoted}")).unwrap();
        assert_eq!(ours, ["echo", argument], "{quoted}");
    }
}
