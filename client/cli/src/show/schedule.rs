//! Formats tasks.

use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;

use crate::output::{Output, table};
use crate::text;

/// A task for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ScheduleView {
    pub(crate) schedule_id: String,
    pub(crate) user: String,
    pub(crate) name: String,
    pub(crate) times: String,
    pub(crate) timezone: String,
    pub(crate) tool: String,
    pub(crate) device: String,
    pub(crate) arguments: Value,
    pub(crate) state: &'static str,
    pub(crate) created_at: i64,
    pub(crate) next_at: i64,
    pub(crate) last_at: i64,
    pub(crate) last_call_id: String,
    pub(crate) untrusted: bool,
}

impl From<v1::Schedule> for ScheduleView {
    fn from(schedule: v1::Schedule) -> Self {
        let state = match schedule.state() {
            v1::ScheduleState::Active => "active",
            v1::ScheduleState::Done => "done",
            v1::ScheduleState::Cancelled => "cancelled",
            v1::ScheduleState::Unspecified => "unknown",
        };
        let v1::Schedule {
            schedule_id,
            user,
            name,
            times,
            timezone,
            tool,
            device,
            arguments,
            state: _,
            created_at,
            next_at,
            last_at,
            last_call_id,
            untrusted,
        } = schedule;
        let arguments = serde_json::from_slice(&arguments).unwrap_or_default();
        Self {
            schedule_id,
            user,
            name,
            times,
            timezone,
            tool,
            device,
            arguments,
            state,
            created_at,
            next_at,
            last_at,
            last_call_id,
            untrusted,
        }
    }
}

/// Formats tasks.
pub(crate) fn schedules_table(out: &Output, schedules: &[ScheduleView]) -> String {
    if schedules.is_empty() {
        return String::new();
    }
    let row = |task: &ScheduleView| {
        vec![
            task.schedule_id.chars().take(18).collect(),
            text::one_line(&task.name, 40),
            text::one_line(&task.times, 40),
            called(task),
            task.state.to_owned(),
            text::when_with_zone(&out.zone, task.next_at),
            text::when_with_zone(&out.zone, task.last_at),
        ]
    };
    let head = ["ID", "NAME", "WHEN", "CALL", "STATE", "NEXT", "LAST"];
    table(&head, schedules.iter().map(row))
}

/// Formats one task.
pub(crate) fn schedule_page(out: &Output, task: &ScheduleView) -> String {
    let last_call = if task.last_call_id.is_empty() { "-" } else { &task.last_call_id };
    let from = if task.untrusted { "a chat with untrusted content" } else { "its person" };
    let rows = [
        ("task", task.schedule_id.clone()),
        ("name", text::one_line(&task.name, 80)),
        ("person", text::one_line(&task.user, 80)),
        ("when", format!("{} in {}", text::one_line(&task.times, 100), task.timezone)),
        ("call", called(task)),
        ("arguments", text::one_line(&task.arguments.to_string(), 400)),
        ("state", task.state.to_owned()),
        ("next", text::when_with_zone(&out.zone, task.next_at)),
        ("last", text::when_with_zone(&out.zone, task.last_at)),
        ("last call", last_call.to_owned()),
        ("from", from.to_owned()),
    ];
    rows.map(|(name, value)| format!("{name:<10} {value}")).join("\n")
}

fn called(task: &ScheduleView) -> String {
    let tool = text::one_line(&task.tool, 64);
    if task.device.is_empty() {
        tool
    } else {
        format!("{tool} on {}", text::one_line(&task.device, 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;
    use crate::show::cells;

    const OUT: Output = Output::in_a_test(Format::Table);

    #[test]
    fn tasks_stand_in_a_table_and_on_a_page() {
        let task = ScheduleView::from(v1::Schedule {
            schedule_id: "01a2fc13-f72a-727b-b838-c743fc081867".to_owned(),
            user: "ann".to_owned(),
            name: "disk check".to_owned(),
            times: "0 8 * * 1-5".to_owned(),
            timezone: "Europe/Brussels".to_owned(),
            tool: "check_disk_space".to_owned(),
            device: "nas-1".to_owned(),
            arguments: br#"{"path":"/srv"}"#.as_slice().into(),
            state: v1::ScheduleState::Active.into(),
            created_at: 1_700_000_000_000,
            next_at: 1_700_000_000_000,
            last_at: 0,
            last_call_id: String::new(),
            untrusted: false,
        });
        assert_eq!(
            cells(&schedules_table(&OUT, std::slice::from_ref(&task))),
            [
                ["ID", "NAME", "WHEN", "CALL", "STATE", "NEXT", "LAST"],
                [
                    "01a2fc13-f72a-727b",
                    "disk check",
                    "0 8 * * 1-5",
                    "check_disk_space on nas-1",
                    "active",
                    "2023-11-14 22:13:20 UTC",
                    "-"
                ]
            ]
        );
        let page = schedule_page(&OUT, &task);
        assert_eq!(
            page.lines().collect::<Vec<_>>(),
            [
                "task       01a2fc13-f72a-727b-b838-c743fc081867",
                "name       disk check",
                "person     ann",
                "when       0 8 * * 1-5 in Europe/Brussels",
                "call       check_disk_space on nas-1",
                r#"arguments  {"path":"/srv"}"#,
                "state      active",
                "next       2023-11-14 22:13:20 UTC",
                "last       -",
                "last call  -",
                "from       its person",
            ]
        );
        assert_eq!(schedules_table(&OUT, &[]), "");
    }
}
