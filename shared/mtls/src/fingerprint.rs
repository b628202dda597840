//! SHA-256 fingerprints of certificates and public keys, and the set of them that a device pins.

use std::fmt;
use std::str::FromStr;

use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};

use crate::words::fingerprint_words;

/// The maximum number of pins in one set, enough for a rotation of authorities.
const MAX_PINS: usize = 8;

/// The SHA-256 digest of a certificate (whole, DER) or of a public key (SubjectPublicKeyInfo, DER).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// Returns the fingerprint of a whole certificate.
    pub fn of_certificate(certificate: &CertificateDer<'_>) -> Self {
        Self::of(certificate)
    }

    /// Returns the fingerprint of a public key, given as a DER SubjectPublicKeyInfo.
    pub fn of_public_key(spki_der: &[u8]) -> Self {
        Self::of(spki_der)
    }

    /// Returns a short form that people can compare: six words, joined by hyphens.
    pub fn words(&self) -> String {
        fingerprint_words(&self.0)
    }

    /// Returns the fingerprint of a DER name, which distinguishes issuers.
    pub(crate) fn of_name(name_der: &[u8]) -> Self {
        Self::of(name_der)
    }

    fn of(der: &[u8]) -> Self {
        Self(Sha256::digest(der).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// Why a text is no fingerprint or no set of fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FingerprintError {
    /// Not 64 hexadecimal digits.
    #[error("a fingerprint is 64 hexadecimal digits; copy the whole invitation again")]
    Malformed,
    /// No fingerprint, or more than eight.
    #[error(
        "one to eight fingerprints are needed, and {0} were given; copy the whole invitation again"
    )]
    Count(usize),
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut digest = [0; 32];
        hex::decode_to_slice(text, &mut digest).map_err(|_| FingerprintError::Malformed)?;
        Ok(Self(digest))
    }
}

/// The authorities (by the fingerprints of their certificates) that a device accepts while it enrols.
/// More than one, so that an invitation survives a rotation of the authority. Written as hexadecimal
/// fingerprints separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinSet(Vec<Fingerprint>);

impl PinSet {
    /// Creates a set of one to eight different fingerprints.
    ///
    /// # Errors
    /// [`FingerprintError::Count`] when there are none or more than eight.
    pub fn new(pins: impl IntoIterator<Item = Fingerprint>) -> Result<Self, FingerprintError> {
        // Stops after one more than allowed, however long the input is.
        let mut distinct = Vec::new();
        for pin in pins {
            if !distinct.contains(&pin) {
                distinct.push(pin);
            }
            if distinct.len() > MAX_PINS {
                break;
            }
        }
        match distinct.len() {
            1..=MAX_PINS => Ok(Self(distinct)),
            count => Err(FingerprintError::Count(count)),
        }
    }

    /// Returns whether `fingerprint` is in the set.
    pub fn contains(&self, fingerprint: &Fingerprint) -> bool {
        self.0.contains(fingerprint)
    }

    /// Returns the pins, in the given order.
    pub fn iter(&self) -> impl Iterator<Item = &Fingerprint> {
        self.0.iter()
    }
}

impl fmt::Display for PinSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pins: Vec<String> = self.0.iter().map(Fingerprint::to_string).collect();
        f.write_str(&pins.join(","))
    }
}

impl FromStr for PinSet {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // A longer text is rejected by its first nine pins; the rest is never read.
        let pins =
            text.split(',').take(MAX_PINS + 1).map(str::parse).collect::<Result<Vec<_>, _>>()?;
        Self::new(pins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(byte: u8) -> Fingerprint {
        Fingerprint([byte; 32])
    }

    #[test]
    fn a_fingerprint_survives_being_written_and_read() {
        let fingerprint = Fingerprint::of_public_key(b"abc");
        assert_eq!(
            fingerprint.to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        assert_eq!(fingerprint.words().split('-').count(), 6);
    }

    #[test]
    fn a_text_that_is_no_fingerprint_is_refused() {
        for text in ["", "ba78", &"g".repeat(64), &"a".repeat(66), &"é".repeat(32)] {
            assert_eq!(text.parse::<Fingerprint>(), Err(FingerprintError::Malformed), "{text}");
        }
    }

    #[test]
    fn a_pin_set_survives_being_written_and_read() {
        let pins = PinSet::new([pin(1), pin(2), pin(1)]).unwrap();
        assert_eq!(pins.iter().copied().collect::<Vec<_>>(), [pin(1), pin(2)]);
        assert_eq!(pins.to_string().parse(), Ok(pins));
    }

    #[test]
    fn a_pin_set_holds_one_to_eight_pins() {
        assert_eq!(PinSet::new([]), Err(FingerprintError::Count(0)));
        assert!(PinSet::new((0..8).map(pin)).is_ok());
        assert_eq!(PinSet::new((0..20).map(pin)), Err(FingerprintError::Count(9)));
        let text: Vec<String> = (0..9).map(|byte| pin(byte).to_string()).collect();
        assert_eq!(text.join(",").parse::<PinSet>(), Err(FingerprintError::Count(9)));
        assert_eq!("".parse::<PinSet>(), Err(FingerprintError::Malformed));
    }
}
