//! Every file tool of the catalogue with each of its arguments that is a path, so that a test can put
//! any text in that place. A tool that comes into the catalogue is tried without a word here.

use std::fs;
use std::path::Path;

use orion_catalog::{CATALOG, ToolSpec};
use orion_domain::{Capability, PathStyle, Places};
use serde_json::{Map, Value, json};

/// The arguments that are paths, wherever they stand.
const PATHS: [&str; 5] = ["path", "source", "destination", "base", "paths"];

/// What the other arguments say, so that a call would show or change as much as it can. The texts are
/// those of [`Outside`](crate::Outside)'s files; none of them is a mark that may not be seen.
fn telling(argument: &str, tool: &str) -> Option<Value> {
    Some(match (argument, tool) {
        ("pattern", "search_text") => json!("(?i)canary-tex[t]"),
        ("query", _) => json!("*"),
        ("name", _) => json!("a"),
        ("recursive" | "parents" | "overwrite" | "sha256" | "confirm", _) => json!(true),
        ("old_text", _) => json!("first=line"),
        ("changes", _) => json!([{"line": 1, "old": "first=line", "new": "first=changed"}]),
        _ => return None,
    })
}

/// One tool with one of its arguments that are paths.
#[derive(Debug, Clone)]
pub struct FileCall {
    /// The tool.
    pub spec: &'static ToolSpec,
    /// The argument.
    pub place: &'static str,
    arguments: Map<String, Value>,
}

/// The tools that read, write or delete files.
pub fn file_tools() -> impl Iterator<Item = &'static ToolSpec> {
    let is_of_files = |capability: &Capability| {
        matches!(capability, Capability::FileRead | Capability::FileWrite | Capability::FileDelete)
    };
    CATALOG.iter().filter(move |spec| spec.capabilities.iter().any(is_of_files))
}

impl FileCall {
    /// Every tool that the device has, in each place that takes a path.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let done = |spec: &&ToolSpec| orion_agent::tools::find(spec.name).is_some();
        file_tools().filter(done).flat_map(Self::of).collect()
    }

    /// One tool in each place that takes a path.
    ///
    /// # Panics
    /// Its example does not fit.
    #[must_use]
    pub fn of(spec: &'static ToolSpec) -> Vec<Self> {
        let mut example: Map<String, Value> = serde_json::from_str(spec.example).unwrap();
        example.retain(|name, _| name != "tool" && name != "device");
        let places = Places::parse(PathStyle::Posix, Some("/w"), Some("/h")).unwrap();
        let whole = spec.parse(example, &places).unwrap().arguments;
        let mut arguments: Map<String, Value> = serde_json::from_str(whole.as_str()).unwrap();
        for (name, value) in &mut arguments {
            if let Some(told) = telling(name, spec.name) {
                *value = told;
            }
        }
        let here = PATHS.into_iter().filter(|place| arguments.contains_key(*place));
        here.map(|place| Self { spec, place, arguments: arguments.clone() }).collect()
    }

    /// The call with `text` in its place. Where it takes another path besides, that is an honest one
    /// for this `number`, which [`FileCall::prepare`] sees to.
    #[must_use]
    pub fn arguments(&self, text: &str, number: usize) -> Value {
        let mut arguments = self.arguments.clone();
        if self.place == "destination" {
            arguments.insert("source".to_owned(), json!(format!("honest/{number}")));
        }
        if self.place == "source" {
            arguments.insert("destination".to_owned(), json!(format!("copies/{number}")));
        }
        let text = if self.place == "paths" { json!([text]) } else { json!(text) };
        arguments.insert(self.place.to_owned(), text);
        Value::Object(arguments)
    }

    /// Makes, in the workspace, what the call of this `number` needs besides what is tried.
    ///
    /// # Panics
    /// It cannot be made.
    pub fn prepare(&self, workspace: &Path, number: usize) {
        if self.place == "destination" {
            fs::create_dir_all(workspace.join("honest")).unwrap();
            fs::write(workspace.join(format!("honest/{number}")), "honest").unwrap();
        }
        if self.place == "source" {
            fs::create_dir_all(workspace.join("copies")).unwrap();
        }
    }

    /// The tool and the argument, for people.
    #[must_use]
    pub fn name(&self) -> String {
        match self.place {
            "source" | "destination" => format!("{}.{}", self.spec.name, self.place),
            _ => self.spec.name.to_owned(),
        }
    }
}
