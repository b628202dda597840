//! Reads the CBOR of authenticators: definite lengths and shortest forms only, as CTAP2 writes it.

use super::PasskeyError;

/// The deepest nesting that is skipped.
const MAX_DEPTH: usize = 4;
/// The most entries of a map or an array.
const MAX_ENTRIES: u64 = 32;

/// The rest of an encoded value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// The kind of an item: the upper three bits of its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unsigned,
    Negative,
    Bytes,
    Text,
    Array,
    Map,
    Simple,
}

const fn malformed() -> PasskeyError {
    PasskeyError::Malformed("its CBOR")
}

impl<'a> Reader<'a> {
    /// Reads from the first byte.
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Checks that everything was read.
    pub(super) const fn finish(self) -> Result<(), PasskeyError> {
        if self.rest.is_empty() { Ok(()) } else { Err(malformed()) }
    }

    /// Takes this many bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], PasskeyError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes a fixed number of bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], PasskeyError> {
        self.take(N)?.try_into().map_err(|_| malformed())
    }

    /// Reads the first byte of an item and the number that follows it. A number that could be written
    /// shorter, an indefinite length and a tag are refused.
    fn head(&mut self) -> Result<(Kind, u64), PasskeyError> {
        let [first] = self.array()?;
        let kind = match first >> 5 {
            0 => Kind::Unsigned,
            1 => Kind::Negative,
            2 => Kind::Bytes,
            3 => Kind::Text,
            4 => Kind::Array,
            5 => Kind::Map,
            7 => Kind::Simple,
            _ => return Err(malformed()),
        };
        let short = first & 0x1f;
        if kind == Kind::Simple {
            // false, true and null.
            return if (20..=22).contains(&short) {
                Ok((kind, u64::from(short)))
            } else {
                Err(malformed())
            };
        }
        let (value, least) = match short {
            0..=23 => (u64::from(short), 0),
            24 => (u64::from(u8::from_be_bytes(self.array()?)), 24),
            25 => (u64::from(u16::from_be_bytes(self.array()?)), 1 << 8),
            26 => (u64::from(u32::from_be_bytes(self.array()?)), 1 << 16),
            27 => (u64::from_be_bytes(self.array()?), 1 << 32),
            _ => return Err(malformed()),
        };
        if value < least { Err(malformed()) } else { Ok((kind, value)) }
    }

    fn expect(&mut self, kind: Kind) -> Result<u64, PasskeyError> {
        match self.head()? {
            (found, value) if found == kind => Ok(value),
            _ => Err(malformed()),
        }
    }

    /// Reads a whole number.
    pub(super) fn integer(&mut self) -> Result<i64, PasskeyError> {
        let (kind, value) = self.head()?;
        let value = i64::try_from(value).map_err(|_| malformed())?;
        match kind {
            Kind::Unsigned => Ok(value),
            Kind::Negative => Ok(-1 - value),
            Kind::Bytes | Kind::Text | Kind::Array | Kind::Map | Kind::Simple => Err(malformed()),
        }
    }

    /// Reads a byte string.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], PasskeyError> {
        let count = self.expect(Kind::Bytes)?;
        self.take(usize::try_from(count).map_err(|_| malformed())?)
    }

    /// Reads a text.
    pub(super) fn text(&mut self) -> Result<&'a str, PasskeyError> {
        let count = self.expect(Kind::Text)?;
        let bytes = self.take(usize::try_from(count).map_err(|_| malformed())?)?;
        std::str::from_utf8(bytes).map_err(|_| malformed())
    }

    /// Reads the number of entries of a map; the entries follow.
    pub(super) fn map(&mut self) -> Result<u64, PasskeyError> {
        match self.expect(Kind::Map)? {
            count if count <= MAX_ENTRIES => Ok(count),
            _ => Err(malformed()),
        }
    }

    /// Skips a map, whatever its entries are.
    pub(super) fn skip_map(&mut self) -> Result<(), PasskeyError> {
        for _ in 0..self.map()? {
            self.skip(MAX_DEPTH)?;
            self.skip(MAX_DEPTH)?;
        }
        Ok(())
    }

    fn skip(&mut self, depth: usize) -> Result<(), PasskeyError> {
        let (kind, value) = self.head()?;
        let inner = match kind {
            Kind::Unsigned | Kind::Negative | Kind::Simple => 0,
            Kind::Bytes | Kind::Text => {
                self.take(usize::try_from(value).map_err(|_| malformed())?)?;
                0
            }
            Kind::Array if value <= MAX_ENTRIES => value,
            Kind::Map if value <= MAX_ENTRIES => 2 * value,
            Kind::Array | Kind::Map => return Err(malformed()),
        };
        for _ in 0..inner {
            self.skip(depth.checked_sub(1).ok_or_else(malformed)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_in_its_shortest_form_or_ends_early_is_refused() {
        for (bytes, expected) in [
            (&[0x17][..], Some(23)),
            (&[0x18, 24], Some(24)),
            (&[0x18, 23], None),
            (&[0x19, 1, 0], Some(256)),
            (&[0x19, 0, 255], None),
            (&[0x1a, 0, 0, 255, 255], None),
            (&[0x1b, 0, 0, 0, 0, 255, 255, 255, 255], None),
            (&[0x1b, 255, 255, 255, 255, 255, 255, 255, 255], None),
            (&[0x26], Some(-7)),
            (&[0x39, 1, 0], Some(-257)),
            (&[0x19, 1], None),
            (&[0x1c], None),
            (&[0x1f], None),
            (&[0x40], None),
            (&[], None),
        ] {
            assert_eq!(Reader::new(bytes).integer().ok(), expected, "{bytes:x?}");
        }
        for bytes in
            [&[0x43, 1, 2][..], &[0x5f, 0x41, 1, 0xff], &[0x5b, 255, 255, 255, 255, 0, 0, 0, 0]]
        {
            assert!(Reader::new(bytes).bytes().is_err(), "{bytes:x?}");
        }
        assert!(Reader::new(&[0x62, 0xff, 0xfe]).text().is_err());
        assert_eq!(Reader::new(&[0x62, b'o', b'k']).text().ok(), Some("ok"));
    }

    #[test]
    fn deep_wide_and_tagged_values_are_not_skipped() {
        let nested = |depth: usize| {
            let mut bytes = vec![0xa1, 0x01];
            bytes.extend(std::iter::repeat_n(0x81, depth));
            bytes.push(0x01);
            bytes
        };
        assert!(Reader::new(&nested(MAX_DEPTH)).skip_map().is_ok());
        assert!(Reader::new(&nested(MAX_DEPTH + 1)).skip_map().is_err());
        assert!(Reader::new(&nested(100_000)).skip_map().is_err());
        assert!(Reader::new(&[0xb8, 33]).skip_map().is_err());
        assert!(Reader::new(&[0xa1, 0x01, 0xc0, 0x01]).skip_map().is_err());
        assert!(Reader::new(&[0xa1, 0x01, 0xfb, 0, 0, 0, 0, 0, 0, 0, 0]).skip_map().is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_within_their_length(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut reader = Reader::new(&bytes);
            let skipped = reader.skip_map();
            prop_assert!(reader.rest.len() <= bytes.len());
            prop_assert!(skipped.is_err() || reader.rest.len() < bytes.len());
        }
    }
}
