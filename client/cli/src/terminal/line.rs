//! A line that a person types, for a question that may answer itself meanwhile.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;
use crate::text;

/// The longest line, in bytes.
const MAX_BYTES: usize = 4096;

/// A question at the terminal. When it is dropped without an answer, what was typed so far is discarded, and
/// the next output begins on a new line.
#[derive(Debug)]
pub(crate) struct Question {
    is_over: Arc<AtomicBool>,
    is_open: bool,
}

impl Question {
    /// Shows the prompt. What was typed before it is no answer and is discarded.
    pub(crate) fn new(prompt: &str) -> Self {
        discard_input();
        let _ = write!(anstream::stderr().lock(), "{} ", text::one_line(prompt.trim_end(), 500));
        let _ = std::io::stderr().flush();
        Self { is_over: Arc::default(), is_open: true }
    }

    /// Returns the line that the person types. May be cancelled.
    ///
    /// # Errors
    /// The input has ended, or the terminal fails.
    pub(crate) async fn answer(&mut self) -> Result<String, Failure> {
        let is_over = Arc::clone(&self.is_over);
        let line = tokio::task::spawn_blocking(move || read_line(&is_over)).await;
        let line = line.map_err(|error| broken(&error))?.map_err(|error| broken(&error))?;
        let line = line.ok_or(Failure::Interrupted)?;
        self.is_open = false;
        Ok(line)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if self.is_open {
            discard_input();
            let _ = writeln!(anstream::stderr().lock());
        }
    }
}

fn broken(error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("the terminal cannot be asked: {error}"))
}

/// Discards what was typed and not read.
fn discard_input() {
    #[cfg(unix)]
    {
        use rustix::termios::{QueueSelector, tcflush};
        // Where there is no terminal, nothing was typed.
        let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    }
}

/// Reads a line. None at the end of the input, or when the question is over: a thread that waited for input
/// beyond that would take the next line.
#[cfg(unix)]
fn read_line(is_over: &AtomicBool) -> std::io::Result<Option<String>> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdin = std::io::stdin();
    let pause = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    let mut line = Vec::new();
    while !is_over.load(Ordering::Acquire) {
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ready, Some(&pause)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            // What arrives after the end of the question is for the next prompt.
            Ok(_) if is_over.load(Ordering::Acquire) => break,
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut piece = [0; 256];
        // A terminal gives at most one line, when it is complete.
        let read = match rustix::io::read(&stdin, &mut piece) {
            Ok(read) => read,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let piece = piece.get(..read).unwrap_or_default();
        if piece.is_empty() {
            return Ok(None);
        }
        line.extend(piece.iter().take(MAX_BYTES - line.len()));
        if piece.ends_with(b"\n") {
            return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
        }
    }
    Ok(None)
}

#[cfg(not(unix))]
fn read_line(_is_over: &AtomicBool) -> std::io::Result<Option<String>> {
    use std::io::{BufRead as _, Read as _};

    let mut line = String::new();
    let mut input = std::io::stdin().lock().take(MAX_BYTES as u64);
    let read = input.read_line(&mut line)?;
    Ok((read > 0).then_some(line))
}
