//! The approval card: everything that a person should see before approving a call.

use serde_json::Value;

use super::{ApprovalView, LabelView, VoteView};
use crate::output::{ASKS, Output, facts};
use crate::text;

/// The maximum number of lines of a text.
const MAX_LINES: usize = 40;
/// The maximum number of characters of a line.
const MAX_LINE_CHARS: usize = 400;

/// Formats the card for people.
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
                // Continuation lines of a value must not look like another argument.
                Some(text) => format!("{name}: {}", text.replace('\n', "\n  | ")),
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
    let decided = if approval.by_standing_answer {
        format!("{decided}, for the whole chat")
    } else {
        decided
    };
    let body = facts([
        ("arguments", arguments),
        ("touches", lines(&distinct(&approval.touches))),
        ("look-alikes", lines(&approval.look_alikes)),
        ("how much", how_much(approval)),
        ("preview", preview(&approval.preview)),
        ("can be undone", if approval.can_undo { "yes" } else { "no" }.to_owned()),
        ("risk", lines(&approval.risk_because)),
        ("untrusted", provenance(approval)),
        ("why", text::one_line(&approval.rule, MAX_LINE_CHARS)),
        ("asked by", text::one_line(&approval.requester, MAX_LINE_CHARS)),
        ("written by", text::one_line(&approval.written_by, MAX_LINE_CHARS)),
        ("who may approve", who(approval)),
        ("said so far", votes(approval)),
        ("until", text::when(&out.zone, approval.expires_at)),
        ("state", approval.state.to_owned()),
        ("decided", decided),
        ("step of plan", approval.plan_id.clone()),
        ("call", approval.call_id.clone()),
        ("the call is", approval.call_words()),
        ("id", approval.approval_id.clone()),
    ]);
    format!("{title}\n  {}", body.replace('\n', "\n  "))
}

/// Returns texts in which names that differ look different.
pub(super) fn distinct(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| text::distinct(text)).collect()
}

/// Formats texts as one line each, whatever they contain.
fn lines(texts: &[String]) -> String {
    texts.iter().map(|text| text::one_line(text, MAX_LINE_CHARS)).collect::<Vec<_>>().join("\n")
}

