//! An export followed without its backend, beside the exports of devices.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;

use orion_audit::device::DeviceChain;
use orion_audit::{ExportVerifier, Join, Problem, VerifierKey};

use super::verify::{JoinedView, Verdict};
use crate::failure::Failure;

/// The longest line of an export, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// What is looked at.
#[derive(Debug)]
pub(super) struct Files {
    /// The backend's export.
    pub(super) export: File,
    /// Where it lies.
    pub(super) path: PathBuf,
    /// Exports of devices.
    pub(super) devices: Vec<(PathBuf, Vec<u8>)>,
    /// The key that is known.
    pub(super) key: Option<VerifierKey>,
}

/// Follows all of it.
pub(super) fn verify(files: Files) -> Result<Verdict, Failure> {
    let Files { export, path, devices, key } = files;
    let (mut chains, mut problems, mut known) = (Vec::new(), Vec::new(), BTreeSet::new());
    let is_joined = !devices.is_empty();
    for (path, text) in devices {
        match DeviceChain::read(&text, true) {
            // Only one of them could be joined, and the other would seem to have been.
            Ok(chain) if !known.insert(chain.header.device.clone()) => {
                problems.push(format!("{}: this device is there already", path.display()));
            }
            Ok(chain) => chains.push(chain),
            Err(problem) => problems.push(format!("{}: {problem}", path.display())),
        }
    }
    let mut join = Join::new(chains);
    let mut verifier = ExportVerifier::new(key);
    let mut lines = BufReader::new(export);
    let mut rows = 0;
    let broken = |rows, problem: &Problem| Verdict {
        rows,
        broken_seq: Some(problem.seq()),
        problem: Some(problem.to_string()),
        ..Verdict::default()
    };
    loop {
        let mut line = Vec::new();
        let read = (&mut lines).take(LONGEST).read_until(b'\n', &mut line).map_err(|error| {
            Failure::Failed(format!("{} cannot be read: {error}", path.display()))
        })?;
        if read == 0 {
            break;
        }
        match verifier.line(&line) {
            Ok(Some(row)) => {
                join.row(&row);
                rows = row.seq;
            }
            Ok(None) => {}
            Err(problem) => return Ok(broken(rows, &problem)),
        }
    }
    let proven = match verifier.finish() {
        Ok(proven) => proven,
        Err(problem) => return Ok(broken(rows, &problem)),
    };
    let joined = is_joined.then(|| {
        let joined = join.finish();
        problems.extend(joined.problems.iter().map(ToString::to_string));
        JoinedView {
            calls: joined.calls,
            pending: joined.pending,
            before: joined.before,
            forgotten: joined.forgotten,
            heads: joined.heads,
            problems,
        }
    });
    Ok(Verdict {
        whole: true,
        rows: proven.rows,
        head: proven.head.hash.to_string(),
        checkpoints: proven.checkpoints,
        key: proven.key.to_string(),
        made_at: Some(proven.at),
        joined,
        ..Verdict::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::audit::verify::people;
    use jiff::tz::TimeZone;
    use orion_audit::device::{ChainHeader, DeviceChain};
    use orion_audit::{Exporter, Signer};
    use orion_domain::audit::{AuditHead, AuditRow};

    fn lines(length: i64) -> Vec<String> {
        let signer = Signer::from_pkcs8(&Signer::generate().unwrap()).unwrap();
        let mut head = AuditHead::EMPTY;
        let mut tree = orion_audit::merkle::Tree::default();
        let rows: Vec<_> = (1..=length)
            .map(|n| {
                let body = format!("{{\"n\":{n}}}");
                let row = AuditRow::link(head, n, "call.opened", "c", body);
                head = row.head();
                tree.push(orion_audit::merkle::leaf(&row.canonical()));
                row
            })
            .collect();
        let (mut exporter, first) = Exporter::begin(&signer, head, 7_000);
        let mut lines = vec![first];
        lines.extend(rows.iter().map(|row| exporter.row(row)));
        lines.push(exporter.end(&signer, Some(tree.root())));
        lines
    }

    fn verified(lines: &[String]) -> Verdict {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        std::fs::write(&path, lines.concat()).unwrap();
        let export = File::open(&path).unwrap();
        verify(Files { export, path, devices: Vec::new(), key: None }).unwrap()
    }

    #[test]
    fn a_whole_export_counts_its_rows_and_shows_its_head() {
        let verdict = verified(&lines(5));
        assert_eq!((verdict.whole, verdict.rows, verdict.head.len()), (true, 5, 64));
        let shown = people(&verdict, &TimeZone::UTC);
        let shown = anstream::adapter::strip_str(&shown).to_string();
        let head = &verdict.head[..12];
        let made = "made 1970-01-01 00:00:07";
        assert_eq!(shown, format!("whole: 5 rows, 1 signed checkpoint, head {head}, {made}"));
        assert!(verified(&lines(0)).whole);
    }

    #[test]
    fn two_exports_of_one_device_are_told_and_do_not_stand_for_one_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        std::fs::write(&path, lines(2).concat()).unwrap();
        let header = ChainHeader::new("kiosk", AuditHead::EMPTY);
        let text = DeviceChain { header, entries: Vec::new() }.to_export().into_bytes();
        let devices = [1, 2].map(|n| (PathBuf::from(format!("{n}.jsonl")), text.clone())).to_vec();
        let export = File::open(&path).unwrap();
        let verdict = verify(Files { export, path, devices, key: None }).unwrap();
        let problems = verdict.joined.unwrap().problems;
        assert_eq!(problems, ["2.jsonl: this device is there already"]);
    }

    #[test]
    fn every_change_of_an_export_is_found_and_its_row_named() {
        let whole = lines(5);
        let seq = |lines: &[String]| {
            let verdict = verified(lines);
            assert!(!verdict.whole);
            let shown = people(&verdict, &TimeZone::UTC);
            assert!(shown.contains(&format!("row {}", verdict.broken_seq.unwrap())), "{shown}");
            verdict.broken_seq
        };
        let mut edited = whole.clone();
        edited[3] = edited[3].replace("\\\"n\\\":3", "\\\"n\\\":4");
        assert_eq!(seq(&edited), Some(3));
        let mut removed = whole.clone();
        removed.remove(2);
        assert_eq!(seq(&removed), Some(3));
        let mut cut = whole.clone();
        cut.remove(5);
        assert_eq!(seq(&cut), Some(4));
        assert_eq!(seq(&whole[..6]), Some(5));
        let mut added = whole.clone();
        added.push(whole[5].clone());
        assert_eq!(seq(&added), Some(6));
        let mut garbled = whole;
        garbled[2] = "{\n".to_owned();
        assert_eq!(seq(&garbled), Some(2));
    }
}
