//! The question of an approval: asks the person at the terminal, unless the command line or somebody else
//! decides.

use orion_domain::{ErrorCode, Hint, ToolError};
use orion_wire::v1;
use orion_wire::v1::decide_approval_request::More;

use super::{Consent, Session};
use crate::approval::{
    DENIED, PROMPT, PROMPT_FOR_REASON, PROMPT_TO_DENY, Reply, decided_elsewhere, page,
    passkey_needed, reply, waiting,
};
use crate::failure::Failure;
use crate::show::card::card;
use crate::show::{ApprovalView, short_card};
use crate::terminal::Question;
use crate::text;

/// Says what can be typed.
const fn help(view: &ApprovalView, may_approve: bool) -> &'static str {
    match (may_approve, view.reason_required, view.may_stand) {
        (false, _, _) => "n denies, n because … says why, d shows everything",
        (true, true, _) => {
            "y because … approves, n denies, n because … says why, d shows everything"
        }
        (true, false, true) => {
            "y approves, n denies, n because … says why, c approves for this chat, d shows everything"
        }
        (true, false, false) => "y approves, n denies, n because … says why, d shows everything",
    }
}

/// Returns the question with the answers that there are.
const fn prompt(view: &ApprovalView, may_approve: bool) -> &'static str {
    match (may_approve, view.reason_required) {
        (false, _) => PROMPT_TO_DENY,
        (true, true) => PROMPT_FOR_REASON,
        (true, false) => PROMPT,
    }
}

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
                let hint = match approval.passkey_required {
                    true => {
                        let page = page(self.client, "approvals", &id_shown).await;
                        Hint::new(format!("approve it with a passkey on the page: {page}"))
                    }
                    false => {
                        let approve = format!("orion approvals approve {id_shown}{reason}");
                        Hint::run("approve it", approve)
                    }
                };
                let error = ToolError::new(ErrorCode::ApprovalRequired, message).hint(hint);
                Err(error.with("approval_id", id).into())
            }
            Consent::Yes => {
                let view = ApprovalView::from(approval);
                self.out.note(&text::marked(&short_card(self.out, &view)));
                let yes = Reply::Approve { for_chat: false, reason: String::new() };
                let sent = self.send(&id, yes, false).await;
                let approve = format!("orion approvals approve {}", text::one_line(&id, 80));
                let hint = Hint::run("let another person approve it", approve);
                let hint = (!view.passkey_required).then_some(hint);
                let refused = |failure: Failure| match hint {
                    Some(hint) => failure.hint(hint),
                    // The refusal names the page, and no command signs.
                    None => failure,
                };
                if sent.map_err(refused)? {
                    self.out.note("approved by --yes");
                }
                Ok(())
            }
            Consent::Ask => {
                let view = ApprovalView::from(approval);
                self.out.error_line(&text::marked(&short_card(self.out, &view)));
                let refused = waiting(self.client, &id).await.map(|it| it.1).unwrap_or_default();
                let may_approve = refused.is_empty();
                if !may_approve {
                    let why = text::one_line(&refused, 400);
                    let line = format!("{why}. The request: {}", text::one_line(&id, 80));
                    self.out.error_line(&text::marked(&line));
                }
                let elsewhere = decided_elsewhere(self.client, &id);
                tokio::select! {
                    biased;
                    answered = self.ask(&view, may_approve) => {
                        let (answer, details_shown) = answered?;
                        self.send(&id, answer, details_shown).await.map(drop)
                    }
                    line = elsewhere => {
                        self.out.error_line(&line);
                        Ok(())
                    }
                }
            }
        }
    }

    /// Asks until there is an answer, and returns it with whether everything was shown before.
    async fn ask(&self, view: &ApprovalView, may_approve: bool) -> Result<(Reply, bool), Failure> {
        let mut details_shown = false;
        loop {
            let mut question = Question::new(prompt(view, may_approve));
            match reply(&question.answer().await?) {
                Some(Reply::Details) => {
                    self.out.error_line(&text::marked(&card(self.out, view)));
                    details_shown = true;
                }
                Some(Reply::Approve { .. }) if !may_approve => {
                    self.out.error_line("Another person has to approve it. n denies it.");
                }
                Some(Reply::Approve { .. }) if view.passkey_required => {
                    let page = page(self.client, "approvals", &view.approval_id).await;
                    self.out.error_line(&passkey_needed("call", &page));
                }
                Some(Reply::Approve { for_chat: true, .. })
                    if !view.may_stand && !view.reason_required =>
                {
                    let only = "This call can be approved only by itself: y approves it once.";
                    self.out.error_line(only);
                }
                Some(Reply::Approve { reason, .. })
                    if view.reason_required && reason.is_empty() =>
                {
                    self.out.error_line(
                        "This approval needs a reason, and is for this call alone: y because …",
                    );
                }
                Some(answer) => return Ok((answer, details_shown)),
                None => self.out.error_line(help(view, may_approve)),
            }
        }
    }

    /// Sends an answer, and returns whether it counts.
    async fn send(&self, id: &str, answer: Reply, details_shown: bool) -> Result<bool, Failure> {
        let (approve, for_chat, reason) = match answer {
            Reply::Approve { for_chat, reason } => (true, for_chat, reason),
            Reply::Deny { reason } if reason.is_empty() => (false, false, DENIED.to_owned()),
            Reply::Deny { reason } => (false, false, reason),
            Reply::Details => return Ok(false),
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
                Ok(true)
            }
            // Another person decided first, or the request expired: the stream reports what follows.
            // Where another person must approve, this command waits.
            Err(failure)
                if matches!(failure.exit_code(), 6 | 9)
                    || (failure.exit_code() == 5 && self.consent == Consent::Ask) =>
            {
                self.out.note(&text::plain(&failure.to_string()));
                Ok(false)
            }
            Err(failure) => Err(failure),
        }
    }
}
