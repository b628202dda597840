//! `orion approvals`: lists and decides approval requests.

mod outcome;

use std::time::Duration;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use orion_domain::Hint;
use orion_wire::v1;
use orion_wire::v1::decide_approval_request::More;
use serde_json::Value;

use self::outcome::{next_commands, refuse_blind_wait, say_which_rule};
use super::call::schema;
use crate::app::App;
use crate::approval::{how_to_approve, waiting};
use crate::arguments;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::follow::wait_for_end;
use crate::global::long_duration;
use crate::output::GOOD;
use crate::show::card::card;
use crate::show::{
    ApprovalStatsView, ApprovalView, StandingRuleView, approval_stats, approvals_table, rules_table,
};
use crate::text;

/// What waits for approval.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion approvals list
  orion approvals show 0199b2c4-7f3e-7c11
  orion approvals approve 0199b2c4-7f3e-7c11 --wait
  orion approvals approve 0199b2c4-7f3e-7c11 --for-chat
  orion approvals deny 0199b2c4-7f3e-7c11 --reason \"Not on a Friday\"")]
pub(crate) struct Approvals {
    #[command(subcommand)]
    what: ApprovalsCommand,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    /// List open requests
    #[command(after_help = "Example:\n  orion approvals list --all -o wide")]
    List {
        /// Also what was decided
        #[arg(long)]
        all: bool,
    },
    /// Show one card
    #[command(after_help = "Example:\n  orion approvals show 0199b2c4-7f3e-7c11")]
    Show {
        /// The approval's id; may be shortened
        #[arg(add = ArgValueCandidates::new(complete::approvals))]
        id: String,
    },
    /// Approve exactly this call, or as far as an option says
    #[command(after_help = "\
Examples:
  orion approvals approve 0199b2c4-7f3e-7c11 --wait
  orion approvals approve 0199b2c4-7f3e-7c11 --reason \"Agreed in the stand-up\"
  orion approvals approve 0199b2c4-7f3e-7c11 --for-chat
  orion approvals approve 0199b2c4-7f3e-7c11 --as-rule 30d --folder
  orion approvals approve 0199b2c4-7f3e-7c11 --change path=old-backup

It ends with 0 once your answer counts, however the call ends; with --wait, with the code of the call.")]
    Approve(ApproveArguments),
    /// Deny a request
    #[command(
        after_help = "Example:\n  orion approvals deny 0199b2c4-7f3e-7c11 --reason \"Wrong folder\""
    )]
    Deny {
        /// The approval's id; may be shortened
        #[arg(add = ArgValueCandidates::new(complete::approvals))]
        id: String,
        /// Why; the model is told
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Rules created from approvals
    #[command(after_help = "Example:\n  orion approvals rules list")]
    Rules {
        #[command(subcommand)]
        what: Rules,
    },
    /// How often, how fast and how attentively people approve; for admins
    #[command(after_help = "Example:\n  orion approvals stats --since 7d")]
    Stats {
        /// How far back: 12h, 7d; 30 days if not given
        #[arg(long, value_name = "TIME", value_parser = long_duration)]
        since: Option<Duration>,
    },
    /// Follow approval requests
    #[command(after_help = "\
Examples:
  orion approvals watch -o json
  orion approvals watch --timeout 10m                   ends with 8 when the time is up")]
    Watch,
}

