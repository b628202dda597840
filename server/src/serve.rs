//! Starts, serves and stops a backend: opens the database, creates or loads its identity, listens for
//! people and for devices, and stops without losing anything.

use std::fs::File;
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use orion_mtls::{device_listener_trusting, secret_file};
use orion_wire::LINK_WINDOW;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::Layer as _;

use crate::access::AccessControl;
use crate::active_policy::Policies;
use crate::backend::Backend;
use crate::backup;
use crate::bus::Bus;
use crate::chat::Chat;
use crate::clock::now_ms;
use crate::config::{Config, PeopleConfig};
use crate::data_folder::{self, ADDRESSES, DATABASE};
use crate::fleet::effective_policy::load_all;
use crate::fleet::enrollment::Enrollment;
use crate::fleet::{Authority, Devices, Fleet};
use crate::jobs;
use crate::listen::connections::ConnectionLimits;
use crate::listen::descriptors::{self, Share};
use crate::listen::http2::Http2Limits;
use crate::listen::{Door, open_port};
use crate::model::{Model, Planner};
use crate::notary::Notary;
use crate::people::{FirstAdmin, IdentityCache};
use crate::pipeline::{Pipeline, confirm, plan, queue};
use crate::rpc;
use crate::rpc::access_layer::AccessLayer;
use crate::store::Store;
use crate::tasks::Tasks;
use crate::webhook::{self, Webhook};

/// How long a new connection of a device is kept before it may be closed for another: a handshake takes a
/// while when many devices reconnect at once.
const DEVICE_GRACE: Duration = Duration::from_secs(1);
/// The limits of one connection of people and programs. A client that does not know the limit yet starts up
/// to a hundred requests.
const PEOPLE_HTTP2: Http2Limits =
    Http2Limits { streams: 128, stream_window: 128 * 1024, connection_window: 256 * 1024 };
/// The limits of one connection of a device: its stream, a renewal, and streams that were cut off
/// unnoticed.
const DEVICE_HTTP2: Http2Limits =
    Http2Limits { streams: 16, stream_window: LINK_WINDOW, connection_window: 2 * LINK_WINDOW };
/// How long work in progress may take when the backend stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long connections may stay open after that.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long devices wait on average before they reconnect when the backend stops.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);
/// A backend that is ready: everything is open, nothing is served yet.
#[derive(Debug)]
pub struct Ready {
    /// Shared by all handlers.
    pub backend: Arc<Backend>,
    /// The listening address for people.
    pub people: SocketAddr,
    /// The listening address for devices.
    pub devices: SocketAddr,
    people_listener: TcpListener,
    device_listener: TcpListener,
    webhook: Option<Webhook>,
    /// Held as long as the backend runs, so that no other backend uses the folder.
    lock: File,
    data_dir: PathBuf,
}

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
            std::iter::once_with(|| Ok(("planner".to_owned(), Model::Planner(Planner)))),
        )
        .collect::<anyhow::Result<Vec<_>>>()?;

    let scheme = if config.people.key.is_some() { "https" } else { "http" };
    let webhook = Webhook::prepare(&config.approvals, &format!("{scheme}://{people_address}"))?;
    let addresses = advertised(&config, device_address);
    let policies = Policies::load(&store).await?;
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
    };
    let pipeline = Arc::new(Pipeline::new(Arc::clone(&config), devices.clone()));
    let people = Arc::new(IdentityCache::default());
    let chat = Chat { pipeline: Arc::clone(&pipeline), models, people: Arc::clone(&people) };
    let backend = Arc::new(Backend {
        pipeline,
        config,
        store,
        fleet,
        devices,
        enrollment,
        notary,
        bus,
        chat: Arc::new(chat),
        first_admin: Arc::new(first_admin),
        people,
        tasks,
    });
    backend.fleet.witnesses().load(&backend.store).await?;
    backend.fleet.revoke(backend.store.revoked_serials().await?);
    load_all(&backend.devices).await?;
    plan::recover(&backend.pipeline).await?;
    // Calls that waited too long while the backend was down end before their device can connect.
    while queue::expire(&backend.pipeline, now_ms()).await? > 0 {}
    write_addresses(data_dir, people_address, device_address)?;
    let data_dir = data_dir.to_owned();
    Ok(Ready {
        backend,
        people: people_address,
        devices: device_address,
        people_listener,
        device_listener,
        webhook,
        lock,
        data_dir,
    })
}

