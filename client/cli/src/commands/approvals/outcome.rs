//! What an approval led to: the call's end, or the rule that it made.

use std::time::Duration;

use orion_domain::CallState;
use orion_wire::v1;
use tokio::time::{Instant, sleep};

use crate::app::App;
use crate::approval::waiting;
use crate::call_result::CallResult;
use crate::client::Client;
use crate::failure::Failure;
use crate::show::{CallView, StandingRuleView, rule_line};
use crate::text;

/// How long an approval waits for the end of its call, to say how it ended. In milliseconds.
const SOON_MS: u64 = 1_000;

/// How often the state of another person's call is asked for.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Refuses to wait for the result of a call that this person does not see: that of another, where they are no admin.
pub(super) async fn refuse_blind_wait(client: &Client, approval_id: &str) -> Result<(), Failure> {
    let requester = waiting(client, approval_id).await?.0.requester;
    let me = client.ask(client.auth().who_am_i(v1::WhoAmIRequest {})).await?;
    if me.role == "admin" || me.user == requester {
        return Ok(());
    }
    let requester = text::one_line(&requester, 64);
    let message =
        format!("only {requester} and admins see the result of this call; nothing was approved");
    Err(Failure::Usage(message).hint("leave out --wait"))
}

/// Says which rule an approval made, and how to end it. The approval counts whether the rule can be read or not.
pub(super) async fn say_which_rule(app: &App<'_>, client: &Client, approval_id: &str) {
    let request = v1::ListStandingRulesRequest {};
    let listed = client.ask(client.approvals().list_standing_rules(request)).await;
    let rules = listed.map(|listed| listed.rules).unwrap_or_default();
    let made = rules.into_iter().find(|rule| rule.approval_id == approval_id);
    let line = match made.map(StandingRuleView::from) {
        Some(rule) => rule_line(app.out, &rule),
        None => "`orion approvals rules list` shows the rule that it made".to_owned(),
    };
    app.out.note(&line);
}

/// Says what became of an approved call, or how to see it, and how to take it back: a person who may read a call
/// may undo it.
/// The approval counts whether the call can be read or not. `requester` is who else made the call.
pub(super) async fn next_commands(
    app: &App<'_>,
    client: &Client,
    (approval_id, call_id, requester): (&str, &str, Option<&str>),
    can_undo: bool,
) {
    let id = text::one_line(text::short_id(call_id), 40);
    // Most calls have ended by then, and not all of them as they were approved.
    let request = v1::GetCallRequest { call_id: call_id.to_owned(), wait_ms: SOON_MS };
    let call = client.ask(client.tools().get_call(request)).await.ok().and_then(|it| it.call);
    if let (Some(requester), None) = (requester, &call) {
        let requester = text::one_line(requester, 64);
        let who = format!("{requester}, who made the call, and the admins see its result");
        let how = how_it_ended(client, approval_id).await;
        app.out.note(&how.map_or_else(|| who.clone(), |how| format!("the call: {how}; {who}")));
        return;
    }
    match call {
        Some(call) => became(&id, call, can_undo).iter().for_each(|line| app.out.next(line)),
        None => app.out.next(&format!("`orion calls show {id}` shows how the call ended")),
    }
}

/// Returns in which state an approved call is that this person may not read: once it has ended, or after a while. None
/// where that is not known.
async fn how_it_ended(client: &Client, approval_id: &str) -> Option<String> {
    let deadline = Instant::now() + Duration::from_millis(SOON_MS);
    loop {
        let (approval, _) = waiting(client, approval_id).await.ok()?;
        let has_ended = CallState::ALL
            .into_iter()
            .any(|state| state.as_str() == approval.call_state && state.is_closed());
        let how = Some(approval.call_words()).filter(|how| !how.is_empty());
        if has_ended || how.is_none() || Instant::now() >= deadline {
            return how;
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Returns the lines that say what became of an approved call, with the next command. `id` is its short id.
fn became(id: &str, call: v1::Call, can_undo: bool) -> Vec<String> {
    let state = orion_wire::call_state_from(call.state);
    let how = CallView::from(call.clone()).words();
    let result = CallResult::of(call).ok();
    match state {
        Ok(CallState::Succeeded) => {
            let changed = result.is_some_and(|result| result.undoable().is_some());
            let undo = match can_undo && changed {
                true => format!(", `orion undo {id}` takes it back"),
                false => String::new(),
            };
            vec![format!("the call has succeeded; `orion calls show {id}` shows its result{undo}")]
        }
        Ok(CallState::Unknown) | Err(_) => {
            vec![format!("it is not known how the call ended; `orion calls show {id}` says more")]
        }
        Ok(state) if state.is_closed() => {
            let said = result.map(|result| result.in_short());
            let next =
                format!("the approved call did not succeed; `orion calls show {id}` says more");
            said.into_iter().chain([next]).collect()
        }
        Ok(_) => {
            vec![format!("the call has not ended ({how}); `orion calls watch {id}` follows it")]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_result::example;

    fn call(state: CallState) -> v1::Call {
        example("delete_file", state)
    }

    #[test]
    fn an_undo_is_offered_only_of_a_call_that_has_succeeded() {
        let advance = |done, total, note: &str| v1::CallAdvance { done, total, note: note.into() };
        let waits = advance(0, 0, "waits for the person at the device, until 12:00:00 UTC");
        let copied = advance(4096, 8192, "bytes copied");
        let said = [
            call(CallState::AwaitingApproval),
            call(CallState::Queued),
            v1::Call { advance: Some(waits), ..call(CallState::Dispatched) },
            v1::Call { advance: Some(copied), ..call(CallState::Running) },
            call(CallState::Succeeded),
            v1::Call { tool: "read_file".to_owned(), ..call(CallState::Succeeded) },
            call(CallState::Unknown),
            call(CallState::TimedOut),
        ];
        let said = said.map(|call| became("0199b2c4", call, true).join("\n"));
        let said = anstream::adapter::strip_str(&said.join("\n")).to_string();
        insta::assert_snapshot!(said, @"
        the call has not ended (awaiting approval); `orion calls watch 0199b2c4` follows it
        the call has not ended (queued); `orion calls watch 0199b2c4` follows it
        the call has not ended (dispatched: waits for the person at the device, until 12:00:00 UTC); `orion calls watch 0199b2c4` follows it
        the call has not ended (running: 4096 of 8192 bytes copied); `orion calls watch 0199b2c4` follows it
        the call has succeeded; `orion calls show 0199b2c4` shows its result, `orion undo 0199b2c4` takes it back
        the call has succeeded; `orion calls show 0199b2c4` shows its result
        it is not known how the call ended; `orion calls show 0199b2c4` says more
        ✗ The call took too long. (TIMEOUT)
        the approved call did not succeed; `orion calls show 0199b2c4` says more
        ");
    }
}
