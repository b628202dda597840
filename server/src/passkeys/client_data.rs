//! What the browser adds to a signature: for which page, and for which challenge.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion_domain::Digest;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::PasskeyError;

/// The most bytes of the browser's data.
pub(super) const MAX_BYTES: usize = 4 * 1024;

/// What a browser was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ceremony {
    Registration,
    Approval,
}

impl Ceremony {
    const fn name(self) -> &'static str {
        match self {
            Self::Registration => "webauthn.create",
            Self::Approval => "webauthn.get",
        }
    }
}

/// The browser's data. Browsers may add members, which a relying party ignores.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Form {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
    top_origin: Option<IgnoredAny>,
}

/// Returns the challenge that the browser's data is for, if it comes from a page of this origin and from this
/// ceremony.
pub(super) fn challenge(
    bytes: &[u8],
    ceremony: Ceremony,
    origin: &str,
) -> Result<Digest, PasskeyError> {
    let malformed = || PasskeyError::Malformed("the browser's data");
    if bytes.len() > MAX_BYTES {
        return Err(malformed());
    }
    let form: Form = serde_json::from_slice(bytes).map_err(|_| malformed())?;
    if form.r#type != ceremony.name() {
        return Err(PasskeyError::Ceremony);
    }
    if form.origin != origin || form.cross_origin || form.top_origin.is_some() {
        return Err(PasskeyError::Origin(origin.to_owned()));
    }
    let challenge = URL_SAFE_NO_PAD.decode(&form.challenge).map_err(|_| malformed())?;
    Digest::from_slice(&challenge).ok_or_else(malformed)
}
