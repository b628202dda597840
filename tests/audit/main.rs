//! The audit away from its backend: both verifiers, Orion's own and an independent one in Python, take
//! what is whole and find every edit. `ORION_AUDIT_EDITS=50000` for the long form.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says by panicking what is wrong")]

mod edits;
mod sample;

use std::collections::BTreeMap;
use std::process::Command;

use orion_audit::device::SignedChain;
use orion_audit::{ExportVerifier, Join, Joined, VerifierKey};

use edits::Chance;
use sample::Sample;

/// How many edits are tried when nothing is said.
const EDITS: usize = 2_000;

fn count() -> usize {
    std::env::var("ORION_AUDIT_EDITS").map_or(EDITS, |text| text.parse().unwrap())
}

/// What `orion audit verify --file … --key … --device …` does with the files.
fn verify(key: Option<&VerifierKey>, export: &[u8], devices: &[Vec<u8>]) -> Result<Joined, String> {
    let exports = devices.iter().map(|text| SignedChain::read(text));
    let exports = exports.collect::<Result<Vec<_>, _>>().map_err(|problem| problem.to_string())?;
    let mut join = Join::new(exports);
    let mut verifier = ExportVerifier::new(key.cloned());
    for line in export.split_inclusive(|byte| *byte == b'\n') {
        if let Some(row) = verifier.line(line).map_err(|problem| problem.to_string())? {
            join.row(&row);
        }
    }
    verifier.finish().map_err(|problem| problem.to_string())?;
    let joined = join.finish();
    match joined.problems.first() {
        None => Ok(joined),
        Some(problem) => Err(problem.to_string()),
    }
}

fn python(sample: &Sample, more: &[&str]) -> (bool, String) {
    python_on(&sample.files(), more)
}

fn python_on(texts: &[Vec<u8>], more: &[&str]) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let path = folder.path().join(format!("{number}.jsonl"));
        std::fs::write(&path, text).unwrap();
        files.push(path);
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/audit/verify.py");
    #[expect(clippy::disallowed_methods, reason = "the second verifier is another program")]
    let output =
        Command::new("python3").arg(script).args(&files).args(more).output().unwrap_or_else(
            |error| panic!("python3 ({error}): install it with the system's packages"),
        );
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), format!("{said}{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn both_verifiers_take_what_is_whole() {
    let sample = Sample::new();
    let files = sample.files();
    let joined = verify(Some(&sample.key), &files[0], &files[1..]).unwrap();
    let (whole, said) = python(&sample, &["--key", &sample.key.to_string()]);
    assert!(whole, "{said}");
    let calls = format!("{} calls the same on both sides", joined.calls);
    assert!(said.contains(&calls) && joined.calls > 10, "{said}{joined:?}");
    assert_eq!((joined.pending, joined.before), (1, 0));
    assert!(joined.heads > 20, "{joined:?}");
    let other = Sample::new();
    assert!(verify(Some(&other.key), sample.export.as_bytes(), &[]).is_err());
    assert!(!python(&sample, &["--key", &other.key.to_string()]).0);
}

/// Somebody who has no key and takes one of their own makes a whole export of whatever they like: that
/// it is another key is what tells.
#[test]
fn an_export_signed_anew_is_whole_by_itself_and_not_by_the_known_key() {
    let sample = Sample::new();
    let forged = Sample::new();
    assert!(verify(None, forged.export.as_bytes(), &[]).is_ok());
    let problem = verify(Some(&sample.key), forged.export.as_bytes(), &[]).unwrap_err();
    assert!(problem.contains("another key"), "{problem}");
}

/// The same of a device: its export counts by the key that it enrolled with.
#[test]
fn a_devices_export_that_somebody_else_signed_or_whose_beginning_is_gone_is_found_by_both() {
    let sample = Sample::new();
    let key = sample.key.to_string();
    let signed = SignedChain::read(&sample.files()[1]).unwrap();
    let (other, most) = (sample::device_key(), signed.chain.entries.len());
    for gone in [0, 1, most / 2, most] {
        let mut files = sample.files();
        let chain = edits::without_beginning(&signed.chain, gone);
        files[1] = other.export(&chain, signed.at).unwrap().into_bytes();
        let problem = verify(Some(&sample.key), &files[0], &files[1..]).unwrap_err();
        assert!(problem.contains("enrolled with another key"), "{problem}");
        let (whole, said) = python_on(&files, &["--key", &key]);
        assert!(!whole && said.contains("another key"), "{said}");
        if gone == 0 {
            continue;
        }
        let end =
            sample.files()[1].split_inclusive(|byte| *byte == b'\n').next_back().unwrap().to_vec();
        files[1] = [chain.to_lines().into_bytes(), end].concat();
        let problem = verify(Some(&sample.key), &files[0], &files[1..]).unwrap_err();
        assert!(problem.contains("does not fit it"), "{problem}");
        let (whole, said) = python_on(&files, &["--key", &key]);
        assert!(!whole && said.contains("signature"), "{said}");
    }
}

/// What was exported before has to be the beginning of what is exported later.
#[test]
fn an_export_that_does_not_go_on_from_an_older_one_is_found_by_both() {
    let folder = tempfile::tempdir().unwrap();
    let (sample, other) = (Sample::new(), Sample::new());
    let older = folder.path().join("older.jsonl");
    let older = older.to_str().unwrap();
    for (before, fits) in [(&sample, true), (&other, false)] {
        std::fs::write(older, &before.export).unwrap();
        let (whole, said) = python_on(&sample.files()[..1], &["--since", older]);
        assert_eq!(whole, fits, "{said}");
        let mut verifier = ExportVerifier::new(None);
        for line in before.export.as_bytes().split_inclusive(|byte| *byte == b'\n') {
            verifier.line(line).unwrap();
        }
        let mut verifier = ExportVerifier::since(&verifier.finish().unwrap());
        let mut lines = sample.export.as_bytes().split_inclusive(|byte| *byte == b'\n');
        assert_eq!(lines.all(|line| verifier.line(line).is_ok()), fits);
    }
}

#[test]
fn orions_verifier_finds_every_edit() {
    let sample = Sample::new();
    let whole = sample.files();
    let mut chance = Chance::new(1);
    let mut tally = BTreeMap::new();
    let mut missed = Vec::new();
    while tally.values().sum::<usize>() < count() {
        let which = if chance.below(2) == 0 { chance.below(whole.len()) } else { 0 };
        let (kind, changed) = edits::edit(&mut chance, &whole[which], which > 0);
        if changed == whole[which] {
            continue;
        }
        *tally.entry((which > 0, kind)).or_insert(0) += 1;
        let mut files = whole.clone();
        files[which] = changed;
        if verify(Some(&sample.key), &files[0], &files[1..]).is_ok() {
            missed.push((which, kind));
        }
    }
    for ((is_device, kind), count) in &tally {
        let of = if *is_device { "device: " } else { "" };
        println!("{count:>8}  {of}{kind}");
    }
    let all: usize = tally.values().sum();
    println!("found {} of {all} edits", all - missed.len());
    assert_eq!(missed, []);
}

#[test]
fn the_independent_verifier_finds_every_edit() {
    let sample = Sample::new();
    let key = sample.key.to_string();
    let (found, said) = python(&sample, &["--key", &key, "--edits", &count().to_string()]);
    println!("{said}");
    assert!(found, "{said}");
    assert!(said.contains(&format!("found {0} of {0} edits", count())), "{said}");
}
