//! `orion audit export`: the chain as lines of JSON, each row as it was hashed, the head last.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use orion_domain::Digest;
use orion_domain::audit::{AuditHead, AuditRow};
use orion_wire::v1;
use orion_wire::v1::export_audit_response::Message;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::hashed;
use crate::app::App;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::terminal::Waiting;
use crate::text;

/// Writes every row, one line of JSON each, and the head last.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion audit export --file audit.jsonl
  orion audit export | gzip > audit.jsonl.gz

`orion audit verify --file audit.jsonl` follows the chain without any backend.")]
pub(crate) struct Export {
    /// Where to; standard output when nothing is said
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// One line of an export.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    /// The last.
    Head {
        /// Where the chain ends.
        head: AuditHead,
    },
    /// All others.
    Row(AuditRow),
}

impl Export {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, the stream ends before the head, or the file cannot be written.
    pub(super) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let mut rows = client.ask(client.audit().export_audit(v1::ExportAuditRequest {})).await?;
        let mut target = match &self.file {
            Some(path) => Some(Target::beside(path)?),
            None => None,
        };
        let _waiting = self.file.is_some().then(|| Waiting::on(app.out, "exporting"));
        while let Some(v1::ExportAuditResponse { message }) = rows.message().await? {
            let line = match message {
                Some(Message::Row(row)) => Line::Row(hashed(row)?),
                Some(Message::Head(v1::AuditHead { seq, hash })) => {
                    let hash = Digest::from_slice(&hash)
                        .ok_or_else(|| Failure::Failed("the head's hash is no hash".to_owned()))?;
                    Line::Head { head: AuditHead { seq, hash } }
                }
                None => continue,
            };
            let text = serde_json::to_string(&line)
                .map_err(|error| Failure::Failed(format!("a row cannot be written: {error}")))?;
            match &mut target {
                Some(target) => target.write(&text)?,
                None => app.out.line(&text)?,
            }
            if let Line::Head { head } = line {
                if let Some(target) = target {
                    target.finish()?;
                    let rows = text::counted(head.seq, "row", "rows");
                    app.out.note(&format!("{GOOD}✓{GOOD:#} {rows}"));
                }
                return Ok(0);
            }
        }
        Err(Failure::Failed("the export broke off before its head; run it again".to_owned()))
    }
}

/// A file that appears whole or not at all, for its owner alone.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    file: std::io::BufWriter<NamedTempFile>,
}

impl Target {
    fn beside(path: &Path) -> Result<Self, Failure> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            Some(_) | None => Path::new("."),
        };
        let path = path.to_owned();
        match NamedTempFile::new_in(folder) {
            Ok(file) => Ok(Self { path, file: std::io::BufWriter::new(file) }),
            Err(error) => Err(unwritable(&path, &error)),
        }
    }

    fn write(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.file, "{line}").map_err(|error| unwritable(&self.path, &error))
    }

    fn finish(self) -> Result<(), Failure> {
        let Self { path, file } = self;
        let finish = || {
            let file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok::<(), std::io::Error>(())
        };
        finish().map_err(|error| unwritable(&path, &error))
    }
}

fn unwritable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("{} cannot be written: {error}", path.display()))
}
