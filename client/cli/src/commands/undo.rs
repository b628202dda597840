//! `orion undo`: undoes the changes of a call, or of all calls of a plan or of a turn of a chat.
//!
//! Each undo is a call of its own, of the tool `undo_call`, and goes through the same pipeline. The
//! device detects later changes and refuses to overwrite them.

mod several;

use clap::Args;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;
use orion_catalog::tools::undo_call::{UndoCall, paths_of};
use orion_catalog::{CATALOG, Tool as _};
use orion_domain::{CallState, ErrorCode, Hint};
use orion_wire::{call_state_from, v1};
use serde_json::{Map, Value, json};

use super::call::make;
use crate::app::App;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::text;

/// Takes back what a call, a plan or a turn of a chat changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion undo 0199b2c4-7f3e-7c11
  orion undo 0199b2c4-7f3e-7c11 --dry-run
  orion undo 0199b2c4-7f3e-7c11 -o json

With the id of a plan, or of a turn of a chat, all its calls are taken back, the last one first, on every
device. What cannot be taken back is said first. `orion chats show` tells the ids of turns.

Brings back what the call deleted, replaced or moved, and removes what it made, for seven days. What
has changed since is never overwritten: then the command ends with 9 and everything stays as it is.
`orion call` tells the id of a call that can be taken back; `orion calls list` shows earlier ones.

An undoing is a call like any other: grants, the device's ceiling and approval hold for it, and it is
in the record.")]
pub(crate) struct Undo {
    /// The id of a call, a plan or a turn of a chat; may be shortened
    #[arg(value_name = "ID", add = ArgValueCandidates::new(complete::calls))]
    call: String,
    /// Change nothing; show what would be taken back
    #[arg(long)]
    dry_run: bool,
    /// Where the undoing waits for a person, wait too
    #[arg(long)]
    wait: bool,
}

impl Undo {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such call, it cannot be undone, or the backend fails. A failed
    /// undo is no error here: its envelope is printed and its exit code returned.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let Self { call, dry_run, wait } = self;
        let client = app.signed_in().await?;
        let recorded = match recorded(client, call.clone()).await {
            Ok(call) => call,
            Err(missing) if missing.exit_code() == 3 => {
                return match several::find(client, &call).await? {
                    Some(calls) => several::undo(app, client, &calls, dry_run, wait).await,
                    None => Err(missing),
                };
            }
            Err(failure) => return Err(failure),
        };
        let is_of_several = |calls: Option<Vec<_>>| calls.is_some_and(|calls| !calls.is_empty());
        if recorded.call_id != call && is_of_several(several::find(client, &call).await?) {
            let message = format!("{} begins a call and a plan or turn", text::one_line(&call, 80));
            return Err(Failure::Usage(message)
                .hint("give the whole id of the one that is meant")
                .hint(Hint::run("whole ids of plans", "orion plan list --all -o json"))
                .hint(Hint::run("whole ids of calls", "orion calls list -o json")));
        }
        let request = undoing(&recorded)?;
        make(app, client, v1::CallToolRequest { dry_run, ..request }, wait).await
    }
}

/// Takes back what a turn of a chat changed.
///
/// # Errors
/// As [`Undo::run`].
pub(crate) async fn undo_turn(app: &App<'_>, turn: String) -> Result<u8, Failure> {
    Undo { call: turn, dry_run: false, wait: true }.run(app).await
}

async fn recorded(client: &Client, call_id: String) -> Result<v1::Call, Failure> {
    let shown = text::one_line(&call_id, 80);
    let missing = || {
        Failure::NotFound(format!("there is no call, plan or turn {shown} of yours"))
            .hint(Hint::run("list your calls", "orion calls list"))
    };
    let request = v1::GetCallRequest { call_id, wait_ms: 0 };
    match client.ask(client.tools().get_call(request)).await {
        Ok(answer) => answer.call.ok_or_else(missing),
        Err(Failure::Tool(error)) if error.code == ErrorCode::NotFound => Err(missing()),
        Err(failure) => Err(failure),
    }
}

