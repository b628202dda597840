//! Follows a call to its end. At a terminal it shows how far the call is, and what its programs print.

use std::time::Duration;

use orion_catalog::{Execution, ToolSpec};
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
use crate::terminal::{SharedSpinner, Spinner};
use crate::text;

/// How long the backend may take to begin its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest line of a program's output that is shown whole, in bytes.
const MAX_LINE: usize = 2000;
/// How long after the end of a call in a chat its last output is waited for.
const LAST_OUTPUT: Duration = Duration::from_millis(300);
/// How often a chat looks for a call that the backend has announced and not yet stored. Its preview may take
/// long.
const LOOKS: u32 = 200;
/// The time between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// A call that ends sooner is shown by its result alone.
const SHORT_CALL: Duration = Duration::from_millis(300);
/// Arguments of more bytes are not sent a second time to learn the id of their call.
const MAX_SENT_AGAIN: usize = 16 * 1024;
/// How long after its end a stream is opened again.
const REOPEN_INTERVAL: Duration = Duration::from_millis(500);

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
    let mut lines = Lines::default();
    let mut follows = async || {
        loop {
            let request =
                v1::WatchCallRequest { call_id: call_id.to_owned(), output: waiting.is_shown() };
            let mut events = within(ANSWER_TIMEOUT, client.tools().watch_call(request)).await?;
            // A stream may end before its call, as at a proxy that ends what is quiet for a while.
            while let Ok(Some(v1::WatchCallResponse { event })) = events.message().await {
                match event {
                    Some(Event::Output(piece)) => lines.add(&piece, |line| waiting.line(line)),
                    Some(Event::Call(call)) => {
                        let state =
                            orion_wire::call_state_from(call.state).unwrap_or(CallState::Unknown);
                        if state.is_closed() || (state == CallState::Queued && !for_device) {
                            lines.end(|line| waiting.line(line));
                            return CallResult::of(call);
                        }
                        waiting.say(&CallView::from(call).advance());
                    }
                    // A newer backend has events that this version does not know.
                    None => {}
                }
            }
            sleep(REOPEN_INTERVAL).await;
        }
    };
    let ended = match deadline {
        Some(deadline) => timeout_at(deadline, follows()).await,
        None => Ok(follows().await),
    };
    let Ok(ended) = ended else {
        return Err(Failure::TimedOut(format!("the call {call_id} has not ended"))
            .hint(Hint::run("follow it", format!("orion calls watch {call_id}"))));
    };
    Ok(CallResult { shown_bytes: lines.shown_bytes(), ..ended? })
}

/// Shows how far a call is in a spinner, and what its programs print above it, until the call ends or this is
/// dropped.
#[derive(Debug)]
pub(crate) struct LiveCall {
    task: JoinHandle<Lines>,
    /// Whether the tool runs programs, whose last output is waited for.
    runs_programs: bool,
}

impl LiveCall {
    /// Begins to show a call that a chat has announced. `None` where no person watches.
    pub(crate) fn announced(
        client: &Client,
        call: &v1::CallBegan,
        waiting: &Spinner,
    ) -> Option<Self> {
        if !waiting.is_shown() {
            return None;
        }
        let runs_programs = runs_programs(&call.tool);
        let (client, call_id, waiting) = (client.clone(), call.call_id.clone(), waiting.share());
        let task = tokio::spawn(async move {
            if !runs_programs {
                sleep(SHORT_CALL).await;
            }
            show(client, call_id, waiting).await
        });
        Some(Self { task, runs_programs })
    }

    /// Begins to show a call that is requested with this key. `None` where no person watches.
    pub(crate) fn requested(
        client: &Client,
        request: &v1::CallToolRequest,
        waiting: &Spinner,
    ) -> Option<Self> {
        if !waiting.is_shown() || request.arguments.len() > MAX_SENT_AGAIN {
            return None;
        }
        let runs_programs = runs_programs(&request.tool);
        let (client, waiting) = (client.clone(), waiting.share());
        // The same key is the same call, which tells its id while it runs.
        let again = v1::CallToolRequest { background: true, ..request.clone() };
        let task = tokio::spawn(async move {
            sleep(SHORT_CALL).await;
            let answer = client.ask(client.tools().call_tool(again)).await;
            match answer.ok().and_then(|answer| answer.call) {
                Some(call) => show(client, call.call_id, waiting).await,
                None => Lines::default(),
            }
        });
        Some(Self { task, runs_programs })
    }

    /// Waits a moment for the last output of a call that has ended, and returns how many bytes were shown.
    pub(crate) async fn end(mut self) -> Option<usize> {
        if !self.runs_programs {
            return None;
        }
        timeout(LAST_OUTPUT, &mut self.task).await.ok()?.ok()?.shown_bytes()
    }
}

