//! Formats plans.

use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;

use super::card::{self, clipped, who};
use super::{ApprovalView, short_arguments};
use crate::output::{Output, facts, table};
use crate::text;

/// The maximum number of characters of arguments and previews in a row.
const MAX_SHOWN_CHARS: usize = 60;

/// A plan for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PlanView {
    pub(crate) plan_id: String,
    pub(crate) state: &'static str,
    pub(crate) hash: String,
    pub(crate) requester: String,
    pub(crate) keep_going: bool,
    pub(crate) created_at: i64,
    pub(crate) expires_at: i64,
    pub(crate) decided_by: String,
    pub(crate) decided_at: i64,
    pub(crate) reason: String,
    pub(crate) stopped_by: String,
    pub(crate) ended_at: i64,
    pub(crate) revision: u32,
    pub(crate) step_count: u32,
    pub(crate) steps: Vec<StepView>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct StepView {
    pub(crate) number: u32,
    pub(crate) device: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) risk: &'static str,
    pub(crate) touches: Vec<String>,
    /// The words that can be read as others.
    pub(crate) look_alikes: Vec<String>,
    pub(crate) decision: String,
    pub(crate) rule: String,
    pub(crate) preview: Value,
    pub(crate) after_step: u32,
    pub(crate) compared: u32,
    pub(crate) compared_before: u32,
    pub(crate) approval: Option<ApprovalView>,
    pub(crate) call_id: String,
    pub(crate) state: &'static str,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) began_at: i64,
    pub(crate) ended_at: i64,
}

impl PlanView {
    /// Returns whether the approval of a step asks for this.
    pub(crate) fn asks(&self, what: impl FnMut(&ApprovalView) -> bool) -> bool {
        self.steps.iter().filter_map(|step| step.approval.as_ref()).any(what)
    }
}

impl From<v1::Plan> for PlanView {
    fn from(plan: v1::Plan) -> Self {
        let v1::Plan {
            plan_id,
            state,
            hash,
            requester,
            keep_going,
            created_at,
            expires_at,
            decided_by,
            decided_at,
            reason,
            stopped_by,
            ended_at,
            revision,
            step_count,
            steps,
        } = plan;
        Self {
            plan_id,
            state: match v1::PlanState::try_from(state) {
                Ok(v1::PlanState::Open) => "open",
                Ok(v1::PlanState::Running) => "running",
                Ok(v1::PlanState::Succeeded) => "succeeded",
                Ok(v1::PlanState::Failed) => "failed",
                Ok(v1::PlanState::Denied) => "denied",
                Ok(v1::PlanState::Expired) => "expired",
                Ok(v1::PlanState::Cancelled) => "cancelled",
                Ok(v1::PlanState::Interrupted) => "interrupted",
                Ok(v1::PlanState::Unspecified) | Err(_) => "unknown",
            },
            hash: text::hex(&hash),
            requester,
            keep_going,
            created_at,
            expires_at,
            decided_by,
            decided_at,
            reason,
            stopped_by,
            ended_at,
            revision,
            step_count,
            steps: steps.into_iter().map(StepView::from).collect(),
        }
    }
}

impl From<v1::PlanStep> for StepView {
    fn from(step: v1::PlanStep) -> Self {
        let v1::PlanStep {
            number,
            device,
            tool,
            arguments,
            risk,
            touches,
            decision,
            rule,
            preview,
            after_step,
            approval,
            call_id,
            state,
            code,
            message,
            began_at,
            ended_at,
            compared,
            compared_before,
            look_alikes,
        } = step;
        Self {
            number,
            device,
            tool,
            arguments: serde_json::from_slice(&arguments).unwrap_or(Value::Null),
            risk: super::tool::risk(risk),
            touches,
            look_alikes,
            decision,
            rule,
            preview: serde_json::from_slice(&preview).unwrap_or(Value::Null),
            after_step,
            compared,
            compared_before,
            approval: approval.map(ApprovalView::from),
            call_id,
            state: match v1::PlanStepState::try_from(state) {
                Ok(v1::PlanStepState::Waiting) => "waiting",
                Ok(v1::PlanStepState::Running) => "running",
                Ok(v1::PlanStepState::Succeeded) => "succeeded",
                Ok(v1::PlanStepState::Failed) => "failed",
                Ok(v1::PlanStepState::Drifted) => "drifted",
                Ok(v1::PlanStepState::Skipped) => "skipped",
                Ok(v1::PlanStepState::Unspecified) | Err(_) => "unknown",
            },
            code,
            message,
            began_at,
            ended_at,
        }
    }
}

