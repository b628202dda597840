//! The world of a story: one backend, some devices, their connections, and the clock that all of them
//! share.

use std::path::PathBuf;
use std::time::Duration;

use orion_agent::call::Outcome;
use orion_domain::{CallId, CallState, ErrorCode, ToolError};
use orion_server::clock::new_uuid;
use serde_json::json;
use tempfile::TempDir;

use crate::backend::Backend;
use crate::call::{Call, Calls, Reports};
use crate::chance::Chance;
use crate::check::Record;
use crate::device::{Device, Faults};
use crate::event::{Death, Event, Side};
use crate::ground::{DEVICES, GROUND, folder};
use crate::link::Link;
use crate::trace::Trace;

/// The time after which both sides' pings detect a broken connection.
const NOTICED: Duration = Duration::from_secs(13);
/// The longest step of the clock.
const STEP: Duration = Duration::from_secs(1);

/// The world of a story.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) backend: Option<Backend>,
    pub(crate) devices: Vec<Device>,
    pub(crate) links: Vec<Link>,
    pub(crate) calls: Calls,
    pub(crate) trace: Trace,
    pub(crate) chance: Chance,
    pub(crate) record: Record,
    pub(crate) told: Vec<(usize, Option<CallState>)>,
    faults: Faults,
    telling: Reports,
    broken: Vec<(usize, Duration)>,
    links_made: usize,
    now: Duration,
    began_at: i64,
    data: PathBuf,
    /// Last, so that the folder outlives every open file in it.
    _folder: TempDir,
}