impl Drop for LiveCall {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns whether a tool runs programs, whose output is shown.
fn runs_programs(tool: &str) -> bool {
    let is_child = |spec: &ToolSpec| spec.execution == Execution::ChildProcess;
    orion_catalog::find(tool).is_some_and(|(spec, _)| is_child(spec))
}

/// Shows how far a call is, and its output, until it ends. What is shown is for people only, so a failure ends this
/// and nothing else.
async fn show(client: Client, call_id: String, waiting: SharedSpinner) -> Lines {
    let (mut lines, begun) = (Lines::default(), waiting.text());
    // The backend announces a call before it stores it.
    for _ in 0..LOOKS {
        let request = v1::WatchCallRequest { call_id: call_id.clone(), output: true };
        match client.tools().watch_call(request).await {
            Ok(events) => {
                let mut events = events.into_inner();
                while let Ok(Some(v1::WatchCallResponse { event })) = events.message().await {
                    match event {
                        Some(Event::Output(piece)) => {
                            lines.add(&piece, |line| waiting.line(line));
                        }
                        Some(Event::Call(call)) => {
                            let advance = CallView::from(call).advance();
                            waiting.say(if advance.is_empty() { &begun } else { &advance });
                        }
                        // A newer backend has events that this version does not know.
                        None => {}
                    }
                }
                lines.end(|line| waiting.line(line));
                break;
            }
            Err(status) if status.code() == Code::NotFound => sleep(LOOK_INTERVAL).await,
            Err(_) => break,
        }
    }
    lines
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
    /// Adds a piece, and shows each line that it ends. What was shown before, by an earlier stream, is skipped.
    fn add(&mut self, piece: &v1::OutputPiece, mut show: impl FnMut(&str)) {
        if piece.offset > self.next {
            self.end(&mut show);
            self.is_incomplete = true;
            show(&format!("[… {} bytes are not shown …]", piece.offset - self.next));
            self.next = piece.offset;
        }
        let skipped = usize::try_from(self.next - piece.offset).unwrap_or(usize::MAX);
        let new = piece.data.get(skipped..).unwrap_or_default();
        self.next = self.next.saturating_add(new.len() as u64);
        for &byte in new {
            if byte == b'\n' {
                self.line(&mut show);
            } else if self.unfinished.len() < MAX_LINE {
                self.unfinished.push(byte);
            } else {
                self.is_incomplete = true;
            }
        }
    }

    /// Returns how many bytes of output were shown. `None` where something was left out.
    fn shown_bytes(&self) -> Option<usize> {
        if self.is_incomplete { None } else { usize::try_from(self.next).ok() }
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
        let whole = line.trim_end_matches('\r');
        let last = whole.rsplit('\r').next().unwrap_or_default();
        self.is_incomplete |= last.len() < whole.len();
        show(&text::one_line(last, MAX_LINE));
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
    fn what_an_earlier_stream_showed_is_skipped() {
        assert_eq!(
            shown(&[(0, b"one\ntw"), (0, b"one\ntwo\n"), (8, b"three")]),
            ["one", "two", "three"]
        );
        assert_eq!(shown(&[(0, b"one\n"), (0, b"on")]), ["one"]);
    }

    #[test]
    fn how_much_was_shown_is_known_where_nothing_was_left_out() {
        let shown_bytes = |pieces: &[(u64, &[u8])]| {
            let mut lines = Lines::default();
            for &(offset, data) in pieces {
                lines.add(&v1::OutputPiece { offset, data: data.to_vec().into() }, |_| {});
            }
            lines.end(|_| {});
            lines.shown_bytes()
        };
        assert_eq!(shown_bytes(&[(0, b"one\n"), (4, b"two")]), Some(7));
        assert_eq!(shown_bytes(&[(0, b"one\n"), (5, b"two")]), None);
        assert_eq!(shown_bytes(&[(0, b"10 %\r20 %\n")]), None);
        assert_eq!(shown_bytes(&[(0, &[b'x'; 2 * MAX_LINE])]), None);
    }

    #[test]
    fn output_controls_no_terminal_and_a_line_without_end_is_cut() {
        assert_eq!(shown(&[(0, b"\x1b[31mred\x07\n")]), ["\u{fffd}[31mred\u{fffd}"]);
        let long = shown(&[(0, &[b'x'; 10 * MAX_LINE])]);
        assert_eq!(long.len(), 1);
        assert_eq!(long[0].chars().count(), MAX_LINE);
    }
}
