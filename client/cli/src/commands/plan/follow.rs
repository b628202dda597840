//! Follows a plan to its end: one line for each step, and the exit code of the whole.

use std::collections::BTreeSet;
use std::time::Duration;

use orion_domain::{ErrorCode, Hint};
use orion_wire::v1;
use tokio::time::Instant;

use crate::app::App;
use crate::client::{Client, within};
use crate::failure::{Failure, exit_code_of};
use crate::output::{BAD, DIM, GOOD};
use crate::show::{PlanView, StepView};
use crate::terminal::Spinner;
use crate::text;

/// The timeout of the previews of all steps.
pub(super) const PREVIEW_TIMEOUT: Duration = Duration::from_secs(700);
/// The wait of one request for the next change.
const POLL: Duration = Duration::from_secs(30);
/// How much longer the answer may take.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(15);

/// Shows each step as it ends, and returns the exit code of the plan.
///
/// # Errors
/// The backend fails, or the time is up.
pub(super) async fn follow(
    app: &App<'_>,
    client: &Client,
    mut plan: PlanView,
) -> Result<u8, Failure> {
    let deadline = app.timeout.map(|limit| Instant::now() + limit);
    let mut shown = BTreeSet::new();
    loop {
        for step in &plan.steps {
            let is_over = !matches!(step.state, "waiting" | "running");
            if is_over && shown.insert(step.number) && app.out.is_for_people() {
                app.out.line(&line(step))?;
            }
        }
        if plan.ended_at != 0 {
            break;
        }
        let left =
            deadline.map_or(POLL, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Err(Failure::TimedOut("the plan has not ended and continues".to_owned())
                .hint(Hint::run("see its state", format!("orion plan show {}", plan.plan_id))));
        }
        let asked_at = Instant::now();
        let _waiting = Spinner::on(app.out, "waiting for the plan to end");
        let request = v1::GetPlanRequest {
            plan_id: plan.plan_id.clone(),
            wait_ms: u64::try_from(left.min(POLL).as_millis()).unwrap_or(0),
            known_revision: plan.revision,
        };
        let answer = within(POLL + TRANSFER_TIMEOUT, client.plans().get_plan(request)).await?;
        let before = plan.revision;
        plan = PlanView::from(answer.plan.unwrap_or_default());
        // A backend that answers early is not polled again at once.
        if plan.revision == before && asked_at.elapsed() < Duration::from_millis(100) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    if app.out.is_for_people() {
        app.out.note(&sums(&plan));
    } else {
        app.out.show(&plan, String::new)?;
    }
    Ok(exit_code(&plan))
}

/// Waits until the plan is decided by somebody else, or elsewhere by this person.
pub(super) async fn decided_elsewhere(client: &Client, plan: &PlanView) -> PlanView {
    let mut known_revision = plan.revision;
    loop {
        let request = v1::GetPlanRequest {
            plan_id: plan.plan_id.clone(),
            wait_ms: u64::try_from(POLL.as_millis()).unwrap_or(0),
            known_revision,
        };
        // The person is asked all the same while the backend does not answer.
        let answer = within(POLL + TRANSFER_TIMEOUT, client.plans().get_plan(request)).await;
        if let Some(now) = answer.ok().and_then(|answer| answer.plan).map(PlanView::from) {
            if now.state != "open" {
                return now;
            }
            known_revision = now.revision;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Formats a step that has ended.
fn line(step: &StepView) -> String {
    let (what, message) = (step.what(), text::one_line(&step.message, 400));
    match step.state {
        "succeeded" => format!("{GOOD}✓{GOOD:#} {} {what}: {message}", step.number),
        "skipped" => format!("{DIM}- {} {what}: skipped{DIM:#}", step.number),
        state => {
            format!("{BAD}✗{BAD:#} {} {what}: {state}: {message} ({})", step.number, step.code)
        }
    }
}

fn sums(plan: &PlanView) -> String {
    let count = |state: &str| plan.steps.iter().filter(|step| step.state == state).count();
    let states = ["succeeded", "failed", "drifted", "skipped"];
    let sums = states.map(|state| (count(state), state));
    let sums: Vec<_> =
        sums.iter().filter(|it| it.0 > 0).map(|(n, state)| format!("{n} {state}")).collect();
    let why = match plan.state {
        "denied" => format!(" by {}: {}", plan.decided_by, plan.reason),
        "cancelled" => format!(" by {}", plan.stopped_by),
        _ => String::new(),
    };
    let why = text::one_line(why.trim_end_matches([':', ' ']), 400);
    format!("plan {}{why}: {}", plan.state, sums.join(", "))
}

/// Returns the exit code of a plan that has ended.
fn exit_code(plan: &PlanView) -> u8 {
    let of_step = plan.steps.iter().find(|step| !step.code.is_empty());
    match plan.state {
        "succeeded" => 0,
        "failed" => of_step.map_or(1, |step| exit_code_of(&step.code)),
        "denied" => ErrorCode::ApprovalRejected.exit_code(),
        "expired" => ErrorCode::ApprovalExpired.exit_code(),
        "cancelled" => ErrorCode::Cancelled.exit_code(),
        "interrupted" => ErrorCode::OutcomeUnknown.exit_code(),
        _ => 1,
    }
}
