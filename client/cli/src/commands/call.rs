//! `orion call`: one tool on one device, through the same pipeline as a model's calls.

use std::time::Duration;

use clap::Args;
use clap_complete::ArgValueCandidates;
use orion_domain::CallState;
use orion_wire::v1;
use serde_json::Value;
use tokio::time::Instant;
use uuid::Uuid;

use crate::app::App;
use crate::approval::{WhenStopped, decide, how_to_approve};
use crate::arguments;
use crate::call_result::CallResult;
use crate::client::{Client, within};
use crate::complete;
use crate::failure::Failure;
use crate::follow::{LiveCall, wait_for_end};
use crate::global::duration;
use crate::interrupt::Hold;
use crate::output::DIM;
use crate::show::CallView;
use crate::terminal::Spinner;
use crate::text;

/// The backend's longest timeout of a call, plus transfer time.
const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(615);
/// How much longer than the call its answer may take.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(15);

/// A tool, a device and arguments, as both `call` and `why` take them.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The device's name or id; may be left out where only one target runs the tool
    #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
    device: String,
    /// The tool's name or alias
    #[arg(value_name = "TOOL", add = ArgValueCandidates::new(complete::tools))]
    tool: Option<String>,
    /// Arguments: name=text, name:=json, name=@file; a list by giving the name again
    #[arg(value_name = "NAME=VALUE", add = ArgValueCandidates::new(complete::arguments))]
    arguments: Vec<String>,
    /// All arguments as a JSON object, as @file, or - for standard input
    #[arg(long, value_name = "JSON")]
    json: Option<String>,
}

impl Target {
    /// Returns the device, empty if none is named, the tool and the arguments. Names of tools have no `=`, so a
    /// second word with one is an argument, and the first word is the tool.
    fn words(
        device: String,
        tool: Option<String>,
        arguments: Vec<String>,
    ) -> (String, String, Vec<String>) {
        match tool {
            Some(tool) if !tool.contains('=') => (device, tool, arguments),
            argument => (String::new(), device, argument.into_iter().chain(arguments).collect()),
        }
    }

    /// Returns the word that stands alone, if nothing else is said.
    pub(crate) fn only_word(&self) -> Option<&str> {
        let Self { device, tool, arguments, json } = self;
        let is_alone = tool.is_none() && arguments.is_empty() && json.is_none();
        is_alone.then_some(device.as_str())
    }

    /// Returns the request for this call, its arguments typed by the tool's schema.
    ///
    /// # Errors
    /// The arguments cannot be read, or the backend does not list its tools.
    pub(crate) async fn request(self, client: &Client) -> Result<v1::CallToolRequest, Failure> {
        let base = self
            .json
            .as_deref()
            .map(|json| arguments::object("--json", json))
            .transpose()?
            .unwrap_or_default();
        let (device, tool, words) = Self::words(self.device, self.tool, self.arguments);
        let arguments = if words.is_empty() {
            base
        } else {
            let schema = schema(client, &tool, &device).await?;
            arguments::arguments(&words, base, schema.as_ref())?
        };
        Ok(v1::CallToolRequest {
            tool,
            device,
            arguments: Value::Object(arguments).to_string().into_bytes().into(),
            ..v1::CallToolRequest::default()
        })
    }
}

/// Returns the schema of a tool's arguments; `None` for an unknown tool, which the backend rejects. A tool that is
/// in no catalogue may be one that the device defines.
pub(crate) async fn schema(
    client: &Client,
    tool: &str,
    device: &str,
) -> Result<Option<Value>, Failure> {
    let is_listed = orion_catalog::find(tool).is_some();
    let aliases = match is_listed {
        true => Vec::new(),
        false => {
            let request = v1::ListAliasesRequest {};
            client.ask(client.tools().list_aliases(request)).await?.aliases
        }
    };
    let alias = aliases.iter().find(|alias| alias.name == tool);
    let tool = alias.map_or(tool, |alias| &alias.tool);
    let is_listed = orion_catalog::find(tool).is_some();
    let device = if is_listed { String::new() } else { device.to_owned() };
    let request = v1::ListToolsRequest { device };
    // For a device that there is not, the call itself says so.
    let tools = match client.ask(client.tools().list_tools(request)).await {
        Err(_) if !is_listed => return Ok(None),
        listed => listed?.tools,
    };
    Ok(tools
        .iter()
        .find(|known| known.name == tool || known.aliases.iter().any(|alias| alias == tool))
        .and_then(|known| serde_json::from_str(&known.arguments_schema).ok()))
}

