//! An approval request that waits at the terminal: whether this person may approve it, and who decides meanwhile.

mod reply;

use orion_wire::v1;

use crate::app::App;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{DIM, Output};
use crate::show::ApprovalView;
use crate::show::card::card;
use crate::terminal::{self, Question};
use crate::text;

pub(crate) use reply::{PROMPT, PROMPT_FOR_REASON, PROMPT_TO_DENY, Reply, reply};

/// The reason of a denial that was typed without one.
pub(crate) const DENIED: &str = "Denied at the terminal.";

/// What becomes of a call that waits for somebody else when the person stops the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenStopped {
    /// It goes on waiting.
    Waits,
    /// It is cancelled, because only this program moves its content.
    Cancelled,
}

/// Decides the approval request as the command line says, and returns whether to wait for the call's
/// end.
///
/// # Errors
/// The backend fails, or the person stops the program.
pub(crate) async fn decide(
    app: &App<'_>,
    client: &Client,
    approval_id: &str,
    wait: bool,
    when_stopped: WhenStopped,
) -> Result<bool, Failure> {
    let approval_id = approval_id.to_owned();
    let (approve, reason) = if app.yes {
        (true, String::new())
    } else if wait {
        app.out.error_line(&how_to_approve(app.out, client, &approval_id).await);
        return Ok(true);
    } else if terminal::is_interactive() {
        match ask(app, client, &approval_id, when_stopped).await? {
            Some(answer) => answer,
            None => return Ok(true),
        }
    } else {
        return Ok(false);
    };
    // At a terminal the whole card was shown; `--yes` shows nothing.
    let details_shown = Some(!app.yes);
    let request = v1::DecideApprovalRequest {
        approval_id,
        approve,
        reason,
        more: None,
        details_shown,
        passkey: None,
    };
    match client.ask(client.approvals().decide_approval(request)).await {
        // Another person has to approve it, or decided first: the call goes on, or ends.
        Err(failure) if !app.yes && matches!(failure.exit_code(), 5 | 6 | 9) => {
            app.out.failure(&failure);
        }
        answered => drop(answered?),
    }
    Ok(true)
}

/// Asks the person at the terminal whether the call may run, and why where the policy wants to know. None where others
/// decide: this person may not approve it, or somebody else was first.
async fn ask(
    app: &App<'_>,
    client: &Client,
    approval_id: &str,
    when_stopped: WhenStopped,
) -> Result<Option<(bool, String)>, Failure> {
    let (approval, refused) = waiting(client, approval_id).await?;
    app.out.error_line(&card(app.out, &approval));
    if !refused.is_empty() {
        let why = text::one_line(&refused, 400);
        app.out.error_line(&match when_stopped {
            WhenStopped::Waits => format!("{why}. The call waits for that, also after Ctrl-C."),
            WhenStopped::Cancelled => format!("{why}. The copy waits for that; Ctrl-C cancels it."),
        });
        return Ok(None);
    }
    if approval.passkey_required {
        let page = page(client, "approvals", approval_id).await;
        app.out.error_line(&passkey_needed("call", &page));
    }
    tokio::select! {
        biased;
        answer = typed_answer("Approve?", approval.reason_required) => answer.map(Some),
        line = decided_elsewhere(client, approval_id) => {
            app.out.error_line(&line);
            Ok(None)
        }
    }
}

/// Asks for a yes or a no, with a reason behind it as in a chat, and returns them.
///
/// # Errors
/// The person stops the program, or the terminal fails.
pub(crate) async fn typed_answer(
    question: &str,
    reason_required: bool,
) -> Result<(bool, String), Failure> {
    let mut prompt = format!("{question} (y/N)");
    loop {
        let typed = Question::new(&prompt).answer().await?;
        match reply(&typed) {
            Some(Reply::Deny { reason }) if !reason.is_empty() => return Ok((false, reason)),
            Some(Reply::Approve { for_chat: false, reason })
                if reason.is_empty() && reason_required =>
            {
                return Ok((true, Question::new("Why?").answer().await?.trim().to_owned()));
            }
            Some(Reply::Approve { for_chat: false, reason }) => return Ok((true, reason)),
            Some(Reply::Deny { .. }) => return Ok((false, DENIED.to_owned())),
            None if typed.trim().is_empty() => return Ok((false, DENIED.to_owned())),
            // What is neither must not decide anything.
            Some(Reply::Approve { .. } | Reply::Details) | None => {
                prompt = format!("{question} (y, y because …, n or n because …)");
            }
        }
    }
}