/// A yes, and how far it reaches.
#[derive(Debug, Args)]
struct ApproveArguments {
    /// The approval's id; may be shortened
    #[arg(add = ArgValueCandidates::new(complete::approvals))]
    id: String,
    /// Wait for the call's end, print its result and take over its exit code
    #[arg(long)]
    wait: bool,
    /// Why; some approvals need it
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// The same person's calls of this tool on this device from this chat as well, for eight hours
    #[arg(long, conflicts_with_all = ["as_rule", "change"])]
    for_chat: bool,
    /// Make a rule for the same person, tool and paths that holds this long: 12h, 30d; at most 90d
    #[arg(long, value_name = "TIME", value_parser = long_duration, conflicts_with = "change")]
    as_rule: Option<Duration>,
    /// With --as-rule: for the folders that hold the paths
    #[arg(long, requires = "as_rule")]
    folder: bool,
    /// Another call instead, with this argument changed; may be given again
    #[arg(long, value_name = "NAME=VALUE")]
    change: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum Rules {
    /// List the active rules
    #[command(after_help = "Example:\n  orion approvals rules list -o json")]
    List,
    /// End one
    #[command(after_help = "Example:\n  orion approvals rules revoke 0199b2c4-7f3e-7c11")]
    Revoke {
        /// The approval that it was made of; may be shortened
        id: String,
    },
}

impl Approvals {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such request, it was decided before, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        match self.what {
            ApprovalsCommand::List { all } => {
                let request = v1::ListApprovalsRequest { all };
                let list = client.ask(client.approvals().list_approvals(request)).await?;
                let approvals: Vec<_> =
                    list.approvals.into_iter().map(ApprovalView::from).collect();
                if approvals.is_empty() {
                    app.out.note("nothing waits for approval");
                }
                app.out.show(&approvals, || approvals_table(app.out, &approvals))?;
                Ok(0)
            }
            ApprovalsCommand::Show { id } => {
                let request = v1::GetApprovalRequest { approval_id: id, ..Default::default() };
                let answer = client.ask(client.approvals().get_approval(request)).await?;
                let approval = ApprovalView::from(answer.approval.unwrap_or_default());
                app.out.show(&approval, || card(app.out, &approval))?;
                if matches!(approval.state, "withdrawn" | "expired") {
                    let call = text::one_line(text::short_id(&approval.call_id), 40);
                    app.out.next(&format!("`orion calls show {call}` says why it ended"));
                }
                Ok(0)
            }
            ApprovalsCommand::Approve(arguments) => approve(app, client, arguments).await,
            ApprovalsCommand::Deny { id: approval_id, reason } => {
                let request =
                    v1::DecideApprovalRequest { approval_id, reason, ..Default::default() };
                let (approval, _) = decide(app, client, request).await?;
                app.out.show(&approval, String::new)?;
                Ok(0)
            }
            ApprovalsCommand::Rules { what } => rules(app, client, what).await,
            ApprovalsCommand::Stats { since } => stats(app, client, since).await,
            ApprovalsCommand::Watch => match app.timeout {
                None => watch(app, client).await,
                Some(limit) => tokio::time::timeout(limit, watch(app, client))
                    .await
                    .unwrap_or_else(|_| Err(watched(limit))),
            },
        }
    }
}

async fn approve(
    app: &App<'_>,
    client: &Client,
    arguments: ApproveArguments,
) -> Result<u8, Failure> {
    let ApproveArguments { id: approval_id, wait, reason, for_chat, as_rule, folder, change } =
        arguments;
    let more = if for_chat {
        Some(More::ForThisChat(v1::ForThisChat {}))
    } else if let Some(time) = as_rule {
        let time = i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2);
        let expires_at = jiff::Timestamp::now().as_millisecond() + time;
        Some(More::NarrowRule(v1::NarrowRule { expires_at, folder, ..Default::default() }))
    } else if change.is_empty() {
        None
    } else {
        Some(More::ChangedArguments(changed(client, &approval_id, &change).await?))
    };
    // To change an argument, a person has to see them; this command alone shows nothing.
    let details_shown = Some(matches!(more, Some(More::ChangedArguments(_))));
    let request = v1::DecideApprovalRequest {
        approval_id,
        approve: true,
        reason,
        more,
        details_shown,
        passkey: None,
    };
    if wait {
        refuse_blind_wait(client, &request.approval_id).await?;
    }
    let is_rule = matches!(request.more, Some(More::NarrowRule(_)));
    let (approval, changed) = decide(app, client, request).await?;
    if is_rule && approval.state == "approved" {
        say_which_rule(app, client, &approval.approval_id).await;
    }
    let mut can_undo = approval.can_undo;
    let call_id = changed.as_ref().map_or(&approval.call_id, |call| &call.call_id);
    if let Some(call) = &changed {
        app.out.note(&format!("another call was made instead: {call_id}"));
        // A yes to other arguments approves the call with them as well, where one person is enough.
        let request = match call.approval_id.is_empty() {
            true => None,
            false => Some(waiting(client, &call.approval_id).await?),
        };
        can_undo = request.as_ref().is_none_or(|(it, _)| it.can_undo);
        if let Some((_, refused)) = request.filter(|(it, _)| it.state == "open") {
            let id = text::one_line(&call.approval_id, 80);
            app.out.note(&match refused.is_empty() {
                true => how_to_approve(app.out, client, &call.approval_id).await,
                false => format!("{}; its request: {id}", text::one_line(&refused, 400)),
            });
        }
    } else if approval.state == "open" {
        let id = text::one_line(text::short_id(&approval.approval_id), 40);
        app.out.next(&format!("more people must approve it; `orion approvals show {id}` says who"));
    }
    if !wait {
        let is_own = app.context.file.user.as_ref() == Some(&approval.requester);
        if approval.state == "approved" || changed.is_some() {
            let requester = if is_own { None } else { Some(&*approval.requester) };
            next_commands(app, client, (&approval.approval_id, call_id, requester), can_undo).await;
        }
        app.out.show(&approval, String::new)?;
        return Ok(0);
    }
    let deadline = app.timeout.map(|limit| tokio::time::Instant::now() + limit);
    let result = wait_for_end(app, client, call_id, deadline, true).await?;
    result.print(app.out)?;
    Ok(result.exit_code())
}

