//! Finds tools in the catalogue.

use serde_json::{Map, Value};

use crate::spec::{Alias, ToolSpec};
use crate::tools::CATALOG;

/// Returns the tool with this name or alias, and the alias if it was one.
#[must_use]
pub fn find(name: &str) -> Option<(&'static ToolSpec, Option<Alias>)> {
    CATALOG.iter().find_map(|spec| {
        if spec.name == name {
            return Some((spec, None));
        }
        spec.aliases.iter().find(|alias| alias.name == name).map(|alias| (spec, Some(*alias)))
    })
}

/// Returns the names most similar to this one, best first, at most three.
#[must_use]
pub fn nearest(name: &str) -> Vec<String> {
    // Longer names are near nothing, and the comparison is quadratic.
    if name.len() > 64 {
        return Vec::new();
    }
    let mut scored: Vec<_> = CATALOG
        .iter()
        .map(|spec| (strsim::jaro_winkler(name, spec.name), spec.name))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// Returns the arguments of a call as people may see them. Those of an unknown tool are returned as they are.
#[must_use]
pub fn without_secrets(tool: &str, mut arguments: Map<String, Value>) -> Map<String, Value> {
    if let Some((spec, _)) = find(tool) {
        drop(spec.take_secrets(&mut arguments));
    }
    arguments
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use orion_domain::{Access, PathStyle, Places};
    use serde_json::json;

    use super::*;
    use crate::tools;

    fn places() -> Places {
        Places {
            workspace: orion_domain::DevicePath::parse(PathStyle::Posix, "/srv/files").ok(),
            home: orion_domain::DevicePath::parse(PathStyle::Posix, "/home/ann").ok(),
            ..Places::bare(PathStyle::Posix)
        }
    }

    #[test]
    fn names_and_aliases_are_unique_and_snake_case() {
        let mut seen = BTreeSet::new();
        for spec in CATALOG {
            for name in std::iter::once(spec.name).chain(spec.aliases.iter().map(|a| a.name)) {
                assert!(seen.insert(name), "{name} stands twice");
                assert!(
                    name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
                );
                assert_eq!(find(name).unwrap().0.name, spec.name);
            }
        }
    }

    #[test]
    fn every_schema_is_closed_and_every_argument_is_described() {
        for spec in CATALOG {
            let schema = spec.arguments_schema();
            assert_eq!(schema["additionalProperties"], json!(false), "{}", spec.name);
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                assert!(property["description"].is_string(), "{}.{name}", spec.name);
            }
        }
    }

    #[test]
    fn every_example_is_a_call_that_fits() {
        for spec in CATALOG {
            let mut example: Value = serde_json::from_str(spec.example).unwrap();
            let object = example.as_object_mut().unwrap();
            assert_eq!(object.remove("tool"), Some(json!(spec.name)));
            object.remove("device");
            spec.parse(object.clone(), &places()).unwrap_or_else(|e| panic!("{}: {e}", spec.name));
        }
    }

    #[test]
    fn dangerous_tools_want_confirm_and_effects_are_declared() {
        for spec in CATALOG {
            let takes_confirm = spec.arguments_schema()["properties"]["confirm"].is_object();
            assert_eq!(takes_confirm, spec.risk.is_dangerous(), "{}", spec.name);
            if spec.risk.is_dangerous() || !spec.idempotent {
                assert!(spec.has_effects, "{}", spec.name);
            }
        }
    }

    #[test]
    fn what_can_be_taken_back_changes_something_and_names_its_paths() {
        for spec in CATALOG.iter().filter(|spec| spec.undo) {
            assert!(spec.has_effects, "{}", spec.name);
            let example: Value = serde_json::from_str(spec.example).unwrap();
            let paths = tools::undo_call::paths_of(spec.name, example.as_object().unwrap());
            assert!((1..=2).contains(&paths.len()), "{}: {paths:?}", spec.name);
        }
    }

    #[test]
    fn undoing_writes_exactly_what_the_call_wrote_deleted_or_moved() {
        let undo = find("undo_call").unwrap().0;
        let id = "01893e2a-7c00-7000-8000-000000000001";
        for spec in CATALOG.iter().filter(|spec| spec.undo) {
            let mut example: Value = serde_json::from_str(spec.example).unwrap();
            let arguments = example.as_object_mut().unwrap();
            arguments.remove("tool");
            arguments.remove("device");
            let paths = tools::undo_call::paths_of(spec.name, arguments);
            let call = spec.parse(arguments.clone(), &places()).unwrap();
            let undoing = json!({"call_id": id, "paths": paths});
            let undoing = undo.parse(undoing.as_object().unwrap().clone(), &places()).unwrap();
            let changed: BTreeSet<_> = call
                .touches
                .paths
                .into_iter()
                .filter(|touch| touch.access != Access::Read)
                .map(|touch| touch.path.to_string())
                .collect();
            let written: BTreeSet<_> = undoing
                .touches
                .paths
                .into_iter()
                .filter(|touch| touch.access == Access::Write)
                .map(|touch| touch.path.to_string())
                .collect();
            assert_eq!(written, changed, "{}", spec.name);
        }
    }

    #[test]
    fn a_misspelled_tool_is_close_to_the_right_one() {
        assert_eq!(
            nearest("create_directry").first().map(String::as_str),
            Some("create_directory")
        );
        assert_eq!(nearest("zzz"), Vec::<String>::new());
        assert_eq!(nearest(&"x".repeat(100_000)), Vec::<String>::new());
    }
}
