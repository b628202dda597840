//! Reads the table of decisions beside this file into rows. It knows nothing of policies or of the
//! evaluator, so that any evaluator can be tested with it; other tests include it by its path.

use std::collections::BTreeMap;

use orion_domain::ContentRaise;
use serde::Deserialize;
use serde_json::{Map, Value};

/// One expected decision.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The family, and the call as written there.
    pub(crate) title: String,
    /// The text of the policy file.
    pub(crate) policy: String,
    /// The device's name.
    pub(crate) device: String,
    /// `posix` or `windows`.
    pub(crate) style: String,
    /// The home folder on the device.
    pub(crate) home: String,
    /// The workspace on the device.
    pub(crate) workspace: String,
    /// The owner's ceiling, in the grammar of grants; `Null` for none.
    pub(crate) ceiling: Value,
    /// The user that makes the call.
    pub(crate) user: String,
    /// The user's role.
    pub(crate) role: String,
    /// The tool's name.
    pub(crate) tool: String,
    /// The tool's arguments.
    pub(crate) arguments: Map<String, Value>,
    /// Conditions that only some evaluators support.
    pub(crate) when: When,
    /// `allow`, `dry_run_first`, `ask` or `deny`; `invalid` where the call is invalid there.
    pub(crate) decision: String,
    /// The name of the deciding line, without the place of a rule in its file.
    pub(crate) rule: String,
}

/// The conditions of a call. Every evaluator supports the default.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct When {
    /// Whether the call requests only a preview.
    pub(crate) dry_run: bool,
    /// The user, in place of the family's.
    who: Option<String>,
    /// Unix milliseconds, for evaluators with a settable time.
    pub(crate) unix_ms: Option<i64>,
    /// The day, 0 for Monday, and the minute of the day, in the policy's time zone.
    pub(crate) at: Option<(u8, u16)>,
    /// Where the chat contains untrusted content: what the backend found of the call in it.
    pub(crate) content: Option<Vec<ContentRaise>>,
    /// The number of such calls before; only the backend counts.
    pub(crate) earlier: Option<u32>,
    /// The number of files and folders that the preview reported; only the backend requests it.
    pub(crate) entries: Option<u64>,
    /// Unix milliseconds. The end of the device's dangerous mode.
    pub(crate) dangerous_until: Option<i64>,
}

impl Row {
    /// Returns whether the row needs only a policy, a device and a user.
    #[must_use]
    pub(crate) fn is_plain(&self) -> bool {
        let When { dry_run, ref who, .. } = self.when;
        self.when == When { dry_run, who: who.clone(), ..When::default() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    policies: BTreeMap<String, String>,
    devices: BTreeMap<String, Device>,
    family: Vec<Family>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Device {
    policy: String,
    style: String,
    home: String,
    workspace: String,
    #[serde(default)]
    ceiling: Value,
}

/// Rows of one kind. The columns are calls, people or devices; one of the three varies.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    name: String,
    #[serde(default = "plain")]
    calls: Vec<String>,
    #[serde(default = "ann")]
    people: Vec<String>,
    devices: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

fn plain() -> Vec<String> {
    vec!["{}".to_owned()]
}

fn ann() -> Vec<String> {
    vec!["ann operator".to_owned()]
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Cell {
    Text(String),
    When(When),
}

/// Returns every row of the table.
#[must_use]
pub(crate) fn rows() -> Vec<Row> {
    let Table { policies, devices, family } = toml::from_str(include_str!("table.toml")).unwrap();
    let mut rows = Vec::new();
    for Family { name, calls, people, devices: columns, rows: lines } in family {
        let width = calls.len().max(people.len()).max(columns.len());
        for line in lines {
            let mut when = When::default();
            let mut texts = Vec::new();
            for cell in line {
                match cell {
                    Cell::Text(text) => texts.push(text),
                    Cell::When(conditions) => when = conditions,
                }
            }
            let (subject, cells) = texts.split_first().unwrap();
            assert_eq!(cells.len(), width, "{name}: {subject}");
            for (column, cell) in cells.iter().enumerate() {
                let of = |list: &[String]| list.get(column).unwrap_or(&list[0]).clone();
                let device = of(&columns);
                let Device { policy, style, home, workspace, ceiling } = devices[&device].clone();
                let call = of(&calls).replace("{}", subject);
                let (tool, arguments) = call_of(&call);
                let who = when.who.clone().unwrap_or_else(|| of(&people));
                let (user, role) = who.split_once(' ').unwrap();
                let (decision, rule) = expected(cell);
                rows.push(Row {
                    title: format!("{name}: {call} by {who} on {device}, {when:?}"),
                    policy: policies[&policy].clone(),
                    device,
                    style,
                    home,
                    workspace,
                    ceiling,
                    user: user.to_owned(),
                    role: role.to_owned(),
                    tool,
                    arguments,
                    when: when.clone(),
                    decision,
                    rule,
                });
            }
        }
    }
    rows
}

/// Parses a cell: the decision, and the deciding line where it is not the usual one.
fn expected(cell: &str) -> (String, String) {
    let (decision, rule) = match cell.split_once(' ') {
        Some((decision, rule)) => (decision, rule),
        None => match cell {
            "allow" => (cell, "role: allowed"),
            "ask" => (cell, "risk high"),
            "invalid" => (cell, ""),
            other => panic!("`{other}` says no line"),
        },
    };
    (decision.to_owned(), rule.to_owned())
}

/// Parses `tool name=value …`, split at spaces outside double quotes and typed by the tool's schema.
fn call_of(line: &str) -> (String, Map<String, Value>) {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    let (tool, pairs) = words.split_first().unwrap();
    let schema = orion_catalog::find(tool).unwrap().0.arguments_schema();
    let mut arguments = Map::new();
    for pair in pairs {
        let (name, value) = pair.split_once('=').unwrap();
        let value = orion_catalog::typed(value, Some(&schema["properties"][name]));
        arguments.insert(name.to_owned(), value);
    }
    (tool.clone(), arguments)
}
