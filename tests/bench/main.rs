//! `make bench`: what Orion costs beside bare tonic, and its file tools beside `fd`, `rg` and the
//! standard library, in one run on one machine.
//!
//! A routed call goes from a caller by unary RPC to the backend and over mTLS to a device and back.
//! Both sides of each ratio use the same listeners, TLS, messages and devices; the rounds alternate,
//! and each ratio is the median of the rounds' ratios with its spread. Nothing here can fail by
//! being slow.

mod bare;
mod chat;
mod cost;
mod crowd;
mod files;
mod garbage;
mod ground;
mod light;
mod measure;
mod peers;
mod programs;
mod workers;

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use orion_domain::{Caller, Role};
use orion_server::backend::Backend;
use orion_server::clock::now_ms;
use orion_server::config::Config;
use orion_server::fleet::enrollment::{Invitation, invite};
use orion_server::people::FirstAdmin;
use orion_server::serve::prepare;
use orion_wire::EnrollmentToken;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::measure::{Door, Round, median, round};

const ROUNDS: usize = 7;
const DEVICES: usize = 100;

fn main() -> anyhow::Result<()> {
    orion_mtls::install_crypto_provider();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let after = |name: &str| arguments.iter().skip_while(|it| *it != name).nth(1).cloned();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match arguments.first().map(String::as_str) {
        Some(crowd::BARE) => {
            let data = after(crowd::BARE).context("which folder?")?;
            let address = arguments.get(2).context("which address?")?;
            runtime.block_on(crowd::serve_bare(Path::new(&data), address))
        }
        Some("--crowd") => {
            let number = |name| after(name).map(|text| text.parse()).transpose();
            let rows = runtime.block_on(crowd::run(number("--idle")?, number("--back")?))?;
            write(after("--json"), &rows)
        }
        Some("--programs") => {
            let rows = json!({"programs": programs::run()?, "workers": workers::run()?});
            write(after("--json"), &rows)
        }
        Some("--chat") => {
            let rows = json!({"chat": runtime.block_on(chat::run())?, "garbage": garbage::run()});
            write(after("--json"), &rows)
        }
        Some("--cost") => write(after("--json"), &runtime.block_on(cost::run())?),
        _ => runtime.block_on(run(after("--json"))),
    }
}

/// Writes what was measured to a file, where one is named.
#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
fn write(path: Option<String>, rows: &serde_json::Value) -> anyhow::Result<()> {
    if let Some(path) = path {
        std::fs::write(&path, serde_json::to_vec_pretty(rows)?)?;
        println!("written to {path}");
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
async fn run(report: Option<String>) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (backend, people, shutdown, serving) = orion(folder.path(), "").await?;
    let token = sign_in(&backend, folder.path()).await?;
    let (names, identities) = enrolled(&backend).await?;

    let bare =
        bare::start(backend.enrollment.authority.set().signer(), now_ms(), "127.0.0.1:0").await?;
    let mut bare_names = Vec::new();
    for (index, tls) in identities.iter().enumerate() {
        let address = backend.enrollment.addresses.first().context("no address")?;
        light::run(address, tls.clone(), true).await?;
        light::run(&bare.devices, tls.clone(), false).await?;
        let known = backend
            .fleet
            .find(names.get(index).context("no name")?)
            .map_err(|e| anyhow::anyhow!("{e}"))?;
        bare_names.push(known.id.to_string());
    }

    let mut orion_doors = Vec::new();
    let mut bare_doors = Vec::new();
    for _ in 0..4 {
        orion_doors.push(Door::open(&people, Some(token.clone())).await?);
        bare_doors.push(Door::open(&bare.people, None).await?);
    }

    let mut rows = Vec::new();
    println!("{ROUNDS} rounds each, alternating; get_datetime, every check, audit written\n");
    println!("{:<34}{:>14}{:>14}{:>22}", "", "orion", "bare tonic", "ratio (spread)");
    for (what, devices, calls) in [("1 device", 1, 1500), ("100 devices", DEVICES, 60)] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (o, b) = (&names[..devices], &bare_names[..devices]);
            ours.push(round(&orion_doors, o, calls, "get_datetime", |_, _| "{}".to_owned()).await?);
            theirs
                .push(round(&bare_doors, b, calls, "get_datetime", |_, _| "{}".to_owned()).await?);
        }
        rows.push(row(&format!("{what}: calls/s"), &ours, &theirs, |r| r.per_second));
        rows.push(row(&format!("{what}: p50 µs"), &ours, &theirs, |r| micros(r.p50)));
        rows.push(row(&format!("{what}: p99 µs"), &ours, &theirs, |r| micros(r.p99)));
    }
    shutdown.cancel();
    serving.await??;
    let chat = chat::run().await?;
    let files = files::run().await?;
    let workers = workers::run()?;

    let size =
        std::fs::metadata(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/dist/orion-agent"))
            .map(|file| file.len())
            .ok();
    match size {
        Some(bytes) => println!("\nagent, dist binary: {:.2} MB", megabytes(bytes)),
        None => println!("\nagent, dist binary: not built (make dist-agent)"),
    }
    let idle = std::env::var("ORION_BENCH_AGENT_RSS_KB").ok();
    if let Some(kilobytes) = &idle {
        println!("agent, idle, resident: {kilobytes} KiB");
    }
    let rows = json!({"routed": rows, "chat": chat, "files": files, "workers": workers, "agent_dist_bytes": size, "agent_idle_rss_kb": idle});
    write(report, &rows)
}

