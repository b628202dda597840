//! Two lists of command lines: everyday ones, which must not ask, and escapes, which must.

use std::collections::BTreeSet;
use std::io::Write;

use super::{judged, word};
use crate::{Judgement, Refusal};

/// The minimum share of everyday commands that need no approval, in percent.
const MIN_WITHOUT_ASKING: usize = 95;

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn say(text: &str) {
    // Written past the harness's capture, so that the figure is visible; a closed stream loses nothing.
    drop(writeln!(std::io::stderr(), "{text}"));
}

#[test]
fn everyday_commands_are_judged_as_expected_and_hardly_any_asks() {
    let (mut all, mut without_asking, mut wrong) = (0, 0, Vec::new());
    for line in lines(include_str!("everyday.txt")) {
        let (expected, text) = line.split_once(' ').unwrap();
        let judgement = judged(text);
        all += 1;
        without_asking += usize::from(["reads", "writes", "project"].contains(&word(&judgement)));
        if word(&judgement) != expected {
            wrong.push(format!("{text}: {} ({})", word(&judgement), judgement.reason()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    say(&format!("{without_asking} of {all} everyday commands need no approval"));
    assert!(all >= 150, "{all}");
    assert!(without_asking * 100 >= all * MIN_WITHOUT_ASKING, "{without_asking} of {all}");
}

#[test]
fn no_escape_counts_as_known() {
    let (mut admitted, mut programs) = (Vec::new(), BTreeSet::new());
    let (mut asks, mut unknown, mut refused) = (0, 0, 0);
    for text in lines(include_str!("escapes.txt")) {
        programs.insert(text.split(' ').next().unwrap());
        let judgement = judged(text);
        match word(&judgement) {
            "asks" => asks += 1,
            "no_grammar" => unknown += 1,
            "refuses" => refused += 1,
            known => admitted.push(format!("{text}: {known}")),
        }
        if let Judgement::Refused(Refusal { token, .. }) = &judgement {
            assert!(!token.is_empty() && text.contains(token.as_str()), "{text}: {token}");
        }
    }
    assert_eq!(admitted, Vec::<String>::new());
    assert!(programs.len() >= 60, "{}", programs.len());
    say(&format!(
        "{} escapes of {} programs: {asks} ask, {unknown} have no grammar, {refused} are refused",
        asks + unknown + refused,
        programs.len()
    ));
}
