//! What the device's owner says while the agent runs. A changed file counts for every call from then
//! on: guard, folders, applications and what the backend is told change in one step of the loop. Calls
//! that run go on as they were admitted, with the handles that they hold.
//!
//! A file that cannot be taken changes nothing: what was understood last holds, and that it does is
//! said in the log, in the status and to the backend. Where there is no file any more, or it asks for
//! what this device cannot hold, nothing can be done at all: that is never more than what held before.

use std::sync::{Arc, LazyLock};

use orion_domain::rule::CompiledRule;
use orion_mtls::secret_file;
use orion_wire::v1::{self, link_request};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::Agent;
use super::event::Event;
use super::policy_inspection::{PolicyInspection, inspect};
use crate::apps::Apps;
use crate::config::{Found, Settings, Source};
use crate::execute::Toolbox;
use crate::guard::Guard;
use crate::roots::{GrantedPaths, Roots};
use crate::run::suffices;

/// The policy as it was last taken, in the state directory, for `orion-agent ceiling show`.
pub const KEPT_POLICY: &str = "policy.json";
/// The longest fault that is told, in characters.
const MAX_FAULT: usize = 500;

/// What the owner's file says.
#[derive(Debug)]
pub enum OwnerCeiling {
    /// This, with the applications that it names.
    Settings(Box<Settings>, Apps),
    /// Nothing that can be taken, and why.
    Faulty(String),
    /// There is none.
    Gone,
}

/// Whether what is lent is being opened. One task does it, however often it changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Opening {
    #[default]
    Done,
    UnderWay,
    /// It changed since.
    Again,
}

/// What the backend was told of the ceiling.
#[derive(Debug, Default)]
pub(super) struct CeilingReport {
    /// The last change.
    number: u64,
    /// The change that the greeting of this connection held.
    greeting: u64,
    /// Why the ceiling that holds is not what the file says.
    fault: Option<String>,
}

/// What the guard's policy lends, to be opened.
pub(super) fn granted_paths(settings: &Settings, guard: &Guard) -> Arc<GrantedPaths> {
    let (ceiling, private) = (settings.scope.clone(), settings.private.clone());
    let grants = guard.policy().grants.clone();
    let named = guard.policy().rules.iter().flat_map(CompiledRule::roots).cloned();
    let named: Vec<_> = named.collect();
    let open = move || Roots::open_named(&ceiling, &grants, &private, &named);
    Arc::new(GrantedPaths::new(Box::new(open)))
}

impl Agent {
    /// Watches the owner's file until the handle is dropped.
    pub(super) fn watch_the_owner(&self) -> Option<AbortOnDropHandle<()>> {
        let source = self.settings.source.clone()?;
        Some(AbortOnDropHandle::new(tokio::spawn(watch(source, self.events.clone()))))
    }

    /// Takes what the owner says.
    pub(super) fn owner(&mut self, word: OwnerCeiling) {
        match word {
            OwnerCeiling::Settings(settings, apps) => {
                match suffices(self.toolbox.sandbox, settings.sandbox) {
                    Ok(()) => {
                        tracing::info!("the owner's file has changed and holds from now on");
                        self.told.fault = None;
                        self.hold(*settings, apps);
                    }
                    Err(error) => self.close(error.to_string()),
                }
            }
            OwnerCeiling::Faulty(fault) => {
                tracing::error!(fault, "the ceiling before it holds on: the file cannot be taken");
                self.told.fault = Some(fault.chars().take(MAX_FAULT).collect());
                self.report();
            }
            OwnerCeiling::Gone => self.close(
                "agent.toml is gone, so nobody says what may be done here, and nothing may"
                    .to_owned(),
            ),
        }
    }

    fn close(&mut self, why: String) {
        tracing::error!(why, "every call is refused from now on");
        self.told.fault = Some(why.chars().take(MAX_FAULT).collect());
        self.hold(self.settings.clone().closed(), Apps::default());
    }

    fn hold(&mut self, settings: Settings, apps: Apps) {
        self.guard.limit(settings.places.clone(), settings.scope.clone());
        let Toolbox { places: _, apps: _, trash, device_id, sandbox } = &*self.toolbox;
        self.toolbox = Arc::new(Toolbox {
            places: settings.places.clone(),
            apps,
            trash: Arc::clone(trash),
            device_id: device_id.clone(),
            sandbox: *sandbox,
        });
        self.settings = settings;
        self.reopen();
        self.report();
    }

