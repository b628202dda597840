//! The forms of a tool list: names, entries that can be disabled, or a table.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a list of tool names, entries such as {name: open_app, enabled: false}, or a table such as open_app: {enabled: false}"
)]
enum Form {
    List(Vec<Entry>),
    Table(BTreeMap<String, Switch>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Name(String),
    Switched(SwitchedTool),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchedTool {
    name: String,
    #[serde(default = "on")]
    enabled: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Switch {
    Plain(bool),
    Long(LongSwitch),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongSwitch {
    #[serde(default = "on")]
    enabled: bool,
}

const fn on() -> bool {
    true
}

/// Reads a tool list. A disabled tool is not listed, however often it occurs.
pub(super) fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeSet<String>>, D::Error> {
    let Some(form) = Option::<Form>::deserialize(deserializer)? else { return Ok(None) };
    let entries: Vec<(String, bool)> = match form {
        Form::List(entries) => entries
            .into_iter()
            .map(|entry| match entry {
                Entry::Name(name) => (name, true),
                Entry::Switched(SwitchedTool { name, enabled }) => (name, enabled),
            })
            .collect(),
        Form::Table(table) => table
            .into_iter()
            .map(|(name, switch)| match switch {
                Switch::Plain(enabled) | Switch::Long(LongSwitch { enabled }) => (name, enabled),
            })
            .collect(),
    };
    let off: BTreeSet<_> =
        entries.iter().filter(|(_, enabled)| !enabled).map(|(name, _)| name.clone()).collect();
    Ok(Some(entries.into_iter().map(|(name, _)| name).filter(|name| !off.contains(name)).collect()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use crate::grants::Grants;

    fn listed(tools: Value) -> Result<Option<Vec<String>>, String> {
        let grants: Grants =
            serde_json::from_value(json!({ "tools": tools })).map_err(|e| e.to_string())?;
        Ok(grants.tools.map(|tools| tools.into_iter().collect()))
    }

    #[rstest]
    #[case(json!(["read_file", "open_app"]), &["open_app", "read_file"])]
    #[case(json!([{"name": "read_file"}, {"name": "open_app", "enabled": false}]), &["read_file"])]
    #[case(json!(["open_app", {"name": "open_app", "enabled": false}]), &[])]
    #[case(json!([{"name": "open_app", "enabled": false}, "open_app"]), &[])]
    #[case(json!({"read_file": {"enabled": true}, "open_app": {"enabled": false}}), &["read_file"])]
    #[case(json!({"read_file": true, "open_app": false, "copy_path": {}}), &["copy_path", "read_file"])]
    #[case(json!([]), &[])]
    #[case(json!({}), &[])]
    fn what_is_set_is_the_whole_truth(#[case] tools: Value, #[case] expected: &[&str]) {
        assert_eq!(listed(tools), Ok(Some(expected.iter().map(|&t| t.to_owned()).collect())));
    }

    #[test]
    fn left_out_is_not_the_same_as_empty() {
        assert_eq!(listed(Value::Null), Ok(None));
        assert_eq!(serde_json::from_value::<Grants>(json!({})).unwrap().tools, None);
        let short: Grants = serde_json::from_value(json!({"allowed_tools": ["open_app"]})).unwrap();
        assert_eq!(short.tools, Some(["open_app".to_owned()].into()));
    }

    #[rstest]
    #[case(json!("read_file"))]
    #[case(json!([1]))]
    #[case(json!([{"name": "open_app", "enable": false}]))]
    #[case(json!([{"enabled": true}]))]
    #[case(json!({"open_app": "off"}))]
    #[case(json!({"open_app": {"disabled": true}}))]
    fn anything_else_is_no_list_and_says_what_is(#[case] tools: Value) {
        let error = listed(tools).unwrap_err();
        assert!(error.contains("a list of tool names"), "{error}");
    }
}
