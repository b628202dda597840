//! When a task makes its call: a cron expression, an interval, or one moment.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp, Unit, civil};
use orion_domain::{ErrorCode, ToolError, visible};

/// The shortest and the longest interval, in milliseconds.
const MIN_INTERVAL_MS: i64 = 60_000;
const MAX_INTERVAL_MS: i64 = 366 * 86_400_000;

/// The times of a task.
#[derive(Debug, Clone)]
pub struct Times {
    written: String,
    kind: Kind,
    zone: TimeZone,
}

#[derive(Debug, Clone)]
enum Kind {
    Cron(Box<Cron>),
    /// An interval that begins at a moment, both in milliseconds.
    Every(i64, i64),
    /// One moment.
    Once(i64),
}

impl Times {
    /// Reads times as a person writes them. An interval is counted from `start`, in Unix milliseconds.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: there is no such time zone, or this is no time.
    pub fn parse(text: &str, timezone: &str, start: i64) -> Result<Self, ToolError> {
        let zone = TimeZone::get(timezone).map_err(|_| {
            let message = format!("There is no time zone `{}`.", visible(timezone));
            ToolError::new(ErrorCode::InvalidArgument, message)
                .hint("write its IANA name, such as Europe/Brussels, or UTC")
        })?;
        let text = text.trim();
        let kind = match text.strip_prefix("every ") {
            Some(interval) => Kind::Every(interval_ms(interval)?, start),
            None if text.split_whitespace().count() == 1 && !text.starts_with('@') => {
                Kind::Once(moment_ms(text, &zone)?)
            }
            None => Kind::Cron(Box::new(cron(text)?)),
        };
        Ok(Self { written: text.to_owned(), kind, zone })
    }

    /// Returns the times as they are stored. One moment without an offset stays in the task's time zone.
    #[must_use]
    pub fn written(&self) -> String {
        self.written.clone()
    }

    /// Returns the first time after a moment, in Unix milliseconds. None where there is none.
    #[must_use]
    pub fn next(&self, after: i64) -> Option<i64> {
        match &self.kind {
            Kind::Once(at) => (*at > after).then_some(*at),
            Kind::Every(interval, start) => {
                let passed = after.checked_sub(*start)?.max(0) / interval;
                start.checked_add(interval.checked_mul(passed.checked_add(1)?)?)
            }
            Kind::Cron(cron) => {
                let from = Timestamp::from_millisecond(after).ok()?.to_zoned(self.zone.clone());
                let next = cron.find_next_occurrence(&from, false).ok()?;
                Some(next.timestamp().as_millisecond()).filter(|next| *next > after)
            }
        }
    }

    /// Returns the next times after a moment, at most so many.
    #[must_use]
    pub fn next_ones(&self, after: i64, most: usize) -> Vec<i64> {
        std::iter::successors(self.next(after), |last| self.next(*last)).take(most).collect()
    }

    /// Formats a time in the time zone, RFC 3339.
    #[must_use]
    pub fn text(&self, at: i64) -> String {
        text_in(at, self.zone.clone())
    }
}

/// Formats a time in the time zone of this name, RFC 3339; in UTC where there is no such zone.
#[must_use]
pub fn text_of(at: i64, timezone: &str) -> String {
    text_in(at, TimeZone::get(timezone).unwrap_or(TimeZone::UTC))
}

fn text_in(at: i64, zone: TimeZone) -> String {
    let Ok(at) = Timestamp::from_millisecond(at) else { return String::new() };
    at.to_zoned(zone).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Returns the IANA name of the backend's own time zone; UTC where it has none.
#[must_use]
pub fn own_zone() -> String {
    let zone = TimeZone::system();
    zone.iana_name().filter(|name| TimeZone::get(name).is_ok()).unwrap_or("UTC").to_owned()
}

fn cron(text: &str) -> Result<Cron, ToolError> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(text).map_err(|error| {
        // Some of the parser's messages are sentences.
        let why = error.to_string();
        let (text, why) = (visible(text), why.trim_end_matches('.'));
        no_time(format!("`{text}` is no cron expression of five fields: {why}."))
    })
}

