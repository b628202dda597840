//! Executes `get_datetime`.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use orion_catalog::tools::get_datetime::{Arguments, GetDatetime, Returns};
use orion_domain::ToolError;

use super::{Context, Outcome, PlainTool, invalid};

const MAX_NAME_BYTES: usize = 64;

impl PlainTool for GetDatetime {
    fn run(arguments: Arguments, _: &Context<'_>) -> Result<Outcome<Returns>, ToolError> {
        let zone = match &arguments.timezone {
            Some(name) => named(name)?,
            None => TimeZone::system(),
        };
        let data = at(Timestamp::now(), zone);
        Ok(Outcome::new(format!("It is {} ({}).", data.datetime, data.timezone), data))
    }
}

/// Returns a moment in a time zone, to the second.
fn at(now: Timestamp, zone: TimeZone) -> Returns {
    let now: Zoned = now.to_zoned(zone);
    Returns {
        datetime: now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        date: now.strftime("%Y-%m-%d").to_string(),
        time: now.strftime("%H:%M:%S").to_string(),
        unix: now.timestamp().as_second(),
        timezone: now
            .time_zone()
            .iana_name()
            .map_or_else(|| now.offset().to_string(), ToOwned::to_owned),
    }
}

fn named(name: &str) -> Result<TimeZone, ToolError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_+-".contains(&byte);
    let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
    if name.len() <= MAX_NAME_BYTES
        && name.bytes().all(plain)
        && let Ok(zone) = TimeZone::get(name)
    {
        return Ok(zone);
    }
    let near = nearest(&shown);
    let hint = near.first().map_or("Europe/Amsterdam", String::as_str);
    let message = format!(
        "`{}` is not a time zone that this device knows; write an IANA name such as {hint}, or UTC.",
        shown.escape_debug()
    );
    Err(invalid(message).with("attempted_timezone", shown).suggesting(near))
}

/// Returns the time zones whose name or city is most similar.
fn nearest(name: &str) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut scored: Vec<_> = jiff::tz::db()
        .available()
        .map(|zone| {
            let zone = zone.as_str().to_owned();
            let lower = zone.to_lowercase();
            let city = lower.rsplit('/').next().unwrap_or_default();
            let score =
                strsim::jaro_winkler(&wanted, &lower).max(strsim::jaro_winkler(&wanted, city));
            (score, zone)
        })
        .filter(|(score, _)| *score > 0.8)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.into_iter().take(3).map(|(_, zone)| zone).collect()
}

#[cfg(test)]
mod tests {
    use orion_domain::ErrorCode;

    use super::*;

    #[test]
    fn a_moment_is_told_in_its_zone() {
        let zone = named("Europe/Amsterdam").unwrap();
        let now = Timestamp::from_second(1_753_000_000).unwrap();
        let expected = Returns {
            datetime: "2025-07-20T10:26:40+02:00".to_owned(),
            date: "2025-07-20".to_owned(),
            time: "10:26:40".to_owned(),
            unix: 1_753_000_000,
            timezone: "Europe/Amsterdam".to_owned(),
        };
        assert_eq!(at(now, zone), expected);
        assert_eq!(at(now, named("UTC").unwrap()).datetime, "2025-07-20T08:26:40+00:00");
    }

    #[test]
    fn an_unknown_zone_names_the_nearest() {
        for (name, near) in
            [("Amsterdam", "Europe/Amsterdam"), ("Europe/Amsterdm", "Europe/Amsterdam")]
        {
            let error = named(name).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument);
            assert_eq!(error.suggestions().first().map(String::as_str), Some(near), "{name}");
        }
        for name in ["", "../../etc/passwd", "/etc/passwd", "\0", &"x".repeat(10_000)] {
            let error = named(name).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument, "{name:?}");
            assert!(error.message.len() < 512);
        }
    }
}
