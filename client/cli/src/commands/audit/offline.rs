//! Verifies an export without its backend, and compares it with devices' exports.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;

use orion_audit::device::SignedChain;
use orion_audit::{ExportVerifier, Join, Problem, Proven, VerifierKey};
use orion_domain::audit::AuditRow;

use super::verdict::{DeviceView, JoinedView, SinceView, Verdict};
use crate::failure::Failure;

/// The maximum length of a line in an export, in bytes.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// The files to verify.
#[derive(Debug)]
pub(super) struct Files {
    /// The backend's export.
    pub(super) export: Lines,
    /// An older export.
    pub(super) since: Option<Lines>,
    /// Exports of devices.
    pub(super) devices: Vec<(PathBuf, Vec<u8>)>,
    /// The known key of the backend.
    pub(super) key: Option<VerifierKey>,
}

/// A file of lines.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

/// Verifies all files.
pub(super) fn verify(files: Files) -> Result<Verdict, Failure> {
    let Files { export, since, devices, key } = files;
    let is_joined = !devices.is_empty();
    let DeviceExports { chains, made, mut problems } = sides(devices);
    let mut verifier = ExportVerifier::new(key.clone());
    let mut before = None;
    if let Some(older) = since {
        let path = older.path.display().to_string();
        match follow(older, ExportVerifier::new(key), |_| ())? {
            Ok(older) => {
                verifier = ExportVerifier::since(&older);
                before = Some(SinceView { rows: older.rows, made_at: older.at });
            }
            Err(mut broken) => {
                broken.problem = broken.problem.map(|problem| format!("{path}: {problem}"));
                return Ok(broken);
            }
        }
    }
    let mut join = Join::new(chains);
    let proven = match follow(export, verifier, |row| join.row(row))? {
        Ok(proven) => proven,
        Err(broken) => return Ok(broken),
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
            devices: made,
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
        since: before,
        joined,
        ..Verdict::default()
    })
}

/// The exports of devices, and the problems of those that are incomplete or unsigned.
#[derive(Debug, Default)]
struct DeviceExports {
    chains: Vec<SignedChain>,
    made: Vec<DeviceView>,
    problems: Vec<String>,
}

fn sides(devices: Vec<(PathBuf, Vec<u8>)>) -> DeviceExports {
    let (mut sides, mut known) = (DeviceExports::default(), BTreeSet::new());
    for (path, text) in devices {
        match SignedChain::read(&text) {
            // Only one export of a device could be compared, and the other would seem to have been.
            Ok(signed) if !known.insert(signed.chain.header.device.clone()) => {
                let problem = format!("{}: this device is there already", path.display());
                sides.problems.push(problem);
            }
            Ok(signed) => {
                let SignedChain { chain, at, key: _ } = &signed;
                sides.made.push(DeviceView {
                    file: path.display().to_string(),
                    first: chain.header.from.seq.saturating_add(1),
                    last: chain.head().seq,
                    made_at: *at,
                });
                sides.chains.push(signed);
            }
            Err(problem) => sides.problems.push(format!("{}: {problem}", path.display())),
        }
    }
    sides
}

