//! `orion audit export`: the chain as lines of JSON, each row as it was hashed, with the signed
//! checkpoints, and signed as a whole.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use orion_wire::v1;
use tempfile::NamedTempFile;

use crate::app::App;
use crate::failure::Failure;
use crate::input::unwritable;
use crate::output::GOOD;
use crate::terminal::Spinner;
use crate::text;

/// Writes every row, one line of JSON each, with the signed checkpoints.
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

impl Export {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, the stream is truncated, or the file cannot be written.
    pub(super) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let mut parts = client.ask(client.audit().export_audit(v1::ExportAuditRequest {})).await?;
        let mut target = match &self.file {
            Some(path) if path.exists() => return Err(exists(path)),
            Some(path) => Some(Target::beside(path)?),
            None => None,
        };
        let waiting = self.file.is_some().then(|| Spinner::on(app.out, "exporting"));
        let (mut rows, mut last) = (0_i64, Vec::new());
        while let Some(v1::ExportAuditResponse { lines }) = parts.message().await? {
            let text = std::str::from_utf8(&lines)
                .map_err(|_| Failure::Failed("the backend sent what is no text".to_owned()))?;
            for line in text.lines() {
                rows += i64::from(line.starts_with("{\"seq\":"));
                last = line.as_bytes().iter().copied().take(16).collect();
                match &mut target {
                    Some(target) => target.write(line)?,
                    None => app.out.bytes(&format!("{line}\n"))?,
                }
            }
        }
        drop(waiting);
        let is_signed = last.starts_with(b"{\"end\":");
        if !is_signed && !last.starts_with(b"{\"unsigned\":") {
            let why = "the export broke off before its end; run it again";
            return Err(Failure::Failed(why.to_owned()));
        }
        if let Some(target) = target {
            target.finish()?;
            let rows = text::counted(rows, "row", "rows");
            app.out.note(&format!("{GOOD}✓{GOOD:#} {rows}"));
        }
        if !is_signed {
            let why = "the backend did not sign this export; `orion audit verify` tells why";
            return Err(Failure::Failed(why.to_owned()));
        }
        Ok(0)
    }
}

/// An earlier export is the proof of what the log held then, and is not replaced.
fn exists(path: &Path) -> Failure {
    Failure::Conflict(format!("{} exists, and an earlier export is not replaced", path.display()))
        .hint("give another name to --file, or move that file away")
}

/// A file that is written atomically, for its owner only.
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
            file.persist_noclobber(&path)?;
            Ok::<(), std::io::Error>(())
        };
        finish().map_err(|error| {
            let is_there = error.kind() == std::io::ErrorKind::AlreadyExists;
            if is_there { exists(&path) } else { unwritable(&path, &error) }
        })
    }
}
