//! Tests with a small program.

use clap::{Arg, ArgAction};

use super::*;

type Program = Command;

fn program() -> Command {
    let id = Arg::new("id").value_name("ID").required(true);
    let show = Program::new("show")
        .arg(id)
        .arg(Arg::new("wait").long("wait").action(ArgAction::SetTrue))
        .after_help(
            "Examples:\n  orion calls show 0199b2c4   one call\n  orion calls show 0199b2c4 --wait",
        );
    let calls = Program::new("calls")
        .subcommand_required(true)
        .subcommand(Program::new("list"))
        .subcommand(show);
    let context = Arg::new("context").long("context").value_name("NAME").global(true);
    // A default stands for a variable of the environment: both are in the parser's usage.
    let context = context.default_value("work");
    Program::new("orion").arg(context).subcommand_required(true).subcommand(calls)
}

fn said(line: &str) -> String {
    let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
    let error = program()
        .try_get_matches_from(std::iter::once("orion".to_owned()).chain(words.clone()))
        .unwrap_err();
    let text = explain(error, program(), words.into_iter());
    // Without colours.
    text.split('\u{1b}')
        .enumerate()
        .map(
            |(index, part)| {
                if index == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) }
            },
        )
        .collect()
}

#[test]
fn a_missing_argument_comes_with_an_example_and_the_command_that_lists() {
    assert_eq!(
        said("calls show"),
        "error: the following required arguments were not provided:\n  <ID>\n\n\
         Usage: orion calls show [OPTIONS] <ID>\n\n\
         Example:\n  orion calls show 0199b2c4\nSee which there are: orion calls list\n\n\
         For more information, try '--help'.\n"
    );
}

#[test]
fn an_unknown_option_comes_with_those_that_exist_and_is_not_offered_as_a_value() {
    let said = said("calls show 0199 --execute");
    assert!(said.contains("Options: --wait\n"), "{said}");
    assert!(!said.contains("as a value"), "{said}");
}

#[test]
fn an_unknown_command_comes_with_those_that_exist() {
    let said = said("calls shw");
    assert!(said.contains("Commands: list, show"), "{said}");
    assert!(said.contains("a similar subcommand exists: 'show'"), "{said}");
}

#[test]
fn another_word_is_no_misspelling_of_a_command() {
    let said = said("calls slow-motion");
    assert!(said.contains("Commands: list, show"), "{said}");
    assert!(!said.contains("similar"), "{said}");
}