/// Reads an interval, such as `10m`, `2 hours` or `1d`.
fn interval_ms(text: &str) -> Result<i64, ToolError> {
    let read = text.trim().parse::<Span>().and_then(|span| {
        let days = SpanRelativeTo::days_are_24_hours();
        let seconds = span.total((Unit::Second, days))?;
        Ok(format!("{seconds:.0}").parse::<i64>().unwrap_or_default())
    });
    let milliseconds = read.ok().and_then(|seconds| seconds.checked_mul(1000));
    match milliseconds {
        Some(interval) if (MIN_INTERVAL_MS..=MAX_INTERVAL_MS).contains(&interval) => Ok(interval),
        Some(_) => {
            Err(no_time("An interval is at least one minute and at most 366 days.".to_owned()))
        }
        None => Err(no_time(format!("`every {}` has no interval.", visible(text)))),
    }
}

/// Reads a moment: with an offset, or in the time zone.
fn moment_ms(text: &str, zone: &TimeZone) -> Result<i64, ToolError> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment.as_millisecond());
    }
    let civil = text.parse::<civil::DateTime>().ok();
    // A time that the clock skips is taken as what the clock shows instead.
    let zoned = civil.and_then(|civil| civil.to_zoned(zone.clone()).ok());
    zoned
        .map(|zoned| zoned.timestamp().as_millisecond())
        .ok_or_else(|| no_time(format!("`{}` is no time.", visible(text))))
}

fn no_time(message: String) -> ToolError {
    ToolError::new(ErrorCode::InvalidArgument, message)
        .with("fields", vec!["when"])
        .hint("write five fields of cron such as `0 8 * * 1-5`, `every 10m`, or 2026-12-24T18:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    fn next(text: &str, zone: &str, after: &str, most: usize) -> Vec<String> {
        let times = Times::parse(text, zone, at("2026-01-01T00:00:30Z")).unwrap();
        times.next_ones(at(after), most).into_iter().map(|at| times.text(at)).collect()
    }

    #[test]
    fn times_come_by_the_clock_of_their_zone_and_through_summer_time() {
        let brussels = "Europe/Brussels";
        assert_eq!(
            next("0 8 * * 1-5", brussels, "2026-03-27T12:00:00Z", 2),
            ["2026-03-30T08:00:00+02:00", "2026-03-31T08:00:00+02:00"]
        );
        // The clock goes from two to three on 29 March, and from three to two on 25 October.
        assert_eq!(next("30 2 * * *", brussels, "2026-03-28T12:00:00Z", 2).len(), 2);
        assert_eq!(
            next("0 * * * *", brussels, "2026-10-24T23:30:00Z", 3),
            ["2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"]
        );
        assert_eq!(
            next("every 10m", "UTC", "2026-01-01T00:15:00Z", 2),
            ["2026-01-01T00:20:30+00:00", "2026-01-01T00:30:30+00:00"]
        );
        assert_eq!(
            next("every 1d", "UTC", "2025-01-01T00:00:00Z", 1),
            ["2026-01-02T00:00:30+00:00"]
        );
        assert_eq!(
            next("2026-12-24T18:00", brussels, "2026-01-01T00:00:00Z", 3),
            ["2026-12-24T18:00:00+01:00"]
        );
        let utc = next("2026-12-24T18:00Z", brussels, "2026-01-01T00:00:00Z", 3);
        assert_eq!(utc, ["2026-12-24T19:00:00+01:00"]);
        assert_eq!(next("2026-12-24T18:00", brussels, "2027-01-01T00:00:00Z", 1), [""; 0]);
        assert_eq!(next("0 0 30 2 *", "UTC", "2026-01-01T00:00:00Z", 1), [""; 0], "it never comes");
    }

    #[test]
    fn what_is_no_time_or_too_often_is_refused() {
        for text in [
            "",
            "soon",
            "every",
            "every x",
            "every 59s",
            "every 0m",
            "every -5m",
            "every 400d",
            "every 9999999999h",
            "* * * *",
            "* * * * * *",
            "* * * * * * *",
            "61 * * * *",
            "@daily x",
            "2026-13-01T00:00",
            "2026-12-24 18:00",
        ] {
            assert!(Times::parse(text, "UTC", 0).is_err(), "{text}");
        }
        assert!(Times::parse("every 10m", "Europe/Nowhere", 0).is_err());
        assert!(Times::parse("every 10m", "../../etc/passwd", 0).is_err());
        assert!(Times::parse("every 60s", &own_zone(), 0).is_ok());
    }
}