/// Calls one tool on one device.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion call laptop-123 create_directory path=Test
  orion call laptop-123 write_file path=notes.txt content=@notes.txt
  orion call laptop-123 write_file path=notes.txt content=hello --dry-run
  orion call laptop-123 get_device_info include=cpu include=memory -o json
  orion call laptop-123 list_directory --json '{\"path\":\".\",\"recursive\":true}'
  orion call laptop-123 delete_directory path=Old recursive=true confirm=true --wait
  orion call laptop-123 create_directory path=Test --queue=8h
  orion call laptop-123 search_text pattern=needle --background

A call that needs approval asks at a terminal. Elsewhere it ends with 6 and goes on waiting for
`orion approvals approve`; --wait stays until it has ended, --yes approves it at once. With --queue a
call to a device that is not connected ends with 7. It is evaluated again and sent when the device connects.")]
pub(crate) struct Call {
    #[command(flatten)]
    target: Target,
    /// Change nothing; show what would happen
    #[arg(long)]
    dry_run: bool,
    /// The same key by the same person is the same call, made once
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Where the device is not connected, let the call wait for it: this long, or the backend's default
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true,
          default_missing_value = "0", value_parser = duration)]
    queue: Option<Duration>,
    /// Go on as soon as the call is on the record; `orion calls watch` follows it
    #[arg(long, conflicts_with = "wait")]
    background: bool,
    /// Where the call waits for a person or its device, wait too
    #[arg(long)]
    wait: bool,
}

impl Call {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, or the backend fails. A failed call is no error here: its envelope is
    /// printed and its exit code returned.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let Self { target, dry_run, idempotency_key, queue, background, wait } = self;
        let client = app.signed_in().await?;
        let mut request = target.request(client).await?;
        request.dry_run = dry_run;
        request.idempotency_key = idempotency_key.unwrap_or_default();
        request.queue = queue.is_some();
        let queue = queue.unwrap_or_default();
        request.queue_ms = u64::try_from(queue.as_millis()).unwrap_or(u64::MAX);
        if background {
            return begin(app, client, request).await;
        }
        make(app, client, request, wait).await
    }
}

