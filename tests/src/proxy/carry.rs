//! Moves the bytes of one connection, each direction separately, and ends it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::{Cut, Faults, Flow, Shared};

/// The default read size, in bytes.
const PIECE: usize = 64 * 1024;
/// The number of pieces a second in a slow direction.
const SLOW_PIECES: u32 = 50;
/// The timeout for the last bytes of a closing connection.
const LAST_BYTES: Duration = Duration::from_secs(1);

/// One side reset the connection.
struct Reset;

/// Selects one direction of the faults.
type Direction = fn(&Faults) -> Flow;

/// Moves bytes until both sides have closed, one resets, or the connection is cut.
pub(super) async fn carry(
    mut client: TcpStream,
    mut server: TcpStream,
    shared: &Shared,
    mut cuts: watch::Receiver<(u64, Cut)>,
) {
    // Each byte is forwarded at once, so that only the faults cause delays.
    drop((client.set_nodelay(true), server.set_nodelay(true)));
    let how = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let faults = || shared.faults.subscribe();
        let up = Pump { faults: faults(), way: |it| it.up, back: |it| it.down };
        let down = Pump { faults: faults(), way: |it| it.down, back: |it| it.up };
        let both = async {
            tokio::try_join!(
                up.run(from_client, to_server, &shared.up_bytes),
                down.run(from_server, to_client, &shared.down_bytes)
            )
        };
        tokio::select! {
            biased;
            () = shared.stop.cancelled() => Cut::Reset,
            _ = cuts.changed() => cuts.borrow().1,
            carried = both => match carried {
                Ok(_) => return,
                Err(Reset) => Cut::Reset,
            },
        }
    };
    match how {
        Cut::Reset => drop((client.set_zero_linger(), server.set_zero_linger())),
        Cut::Finish => {
            tokio::join!(hang_up(client), hang_up(server));
        }
    }
}

/// Sends FIN rather than RST, which the system sends where unread data remains.
async fn hang_up(mut stream: TcpStream) {
    drop(stream.shutdown().await);
    let rest = async { tokio::io::copy(&mut stream, &mut tokio::io::sink()).await };
    drop(timeout(LAST_BYTES, rest).await);
}

/// Waits while this direction is held.
pub(super) async fn released(faults: &mut watch::Receiver<Faults>, way: Direction) {
    // The sender lives as long as any connection does.
    drop(faults.wait_for(|faults| way(faults) != Flow::Held).await);
}

struct Pump {
    faults: watch::Receiver<Faults>,
    way: Direction,
    /// The opposite direction, which reports a reset at the far end.
    back: Direction,
}

impl Pump {
    /// Moves bytes until the near side closes, and then closes the far side.
    async fn run(
        mut self,
        mut from: ReadHalf<'_>,
        mut to: WriteHalf<'_>,
        moved: &AtomicU64,
    ) -> Result<(), Reset> {
        let mut buffer = vec![0; PIECE];
        loop {
            let flow = (self.way)(&self.faults.borrow_and_update());
            if flow == Flow::Held {
                released(&mut self.faults, self.way).await;
                continue;
            }
            let piece = &mut buffer[..most(flow)];
            let read = tokio::select! {
                biased;
                _ = self.faults.changed() => continue,
                read = from.read(piece) => read.map_err(|_| Reset)?,
            };
            pause(flow, read).await;
            released(&mut self.faults, self.way).await;
            let written = match read {
                0 => to.shutdown().await,
                read => to.write_all(&buffer[..read]).await,
            };
            if written.is_err() {
                released(&mut self.faults, self.back).await;
                return Err(Reset);
            }
            if read == 0 {
                return Ok(());
            }
            moved.fetch_add(read as u64, Ordering::SeqCst);
        }
    }
}

fn most(flow: Flow) -> usize {
    match flow {
        Flow::Free | Flow::Held | Flow::Late(_) => PIECE,
        Flow::Slow(rate) => ((rate / SLOW_PIECES).max(1) as usize).min(PIECE),
        Flow::Bytewise => 1,
    }
}

async fn pause(flow: Flow, read: usize) {
    match flow {
        Flow::Free | Flow::Held => {}
        Flow::Late(delay) => sleep(delay).await,
        Flow::Slow(rate) => {
            let pieces = u32::try_from(read).unwrap_or(u32::MAX);
            sleep(Duration::from_secs(1) * pieces / rate.max(1)).await;
        }
        // The other side reads this byte before the next.
        Flow::Bytewise => tokio::task::yield_now().await,
    }
}
