//! `orion audit verify`: follows the chain, at the backend, in its data folder, or in an export.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use orion_domain::audit::Verifier;
use orion_wire::v1;
use serde::Serialize;

use super::export::Line;
use crate::app::App;
use crate::client::within;
use crate::commands::demo::sibling;
use crate::failure::Failure;
use crate::output::{BAD, GOOD};
use crate::terminal::Waiting;
use crate::text;

/// The longest line of an export, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;
/// How long following the chain may take when nothing is said.
const PATIENCE: Duration = Duration::from_secs(600);

/// Follows the whole chain.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion audit verify
  orion audit verify --file audit.jsonl

Without an answer from a backend of this machine, its data folder is read by `orion-server audit
verify`. The exit code is 1 where the chain is broken; the row is named.")]
pub(crate) struct Verify {
    /// An export, followed here, without any backend
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// What following the chain found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Verdict {
    whole: bool,
    rows: i64,
    head: String,
    broken_seq: Option<i64>,
    problem: Option<String>,
}

impl Verify {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, or neither the backend nor its data folder nor the file can be read.
    pub(super) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        if let Some(path) = self.file {
            return print(app, &export(&path)?);
        }
        let verified = async {
            let client = app.signed_in().await?;
            let _waiting = Waiting::on(app.out, "following the chain");
            let request = v1::VerifyAuditRequest {};
            within(app.timeout.unwrap_or(PATIENCE), client.audit().verify_audit(request)).await
        };
        match (verified.await, &app.context.file.data_dir) {
            (Ok(answer), _) => {
                let v1::VerifyAuditResponse { whole, rows, broken_seq, problem, head } = answer;
                print(
                    app,
                    &Verdict {
                        whole,
                        rows,
                        head: text::hex(&head),
                        broken_seq: (!whole).then_some(broken_seq),
                        problem: (!whole).then_some(problem),
                    },
                )
            }
            (Err(failure @ Failure::Unreachable { .. }), Some(data_dir)) => {
                app.out.note(&format!("{failure}"));
                app.out.note(&format!("reading {} itself", data_dir.display()));
                data_folder(app, data_dir).await
            }
            (Err(failure), _) => Err(failure),
        }
    }
}

