//! Releases as their builders make them: a program of a later version, and the signature of minisign.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use blake2::{Blake2b512, Digest as _};
use ring::signature::{Ed25519KeyPair, KeyPair as _};

/// This program's version, and one of the same length after it.
pub(crate) const NOW: &str = env!("CARGO_PKG_VERSION");
pub(crate) const NEWER: &str = "9.1.0";

/// A key of minisign.
pub(crate) struct Signer {
    key: Ed25519KeyPair,
    id: [u8; 8],
}

impl Signer {
    pub(crate) fn new(id: u8) -> Self {
        let seed: [u8; 32] = rand::random();
        Self { key: Ed25519KeyPair::from_seed_unchecked(&seed).unwrap(), id: [id; 8] }
    }

    /// Returns the key that verifies, as settings have it.
    pub(crate) fn public_key(&self) -> String {
        STANDARD.encode([b"Ed", &self.id[..], self.key.public_key().as_ref()].concat())
    }

    /// Returns the text of the signature's file.
    pub(crate) fn sign(&self, content: &[u8], comment: &str) -> String {
        let signature = self.key.sign(&Blake2b512::digest(content));
        let global = self.key.sign(&[signature.as_ref(), comment.as_bytes()].concat());
        format!(
            "untrusted comment: of a test\n{}\ntrusted comment: {comment}\n{}\n",
            STANDARD.encode([b"ED", &self.id[..], signature.as_ref()].concat()),
            STANDARD.encode(global)
        )
    }
}

/// Returns a program without its symbols. `strip` is the program that takes them off.
#[expect(clippy::disallowed_methods, reason = "tests are about processes")]
pub(crate) fn stripped(strip: &str, program: &Path, folder: &Path) -> Vec<u8> {
    let stripped = folder.join("stripped");
    let ended =
        std::process::Command::new(strip).arg("-o").args([&stripped, program]).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    std::fs::read(&stripped).unwrap()
}

/// Returns an agent with a newer version written into it.
pub(crate) fn newer(now: &[u8]) -> Vec<u8> {
    let mut newer = now.to_vec();
    assert_eq!(NOW.len(), NEWER.len());
    for at in 0..newer.len() - NOW.len() {
        if newer[at..].starts_with(NOW.as_bytes()) {
            newer[at..at + NOW.len()].copy_from_slice(NEWER.as_bytes());
        }
    }
    assert_ne!(now, newer);
    newer
}