/// Returns the arguments of a call with some of them changed.
async fn changed(
    client: &Client,
    approval_id: &str,
    change: &[String],
) -> Result<v1::ChangedArguments, Failure> {
    let request =
        v1::GetApprovalRequest { approval_id: approval_id.to_owned(), ..Default::default() };
    let answer = client.ask(client.approvals().get_approval(request)).await?;
    let approval = answer.approval.unwrap_or_default();
    let base = serde_json::from_slice(&approval.arguments).unwrap_or_default();
    let schema = schema(client, &approval.tool, &approval.device).await?;
    let arguments = arguments::arguments(change, base, schema.as_ref())?;
    Ok(v1::ChangedArguments { arguments: Value::Object(arguments).to_string().into_bytes().into() })
}

async fn decide(
    app: &App<'_>,
    client: &Client,
    request: v1::DecideApprovalRequest,
) -> Result<(ApprovalView, Option<v1::Call>), Failure> {
    let answer = client.ask(client.approvals().decide_approval(request)).await?;
    let v1::DecideApprovalResponse { approval, changed } = answer;
    let approval = ApprovalView::from(approval.unwrap_or_default());
    app.out.note(&format!(
        "{GOOD}✓{GOOD:#} {}: {} on {}",
        if changed.is_some() { "changed" } else { approval.state },
        text::one_line(&approval.tool, 80),
        text::one_line(&approval.device, 80)
    ));
    Ok((approval, changed))
}

async fn stats(app: &App<'_>, client: &Client, since: Option<Duration>) -> Result<u8, Failure> {
    let ago = since.map(|ago| i64::try_from(ago.as_millis()).unwrap_or(i64::MAX));
    let now = jiff::Timestamp::now().as_millisecond();
    let since = ago.map_or(0, |ago| now.saturating_sub(ago).max(1));
    let request = v1::GetApprovalStatsRequest { since };
    let answer = client.ask(client.approvals().get_approval_stats(request)).await?;
    let stats = ApprovalStatsView::from(answer);
    if stats.approvers.is_empty() {
        app.out.note("nobody has answered an approval request since then");
    }
    app.out.show(&stats, || approval_stats(&stats))?;
    Ok(0)
}

async fn rules(app: &App<'_>, client: &Client, what: Rules) -> Result<u8, Failure> {
    let views = |rules: Vec<v1::StandingRule>| -> Vec<_> {
        rules.into_iter().map(StandingRuleView::from).collect()
    };
    match what {
        Rules::List => {
            let request = v1::ListStandingRulesRequest {};
            let rules =
                views(client.ask(client.approvals().list_standing_rules(request)).await?.rules);
            if rules.is_empty() {
                app.out.note("no rule was made of an answer");
            }
            app.out.show(&rules, || rules_table(app.out, &rules))?;
        }
        Rules::Revoke { id: approval_id } => {
            let request = v1::RevokeStandingRuleRequest { approval_id };
            let answer = client.ask(client.approvals().revoke_standing_rule(request)).await?;
            app.out.note("this rule holds no more");
            app.out.show(&views(answer.rule.into_iter().collect()), String::new)?;
        }
    }
    Ok(0)
}

fn watched(limit: Duration) -> Failure {
    let seconds = limit.as_secs_f32();
    Failure::TimedOut(format!("watched for {seconds} s, as --timeout says"))
        .hint(Hint::run("watch until Ctrl-C", "orion approvals watch"))
}

async fn watch(app: &App<'_>, client: &Client) -> Result<u8, Failure> {
    let mut changes =
        client.ask(client.approvals().watch_approvals(v1::WatchApprovalsRequest {})).await?;
    app.out.note(
        "watching; answer in another terminal, by `orion approvals approve ID` or `deny ID`; Ctrl-C ends it",
    );
    while let Some(v1::WatchApprovalsResponse { approval }) = changes.message().await? {
        let Some(approval) = approval.map(ApprovalView::from) else { continue };
        app.out.show_one_of_many(&approval, || {
            if approval.state == "open" {
                card(app.out, &approval)
            } else {
                let id = text::short_id(&approval.approval_id);
                let by = text::one_line(&approval.decided_by, 80);
                format!("{id} {} {by}", approval.state).trim_end().to_owned()
            }
        })?;
    }
    Err(Failure::Failed("the backend ended the stream".to_owned()).hint("run the command again"))
}
