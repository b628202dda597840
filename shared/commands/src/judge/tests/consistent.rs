//! What every grammar must hold, so that a slip of the pen is found.

use crate::grammar::{Grammar, Node, Style};
use crate::judgement::Effect;
use crate::table;

/// Calls the check with each node of a grammar and its name.
fn visit(name: &str, node: &Node, check: &mut dyn FnMut(&str, &Node)) {
    check(name, node);
    for (sub, node) in &node.sub {
        visit(&format!("{name} {sub}"), node, check);
    }
}

fn each_node(grammar: &Grammar, check: &mut dyn FnMut(&str, &Node)) {
    visit(&grammar.program, &grammar.line, check);
    for (sub, node) in &grammar.sub {
        visit(&format!("{} {sub}", grammar.program), node, check);
    }
}

#[test]
fn every_option_that_a_grammar_names_is_one_that_it_reads() {
    let mut wrong = Vec::new();
    for grammar in table::grammars() {
        let outer = |option: &str| grammar.global_options && grammar.line.option(option).is_some();
        each_node(grammar, &mut |name, node| {
            let lists = [
                &node.reads_with,
                &node.only_writes_with,
                &node.writes_with,
                &node.project_with,
                &node.first_given_by,
            ];
            for option in lists.iter().flat_map(|list| &list.0) {
                if node.option(option).is_none() && !outer(option) {
                    wrong.push(format!("{name}: {option} is no option"));
                }
            }
            let asks: Vec<_> = node.asks_with.keys().flat_map(|names| &names.0).collect();
            for option in &asks {
                if node.flags.contains(option) || node.values.0.contains_key(*option) {
                    wrong.push(format!("{name}: {option} is listed twice"));
                }
            }
            let all = node.flags.0.iter().chain(node.values.0.keys()).chain(asks);
            for option in all {
                if !is_readable(grammar.style, option) {
                    wrong.push(format!("{name}: {option} is never read"));
                }
                if node.flags.contains(option) && node.values.0.contains_key(option) {
                    wrong.push(format!("{name}: {option} is listed twice"));
                }
            }
        });
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Returns whether a program with this style can receive an option by this name.
fn is_readable(style: Style, option: &str) -> bool {
    match style {
        Style::Getopt | Style::Pflag if option.starts_with("--") => !option.contains('='),
        Style::Getopt | Style::Pflag => option.starts_with('-') && option.chars().count() == 2,
        Style::Go => !option.starts_with("--") && !option.contains('='),
        Style::Words => true,
    }
}

#[test]
fn every_node_says_what_it_does_or_why_it_asks() {
    let mut wrong = Vec::new();
    for grammar in table::grammars() {
        each_node(grammar, &mut |name, node| {
            if node.effect.is_none()
                && node.why.is_none()
                && node.sub.is_empty()
                && node.same_as.is_none()
            {
                wrong.push(format!("{name} has neither an effect nor a reason"));
            }
            if node.effect.is_some() && node.why.is_some() {
                wrong.push(format!("{name} has an effect and a reason to ask"));
            }
            if node.effect == Some(Effect::Other) {
                wrong.push(format!("{name} asks by leaving the effect out"));
            }
            if let Some(other) = &node.same_as
                && table::find(other).is_none()
            {
                wrong.push(format!("{name}: {other} has no grammar"));
            }
            let reasons = node.asks_with.values().chain(&node.why);
            for reason in reasons.filter(|it| !it.ends_with('.') || it.contains(';')) {
                wrong.push(format!("{name}: no sentence: {reason}"));
            }
        });
        if !grammar.summary.ends_with('.') {
            wrong.push(format!("{}: the summary is no sentence", grammar.program));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