impl StepView {
    /// Formats the decision, and who must approve.
    fn decision(&self) -> String {
        match &self.approval {
            Some(approval) => format!("ask {}", who(approval)),
            None => self.decision.clone(),
        }
    }

    /// Formats what the step touches.
    fn touched(&self) -> String {
        let lines = self.touches.iter().map(|line| text::one_line(&text::distinct(line), 400));
        lines.collect::<Vec<_>>().join(", ")
    }

    /// Formats what the preview reports.
    fn dry_run(&self) -> String {
        let message = self.preview["message"].as_str().unwrap_or_default();
        let only_looks = orion_catalog::find(&self.tool).is_some_and(|(spec, _)| !spec.has_effects);
        let shown = match (message, self.after_step) {
            ("", 0) if only_looks => return "only looks".to_owned(),
            ("", 0) => "too large to be shown".to_owned(),
            ("", after) => return format!("after step {after}: {}", self.touched()),
            (message, _) => message.to_owned(),
        };
        let is_path = |touch: &String| {
            ["read ", "write ", "delete "].iter().any(|access| touch.starts_with(access))
        };
        let paths = self.touches.iter().filter(|touch| is_path(touch)).count();
        match (self.compared, self.compared_before) {
            (0, _) if paths == 0 => shown,
            (0, _) => format!("{shown} (not compared before it runs)"),
            (_, 0) => shown,
            (_, before) => format!("{shown} (compared before step {before})"),
        }
    }

    /// Formats the step's tool and device.
    pub(crate) fn what(&self) -> String {
        format!("{} on {}", text::one_line(&self.tool, 80), text::one_line(&self.device, 80))
    }
}

/// Formats a plan with its steps, for people.
pub(crate) fn plan_page(out: &Output, plan: &PlanView) -> String {
    let going = if plan.keep_going {
        "goes on where a step fails"
    } else {
        "ends at the first step that fails"
    };
    let decided = match (plan.decided_by.as_str(), plan.reason.as_str()) {
        ("", _) => String::new(),
        (by, "") => format!("by {by} at {}", text::when(&out.zone, plan.decided_at)),
        (by, reason) => format!("by {by} at {}: {reason}", text::when(&out.zone, plan.decided_at)),
    };
    let open =
        if plan.state == "open" { text::when(&out.zone, plan.expires_at) } else { String::new() };
    let page = facts([
        ("plan", plan.plan_id.clone()),
        ("state", format!("{}; {going}", plan.state)),
        ("asked by", plan.requester.clone()),
        ("until", open),
        ("decided", decided),
        ("stopped by", plan.stopped_by.clone()),
        ("hash", plan.hash.clone()),
    ]);
    let mut parts = vec![steps_table(out, plan)];
    let is_open = plan.state == "open";
    for step in &plan.steps {
        let tells = |field: &str| !step.preview["data"][field].is_null();
        let is_asked = is_open && step.approval.is_some();
        let tells_more = is_asked && (tells("diff") || tells("first_entries"));
        let mut lines = Vec::new();
        if is_long(out, step) {
            lines.push(long_arguments(step));
        }
        if tells_more {
            lines.push(card::preview(&step.preview));
        }
        if is_asked {
            lines.extend(step.look_alikes.iter().cloned());
        }
        if !lines.is_empty() {
            let lines = text::plain(&lines.join("\n")).replace('\n', "\n  ");
            parts.push(format!("step {}\n  {lines}", step.number));
        }
    }
    parts.push(page);
    parts.join("\n\n")
}

fn arguments(step: &StepView) -> String {
    short_arguments(&step.tool, step.arguments.to_string().as_bytes())
}

fn is_long(out: &Output, step: &StepView) -> bool {
    !out.is_wide() && arguments(step).chars().count() > MAX_SHOWN_CHARS
}

/// Formats a step's arguments where a row has no room for them.
fn long_arguments(step: &StepView) -> String {
    let lines = step.arguments.as_object().into_iter().flatten().map(|(name, value)| {
        match value.as_str() {
            Some(text) => format!("{name}: {text}"),
            None => format!("{name}: {value}"),
        }
    });
    clipped(&lines.collect::<Vec<_>>().join("\n"))
}