#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
fn row(
    what: &str,
    ours: &[Round],
    theirs: &[Round],
    value: impl Fn(&Round) -> f64,
) -> serde_json::Value {
    let (orion, ..) = median(ours.iter().map(&value).collect());
    let (bare, ..) = median(theirs.iter().map(&value).collect());
    let ratios = ours.iter().zip(theirs).map(|(o, b)| value(o) / value(b)).collect();
    let (ratio, least, most) = median(ratios);
    println!(
        "{what:<34}{orion:>14.0}{bare:>14.0}{:>22}",
        format!("{ratio:.2} ({least:.2}–{most:.2})")
    );
    json!({"what": what, "orion": orion, "bare": bare, "ratio": ratio, "least": least, "most": most})
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a file's size")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

type Serving = tokio::task::JoinHandle<anyhow::Result<()>>;

async fn orion(
    folder: &Path,
    more: &str,
) -> anyhow::Result<(std::sync::Arc<Backend>, String, CancellationToken, Serving)> {
    let config: Config = toml::from_str(&format!(
        "[people]\nlisten = \"127.0.0.1:0\"\n[devices]\nlisten = \"127.0.0.1:0\"\n\
         [calls]\nper_person_per_second = 100000\nburst_per_person = 100000\n{more}",
    ))?;
    let shutdown = CancellationToken::new();
    let ready = prepare(config, &folder.join("server"), shutdown.clone()).await?;
    let (backend, people) = (ready.backend.clone(), ready.people.to_string());
    Ok((backend, people, shutdown, tokio::spawn(ready.serve())))
}

async fn sign_in(backend: &Backend, folder: &Path) -> anyhow::Result<String> {
    let secret = std::fs::read_to_string(folder.join("server/first-admin-secret"))?;
    let first: &FirstAdmin = &backend.first_admin;
    let issued = first.create(&backend.store, &secret, &"admin".parse()?, None).await?;
    Ok(issued.token.expose().to_owned())
}

/// Enrols the devices as any device enrols, with one pre-approved token.
async fn enrolled(
    backend: &Backend,
) -> anyhow::Result<(Vec<String>, Vec<std::sync::Arc<rustls::ClientConfig>>)> {
    let (mut names, mut identities) = (Vec::new(), Vec::new());
    for index in 0..DEVICES {
        let name = format!("bench-{index}");
        identities.push(enroll_one(backend, &name).await?);
        names.push(name);
    }
    Ok((names, identities))
}

/// Enrols one device with a token of its own.
async fn enroll_one(
    backend: &Backend,
    name: &str,
) -> anyhow::Result<std::sync::Arc<rustls::ClientConfig>> {
    let by = Caller { user: "admin".parse()?, role: Role::Admin, conversation: None };
    let invitation = Invitation {
        name: Some(name.parse()?),
        preapproved: true,
        grants: serde_json::from_value(json!({"profile": "reader", "paths": ["/home/ann"]}))?,
        ..Invitation::default()
    };
    let token: EnrollmentToken = invite(&backend.enrollment, &by, invitation).await?;
    light::enroll(&token, name).await
}
