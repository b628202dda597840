//! `orion audit verify`: verifies the chain, at the backend, in its data folder, or in an export.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use jiff::tz::TimeZone;
use orion_audit::{NoteError, VerifierKey};
use orion_domain::Hint;
use orion_wire::v1;

use super::offline::{Files, Lines, verify};
use super::verdict::{DeviceView, JoinedView, SinceView, Verdict};
use crate::app::App;
use crate::client::within;
use crate::commands::demo::sibling;
use crate::failure::Failure;
use crate::input::{self, open};
use crate::output::{BAD, GOOD};
use crate::terminal::Spinner;
use crate::text;

/// The default timeout of a verification.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(600);

/// Follows the whole chain.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion audit verify
  orion audit verify --file audit.jsonl --key @audit.key.pub
  orion audit verify --file audit.jsonl --since audit-of-last-month.jsonl
  orion audit verify --file audit.jsonl --device kiosk.jsonl --device pi.jsonl

An export of a device is made there by `orion-agent audit export`, after the backend's.
With --since, the export has to hold all rows of the older one, and to be signed by the same key.

Without an answer from a backend of this machine, its data folder is read by `orion-server audit
verify`. The exit code is 1 where the chain is broken; the row is named.")]
pub(crate) struct Verify {
    /// An export, followed here, without any backend
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The key that the export must be signed with, as `orion audit key` printed it, or @FILE
    #[arg(long, value_name = "KEY", requires = "file")]
    key: Option<String>,
    /// An older export, which this one has to go on from
    #[arg(long, value_name = "OLDER", requires = "file")]
    since: Option<PathBuf>,
    /// A device's own export, to be joined with the backend's; may be given more than once
    #[arg(long, value_name = "FILE", requires = "file")]
    device: Vec<PathBuf>,
}

impl Verify {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, or neither the backend nor its data folder nor the file can be read.
    pub(super) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let Self { file, key, since, device } = self;
        if let Some(path) = file {
            let devices = device.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
            let key = key.map(|given| known_key(&given)).transpose()?;
            let is_pinned = key.is_some();
            let since = since.map(lines).transpose()?;
            let verdict = verify(Files { export: lines(path)?, since, devices, key })?;
            if verdict.whole && !is_pinned {
                app.out.note(&format!(
                    "signed by {}; compare that with `orion audit key`, or give it with --key",
                    verdict.key
                ));
            }
            return print(app, &verdict);
        }
        let verified = async {
            let client = app.signed_in().await?;
            let _waiting = Spinner::on(app.out, "following the chain");
            let request = v1::VerifyAuditRequest::default();
            within(app.timeout.unwrap_or(VERIFY_TIMEOUT), client.audit().verify_audit(request))
                .await
        };
        match (verified.await, &app.context.file.data_dir) {
            (Ok(answer), _) => print(app, &answered(answer, app)),
            (Err(failure @ Failure::Unreachable { .. }), Some(data_dir)) => {
                app.out.note(&text::plain(&failure.to_string()));
                app.out.note(&format!("reading {} itself", data_dir.display()));
                data_folder(app, data_dir).await
            }
            (Err(failure), _) => Err(failure),
        }
    }
}

/// Reads the key of `--key`.
fn known_key(given: &str) -> Result<VerifierKey, Failure> {
    let text = input::value(given)?;
    text.trim().parse().map_err(|error: NoteError| {
        let is_file = !given.starts_with('@') && std::path::Path::new(given).is_file();
        let hint = match is_file {
            true => Hint::new(format!("for the file of that name, write --key @{given}")),
            false => Hint::run("print the key", "orion audit key"),
        };
        Failure::Usage(format!("the value of --key: {error}")).hint(hint)
    })
}

fn answered(answer: v1::VerifyAuditResponse, app: &App<'_>) -> Verdict {
    let v1::VerifyAuditResponse {
        whole,
        rows,
        broken_seq,
        problem,
        head,
        checkpoints,
        key,
        device_problems,
        checked_at: _,
    } = answer;
    let describe = |problem: v1::DeviceChainProblem| {
        let v1::DeviceChainProblem { device, problem, at } = problem;
        format!("{device}: {problem} ({})", text::when(&app.out.zone, at))
    };
    Verdict {
        whole,
        rows,
        head: text::hex(&head),
        checkpoints,
        key,
        broken_seq: (!whole).then_some(broken_seq),
        problem: (!whole).then_some(problem),
        made_at: None,
        since: None,
        joined: None,
        device_problems: device_problems.into_iter().map(describe).collect(),
    }
}

