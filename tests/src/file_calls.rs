//! Every file tool of the catalogue with each of its path arguments, so that a test can put any text in
//! that place. A new tool of the catalogue is covered automatically.

use std::fs;
use std::path::Path;

use orion_catalog::{CATALOG, ToolSpec};
use orion_domain::{Capability, PathStyle, Places};
use serde_json::{Map, Value, json};

/// The path arguments, wherever they occur.
const PATHS: [&str; 5] = ["path", "source", "destination", "base", "paths"];

/// Returns values for the other arguments, so that a call shows or changes as much as it can. The texts
/// are those of [`Outside`](crate::Outside)'s files; none of them is a secret mark.
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

/// One tool with one of its path arguments.
#[derive(Debug, Clone)]
pub struct FileCall {
    /// The tool's specification.
    pub spec: &'static ToolSpec,
    /// The argument's name.
    pub place: &'static str,
    arguments: Map<String, Value>,
}

/// Returns the tools that read, write or delete files.
pub fn file_tools() -> impl Iterator<Item = &'static ToolSpec> {
    let is_of_files = |capability: &Capability| {
        matches!(capability, Capability::FileRead | Capability::FileWrite | Capability::FileDelete)
    };
    CATALOG.iter().filter(move |spec| spec.capabilities.iter().any(is_of_files))
}

impl FileCall {
    /// Returns every tool of the device, with each path argument.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let done = |spec: &&ToolSpec| orion_agent::tools::find(spec.name).is_some();
        file_tools().filter(done).flat_map(Self::of).collect()
    }

    /// Returns one tool with each path argument.
    ///
    /// # Panics
    /// Its example does not match its schema.
    #[must_use]
    pub fn of(spec: &'static ToolSpec) -> Vec<Self> {
        let mut example: Map<String, Value> = serde_json::from_str(spec.example).unwrap();
        example.retain(|name, _| name != "tool" && name != "device");
        let places = Places::parse(PathStyle::Posix, Some("/w"), Some("/h")).unwrap();
        let whole = spec.parse(example, &places).unwrap().arguments;
        let mut arguments: Map<String, Value> = serde_json::from_str(whole.as_str()).unwrap();
        for (name, value) in &mut arguments {
            if let Some(replacement) = telling(name, spec.name) {
                *value = replacement;
            }
        }
        let here = PATHS.into_iter().filter(|place| arguments.contains_key(*place));
        here.map(|place| Self { spec, place, arguments: arguments.clone() }).collect()
    }

    /// Returns the call with `text` in its place. Another path argument gets an honest path for this
    /// `number`, which [`FileCall::prepare`] creates.
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

    /// Creates, in the workspace, the other files that the call of this `number` needs.
    ///
    /// # Panics
    /// They cannot be created.
    pub fn prepare(&self, workspace: &Path, number: usize) {
        if self.place == "destination" {
            fs::create_dir_all(workspace.join("honest")).unwrap();
            fs::write(workspace.join(format!("honest/{number}")), "honest").unwrap();
        }
        if self.place == "source" {
            fs::create_dir_all(workspace.join("copies")).unwrap();
        }
    }

    /// Returns the tool and the argument, for people.
    #[must_use]
    pub fn name(&self) -> String {
        match self.place {
            "source" | "destination" => format!("{}.{}", self.spec.name, self.place),
            _ => self.spec.name.to_owned(),
        }
    }
}
