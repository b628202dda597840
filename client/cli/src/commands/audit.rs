//! `orion audit`: shows, exports and verifies the audit log.

mod export;
mod key;
mod list;
mod offline;
mod verdict;
mod verify;

use clap::{Args, Subcommand};
use orion_domain::Hint;
use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::failure::Failure;
use crate::json;
use crate::output::{Output, facts, table};
use crate::text;

/// The audit log of everything that happened.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion audit list --limit 20
  orion audit list --user bob --denied --since 7d
  orion audit list --call 0199b2c4-7f3e-7c11
  orion audit show 42
  orion audit export --file audit.jsonl
  orion audit key
  orion audit verify
  orion audit verify --file audit.jsonl")]
pub(crate) struct Audit {
    #[command(subcommand)]
    what: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// List rows, the newest first
    List(list::List),
    /// Show one row whole
    #[command(after_help = "Example:\n  orion audit show 42")]
    Show {
        /// The row's number
        #[arg(value_name = "SEQ", value_parser = clap::value_parser!(i64).range(1..i64::MAX))]
        seq: i64,
    },
    /// Write every row, one line of JSON each, with the signed checkpoints
    Export(export::Export),
    /// Print the key that verifies what the backend signs
    Key(key::Key),
    /// Follow the whole chain
    Verify(verify::Verify),
}

/// A row for programs.
#[derive(Debug, Serialize)]
struct RowView {
    seq: i64,
    at: i64,
    kind: String,
    call_id: String,
    body: Value,
    user: String,
    device: String,
    tool: String,
    result: String,
    prev_hash: String,
    hash: String,
}

impl From<v1::AuditRow> for RowView {
    fn from(row: v1::AuditRow) -> Self {
        let v1::AuditRow {
            seq,
            at,
            kind,
            call_id,
            body,
            prev_hash,
            hash,
            user,
            device,
            tool,
            result,
        } = row;
        let body = json::embedded(&body);
        let (prev_hash, hash) = (text::hex(&prev_hash), text::hex(&hash));
        Self { seq, at, kind, call_id, body, user, device, tool, result, prev_hash, hash }
    }
}

impl Audit {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such row, the chain is broken, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        match self.what {
            AuditCommand::List(command) => command.run(app).await,
            AuditCommand::Show { seq } => {
                let client = app.signed_in().await?;
                let request =
                    v1::ListAuditRequest { limit: 1, before_seq: seq + 1, ..Default::default() };
                let rows = client.ask(client.audit().list_audit(request)).await?.rows;
                let row = rows.into_iter().map(RowView::from).find(|row| row.seq == seq);
                let row = row.ok_or_else(|| {
                    Failure::NotFound(format!("there is no row {seq}"))
                        .hint(Hint::run("list the newest rows", "orion audit list"))
                })?;
                app.out.show(&row, || page(app.out, &row))?;
                Ok(0)
            }
            AuditCommand::Export(command) => command.run(app).await,
            AuditCommand::Key(command) => command.run(app).await,
            AuditCommand::Verify(command) => command.run(app).await,
        }
    }
}

fn rows_table(out: &Output, rows: &[RowView]) -> String {
    let mut header = vec!["SEQ", "AT", "WHO", "WHAT", "DEVICE", "TOOL", "RESULT"];
    if out.is_wide() {
        header.extend(["CALL", "BODY"]);
    }
    let row = |row: &RowView| {
        let mut cells = vec![
            row.seq.to_string(),
            text::when(&out.zone, row.at),
            row.user.clone(),
            row.kind.clone(),
            row.device.clone(),
            row.tool.clone(),
            row.result.clone(),
        ];
        if out.is_wide() {
            cells.push(row.call_id.clone());
            cells.push(text::one_line(&row.body.to_string(), usize::MAX));
        }
        cells
    };
    table(&header, rows.iter().map(row))
}

fn page(out: &Output, row: &RowView) -> String {
    facts([
        ("seq", row.seq.to_string()),
        ("at", text::when(&out.zone, row.at)),
        ("what", row.kind.clone()),
        ("who", row.user.clone()),
        ("device", row.device.clone()),
        ("tool", row.tool.clone()),
        ("result", row.result.clone()),
        ("call", row.call_id.clone()),
        ("body", format!("{:#}", row.body)),
        ("previous hash", row.prev_hash.clone()),
        ("hash", row.hash.clone()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;

    #[test]
    fn rows_stand_in_a_table_and_one_row_is_shown_whole() {
        let out = Output::in_a_test(Format::Table);
        let row = RowView::from(v1::AuditRow {
            seq: 7,
            at: 1_700_000_000_000,
            kind: "call.opened".to_owned(),
            call_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e".to_owned(),
            body: r#"{"tool":"read_file","device":"demo-device"}"#.to_owned(),
            prev_hash: vec![0; 32].into(),
            hash: vec![0xab; 32].into(),
            user: "ann".to_owned(),
            device: "demo-device".to_owned(),
            tool: "read_file".to_owned(),
            result: "allow".to_owned(),
        });
        insta::assert_snapshot!(page(&out, &row), @r#"
        seq            7
        at             2023-11-14 22:13:20
        what           call.opened
        who            ann
        device         demo-device
        tool           read_file
        result         allow
        call           0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e
        body           {
                         "device": "demo-device",
                         "tool": "read_file"
                       }
        previous hash  0000000000000000000000000000000000000000000000000000000000000000
        hash           abababababababababababababababababababababababababababababababab
        "#);
        insta::assert_snapshot!(rows_table(&out, &[row]), @r#"
        SEQ  AT                   WHO  WHAT         DEVICE       TOOL       RESULT
        7    2023-11-14 22:13:20  ann  call.opened  demo-device  read_file  allow
        "#);
    }
}
