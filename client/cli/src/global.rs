//! The options of every command: the output format, the timeout, the backend.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Command, ValueEnum};
use orion_usage::GivenOptions;

/// The options of every command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Global {
    /// How data is printed
    #[arg(
        short,
        long,
        global = true,
        help_heading = "Global options",
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    pub(crate) output: Format,
    /// Print data and errors only
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
    /// Say more about what happens
    #[arg(short, long, global = true, help_heading = "Global options", conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Answer questions with yes, approvals included
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) yes: bool,
    /// How long it may take: 30s, 5m, 1h
    #[arg(long, global = true, help_heading = "Global options", value_parser = duration, value_name = "TIME")]
    pub(crate) timeout: Option<Duration>,
    /// Which backend, and as whom: a context's name, or a file
    #[arg(long, global = true, help_heading = "Global options", env = "ORION_CONTEXT", value_name = "NAME|FILE",
          value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) context: Option<PathBuf>,
    /// The backend's address, over the context's
    #[arg(
        long,
        global = true,
        help_heading = "Global options",
        env = "ORION_BACKEND",
        value_name = "URL"
    )]
    pub(crate) backend: Option<String>,
}

impl Global {
    /// Returns the context that the command line or the environment names. An empty variable names none.
    pub(crate) fn named_context(&self) -> Option<&PathBuf> {
        self.context.as_ref().filter(|named| !named.as_os_str().is_empty())
    }

    /// Returns the backend that the command line or the environment names. An empty variable names none.
    pub(crate) fn named_backend(&self) -> Option<&str> {
        self.backend.as_deref().filter(|backend| !backend.is_empty())
    }

    /// Returns the option that a command needs to be for the same backend, as the same person. What the environment
    /// says holds for further commands too.
    pub(crate) fn options(&self, commands: &Command) -> GivenOptions {
        let variable = std::env::var_os("ORION_CONTEXT");
        let context = self.named_context().filter(|it| variable.as_deref() != Some(it.as_os_str()));
        let variable = std::env::var("ORION_BACKEND").ok();
        let backend = self.named_backend().filter(|it| variable.as_deref() != Some(it));
        let is_of_none = ["context", "demo", "completion", "man"];
        GivenOptions::of("orion", commands)
            .except(&is_of_none)
            .value("--context", context)
            .value("--backend", backend)
    }
}

/// How data is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Table,
    /// For people, with every column
    Wide,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
}

/// Parses `30s`, `5m`, `1h 30m`, `500ms`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    let signed: jiff::SignedDuration =
        text.parse().map_err(|_| "write a time such as 30s, 5m or 1h".to_owned())?;
    Duration::try_from(signed).map_err(|_| "a time cannot be negative".to_owned())
}

/// Parses a duration that may be in days: `30d`.
pub(crate) fn long_duration(text: &str) -> Result<Duration, String> {
    match text.trim().strip_suffix('d').map(str::parse::<u32>) {
        Some(Ok(days)) => Ok(Duration::from_secs(u64::from(days) * 24 * 3600)),
        Some(Err(_)) | None => {
            duration(text).map_err(|_| "write a time such as 1h, 12h or 7d".to_owned())
        }
    }
}

/// Returns the token of the variable `ORION_TOKEN`, which counts before any sign-in.
pub(crate) fn token_variable() -> Option<String> {
    std::env::var("ORION_TOKEN").ok().filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert!(duration("soon").is_err());
        assert!(duration("-5s").is_err());
    }
}