/// Returns the call that undoes this one.
fn undoing(call: &v1::Call) -> Result<v1::CallToolRequest, Failure> {
    let v1::Call { call_id, tool, device, arguments, dry_run, .. } = call;
    let id = text::short_id(call_id);
    let can_be_undone = CATALOG.iter().any(|spec| spec.name == tool && spec.undo);
    if !can_be_undone {
        let undoable: Vec<_> =
            CATALOG.iter().filter(|spec| spec.undo).map(|spec| spec.name).collect();
        let tool = text::one_line(tool, 80);
        return Err(Failure::Conflict(format!(
            "{id} is a call of {tool}, which cannot be undone, unlike {}",
            undoable.join(", ")
        ))
        .hint(Hint::run("see which of your calls changed something", "orion calls list")));
    }
    if *dry_run {
        return Err(Failure::Conflict(format!(
            "{id} was a preview: it changed nothing, so there is nothing to undo"
        ))
        .hint(Hint::run("see what it would have done", format!("orion calls show {id}"))));
    }
    let state = call_state_from(call.state).unwrap_or(CallState::Unknown);
    if state != CallState::Succeeded {
        let (how, hint) = if state.is_closed() {
            ("did not succeed", Hint::run("see how it ended", format!("orion calls show {id}")))
        } else {
            ("has not ended", Hint::run("follow it to its end", format!("orion calls watch {id}")))
        };
        let message = format!(
            "{id} {how} ({}), so there is nothing to undo",
            state.as_str().replace('_', " ")
        );
        return Err(Failure::Conflict(message).hint(hint));
    }
    let arguments: Map<String, Value> = serde_json::from_slice(arguments).unwrap_or_default();
    let arguments = json!({"call_id": call_id, "paths": paths_of(tool, &arguments)});
    Ok(v1::CallToolRequest {
        tool: UndoCall::NAME.to_owned(),
        device: device.clone(),
        arguments: arguments.to_string().into_bytes().into(),
        // Each undo is a call of its own, so a rejected one may be retried.
        idempotency_key: format!("undo {call_id} at {}", Timestamp::now().as_nanosecond()),
        ..v1::CallToolRequest::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_result::example;

    fn call(tool: &str, state: CallState, arguments: &Value) -> v1::Call {
        let arguments = arguments.to_string().into_bytes().into();
        v1::Call { device: "kiosk".to_owned(), arguments, ..example(tool, state) }
    }

    #[test]
    fn an_undoing_names_the_call_and_its_paths_on_the_same_device() {
        let arguments = json!({"source": "a", "destination": "b/c", "overwrite": false});
        let moved = call("move_path", CallState::Succeeded, &arguments);
        let request = undoing(&moved).unwrap();
        assert_eq!((request.tool.as_str(), request.device.as_str()), ("undo_call", "kiosk"));
        assert_eq!(
            serde_json::from_slice::<Value>(&request.arguments).unwrap(),
            json!({"call_id": moved.call_id, "paths": ["a", "b/c"]})
        );
        let again = undoing(&moved).unwrap();
        assert_ne!(again.idempotency_key, request.idempotency_key);
        assert!(request.idempotency_key.len() <= 256);
    }

    #[test]
    fn what_cannot_be_taken_back_is_a_conflict_that_says_why() {
        let arguments = json!({"path": "a"});
        let preview =
            v1::Call { dry_run: true, ..call("write_file", CallState::Succeeded, &arguments) };
        let said: Vec<_> = [
            call("read_file", CallState::Succeeded, &arguments),
            call("write_file", CallState::Denied, &arguments),
            call("delete_file", CallState::AwaitingApproval, &arguments),
            preview,
        ]
        .iter()
        .map(|call| {
            let failure = undoing(call).unwrap_err();
            assert_eq!(failure.exit_code(), 9);
            failure.to_string()
        })
        .collect();
        insta::assert_snapshot!(said.join("\n"), @"
        0199b2c4-7f3e-7c11 is a call of read_file, which cannot be undone, unlike write_file, edit_file, create_directory, copy_path, move_path, delete_file, delete_directory, modify_config, upload_file, transfer_file
        0199b2c4-7f3e-7c11 did not succeed (denied), so there is nothing to undo
        0199b2c4-7f3e-7c11 has not ended (awaiting approval), so there is nothing to undo
        0199b2c4-7f3e-7c11 was a preview: it changed nothing, so there is nothing to undo
        ");
    }
}