impl World {
    /// Creates a world in which everything runs and nothing is connected yet.
    pub(crate) fn new(seed: u64, faults: Faults) -> Self {
        let (mut chance, folder) = (Chance::new(seed), folder());
        let data = GROUND.copy_to(folder.path());
        let began_at = orion_server::clock::now_ms();
        pretend(began_at);
        let backend = Backend::start(&data);
        let number = 1 + chance.below(DEVICES);
        let devices = (0..number)
            .map(|number| Device::new(number, folder.path(), Chance::new(chance.next()), faults));
        let mut world = Self {
            backend: Some(backend),
            devices: devices.collect(),
            links: Vec::new(),
            calls: Calls::default(),
            trace: Trace::default(),
            record: Record::open(&data.join(orion_server::data_folder::DATABASE)),
            chance: Chance::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d)),
            told: Vec::new(),
            faults,
            telling: Reports::default(),
            broken: Vec::new(),
            links_made: 0,
            now: Duration::ZERO,
            began_at,
            data,
            _folder: folder,
        };
        world.trace.event(world.now, &format!("a backend and {number} devices"));
        for device in &mut world.devices {
            device.start();
        }
        world.settle();
        world
    }

    /// Returns the calls that their callers may consider open.
    pub(crate) fn open_calls(&self) -> Vec<usize> {
        let open = |number: &usize| !self.record.has_ended(*number);
        (0..self.calls.all.len()).filter(open).collect()
    }

    pub(crate) const fn now(&self) -> Duration {
        self.now
    }

    fn link(&mut self, number: usize) -> &mut Link {
        self.links.iter_mut().find(|link| link.number == number).expect("it is there")
    }

    /// Runs one event, and everything that follows by itself.
    pub(crate) fn happen(&mut self, event: Event) {
        match event {
            Event::Deliver(link, side) => self.deliver(link, side),
            Event::Answer(device) => self.answer(device),
            Event::Sync(device) => {
                self.say(&format!("d{device} syncs"));
                self.devices[device].disk.sync();
            }
            Event::Effect(device, call) => self.effect(device, call),
            Event::Report(device, call) => self.report(device, call),
            Event::Call => self.call(),
            Event::Cancel(call) => {
                self.say(&format!("cancel #{call}"));
                self.backend.as_ref().unwrap().cancel(self.calls.all[call].id);
            }
            Event::Repeat(number) => {
                self.say(&format!("make #{number} again"));
                let id = CallId::new(new_uuid());
                self.calls.alias(number, id);
                let call = &self.calls.all[number];
                self.backend.as_ref().unwrap().call(number, call, id, &self.telling);
            }
            Event::Wait(time) => self.wait(time),
            Event::Cut(link, side) => self.cut(link, side),
            Event::Notice(link, side) => {
                self.say(&format!("{side:?} notices that link {link} is gone"));
                self.notice(link, side);
            }
            Event::KillBackend => {
                self.say("kill the backend");
                self.backend = None;
                for link in &mut self.links {
                    link.down.orphan(&mut self.chance);
                    link.up.unread();
                }
            }
            Event::StopBackend => {
                self.say("stop the backend");
                self.backend.as_mut().unwrap().stop();
            }
            Event::StopDevice(device) => {
                self.say(&format!("stop d{device}"));
                self.devices[device].stop();
            }
            Event::StartBackend => {
                self.say("start the backend");
                self.backend = Some(Backend::start(&self.data));
            }
            Event::KillDevice(device, death) => self.kill(device, death),
            Event::StartDevice(device) => {
                self.say(&format!("start d{device}"));
                self.devices[device].start();
            }
        }
        self.settle();
    }

    fn say(&mut self, what: &str) {
        self.trace.event(self.now, what);
    }

    /// Runs everything that can progress without new events.
    fn settle(&mut self) {
        if let Some(backend) = &self.backend {
            backend.settle();
        }
        for device in &mut self.devices {
            device.settle();
        }
        for link in &mut self.links {
            link.take(&self.calls);
        }
        self.bury();
        self.links.retain(|link| !link.is_over());
        let mut told = std::mem::take(&mut *self.telling.lock().unwrap());
        told.sort_by_key(|(number, _)| *number);
        for (number, state) in told {
            let state = state.map_or_else(|| "nothing".to_owned(), |state| state.to_string());
            self.trace.outcome(&format!("told #{number} {state}"));
            self.told.push((number, state.parse().ok()));
        }
        for change in self.record.changes(&self.calls) {
            self.trace.outcome(&change);
        }
    }

    /// Removes what has stopped cleanly; its last messages are in flight.
    fn bury(&mut self) {
        if self.backend.as_ref().is_some_and(Backend::has_stopped) {
            self.trace.outcome("the backend has stopped");
            self.backend = None;
            self.links.iter_mut().for_each(|link| {
                link.down.hung_up();
                link.up.unread();
            });
        }
        for (number, device) in self.devices.iter_mut().enumerate() {
            if device.bury() {
                self.trace.outcome(&format!("d{number} has stopped"));
                // A tool may not end, however often it is cancelled.
                self.calls.may_stay_unknown(&device.disk.interrupted());
                for link in self.links.iter_mut().filter(|link| link.device == number) {
                    link.up.hung_up();
                    link.down.unread();
                }
            }
        }
    }

    fn deliver(&mut self, number: usize, side: Side) {
        let at = self.links.iter().position(|link| link.number == number).expect("it is there");
        let (link, calls) = (&mut self.links[at], &self.calls);
        let (what, call) = match side {
            Side::Backend => link.up.deliver(calls),
            Side::Device => link.down.deliver(calls),
        };
        let arrived = side == Side::Device && what.starts_with("dispatch");
        let (from, to) = match side {
            Side::Backend => (format!("d{}", link.device), "backend".to_owned()),
            Side::Device => ("backend".to_owned(), format!("d{}", link.device)),
        };
        self.say(&format!("{from} to {to} on link {number}: {what}"));
        if let Some(call) = call.filter(|_| arrived).and_then(|id| self.calls.number(&id)) {
            self.calls.all[call].arrived = true;
        }
    }

    fn answer(&mut self, device: usize) {
        let Some(dial) = self.devices[device].world.wants().dials.pop_front() else { return };
        let Some(backend) = &self.backend else {
            return self.say(&format!("d{device} dials and nobody is there"));
        };
        let number = self.links_made;
        let (mut link, ends, read) = Link::new(number, device);
        if dial.send(ends).is_err() {
            return self.say(&format!("d{device} dials no more"));
        }
        link.answered(backend.connect(self.devices[device].id, read));
        self.links.push(link);
        self.links_made += 1;
        self.say(&format!("d{device} dials: link {number}"));
    }

    fn effect(&mut self, device: usize, call: usize) {
        let fails = self.chance.percent(5);
        let calls = &self.calls;
        let Device { world, lines, .. } = &mut self.devices[device];
        let mut wants = world.wants();
        let running = wants.running.iter_mut().find(|it| calls.is(call, it.call)).expect("it runs");
        let (what, result) = if running.cancelled.load(std::sync::atomic::Ordering::Relaxed) {
            let error =
                ToolError::new(ErrorCode::Cancelled, "The call was cancelled while it ran.");
            ("stops", Err(error))
        } else if fails {
            ("fails", Err(ToolError::new(ErrorCode::ExecutionFailed, "There is no such file.")))
        } else {
            if !calls.all[call].is_read {
                lines.push(call);
            }
            (
                "does its work",
                Outcome::new("Done.", json!({"mode": "append"})).encoded("write_file"),
            )
        };
        running.result = Some(result);
        drop(wants);
        self.say(&format!("#{call} {what} on d{device}"));
    }

    fn report(&mut self, device: usize, call: usize) {
        let mut wants = self.devices[device].world.wants();
        let at = wants.running.iter().position(|it| self.calls.is(call, it.call)).expect("it runs");
        let running = wants.running.remove(at);
        drop(wants);
        let result = running.result.expect("it has ended");
        if self.faults == Faults::EarlyResult && self.calls.all[call].is_read && result.is_ok() {
            self.told.push((call, Some(CallState::Succeeded)));
        }
        drop(running.done.send(result));
        self.say(&format!("#{call} has ended on d{device}"));
    }

    fn call(&mut self) {
        let chance = &mut self.chance;
        let number = self.calls.all.len();
        let call = Call {
            id: CallId::new(new_uuid()),
            device: chance.below(self.devices.len()),
            is_read: chance.percent(30),
            key: format!("key {number}"),
            queue_ms: chance.percent(60).then(|| [3_000, 20_000, 120_000][chance.below(3)]),
            timeout_ms: [2_000, 10_000, 60_000][chance.below(3)],
            arrived: false,
            may_stay_unknown: false,
        };
        let waits = match call.queue_ms {
            _ if call.is_read => ", which reads",
            Some(_) => ", and may wait",
            None => "",
        };
        self.trace.event(self.now, &format!("call #{number} on d{}{waits}", call.device));
        self.backend.as_ref().unwrap().call(number, &call, call.id, &self.telling);
        self.calls.add(call);
    }

    fn wait(&mut self, time: Duration) {
        self.say(&format!("{} ms go by", time.as_millis()));
        let mut left = time;
        while !left.is_zero() {
            let step = left.min(STEP);
            left -= step;
            self.now += step;
            pretend(self.began_at + i64::try_from(self.now.as_millis()).unwrap());
            if let Some(backend) = &self.backend {
                backend.advance(step);
            }
            for device in &mut self.devices {
                if let Some(host) = &device.host {
                    host.advance(step);
                }
            }
            let now = self.now;
            let due = self.broken.extract_if(.., |(_, since)| now >= *since + NOTICED);
            for (link, _) in due.collect::<Vec<_>>() {
                self.notice(link, Side::Backend);
                self.notice(link, Side::Device);
            }
            self.settle();
        }
    }

    fn cut(&mut self, number: usize, side: Option<Side>) {
        let towards = side.map_or_else(String::new, |side| format!(" towards the {side:?}"));
        self.say(&format!("link {number} breaks{towards}"));
        let link = self.link(number);
        match side {
            None => {
                link.up.cut();
                link.down.cut();
            }
            Some(Side::Backend) => link.up.cut(),
            Some(Side::Device) => link.down.cut(),
        }
        self.broken.push((number, self.now));
    }

    fn notice(&mut self, number: usize, side: Side) {
        let Some(link) = self.links.iter_mut().find(|link| link.number == number) else { return };
        match side {
            Side::Backend => link.up.notice(),
            Side::Device => link.down.notice(),
        }
    }

    fn kill(&mut self, number: usize, death: Death) {
        self.say(&format!("kill d{number} ({death:?})"));
        let device = &mut self.devices[number];
        device.kill();
        match death {
            Death::Process => device.disk.unmount(),
            Death::Power => {
                let kept = device.disk.lose(&mut self.chance);
                self.trace.outcome(&format!("{kept} lines stay that were not synced"));
            }
        }
        self.calls.may_stay_unknown(&device.disk.interrupted());
        for link in self.links.iter_mut().filter(|link| link.device == number) {
            link.up.orphan(&mut self.chance);
            link.down.unread();
        }
    }
}

/// Sets the time for everything on this thread.
fn pretend(now: i64) {
    orion_agent::clock::pretend(Some(now));
    orion_server::clock::pretend(Some(now));
}