/// Runs the backend's own program on the data folder, and returns its result.
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

fn lines(path: PathBuf) -> Result<Lines, Failure> {
    Ok(Lines { file: open(&path)?, path })
}

/// Reads a device's export, whose size is bounded where it is made.
fn read(path: &Path) -> Result<(PathBuf, Vec<u8>), Failure> {
    const MAX_BYTES: u64 = 256 * 1024 * 1024;
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(open(path)?, MAX_BYTES + 1), &mut text)
        .map_err(|error| Failure::Failed(format!("{} cannot be read: {error}", path.display())))?;
    if text.len() as u64 > MAX_BYTES {
        let why = "it is larger than 256 MiB, which no device's export is";
        return Err(Failure::Failed(format!("{} cannot be read: {why}", path.display())));
    }
    Ok((path.to_owned(), text))
}

fn print(app: &App<'_>, verdict: &Verdict) -> Result<u8, Failure> {
    app.out.show(verdict, || people(verdict, &app.out.zone))?;
    let fits = verdict.joined.as_ref().is_none_or(|joined| joined.problems.is_empty());
    if verdict.whole && fits {
        return Ok(0);
    }
    let is_no_export = verdict.problem.as_ref().is_some_and(|problem| problem.contains("line 1:"));
    if is_no_export {
        app.out.step(&Hint::run("name a file that this made", "orion audit export --file FILE"));
        app.out.step(&Hint::new("name a device's own export with --device, beside the backend's"));
    } else {
        app.out.step(&Hint::new("keep the files as they are, and compare with older exports; docs/audit.md says what each problem means"));
    }
    Ok(1)
}

pub(super) fn people(verdict: &Verdict, zone: &TimeZone) -> String {
    let mut lines = Vec::new();
    if verdict.whole {
        let head = verdict.head.get(..12).unwrap_or(&verdict.head);
        let rows = text::counted(verdict.rows, "entry", "entries");
        let signed = i64::try_from(verdict.checkpoints).unwrap_or(i64::MAX);
        let signed = text::counted(signed, "signed checkpoint", "signed checkpoints");
        let made = verdict.made_at.map(|at| format!(", made {}", text::when(zone, at)));
        let made = made.unwrap_or_default();
        lines.push(format!("{GOOD}Audit log intact{GOOD:#}: {rows}, {signed}, head {head}{made}"));
    } else {
        let seq = verdict.broken_seq.unwrap_or(0);
        let problem = text::plain(verdict.problem.as_deref().unwrap_or_default());
        let named = format!("row {seq}");
        let named = problem.contains(&named) || problem.contains("line 1:");
        let problem = if named { problem } else { format!("row {seq}: {problem}") };
        lines.push(format!("{BAD}broken{BAD:#}: {problem}"));
    }
    if let Some(SinceView { rows, made_at }) = verdict.since {
        let (rows, made) = (text::counted(rows, "row", "rows"), text::when(zone, made_at));
        lines.push(format!("{GOOD}goes on{GOOD:#} from the older export: {rows}, made {made}"));
    }
    if let Some(joined) = &verdict.joined {
        let JoinedView { calls, pending, before, forgotten, heads, devices, problems } = joined;
        let fits = if problems.is_empty() {
            format!("{GOOD}joined{GOOD:#}")
        } else {
            format!("{BAD}apart{BAD:#}")
        };
        let mut line = format!(
            "{fits}: {calls} calls the same on both sides, {heads} heads as the other side saw them, {pending} not told yet, {before} older than what the devices keep"
        );
        if *forgotten > 0 {
            line.push_str(&format!(
                ", {forgotten} that the backend has as unknown and the device noted the end of"
            ));
        }
        lines.push(line);
        for DeviceView { file, first, last, made_at } in devices {
            let (file, made) = (text::plain(file), text::when(zone, *made_at));
            let entries = if last < first {
                "no entries".to_owned()
            } else {
                format!("entries {first} to {last}")
            };
            lines.push(format!("  {file}: {entries}, made {made}"));
        }
        lines.extend(problems.iter().map(|problem| format!("  {}", text::plain(problem))));
    }
    for problem in &verdict.device_problems {
        lines.push(format!("{BAD}device{BAD:#} {}", text::plain(problem)));
    }
    lines.join("\n")
}
