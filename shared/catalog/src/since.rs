//! Since when something is wanted: a moment, or how long ago.

/// The longest time ago, in seconds: ten years.
const MAX_SECONDS: u64 = 10 * 366 * 24 * 3600;

/// Since when something is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// A moment, in seconds since 1970.
    At(i64),
    /// So many seconds ago.
    Ago(u64),
}

impl Since {
    /// Parses a time such as `2026-05-01T08:00:00Z`, or how long ago, such as `15m`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let seconds = match text.as_bytes().last()? {
            b's' => 1,
            b'm' => 60,
            b'h' => 3600,
            b'd' => 24 * 3600,
            _ => return Some(Self::At(text.parse::<jiff::Timestamp>().ok()?.as_second())),
        };
        let number = text.get(..text.len() - 1)?;
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let ago = number.parse::<u64>().ok()?.checked_mul(seconds)?;
        (ago <= MAX_SECONDS).then_some(Self::Ago(ago))
    }

    /// Returns the moment, in seconds since 1970, where it is `now`.
    #[must_use]
    pub fn second(self, now: i64) -> i64 {
        match self {
            Self::At(second) => second,
            Self::Ago(ago) => now.saturating_sub_unsigned(ago),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_and_how_long_ago_are_read_and_nothing_else() {
        for (text, expected) in [
            ("90s", Some(Since::Ago(90))),
            ("15m", Some(Since::Ago(900))),
            ("2h", Some(Since::Ago(7200))),
            ("7d", Some(Since::Ago(604_800))),
            ("2023-11-14T22:13:20Z", Some(Since::At(1_700_000_000))),
            ("2023-11-14T23:13:20+01:00", Some(Since::At(1_700_000_000))),
            ("", None),
            ("m", None),
            ("-1h", None),
            ("1.5h", None),
            ("99999999999d", None),
            ("yesterday", None),
            ("2023-11-14", None),
            ("2023-11-14T22:13:20", None),
            ("--until=now", None),
        ] {
            assert_eq!(Since::parse(text), expected, "{text}");
        }
        assert_eq!([Since::At(5).second(100), Since::Ago(5).second(100)], [5, 95]);
    }
}
