//! An authenticator in software, and the browser around it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion_tests::{Client, World};
use orion_wire::v1;
use orion_wire::v1::start_passkey_approval_request::Of;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

/// The person touched it and was checked.
const CHECKED: u8 = 0x05;
/// A new credential follows.
const NEW: u8 = 0x40;

/// An authenticator with one passkey.
#[derive(Debug)]
pub(super) struct Authenticator {
    pub(super) id: Vec<u8>,
    key: EcdsaKeyPair,
    /// How often it signed.
    pub(super) count: u32,
    origin: String,
}

impl Authenticator {
    /// One in a browser that shows the page of this world.
    pub(super) fn new(world: &World) -> Self {
        let (kind, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
        let made = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(kind, made.as_ref(), &random).unwrap();
        let address = world.people_address();
        let port = address.rsplit(':').next().unwrap();
        let id = rand::random::<[u8; 32]>().to_vec();
        Self { id, key, count: 1, origin: format!("http://localhost:{port}") }
    }

    fn client_data(&self, kind: &str, challenge: &[u8]) -> Vec<u8> {
        let challenge = URL_SAFE_NO_PAD.encode(challenge);
        json!({"type": kind, "challenge": challenge, "origin": self.origin}).to_string().into()
    }

    fn data(&self, flags: u8, rest: &[u8]) -> Vec<u8> {
        let host = digest(&SHA256, b"localhost");
        [host.as_ref(), &[flags], &self.count.to_be_bytes(), rest].concat()
    }

    /// Registers the passkey of a person who gives this password.
    pub(super) async fn register(
        &self,
        person: &Client,
        password: &str,
    ) -> Result<v1::Passkey, tonic::Status> {
        let request = v1::StartPasskeyRegistrationRequest { password: password.to_owned() };
        let started = person.passkeys().start_passkey_registration(request).await?.into_inner();
        let challenge = started.request.unwrap().challenge;
        let point = self.key.public_key().as_ref();
        let head = [0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 32];
        let key = [&head[..], &point[1..33], &[0x22, 0x58, 32], &point[33..]].concat();
        let credential = [&[0; 16][..], &[0, 32], &self.id, &key].concat();
        let data = self.data(CHECKED | NEW, &credential);
        // CBOR in its shortest form: one byte holds the length.
        let length = u8::try_from(data.len()).unwrap();
        let object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58";
        let request = v1::FinishPasskeyRegistrationRequest {
            name: "blue key".to_owned(),
            client_data: self.client_data("webauthn.create", &challenge).into(),
            attestation_object: [&object[..], &[length], &data].concat().into(),
        };
        let answer = person.passkeys().finish_passkey_registration(request).await?;
        Ok(answer.into_inner().passkey.unwrap())
    }

    /// Signs what was shown.
    pub(super) async fn sign(
        &mut self,
        person: &Client,
        of: Of,
        shown: &[u8],
    ) -> Result<v1::PasskeyAssertion, tonic::Status> {
        let request =
            v1::StartPasskeyApprovalRequest { of: Some(of), shown_digest: shown.to_vec().into() };
        let started = person.passkeys().start_passkey_approval(request).await?.into_inner();
        let request = started.request.unwrap();
        assert!(request.passkey_ids.iter().any(|id| *id == self.id), "{request:?}");
        self.count += 1;
        let client_data = self.client_data("webauthn.get", &request.challenge);
        let data = self.data(CHECKED, &[]);
        let message = [&data, digest(&SHA256, &client_data).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &message).unwrap();
        Ok(v1::PasskeyAssertion {
            passkey_id: self.id.clone().into(),
            client_data: client_data.into(),
            authenticator_data: data.into(),
            signature: signature.as_ref().to_vec().into(),
        })
    }
}
