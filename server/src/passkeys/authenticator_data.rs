//! What an authenticator signs beside the browser's data: for whom, with which checks of the person, and how often.

use super::PasskeyError;
use super::cbor::Reader;
use super::public_key;
use crate::webauthn::PublicKey;

/// The person touched the authenticator.
const PRESENT: u8 = 0x01;
/// The authenticator checked a PIN, a finger or a face.
const VERIFIED: u8 = 0x04;
/// The key may be copied to the person's other devices.
const MAY_BE_BACKED_UP: u8 = 0x08;
/// The key is copied.
const IS_BACKED_UP: u8 = 0x10;
/// A new credential follows.
const HAS_CREDENTIAL: u8 = 0x40;
/// Extensions follow.
const HAS_EXTENSIONS: u8 = 0x80;

/// The most bytes of a credential's id.
pub(super) const MAX_CREDENTIAL_ID: usize = 1023;

/// The data of an authenticator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthenticatorData {
    /// How often the key signed. Zero where the authenticator does not count.
    pub(super) sign_count: u32,
    /// The new credential. None for a signature.
    pub(super) credential: Option<NewCredential>,
}

/// A credential as its authenticator made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewCredential {
    pub(super) id: Vec<u8>,
    pub(super) key: PublicKey,
}

impl AuthenticatorData {
    /// Reads the data, and checks that it is for this relying party and that the authenticator checked the person.
    pub(super) fn read(bytes: &[u8], relying_party_hash: &[u8]) -> Result<Self, PasskeyError> {
        let mut reader = Reader::new(bytes);
        if reader.take(32)? != relying_party_hash {
            return Err(PasskeyError::RelyingParty);
        }
        let [flags] = reader.array()?;
        if flags & PRESENT == 0 {
            return Err(PasskeyError::NotPresent);
        }
        if flags & VERIFIED == 0 {
            return Err(PasskeyError::NotVerified);
        }
        if flags & IS_BACKED_UP != 0 && flags & MAY_BE_BACKED_UP == 0 {
            return Err(PasskeyError::Malformed("its flags"));
        }
        let sign_count = u32::from_be_bytes(reader.array()?);
        let credential = if flags & HAS_CREDENTIAL == 0 {
            None
        } else {
            Some(NewCredential::read(&mut reader)?)
        };
        if flags & HAS_EXTENSIONS != 0 {
            // None was asked for, and an authenticator may add some.
            reader.skip_map()?;
        }
        reader.finish()?;
        Ok(Self { sign_count, credential })
    }
}

impl NewCredential {
    fn read(reader: &mut Reader<'_>) -> Result<Self, PasskeyError> {
        // The model of the authenticator, which is not asked for.
        reader.take(16)?;
        let length = usize::from(u16::from_be_bytes(reader.array()?));
        if length == 0 || length > MAX_CREDENTIAL_ID {
            return Err(PasskeyError::Malformed("the id of its credential"));
        }
        let id = reader.take(length)?.to_vec();
        Ok(Self { id, key: public_key::read(reader)? })
    }
}
