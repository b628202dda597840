//! `orion audit`: shows, exports and verifies the audit log.

mod export;
mod key;
mod offline;
mod verdict;
mod verify;

use clap::{Args, Subcommand};
use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::client::Client;
use crate::failure::Failure;
use crate::json;
use crate::output::{Output, facts, table};
use crate::text;

/// The audit log of everything that happened.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion audit list --limit 20
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
    #[command(after_help = "Example:\n  orion audit list --limit 20 -o wide")]
    List {
        /// At most this many
        #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        /// Only rows before this one
        #[arg(long, value_name = "SEQ", default_value_t = 0)]
        before: i64,
        /// Only rows about this call; the id may be shortened
        #[arg(long, value_name = "ID")]
        call: Option<String>,
    },
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
    prev_hash: String,
    hash: String,
}

impl From<v1::AuditRow> for RowView {
    fn from(row: v1::AuditRow) -> Self {
        let v1::AuditRow { seq, at, kind, call_id, body, prev_hash, hash } = row;
        let body = json::embedded(&body);
        let (prev_hash, hash) = (text::hex(&prev_hash), text::hex(&hash));
        Self { seq, at, kind, call_id, body, prev_hash, hash }
    }
}

impl Audit {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such row, the chain is broken, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        match self.what {
            AuditCommand::List { limit, before, call } => {
                let client = app.signed_in().await?;
                let rows = rows(client, limit, before, call.unwrap_or_default()).await?;
                if rows.is_empty() {
                    app.out.note("there are no such rows");
                }
                app.out.show(&rows, || rows_table(app.out, &rows))?;
                Ok(0)
            }
            AuditCommand::Show { seq } => {
                let client = app.signed_in().await?;
                let rows = rows(client, 1, seq + 1, String::new()).await?;
                let row = rows
                    .into_iter()
                    .find(|row| row.seq == seq)
                    .ok_or_else(|| Failure::NotFound(format!("there is no row {seq}")))?;
                app.out.show(&row, || page(app.out, &row))?;
                Ok(0)
            }
            AuditCommand::Export(command) => command.run(app).await,
            AuditCommand::Key(command) => command.run(app).await,
            AuditCommand::Verify(command) => command.run(app).await,
        }
    }
}

async fn rows(
    client: &Client,
    limit: u32,
    before_seq: i64,
    call_id: String,
) -> Result<Vec<RowView>, Failure> {
    let request = v1::ListAuditRequest { limit, before_seq, call_id };
    let list = client.ask(client.audit().list_audit(request)).await?;
    Ok(list.rows.into_iter().map(RowView::from).collect())
}

fn rows_table(out: &Output, rows: &[RowView]) -> String {
    let width = if out.is_wide() { 400 } else { 72 };
    table(
        &["SEQ", "AT", "WHAT", "CALL", "BODY"],
        rows.iter().map(|row| {
            let call = if out.is_wide() { &row.call_id } else { text::short_id(&row.call_id) };
            vec![
                row.seq.to_string(),
                text::when(&out.zone, row.at),
                row.kind.clone(),
                call.to_owned(),
                text::one_line(&row.body.to_string(), width),
            ]
        }),
    )
}

fn page(out: &Output, row: &RowView) -> String {
    facts([
        ("seq", row.seq.to_string()),
        ("at", text::when(&out.zone, row.at)),
        ("what", row.kind.clone()),
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
    use jiff::tz::TimeZone;

    #[test]
    fn rows_stand_in_a_table_and_one_row_is_shown_whole() {
        let out =
            Output { format: Format::Table, quiet: false, verbose: false, zone: TimeZone::UTC };
        let row = RowView::from(v1::AuditRow {
            seq: 7,
            at: 1_700_000_000_000,
            kind: "call.opened".to_owned(),
            call_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e".to_owned(),
            body: r#"{"tool":"read_file","device":"demo-device"}"#.to_owned(),
            prev_hash: vec![0; 32].into(),
            hash: vec![0xab; 32].into(),
        });
        insta::assert_snapshot!(page(&out, &row), @r#"
        seq            7
        at             2023-11-14 22:13:20
        what           call.opened
        call           0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e
        body           {
                         "device": "demo-device",
                         "tool": "read_file"
                       }
        previous hash  0000000000000000000000000000000000000000000000000000000000000000
        hash           abababababababababababababababababababababababababababababababab
        "#);
        insta::assert_snapshot!(rows_table(&out, &[row]), @r#"
        SEQ  AT                   WHAT         CALL                BODY
        7    2023-11-14 22:13:20  call.opened  0199b2c4-7f3e-7c11  {"device":"demo-device","tool":"read_file"}
        "#);
    }
}