/// Verifies one export and passes each row to `take`. Returns what the export proves, or where it is
/// broken.
fn follow(
    lines: Lines,
    mut verifier: ExportVerifier,
    mut take: impl FnMut(&AuditRow),
) -> Result<Result<Proven, Verdict>, Failure> {
    let Lines { path, file } = lines;
    let mut lines = BufReader::new(file);
    let mut rows = 0;
    let broken = |rows, problem: &Problem| Verdict {
        rows,
        broken_seq: Some(problem.seq()),
        problem: Some(problem.to_string()),
        ..Verdict::default()
    };
    loop {
        let mut line = Vec::new();
        let read =
            (&mut lines).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).map_err(|error| {
                Failure::Failed(format!("{} cannot be read: {error}", path.display()))
            })?;
        if read == 0 {
            break;
        }
        match verifier.line(&line) {
            Ok(Some(row)) => {
                take(&row);
                rows = row.seq;
            }
            Ok(None) => {}
            Err(problem) => return Ok(Err(broken(rows, &problem))),
        }
    }
    Ok(verifier.finish().map_err(|problem| broken(rows, &problem)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::audit::verify::people;
    use jiff::tz::TimeZone;
    use orion_audit::device::{ChainHeader, DeviceChain, DeviceSigner};
    use orion_audit::{Exporter, Signer};
    use orion_domain::audit::AuditHead;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};

    fn signer() -> Signer {
        Signer::from_pkcs8(&Signer::generate().unwrap()).unwrap()
    }

    fn lines(length: i64) -> Vec<String> {
        signed(&signer(), length, "n")
    }

    /// Returns an export with this many rows, the last of them with this body.
    fn signed(signer: &Signer, length: i64, last: &str) -> Vec<String> {
        let mut head = AuditHead::EMPTY;
        let mut tree = orion_audit::merkle::Tree::default();
        let rows: Vec<_> = (1..=length)
            .map(|n| {
                let body = format!("{{\"{}\":{n}}}", if n == length { last } else { "n" });
                let row = AuditRow::link(head, n, "call.opened", "c", body);
                head = row.head();
                tree.push(orion_audit::merkle::leaf(&row.canonical()));
                row
            })
            .collect();
        let (mut exporter, first) = Exporter::begin(signer, head, 7_000);
        let mut lines = vec![first];
        lines.extend(rows.iter().map(|row| exporter.row(row)));
        lines.push(exporter.end(signer, Some(tree.root())));
        lines
    }

    fn file(lines: &[String]) -> Lines {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, lines.concat().as_bytes()).unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        Lines { path: PathBuf::from("audit.jsonl"), file }
    }

    fn with_devices(lines: &[String], devices: Vec<(PathBuf, Vec<u8>)>) -> Verdict {
        verify(Files { export: file(lines), since: None, devices, key: None }).unwrap()
    }

    fn verified(lines: &[String]) -> Verdict {
        with_devices(lines, Vec::new())
    }

    fn plain(verdict: &Verdict) -> String {
        anstream::adapter::strip_str(&people(verdict, &TimeZone::UTC)).to_string()
    }

    #[test]
    fn a_whole_export_counts_its_rows_and_shows_its_head() {
        let verdict = verified(&lines(5));
        assert_eq!((verdict.whole, verdict.rows, verdict.head.len()), (true, 5, 64));
        let shown = plain(&verdict);
        let head = &verdict.head[..12];
        let made = "made 1970-01-01 00:00:07";
        assert_eq!(
            shown,
            format!("Audit log intact: 5 entries, 1 signed checkpoint, head {head}, {made}")
        );
        assert!(verified(&lines(0)).whole);
    }

    #[test]
    fn an_export_has_to_go_on_from_an_older_one() {
        let key = signer();
        let since = |newer: &[String], older: &[String]| {
            let (export, since) = (file(newer), Some(file(older)));
            verify(Files { export, since, devices: Vec::new(), key: None }).unwrap()
        };
        let newer = signed(&key, 5, "n");
        for length in [0, 1, 4, 5] {
            let verdict = since(&newer, &signed(&key, length, "n"));
            assert_eq!(verdict.since, Some(SinceView { rows: length, made_at: 7_000 }));
            let shown = plain(&verdict);
            assert!(shown.contains("goes on from the older export: "), "{shown}");
        }
        let problem = |newer: &[String], older: &[String]| {
            let verdict = since(newer, older);
            assert!(!verdict.whole && verdict.since.is_none());
            (verdict.broken_seq.unwrap(), verdict.problem.unwrap())
        };
        let (row, why) = problem(&newer, &signed(&key, 3, "m"));
        assert!(row == 3 && why.contains("rewritten since"), "{why}");
        let (row, why) = problem(&newer, &signed(&key, 6, "n"));
        assert!(row == 5 && why.contains("the older one has 6 rows"), "{why}");
        let (row, why) = problem(&newer, &lines(3));
        assert!(row == 0 && why.contains("or than the older export"), "{why}");
        let mut broken = signed(&key, 4, "n");
        broken.remove(2);
        let (row, why) = problem(&newer, &broken);
        assert!(row == 3 && why.starts_with("audit.jsonl: row 3: "), "{why}");
    }

    #[test]
    fn exports_of_devices_are_shown_by_their_time_and_each_device_is_joined_once() {
        let chain = || DeviceChain {
            header: ChainHeader::new("kiosk", AuditHead::EMPTY),
            entries: Vec::new(),
        };
        let random = ring::rand::SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let device = DeviceSigner::from_pkcs8(key.unwrap().as_ref()).unwrap();
        let text = device.export(&chain(), 8_000).unwrap().into_bytes();
        let devices = [1, 2].map(|n| (PathBuf::from(format!("{n}.jsonl")), text.clone())).to_vec();
        let verdict = with_devices(&lines(2), devices);
        let shown = plain(&verdict);
        assert!(shown.contains("1.jsonl: no entries, made 1970-01-01 00:00:08"), "{shown}");
        let never = "device kiosk: the backend's audit log has no enrolment of this device";
        let problems = verdict.joined.unwrap().problems;
        assert_eq!(problems, ["2.jsonl: this device is there already", never]);
        // An unsigned export is compared with nothing.
        let unsigned = chain().to_lines() + "{\"head\":{}}\n";
        let devices = vec![(PathBuf::from("kiosk.jsonl"), unsigned.into_bytes())];
        let problems = with_devices(&lines(2), devices).joined.unwrap().problems;
        assert!(problems[0].contains("is not signed"), "{problems:?}");
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
