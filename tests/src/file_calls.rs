//! Every file tool of the catalogue with each of its path arguments, so that a test can put any text in
//! that place. A new file tool of the catalogue is called with the paths that its `touches` returns and the
//! arguments of its `SAMPLE`.

use std::fs;
use std::path::Path;

use orion_catalog::{CATALOG, Execution, ToolSpec};
use orion_domain::{PathStyle, Places};
use serde_json::{Map, Value, json};

/// The first line of [`Outside`](crate::Outside)'s files, and a part of the names of their entries. Neither is
/// a secret mark.
const FIRST_LINE: &str = "first=line";
const NAME_PART: &str = "a";

/// One tool with one of its path arguments.
#[derive(Debug, Clone)]
pub struct FileCall {
    /// The tool's specification.
    pub spec: &'static ToolSpec,
    /// The argument's name.
    pub place: String,
    arguments: Map<String, Value>,
}

/// Returns the tools that read, write or delete files.
pub fn file_tools() -> impl Iterator<Item = &'static ToolSpec> {
    CATALOG.iter().filter(|spec| spec.execution == Execution::File)
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
        let places = Places::parse(PathStyle::Posix, Some("/w"), Some("/h")).unwrap();
        let sample = spec.sample_arguments(FIRST_LINE, NAME_PART);
        let whole = spec.parse(sample, &places).unwrap().arguments;
        let mut arguments: Map<String, Value> = serde_json::from_str(whole.as_str()).unwrap();
        // A call shows or changes as much as it can, but for what its sample states.
        let stated: Map<String, Value> = serde_json::from_str(spec.sample.arguments).unwrap();
        for (name, value) in &mut arguments {
            if value.is_boolean() && !stated.contains_key(name) {
                *value = json!(true);
            }
        }
        let places = spec.path_arguments().into_iter();
        places.map(|place| Self { spec, place, arguments: arguments.clone() }).collect()
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
        if arguments.contains_key("from_device") {
            arguments.insert("from_device".to_owned(), json!("kiosk"));
            arguments.insert("from_path".to_owned(), json!(format!("honest/{number}")));
        }
        let is_list = arguments.get(&self.place).is_some_and(Value::is_array);
        arguments.insert(self.place.clone(), if is_list { json!([text]) } else { json!(text) });
        Value::Object(arguments)
    }

    /// Creates, in the workspace, the other files that the call of this `number` needs.
    ///
    /// # Panics
    /// They cannot be created.
    pub fn prepare(&self, workspace: &Path, number: usize) {
        if self.place == "destination" || self.arguments.contains_key("from_device") {
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
        match self.place.as_str() {
            "source" | "destination" => format!("{}.{}", self.spec.name, self.place),
            _ => self.spec.name.to_owned(),
        }
    }
}
