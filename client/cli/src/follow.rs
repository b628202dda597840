//! Follows a call to its end. At a terminal it shows how far the call is, and what its programs print.

use std::time::Duration;

use orion_domain::{CallState, Hint};
use orion_wire::v1::{self, watch_call_response::Event};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::Code;

use crate::app::App;
use crate::call_result::CallResult;
use crate::client::{Client, within};
use crate::failure::Failure;
use crate::show::CallView;
use crate::terminal::Spinner;
use crate::text;

/// How long the backend may take to begin its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest line of a program's output that is shown whole, in bytes.
const MAX_LINE: usize = 2000;
/// How long after the end of a call in a chat its last output is waited for.
const LAST_OUTPUT: Duration = Duration::from_millis(300);
/// How often a chat looks for a call that the backend has announced and not yet stored.
const LOOKS: u32 = 20;
/// The time between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until the call has ended, or, unless that is awaited too, until it waits for its device.
///
/// # Errors
/// The backend fails, or the time is up.
pub(crate) async fn wait_for_end(
    app: &App<'_>,
    client: &Client,
    call_id: &str,
    deadline: Option<Instant>,
    for_device: bool,
) -> Result<CallResult, Failure> {
    let waiting = Spinner::on(app.out, "waiting for the call to end");
    follow(client, call_id, deadline, for_device, &waiting).await
}

/// As [`wait_for_end`], with a spinner that is shown already.
///
/// # Errors
/// The backend fails, or the time is up.
pub(crate) async fn follow(
    client: &Client,
    call_id: &str,
    deadline: Option<Instant>,
    for_device: bool,
    waiting: &Spinner,
) -> Result<CallResult, Failure> {
    let output = waiting.is_shown();
    let request = v1::WatchCallRequest { call_id: call_id.to_owned(), output };
    let mut events = within(ANSWER_TIMEOUT, client.tools().watch_call(request)).await?;
    let mut lines = Lines::default();
    loop {
        let next = match deadline {
            Some(deadline) => timeout_at(deadline, events.message()).await,
            None => Ok(events.message().await),
        };
        let Ok(next) = next else {
            let command = format!("orion calls watch {call_id}");
            return Err(Failure::TimedOut(format!("the call {call_id} has not ended"))
                .hint(Hint::run("follow it", command)));
        };
        let Some(v1::WatchCallResponse { event }) = next? else {
            return Err(Failure::Failed(format!("the backend stopped before {call_id} ended")));
        };
        match event {
            Some(Event::Output(piece)) => lines.add(&piece, |line| waiting.line(line)),
            Some(Event::Call(call)) => {
                let state = orion_wire::call_state_from(call.state).unwrap_or(CallState::Unknown);
                if state.is_closed() || (state == CallState::Queued && !for_device) {
                    lines.end(|line| waiting.line(line));
                    let is_output_shown = lines.are_all_shown();
                    return Ok(CallResult { is_output_shown, ..CallResult::of(call)? });
                }
                waiting.say(&CallView::from(call).advance());
            }
            // A newer backend has events that this version does not know.
            None => {}
        }
    }
}

/// Shows what the programs of a call in a chat print, until it ends or this is dropped.
#[derive(Debug)]
pub(crate) struct LiveCall(JoinHandle<()>);

impl LiveCall {
    /// Begins to show a call's output above the spinner. `None` where no person watches, or where the tool
    /// runs no programs.
    pub(crate) fn show(client: &Client, call: &v1::CallBegan, waiting: &Spinner) -> Option<Self> {
        let runs_programs = orion_catalog::find(&call.tool)
            .is_some_and(|(spec, _)| spec.execution == orion_catalog::Execution::ChildProcess);
        if !waiting.is_shown() || !runs_programs {
            return None;
        }
        let (client, call_id, waiting) = (client.clone(), call.call_id.clone(), waiting.share());
        Some(Self(tokio::spawn(async move {
            let mut lines = Lines::default();
            for _ in 0..LOOKS {
                let request = v1::WatchCallRequest { call_id: call_id.clone(), output: true };
                match client.tools().watch_call(request).await {
                    Ok(events) => {
                        let mut events = events.into_inner();
                        // What is shown is for people only: whatever fails, the chat goes on.
                        while let Ok(Some(v1::WatchCallResponse { event })) = events.message().await
                        {
                            if let Some(Event::Output(piece)) = event {
                                lines.add(&piece, |line| waiting.line(line));
                            }
                        }
                        lines.end(|line| waiting.line(line));
                        return;
                    }
                    Err(status) if status.code() == Code::NotFound => sleep(LOOK_INTERVAL).await,
                    Err(_) => return,
                }
            }
        })))
    }

