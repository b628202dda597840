//! What floods there are, and how each is made.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use orion_tests::Client;
use orion_tests::flooder::{END_HEADERS, END_STREAM, Flooder, frame, headers, kind};
use orion_wire::v1;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tonic_prost::prost::Message as _;

/// Two megabytes of arguments with a key for every twenty bytes; made once, not while others are measured.
static MANY_KEYS: LazyLock<String> = LazyLock::new(|| {
    let keys = (0..110_000).map(|n| format!("\"key{n:06}\":{n}")).collect::<Vec<_>>();
    format!("{{{}}}", keys.join(","))
});

/// The address that floods.
pub(super) const FLOODED: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// How long a flooder waits before it comes again where it was cut off.
const AGAIN: Duration = Duration::from_millis(5);
/// How many connections are opened in one flood at most.
const MAX_CONNECTIONS: u64 = 100_000;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flood {
    UnknownPaths,
    Http1,
    HugeHeaders,
    Silent,
    Dripping,
    Handshakes,
    Pings,
    Settings,
    WindowUpdates,
    Priorities,
    RapidReset,
    Continuations,
    Logins,
    HungUpLogins,
    UnfinishedLogins,
    ManyKeys,
}

/// Whom it is for.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) from: IpAddr,
    pub(super) people: SocketAddr,
    pub(super) devices: SocketAddr,
    /// The token of somebody who may call nothing that writes.
    pub(super) viewer: String,
    pub(super) device: String,
}

/// What was sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) connections: u64,
    pub(super) bytes: u64,
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { connections, bytes } = self;
        write!(f, "{connections} connections, {:.1} MB", *bytes as f64 / 1e6)
    }
}

#[derive(Debug, Default)]
struct Tally {
    connections: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    /// Counts a connection. False where there were enough.
    fn connects(&self) -> bool {
        self.connections.fetch_add(1, Ordering::Relaxed) < MAX_CONNECTIONS
    }

    fn sent(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A call as it is sent.
pub(super) fn call_request(device: &str, tool: &str, arguments: String) -> v1::CallToolRequest {
    v1::CallToolRequest {
        tool: tool.to_owned(),
        device: device.to_owned(),
        arguments: arguments.into_bytes().into(),
        ..Default::default()
    }
}

impl Flood {
    /// Where somebody new comes from: the very address that floods, but where its door is crowded on
    /// purpose faster than anybody can speak.
    pub(super) fn newcomers(self) -> IpAddr {
        match self {
            Self::Silent | Self::Dripping | Self::HungUpLogins | Self::UnfinishedLogins => {
                IpAddr::from([127, 0, 0, 2])
            }
            Self::UnknownPaths
            | Self::Http1
            | Self::HugeHeaders
            | Self::Handshakes
            | Self::Pings
            | Self::Settings
            | Self::WindowUpdates
            | Self::Priorities
            | Self::RapidReset
            | Self::Continuations
            | Self::Logins
            | Self::ManyKeys => FLOODED,
        }
    }

    /// How much of it there is at least in half a minute, in connections and megabytes: a tenth of what a
    /// machine with two cores sent when this was written.
    pub(super) fn least(self) -> (u64, u64) {
        match self {
            Self::Silent | Self::Handshakes => (10_000, 0),
            Self::Dripping => (5_000, 0),
            Self::UnfinishedLogins | Self::HungUpLogins => (2_000, 0),
            Self::Logins => (20, 0),
            Self::ManyKeys => (100, 10_000),
            Self::Http1 => (20, 0),
            Self::HugeHeaders
            | Self::UnknownPaths
            | Self::Pings
            | Self::Settings
            | Self::WindowUpdates
            | Self::Priorities
            | Self::RapidReset
            | Self::Continuations => (20, 10),
        }
    }

    /// How many connections it has at a time.
    fn connections(self) -> usize {
        match self {
            Self::UnknownPaths | Self::Http1 => 4,
            Self::HugeHeaders => 2,
            Self::Silent | Self::Dripping => 2_000,
            Self::Handshakes => 995,
            Self::ManyKeys => 100,
            Self::Pings
            | Self::Settings
            | Self::WindowUpdates
            | Self::Priorities
            | Self::RapidReset
            | Self::Continuations => 8,
            Self::Logins => 20,
            Self::HungUpLogins => 40,
            Self::UnfinishedLogins => 60,
        }
    }

    /// What is sent over and over on one connection: the frames of so many streams from this one on.
    fn frames(self, first: u32) -> Vec<u8> {
        let unknown = headers("/x.Y/Z", &[]);
        let long = "v".repeat(15_000);
        let each = |count: u32, make: &dyn Fn(u32) -> Vec<u8>| -> Vec<u8> {
            (0..count).flat_map(|n| make(first + 2 * n)).collect()
        };
        let whole = END_HEADERS | END_STREAM;
        match self {
            Self::UnknownPaths => {
                each(STREAMS, &|stream| frame(kind::HEADERS, whole, stream, &unknown))
            }
            Self::HugeHeaders => {
                let block = headers("/x.Y/Z", &[("h", &long)]);
                each(STREAMS, &|stream| frame(kind::HEADERS, whole, stream, &block))
            }
            Self::Pings => frame(kind::PING, 0, 0, &[0; 8]).repeat(512),
            Self::Settings => frame(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0xff, 0xff]).repeat(512),
            Self::WindowUpdates => frame(kind::WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]).repeat(512),
            Self::Priorities => {
                each(STREAMS, &|stream| frame(kind::PRIORITY, 0, stream, &[0, 0, 0, 0, 1]))
            }
            Self::RapidReset => each(STREAMS, &|stream| {
                let mut both = frame(kind::HEADERS, whole, stream, &unknown);
                both.extend(frame(kind::RST_STREAM, 0, stream, &[0, 0, 0, 8]));
                both
            }),
            Self::Continuations => {
                let mut all = frame(kind::HEADERS, 0, first, &unknown);
                let more = [&[0, 1, b'h', 127, 0x99, 0x74][..], long.as_bytes()].concat();
                for _ in 0..8 {
                    all.extend(frame(kind::CONTINUATION, 0, first, &more));
                }
                all
            }
            Self::UnfinishedLogins => {
                let login = headers("/orion.v1.AuthService/Login", &[]);
                each(STREAMS, &|stream| frame(kind::HEADERS, END_HEADERS, stream, &login))
            }
            Self::Logins | Self::HungUpLogins => {
                let user = format!("nobody{}", rand::random::<u16>());
                let request = v1::LoginRequest { user, password: "not the password".to_owned() };
                let message = request.encode_to_vec();
                let mut body = vec![0];
                body.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
                body.extend(message);
                let block = headers("/orion.v1.AuthService/Login", &[]);
                let mut all = frame(kind::HEADERS, END_HEADERS, first, &block);
                all.extend(frame(kind::DATA, END_STREAM, first, &body));
                all
            }
            Self::Http1 => b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n".repeat(STREAMS as usize),
            Self::Silent | Self::Dripping | Self::Handshakes | Self::ManyKeys => Vec::new(),
        }
    }

