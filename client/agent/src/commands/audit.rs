//! `orion-agent audit`: the device's own audit log, whether or not the agent runs.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Subcommand;
use orion_agent::chain::read;
use orion_agent::clock::{now_ms, shown};
use orion_agent::run::enrolled;
use orion_audit::device::{DeviceChain, DeviceEntry, DeviceSigner, Happened};
use orion_mtls::secret_file;

use super::print;

/// What can be asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Show the newest entries.
    Show {
        /// At most this many.
        #[arg(long, value_name = "COUNT", default_value_t = 20)]
        limit: usize,
    },
    /// Follow the whole chain, as far as it is kept.
    Verify,
    /// Write the chain as lines of JSON, signed with the device's key, for `orion audit verify --device FILE`.
    Export {
        /// Where to; standard output when nothing is said.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

pub(crate) fn run(state_dir: &Path, command: Audit) -> anyhow::Result<()> {
    let chain = read(state_dir)?.ok_or_else(|| {
        anyhow!(
            "there is no audit in {} yet; the agent begins one when it runs",
            state_dir.display()
        )
    })?;
    match command {
        Audit::Show { limit } => {
            let skipped = chain.entries.len().saturating_sub(limit);
            let lines: Vec<_> = chain.entries.iter().skip(skipped).map(line).collect();
            print(&if lines.is_empty() { "nothing yet".to_owned() } else { lines.join("\n") })
        }
        Audit::Verify => print(&describe(&chain)),
        Audit::Export { file: None } => {
            io::stdout().write_all(export(state_dir, &chain)?.as_bytes()).context("standard output")
        }
        Audit::Export { file: Some(file) } => {
            write_new(&file, &export(state_dir, &chain)?)?;
            print(&describe(&chain))
        }
    }
}

/// Writes an export for its owner only. An earlier one is not replaced, and no half of one stays.
fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    let opened = secret_file::private().write(true).create_new(true).open(path);
    let mut file = match opened {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => bail!(
            "{} exists, and an earlier export is not replaced; give another name to --file, or move that file away",
            path.display()
        ),
        opened => opened.with_context(|| path.display().to_string())?,
    };
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.with_context(|| {
        // What remains is no export. If it cannot be removed, its signature is missing.
        drop(std::fs::remove_file(path));
        path.display().to_string()
    })
}

fn export(state_dir: &Path, chain: &DeviceChain) -> anyhow::Result<String> {
    let identity = enrolled(state_dir)?;
    if chain.header.device != identity.device_id.to_string() {
        return Err(anyhow!(
            "the audit in {} is of the device that this one was before it enrolled again, whose key is gone, so that it can't be signed; once the agent runs it begins another",
            state_dir.display()
        ));
    }
    Ok(DeviceSigner::from_pkcs8(identity.key.to_pkcs8().expose())?.export(chain, now_ms())?)
}

fn describe(chain: &DeviceChain) -> String {
    let head = chain.head();
    let hash = head.hash.to_string();
    let head_hash = hash.get(..12).unwrap_or(&hash);
    if chain.entries.is_empty() {
        return format!("Audit log intact: no entries yet, head {head_hash}");
    }
    let from = chain.header.from.seq.saturating_add(1);
    format!("Audit log intact: entries {from} to {}, head {head_hash}", head.seq)
}

fn line(entry: &DeviceEntry) -> String {
    let DeviceEntry { seq, what: Happened { at, call_id, tool, state, code, .. }, .. } = entry;
    // The name may come from a lying backend, so control characters are removed.
    let tool: String = tool.chars().filter(|c| !orion_domain::is_hidden(*c)).collect();
    format!("{seq:>6}  {}  {call_id}  {tool:<18}  {state}  {code}", shown(*at))
        .trim_end()
        .to_owned()
}
