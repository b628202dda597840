//! What an approval led to: the call's end, or the rule that it made.

use orion_domain::CallState;
use orion_wire::v1;

use crate::app::App;
use crate::approval::waiting;
use crate::call_result::CallResult;
use crate::client::Client;
use crate::failure::Failure;
use crate::show::{CallView, StandingRuleView, rule_line};
use crate::text;

/// How long an approval waits for the end of its call, to say how it ended. In milliseconds.
const SOON_MS: u64 = 1_000;

/// Refuses to wait for a call that this person does not see: that of another, where they are no admin.
pub(super) async fn refuse_blind_wait(client: &Client, approval_id: &str) -> Result<(), Failure> {
    let requester = waiting(client, approval_id).await?.0.requester;
    let me = client.ask(client.auth().who_am_i(v1::WhoAmIRequest {})).await?;
    if me.role == "admin" || me.user == requester {
        return Ok(());
    }
    let requester = text::one_line(&requester, 64);
    let message =
        format!("only {requester} and admins see how this call ends; nothing was approved");
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

/// Says what became of an approved call, or how to see it, and how to take it back: whoever may read a call may undo it.
/// The approval counts whether the call can be read or not. `requester` is who else made the call.
pub(super) async fn next_commands(
    app: &App<'_>,
    client: &Client,
    (call_id, requester): (&str, Option<&str>),
    can_undo: bool,
) {
    let id = text::one_line(text::short_id(call_id), 40);
    // Most calls have ended by then, and not all of them as they were approved.
    let request = v1::GetCallRequest { call_id: call_id.to_owned(), wait_ms: SOON_MS };
    let call = client.ask(client.tools().get_call(request)).await.ok().and_then(|it| it.call);
    if let (Some(requester), None) = (requester, &call) {
        let requester = text::one_line(requester, 64);
        app.out.note(&format!("{requester} and admins see how the call ends"));
        return;
    }
    let Some(call) = call else {
        app.out.next(&format!("`orion calls show {id}` shows how the call ended"));
        return;
    };
    let state = orion_wire::call_state_from(call.state).unwrap_or(CallState::Unknown);
    match state {
        CallState::Succeeded if can_undo => app.out.next(&format!(
            "the call has succeeded; `orion calls show {id}` shows its result, `orion undo {id}` takes it back"
        )),
        CallState::Succeeded => {
            app.out.next(&format!("the call has succeeded; `orion calls show {id}` shows its result"));
        }
        state if state.is_closed() => {
            if let Ok(failed) = CallResult::of(call) {
                app.out.note(&failed.in_short());
            }
            app.out.next(&format!(
                "the approved call did not succeed; `orion calls show {id}` says more"
            ));
        }
        // It still runs or waits, such as for the person at the device.
        _ => {
            let advance = CallView::from(call).advance();
            let how = if advance.is_empty() { "has not ended yet".to_owned() } else { advance };
            app.out.next(&format!("the call {how}; `orion calls watch {id}` follows it"));
        }
    }
}