    /// Says what holds to the backend, and to whoever asks here.
    fn report(&mut self) {
        self.told.number += 1;
        self.status.ceiling_fault.clone_from(&self.told.fault);
        self.write_status();
        self.send_ceiling();
    }

    fn send_ceiling(&mut self) {
        let workspace = self.settings.places.workspace.as_ref();
        let update = v1::CeilingUpdate {
            ceiling: self.ceiling_bytes().into(),
            workspace: workspace.map(ToString::to_string).unwrap_or_default(),
            fault: self.told.fault.clone().unwrap_or_default(),
            number: self.told.number,
        };
        self.send(link_request::Message::CeilingUpdate(update));
    }

    /// The ceiling as the backend is told it.
    pub(super) fn ceiling_bytes(&self) -> Vec<u8> {
        // A ceiling of plain strings always serialises; nothing would be no ceiling told.
        serde_json::to_vec(&self.settings.ceiling).unwrap_or_default()
    }

    /// A greeting with the ceiling of this moment is on its way.
    pub(super) fn reported_in_hello(&mut self) {
        self.told.greeting = self.told.number;
    }

    /// The backend heard the greeting; what changed since, or is wrong with the file, follows.
    pub(super) fn greeted(&mut self) {
        if self.told.greeting == self.told.number {
            self.guard.settle();
        }
        if self.told.greeting != self.told.number || self.told.fault.is_some() {
            self.send_ceiling();
        }
    }

    /// The backend judges by this change from here on.
    pub(super) fn ceiling_acknowledged(&mut self, number: u64) {
        if number == self.told.number {
            self.guard.settle();
        }
    }

    /// What is lent has changed.
    pub(super) fn reopen(&mut self) {
        self.roots = granted_paths(&self.settings, &self.guard);
        match self.opening {
            Opening::Done => self.open(),
            Opening::UnderWay | Opening::Again => self.opening = Opening::Again,
        }
    }

    /// What was lent some time ago is open, and this was found beside what its policy names.
    pub(super) fn opened(&mut self, found: Vec<v1::PolicyFinding>) {
        let again = std::mem::take(&mut self.opening) == Opening::Again;
        while self.tasks.try_join_next().is_some() {}
        if again {
            self.open();
        } else if found != self.found {
            self.found.clone_from(&found);
            let version = self.guard.policy().version.clone();
            let ack = v1::PolicyAck { version, error: String::new(), findings: found };
            self.send(link_request::Message::PolicyAck(ack));
        }
    }

    /// Opens what is lent now and not at the first call, so that a folder swapped for a link later is
    /// not the one that is used; off the loop, for a disk may hang.
    fn open(&mut self) {
        self.opening = Opening::UnderWay;
        let (roots, events) = (Arc::clone(&self.roots), self.events.clone());
        let (policy, kept) = (self.guard.kept(), self.state.path(KEPT_POLICY));
        let ground = self.guard.taken().map(|policy| PolicyInspection {
            policy: policy.clone(),
            settings: self.settings.clone(),
            toolbox: Arc::clone(&self.toolbox),
        });
        let opening = tokio::task::spawn_blocking(move || {
            LazyLock::force(&roots);
            if let Some(policy) = policy
                && let Err(error) = secret_file::write(&kept, &policy)
            {
                tracing::debug!(%error, "the policy could not be kept for `ceiling show`");
            }
            ground.as_ref().map(inspect).unwrap_or_default()
        });
        self.tasks.spawn(async move {
            let found = opening.await.unwrap_or_default();
            drop(events.send(Event::Opened { found }).await);
        });
    }
}

/// Posts whatever the owner's file comes to say.
async fn watch(mut source: Source, events: mpsc::Sender<Event>) {
    loop {
        let word = match source.changed().await {
            Found::Faulty(error) => OwnerCeiling::Faulty(error.to_string()),
            Found::Gone => OwnerCeiling::Gone,
            Found::Settings(settings) => {
                // Looks for programs on the disk.
                let found = tokio::task::spawn_blocking(move || {
                    let names = settings.ceiling.apps.iter().map(String::as_str);
                    let (apps, bad) = Apps::discover(names, &settings.apps);
                    for entry in bad {
                        tracing::warn!(%entry, "an application can't be opened");
                    }
                    OwnerCeiling::Settings(settings, apps)
                });
                let Ok(word) = found.await else { return };
                word
            }
        };
        if events.send(Event::Owner(word)).await.is_err() {
            return;
        }
    }
}