/// Starts the call and prints its state.
async fn begin(
    app: &App<'_>,
    client: &Client,
    request: v1::CallToolRequest,
) -> Result<u8, Failure> {
    let timeout_ms =
        app.timeout.map_or(0, |limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
    let request = v1::CallToolRequest { timeout_ms, background: true, ..request };
    let answer = within(TRANSFER_TIMEOUT, client.tools().call_tool(request)).await?;
    let call = answer.call.unwrap_or_default();
    let state = orion_wire::call_state_from(call.state).unwrap_or(CallState::Unknown);
    if state.is_closed() || state == CallState::AwaitingApproval {
        let result = CallResult::of(call)?;
        result.print(app.out)?;
        return Ok(result.exit_code());
    }
    let view = CallView::from(call);
    app.out.show(&view, || view.call_id.clone())?;
    let id = text::short_id(&view.call_id);
    app.out.next(&format!("{DIM}{}; follow it with:{DIM:#} orion calls watch {id}", view.state));
    Ok(0)
}

/// Makes the call, decides its approval request as the command line says, prints its result or what it
/// waits for, and returns the exit code.
///
/// # Errors
/// As [`Call::run`].
pub(super) async fn make(
    app: &App<'_>,
    client: &Client,
    request: v1::CallToolRequest,
    wait: bool,
) -> Result<u8, Failure> {
    let result = perform(app, client, request, wait).await?;
    print(app, client, &result).await?;
    Ok(result.exit_code())
}

/// Makes the call, and decides its approval request as the command line says. Returns its result, or what it
/// waits for.
///
/// # Errors
/// As [`Call::run`].
pub(super) async fn perform(
    app: &App<'_>,
    client: &Client,
    request: v1::CallToolRequest,
    wait: bool,
) -> Result<CallResult, Failure> {
    let timeout_ms =
        app.timeout.map_or(0, |limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
    let request = v1::CallToolRequest { timeout_ms, ..request };
    let limit =
        app.timeout.map_or(MAX_CALL_TIMEOUT, |limit| limit.saturating_add(TRANSFER_TIMEOUT));
    let deadline = app.timeout.map(|limit| Instant::now() + limit.min(MAX_CALL_TIMEOUT));
    let (tool, device) = (request.tool.clone(), request.device.clone());
    let dry_run = request.dry_run;

    let on = if device.is_empty() { String::new() } else { format!(" on {device}") };
    let waiting = Spinner::on(app.out, &format!("{tool}{on}"));
    let mut request = request;
    if waiting.is_shown() && request.idempotency_key.is_empty() {
        // With a key, the same call can be asked for its id while it runs.
        request.idempotency_key = Uuid::now_v7().to_string();
    }
    let live = LiveCall::requested(client, &request, &waiting);
    let called = within(limit, client.tools().call_tool(request)).await;
    let shown_bytes = match live {
        Some(live) => live.end().await,
        None => None,
    };
    drop(waiting);
    let mut result = match called {
        Ok(v1::CallToolResponse { call: Some(call), .. }) => {
            CallResult { shown_bytes, ..CallResult::of(call)? }
        }
        Ok(v1::CallToolResponse { call: None, .. }) => {
            return Err(Failure::Failed("the backend answered without a call".to_owned()));
        }
        Err(Failure::Tool(error)) => CallResult::refused(*error, &tool, &device, dry_run),
        Err(failure) => return Err(failure),
    };
    if let Some(approval_id) = result.waits_for.clone() {
        let call_id = result.envelope.meta.call_id.clone();
        let hold = Hold::new();
        let decided = tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
            decided = decide(app, client, &approval_id, wait, WhenStopped::Waits) => decided,
        };
        if matches!(decided, Err(Failure::Interrupted)) {
            // A person who stops at the approval request does not want the call to keep waiting.
            let request = v1::CancelCallRequest { call_id: call_id.clone() };
            client.ask(client.tools().cancel_call(request)).await?;
        }
        drop(hold);
        let goes_on = decided?;
        if goes_on {
            result = wait_for_end(app, client, &call_id, deadline, wait).await?;
        }
    }
    if result.is_queued && wait {
        let call_id = result.envelope.meta.call_id.clone();
        result = wait_for_end(app, client, &call_id, deadline, true).await?;
    }
    Ok(result)
}

/// Prints a result, and how to approve or undo its call.
///
/// # Errors
/// The output cannot be written.
pub(super) async fn print(
    app: &App<'_>,
    client: &Client,
    result: &CallResult,
) -> Result<(), Failure> {
    result.print(app.out)?;
    // For people the command is in a hint of the result.
    let is_said = app.out.is_for_people() && result.says_how_to_approve();
    if let Some(approval_id) = result.waits_for.as_ref().filter(|_| !is_said) {
        app.out.error_line(&how_to_approve(app.out, client, approval_id).await);
    }
    result.say_how_to_undo(app.out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_may_be_left_out_before_arguments_and_alone() {
        let words = |text: &str| {
            let mut words = text.split(' ').map(str::to_owned);
            let (device, tool) = (words.next().unwrap(), words.next());
            let (device, tool, arguments) = Target::words(device, tool, words.collect());
            format!("{device}/{tool}/{}", arguments.join(","))
        };
        assert_eq!(words("kiosk read_file path=a=b limit=1"), "kiosk/read_file/path=a=b,limit=1");
        assert_eq!(words("calculate expression=6*7 x:=1"), "/calculate/expression=6*7,x:=1");
        assert_eq!(words("list_devices"), "/list_devices/");
        assert_eq!(words("kiosk get_datetime"), "kiosk/get_datetime/");
    }
}