    /// Waits a moment for the last output of a call that has ended.
    pub(crate) async fn end(mut self) {
        let _ = timeout(LAST_OUTPUT, &mut self.0).await;
    }
}

impl Drop for LiveCall {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Makes lines of pieces of output.
#[derive(Debug, Default)]
struct Lines {
    /// The position of the next byte.
    next: u64,
    unfinished: Vec<u8>,
    /// Whether output is missing, or a line was cut.
    is_incomplete: bool,
}

impl Lines {
    /// Adds a piece, and shows each line that it ends.
    fn add(&mut self, piece: &v1::OutputPiece, mut show: impl FnMut(&str)) {
        if piece.offset > self.next {
            self.end(&mut show);
            self.is_incomplete = true;
            show(&format!("[… {} bytes are not shown …]", piece.offset - self.next));
        }
        self.next = piece.offset.saturating_add(piece.data.len() as u64);
        for &byte in piece.data.iter() {
            if byte == b'\n' {
                self.line(&mut show);
            } else if self.unfinished.len() < MAX_LINE {
                self.unfinished.push(byte);
            } else {
                self.is_incomplete = true;
            }
        }
    }

    /// Returns whether something was shown, and nothing was left out.
    const fn are_all_shown(&self) -> bool {
        self.next > 0 && !self.is_incomplete
    }

    /// Shows a line that is not ended.
    fn end(&mut self, mut show: impl FnMut(&str)) {
        if !self.unfinished.is_empty() {
            self.line(&mut show);
        }
    }

    fn line(&mut self, show: &mut impl FnMut(&str)) {
        let line = String::from_utf8_lossy(&self.unfinished).replace('\t', "    ");
        // A program that shows its progress begins the same line again.
        let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
        show(&text::one_line(line, MAX_LINE));
        self.unfinished.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[(u64, &[u8])]) -> Vec<String> {
        let (mut lines, mut shown) = (Lines::default(), Vec::new());
        for &(offset, data) in pieces {
            let piece = v1::OutputPiece { offset, data: data.to_vec().into() };
            lines.add(&piece, |line| shown.push(line.to_owned()));
        }
        lines.end(|line| shown.push(line.to_owned()));
        shown
    }

    #[test]
    fn lines_are_shown_whole_whatever_the_pieces_and_what_is_missing_is_said() {
        assert_eq!(shown(&[(0, b"one\ntw"), (6, b"o\nthree")]), ["one", "two", "three"]);
        let missing = shown(&[(0, b"one\ntw"), (106, b"later\n")]);
        assert_eq!(missing, ["one", "tw", "[… 100 bytes are not shown …]", "later"]);
        assert_eq!(shown(&[(0, "\u{e9}\n".as_bytes())]), ["é"]);
        assert_eq!(shown(&[(0, b" 10 %\r 50 %\r100 %\r\ndone\n")]), ["100 %", "done"]);
    }

    #[test]
    fn output_controls_no_terminal_and_a_line_without_end_is_cut() {
        assert_eq!(shown(&[(0, b"\x1b[31mred\x07\n")]), ["\u{fffd}[31mred\u{fffd}"]);
        let long = shown(&[(0, &[b'x'; 10 * MAX_LINE])]);
        assert_eq!(long.len(), 1);
        assert_eq!(long[0].chars().count(), MAX_LINE);
    }
}
