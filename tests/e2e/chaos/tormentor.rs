//! Who kills and cuts, by a seed. One act after another, each among calls that are under way.

use std::fmt;
use std::time::Duration;

use orion_tests::{Cut, Faults, Flow};
use rand::RngExt as _;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::IndexedRandom as _;
use tokio::time::{Instant, sleep, timeout};

use super::pace::Pace;
use super::{Ground, Place};

/// How long an act waits for the calls among which it is to fall, where they are held up.
const AMONG_WITHIN: Duration = Duration::from_millis(1_500);
/// How long an agent with a sound link may be away before it is started anew: by itself it would wait
/// longer after each loss, and there would be nobody left to torment.
const AWAY: Duration = Duration::from_secs(6);
/// How many acts a fault outlasts at most; one in so many lasts until both sides find the link dead.
const FEW_ACTS: usize = 4;
const LONG: usize = 12;
const LONG_ACTS: usize = 18;

/// What was done.
#[derive(Default)]
pub(super) struct Torment {
    acts: usize,
    backend_kills: usize,
    agent_kills: usize,
    cuts: usize,
    faults: usize,
}

impl Torment {
    pub(super) fn kills(&self) -> usize {
        self.backend_kills + self.agent_kills
    }
}

impl fmt::Display for Torment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { acts, backend_kills, agent_kills, cuts, faults } = self;
        write!(
            f,
            "{acts} acts: the backend killed {backend_kills} times, agents {agent_kills} times, {cuts} links cut, {faults} faults"
        )
    }
}

/// What is wrong with one place.
#[derive(Default, Clone, Copy)]
struct Trouble {
    /// The act with which the fault ends.
    until_act: usize,
    /// Since when its agent has had no connection.
    away_since: Option<Instant>,
}

struct Tormentor<'a> {
    ground: &'a Ground,
    random: Xoshiro256PlusPlus,
    troubles: Vec<Trouble>,
    done: Torment,
}

/// Torments until every call is allowed, and then heals everything.
pub(super) async fn run(
    ground: &Ground,
    pace: &Pace,
    random: Xoshiro256PlusPlus,
    per_act: usize,
) -> Torment {
    let troubles = vec![Trouble::default(); ground.places.len()];
    let mut tormentor = Tormentor { ground, random, troubles, done: Torment::default() };
    while !pace.is_all_allowed() {
        pace.allow(per_act);
        let among = pace.ended() + tormentor.random.random_range(0..per_act);
        drop(timeout(AMONG_WITHIN, pace.until_ended(among)).await);
        sleep(Duration::from_micros(tormentor.random.random_range(0..15_000))).await;
        tormentor.act().await;
        tormentor.tend().await;
    }
    ground.places.iter().for_each(|place| place.proxy.heal());
    let healed = Instant::now();
    while healed.elapsed() < 2 * AWAY {
        tormentor.tend().await;
        sleep(Duration::from_millis(100)).await;
    }
    tormentor.done
}

impl Tormentor<'_> {
    async fn act(&mut self) {
        self.done.acts += 1;
        match self.random.random_range(0..100) {
            0..18 => self.kill_backend().await,
            18..42 => {
                for _ in 0..self.random.random_range(1..=2) {
                    let place = self.place();
                    self.kill_agent(place).await;
                }
            }
            42..48 => {
                let place = self.place();
                self.kill_agent(place).await;
                self.kill_backend().await;
            }
            48..68 => {
                for _ in 0..self.random.random_range(1..=3) {
                    let how = if self.random.random_bool(0.6) { Cut::Reset } else { Cut::Finish };
                    let place = self.place();
                    self.ground.places[place].proxy.cut(how);
                    self.done.cuts += 1;
                }
            }
            _ => self.break_link(),
        }
    }

    fn place(&mut self) -> usize {
        self.random.random_range(0..self.ground.places.len())
    }

    async fn kill_backend(&mut self) {
        self.ground.world.server().kill9().await;
        self.done.backend_kills += 1;
        self.ground.world.restart_server().await;
    }

    async fn kill_agent(&mut self, place: usize) {
        let Place { device, .. } = &self.ground.places[place];
        device.agent().kill9().await;
        self.done.agent_kills += 1;
        drop(device.launch());
        self.troubles[place].away_since = None;
    }

    fn break_link(&mut self) {
        let place = self.place();
        let late = Duration::from_millis(self.random.random_range(5..120));
        let slow = self.random.random_range(8_000..200_000);
        let flow = *[Flow::Held, Flow::Held, Flow::Late(late), Flow::Slow(slow), Flow::Bytewise]
            .choose(&mut self.random)
            .unwrap();
        let faults = match self.random.random_range(0..7) {
            0..3 => Faults::both(flow),
            3..5 => Faults::up(flow),
            5 => Faults::down(flow),
            _ => Faults::refusing(),
        };
        self.ground.places[place].proxy.set(faults);
        self.done.faults += 1;
        let lasts = match self.random.random_range(0..LONG) {
            0 => LONG_ACTS,
            _ => self.random.random_range(1..=FEW_ACTS),
        };
        self.troubles[place].until_act = self.done.acts + lasts;
    }

    /// Heals what is due, and starts agents anew that stay away.
    async fn tend(&mut self) {
        for index in 0..self.ground.places.len() {
            let Place { device, proxy } = &self.ground.places[index];
            if self.done.acts >= self.troubles[index].until_act {
                proxy.heal();
            }
            let is_away = proxy.faults() == Faults::default() && !device.is_linked();
            let trouble = &mut self.troubles[index];
            if !is_away {
                trouble.away_since = None;
            } else if trouble.away_since.get_or_insert_with(Instant::now).elapsed() > AWAY {
                self.kill_agent(index).await;
            }
        }
    }
}
