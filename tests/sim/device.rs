//! One device: the disk that survives its agent, and the running agent.

use std::path::Path;
use std::sync::Arc;

use orion_agent::agent::Agent;
use orion_agent::apps::Apps;
use orion_agent::call::Installation;
use orion_agent::clock::now_ms;
use orion_agent::config::Settings;
use orion_agent::execute::Toolbox;
use orion_agent::journal::{Interrupted, Journal};
use orion_agent::report;
use orion_agent::sandbox::Sandbox;
use orion_agent::state::{Identity, State};
use orion_agent::trash::Trash;
use orion_domain::DeviceId;
use orion_mtls::DeviceKey;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::chance::Chance;
use crate::disk::Disk;
use crate::environment::Simulated;
use crate::ground::{FOLDER, GROUND};
use crate::host::Host;

/// A device of a story.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) id: DeviceId,
    name: String,
    state: Arc<State>,
    settings: Settings,
    pub(crate) disk: Disk,
    pub(crate) world: Simulated,
    /// The file that calls append to: one line a call, its number.
    pub(crate) lines: Vec<usize>,
    pub(crate) host: Option<Host>,
    /// Cancelled to request the agent's stop.
    stop: CancellationToken,
    agent: Option<JoinHandle<()>>,
}

impl Device {
    /// Creates a device without starting it.
    pub(crate) fn new(number: usize, folder: &Path, chance: Chance, faults: Faults) -> Self {
        let dir = folder.join(format!("d{number}"));
        let ceiling = format!("[ceiling]\nprofile = \"operator\"\npaths = [\"{FOLDER}\"]\n");
        let settings = Settings::parse(&ceiling, Some(Path::new(FOLDER)), &[]).unwrap();
        Self {
            id: GROUND.devices[number],
            name: format!("d{number}"),
            state: Arc::new(State::open(&dir).unwrap()),
            settings,
            disk: Disk::new(faults == Faults::NoSync),
            world: Simulated::new(chance, faults == Faults::NoMemory),
            lines: Vec::new(),
            host: None,
            stop: CancellationToken::new(),
            agent: None,
        }
    }

    /// Starts the agent, as its program does.
    pub(crate) fn start(&mut self) {
        let host = Host::new();
        let name = self.name.clone();
        let toolbox = Toolbox {
            places: self.settings.places.clone(),
            apps: Apps::default(),
            programs: orion_agent::programs::Programs::default(),
            trash: Arc::new(Trash::open(self.state.dir()).unwrap()),
            device_id: self.id.to_string(),
            sandbox: Sandbox::detect(),
            installation: Installation::default(),
            #[cfg(target_os = "linux")]
            workers: Arc::default(),
        };
        let (settings, state) = (self.settings.clone(), Arc::clone(&self.state));
        let (world, identity) = (Arc::new(self.world.clone()), self.identity());
        let stop = CancellationToken::new();
        self.stop = stop.clone();
        let (commands, agent) = host.run(async {
            let explain = |call: &Interrupted<'_>| report::interrupted(call, &name, None);
            let text = self.disk.text();
            let (journal, commands) = Journal::on_simulated_disk(text, now_ms(), explain).await;
            let agent = Agent::within(world, settings, state, identity, Arc::new(toolbox), journal);
            (commands, tokio::spawn(agent.run(stop)))
        });
        self.agent = Some(agent);
        self.disk.mount(commands);
        self.host = Some(host);
        self.settle();
    }

    fn identity(&self) -> Identity {
        let shown = &GROUND.identity;
        let far = now_ms() + 20 * 24 * 3_600_000;
        Identity {
            device_id: self.id,
            name: self.name.parse().unwrap(),
            addresses: vec!["backend:7443".to_owned()],
            renew_at: far,
            not_after: far + 3_600_000,
            certificate: shown.certificate.clone(),
            authorities: shown.authorities.clone(),
            key: DeviceKey::from_pem(&shown.key).unwrap(),
        }
    }

    /// Lets the agent do what it can.
    pub(crate) fn settle(&mut self) {
        let Some(host) = &self.host else { return };
        host.turn();
        self.disk.take();
        if !self.disk.is_waited_for() {
            // A disk that lies reports the sync before it happens.
            host.turn();
        }
    }

    /// Requests the agent's stop.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Returns whether the agent runs and no stop was requested.
    pub(crate) fn is_serving(&self) -> bool {
        self.host.is_some() && !self.stop.is_cancelled()
    }

    /// Removes an agent that has stopped, and returns whether it had.
    pub(crate) fn bury(&mut self) -> bool {
        let has_stopped = self.agent.as_ref().is_some_and(JoinHandle::is_finished);
        if has_stopped && self.host.is_some() {
            assert!(self.stop.is_cancelled(), "an agent ends where nobody asked it to");
            // The journal's writer thread syncs last.
            self.disk.sync();
            self.kill();
            self.disk.unmount();
        }
        has_stopped
    }

    /// Kills the agent at once.
    pub(crate) fn kill(&mut self) {
        self.disk.take();
        (self.host, self.agent) = (None, None);
        let mut wants = self.world.wants();
        wants.dials.clear();
        wants.running.clear();
    }
}

/// A planted fault of a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Faults {
    None,
    /// The journal's fsync is skipped.
    NoSync,
    /// The agent has no memory of earlier calls.
    NoMemory,
    /// The result of a call that reads reaches its caller before it is committed.
    EarlyResult,
}
