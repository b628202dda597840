//! One story from its beginning to its end: a while in which anything may happen, and then a while in which
//! nothing goes wrong any more and all of it has to come right.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::device::Faults;
use crate::event::{Budget, Event};
use crate::trace::Trace;
use crate::world::World;

/// How long it may take until all is well, once nothing goes wrong any more.
const HEALED: Duration = Duration::from_secs(180);
/// One step of waiting for that.
const PAUSE: Duration = Duration::from_millis(500);
/// How many things may happen in it.
const LONGEST: usize = 20_000;

/// See the module.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Story {
    pub(crate) trace: Trace,
    /// How many calls came to which end.
    pub(crate) ends: BTreeMap<&'static str, usize>,
    /// What does not hold of what must.
    pub(crate) wrong: Vec<String>,
}

/// Tells the story of a seed.
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

/// Every device connects for the first time, so that calls can be made.
pub(crate) fn connect(world: &mut World) {
    loop {
        let events = world.going_on();
        let Some((_, event)) = events.first() else { return };
        world.happen(*event);
    }
}

/// From here on nothing goes wrong, until all is well.
pub(crate) fn heal(world: &mut World) {
    let now = world.now();
    world.trace.event(now, "from here on nothing goes wrong");
    let none = Budget { calls: 0, faults: 0 };
    let starts = |(_, event): &(usize, Event)| {
        matches!(event, Event::StartBackend | Event::StartDevice(_) | Event::Notice(..))
    };
    for _ in 0..LONGEST {
        let events = world.going_on();
        if let Some((_, event)) = world.besides(none).into_iter().find(starts) {
            world.happen(event);
        } else if !events.is_empty() {
            let event = world.chance.pick(&events);
            world.happen(event);
        } else if world.is_at_its_end() || world.now() > now + HEALED {
            return;
        } else {
            world.happen(Event::Wait(PAUSE));
        }
    }
    panic!("it does not come to an end:\n{}", world.trace.text());
}
