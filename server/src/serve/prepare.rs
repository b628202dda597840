//! Opens everything that a backend needs: the data folder, the ports, the database, the identity and the
//! devices. Serves nothing yet.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::Ready;
use super::addresses::{advertised, people_url, write_addresses};
use super::people_certificate::PeopleCertificate;
use crate::active_policy::Policies;
use crate::backend::Backend;
use crate::backup;
use crate::bus::Bus;
use crate::chat::Chat;
use crate::clock::now_ms;
use crate::config::{Config, PeopleTls};
use crate::data_folder::{self, DATABASE};
use crate::downloads::Downloads;
use crate::fleet::effective_policy::load_all;
use crate::fleet::enrollment::Enrollment;
use crate::fleet::enrollment::by_code::ByCode;
use crate::fleet::{Authority, Devices, Fleet};
use crate::listen::open_port;
use crate::local_tools;
use crate::model::Model;
use crate::notary::Notary;
use crate::passkeys::Passkeys;
use crate::people::{FirstAdmin, IdentityCache};
use crate::pipeline::stops::{Stops, end_all_covered};
use crate::pipeline::{Pipeline, plan, queue};
use crate::store::Store;
use crate::tasks::Tasks;
use crate::webhook::Webhook;

/// Opens everything. [`Ready::serve`] ends when `shutdown` is cancelled.
///
/// # Errors
/// What is wrong, where, and what to do.
pub async fn prepare(
    config: Config,
    data_dir: &Path,
    shutdown: CancellationToken,
) -> anyhow::Result<Ready> {
    config.check()?;
    data_folder::make_private(data_dir)?;
    let lock = data_folder::lock(data_dir)?;

    let people_listener = bind(config.people.listen, "[people] listen")?;
    let device_listener = bind(config.devices.listen, "[devices] listen")?;
    let people_address = people_listener.local_addr()?;
    let device_address = device_listener.local_addr()?;

    let store = Store::open(&data_dir.join(DATABASE))
        .await
        .context("the database cannot be opened (orion.db in the data folder)")?;
    backup::record_restore(&store, data_dir).await?;
    let recovered = store.recover_open_calls(now_ms()).await?;
    if recovered > 0 {
        tracing::warn!(recovered, "calls that were under way at the last stop were closed");
    }
    let authority = if store.knows_authorities().await? {
        Authority::take_up(data_dir, now_ms())?
    } else {
        Authority::open(data_dir, now_ms())?
    };
    store.record_authorities(authority.fingerprints(), now_ms()).await?;
    let first_admin = FirstAdmin::prepare(&store, data_dir).await?;
    let models = config
        .models
        .iter()
        .map(|model| Ok((model.name.clone(), Model::new(model)?)))
        .chain(
            // The planner is always there, and the default if no model is configured.
            std::iter::once_with(|| Ok(("planner".to_owned(), Model::Planner))),
        )
        .collect::<anyhow::Result<Vec<_>>>()?;

    let scheme = if config.people.key.is_some() { "https" } else { "http" };
    let webhook = Webhook::prepare(&config.approvals, &format!("{scheme}://{people_address}"))?;
    let addresses = advertised(&config, device_address);
    let people_url = people_url(&config.people, people_address);
    let downloads = Arc::new(Downloads::new(&config, data_dir, &people_url, &addresses));
    let policies = Policies::load(&store, config.calls.read_only).await?;
    let notary = Arc::new(Notary::prepare(data_dir, &store).await?);
    let (config, bus, tasks) = (Arc::new(config), Bus::new(), Tasks::new(shutdown));
    let fleet = Arc::new(Fleet::default());
    let devices = Devices {
        store: store.clone(),
        fleet: Arc::clone(&fleet),
        policies: Arc::new(policies),
        bus: bus.clone(),
        tasks: tasks.clone(),
    };
    let enrollment = Enrollment {
        devices: devices.clone(),
        authority: Arc::new(authority),
        addresses,
        certificate_seconds: config.devices.certificate_seconds,
        renew_within: Duration::from_hours(24 * u64::from(config.devices.renew_within_days)),
        by_code: Arc::new(ByCode::new(config.devices.enrollment_code_seconds)),
    };
    let stops = Stops::load(&store).await?;
    let pipeline = Arc::new(Pipeline::new(Arc::clone(&config), devices.clone(), stops));
    let people = Arc::new(IdentityCache::default());
    let passkeys = Passkeys::new(config.approvals.page_url.as_deref(), &people_url);
    let chat = Chat { pipeline: Arc::clone(&pipeline), models, people: Arc::clone(&people) };
    let backend = Arc::new(Backend {
        pipeline,
        config,
        store,
        fleet,
        devices,
        downloads,
        enrollment,
        notary,
        bus,
        chat: Arc::new(chat),
        first_admin: Arc::new(first_admin),
        people,
        passkeys: Arc::new(passkeys),
        tasks,
    });
    backend.fleet.witnesses().load(&backend.store).await?;
    backend.fleet.revoke(backend.store.revoked_serials().await?);
    local_tools::register(&backend.store).await?;
    load_all(&backend.devices).await?;
    plan::recover(&backend.pipeline).await?;
    end_all_covered(&backend.pipeline).await?;
    // Calls that waited too long while the backend was down end before their device can connect.
    while queue::expire(&backend.pipeline, now_ms()).await? > 0 {}
    let own = match backend.config.people.tls {
        Some(PeopleTls::Own) => {
            Some(PeopleCertificate::open(data_dir, &backend.config.people, people_address)?)
        }
        None => None,
    };
    let people_ca = own.as_ref().map(|own| own.authority_file.clone());
    write_addresses(data_dir, people_address, &people_url, people_ca.as_deref(), device_address)?;
    let data_dir = data_dir.to_owned();
    Ok(Ready {
        backend,
        people: people_address,
        people_url,
        people_ca,
        own,
        devices: device_address,
        people_listener,
        device_listener,
        webhook,
        lock,
        data_dir,
    })
}

fn bind(address: SocketAddr, what: &str) -> anyhow::Result<TcpListener> {
    open_port(address).with_context(|| {
        format!("{what} = \"{address}\": the port cannot be opened; stop the program that uses it, or choose another port, or 0 for a free one")
    })
}
