//! Every example of the programs' help and of the documents is run as it is written, by the real programs in a
//! prepared world, and what it leaves on disk is compared. The tables beside this file say what an example needs.
#![cfg(target_os = "linux")]

mod collect;
mod disk;
mod ground;
mod run;
mod sheet;
mod worlds;

use std::collections::{BTreeMap, BTreeSet};

use collect::{examples, helps, mentions, misnamed};
use ground::Ground;
use sheet::{Sheet, WORLDS, examples_of, world_of};

/// Runs the examples of one world, and reports all that are wrong.
async fn run_all(world: &str, ground: &Ground) {
    let (sheet, all) = (Sheet::of(world), examples(&helps().await));
    let only = std::env::var("ORION_EXAMPLE").ok();
    let here = examples_of(world, &all).into_iter();
    let mut faults = Vec::new();
    for example in here.filter(|it| only.as_ref().is_none_or(|only| it.contains(only))) {
        if sheet.rule(example).is_some_and(|rule| rule.left_out.is_some()) {
            continue;
        }
        if let Err(fault) = run::run(ground, &sheet, example).await {
            faults.push(format!("$ {example}\n({:?})\n{fault}", all[example]));
        }
    }
    let count = faults.len();
    assert!(count == 0, "{count} examples are wrong:\n\n{}", faults.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_example_has_a_world_and_each_rule_an_example() {
    let helps = helps().await;
    let all = examples(&helps);
    let sheets: Vec<_> = WORLDS.iter().map(|world| (*world, Sheet::of(world))).collect();
    let homeless: Vec<_> = all.keys().filter(|it| world_of(it, &sheets).is_none()).collect();
    assert!(homeless.is_empty(), "no table has {homeless:?}");

    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut left_out = BTreeSet::new();
    for (world, sheet) in &sheets {
        let here = examples_of(world, &all);
        let unused = sheet.unused(&here);
        assert!(unused.is_empty(), "{world}: no example uses the rules {unused:?}");
        for example in here {
            let reason = sheet.rule(example).and_then(|rule| rule.left_out.as_deref());
            left_out.extend(reason.map(|reason| format!("{example}: {reason}")));
            for source in &all[example] {
                let [shown, run] = counts.entry(source).or_default();
                *shown += 1;
                *run += usize::from(reason.is_none());
            }
        }
    }
    let run = all.len() - left_out.len();
    println!("{} examples, {run} of them run; shown and run by source: {counts:#?}", all.len());
    println!("left out: {left_out:#?}");
    assert!(run > 280, "only {run} examples");

    let mentions = mentions(&helps);
    let wrong = mentions.iter().filter_map(|(place, span)| {
        misnamed(span, &helps).map(|what| format!("{place}: `{span}`: {what}"))
    });
    let wrong: Vec<_> = wrong.collect();
    println!("{} mentions of commands", mentions.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_copies_and_plans() {
    worlds::calls().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chats_and_what_a_person_asks_about_oneself() {
    worlds::chats().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_policies_and_the_audit() {
    worlds::decisions().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn devices_and_their_tools() {
    worlds::fleet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_and_tokens() {
    worlds::people().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signing_in_at_several_backends() {
    worlds::signing_in().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_backend_the_agent_and_what_needs_neither() {
    worlds::programs().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_demo() {
    worlds::demo().await;
}
