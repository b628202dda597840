//! Formats the tools that devices define, as an admin reads them before approving.

use orion_catalog::custom::{self, DeclaredTouches, Definition, Group, Kind, Part, Run};
use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;

use super::tool::risk;
use crate::json;
use crate::output::{Output, facts, table};
use crate::text;

/// A custom tool for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CustomToolView {
    pub(crate) device: String,
    pub(crate) name: String,
    pub(crate) state: &'static str,
    pub(crate) digest: String,
    pub(crate) risk: Option<&'static str>,
    pub(crate) is_announced: bool,
    pub(crate) announced_at: i64,
    pub(crate) decided_by: String,
    pub(crate) decided_at: i64,
    pub(crate) definition: Value,
    #[serde(skip)]
    bytes: Vec<u8>,
}

impl From<v1::CustomTool> for CustomToolView {
    fn from(tool: v1::CustomTool) -> Self {
        let v1::CustomTool {
            device,
            name,
            state,
            definition,
            digest,
            risk: given,
            is_announced,
            announced_at,
            decided_by,
            decided_at,
        } = tool;
        let state = match v1::CustomToolState::try_from(state) {
            Ok(v1::CustomToolState::Pending) => "pending",
            Ok(v1::CustomToolState::Approved) => "approved",
            Ok(v1::CustomToolState::Rejected) => "rejected",
            Ok(v1::CustomToolState::Unspecified) | Err(_) => "unknown",
        };
        Self {
            device,
            name,
            state,
            digest,
            risk: (given != v1::Risk::Unspecified as i32).then(|| risk(given)),
            is_announced,
            announced_at,
            decided_by,
            decided_at,
            definition: json::embedded(&String::from_utf8_lossy(&definition)),
            bytes: definition.to_vec(),
        }
    }
}

/// Formats custom tools for people.
pub(crate) fn custom_tools_table(out: &Output, tools: &[CustomToolView]) -> String {
    let digest = |tool: &CustomToolView| {
        if out.is_wide() { tool.digest.clone() } else { tool.digest.chars().take(12).collect() }
    };
    table(
        &["DEVICE", "TOOL", "STATE", "RISK", "DEFINITION", "DESCRIPTION"],
        tools.iter().map(|tool| {
            let description = tool.definition["description"].as_str().unwrap_or_default();
            let state = if tool.is_announced {
                tool.state.to_owned()
            } else {
                format!("{}, gone", tool.state)
            };
            vec![
                text::one_line(&tool.device, 40),
                text::one_line(&tool.name, 64),
                state,
                tool.risk.unwrap_or("-").to_owned(),
                digest(tool),
                text::one_line(description, 60),
            ]
        }),
    )
}

/// Formats one custom tool for the admin who decides about it: everything that its definition says.
pub(crate) fn custom_tool_page(tool: &CustomToolView) -> String {
    let Ok(definition) = custom::read(&tool.bytes) else {
        return format!("This version of orion cannot read the definition:\n{:#}", tool.definition);
    };
    let Definition { name, description, risk, permissions: _, parameters, run, touches } =
        &definition;
    let capabilities: Vec<_> = definition.capabilities().iter().map(ToString::to_string).collect();
    let mut lines = vec![
        ("tool", name.clone()),
        ("device", tool.device.clone()),
        ("state", tool.state.to_owned()),
        ("definition", tool.digest.clone()),
        ("described as", format!("\"{description}\"")),
        ("risk, by its owner", risk.to_string()),
        ("risk, by an admin", tool.risk.unwrap_or("not decided").to_owned()),
        ("permissions", capabilities.join(", ")),
    ];
    lines.extend(of_run(run));
    lines.extend(of_touches(touches));
    let mut page = facts(lines);
    if !parameters.is_empty() {
        let rows = parameters.iter().map(|parameter| {
            let needed = if parameter.required { "required" } else { "optional" };
            let hyphen = if parameter.may_begin_with_hyphen { ", may begin with -" } else { "" };
            vec![
                format!("  {}", parameter.name),
                format!("{}{hyphen}", kind(&parameter.kind)),
                needed.to_owned(),
                parameter.description.clone(),
            ]
        });
        page.push_str("\n\nArguments:\n");
        page.push_str(&table(&["  NAME", "TYPE", "NEEDED", "DESCRIPTION"], rows));
    }
    page
}

fn of_run(run: &Run) -> Vec<(&'static str, String)> {
    match run {
        Run::Program(run) => vec![
            ("starts", quoted(&run.program)),
            ("with the arguments", run.argv.iter().map(part).collect::<Vec<_>>().join(" ")),
            ("in the folder", run.folder.clone()),
            ("which consists of", run.code.join(", ")),
            ("seconds", run.timeout.to_string()),
        ],
        Run::Mcp(run) => vec![
            ("MCP server", format!("{}, its tool {}", run.server, quoted(&run.tool))),
            ("starts", quoted(&run.program)),
            (
                "with the arguments",
                run.argv.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(" "),
            ),
            ("which consists of", run.code.join(", ")),
            ("environment", run.environment.join(", ")),
        ],
    }
}

fn of_touches(touches: &DeclaredTouches) -> Vec<(&'static str, String)> {
    let DeclaredTouches { read, write, delete, hosts } = touches;
    let network = if hosts.is_empty() { "no network".to_owned() } else { hosts.join(", ") };
    vec![
        ("reads", read.join(", ")),
        ("writes", write.join(", ")),
        ("deletes in", delete.join(", ")),
        ("contacts", network),
    ]
}

fn part(part: &Part) -> String {
    match part {
        Part::One(text) => quoted(text),
        Part::Group(Group { when, argv }) => {
            let words: Vec<_> = argv.iter().map(|word| quoted(word)).collect();
            format!("[with {when}: {}]", words.join(" "))
        }
    }
}

/// Returns a word as text in which its ends can be seen.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+={}:@~".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("{word:?}")
    }
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::String { max_length } => format!("text of at most {max_length} bytes"),
        Kind::Integer { minimum, maximum } => format!("whole number from {minimum} to {maximum}"),
        Kind::Number { minimum, maximum } => format!("number from {minimum} to {maximum}"),
        Kind::Boolean => "true or false".to_owned(),
        Kind::Choice { values } => values.join(" | "),
        Kind::Strings { max_items, max_length } => {
            format!("at most {max_items} texts of {max_length} bytes")
        }
        Kind::Json { max_length } => format!("JSON of at most {max_length} bytes"),
    }
}
