//! `orion audit list`: rows by person, device, tool, time and outcome.

use clap::Args;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use orion_domain::Hint;
use orion_wire::v1;

use super::{RowView, rows_table};
use crate::app::App;
use crate::complete;
use crate::failure::Failure;
use crate::global::long_duration;
use crate::text;

/// List rows, the newest first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion audit list --limit 20 -o wide
  orion audit list --user bob --since 7d
  orion audit list --device laptop-123 --tool delete_file --until \"2026-03-01 12:00\"
  orion audit list --denied --since 2026-03-01 -o json

A time is how long ago (2h, 7d), a local date or date and time, or RFC 3339. Filters look through at most 50,000
rows; then the command says how to go on.")]
pub(super) struct List {
    /// At most this many
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Only rows before this one
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    before: i64,
    /// Only rows about this call; the id may be shortened
    #[arg(long, value_name = "ID", add = ArgValueCandidates::new(complete::calls))]
    call: Option<String>,
    /// Only rows by or about this person
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(complete::users))]
    user: Option<String>,
    /// Only rows about the device of this name
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(complete::devices))]
    device: Option<String>,
    /// Only calls of this tool
    #[arg(long, value_name = "TOOL", add = ArgValueCandidates::new(complete::tools))]
    tool: Option<String>,
    /// Only rows since then
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<i64>,
    /// Only rows before then
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<i64>,
    /// Only denials: calls, approvals and requests that were denied or refused
    #[arg(long)]
    denied: bool,
}

/// Parses a moment: how long ago, a local date or date and time, or RFC 3339. Returns Unix milliseconds.
fn time(text: &str) -> Result<i64, String> {
    moment(text, Timestamp::now(), &TimeZone::system())
}

fn moment(text: &str, now: Timestamp, zone: &TimeZone) -> Result<i64, String> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.as_millisecond());
    }
    if let Ok(local) = text.parse::<DateTime>() {
        let at = local.to_zoned(zone.clone()).map_err(|error| error.to_string())?;
        return Ok(at.timestamp().as_millisecond());
    }
    let ago = long_duration(text).map_err(|_| {
        "write how long ago (2h, 7d), a date (2026-03-01), or a date and time \
         (\"2026-03-01 12:00\")"
            .to_owned()
    })?;
    let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
    // Zero stands for no limit.
    Ok(now.as_millisecond().saturating_sub(ago).max(1))
}

impl List {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, or the backend fails.
    pub(super) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let Self { limit, before, call, user, device, tool, since, until, denied } = self;
        let (since, until) = (since.unwrap_or_default(), until.unwrap_or_default());
        if until > 0 && since >= until {
            return Err(Failure::Usage("--since is not before --until".to_owned())
                .hint("swap the two times, or leave one out"));
        }
        let request = v1::ListAuditRequest {
            limit,
            before_seq: before,
            call_id: call.unwrap_or_default(),
            user: user.unwrap_or_default(),
            device: device.unwrap_or_default(),
            tool: tool.unwrap_or_default(),
            since,
            until,
            denied,
        };
        let unknown = Some(request.tool.clone())
            .filter(|tool| !tool.is_empty() && orion_catalog::find(tool).is_none());
        let client = app.signed_in().await?;
        let v1::ListAuditResponse { rows, searched_to } =
            client.ask(client.audit().list_audit(request)).await?;
        let rows: Vec<_> = rows.into_iter().map(RowView::from).collect();
        if rows.is_empty() {
            app.out.note("there are no such rows");
            if let Some(tool) = unknown {
                let tool = text::one_line(&tool, 80);
                app.out.note(&format!(
                    "the catalogue has no tool {tool}; `orion tools list` lists them"
                ));
            }
        }
        app.out.show(&rows, || rows_table(app.out, &rows))?;
        let oldest = rows.last().map_or(0, |row| row.seq);
        if searched_to <= 1
            && oldest > 1
            && rows.len() == usize::try_from(limit).unwrap_or_default()
        {
            let hint = Hint::run("list older ones", format!("--before {oldest}"));
            app.out.note(&format!("there may be older rows; {hint}"));
        }
        if searched_to > 1 {
            let hint = Hint::run("look further back", format!("--before {searched_to}"));
            app.out.note(&format!("rows before {searched_to} were not searched; {hint}"));
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_an_age_a_local_time_or_an_exact_one() {
        let now: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        let at = |text: &str| {
            moment(text, now, &zone).map(|ms| Timestamp::from_millisecond(ms).unwrap().to_string())
        };
        assert_eq!(at("2h").unwrap(), "2026-03-02T10:00:00Z");
        assert_eq!(at("1d").unwrap(), "2026-03-01T12:00:00Z");
        assert_eq!(at("2026-03-01").unwrap(), "2026-02-28T23:00:00Z");
        assert_eq!(at("2026-03-01 12:00").unwrap(), "2026-03-01T11:00:00Z");
        assert_eq!(at("2026-03-01T12:00:00Z").unwrap(), "2026-03-01T12:00:00Z");
        assert!(at("yesterday").unwrap_err().contains("2026-03-01"));
    }
}
