//! Every tool has a page that documents its schemas.

use std::collections::BTreeSet;
use std::fs;

use orion_catalog::{CATALOG, ToolSpec};
use serde_json::Value;

use crate::markdown::{Page, names};
use crate::tree::root;

fn page(spec: &ToolSpec) -> Page {
    Page::read(&format!("docs/tools/{}.md", spec.name))
}

/// Collects every field of a schema, with nested ones: `entries[].name`, `system.hostname`.
fn fields(schema: &Value, prefix: &str, into: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{prefix}{name}");
        into.insert(path.clone());
        inside(property, &path, into);
    }
}

fn inside(schema: &Value, path: &str, into: &mut BTreeSet<String>) {
    fields(schema, &format!("{path}."), into);
    if schema["items"].is_object() {
        inside(&schema["items"], &format!("{path}[]"), into);
    }
    for choice in schema["anyOf"].as_array().into_iter().flatten() {
        inside(choice, path, into);
    }
}

fn documented(page: &Page, heading: &str) -> BTreeSet<String> {
    page.section(heading).rows().iter().map(|row| names(row.first().unwrap()).concat()).collect()
}

#[test]
fn every_tool_has_a_page_and_every_page_a_tool() {
    let pages: BTreeSet<_> = fs::read_dir(root().join("docs/tools"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    let tools: BTreeSet<_> = CATALOG.iter().map(|spec| format!("{}.md", spec.name)).collect();
    assert_eq!(pages, tools);
    let index = Page::read("docs/tools/README.md");
    for spec in CATALOG {
        assert!(index.text.contains(&format!("[`{0}`]({0}.md)", spec.name)), "{}", spec.name);
    }
}

#[test]
fn every_page_lists_each_argument_with_its_default() {
    for spec in CATALOG {
        let schema = spec.arguments_schema();
        let mut real = BTreeSet::new();
        fields(&schema, "", &mut real);
        let page = page(spec);
        assert_eq!(documented(&page, "Arguments"), real, "{}", spec.name);

        let required: BTreeSet<_> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|name| name.as_str().unwrap().to_owned())
            .collect();
        for row in page.section("Arguments").rows() {
            let [name, _, default, _] = &row[..] else {
                panic!("{}: four cells: {row:?}", spec.name)
            };
            let name = names(name).concat();
            if required.contains(&name) {
                assert_eq!(default, "required", "{}.{name}", spec.name);
            } else if let Some(real) = schema["properties"][&name].get("default") {
                assert_eq!(names(default), [real.to_string()], "{}.{name}", spec.name);
            }
        }
    }
}

#[test]
fn every_page_lists_each_field_of_the_result() {
    for spec in CATALOG {
        let mut real = BTreeSet::new();
        fields(&spec.returns_schema(), "", &mut real);
        assert_eq!(documented(&page(spec), "Returns"), real, "{}", spec.name);
    }
}

#[test]
fn every_page_tells_risk_permissions_other_names_and_an_example() {
    for spec in CATALOG {
        let page = page(spec);
        let facts: Vec<_> = page.rows().into_iter().take(7).collect();
        let fact = |name: &str| {
            let row = facts.iter().find(|row| row.first().is_some_and(|first| first == name));
            row.and_then(|row| row.get(1)).unwrap_or_else(|| panic!("{}: {name}", spec.name))
        };
        let yes_or_no = |truth: bool| if truth { "yes" } else { "no" };
        assert_eq!(fact("Risk"), spec.risk.as_str(), "{}", spec.name);
        let capabilities: Vec<_> = spec.capabilities.iter().map(|c| c.as_str()).collect();
        assert_eq!(names(fact("Permissions")), capabilities, "{}", spec.name);
        let aliases: Vec<_> = spec.aliases.iter().map(|alias| alias.name).collect();
        assert_eq!(names(fact("Other names")), aliases, "{}", spec.name);
        assert_eq!(fact("Changes something"), yes_or_no(spec.has_effects), "{}", spec.name);
        assert_eq!(fact("Can be undone"), yes_or_no(spec.undo), "{}", spec.name);
        assert_eq!(fact("May run twice"), yes_or_no(spec.idempotent), "{}", spec.name);
        let untrusted =
            if spec.untrusted_preview { "of a preview" } else { yes_or_no(spec.untrusted) };
        assert_eq!(fact("The result is untrusted"), untrusted, "{}", spec.name);
        assert!(page.text.contains(spec.example), "{}: the example is not on its page", spec.name);
    }
}
