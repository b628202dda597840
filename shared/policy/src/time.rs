//! Parses clock times, days, durations, sizes and dates as people write them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The days by their names, Monday first.
pub(crate) const DAYS: [(&str, u8); 14] = [
    ("mon", 0),
    ("tue", 1),
    ("wed", 2),
    ("thu", 3),
    ("fri", 4),
    ("sat", 5),
    ("sun", 6),
    ("monday", 0),
    ("tuesday", 1),
    ("wednesday", 2),
    ("thursday", 3),
    ("friday", 4),
    ("saturday", 5),
    ("sunday", 6),
];

/// Parses `22:00` to the minute of the day; `24:00` is the day's end.
pub(crate) fn clock(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let two = |part: &str| {
        (part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit()))
            .then(|| part.parse::<u16>().ok())
            .flatten()
    };
    let (hour, minute) = (two(hour)?, two(minute)?);
    let at = hour * 60 + minute;
    (minute < 60 && at <= 1440).then_some(at)
}

/// Parses `90s`, `10m`, `1h` or `1d` to seconds; at most 31 days.
pub(crate) fn span(text: &str) -> Option<u32> {
    let split = text.len().checked_sub(1).filter(|&at| text.is_char_boundary(at))?;
    let (number, unit) = text.split_at(split);
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return None,
    };
    let plain = number.bytes().all(|b| b.is_ascii_digit());
    let seconds = number.parse::<u32>().ok().filter(|_| plain)?.checked_mul(unit)?;
    (1..=31 * 86400).contains(&seconds).then_some(seconds)
}

/// Parses `500`, `10KB` or `2 GiB` to bytes.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = match unit.trim_start() {
        "" | "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Parses a date with a time to Unix milliseconds: with an offset or `Z`, or else in the zone's time.
pub(crate) fn date(text: &str, zone: &TimeZone) -> Option<i64> {
    if !text.contains(['T', ' ']) {
        return None;
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.as_millisecond());
    }
    let local = text.parse::<DateTime>().ok()?;
    Some(zone.to_timestamp(local).ok()?.as_millisecond())
}

/// Returns the zone with this IANA name; `None` where it is unknown.
pub(crate) fn zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok().filter(|zone| !zone.is_unknown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_times_have_two_digits_each() {
        assert_eq!(["00:00", "22:30", "24:00"].map(clock), [Some(0), Some(1350), Some(1440)]);
        for bad in ["", "7", "7:00", "24:01", "12:60", "+1:00", "12:00:00", "ab:cd"] {
            assert_eq!(clock(bad), None, "{bad}");
        }
    }

    #[test]
    fn spans_have_a_unit() {
        assert_eq!(
            ["90s", "10m", "1h", "1d", "31d"].map(span),
            [Some(90), Some(600), Some(3600), Some(86400), Some(2_678_400)]
        );
        for bad in ["", "h", "10", "0s", "-1h", "+1h", "32d", "1w", "1é", "9999999999s"] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }

    #[test]
    fn sizes_may_have_one() {
        assert_eq!(
            ["500", "0", "10KB", "2 GiB"].map(bytes),
            [Some(500), Some(0), Some(10_000), Some(2 << 30)]
        );
        for bad in ["", "KB", "1.5MB", "-1", "10 apples", "99999999999999999999GB"] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_date_says_its_time_too() {
        let berlin = zone("Europe/Berlin").unwrap();
        let summer = 1_782_900_000_000;
        assert_eq!(date("2026-07-01T12:00:00+02:00", &TimeZone::UTC), Some(summer));
        assert_eq!(date("2026-07-01 12:00", &berlin), Some(summer));
        assert_eq!(date("2026-07-01T10:00:00Z", &berlin), Some(summer));
        for bad in ["2026-07-01", "tomorrow T", "2026-13-01T00:00", ""] {
            assert_eq!(date(bad, &berlin), None, "{bad}");
        }
        assert!(zone("Etc/Unknown").is_none() && zone("Mars/Base").is_none());
    }
}
