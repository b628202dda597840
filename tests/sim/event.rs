//! The possible next events, and their weights.

use std::time::Duration;

use crate::world::World;

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A message arrives on a connection.
    Deliver(usize, Side),
    /// A device's dial succeeds, or fails.
    Answer(usize),
    /// A device's disk has synced its data.
    Sync(usize),
    /// The effect of a call's tool happens.
    Effect(usize, usize),
    /// The tool of a call has ended.
    Report(usize, usize),
    /// A person makes a call.
    Call,
    /// A person cancels a call.
    Cancel(usize),
    /// A person repeats a call with its idempotency key.
    Repeat(usize),
    /// Time passes.
    Wait(Duration),
    /// A connection breaks, in both directions or in one.
    Cut(usize, Option<Side>),
    /// A side of a broken connection notices.
    Notice(usize, Side),
    KillBackend,
    /// The backend receives a stop request, and stops when it is ready.
    StopBackend,
    StartBackend,
    /// An agent dies, alone or with its machine's power.
    KillDevice(usize, Death),
    StopDevice(usize),
    StartDevice(usize),
}

/// The reader of one direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Backend,
    Device,
}

/// The way in which an agent dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    Process,
    Power,
}

/// The remaining faults and calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) calls: usize,
    pub(crate) faults: usize,
}

impl World {
    /// Returns the events that follow by themselves, with weights.
    pub(crate) fn going_on(&self) -> Vec<(usize, Event)> {
        let mut events = Vec::new();
        for link in &self.links {
            if link.up.is_busy() {
                events.push((40, Event::Deliver(link.number, Side::Backend)));
            }
            if link.down.is_busy() {
                events.push((40, Event::Deliver(link.number, Side::Device)));
            }
        }
        for (number, device) in self.devices.iter().enumerate() {
            let wants = device.world.wants();
            if !wants.dials.is_empty() {
                events.push((20, Event::Answer(number)));
            }
            for running in &wants.running {
                let call = self.calls.number(&running.call.to_string()).unwrap();
                events.push(if running.result.is_none() {
                    (20, Event::Effect(number, call))
                } else {
                    (20, Event::Report(number, call))
                });
            }
            if device.disk.is_waited_for() {
                events.push((25, Event::Sync(number)));
            }
        }
        events
    }

    /// Returns the additional events, with weights.
    pub(crate) fn besides(&self, budget: Budget) -> Vec<(usize, Event)> {
        let mut events = vec![
            (8, Event::Wait(Duration::from_millis(50))),
            (8, Event::Wait(Duration::from_millis(700))),
            (2, Event::Wait(Duration::from_secs(4))),
            (1, Event::Wait(Duration::from_secs(25))),
        ];
        for (number, device) in self.devices.iter().enumerate() {
            match (&device.host, budget.faults > 0) {
                (None, _) => events.push((12, Event::StartDevice(number))),
                (Some(_), true) => {
                    if device.is_serving() {
                        events.push((1, Event::StopDevice(number)));
                    }
                    events.push((1, Event::KillDevice(number, Death::Process)));
                    events.push((2, Event::KillDevice(number, Death::Power)));
                }
                (Some(_), false) => {}
            }
            if device.disk.is_dirty() && !device.disk.is_waited_for() {
                events.push((3, Event::Sync(number)));
            }
        }
        match (&self.backend, budget.faults > 0) {
            (None, _) => events.push((12, Event::StartBackend)),
            (Some(backend), true) => {
                if backend.is_serving() {
                    events.push((1, Event::StopBackend));
                }
                events.push((2, Event::KillBackend));
            }
            (Some(_), false) => {}
        }
        for link in &self.links {
            if !link.is_broken() && budget.faults > 0 {
                events.push((4, Event::Cut(link.number, None)));
                events.push((1, Event::Cut(link.number, Some(Side::Backend))));
                events.push((1, Event::Cut(link.number, Some(Side::Device))));
            }
            if link.is_broken() && link.up.is_read() {
                events.push((8, Event::Notice(link.number, Side::Backend)));
            }
            if link.is_broken() && link.down.is_read() {
                events.push((8, Event::Notice(link.number, Side::Device)));
            }
        }
        if self.backend.is_some() {
            if budget.calls > 0 {
                events.push((25, Event::Call));
            }
            for call in self.open_calls() {
                events.push((1, Event::Cancel(call)));
                if !self.calls.all[call].is_read {
                    events.push((1, Event::Repeat(call)));
                }
            }
        }
        events
    }
}
