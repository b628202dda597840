//! A crowd of devices: what an idle one costs the backend in memory, and how soon all are back after it
//! was killed and started again, beside bare tonic with the same listener, TLS and messages. Each server is
//! a process of its own, the devices are light ones in this process.

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use orion_domain::{Caller, Role};
use orion_mtls::DeviceKey;
use orion_server::clock::now_ms;
use orion_server::config::Config;
use orion_server::fleet::authority;
use orion_server::fleet::enrollment::{Applicant, Invitation, enroll, invite};
use orion_server::serve::prepare;
use orion_tests::{Launch, Process, program};
use rustls::ClientConfig;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::measure::median;
use crate::{bare, light};

/// Idle devices, and devices that come back.
const IDLE: usize = 10_000;
const BACK: usize = 5_000;
const ROUNDS: usize = 3;
/// Handshakes that the devices begin at once.
const AT_ONCE: usize = 64;
/// How long everything settles before memory is read.
const SETTLE: Duration = Duration::from_secs(5);
/// How long all devices may take at most.
const PATIENCE: Duration = Duration::from_secs(300);

/// The first argument of this program when it is the bare server.
pub(crate) const BARE: &str = "--bare-door";

/// One device: how it shows who it is, and how often it connected.
struct Light {
    tls: Arc<ClientConfig>,
    generation: AtomicU64,
}

/// Which server a round is about.
#[derive(Clone, Copy)]
enum Kind {
    Orion,
    Bare,
}

/// Measures both, prints the table, and gives the rows.
#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
pub(crate) async fn run(idle: Option<usize>, back: Option<usize>) -> anyhow::Result<Value> {
    let (idle, back) = (idle.unwrap_or(IDLE), back.unwrap_or(BACK));
    let folder = tempfile::tempdir()?;
    println!("enrolling {} devices", idle.max(back));
    let devices = enrolled(&folder.path().join("data"), idle.max(back)).await?;

    println!("\n{:<40}{:>12}{:>12}{:>22}", "", "orion", "bare tonic", "ratio (spread)");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(memory(folder.path(), Kind::Orion, &devices[..idle]).await?);
        theirs.push(memory(folder.path(), Kind::Bare, &devices[..idle]).await?);
    }
    let memory = row(&format!("{idle} idle: KiB a device"), &ours, &theirs);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(storm(folder.path(), Kind::Orion, &devices[..back]).await?);
        theirs.push(storm(folder.path(), Kind::Bare, &devices[..back]).await?);
    }
    let storm = row(&format!("{back} back after kill -9: seconds"), &ours, &theirs);
    Ok(json!([memory, storm]))
}

#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
fn row(what: &str, ours: &[f64], theirs: &[f64]) -> Value {
    let (orion, ..) = median(ours.to_vec());
    let (bare, ..) = median(theirs.to_vec());
    let ratios = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    let (ratio, least, most) = median(ratios);
    let spread = format!("{ratio:.2} ({least:.2}–{most:.2})");
    println!("{what:<40}{orion:>12.2}{bare:>12.2}{spread:>22}");
    json!({"what": what, "orion": orion, "bare": bare, "ratio": ratio, "least": least, "most": most})
}

/// Enrols devices in a data folder, as the backend does when they come with a pre-approved token.
async fn enrolled(data: &Path, count: usize) -> anyhow::Result<Arc<[Light]>> {
    let ready = prepare(any_ports()?, data, CancellationToken::new()).await?;
    let backend = &ready.backend;
    let by = Caller { user: "admin".parse()?, role: Role::Admin, conversation: None };
    let mut devices = Vec::with_capacity(count);
    for index in 0..count {
        let invitation = Invitation {
            preapproved: true,
            grants: serde_json::from_value(json!({"profile": "reader", "paths": ["/home/ann"]}))?,
            ..Invitation::default()
        };
        let token = invite(&backend.enrollment, &by, invitation).await?;
        let key = DeviceKey::generate()?;
        let admitted = enroll(
            &backend.enrollment,
            Applicant {
                invite_id: token.invite_id,
                secret: token.secret,
                certificate_request: key.csr()?,
                suggested_name: format!("bench-{index}"),
                hostname: "bench".to_owned(),
                os: "linux".to_owned(),
                arch: "x86_64".to_owned(),
                address: Ipv4Addr::LOCALHOST.into(),
                ticket: None,
            },
        )
        .await?;
        let issued = admitted.certificate.context("the token was pre-approved")?;
        let authorities = backend.enrollment.authority.certificates();
        let authorities: Vec<&str> = authorities.iter().map(String::as_str).collect();
        let tls = orion_mtls::mutual(&authorities, &issued.cert_pem, &key)?;
        devices.push(Light { tls, generation: AtomicU64::new(0) });
    }
    backend.store.close().await;
    Ok(devices.into())
}

fn any_ports() -> anyhow::Result<Config> {
    let text = "[people]\nlisten = \"127.0.0.1:0\"\n[devices]\nlisten = \"127.0.0.1:0\"\n";
    Ok(toml::from_str(text)?)
}

/// A server as a process, on the port for devices that it is given.
struct Server {
    process: Process,
    address: String,
}

