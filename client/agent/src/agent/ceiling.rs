//! Applies changes of the owner's file while the agent runs. A changed file applies to every later call:
//! guard, folders, applications and the reported ceiling change in one step of the loop. Running calls
//! continue as they were admitted, with the handles that they hold.
//!
//! An invalid file changes nothing: the last valid ceiling stays active, and the log, the status and the
//! backend say so. If the file is missing, or requires what this device lacks, every call is rejected;
//! that never allows more than before.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use orion_domain::Policy;
use orion_domain::rule::CompiledRule;
use orion_mtls::secret_file;
use orion_wire::v1::{self, link_request};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::Agent;
use super::event::{Event, OwnerCeiling};
use super::owner_pause::to_wire;
use super::policy_inspection::{PolicyInspection, inspect};
use crate::apps::Apps;
use crate::config::{Found, Settings, Source};
use crate::execute::Toolbox;
use crate::guard::Guard;
use crate::owner_file;
use crate::roots::{GrantedPaths, Roots};
use crate::sandbox::suffices;
use crate::state::names::POLICY;

/// The largest policy that is read, in bytes.
const MAX_KEPT_BYTES: u64 = 16 * 1024 * 1024;
/// The longest fault that is reported, in characters.
const MAX_FAULT: usize = 500;

/// Whether the granted paths are being opened. One task opens them, however often they change.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Opening {
    #[default]
    Done,
    UnderWay,
    /// The granted paths changed while they were being opened.
    Again,
}

/// What was reported to the backend about the ceiling.
#[derive(Debug, Default)]
pub(super) struct CeilingReport {
    /// Number of the last change.
    number: u64,
    /// Number of the change that this connection's `Hello` contained.
    greeting: u64,
    /// Why the active ceiling differs from the file. None if it does not.
    fault: Option<String>,
}

/// Returns the paths that the guard's policy grants, opened on first use.
pub(super) fn granted_paths(settings: &Settings, guard: &Guard) -> Arc<GrantedPaths> {
    granted_paths_by(settings, guard.policy())
}

