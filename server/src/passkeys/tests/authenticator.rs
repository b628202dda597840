//! An authenticator and a browser in software, which a test can make lie.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion_domain::Digest;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::passkeys::Assertion;

pub(super) const ORIGIN: &str = "https://orion.example";
pub(super) const HOST: &str = "orion.example";
/// The person touched it and was checked.
pub(super) const CHECKED: u8 = 0x05;
/// A new credential follows.
pub(super) const NEW: u8 = 0x40;

/// An authenticator with one passkey.
#[derive(Debug)]
pub(super) struct Authenticator {
    pub(super) id: Vec<u8>,
    key: Key,
}

#[derive(Debug)]
enum Key {
    Es256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// What is answered; tests change one part of it.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) client_data: Value,
    pub(super) host: &'static str,
    pub(super) flags: u8,
    pub(super) count: u32,
    /// What follows the counter.
    pub(super) rest: Vec<u8>,
}

impl Answer {
    pub(super) fn to(challenge: Digest) -> Self {
        let challenge = URL_SAFE_NO_PAD.encode(challenge.as_bytes());
        let client_data = json!({
            "type": "webauthn.get", "challenge": challenge, "origin": ORIGIN, "crossOrigin": false,
        });
        Self { client_data, host: HOST, flags: CHECKED, count: 0, rest: Vec::new() }
    }

    pub(super) fn authenticator_data(&self) -> Vec<u8> {
        let host = digest(&SHA256, self.host.as_bytes());
        [host.as_ref(), &[self.flags], &self.count.to_be_bytes(), &self.rest].concat()
    }

    pub(super) fn client_data(&self) -> Vec<u8> {
        self.client_data.to_string().into_bytes()
    }
}

impl Authenticator {
    pub(super) fn es256() -> Self {
        let random = SystemRandom::new();
        let kind = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let made = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(kind, made.as_ref(), &random).unwrap();
        Self { id: rand::random::<[u8; 32]>().to_vec(), key: Key::Es256(key) }
    }

    pub(super) fn ed25519() -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let key = Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap();
        Self { id: rand::random::<[u8; 16]>().to_vec(), key: Key::Ed25519(key) }
    }

    /// The public key in COSE.
    pub(super) fn cose(&self) -> Vec<u8> {
        match &self.key {
            Key::Es256(key) => {
                let point = key.public_key().as_ref();
                let (x, y) = (&point[1..33], &point[33..]);
                let head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 32];
                [&head[..], x, &[0x22, 0x58, 32], y].concat()
            }
            Key::Ed25519(key) => {
                let head = [0xa4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 32];
                [&head[..], key.public_key().as_ref()].concat()
            }
        }
    }

    /// The new credential in the authenticator's data.
    pub(super) fn credential(&self) -> Vec<u8> {
        let length = u16::try_from(self.id.len()).unwrap().to_be_bytes();
        [&[0; 16][..], &length, &self.id, &self.cose()].concat()
    }

    /// What a registration answers.
    pub(super) fn registered(&self, challenge: Digest) -> Answer {
        let mut answer = Answer::to(challenge);
        answer.client_data["type"] = json!("webauthn.create");
        Answer { flags: CHECKED | NEW, rest: self.credential(), ..answer }
    }

    /// Signs an answer.
    pub(super) fn sign(&self, answer: &Answer) -> Assertion {
        let (client_data, authenticator_data) = (answer.client_data(), answer.authenticator_data());
        let hash = digest(&SHA256, &client_data);
        let message = [&authenticator_data, hash.as_ref()].concat();
        let signature = match &self.key {
            Key::Es256(key) => key.sign(&SystemRandom::new(), &message).unwrap().as_ref().to_vec(),
            Key::Ed25519(key) => key.sign(&message).as_ref().to_vec(),
        };
        let credential_id = self.id.clone();
        Assertion { credential_id, client_data, authenticator_data, signature }
    }
}

/// An attestation object that attests nothing, in the shortest form.
pub(super) fn attestation(data: &[u8]) -> Vec<u8> {
    let length = match u8::try_from(data.len()) {
        Ok(length) => vec![0x58, length],
        Err(_) => [&[0x59][..], &u16::try_from(data.len()).unwrap().to_be_bytes()].concat(),
    };
    let head = &b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData"[..];
    [head, &length[..], data].concat()
}
