//! Formats messages for programs and for people. One file for each kind of object.

mod access_request;
mod alias;
mod approval;
mod approval_stats;
mod call;
pub(crate) mod card;
mod custom_tool;
mod device;
mod enrollment;
mod insights;
mod invite;
mod macros;
mod memory;
mod person;
mod plan;
mod policy;
mod schedule;
mod short_card;
mod stop;
mod tool;
mod value;

pub(crate) use access_request::{
    AccessRequestView, access_request_card, access_requests_table, length,
};
pub(crate) use alias::{AliasView, aliases_table};
pub(crate) use approval::{
    ApprovalView, LabelView, StandingRuleView, VoteView, approvals_table, rule_line, rules_table,
};
pub(crate) use approval_stats::{ApprovalStatsView, approval_stats};
pub(crate) use call::{CallView, HIDDEN_SECRET, call_page, calls_table, note_hidden_secrets};
pub(crate) use custom_tool::{CustomToolView, custom_tool_page, custom_tools_table};
pub(crate) use device::{DeviceView, devices_table, pending_table};
pub(crate) use enrollment::{ConfirmedView, EnrollmentView};
pub(crate) use insights::{InsightsView, insights_page};
pub(crate) use invite::{InviteView, invites_table};
pub(crate) use macros::{MacroView, macro_page, macros_table};
pub(crate) use memory::{MemoryView, memories_table};
pub(crate) use person::{TokenView, UserView, tokens_table, users_table};
pub(crate) use plan::{PlanView, StepView, plan_page, plans_table};
pub(crate) use policy::{
    DeviceChangeView, FindingView, OnDeviceView, VersionView, changes_text, findings_text,
    found_there, on_devices_table, versions_table,
};
pub(crate) use schedule::{ScheduleView, schedule_page, schedules_table};
pub(crate) use short_card::short_card;
pub(crate) use stop::{StopView, stops_table};
pub(crate) use tool::{ToolView, openai, tool_page, tools_table};
pub(crate) use value::{short_arguments, value};

/// Returns the cells of a table, line by line.
#[cfg(test)]
fn cells(table: &str) -> Vec<Vec<&str>> {
    table
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect()
}