/// Returns a request, and why this person's approval would not count; empty if it would.
///
/// # Errors
/// There is no such request, or the backend fails.
pub(crate) async fn waiting(client: &Client, id: &str) -> Result<(ApprovalView, String), Failure> {
    let request = v1::GetApprovalRequest { approval_id: id.to_owned(), ..Default::default() };
    let answer = client.ask(client.approvals().get_approval(request)).await?;
    let v1::GetApprovalResponse { approval, refused, rule: _, folder_rule: _ } = answer;
    Ok((ApprovalView::from(approval.unwrap_or_default()), refused))
}

/// Says how to approve a request elsewhere: the command for another terminal or, where a passkey has to sign, the
/// page.
pub(crate) async fn how_to_approve(out: &Output, client: &Client, approval_id: &str) -> String {
    let id = text::one_line(approval_id, 80);
    match waiting(client, approval_id).await {
        Ok((approval, _)) if approval.passkey_required => {
            with_passkey(&page(client, "approvals", &id).await)
        }
        Ok((approval, _)) => {
            let reason = if approval.reason_required { " --reason \"…\"" } else { "" };
            let approve = format!("orion approvals approve {id}{reason}");
            approve_with(out, &approve)
        }
        // That it cannot be looked up says nothing of who may approve it.
        Err(_) => approve_with(out, &format!("orion approvals approve {id}")),
    }
}

/// Says which command approves it.
pub(crate) fn approve_with(out: &Output, command: &str) -> String {
    format!("{DIM}approve it with:{DIM:#} {}", out.options.add_to(command))
}

/// Says that a passkey approves it on the page: no command signs.
pub(crate) fn with_passkey(page: &str) -> String {
    format!("{DIM}approve it with a passkey on the page:{DIM:#} {page}")
}

/// Returns the address of a request or a plan on the page, or how to find it.
pub(crate) async fn page(client: &Client, of: &str, id: &str) -> String {
    let request = v1::ListPasskeysRequest::default();
    match client.ask(client.passkeys().list_passkeys(request)).await {
        Ok(v1::ListPasskeysResponse { origin, .. }) if !origin.is_empty() => {
            format!("{}/{of}/{id}", text::one_line(&origin, 200))
        }
        Ok(_) | Err(_) => "`orion page` prints its link".to_owned(),
    }
}

/// Says to a person who is asked that only the page can approve it.
pub(crate) fn passkey_needed(what: &str, page: &str) -> String {
    format!("This {what} needs your passkey. Approve it on the page ({page}); n denies it here.")
}

/// Waits until the request is no longer open, and returns the line that says who decided.
pub(crate) async fn decided_elsewhere(client: &Client, id: &str) -> String {
    let request = v1::WatchApprovalsRequest {};
    // Without the stream the person is asked all the same, and their answer says what has become of it.
    let Ok(mut changes) = client.ask(client.approvals().watch_approvals(request)).await else {
        return std::future::pending().await;
    };
    // It may have been decided before the stream began.
    let mut now = waiting(client, id).await.ok().map(|(approval, _)| approval);
    loop {
        let line = now.filter(|it| it.approval_id == id).and_then(|it| decided(&it));
        if let Some(line) = line {
            return line;
        }
        now = match changes.message().await {
            Ok(Some(change)) => change.approval.map(ApprovalView::from),
            Ok(None) | Err(_) => return std::future::pending().await,
        };
    }
}

/// Returns the line that says who decided; None while the request is open.
fn decided(approval: &ApprovalView) -> Option<String> {
    let by = text::one_line(&approval.decided_by, 64);
    let reason = text::one_line(approval.reason.trim(), 400);
    let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
    let line = match approval.state {
        "approved" => format!("approved by {by}{reason}"),
        "denied" => format!("denied by {by}{reason}"),
        "expired" => "nobody answered in time; the request has expired".to_owned(),
        "withdrawn" => "the call has ended, and with it the question".to_owned(),
        _ => return None,
    };
    Some(format!("{DIM}the question is answered:{DIM:#} {line}"))
}