/// Returns the paths that a policy grants, opened on first use.
pub(super) fn granted_paths_by(settings: &Settings, policy: &Policy) -> Arc<GrantedPaths> {
    let (ceiling, private) = (settings.scope.clone(), settings.private.clone());
    let grants = policy.grants.clone();
    let named = policy.rules.iter().flat_map(CompiledRule::roots).cloned();
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

    /// Applies the owner's file.
    pub(super) fn owner(&mut self, ceiling: OwnerCeiling) {
        match ceiling {
            OwnerCeiling::Settings(settings, apps) => {
                match suffices(self.toolbox.sandbox, settings.sandbox) {
                    Ok(()) => {
                        tracing::info!("agent.toml has changed and is active");
                        self.told.fault = None;
                        self.hold(*settings, apps);
                    }
                    Err(error) => self.close(error.to_string()),
                }
            }
            OwnerCeiling::Faulty(fault) => {
                tracing::error!(
                    fault,
                    "agent.toml cannot be used: the previous ceiling stays active"
                );
                self.told.fault = Some(fault.chars().take(MAX_FAULT).collect());
                self.report();
            }
            OwnerCeiling::Gone => {
                self.close("agent.toml is missing, so nothing is allowed here".to_owned())
            }
        }
    }

    fn close(&mut self, why: String) {
        tracing::error!(why, "every call is refused from now on");
        self.told.fault = Some(why.chars().take(MAX_FAULT).collect());
        self.hold(self.settings.clone().closed(), Apps::default());
    }

    fn hold(&mut self, settings: Settings, apps: Apps) {
        self.guard.limit(settings.places.clone(), settings.scope.clone());
        let Toolbox {
            places: _, apps: _, programs, trash, device_id, sandbox, installation, ..
        } = &*self.toolbox;
        self.toolbox = Arc::new(Toolbox {
            places: settings.places.clone(),
            apps,
            programs: programs.clone(),
            trash: Arc::clone(trash),
            device_id: device_id.clone(),
            sandbox: *sandbox,
            installation: installation.clone(),
            #[cfg(target_os = "linux")]
            workers: Arc::clone(&self.toolbox.workers),
        });
        self.settings = settings;
        self.reopen();
        self.report();
    }

    /// Reports the ceiling to the backend, and in the status file.
    pub(super) fn report(&mut self) {
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
            projects: self.settings.places.projects.written().into_iter().collect(),
            pause: self.pause.as_ref().map(to_wire),
        };
        self.send(link_request::Message::CeilingUpdate(update));
    }

    /// Returns the ceiling as it is reported to the backend, as JSON.
    pub(super) fn ceiling_bytes(&self) -> Vec<u8> {
        // A ceiling of plain strings always serialises; empty bytes would be no ceiling at all.
        serde_json::to_vec(&self.settings.ceiling).unwrap_or_default()
    }

    /// Records that a `Hello` contains the current ceiling.
    pub(super) fn reported_in_hello(&mut self) {
        self.told.greeting = self.told.number;
    }

    /// Handles the `Welcome`: sends the ceiling again if it changed since the `Hello`, or has a fault.
    pub(super) fn greeted(&mut self) {
        if self.told.greeting == self.told.number {
            self.guard.settle();
        }
        if self.told.greeting != self.told.number || self.told.fault.is_some() {
            self.send_ceiling();
        }
        self.announce();
        self.say_what_waits();
    }

    /// Handles an acknowledgement: the backend evaluates by this change from here on.
    pub(super) fn ceiling_acknowledged(&mut self, number: u64) {
        if number == self.told.number {
            self.guard.settle();
        }
    }

    /// Opens the granted paths after they changed.
    pub(super) fn reopen(&mut self) {
        self.end_denied_transfers();
        self.roots = granted_paths(&self.settings, &self.guard);
        #[cfg(target_os = "linux")]
        self.toolbox.workers.renew();
        match self.opening {
            Opening::Done => self.open(),
            Opening::UnderWay | Opening::Again => self.opening = Opening::Again,
        }
    }

    /// Handles opened paths, and reports the findings of the policy's inspection. If the granted paths
    /// changed since, opens them again instead.
    pub(super) fn opened(&mut self, found: Vec<v1::PolicyFinding>) {
        let again = std::mem::take(&mut self.opening) == Opening::Again;
        while self.tasks.try_join_next().is_some() {}
        if again {
            return self.open();
        }
        self.look_at_servers();
        if found != self.found {
            self.found.clone_from(&found);
            let version = self.guard.policy().version.clone();
            let ack = v1::PolicyAck { version, error: String::new(), findings: found };
            self.send(link_request::Message::PolicyAck(ack));
        }
    }

    /// Opens the granted paths now and not at the first call, so that a folder swapped for a link later
    /// is not used. This happens off the loop, because a disk may hang.
    fn open(&mut self) {
        self.opening = Opening::UnderWay;
        let (roots, events) = (Arc::clone(&self.roots), self.events.clone());
        let (policy, kept) = (self.guard.kept(), self.state.path(POLICY));
        let inspection = self.guard.taken().map(|policy| PolicyInspection {
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
            inspection.as_ref().map(inspect).unwrap_or_default()
        });
        self.tasks.spawn(async move {
            let found = opening.await.unwrap_or_default();
            drop(events.send(Event::Opened { found }).await);
        });
    }
}

/// Returns the policy that was applied last, as it was kept. None where none can be read.
#[must_use]
pub fn kept_policy(state_dir: &Path) -> Option<Vec<u8>> {
    // Root reads the folder of another account.
    owner_file::read(&state_dir.join(POLICY), MAX_KEPT_BYTES).ok()
}

/// Posts each change of the owner's file to the loop.
async fn watch(mut source: Source, events: mpsc::Sender<Event>) {
    loop {
        let ceiling = match source.changed().await {
            Found::Faulty(error) => OwnerCeiling::Faulty(error.to_string()),
            Found::Gone => OwnerCeiling::Gone,
            Found::Settings(settings) => {
                // This searches the disk for programs.
                let found = tokio::task::spawn_blocking(move || {
                    let names = settings.ceiling.apps.iter().map(String::as_str);
                    let (apps, bad) = Apps::discover(names, &settings.apps);
                    for entry in bad {
                        tracing::warn!(%entry, "an application can't be opened");
                    }
                    OwnerCeiling::Settings(settings, apps)
                });
                let Ok(ceiling) = found.await else { return };
                ceiling
            }
        };
        if events.send(Event::Owner(ceiling)).await.is_err() {
            return;
        }
    }
}