impl Ready {
    /// Serves until the shutdown token is cancelled, then lets work in progress end.
    ///
    /// # Errors
    /// A certificate cannot be read, or the backend did not stop in order.
    pub async fn serve(self) -> anyhow::Result<()> {
        let Self {
            backend,
            people_listener,
            device_listener: devices,
            webhook,
            lock,
            data_dir,
            ..
        } = self;
        let closing = backend.tasks.closing.clone();
        let access = AccessLayer::new(AccessControl::start(
            &backend.config.calls,
            backend.store.clone(),
            Arc::clone(&backend.people),
            Arc::clone(&backend.first_admin),
            backend.tasks.clone(),
        ));
        let device_tls = device_listener_trusting(
            backend.enrollment.authority.trust(),
            backend.enrollment.authority.certificate(),
            backend.fleet.is_revoked(),
        )?;
        let share = Share::of(descriptors::raise());
        let Config { people, devices: of_devices, .. } = &*backend.config;
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let per_address = count(of_devices.max_connections_per_address);
        let device_door = Door {
            listener: devices,
            tls: Some(device_tls),
            limits: ConnectionLimits {
                per_owner: 4,
                grace: DEVICE_GRACE,
                ..ConnectionLimits::new(share.devices, per_address)
            },
            http2: DEVICE_HTTP2,
        };
        let people_door = Door {
            listener: people_listener,
            tls: people_tls(people)?,
            limits: ConnectionLimits::new(share.people, count(people.max_connections_per_address)),
            http2: PEOPLE_HTTP2,
        };
        let device_service = access.layer(rpc::device_routes(&backend).prepare());
        let people_service = access.layer(rpc::people_routes(&backend)?.prepare());
        let device_door = device_door.serve(device_service, closing.clone());
        let people_door = people_door.serve(people_service, closing.clone());
        work(&backend);
        if let Some(webhook) = webhook {
            backend.tasks.background.spawn(webhook::run(
                webhook,
                backend.store.clone(),
                backend.bus.clone(),
                backend.tasks.shutdown.clone(),
            ));
        }

        let doors = async { tokio::join!(device_door, people_door) };
        let closer = tokio::spawn(close(Arc::clone(&backend)));
        let cut = async {
            closing.cancelled().await;
            tokio::time::sleep(LINGER_TIMEOUT).await;
        };
        tokio::select! {
            _ = doors => {}
            // A peer keeps a connection open; it is cut with the process.
            () = cut => {}
        }
        closer.await.context("the backend did not stop in order")?;
        backend.fleet.witnesses().flush(&backend.store).await;
        // The reason of a failure was logged already.
        backend.notary.sign(&backend.store).await.ok();
        backend.store.close().await;
        std::fs::remove_file(data_dir.join(ADDRESSES)).ok();
        drop(lock);
        Ok(())
    }
}

/// Lets work in progress end, once shutdown is requested.
#[doc(hidden)]
pub async fn close(backend: Arc<Backend>) {
    backend.tasks.shutdown.cancelled().await;
    backend.tasks.calls.close();
    if tokio::time::timeout(DRAIN_TIMEOUT, backend.tasks.calls.wait()).await.is_err() {
        tracing::warn!("some calls did not end in time; their outcome is told at the next start");
    }
    backend.fleet.drain(RECONNECT_DELAY);
    backend.tasks.closing.cancel();
    backend.tasks.background.close();
    if tokio::time::timeout(DRAIN_TIMEOUT, backend.tasks.background.wait()).await.is_err() {
        tracing::warn!("some work did not end in time");
    }
}

/// Starts the background tasks.
#[doc(hidden)]
pub fn work(backend: &Arc<Backend>) {
    let resumed = Arc::clone(backend);
    backend.tasks.background.spawn(async move {
        if let Err(error) = confirm::resume_approved(&resumed.pipeline).await {
            tracing::error!(%error, "approved calls could not be taken up again");
        }
    });
    jobs::spawn_all(backend);
}

fn bind(address: SocketAddr, what: &str) -> anyhow::Result<TcpListener> {
    open_port(address).with_context(|| {
        format!("{what} = \"{address}\": the port cannot be opened; another program may be using it. Choose another, or 0 for a free one")
    })
}

fn advertised(config: &Config, devices: SocketAddr) -> Vec<String> {
    if !config.devices.addresses.is_empty() {
        return config.devices.addresses.clone();
    }
    if devices.ip().is_unspecified() {
        let host = own_hostname().unwrap_or_else(|| IpAddr::from([127, 0, 0, 1]).to_string());
        return vec![format!("{host}:{}", devices.port())];
    }
    vec![devices.to_string()]
}

/// Returns this machine's name, if it has one.
fn own_hostname() -> Option<String> {
    let name = std::fs::read_to_string("/etc/hostname").ok()?;
    let name = name.trim();
    (!name.is_empty() && name.len() <= 253).then(|| name.to_owned())
}

fn people_tls(people: &PeopleConfig) -> anyhow::Result<Option<Arc<rustls::ServerConfig>>> {
    let (Some(certificate), Some(key)) = (&people.certificate, &people.key) else {
        return Ok(None);
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("[people] certificate: {}", certificate.display()))?;
    let key = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("[people] key: {}", key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("[people] certificate and key do not belong together")?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Some(Arc::new(config)))
}

fn write_addresses(data_dir: &Path, people: SocketAddr, devices: SocketAddr) -> anyhow::Result<()> {
    let text = format!("people = \"{people}\"\ndevices = \"{devices}\"\n");
    let (path, new) = (data_dir.join(ADDRESSES), data_dir.join("addresses.toml.new"));
    let write = || {
        let mut options = secret_file::private();
        let mut file = options.write(true).create(true).truncate(true).open(&new)?;
        file.write_all(text.as_bytes())?;
        std::fs::rename(&new, &path)
    };
    write().context("addresses.toml in the data folder cannot be written")
}
