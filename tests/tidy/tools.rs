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
    let missing: Vec<_> = tools.difference(&pages).collect();
    assert!(missing.is_empty(), "docs/tools/ lacks the pages {missing:?}");
    let idle: Vec<_> = pages.difference(&tools).collect();
    assert!(idle.is_empty(), "docs/tools/ has pages of no tool: {idle:?}");
    let yes_or_no = |truth: bool| if truth { "yes" } else { "no" }.to_owned();
    let of_spec = |spec: &ToolSpec| {
        let link = format!("[`{0}`]({0}.md)", spec.name);
        let (risk, changes) = (spec.risk.as_str().to_owned(), yes_or_no(spec.has_effects));
        [link, risk, changes, yes_or_no(spec.undo)]
    };
    let index = Page::read("docs/tools/README.md").section("Tools").rows();
    let listed: Vec<_> = index
        .into_iter()
        .filter(|row| row.first().is_some_and(|first| first.starts_with("[`")))
        .map(|row| match <[String; 5]>::try_from(row) {
            Ok([link, _, risk, changes, undo]) => [link, risk, changes, undo],
            Err(row) => panic!("docs/tools/README.md: a row of five cells: {row:?}"),
        })
        .collect();
    let expected: Vec<_> = CATALOG.iter().map(of_spec).collect();
    for (listed, expected) in listed.iter().zip(&expected) {
        assert_eq!(
            listed, expected,
            "docs/tools/README.md: a row of its table, and what it must be"
        );
    }
    assert_eq!(listed.len(), expected.len(), "docs/tools/README.md: the rows of its table");
}

#[test]
fn every_page_lists_each_argument_with_its_default() {
    for spec in CATALOG {
        let schema = spec.arguments_schema();
        let mut real = BTreeSet::new();
        fields(&schema, "", &mut real);
        let page = page(spec);
        let at = format!("docs/tools/{}.md: section Arguments", spec.name);
        assert_eq!(documented(&page, "Arguments"), real, "{at}");

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

/// Returns a schema's type, as the pages write it.
fn type_words(schema: &Value) -> String {
    let word = |kind: &str| match kind {
        "string" => "text".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" if type_words(&schema["items"]) == "text" => "list of texts".to_owned(),
        "array" => "list".to_owned(),
        other => other.to_owned(),
    };
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let mut words: Vec<_> = choices.iter().map(type_words).collect();
        words.dedup();
        return words.join(" or ");
    }
    let kinds = schema["type"].as_array().cloned();
    let kinds = kinds.unwrap_or_else(|| vec![schema["type"].clone()]);
    let words: Vec<_> = kinds.iter().map(|kind| word(kind.as_str().unwrap_or("any"))).collect();
    words.join(" or ")
}

/// Returns the limits and choices of a schema, as the pages write them.
fn limit_words(schema: &Value) -> Vec<String> {
    let grouped = |number: u64| {
        let digits = number.to_string();
        let groups = digits.as_bytes().rchunks(3).rev();
        let groups: Vec<_> = groups.map(|group| str::from_utf8(group).unwrap()).collect();
        groups.join(",")
    };
    let mut words = Vec::new();
    for (least, most) in
        [("minimum", "maximum"), ("minItems", "maxItems"), ("minLength", "maxLength")]
    {
        let number = |name: &str| schema[name].as_f64().map(|number| format!("{number}"));
        let bound = |name: &str| number(name).and_then(|digits| digits.parse().ok()).map(grouped);
        match (bound(least).filter(|least| least != "0"), bound(most)) {
            (Some(least), Some(most)) => words.push(format!("from {least} to {most}")),
            (Some(least), None) => words.push(format!("from {least}")),
            (None, Some(most)) => words.push(format!("most {most}")),
            (None, None) => {}
        }
    }
    let choices = schema["enum"].as_array().into_iter().flatten();
    let constants = schema["oneOf"].as_array().into_iter().flatten().map(|choice| &choice["const"]);
    let items = schema["items"]["enum"].as_array().into_iter().flatten();
    let names = choices.chain(constants).chain(items).filter_map(Value::as_str);
    words.extend(names.map(|name| format!("`{name}`")));
    words
}

/// Returns the text without the marks of code and links.
fn plain(text: &str) -> String {
    let mut plain = text.replace('`', "");
    while let Some((before, rest)) = plain.split_once("](") {
        let (Some(open), Some((_, after))) = (before.rfind('['), rest.split_once(')')) else {
            break;
        };
        plain = format!("{}{}{after}", &before[..open], &before[open + 1..]);
    }
    plain
}

/// What a model is shown of an argument and what people read are one text.
#[test]
fn every_page_has_the_type_the_limits_and_the_description_of_each_argument() {
    fn compare(spec: &ToolSpec, page: &Page, schema: &Value, prefix: &str) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{prefix}{name}");
            let at = format!("{} of docs/tools/{}.md", path, spec.name);
            let rows = page.section("Arguments").rows();
            let row = rows.iter().find(|row| row.first().is_some_and(|it| names(it) == [&*path]));
            let Some([_, kind, _, meaning]) = row.map(Vec::as_slice) else {
                panic!("{at}: no row of four cells")
            };
            assert_eq!(*kind, type_words(property), "the type of {at}");
            for limit in limit_words(property) {
                assert!(meaning.contains(&limit), "{at} does not say `{limit}`");
            }
            let description = plain(&property["description"].as_str().unwrap().replace('\n', " "));
            let begins = plain(meaning).starts_with(description.trim_end_matches('.'));
            assert!(begins, "{at} does not begin with `{description}`");
            compare(spec, page, &property["items"], &format!("{path}[]."));
            compare(spec, page, property, &format!("{path}."));
        }
    }
    for spec in CATALOG {
        compare(spec, &page(spec), &spec.arguments_schema(), "");
    }
}

