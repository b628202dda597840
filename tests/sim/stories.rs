//! Checks the invariants of every story, and that a planted fault is found.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::device::Faults;
use crate::event::{Event, Side};
use crate::story::{Story, connect, heal, tell};
use crate::world::World;

/// The default number of stories.
const SEEDS: u64 = 30;
/// The number of stories within which a planted fault must be found.
const FOUND: u64 = 1_000;
/// The number of stories that run twice.
const TWICE: u64 = 8;

/// Reads a number from the environment.
fn number(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().expect("a number"))
}

#[expect(clippy::print_stderr, reason = "a story is told to whoever asked for it")]
fn say(text: &str) {
    eprintln!("{text}");
}

/// Runs the stories of these seeds, several at a time, until `each` returns false.
fn tell_all(seeds: u64, faults: Faults, each: impl Fn(u64, &Story) -> bool + Sync) {
    let next = AtomicU64::new(1);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > seeds {
                        return;
                    }
                    if !each(seed, &tell(seed, faults)) {
                        next.store(seeds + 1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
}

#[test]
fn every_call_comes_to_an_end_and_none_runs_twice() {
    if let Some(seed) = number("SEED") {
        let story = tell(seed, Faults::None);
        say(&story.trace.text());
        assert_eq!(story.wrong, Vec::<String>::new(), "in the story of seed {seed}");
        return;
    }
    let seeds = number("SEEDS").unwrap_or(SEEDS);
    let (wrong, events) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    let ends = Mutex::new(BTreeMap::new());
    tell_all(seeds, Faults::None, |seed, story| {
        events.fetch_add(u64::try_from(story.trace.len()).unwrap(), Ordering::Relaxed);
        for (end, count) in &story.ends {
            *ends.lock().unwrap().entry(*end).or_insert(0) += count;
        }
        if !story.wrong.is_empty() {
            wrong.lock().unwrap().push((seed, story.wrong.clone()));
        }
        true
    });
    let ends = ends.into_inner().unwrap();
    say(&format!(
        "{seeds} stories of {} events; calls by their ends: {ends:?}",
        events.into_inner()
    ));
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    assert_eq!(wrong, Vec::new(), "SEED=N make test-sim tells the story of one");
}

#[test]
fn the_same_seed_is_the_same_story() {
    for seed in 1..=number("TWICE").unwrap_or(TWICE) {
        let (one, other) = (tell(seed, Faults::None), tell(seed, Faults::None));
        assert_eq!(one.trace.difference(&other.trace), None, "in the story of seed {seed}");
        assert_eq!(one, other);
    }
}

/// Returns the first seed whose story shows the fault.
fn found(faults: Faults) -> u64 {
    let found = Mutex::new(Vec::new());
    tell_all(FOUND, faults, |seed, story| {
        if !story.wrong.is_empty() {
            found.lock().unwrap().push((seed, story.wrong.clone()));
        }
        found.lock().unwrap().is_empty()
    });
    let mut found = found.into_inner().unwrap();
    found.sort();
    let (seed, wrong) = found.first().expect("it shows");
    say(&format!("{faults:?} shows at seed {seed}: {}", wrong.join("; ")));
    *seed
}

#[test]
fn a_journal_that_skips_its_fsync_is_found() {
    assert!(found(Faults::NoSync) <= FOUND);
}

#[test]
fn a_device_that_forgets_what_it_has_seen_is_found() {
    assert!(found(Faults::NoMemory) <= FOUND);
}

#[test]
fn a_result_that_leaves_before_its_commit_is_found() {
    assert!(found(Faults::EarlyResult) <= FOUND);
}

/// Runs all events of this kind.
fn drain(world: &mut World, kind: fn(&Event) -> bool) {
    while let Some((_, event)) = world.going_on().into_iter().find(|(_, event)| kind(event)) {
        world.happen(event);
    }
}

/// The acknowledgement of "unknown" crosses the report of the outcome, which is then lost.
#[test]
fn an_acknowledgement_is_of_the_word_that_it_names() {
    let to_device = |event: &Event| matches!(event, Event::Deliver(_, Side::Device));
    let to_backend = |event: &Event| matches!(event, Event::Deliver(_, Side::Backend));
    let mut world = World::new(1, Faults::None);
    connect(&mut world);
    world.happen(Event::Call);
    drain(&mut world, to_device);
    drain(&mut world, |event| matches!(event, Event::Sync(_)));
    world.happen(Event::Wait(Duration::from_secs(70)));
    drain(&mut world, to_backend);
    drain(&mut world, |event| matches!(event, Event::Effect(..)));
    drain(&mut world, |event| matches!(event, Event::Report(..)));
    drain(&mut world, to_device);
    for link in world.links.iter().map(|link| link.number).collect::<Vec<_>>() {
        world.happen(Event::Cut(link, None));
    }
    heal(&mut world);
    assert_eq!(world.wrong(), Vec::<String>::new(), "{}", world.trace.text());
}
