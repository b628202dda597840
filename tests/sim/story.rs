//! One story: a phase in which anything may happen, and then a phase without faults in which every call
//! must end.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::device::Faults;
use crate::event::{Budget, Event};
use crate::trace::Trace;
use crate::world::World;

/// The timeout of the phase without faults.
const HEAL_TIMEOUT: Duration = Duration::from_secs(180);
/// One step of that wait.
const PAUSE: Duration = Duration::from_millis(500);
/// The maximum number of events in it.
const MAX_EVENTS: usize = 20_000;

/// A finished story.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Story {
    pub(crate) trace: Trace,
    /// The number of calls by outcome.
    pub(crate) ends: BTreeMap<&'static str, usize>,
    /// The violated invariants.
    pub(crate) wrong: Vec<String>,
}

/// Runs the story of a seed.
pub(crate) fn tell(seed: u64, faults: Faults) -> Story {
    let mut world = World::new(seed, faults);
    connect(&mut world);
    let steps = 60 + world.chance.below(120);
    let mut budget = Budget { calls: 2 + world.chance.below(12), faults: world.chance.below(10) };
    for _ in 0..steps {
        let mut events = world.going_on();
        events.extend(world.besides(budget));
        let event = world.chance.pick(&events);
        match event {
            Event::Call => budget.calls -= 1,
            Event::KillBackend
            | Event::StopBackend
            | Event::KillDevice(..)
            | Event::StopDevice(_)
            | Event::Cut(..) => budget.faults -= 1,
            Event::Deliver(..)
            | Event::Answer(_)
            | Event::Sync(_)
            | Event::Effect(..)
            | Event::Report(..)
            | Event::Cancel(_)
            | Event::Repeat(_)
            | Event::Wait(_)
            | Event::Notice(..)
            | Event::StartBackend
            | Event::StartDevice(_) => {}
        }
        world.happen(event);
    }
    heal(&mut world);
    let wrong = world.wrong();
    Story { ends: world.record.ends(), trace: world.trace, wrong }
}

/// Connects every device for the first time, so that calls can be made.
pub(crate) fn connect(world: &mut World) {
    loop {
        let events = world.going_on();
        let Some((_, event)) = events.first() else { return };
        world.happen(*event);
    }
}

/// Runs without faults until every call has ended.
pub(crate) fn heal(world: &mut World) {
    let now = world.now();
    world.trace.event(now, "from here on nothing goes wrong");
    let none = Budget { calls: 0, faults: 0 };
    let starts = |(_, event): &(usize, Event)| {
        matches!(event, Event::StartBackend | Event::StartDevice(_) | Event::Notice(..))
    };
    for _ in 0..MAX_EVENTS {
        let events = world.going_on();
        if let Some((_, event)) = world.besides(none).into_iter().find(starts) {
            world.happen(event);
        } else if !events.is_empty() {
            let event = world.chance.pick(&events);
            world.happen(event);
        } else if world.is_at_its_end() || world.now() > now + HEAL_TIMEOUT {
            return;
        } else {
            world.happen(Event::Wait(PAUSE));
        }
    }
    panic!("it does not come to an end:\n{}", world.trace.text());
}
