//! Converts a time to the day and minute of a policy's time zone: the only use of a calendar on both
//! sides.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use orion_domain::rule::Moment;

/// The time zone for the hours of a policy's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timezone(TimeZone);

/// A name of no time zone known here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a time zone that is known here; use an IANA name such as Europe/Berlin, or UTC"
)]
pub struct UnknownTimezone(String);

impl Default for Timezone {
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

impl Timezone {
    /// Returns the zone with this IANA name; UTC for an empty one.
    ///
    /// # Errors
    /// [`UnknownTimezone`]: no database here has the name, so the hours' meaning is unknown.
    pub fn named(name: &str) -> Result<Self, UnknownTimezone> {
        if name.is_empty() {
            return Ok(Self::default());
        }
        let zone = TimeZone::get(name).ok().filter(|zone| !zone.is_unknown());
        zone.map(Self).ok_or_else(|| UnknownTimezone(name.chars().take(64).collect()))
    }

    /// Converts Unix milliseconds to the point in time that rules compare. Times outside the calendar
    /// become its first or last moment.
    #[must_use]
    pub fn moment(&self, unix_ms: i64) -> Moment {
        let nearest = if unix_ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
        let local = self.0.to_datetime(Timestamp::from_millisecond(unix_ms).unwrap_or(nearest));
        let weekday = local.date().weekday().to_monday_zero_offset();
        let minute = i16::from(local.hour()) * 60 + i16::from(local.minute());
        Moment { unix_ms, weekday: weekday.unsigned_abs(), minute: minute.unsigned_abs() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_by_the_zones_own_clock() {
        // 2026-03-29T00:30:00Z, a Sunday; clocks go forward in Berlin half an hour later.
        let before = 1_774_744_200_000;
        let hour = 3_600_000;
        let at = |unix_ms, weekday, minute| Moment { unix_ms, weekday, minute };
        let berlin = Timezone::named("Europe/Berlin").unwrap();
        assert_eq!(berlin.moment(before), at(before, 6, 90));
        assert_eq!(berlin.moment(before + hour), at(before + hour, 6, 210));
        assert_eq!(Timezone::default().moment(before), at(before, 6, 30));
        let honolulu = Timezone::named("Pacific/Honolulu").unwrap();
        assert_eq!(honolulu.moment(before), at(before, 5, 14 * 60 + 30));
        assert_eq!(Timezone::default().moment(-1), at(-1, 2, 1439));
    }

    #[test]
    fn a_zone_that_nobody_knows_is_an_error_and_none_is_utc() {
        assert_eq!(Timezone::named(""), Ok(Timezone::default()));
        assert_eq!(Timezone::named("UTC"), Ok(Timezone::default()));
        for name in ["Mars/Base", "Etc/Unknown", "../../etc/passwd", "CET-1CEST"] {
            assert_eq!(Timezone::named(name), Err(UnknownTimezone(name.to_owned())));
        }
    }

    #[test]
    fn no_number_is_outside_the_calendar() {
        for unix_ms in [i64::MIN, i64::MAX, 0] {
            let moment = Timezone::named("Asia/Kathmandu").unwrap().moment(unix_ms);
            assert!(moment.weekday < 7 && moment.minute < 1440);
        }
    }
}
