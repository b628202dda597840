//! What is judged how: each grammar's own examples, and every program that is refused always.

mod consistent;
mod data;
#[cfg(unix)]
mod hostile_repository;
mod laws;
mod seeds;
mod touched;

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::grammar::Grammar;
use crate::{Effect, Network, Position, split};

fn judged(text: &str) -> Judgement {
    let lines = match split(text) {
        Ok(lines) => lines,
        Err(refusal) => return Judgement::Refused(refusal),
    };
    assert_eq!(lines.len(), 1, "{text}");
    judge(&lines[0])
}

/// Returns the judgement in one word, as data files write it.
fn word(judgement: &Judgement) -> &'static str {
    match judgement {
        Judgement::Known(known) if !known.asks.is_empty() => "asks",
        Judgement::Known(known) => match known.effect {
            Effect::Reads => "reads",
            Effect::Writes => "writes",
            Effect::RunsProject => "project",
            Effect::Deletes | Effect::Other => "asks",
        },
        Judgement::NoGrammar(_) => "no_grammar",
        Judgement::Refused(_) => "refuses",
    }
}

#[test]
fn every_grammar_file_is_in_the_table_and_parses() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("grammars");
    let on_disk: BTreeSet<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let in_table: BTreeSet<_> = table::FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(on_disk, in_table);
    let mut programs = BTreeSet::new();
    for (name, text) in table::FILES {
        let grammar: Grammar =
            toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(grammar.program, *name);
        for program in std::iter::once(grammar.program).chain(grammar.also) {
            assert!(programs.insert(program.clone()), "{program} has two grammars");
        }
    }
    assert_eq!(table::grammars().len(), table::FILES.len());
}

#[test]
fn every_example_of_a_grammar_is_judged_as_it_says() {
    let mut wrong = Vec::new();
    for grammar in table::grammars() {
        let examples = &grammar.examples;
        let all = [
            ("reads", &examples.reads),
            ("writes", &examples.writes),
            ("project", &examples.project),
            ("asks", &examples.asks),
            ("refuses", &examples.refuses),
        ];
        let mut count = 0;
        for (expected, texts) in all {
            for text in texts {
                count += 1;
                let judgement = judged(text);
                if word(&judgement) != expected {
                    wrong.push(format!("{text}: {} ({})", word(&judgement), judgement.reason()));
                }
            }
        }
        assert!(count >= 2, "{} has too few examples", grammar.program);
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn what_git_could_start_by_its_configuration_is_turned_off() {
    let Judgement::Known(known) = judged("git log -5") else { panic!() };
    assert_eq!(known.arguments.first().map(String::as_str), Some("--no-pager"));
    assert_eq!(known.arguments.last().map(String::as_str), Some("-5"));
    for fixed in
        ["core.hooksPath=/dev/null", "core.fsmonitor=false", "--no-ext-diff", "--no-textconv"]
    {
        assert!(known.fixed_arguments.contains(&fixed), "{fixed}");
        assert!(known.arguments.iter().any(|it| it == fixed), "{fixed}");
    }
    assert!(known.environment.contains(&("GIT_TERMINAL_PROMPT", "0")));
    assert_eq!(known.paths, [(".".to_owned(), Access::Read)]);
    assert_eq!(known.network, Network::None);
}

#[test]
fn a_program_that_is_named_by_its_path_gets_no_grammar() {
    for text in ["./install", "./watch.sh", "./ls", "/tmp/git status", "bin/ls", r"'C:\git'"] {
        assert_eq!(word(&judged(text)), "no_grammar", "{text}");
    }
    let Judgement::Refused(refusal) = judged("/opt/evil/bash -i") else { panic!() };
    assert_eq!(refusal.rule, RefusalRule::Shell);
    assert_eq!((refusal.token.as_str(), refusal.position), ("/opt/evil/bash", Position::Byte(0)));
}
