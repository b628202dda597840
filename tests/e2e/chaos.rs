//! Nothing is lost and nothing runs twice, whatever dies: calls with effects from many callers on
//! several devices, while backend and agents are killed and their links break, by a seed.
//!
//! Every call appends a line of its own. In the end, the lines on the devices are held against the
//! record. `CHAOS_CALLS` and `CHAOS_SEED` say how many and which; `make test-chaos` is the long form.

mod callers;
mod pace;
mod reckoning;
mod tormentor;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orion_tests::{Device, Proxy, World};
use rand::SeedableRng as _;
use rand::rngs::Xoshiro256PlusPlus;
use serde_json::json;

use self::callers::CallerReport;
use self::pace::Pace;
use self::reckoning::Reckoning;

/// How many devices there are, and how many callers each has.
const DEVICES: usize = 6;
const CALLERS_EACH: usize = 6;
/// Into how many files the lines of one device go: some calls meet in one file, some do not.
const FILES: usize = 12;
/// How many calls the short form makes.
const SHORT: usize = 300;
/// How long the last calls may take to come to their ends after everything is healed.
const SETTLE_WITHIN: Duration = Duration::from_secs(90);

/// A device that is reached through a proxy.
struct Place {
    device: Device,
    proxy: Proxy,
}

/// Everything that can be hurt.
struct Ground {
    world: World,
    places: Vec<Place>,
}

/// Says on the way out which run this was, for it can be had again.
struct Seed(u64);

impl Drop for Seed {
    #[expect(clippy::print_stderr, reason = "without it a failure cannot be looked into")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("chaos: this was CHAOS_SEED={}", self.0);
        }
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_done_once_and_told_as_they_were_whatever_dies() {
    let began = Instant::now();
    let seed = number("CHAOS_SEED", u64::try_from(orion_tests::now_ms()).unwrap());
    let _told = Seed(seed);
    let calls = usize::try_from(number("CHAOS_CALLS", SHORT as u64)).unwrap();
    // In the short form there is more torment to a call.
    let per_act = if calls <= SHORT { 12 } else { 36 };

    let ground = prepare().await;
    let pace = Arc::new(Pace::new(calls));
    let callers: Vec<_> = (0..DEVICES * CALLERS_EACH)
        .map(|caller| {
            let device = ground.places[caller % DEVICES].device.name.clone();
            let admin = ground.world.admin().clone();
            tokio::spawn(callers::run(admin, device, Arc::clone(&pace), seed))
        })
        .collect();
    let random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let torment = tormentor::run(&ground, &pace, random, per_act).await;

    let mut heard = CallerReport::default();
    for caller in callers {
        heard.add(caller.await.unwrap());
    }
    let open = reckoning::settle(&ground.world, SETTLE_WITHIN).await;
    let verified = ground.world.cli().run(&["audit", "verify"]).await;
    let both = reckoning::join(&ground).await;
    for place in &ground.places {
        place.device.stop().await;
    }
    let reckoning = Reckoning::make(&ground, calls, open).await;

    let mut states = String::new();
    for (state, count) in &reckoning.states {
        write!(states, " {state} {count},").unwrap();
    }
    println!(
        "chaos: seed {seed}, {calls} calls in {:.0} s:{states} after {torment}; {} requests repeated; {} calls the same in the audits of both sides",
        began.elapsed().as_secs_f64(),
        heard.repeated,
        both["joined"]["calls"]
    );
    assert_eq!(heard.odd, Vec::<String>::new(), "what no caller should hear");
    assert_eq!(reckoning.wrong, Vec::<String>::new(), "what does not join");
    assert_eq!(verified.code, 0, "{verified:?}");
    let joined = (&both["whole"], &both["joined"]["pending"], &both["joined"]["problems"]);
    assert_eq!(joined, (&json!(true), &json!(0), &json!([])), "{both}");
    // Otherwise nothing was tried.
    let succeeded = reckoning.states.get("succeeded").copied().unwrap_or_default();
    assert!(
        succeeded * 3 > calls && torment.kills() > 0,
        "too little was done, or too little hurt"
    );
}

async fn prepare() -> Ground {
    let world = World::configured("[calls]\nin_flight_per_device = 32\n").await;
    let mut places = Vec::new();
    for index in 0..DEVICES {
        let proxy = world.proxy().await;
        let device = world.device(&format!("device-{index}")).via_proxy(&proxy).start().await;
        places.push(Place { device, proxy });
    }
    Ground { world, places }
}
