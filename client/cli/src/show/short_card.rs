//! The approval card in a chat: what a person should see first, in at most twelve lines of 80 columns. The
//! whole card is shown on request.

use serde_json::Value;

use super::card::{distinct, how_much, who};
use super::value::typed_arguments;
use super::{ApprovalView, LabelView};
use crate::output::{ASKS, Output};
use crate::text::{self, both_ends, fitted};

/// The columns of a line. The mark before each line takes two more.
const COLUMNS: usize = 78;
/// The columns of the names at the beginning of the lines.
const NAMES: usize = 11;

/// Formats the card.
pub(crate) fn short_card(out: &Output, approval: &ApprovalView) -> String {
    let title = format!(
        "{} on {} asks for approval: {} risk",
        text::one_line(&approval.tool, 24),
        text::one_line(&approval.device, 20),
        approval.risk
    );
    let mut card = Card(vec![format!("{ASKS}? {}{ASKS:#}", fitted(&title, COLUMNS - 2))]);
    let arguments = typed_arguments(&approval.tool, approval.arguments.to_string().as_bytes());
    card.row("arguments", &[arguments], 1, both_ends);
    card.row("touches", &distinct(&approval.touches), 2, both_ends);
    card.row("look-alikes", &approval.look_alikes, 2, fitted);
    card.row("preview", &distinct(&preview(&approval.preview)), 3, both_ends);
    let undo = if approval.can_undo { "can be undone" } else { "cannot be undone" };
    let about = [undo.to_owned(), how_much(approval)];
    card.row("effect", &[joined(&about)], 1, fitted);
    // The first reason is the tool's own risk; the later ones are about this call.
    let because = approval.risk_because.iter().rev().take(2).rev().cloned().collect::<Vec<_>>();
    card.row("risk", &because, 2, fitted);
    card.row("untrusted", &untrusted(approval), 1, fitted);
    let until = format!("until {}", text::when(&out.zone, approval.expires_at));
    let id = text::short_id(&approval.approval_id).to_owned();
    card.row("approver", &[joined(&[who(approval), until, id])], 1, fitted);
    card.0.join("\n")
}

struct Card(Vec<String>);

impl Card {
    /// Adds at most so many lines, each cut so where it is long, and says where there are more.
    fn row(&mut self, name: &str, lines: &[String], most: usize, cut: fn(&str, usize) -> String) {
        let lines: Vec<&String> = lines.iter().filter(|line| !line.is_empty()).collect();
        for (index, line) in lines.iter().take(most).enumerate() {
            let name = if index == 0 { name } else { "" };
            let left = lines.len() - index - 1;
            let more = if index + 1 == most && left > 0 {
                format!(" … and {}", text::counted(left as u64, "line", "lines"))
            } else {
                String::new()
            };
            let room = COLUMNS - NAMES - 2 - more.chars().count();
            self.0.push(format!("  {name:NAMES$}{}{more}", cut(line, room)));
        }
    }
}

fn joined(parts: &[String]) -> String {
    let parts: Vec<_> = parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect();
    parts.join(" · ")
}

/// Returns the message of a preview, and the lines that it adds and removes or the names that it lists.
fn preview(envelope: &Value) -> Vec<String> {
    let Some(message) = envelope["message"].as_str() else { return Vec::new() };
    let mut lines = vec![message.to_owned()];
    if let Some(diff) = envelope["data"]["diff"].as_str() {
        let changes = |line: &&str| {
            line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
        };
        lines.extend(diff.lines().filter(changes).map(str::to_owned));
    } else if let Some(entries) = envelope["data"]["first_entries"].as_array() {
        lines.extend(entries.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    lines
}

/// Returns which untrusted content has to do with the call.
fn untrusted(approval: &ApprovalView) -> Vec<String> {
    let source = |label: &LabelView| {
        format!("{} on {} {}", label.tool, label.device, label.place).trim_end().to_owned()
    };
    let (what, labels) = match (approval.quoted, approval.copied_from.as_slice()) {
        (true, _) => ("the call is copied from: ", approval.content.as_slice()),
        (false, []) => ("", approval.content.as_slice()),
        (false, labels) => ("its text stands in: ", labels),
    };
    let newest = labels.iter().rev().map(source).enumerate();
    newest.map(|(index, line)| if index == 0 { format!("{what}{line}") } else { line }).collect()
}

#[cfg(test)]
mod tests {
    use orion_wire::v1;
    use serde_json::json;

    use super::*;
    use crate::global::Format;

    fn out() -> Output {
        Output::in_a_test(Format::Table)
    }

    fn label(place: &str) -> v1::ContentLabel {
        v1::ContentLabel {
            call_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a60".to_owned(),
            tool: "read_file".to_owned(),
            device: "demo-device".to_owned(),
            place: place.to_owned(),
        }
    }

    fn approval(text: &str, lines: usize) -> ApprovalView {
        let diff = format!("--- a\n+++ b\n@@ -1 +1 @@\n{}", format!("+{text}\n").repeat(lines));
        let preview = json!({"message": "Would write.", "data": {"diff": diff}});
        v1::Approval {
            approval_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e".to_owned(),
            tool: "write_file".to_owned(),
            device: "demo-device".to_owned(),
            arguments: json!({"content": text, "path": "plan.txt"}).to_string().into(),
            risk: v1::Risk::High as i32,
            touches: vec![format!("write /d/{text}"); lines],
            expires_at: 1_700_000_900_000,
            preview: preview.to_string().into(),
            approver_role: "operator".to_owned(),
            approver_count: 1,
            risk_because: vec!["write_file is of medium risk.".to_owned(), text.to_owned()],
            can_undo: true,
            content: vec![label("/d/a.txt"), label("/d/note.txt")],
            copied_from: vec![label("/d/note.txt")],
            entries: Some(1),
            ..v1::Approval::default()
        }
        .into()
    }

    #[test]
    fn the_short_card_shows_what_matters() {
        let card = short_card(&out(), &approval("wire 1000 to the stranger", 3));
        insta::assert_snapshot!(anstream::adapter::strip_str(&card).to_string(), @r#"
        ? write_file on demo-device asks for approval: high risk
          arguments  content="wire 1000 to the stranger" path=plan.txt
          touches    write /d/wire 1000 to the stranger
                     write /d/wire 1000 to the stranger … and 1 line
          preview    Would write.
                     +wire 1000 to the stranger
                     +wire 1000 to the stranger … and 1 line
          effect     can be undone · 1 file or folder
          risk       write_file is of medium risk.
                     wire 1000 to the stranger
          untrusted  its text stands in: read_file on demo-device /d/note.txt
          approver   operator · until 2023-11-14 22:28:20 · 0199b2c4-7f3e-7c11
        "#);
    }

    #[test]
    fn it_has_at_most_twelve_lines_of_eighty_columns_whatever_it_shows() {
        for text in ["x".repeat(500), "日本".repeat(300), "a\nb\u{1b}[2J\u{202e}\n? ".repeat(99)]
        {
            for lines in [0, 1, 50] {
                let card = text::marked(&short_card(&out(), &approval(&text, lines)));
                let card = anstream::adapter::strip_str(&card).to_string();
                assert!(card.lines().count() <= 12, "{card}");
                for line in card.lines() {
                    let columns: usize =
                        line.chars().map(|c| if c < '\u{1100}' { 1 } else { 2 }).sum();
                    // The mark and the ellipsis take one column each, and count as two.
                    assert!(columns <= 80 + 2 + 2, "{columns}: {line}");
                    assert!(!orion_domain::visible(line).contains('\u{1b}'));
                }
            }
        }
    }
}