/// Has the backend's own program read the data folder, and passes on what it says.
async fn data_folder(app: &App<'_>, data_dir: &Path) -> Result<u8, Failure> {
    let program = match &app.context.file.server_binary {
        Some(program) => program.clone(),
        None => sibling("orion-server")?,
    };
    #[expect(clippy::disallowed_methods, reason = "the backend's own program reads its folder")]
    let mut command = tokio::process::Command::new(&program);
    command.args(["audit", "verify", "--data-dir"]).arg(data_dir).stdin(Stdio::null());
    let status = command.kill_on_drop(true).status().await.map_err(|error| {
        Failure::Failed(format!("{} cannot be started: {error}", program.display()))
    })?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Follows an export.
fn export(path: &Path) -> Result<Verdict, Failure> {
    let file = File::open(path).map_err(|error| {
        let message = format!("{} cannot be opened: {error}", path.display());
        if error.kind() == std::io::ErrorKind::NotFound {
            Failure::NotFound(message)
        } else {
            Failure::Failed(message)
        }
    })?;
    let mut lines = BufReader::new(file);
    let mut verifier = Verifier::new();
    let mut last = (0, String::new());
    let broken = |rows, seq, problem: String| Verdict {
        whole: false,
        rows,
        head: String::new(),
        broken_seq: Some(seq),
        problem: Some(problem),
    };
    let mut verdict = None;
    let mut number = 0_u64;
    loop {
        let mut line = Vec::new();
        number += 1;
        let read = (&mut lines).take(LONGEST).read_until(b'\n', &mut line).map_err(|error| {
            Failure::Failed(format!("{} cannot be read: {error}", path.display()))
        })?;
        if read == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if verdict.is_some() {
            let problem = "rows follow after the head; they were added".to_owned();
            return Ok(broken(last.0, last.0 + 1, problem));
        }
        match serde_json::from_slice(&line) {
            Ok(Line::Row(row)) => {
                if let Err(problem) = verifier.next(&row) {
                    return Ok(broken(last.0, problem.seq(), problem.to_string()));
                }
                last = (row.seq, row.hash.to_string());
            }
            Ok(Line::Head { head }) => {
                verdict = Some(match verifier.finish(head) {
                    Ok(rows) => Verdict {
                        whole: true,
                        rows,
                        head: head.hash.to_string(),
                        broken_seq: None,
                        problem: None,
                    },
                    Err(problem) => broken(last.0, problem.seq(), problem.to_string()),
                });
            }
            Err(_) => {
                let seq = last.0 + 1;
                let problem = format!("row {seq}: line {number} of the file is no row");
                return Ok(broken(last.0, seq, problem));
            }
        }
    }
    Ok(verdict.unwrap_or_else(|| {
        let problem = format!("row {}: the file ends here without its head; it was cut", last.0);
        broken(last.0, last.0, problem)
    }))
}

fn print(app: &App<'_>, verdict: &Verdict) -> Result<u8, Failure> {
    app.out.show(verdict, || people(verdict))?;
    Ok(if verdict.whole { 0 } else { 1 })
}

fn people(verdict: &Verdict) -> String {
    if verdict.whole {
        let head = verdict.head.get(..12).unwrap_or(&verdict.head);
        let rows = text::counted(verdict.rows, "row", "rows");
        return format!("{GOOD}whole{GOOD:#}: {rows}, head {head}");
    }
    let seq = verdict.broken_seq.unwrap_or(0);
    let problem = text::plain(verdict.problem.as_deref().unwrap_or_default());
    let named = format!("row {seq}");
    let problem = if problem.contains(&named) { problem } else { format!("{named}: {problem}") };
    format!("{BAD}broken{BAD:#}: {problem}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use orion_domain::audit::{AuditHead, AuditRow};

    fn lines(length: i64) -> Vec<String> {
        let mut head = AuditHead::EMPTY;
        let mut lines: Vec<_> = (1..=length)
            .map(|n| {
                let body = format!("{{\"n\":{n}}}");
                let row = AuditRow::link(head, n, "call.opened", "c", body);
                head = row.head();
                serde_json::to_string(&Line::Row(row)).unwrap()
            })
            .collect();
        lines.push(serde_json::to_string(&Line::Head { head }).unwrap());
        lines
    }

    fn verify(lines: &[String]) -> Verdict {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        std::fs::write(&path, lines.join("\n")).unwrap();
        export(&path).unwrap()
    }

    #[test]
    fn a_whole_export_counts_its_rows_and_shows_its_head() {
        let verdict = verify(&lines(5));
        assert_eq!((verdict.whole, verdict.rows, verdict.head.len()), (true, 5, 64));
        let shown = anstream::adapter::strip_str(&people(&verdict)).to_string();
        assert_eq!(shown, format!("whole: 5 rows, head {}", &verdict.head[..12]));
        assert!(verify(&lines(0)).whole);
    }

    #[test]
    fn every_change_of_an_export_is_found_and_its_row_named() {
        let whole = lines(5);
        let seq = |lines: &[String]| {
            let verdict = verify(lines);
            assert!(!verdict.whole);
            let shown = people(&verdict);
            assert!(shown.contains(&format!("row {}", verdict.broken_seq.unwrap())), "{shown}");
            verdict.broken_seq
        };
        let mut edited = whole.clone();
        edited[2] = edited[2].replace("\\\"n\\\":3", "\\\"n\\\":4");
        assert_eq!(seq(&edited), Some(3));
        let mut removed = whole.clone();
        removed.remove(1);
        assert_eq!(seq(&removed), Some(3));
        let mut cut = whole.clone();
        cut.remove(4);
        assert_eq!(seq(&cut), Some(4));
        assert_eq!(seq(&whole[..5]), Some(5));
        let mut added = whole.clone();
        added.push(whole[4].clone());
        assert_eq!(seq(&added), Some(6));
        let mut garbled = whole;
        garbled[1] = "{".to_owned();
        assert_eq!(seq(&garbled), Some(2));
    }
}
