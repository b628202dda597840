//! The card: everything that a person should see before saying yes to a call.

use serde_json::Value;

use crate::output::{ASKS, DIM, Output, facts};
use crate::show::{self, ApprovalView};
use crate::text;

/// How many lines of a text are shown before it is cut.
const LINES: usize = 40;
/// How many characters of a line are shown before it is cut.
const LINE: usize = 400;

/// The card as people read it.
pub(crate) fn card(out: &Output, approval: &ApprovalView) -> String {
    let title = format!(
        "{ASKS}? {} on {}{ASKS:#} asks for approval: {} risk",
        text::one_line(&approval.tool, 80),
        text::one_line(&approval.device, 80),
        approval.risk
    );
    let arguments = match approval.arguments.as_object() {
        Some(arguments) => {
            let line = |(name, value): (&String, &Value)| match value.as_str() {
                Some(text) => format!("{name}: {text}"),
                None => format!("{name}: {value}"),
            };
            clipped(&arguments.iter().map(line).collect::<Vec<_>>().join("\n"))
        }
        None => clipped(&approval.arguments.to_string()),
    };
    let decided = match (approval.decided_by.as_str(), approval.reason.as_str()) {
        ("", "") => String::new(),
        (by, "") => format!("by {by} at {}", text::when(&out.zone, approval.decided_at)),
        (by, reason) => {
            format!("by {by} at {}: {reason}", text::when(&out.zone, approval.decided_at))
        }
    };
    let body = facts([
        ("arguments", arguments),
        ("touches", approval.touches.join("\n")),
        ("preview", preview(&approval.preview)),
        ("why", approval.rule.clone()),
        ("asked by", approval.requester.clone()),
        ("who may say yes", approval.approver_role.clone()),
        ("until", text::when(&out.zone, approval.expires_at)),
        ("state", approval.state.to_owned()),
        ("decided", decided),
        ("id", approval.approval_id.clone()),
    ]);
    format!("{title}\n  {}", body.replace('\n', "\n  "))
}

/// What the dry run said would happen.
fn preview(envelope: &Value) -> String {
    if envelope.is_null() {
        return "the device could not give one".to_owned();
    }
    let message = envelope["message"].as_str().unwrap_or_default();
    let data = show::value(&envelope["data"]);
    format!("{message}\n{}", clipped(&data)).trim_end().to_owned()
}

/// A text of a bounded size, which says so where it was cut.
fn clipped(text: &str) -> String {
    let mut lines: Vec<String> =
        text.lines().take(LINES + 1).map(|line| text::one_line(line, LINE)).collect();
    if lines.len() > LINES {
        lines.truncate(LINES);
        lines.push("… and more; `orion approvals show ID -o json` has all of it".to_owned());
    }
    lines.join("\n")
}

/// The line that says what another terminal would type.
pub(crate) fn hint(approval_id: &str) -> String {
    format!(
        "{DIM}approve it with:{DIM:#} orion approvals approve {}",
        text::one_line(approval_id, 80)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Format;
    use jiff::tz::TimeZone;
    use orion_wire::v1;
    use serde_json::json;

    fn approval() -> ApprovalView {
        let preview = json!({
            "success": true, "message": "Would delete 3 entries.", "dry_run": true,
            "data": {"path": "/d/x", "entries": 3, "first_entries": ["a\u{1b}[2K", "b"]},
        });
        v1::Approval {
            approval_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e".to_owned(),
            call_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5f".to_owned(),
            state: v1::ApprovalState::Open as i32,
            tool: "delete_directory".to_owned(),
            device: "demo-device".to_owned(),
            arguments: br#"{"confirm":true,"path":"x"}"#.to_vec().into(),
            risk: v1::Risk::High as i32,
            touches: vec!["delete /d/x".to_owned()],
            rule: "risk high asks".to_owned(),
            requester: "admin".to_owned(),
            created_at: 1_700_000_000_000,
            expires_at: 1_700_000_900_000,
            preview: preview.to_string().into_bytes().into(),
            approver_role: "operator".to_owned(),
            ..v1::Approval::default()
        }
        .into()
    }

    #[test]
    fn the_card_shows_all_that_a_yes_depends_on() {
        let out =
            Output { format: Format::Table, quiet: false, verbose: false, zone: TimeZone::UTC };
        let shown = anstream::adapter::strip_str(&card(&out, &approval())).to_string();
        insta::assert_snapshot!(shown, @"
        ? delete_directory on demo-device asks for approval: high risk
          arguments        confirm: true
                           path: x
          touches          delete /d/x
          preview          Would delete 3 entries.
                           entries        3
                           first_entries  a�[2K
                                          b
                           path           /d/x
          why              risk high asks
          asked by         admin
          who may say yes  operator
          until            2023-11-14 22:28:20
          state            open
          id               0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e
        ");
        insta::assert_snapshot!(show::approvals_table(&out, &[approval()]), @"
        ID                  STATE  RISK  DEVICE       TOOL              ARGUMENTS            BY     EXPIRES
        0199b2c4-7f3e-7c11  open   high  demo-device  delete_directory  confirm=true path=x  admin  2023-11-14 22:28:20
        ");
    }

    #[test]
    fn a_long_preview_is_cut_and_says_so() {
        let entries: Vec<String> = (0..100).map(|n| format!("file-{n}")).collect();
        let shown = preview(&json!({"message": "m", "data": {"first_entries": entries}}));
        assert_eq!(shown.lines().count(), 1 + LINES + 1);
        assert!(shown.ends_with("has all of it"), "{shown}");
        assert_eq!(preview(&Value::Null), "the device could not give one");
    }
}
