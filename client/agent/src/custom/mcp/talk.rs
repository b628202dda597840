//! One conversation with a server: it is started, spoken to over two pipes, and ended.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::handler::client::ClientHandler;
use rmcp::service::{NotificationContext, RunningService, serve_client};
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;

use crate::custom::start::Ready;
use crate::process::{Ended, Ending, LaunchError, Launcher};

/// How often a conversation is asked whether to go on.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The most bytes that a server may say in one conversation.
const MAX_SAID: u64 = 8 * 1024 * 1024;
/// The most bytes of one message of a server.
const MAX_MESSAGE: usize = 4 * 1024 * 1024;

/// A conversation that came to no result.
#[derive(Debug)]
pub(super) enum TalkError {
    /// The server was not started, or was lost.
    Launch(LaunchError),
    /// The server ended before it answered, or was ended at a limit of its own.
    Ended(Box<Ended>),
    /// The server said something else than its protocol has.
    Protocol(String),
    /// The time is over, or the call was cancelled.
    Interrupted,
}

/// A client that offers a server nothing, and notes that its tools have changed.
#[derive(Debug, Clone, Default)]
pub(super) struct Listener(Arc<AtomicBool>);

impl Listener {
    /// Returns whether the server said that its tools have changed.
    pub(super) fn has_heard(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl ClientHandler for Listener {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The running client of a server.
pub(super) type Client = RunningService<RoleClient, Listener>;

/// Starts a server, does `work` with it and ends it. Blocks, until `deadline` at most or until `goes_on` says no.
pub(super) fn talk<T>(
    launcher: &Launcher,
    server: Ready,
    deadline: Instant,
    goes_on: &dyn Fn() -> bool,
    work: impl AsyncFnOnce(&Client) -> Result<T, TalkError>,
) -> Result<T, TalkError> {
    let failed = |error: io::Error| TalkError::Launch(LaunchError::Sandbox(error.to_string()));
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let (their_input, own_output) = pipe().map_err(|error| failed(error.into()))?;
    let (own_input, their_output) = pipe().map_err(|error| failed(error.into()))?;
    let over = Arc::new(AtomicBool::new(false));
    let (is_over, launcher) = (Arc::clone(&over), launcher.clone());
    let running = move || {
        let mut handles = server.reached.handles();
        handles.extend([their_input.as_fd(), their_output.as_fd()]);
        launcher.run(&server.launch, &handles, &mut |_| {}, &|| !is_over.load(Ordering::Relaxed))
    };
    let running =
        thread::Builder::new().name("mcp server".to_owned()).spawn(running).map_err(failed)?;
    let result = converse(own_input, own_output, deadline, goes_on, work);
    // Whatever was said, the server ends before the call does.
    over.store(true, Ordering::Relaxed);
    let lost = || Err(LaunchError::Lost(io::ErrorKind::Other.into()));
    let ended = running.join().unwrap_or_else(|_| lost());
    match (result, ended) {
        (Ok(value), _) => Ok(value),
        (Err(TalkError::Protocol(_)), Err(error)) => Err(TalkError::Launch(error)),
        (Err(TalkError::Protocol(_)), Ok(ended)) if ended.ending != Ending::Cancelled => {
            Err(TalkError::Ended(Box::new(ended)))
        }
        (Err(error), _) => Err(error),
    }
}

fn converse<T>(
    input: OwnedFd,
    output: OwnedFd,
    deadline: Instant,
    goes_on: &dyn Fn() -> bool,
    work: impl AsyncFnOnce(&Client) -> Result<T, TalkError>,
) -> Result<T, TalkError> {
    let failed = |error: io::Error| TalkError::Launch(LaunchError::Sandbox(error.to_string()));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let result = runtime.block_on(async {
        let input = pipe::Receiver::from_owned_fd(input).map_err(failed)?;
        let output = pipe::Sender::from_owned_fd(output).map_err(failed)?;
        let transport = AsyncRwTransport::new_client(input.take(MAX_SAID), output)
            .with_max_line_length(MAX_MESSAGE);
        let conversation = async {
            let client = serve_client(Listener::default(), transport).await;
            let client = client.map_err(|error| TalkError::Protocol(error.to_string()))?;
            work(&client).await
        };
        tokio::select! {
            result = conversation => result,
            () = interrupted(deadline, goes_on) => Err(TalkError::Interrupted),
        }
    });
    // Tasks of the client end with it, and are not waited for.
    runtime.shutdown_background();
    result
}

async fn interrupted(deadline: Instant, goes_on: &dyn Fn() -> bool) {
    while goes_on() && Instant::now() < deadline {
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}
