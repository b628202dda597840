//! The question of an approval: asks the person at the terminal, unless the command line or somebody else
//! decides.

use orion_domain::{ErrorCode, Hint, ToolError};
use orion_wire::v1;
use orion_wire::v1::decide_approval_request::More;

use super::reply::{PROMPT, Reply, reply};
use super::{Consent, Session};
use crate::failure::Failure;
use crate::output::DIM;
use crate::show::card::card;
use crate::show::{ApprovalView, short_card};
use crate::terminal::Question;
use crate::text;

/// Says what can be typed.
const HELP: &str =
    "y approves, n denies, n because … says why, c approves for this chat, d shows everything";

impl Session<'_> {
    /// Approves or denies a request, or leaves it to others. Ends when somebody else decides first.
    ///
    /// # Errors
    /// The request is left to others, the backend fails, or the person stops it.
    pub(super) async fn decide(&self, approval: v1::Approval) -> Result<(), Failure> {
        let id = approval.approval_id.clone();
        match self.consent {
            Consent::Leave => {
                let message = format!("{} waits for approval.", approval.tool);
                let reason = if approval.reason_required { " --reason \"…\"" } else { "" };
                let id_shown = text::one_line(&id, 80);
                let approve = format!("orion approvals approve {id_shown}{reason}");
                let error = ToolError::new(ErrorCode::ApprovalRequired, message)
                    .hint(Hint::run("approve it", approve));
                Err(error.with("approval_id", id).into())
            }
            Consent::Yes => {
                let view = ApprovalView::from(approval);
                self.out.note(&text::marked(&short_card(self.out, &view)));
                self.out.note("approved by --yes");
                let yes = Reply::Approve { for_chat: false, reason: String::new() };
                self.send(&id, yes, false).await
            }
            Consent::Ask => {
                let view = ApprovalView::from(approval);
                self.out.error_line(&text::marked(&short_card(self.out, &view)));
                let elsewhere = self.decided_elsewhere(&id);
                tokio::select! {
                    biased;
                    answered = self.ask(&view) => match answered? {
                        Some((answer, details_shown)) => {
                            self.send(&id, answer, details_shown).await
                        }
                        None => Ok(()),
                    },
                    line = elsewhere => {
                        self.out.error_line(&line);
                        Ok(())
                    }
                }
            }
        }
    }

    /// Asks until there is an answer, and returns whether everything was shown before. None where this person is not
    /// among those who may approve.
    async fn ask(&self, view: &ApprovalView) -> Result<Option<(Reply, bool)>, Failure> {
        let mut details_shown = false;
        loop {
            let mut question = Question::new(PROMPT);
            match reply(&question.answer().await?) {
                Some(Reply::Details) => {
                    self.out.error_line(&text::marked(&card(self.out, view)));
                    details_shown = true;
                }
                Some(Reply::Approve { .. }) if view.passkey_required => {
                    self.out.error_line(&self.passkey_needed(&view.approval_id).await);
                }
                Some(Reply::Approve { for_chat: true, .. }) if !view.may_stand => self
                    .out
                    .error_line("This call can be approved only by itself: y approves it once."),
                Some(Reply::Approve { reason, .. })
                    if view.reason_required && reason.is_empty() =>
                {
                    self.out.error_line("This approval needs a reason: y because …");
                }
                Some(answer) => return Ok(Some((answer, details_shown))),
                None => self.out.error_line(HELP),
            }
        }
    }

    /// Says where a person approves who must sign with a passkey.
    async fn passkey_needed(&self, id: &str) -> String {
        let request = v1::ListPasskeysRequest::default();
        let page = match self.client.ask(self.client.passkeys().list_passkeys(request)).await {
            Ok(v1::ListPasskeysResponse { origin, .. }) if !origin.is_empty() => {
                format!("{}/approvals/{id}", text::one_line(&origin, 200))
            }
            Ok(_) | Err(_) => "`orion page` prints its link".to_owned(),
        };
        format!("This call needs your passkey. Approve it on the page ({page}); n denies it here.")
    }

    async fn send(&self, id: &str, answer: Reply, details_shown: bool) -> Result<(), Failure> {
        let (approve, for_chat, reason) = match answer {
            Reply::Approve { for_chat, reason } => (true, for_chat, reason),
            Reply::Deny { reason } if reason.is_empty() => {
                (false, false, "Denied at the terminal.".to_owned())
            }
            Reply::Deny { reason } => (false, false, reason),
            Reply::Details => return Ok(()),
        };
        let more = for_chat.then_some(More::ForThisChat(v1::ForThisChat {}));
        let request = v1::DecideApprovalRequest {
            approval_id: id.to_owned(),
            approve,
            reason,
            more,
            details_shown: Some(details_shown),
            passkey: None,
        };
        match self.client.ask(self.client.approvals().decide_approval(request)).await {
            Ok(answer) => {
                let open = i32::from(v1::ApprovalState::Open);
                if answer.approval.is_some_and(|it| it.state == open) {
                    self.out.note("more people must approve the call; it waits for them");
                }
                Ok(())
            }
            // Another person decided first, or the request expired: the stream reports what follows.
            // Where another person must approve, this command waits.
            Err(failure)
                if matches!(failure.exit_code(), 6 | 9)
                    || (failure.exit_code() == 5 && self.consent == Consent::Ask) =>
            {
                self.out.note(&text::plain(&failure.to_string()));
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }

    /// Waits until the request is no longer open, and returns the line that says who decided.
    async fn decided_elsewhere(&self, id: &str) -> String {
        let request = v1::WatchApprovalsRequest {};
        // Without the stream the person is asked all the same, and their answer says what has become of it.
        let Ok(mut changes) =
            self.client.ask(self.client.approvals().watch_approvals(request)).await
        else {
            return std::future::pending().await;
        };
        // It may have been decided before the stream began.
        let request = v1::GetApprovalRequest { approval_id: id.to_owned() };
        let mut now = match self.client.ask(self.client.approvals().get_approval(request)).await {
            Ok(answer) => answer.approval,
            Err(_) => None,
        };
        loop {
            let view = now.filter(|it| it.approval_id == id).map(ApprovalView::from);
            if let Some(line) = view.and_then(|view| decided(&view)) {
                return line;
            }
            now = match changes.message().await {
                Ok(Some(change)) => change.approval,
                Ok(None) | Err(_) => return std::future::pending().await,
            };
        }
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
        "withdrawn" => "the call was cancelled, and with it the question".to_owned(),
        _ => return None,
    };
    Some(format!("{DIM}the question is answered:{DIM:#} {line}"))
}
