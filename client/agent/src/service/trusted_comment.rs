//! The trusted comment of a minisign signature, checked without the program. `minisign-verify` checks it only together
//! with the program, which `upgrade --check` does not download.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minisign_verify::{Error, PublicKey, Signature};
use ring::signature::{ED25519, UnparsedPublicKey};

/// The length of the algorithm and the key's name, before a key and before a signature.
const HEAD_BYTES: usize = 2 + 8;
const SIGNATURE_BYTES: usize = 64;

/// Refuses a signature by another key, and a trusted comment that this key did not sign. `public_key` and `text` are what
/// `key` and `signature` were read from.
pub(super) fn verify(
    (key, public_key): (&PublicKey, &str),
    (signature, text): (&Signature, &str),
) -> Result<(), Error> {
    // It also refuses a signature of the old form, and one that names another key.
    key.verify_stream(signature).map(|_| ())?;
    let mut lines = text.lines();
    let (program, comment) = (decoded(lines.nth(1))?, decoded(lines.nth(1))?);
    let of_program = program.get(HEAD_BYTES..).filter(|it| it.len() == SIGNATURE_BYTES);
    let of_program = of_program.ok_or(Error::InvalidEncoding)?;
    let public_key = decoded(Some(public_key))?;
    let public_key = public_key.get(HEAD_BYTES..).ok_or(Error::InvalidEncoding)?;
    let signed = [of_program, signature.trusted_comment().as_bytes()].concat();
    UnparsedPublicKey::new(&ED25519, public_key)
        .verify(&signed, &comment)
        .map_err(|_| Error::InvalidSignature)
}

fn decoded(line: Option<&str>) -> Result<Vec<u8>, Error> {
    line.and_then(|line| STANDARD.decode(line).ok()).ok_or(Error::InvalidEncoding)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The key and the signature in the manual of minisign-verify.
    pub(in super::super) const KEY: &str =
        "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    pub(in super::super) const TEXT: &str = "untrusted comment: signature from minisign secret key
RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=
trusted comment: timestamp:1633700835\tfile:test\tprehashed
wLMDjy9FLAuxZ3q4NlEvkgtyhrr0gtTu6KC4KBJdITbbOeAi1zBIYo0v4iTgt8jJpIidRJnp94ABQkJAgAooBQ==";

    fn verified(public_key: &str, text: &str) -> Result<(), Error> {
        let (key, signature) = (PublicKey::from_base64(public_key)?, Signature::decode(text)?);
        verify((&key, public_key), (&signature, text))
    }

    #[test]
    fn a_comment_counts_only_as_the_key_signed_it() {
        verified(KEY, TEXT).unwrap();
        let reworded = TEXT.replace("file:test", "file:best");
        assert!(matches!(verified(KEY, &reworded), Err(Error::InvalidSignature)));
        let of_another_program = TEXT.replace("559r3g", "559r3h");
        assert!(matches!(verified(KEY, &of_another_program), Err(Error::InvalidSignature)));
        let other_name = KEY.replace("RWQf6", "RWQf7");
        assert!(matches!(verified(&other_name, TEXT), Err(Error::UnexpectedKeyId)));
        let same_name = KEY.replace("7GFO3", "7GFO4");
        assert!(matches!(verified(&same_name, TEXT), Err(Error::InvalidSignature)));
    }
}
