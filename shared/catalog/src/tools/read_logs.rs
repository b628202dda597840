//! `read_logs`: the last lines of a log: of a systemd unit, of a container, or of a file.

use orion_domain::services::Service;
use orion_domain::{
    Access, Capability, ErrorCode, Places, Risk, ToolError, ToolFacts, Touches, visible,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::path;
use crate::execution::Execution;
use crate::since::Since;
use crate::spec::{Alias, Category, Tool};

/// The most lines of one call.
pub const MAX_LINES: u32 = 1000;

/// The `read_logs` tool.
#[derive(Debug)]
pub struct ReadLogs;

/// Which log, and which of its lines. Exactly one of unit, container and path is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A systemd unit, such as nginx.service.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub unit: Option<String>,
    /// A container by its name, or a compose service as PROJECT/SERVICE.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub container: Option<String>,
    /// A log file.
    #[serde(default)]
    pub path: Option<String>,
    /// At most this many lines, the newest ones, from 1 to 1,000.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    pub lines: u32,
    /// Only lines since then: a time such as 2026-05-01T08:00:00Z, or how long ago, such as 90s, 15m, 2h or 7d.
    /// Not for a path, because the lines of a file have no known time.
    #[serde(default)]
    pub since: Option<String>,
    /// Only lines that match this regular expression; (?i) at its start lets case not count.
    #[serde(default)]
    pub grep: Option<String>,
}

const fn hundred() -> u32 {
    100
}

/// Where a log is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The journal of systemd, or the engine of containers, keeps it for a service.
    Service(Service),
    /// A file, by its path as the call writes it.
    File(String),
}

impl Arguments {
    /// Returns the log that is meant.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` unless exactly one is named, by a plain name.
    pub fn source(&self) -> Result<Source, ToolError> {
        match (&self.unit, &self.container, &self.path) {
            (Some(name), None, None) => {
                let unit = Service::unit(name);
                unit.map(Source::Service).ok_or_else(|| no_name("unit", name))
            }
            (None, Some(name), None) => {
                let is_compose = name.contains('/');
                let container =
                    if is_compose { Service::compose(name) } else { Service::container(name) };
                container.map(Source::Service).ok_or_else(|| no_name("container", name))
            }
            (None, None, Some(path)) => Ok(Source::File(path.clone())),
            (_, _, _) => Err(invalid("read_logs takes exactly one of unit, container and path.")),
        }
    }

    /// Returns since when lines are wanted. `None` for all.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a text that is no time, and with a path.
    pub fn since(&self) -> Result<Option<Since>, ToolError> {
        let Some(since) = &self.since else { return Ok(None) };
        if self.path.is_some() {
            let message = "The lines of a file have no known time, so since is not for a path.";
            return Err(invalid(message).hint("use grep for the times in the lines"));
        }
        Since::parse(since).map(Some).ok_or_else(|| {
            let shown = visible(&since.chars().take(64).collect::<String>());
            invalid(format!("`{shown}` is neither a time nor how long ago."))
                .hint("write 2026-05-01T08:00:00Z or 15m")
        })
    }
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::InvalidArgument, message)
}

fn no_name(what: &str, text: &str) -> ToolError {
    let shown: String = text.chars().take(64).collect();
    invalid(format!("`{}` is no plain name of a {what}.", visible(&shown)))
}

/// One line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// When it was written, in UTC; none for a line of a file.
    pub time: Option<String>,
    /// How urgent it is by syslog, from 0 (emergency) to 7 (debug); only units have it.
    pub priority: Option<u8>,
    /// The line, cut at 4,096 bytes.
    pub text: String,
}

/// The lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The lines, oldest first.
    pub lines: Vec<LogLine>,
    /// How many are given.
    pub count: u64,
    /// Whether there may be more, or a line was cut.
    pub truncated: bool,
}

