//! Makes sample calls of a tool from its definition, for the test suites that call every tool.

use orion_domain::{PathStyle, Places};
use serde_json::{Map, Value};

use crate::spec::ToolSpec;

impl ToolSpec {
    /// Returns the arguments of the tool's example.
    #[must_use]
    pub fn example_arguments(&self) -> Map<String, Value> {
        let mut arguments = object(self.example);
        arguments.remove("tool");
        arguments.remove("device");
        arguments
    }

    /// Returns the arguments of the tool's sample, for a file with this first line and an entry whose name
    /// contains `name`. A test holds that every sample is a JSON object.
    #[must_use]
    pub fn sample_arguments(&self, line: &str, name: &str) -> Map<String, Value> {
        let mut arguments = self.example_arguments();
        for (argument, value) in object(self.sample.arguments) {
            arguments.remove(&argument);
            if !value.is_null() {
                arguments.insert(argument, filled(value, line, name));
            }
        }
        arguments
    }

    /// Returns the names of the arguments that name a path: those whose text is among the touched paths.
    #[must_use]
    pub fn path_arguments(&self) -> Vec<String> {
        const PROBE: &str = "/probe/path";
        let places = Places::parse(PathStyle::Posix, Some("/w"), Some("/h"));
        let Ok(places) = places else { return Vec::new() };
        let example = self.example_arguments();
        let schema = self.arguments_schema();
        let names = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
        let is_path = |name: &&String| {
            [Value::from(PROBE), Value::from(vec![PROBE])].into_iter().any(|value| {
                let mut arguments = example.clone();
                arguments.insert((*name).clone(), value);
                let parsed = self.parse(arguments, &places);
                parsed.is_ok_and(|call| {
                    call.touches.paths.iter().any(|touch| touch.path.to_string() == PROBE)
                })
            })
        };
        names.filter(is_path).cloned().collect()
    }
}

fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

/// Returns the value with its placeholders replaced.
fn filled(value: Value, line: &str, name: &str) -> Value {
    match value {
        Value::String(text) => text.replace("{line}", line).replace("{name}", name).into(),
        Value::Array(items) => items.into_iter().map(|item| filled(item, line, name)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(field, value)| (field, filled(value, line, name))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{CATALOG, Execution, Target, find};

    #[test]
    fn arguments_of_a_sample_replace_those_of_the_example_and_placeholders_are_filled() {
        let (edit, _) = find("edit_file").unwrap();
        let arguments = edit.sample_arguments("first=line", "note");
        assert_eq!(arguments["old_text"], json!("first=line"));
        let (search, _) = find("search_directory").unwrap();
        assert_eq!(search.sample_arguments("", "note")["name"], json!("note"));
        let (lines, _) = find("search_text").unwrap();
        assert!(lines.example_arguments().contains_key("glob"));
        assert!(!lines.sample_arguments("", "").contains_key("glob"), "null leaves it out");
    }

    #[test]
    fn the_paths_of_a_tool_are_found() {
        for (tool, paths) in [
            ("write_file", &["path"][..]),
            ("move_path", &["destination", "source"]),
            ("search_directory", &["base"]),
            ("undo_call", &["paths"]),
            ("get_datetime", &[]),
        ] {
            assert_eq!(find(tool).unwrap().0.path_arguments(), paths, "{tool}");
        }
    }

    /// What a new tool needs for the suites that call every file tool.
    #[test]
    fn every_file_tool_says_how_the_test_suites_call_it() {
        for spec in CATALOG {
            let file = format!("shared/catalog/src/tools/{}.rs", spec.name);
            let arguments: Result<serde_json::Value, _> =
                serde_json::from_str(spec.sample.arguments);
            assert!(
                arguments.is_ok_and(|it| it.is_object()),
                "{file}: the arguments of `SAMPLE` are no JSON object"
            );
            assert_eq!(
                spec.execution == Execution::File,
                spec.sample.target != Target::Nothing,
                "{file}: a file tool, and no other, says in `const SAMPLE` what its paths lead to"
            );
            let has_paths = !spec.path_arguments().is_empty();
            assert!(
                has_paths || spec.sample.target == Target::Nothing,
                "{file}: a file tool returns the paths of its arguments from `touches`"
            );
        }
    }
}