impl Server {
    async fn start(folder: &Path, kind: Kind, address: &str) -> anyhow::Result<Self> {
        let log = folder.join("server.log");
        let data = folder.join("data");
        let process = match kind {
            Kind::Orion => {
                let config = folder.join("orion-server.toml");
                let text = format!(
                    "[people]\nlisten = \"127.0.0.1:0\"\n[devices]\nlisten = \"{address}\"\n"
                );
                std::fs::write(&config, text)?;
                let arguments = ["run", "--config", "orion-server.toml", "--data-dir", "data"];
                let arguments = arguments.map(OsStr::new);
                let launch = Launch { arguments: &arguments, ..Launch::default() };
                Process::start(&program("orion-server"), &log, &launch)
            }
            Kind::Bare => {
                let arguments = [OsStr::new(BARE), data.as_os_str(), OsStr::new(address)];
                let launch = Launch { arguments: &arguments, ..Launch::default() };
                Process::start(&std::env::current_exe()?, &log, &launch)
            }
        };
        let server = Self { process, address: address.to_owned() };
        let started = Instant::now();
        while tokio::net::TcpStream::connect(&server.address).await.is_err() {
            ensure!(server.process.is_running(), "a server ended:\n{}", server.process.log());
            ensure!(started.elapsed() < PATIENCE, "a server does not listen");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(server)
    }

    /// Resident memory, in KiB.
    #[expect(clippy::cast_precision_loss, reason = "less than the memory of a machine")]
    fn resident(&self) -> f64 {
        self.process.usage().resident as f64 / 1024.0
    }
}

async fn free_address() -> anyhow::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?.to_string())
}

/// What each idle device adds to a server's memory, in KiB.
async fn memory(folder: &Path, kind: Kind, devices: &[Light]) -> anyhow::Result<f64> {
    let server = Server::start(folder, kind, &free_address().await?).await?;
    tokio::time::sleep(SETTLE).await;
    let before = server.resident();
    let mut links = JoinSet::new();
    let mut connecting = futures_util::stream::FuturesUnordered::new();
    for device in devices {
        connecting.push(link(&server.address, device, kind));
        if connecting.len() >= AT_ONCE {
            links.spawn(next(&mut connecting).await?);
        }
    }
    while !connecting.is_empty() {
        links.spawn(next(&mut connecting).await?);
    }
    tokio::time::sleep(SETTLE).await;
    let after = server.resident();
    ensure!(links.try_join_next().is_none(), "a device was cut off");
    links.shutdown().await;
    server.process.kill9().await;
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    Ok((after - before) / devices.len() as f64)
}

async fn next<T>(
    connecting: &mut futures_util::stream::FuturesUnordered<
        impl Future<Output = anyhow::Result<T>>,
    >,
) -> anyhow::Result<T> {
    use futures_util::StreamExt as _;
    connecting.next().await.context("nothing connects")?
}

async fn link(address: &str, device: &Light, kind: Kind) -> anyhow::Result<light::Linked> {
    let generation = device.generation.fetch_add(1, Ordering::Relaxed) + 1;
    let tls = Arc::clone(&device.tls);
    light::link(address, tls, matches!(kind, Kind::Orion), generation).await
}

/// How long it takes from the start of a server that was killed until all its devices are back, in
/// seconds.
async fn storm(folder: &Path, kind: Kind, devices: &[Light]) -> anyhow::Result<f64> {
    let address = free_address().await?;
    let first = Server::start(folder, kind, &address).await?;
    let linked = Arc::new(AtomicUsize::new(0));
    let (places, stop) = (Arc::new(Semaphore::new(AT_ONCE)), CancellationToken::new());
    let mut tasks = JoinSet::new();
    for device in devices {
        let device =
            Light { tls: Arc::clone(&device.tls), generation: AtomicU64::new(now_count(device)) };
        let (address, linked, places) = (address.clone(), Arc::clone(&linked), Arc::clone(&places));
        tasks.spawn(stop.clone().run_until_cancelled_owned(async move {
            loop {
                // As many handshakes at once as this machine can do; the same for both servers.
                let Ok(place) = places.acquire().await else { return };
                let link = link(&address, &device, kind).await;
                drop(place);
                if let Ok(link) = link {
                    linked.fetch_add(1, Ordering::Relaxed);
                    link.await;
                    linked.fetch_sub(1, Ordering::Relaxed);
                }
                // The last byte of such an id is drawn at random.
                let wait = 50 + u64::from(uuid::Uuid::now_v7().as_bytes()[15]);
                tokio::time::sleep(Duration::from_millis(wait)).await;
            }
        }));
    }
    all(&linked, devices.len()).await?;
    first.process.kill9().await;
    while linked.load(Ordering::Relaxed) > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let started = Instant::now();
    let second = Server::start(folder, kind, &address).await?;
    all(&linked, devices.len()).await?;
    let took = started.elapsed().as_secs_f64();
    stop.cancel();
    while tasks.join_next().await.is_some() {}
    for device in devices {
        device.generation.fetch_add(1_000, Ordering::Relaxed);
    }
    second.process.kill9().await;
    Ok(took)
}

fn now_count(device: &Light) -> u64 {
    device.generation.load(Ordering::Relaxed)
}

async fn all(linked: &AtomicUsize, count: usize) -> anyhow::Result<()> {
    let started = Instant::now();
    while linked.load(Ordering::Relaxed) < count {
        if started.elapsed() > PATIENCE {
            bail!("{} of {count} devices are back", linked.load(Ordering::Relaxed));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// The bare server of this program, with the authority of a data folder, until it is killed.
pub(crate) async fn serve_bare(data: &Path, address: &str) -> anyhow::Result<()> {
    let set = authority::read(data)?;
    let _bare = bare::start(set.signer(), now_ms(), address).await?;
    std::future::pending().await
}