impl Tool for ReadLogs {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "read_logs";
    const ALIASES: &'static [Alias] = &[Alias { name: "view_logs", adapt: of_service }];
    const CATEGORY: Category = Category::Service;
    const DESCRIPTION: &'static str = "Reads the newest lines of a log of a device: of a systemd unit, a \
        container or a file. To see whether a service runs, use check_service.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::ServiceRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const OF_FILES: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"read_logs","device":"laptop-123","unit":"nginx.service","lines":50}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        if !(1..=MAX_LINES).contains(&arguments.lines) {
            let message =
                format!("lines is {}, and has to be from 1 to {MAX_LINES}.", arguments.lines);
            return Err(invalid(message));
        }
        arguments.since()?;
        Ok(match arguments.source()? {
            Source::Service(service) => Touches::log(service),
            Source::File(file) => Touches::path(path(places, &file)?, Access::Read),
        })
    }

    fn facts(arguments: &Arguments, facts: ToolFacts<'static>) -> ToolFacts<'static> {
        if arguments.path.is_none() {
            return facts;
        }
        ToolFacts { capabilities: &[Capability::ServiceRead, Capability::FileRead], ..facts }
    }
}

/// Other systems name a service, whatever runs it.
fn of_service(arguments: &mut Map<String, Value>) {
    let Some(Value::String(service)) = arguments.get("service") else { return };
    let of_container = ["container:", "compose:"].iter().find_map(|it| service.strip_prefix(it));
    let (name, value) = match of_container {
        Some(container) => ("container", container.to_owned()),
        None => ("unit", service.clone()),
    };
    if !arguments.contains_key(name) {
        arguments.remove("service");
        arguments.insert(name.to_owned(), Value::String(value));
    }
}

#[cfg(test)]
mod tests {
    use orion_domain::PathStyle;
    use serde_json::json;

    use super::*;

    fn touched(arguments: Value) -> Result<Touches, ErrorCode> {
        let home = Some("/home/ann");
        let places = Places::parse(PathStyle::Posix, home, home).unwrap();
        let arguments: Arguments = serde_json::from_value(arguments).unwrap();
        ReadLogs::touches(&arguments, &places).map_err(|error| error.code)
    }

    #[test]
    fn exactly_one_log_is_touched_and_a_path_as_a_file() {
        let log = |name: &str| Ok(Touches::log(Service::parse(name).unwrap()));
        assert_eq!(touched(json!({"unit": "nginx"})), log("nginx.service"));
        assert_eq!(touched(json!({"container": "pihole"})), log("container:pihole"));
        assert_eq!(touched(json!({"container": "lab/grafana"})), log("compose:lab/grafana"));
        let file = touched(json!({"path": "log/app.log", "grep": "x"})).unwrap();
        assert_eq!(
            (file.logs.len(), file.paths[0].path.to_string().as_str()),
            (0, "/home/ann/log/app.log")
        );
        for wrong in [
            json!({}),
            json!({"unit": "a", "path": "b"}),
            json!({"unit": "*"}),
            json!({"unit": "--file=/etc/shadow"}),
            json!({"unit": "container:a"}),
            json!({"container": "-a"}),
            json!({"container": "a/b/c"}),
            json!({"unit": "a", "lines": 0}),
            json!({"unit": "a", "lines": 1001}),
            json!({"unit": "a", "since": "yesterday"}),
            json!({"path": "b", "since": "1h"}),
        ] {
            assert_eq!(touched(wrong.clone()), Err(ErrorCode::InvalidArgument), "{wrong}");
        }
    }

    #[test]
    fn a_path_needs_the_permission_to_read_files_as_well() {
        let facts = |arguments: Value| {
            let arguments: Arguments = serde_json::from_value(arguments).unwrap();
            let spec = crate::find("read_logs").unwrap().0;
            ReadLogs::facts(&arguments, spec.facts()).capabilities
        };
        assert_eq!(facts(json!({"unit": "nginx"})), [Capability::ServiceRead]);
        let both = [Capability::ServiceRead, Capability::FileRead];
        assert_eq!(facts(json!({"path": "a"})), both);
    }

    #[test]
    fn the_other_name_takes_a_service_of_any_kind() {
        for (given, expected) in [
            (json!({"service": "nginx"}), json!({"unit": "nginx"})),
            (json!({"service": "container:pihole"}), json!({"container": "pihole"})),
            (json!({"service": "compose:lab/grafana"}), json!({"container": "lab/grafana"})),
            (json!({"service": "a", "unit": "b"}), json!({"service": "a", "unit": "b"})),
            (json!({"path": "a"}), json!({"path": "a"})),
        ] {
            let Value::Object(mut arguments) = given else { unreachable!() };
            of_service(&mut arguments);
            assert_eq!(Value::Object(arguments), expected);
        }
    }
}