#[test]
fn types_and_limits_are_written_as_the_pages_have_them() {
    use serde_json::json;
    for (schema, kind, limits) in [
        (
            json!({"type": "integer", "minimum": 1, "maximum": 10_000}),
            "number",
            &["from 1 to 10,000"][..],
        ),
        (json!({"type": "integer", "minimum": 0}), "number", &[]),
        (json!({"type": ["string", "null"]}), "text or null", &[]),
        (
            json!({"type": "array", "items": {"type": "string"}, "maxItems": 16}),
            "list of texts",
            &["most 16"],
        ),
        (
            json!({"oneOf": [{"type": "string", "const": "a"}, {"type": "string", "const": "b"}]}),
            "text",
            &["`a`", "`b`"],
        ),
    ] {
        assert_eq!(
            (type_words(&schema).as_str(), limit_words(&schema)),
            (kind, limits.iter().map(ToString::to_string).collect())
        );
    }
    assert_eq!(plain("`a` or one of `[b]` in [c](../d.md#e)."), "a or one of [b] in c.");
}

#[test]
fn every_page_lists_each_field_of_the_result() {
    for spec in CATALOG {
        let mut real = BTreeSet::new();
        fields(&spec.returns_schema(), "", &mut real);
        let at = format!("docs/tools/{}.md: section Returns", spec.name);
        assert_eq!(documented(&page(spec), "Returns"), real, "{at}");
    }
}

#[test]
fn every_page_tells_category_risk_permissions_other_names_and_an_example() {
    for spec in CATALOG {
        let page = page(spec);
        let at = format!("docs/tools/{}.md", spec.name);
        let facts: Vec<_> = page.rows().into_iter().take(9).collect();
        let fact = |name: &str| {
            let row = facts.iter().find(|row| row.first().is_some_and(|first| first == name));
            row.and_then(|row| row.get(1)).unwrap_or_else(|| panic!("{at}: no fact {name}"))
        };
        let is = |name: &str, real: &str| {
            assert_eq!(
                fact(name),
                real,
                "{at}: the fact {name}; left is the page, right the catalogue"
            );
        };
        let are = |name: &str, real: Vec<&str>| {
            assert_eq!(names(fact(name)), real, "{at}: the fact {name}; right is the catalogue");
        };
        let yes_or_no = |truth: bool| if truth { "yes" } else { "no" };
        is("Category", spec.category.as_str());
        is("Risk", spec.risk.as_str());
        is("Runs", &format!("{}, {}", spec.runs_on.as_str(), spec.execution.as_str()));
        are("Permissions", spec.capabilities.iter().map(|c| c.as_str()).collect());
        are("Other names", spec.aliases.iter().map(|alias| alias.name).collect());
        is("Changes something", yes_or_no(spec.has_effects));
        is("Can be undone", yes_or_no(spec.undo));
        is("May run twice", yes_or_no(spec.idempotent));
        let untrusted =
            if spec.untrusted_preview { "of a preview" } else { yes_or_no(spec.untrusted) };
        is("The result is untrusted", untrusted);
        assert!(page.text.contains(spec.example), "{at}: the catalogue's example is missing");
    }
}