fn steps_table(out: &Output, plan: &PlanView) -> String {
    let is_open = plan.state == "open";
    let mut header = vec!["STEP", "DEVICE", "TOOL", "ARGUMENTS", "RISK", "DECISION"];
    header.extend(if is_open { ["DRY RUN"].as_slice() } else { &["STATE", "RESULT"] });
    if out.is_wide() {
        header.extend(["TOUCHES", "RULE", "CALL"]);
    }
    let short =
        |text: String| if out.is_wide() { text } else { text::one_line(&text, MAX_SHOWN_CHARS) };
    let row = |step: &StepView| {
        let mut row = vec![
            step.number.to_string(),
            step.device.clone(),
            step.tool.clone(),
            short(arguments(step)),
            step.risk.to_owned(),
            step.decision(),
        ];
        if is_open {
            row.push(text::one_line(&step.dry_run(), 400));
        } else {
            row.extend([step.state.to_owned(), text::one_line(&step.message, 400)]);
        }
        if out.is_wide() {
            row.extend([step.touched(), step.rule.clone(), step.call_id.clone()]);
        }
        row
    };
    table(&header, plan.steps.iter().map(row))
}

/// Formats plans for people.
pub(crate) fn plans_table(out: &Output, plans: &[PlanView]) -> String {
    let header = ["ID", "STATE", "STEPS", "BY", "MADE", "UNTIL", "DECIDED BY"];
    let ids: Vec<_> = plans.iter().map(|plan| &*plan.plan_id).collect();
    let row = |(plan, id): (&PlanView, &str)| {
        vec![
            id.to_owned(),
            plan.state.to_owned(),
            plan.step_count.to_string(),
            plan.requester.clone(),
            text::when(&out.zone, plan.created_at),
            text::when(&out.zone, plan.expires_at),
            plan.decided_by.clone(),
        ]
    };
    table(&header, plans.iter().zip(text::listed_ids(&ids, out.is_wide())).map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;

    #[test]
    fn a_plan_shows_what_each_step_would_do_and_who_has_to_say_yes() {
        let out = Output::in_a_test(Format::Table);
        let step = |number, tool: &str, arguments: &str, message: &str| v1::PlanStep {
            number,
            device: "kiosk".to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.as_bytes().to_vec().into(),
            risk: v1::Risk::High.into(),
            decision: "allow".to_owned(),
            preview: format!("{{\"message\":\"{message}\"}}").into_bytes().into(),
            ..v1::PlanStep::default()
        };
        let approval = v1::Approval {
            approver_role: "admin".to_owned(),
            approver_count: 2,
            requester: "ann".to_owned(),
            not_requester: true,
            ..v1::Approval::default()
        };
        let long = format!(r#"{{"content":"{}","path":"b\u001b[2J"}}"#, "x".repeat(80));
        let plan = PlanView::from(v1::Plan {
            plan_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e".to_owned(),
            state: v1::PlanState::Open.into(),
            hash: vec![7; 32].into(),
            requester: "ann".to_owned(),
            expires_at: 1_700_000_900_000,
            steps: vec![
                v1::PlanStep {
                    approval: Some(approval),
                    ..step(1, "delete_file", r#"{"path":"a"}"#, "Would delete a.")
                },
                v1::PlanStep {
                    after_step: 1,
                    touches: vec!["write /srv/b".to_owned()],
                    ..step(2, "write_file", &long, "")
                },
            ],
            ..v1::Plan::default()
        });
        insta::assert_snapshot!(plan_page(&out, &plan), @"
        STEP  DEVICE  TOOL         ARGUMENTS                                                     RISK  DECISION                                           DRY RUN
        1     kiosk   delete_file  path=a                                                        high  ask 2 people with the role admin or more, not ann  Would delete a.
        2     kiosk   write_file   content=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…  high  allow                                              after step 1: write /srv/b

        step 2
          content: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
          path: b�[2J

        plan      0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e
        state     open; ends at the first step that fails
        asked by  ann
        until     2023-11-14 22:28:20
        hash      0707070707070707070707070707070707070707070707070707070707070707
        ");
    }
}
