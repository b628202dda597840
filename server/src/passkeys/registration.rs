//! Registers a passkey, for a person who gave the password again: a session alone must not be enough to add one and then
//! approve with it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion_domain::Digest;

use super::authenticator_data::{AuthenticatorData, NewCredential};
use super::cbor::Reader;
use super::challenges::Purpose;
use super::client_data::{self, Ceremony};
use super::{MAX_BYTES, PasskeyError, Passkeys, Request, record, user_handle};
use crate::people::Identity;
use crate::store::Store;
use crate::webauthn::NewPasskey;

impl Passkeys {
    /// Makes the request for a new passkey, and returns the opaque id of the person. The caller has checked the
    /// password.
    ///
    /// # Errors
    /// The page has no name, or the database cannot be read.
    pub async fn start_registration(
        &self,
        store: &Store,
        who: &Identity,
        now: i64,
    ) -> Result<(Request, Digest), PasskeyError> {
        let request = self.request(store, who, Purpose::Registration, now).await?;
        Ok((request, user_handle(&who.caller.user)))
    }

    /// Reads a new passkey, once for each request. A refused one is recorded.
    ///
    /// # Errors
    /// See [`PasskeyError`].
    pub async fn finish_registration(
        &self,
        store: &Store,
        who: &Identity,
        client_data: &[u8],
        attestation: &[u8],
        now: i64,
    ) -> Result<NewPasskey, PasskeyError> {
        let registered = self.registered(who, client_data, attestation, now);
        if let Err(refused) = &registered {
            record(store, who, refused, now).await?;
        }
        registered
    }

    fn registered(
        &self,
        who: &Identity,
        client_data: &[u8],
        attestation: &[u8],
        now: i64,
    ) -> Result<NewPasskey, PasskeyError> {
        let relying_party = self.relying_party()?;
        let challenge =
            client_data::challenge(client_data, Ceremony::Registration, &relying_party.origin)?;
        let Some(Purpose::Registration) = self.challenges.take(who, challenge, now) else {
            return Err(PasskeyError::Challenge);
        };
        if attestation.len() > MAX_BYTES {
            return Err(PasskeyError::Malformed("its length"));
        }
        let data = authenticator_data(attestation)?;
        let data = AuthenticatorData::read(data, relying_party.hash().as_bytes())?;
        let Some(NewCredential { id, key }) = data.credential else {
            return Err(PasskeyError::Malformed("its credential"));
        };
        Ok(NewPasskey {
            id: URL_SAFE_NO_PAD.encode(id),
            key,
            relying_party: relying_party.id.clone(),
            sign_count: data.sign_count,
        })
    }
}

/// Returns the authenticator's data in an attestation object that attests nothing.
fn authenticator_data(object: &[u8]) -> Result<&[u8], PasskeyError> {
    let malformed = || PasskeyError::Malformed("its attestation object");
    let mut reader = Reader::new(object);
    let (mut format, mut statement, mut data) = (None, None, None);
    for _ in 0..reader.map()? {
        let known = match reader.text()? {
            "fmt" => format.replace(reader.text()?).is_some(),
            "attStmt" => statement.replace(attested(&mut reader)?).is_some(),
            "authData" => data.replace(reader.bytes()?).is_some(),
            _ => return Err(malformed()),
        };
        if known {
            return Err(malformed());
        }
    }
    reader.finish()?;
    match (format, statement, data) {
        (Some("none"), Some(0), Some(data)) => Ok(data),
        (Some(_), Some(_), Some(_)) => Err(PasskeyError::Attestation),
        _ => Err(malformed()),
    }
}

/// Reads an attestation statement, and returns how many entries it has.
fn attested(reader: &mut Reader<'_>) -> Result<u64, PasskeyError> {
    let mut statement = *reader;
    reader.skip_map()?;
    statement.map()
}
