//! The short code of a device that asks to be enrolled: eight letters that a person reads from one screen and
//! types at another, in the alphabet of RFC 8628, section 6.1. It has no vowels, so that it spells no words.

use std::fmt;
use std::str::FromStr;

/// The letters of a code.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// The number of letters of a code.
pub const CODE_LETTERS: usize = 8;
/// The maximum length of a typed code, with everything that is ignored.
const MAX_TYPED: usize = 64;

/// A code. `Display` is the code as people read it, `XXXX-XXXX`; `Debug` hides it, because whoever knows it can find
/// the request.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EnrollmentCode([u8; CODE_LETTERS]);

/// Why a text is no code. The message does not repeat the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no code of a device: a code has eight of the letters BCDFGHJKLMNPQRSTVWXZ, as BCDF-GHJK"
)]
pub struct NotACode;

impl EnrollmentCode {
    /// Returns how many letters there are to choose from.
    #[must_use]
    pub const fn alphabet() -> usize {
        LETTERS.len()
    }

    /// Creates the code of these letters, each by its number in the alphabet. A number beyond it starts again at
    /// the first letter, so numbers must be drawn from [`EnrollmentCode::alphabet`] to be equally likely.
    #[must_use]
    pub fn new(numbers: [usize; CODE_LETTERS]) -> Self {
        Self(numbers.map(|number| LETTERS.get(number % LETTERS.len()).copied().unwrap_or(b'B')))
    }
}

impl FromStr for EnrollmentCode {
    type Err = NotACode;

    /// Reads a code as a person types it: in any case, with or without hyphens and spaces.
    fn from_str(text: &str) -> Result<Self, NotACode> {
        if text.len() > MAX_TYPED {
            return Err(NotACode);
        }
        let typed =
            text.bytes().filter(|byte| !matches!(byte, b'-' | b' ' | b'\t' | b'\n' | b'\r'));
        let letters: Vec<u8> = typed.map(|byte| byte.to_ascii_uppercase()).collect();
        match <[u8; CODE_LETTERS]>::try_from(letters) {
            Ok(letters) if letters.iter().all(|letter| LETTERS.contains(letter)) => {
                Ok(Self(letters))
            }
            Ok(_) | Err(_) => Err(NotACode),
        }
    }
}

impl fmt::Display for EnrollmentCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, letter) in self.0.iter().enumerate() {
            if position == CODE_LETTERS / 2 {
                f.write_str("-")?;
            }
            write!(f, "{}", char::from(*letter))?;
        }
        Ok(())
    }
}

impl fmt::Debug for EnrollmentCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EnrollmentCode(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_however_it_is_typed() {
        let code = EnrollmentCode::new([0, 1, 2, 3, 16, 17, 18, 19]);
        assert_eq!(code.to_string(), "BCDF-VWXZ");
        for typed in ["BCDF-VWXZ", "bcdfvwxz", " b c d f v w x z\n", "BcDf--vWxZ", "-bcdf-vwxz-"] {
            assert_eq!(typed.parse(), Ok(code), "{typed}");
        }
    }

    #[test]
    fn what_is_no_code_is_refused() {
        let long = "-".repeat(100) + "BCDFVWXZ";
        for text in [
            "",
            "BCDF-VWX",
            "BCDF-VWXZB",
            "BCDF-VWXA",
            "BCDF-VWX1",
            "BCDF_VWXZ",
            "ÉCDF-VWXZ",
            &long,
        ] {
            assert_eq!(text.parse::<EnrollmentCode>(), Err(NotACode), "{text}");
        }
    }

    #[test]
    fn every_number_is_a_letter_and_debug_shows_none() {
        let letters: std::collections::HashSet<String> = (0..EnrollmentCode::alphabet())
            .map(|number| EnrollmentCode::new([number; CODE_LETTERS]).to_string())
            .collect();
        assert_eq!(letters.len(), 20);
        assert_eq!(format!("{:?}", EnrollmentCode::new([3; CODE_LETTERS])), "EnrollmentCode(…)");
    }
}
