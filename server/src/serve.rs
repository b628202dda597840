//! Starts, serves and stops a backend: opens the database, creates or loads its identity, listens for
//! people and for devices, and stops without losing anything.

mod addresses;
mod people_certificate;
mod prepare;
mod stop;
mod tls;

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use orion_mtls::device_listener_trusting;
use orion_wire::LINK_WINDOW;
use tokio::net::TcpListener;
use tonic_web::GrpcWebLayer;
use tower::Layer as _;

use crate::access::AccessControl;
use crate::backend::Backend;
use crate::config::Config;
use crate::data_folder::ADDRESSES;
use crate::http::{self, ByProtocol, Http, SessionCookie};
use crate::listen::Door;
use crate::listen::connections::ConnectionLimits;
use crate::listen::descriptors::{self, Share};
use crate::listen::http::HttpLimits;
use crate::pipeline::confirm;
use crate::rpc::access_layer::{AccessLayer, Grpc};
use crate::webhook::{self, Webhook};
use crate::{jobs, local_tools, rpc};

pub use addresses::sign_in_options;
use people_certificate::PeopleCertificate;
pub use prepare::prepare;
pub use stop::close;
pub use tls::check_files;
use tls::people_tls;

/// How long a new connection of a device is kept before it may be closed for another: a handshake takes a
/// while when many devices reconnect at once.
const DEVICE_GRACE: Duration = Duration::from_secs(1);

/// The limits of one connection of people and programs. A client that does not know the limit yet starts up
/// to a hundred requests.
const PEOPLE_HTTP: HttpLimits = HttpLimits {
    http1: true,
    streams: 128,
    stream_window: 128 * 1024,
    connection_window: 256 * 1024,
};

/// The limits of one connection of a device: its stream, a renewal, and streams that were cut off
/// unnoticed.
const DEVICE_HTTP: HttpLimits = HttpLimits {
    http1: false,
    streams: 16,
    stream_window: LINK_WINDOW,
    connection_window: 2 * LINK_WINDOW,
};

/// How long connections may stay open once work in progress has ended.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// A backend that is ready: everything is open, nothing is served yet.
#[derive(Debug)]
pub struct Ready {
    /// Shared by all handlers.
    pub backend: Arc<Backend>,
    /// The listening address for people.
    pub people: SocketAddr,
    /// The URL at which people reach it from this machine.
    pub people_url: String,
    /// The certificate of the authority that people must trust, where Orion made it.
    pub people_ca: Option<PathBuf>,
    own: Option<Arc<PeopleCertificate>>,
    /// The listening address for devices.
    pub devices: SocketAddr,
    people_listener: TcpListener,
    device_listener: TcpListener,
    webhook: Option<Webhook>,
    /// Held as long as the backend runs, so that no other backend uses the folder.
    lock: File,
    data_dir: PathBuf,
}

impl Ready {
    /// Serves until the shutdown token is cancelled, then lets work in progress end.
    ///
    /// # Errors
    /// A certificate cannot be read, or the backend did not stop in order.
    pub async fn serve(self) -> anyhow::Result<()> {
        let Self {
            backend,
            own,
            people_listener,
            people: people_address,
            device_listener: devices,
            webhook,
            lock,
            data_dir,
            ..
        } = self;
        let closing = backend.tasks.closing.clone();
        let access = AccessControl::start(
            &backend.config.calls,
            backend.store.clone(),
            Arc::clone(&backend.people),
            Arc::clone(&backend.first_admin),
            backend.tasks.clone(),
        );
        let (grpc, http) = (AccessLayer::<Grpc>::new(&access), AccessLayer::<Http>::new(&access));
        let device_tls = device_listener_trusting(
            backend.enrollment.authority.trust(),
            backend.enrollment.authority.certificate(),
            backend.fleet.is_revoked(),
            backend.enrollment.renew_within,
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
            http: DEVICE_HTTP,
        };
        let people_door = Door {
            listener: people_listener,
            tls: people_tls(people, own)?,
            limits: ConnectionLimits::new(share.people, count(people.max_connections_per_address)),
            http: PEOPLE_HTTP,
        };
        let device_service = grpc.layer(rpc::device_routes(&backend).prepare());
        let names = http::public_address(people, addresses::own_hostname());
        let cookie = SessionCookie::new(people_address.port(), people_door.tls.is_some());
        let people_routes = grpc.layer(rpc::people_routes(&backend, http::has_page())?.prepare());
        let people_service = ByProtocol {
            grpc_web: GrpcWebLayer::new().layer(people_routes.clone()),
            grpc: people_routes,
            http: http.layer(http::routes(&backend, cookie.clone())),
            cookie,
            names,
        };
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

/// Starts the background tasks.
#[doc(hidden)]
pub fn work(backend: &Arc<Backend>) {
    local_tools::start(&backend.pipeline);
    let resumed = Arc::clone(backend);
    backend.tasks.background.spawn(async move {
        if let Err(error) = confirm::resume_approved(&resumed.pipeline).await {
            tracing::error!(%error, "approved calls could not be taken up again");
        }
    });
    jobs::spawn_all(backend);
}