    /// Floods until it is told to stop.
    pub(super) async fn flow(self, target: Target, stop: CancellationToken) -> Sent {
        if self == Self::ManyKeys {
            LazyLock::force(&MANY_KEYS);
        }
        let tally = Arc::new(Tally::default());
        let mut flooders = JoinSet::new();
        for _ in 0..self.connections() {
            let (target, tally, stop) = (target.clone(), Arc::clone(&tally), stop.clone());
            flooders.spawn(async move {
                let keeps_on = async {
                    while tally.connects() {
                        // What ends a connection is what the flood is to find.
                        let _ = self.once(&target, &tally).await;
                        sleep(AGAIN).await;
                    }
                };
                stop.run_until_cancelled(keeps_on).await;
            });
        }
        while let Some(ended) = flooders.join_next().await {
            ended.unwrap();
        }
        Sent {
            connections: tally.connections.load(Ordering::Relaxed),
            bytes: tally.bytes.load(Ordering::Relaxed),
        }
    }

    /// One connection, until it is cut off.
    async fn once(self, target: &Target, tally: &Tally) -> std::io::Result<()> {
        match self {
            Self::Silent => held(Flooder::connect(target.from, target.people).await?).await,
            Self::Handshakes => held(Flooder::connect(target.from, target.devices).await?).await,
            Self::Dripping => {
                let mut flooder = Flooder::connect(target.from, target.people).await?;
                for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
                    flooder.send(&[*byte]).await?;
                    tally.sent(1);
                    sleep(Duration::from_secs(1)).await;
                }
                held(flooder).await
            }
            Self::Http1 => {
                let mut flooder = Flooder::connect(target.from, target.people).await?;
                let bytes = self.frames(1);
                while flooder.send(&bytes).await? {
                    tally.sent(bytes.len());
                }
                held(flooder).await
            }
            Self::ManyKeys => {
                let client = Client::new(&target.people.to_string(), &target.viewer);
                loop {
                    tally.sent(MANY_KEYS.len());
                    let request = call_request(&target.device, "write_file", MANY_KEYS.clone());
                    if client.ask(request).await.is_err() {
                        sleep(AGAIN).await;
                    }
                }
            }
            Self::UnfinishedLogins => {
                let mut flooder = Flooder::greeted(target.from, target.people, true).await?;
                let bytes = self.frames(1);
                flooder.send(&bytes).await?;
                tally.sent(bytes.len());
                sleep(Duration::from_millis(50)).await;
                Ok(())
            }
            Self::Logins | Self::HungUpLogins => {
                let mut flooder = Flooder::greeted(target.from, target.people, true).await?;
                let stays = self == Self::Logins;
                for stream in (1..).step_by(2) {
                    let bytes = self.frames(stream);
                    flooder.send(&bytes).await?;
                    tally.sent(bytes.len());
                    sleep(Duration::from_millis(if stays { 500 } else { 50 })).await;
                    if !stays {
                        break;
                    }
                }
                Ok(())
            }
            Self::UnknownPaths
            | Self::HugeHeaders
            | Self::Pings
            | Self::Settings
            | Self::WindowUpdates
            | Self::Priorities
            | Self::RapidReset
            | Self::Continuations => {
                let reads = self != Self::UnknownPaths;
                let mut flooder = Flooder::greeted(target.from, target.people, reads).await?;
                for first in (1..0x4000_0000).step_by(2 * STREAMS as usize) {
                    let bytes = self.frames(first);
                    if !flooder.send(&bytes).await? {
                        // It is not taken any more; what was sent is left there.
                        return held(flooder).await;
                    }
                    tally.sent(bytes.len());
                }
                Ok(())
            }
        }
    }
}

/// How many streams are opened between two looks at what has come.
const STREAMS: u32 = 256;

/// Holds a connection until the other side ends it.
async fn held(mut flooder: Flooder) -> std::io::Result<()> {
    flooder.ended(Duration::from_secs(3600)).await;
    Ok(())
}