/// Formats how much the call touches, as its preview reports.
pub(super) fn how_much(approval: &ApprovalView) -> String {
    let entries = approval.entries.map(|entries| match entries {
        1 => "1 file or folder".to_owned(),
        entries => format!("{entries} files and folders"),
    });
    let bytes = approval.bytes.map(|bytes| match bytes {
        1 => "1 byte".to_owned(),
        bytes => format!("{bytes} bytes"),
    });
    [entries, bytes].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Formats the provenance of untrusted content in the call.
fn provenance(approval: &ApprovalView) -> String {
    if approval.content.is_empty() {
        return String::new();
    }
    let mut lines = Vec::new();
    if approval.quoted {
        lines.push("The call is copied from untrusted content".to_owned());
    } else if !approval.occurs_in_content.is_empty() {
        lines.push(format!(
            "the text of {} occurs in untrusted content",
            approval.occurs_in_content.join(", ")
        ));
    }
    if !approval.copied_from.is_empty() {
        lines.push("the text that the call writes stands in:".to_owned());
        lines.extend(approval.copied_from.iter().map(source));
    }
    lines.push("untrusted content in this chat:".to_owned());
    lines.extend(approval.content.iter().map(source));
    clipped(&lines.join("\n"))
}

fn source(label: &LabelView) -> String {
    let label = format!("- {} on {} {}", label.tool, label.device, label.place);
    text::one_line(label.trim_end(), MAX_LINE_CHARS)
}

/// Formats who must approve, and how many approvals are missing.
pub(crate) fn who(approval: &ApprovalView) -> String {
    let ApprovalView { approver_role: role, approver_count: count, requester, .. } = approval;
    let mut who = match count {
        0 | 1 => role.clone(),
        count => format!("{count} people with the role {role} or more"),
    };
    let author = &approval.written_by;
    let both = match author.is_empty() || author == requester {
        true => requester.clone(),
        false => format!("{requester} or {author}"),
    };
    if approval.not_requester {
        who.push_str(&format!(", not {both}"));
    } else if approval.second_if_any {
        who.push_str(&format!(", not {both} if there is anybody else"));
    }
    if approval.reason_required {
        who.push_str(", saying why");
    }
    if approval.passkey_required {
        who.push_str(", with a passkey on the page");
    }
    who
}

fn votes(approval: &ApprovalView) -> String {
    let line = |vote: &VoteView| {
        let word = if vote.yes { "yes" } else { "no" };
        let how = if vote.by_passkey { " with a passkey" } else { "" };
        let line = format!("{}: {word}{how} {}", vote.user, vote.reason);
        text::one_line(line.trim_end(), MAX_LINE_CHARS)
    };
    clipped(&approval.votes.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Formats what the preview reported.
pub(crate) fn preview(envelope: &Value) -> String {
    if envelope.is_null() {
        return "the device could not give one".to_owned();
    }
    let message = envelope["message"].as_str().unwrap_or_default();
    let data = super::value(&envelope["data"]);
    let message = text::one_line(&text::distinct(message), MAX_LINE_CHARS);
    format!("{message}\n{}", clipped(&data)).trim_end().to_owned()
}

/// Truncates a text to a bounded size, and marks the cut.
pub(crate) fn clipped(text: &str) -> String {
    let mut lines: Vec<String> =
        text.lines().take(MAX_LINES + 1).map(|line| text::one_line(line, MAX_LINE_CHARS)).collect();
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES);
        lines.push("… and more; `-o json` has all of it".to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;
    use crate::show;
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
            look_alikes: vec!["а has U+0430 that looks like a".to_owned()],
            rule: "risk high asks".to_owned(),
            requester: "admin".to_owned(),
            created_at: 1_700_000_000_000,
            expires_at: 1_700_000_900_000,
            preview: preview.to_string().into_bytes().into(),
            approver_role: "operator".to_owned(),
            approver_count: 2,
            not_requester: true,
            reason_required: true,
            passkey_required: true,
            votes: vec![v1::Vote {
                user: "bob".to_owned(),
                role: "operator".to_owned(),
                yes: true,
                reason: "as agreed".to_owned(),
                at: 1_700_000_100_000,
                details_shown: None,
                by_passkey: true,
            }],
            risk_because: vec!["delete_directory is of high risk.".to_owned()],
            can_undo: true,
            content: vec![v1::ContentLabel {
                call_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a60".to_owned(),
                tool: "read_file".to_owned(),
                device: "demo-device".to_owned(),
                place: "/d/note.txt".to_owned(),
            }],
            quoted: true,
            written_by: "bob".to_owned(),
            entries: Some(3),
            bytes: Some(1),
            ..v1::Approval::default()
        }
        .into()
    }

    #[test]
    fn the_card_shows_all_that_a_yes_depends_on() {
        let out = Output::in_a_test(Format::Table);
        let shown = anstream::adapter::strip_str(&card(&out, &approval())).to_string();
        insta::assert_snapshot!(shown, @"
        ? delete_directory on demo-device asks for approval: high risk
          arguments        confirm: true
                           path: x
          touches          delete /d/x
          look-alikes      а has U+0430 that looks like a
          how much         3 files and folders, 1 byte
          preview          Would delete 3 entries.
                           entries        3
                           first_entries  a�[2K
                                          b
                           path           /d/x
          can be undone    yes
          risk             delete_directory is of high risk.
          untrusted        The call is copied from untrusted content
                           untrusted content in this chat:
                           - read_file on demo-device /d/note.txt
          why              risk high asks
          asked by         admin
          written by       bob
          who may approve  2 people with the role operator or more, not admin or bob, saying why, with a passkey on the page
          said so far      bob: yes with a passkey as agreed
          until            2023-11-14 22:28:20
          state            open
          call             0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5f
          id               0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e
        ");
        insta::assert_snapshot!(show::approvals_table(&out, &[approval()]), @"
        ID                  STATE          RISK  DEVICE       TOOL              ARGUMENTS            BY     EXPIRES
        0199b2c4-7f3e-7c11  open, passkey  high  demo-device  delete_directory  path=x confirm=true  admin  2023-11-14 22:28:20
        ");
    }

    #[test]
    fn a_long_preview_is_cut_and_says_so() {
        let entries: Vec<String> = (0..100).map(|n| format!("file-{n}")).collect();
        let shown = preview(&json!({"message": "m", "data": {"first_entries": entries}}));
        assert_eq!(shown.lines().count(), 1 + MAX_LINES + 1);
        assert!(shown.ends_with("has all of it"), "{shown}");
        assert_eq!(preview(&Value::Null), "the device could not give one");
    }
}
