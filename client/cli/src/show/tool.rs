//! Formats tools.

use orion_catalog::kinds;
use orion_wire::v1;
use serde::Serialize;
use serde_json::{Value, json};

use crate::json;
use crate::output::{Output, facts, table};
use crate::text;

/// A tool for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ToolView {
    pub(crate) name: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) category: String,
    pub(crate) description: String,
    pub(crate) risk: &'static str,
    pub(crate) permissions: Vec<String>,
    pub(crate) arguments: Value,
    pub(crate) returns: Value,
    pub(crate) has_effects: bool,
    pub(crate) undo: bool,
    pub(crate) untrusted: bool,
    pub(crate) example: String,
    pub(crate) allowed_devices: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) definition: String,
}

/// Returns the name of a risk.
pub(super) fn risk(risk: i32) -> &'static str {
    orion_wire::risk_from(risk).map_or("unknown", orion_domain::Risk::as_str)
}

impl From<v1::Tool> for ToolView {
    fn from(tool: v1::Tool) -> Self {
        let v1::Tool {
            name,
            aliases,
            category,
            description,
            risk,
            permissions,
            arguments_schema,
            returns_schema,
            has_effects,
            undo,
            untrusted,
            example,
            allowed_devices,
            definition,
        } = tool;
        Self {
            name,
            aliases,
            category,
            description,
            risk: self::risk(risk),
            permissions,
            arguments: json::embedded(&arguments_schema),
            returns: json::embedded(&returns_schema),
            has_effects,
            undo,
            untrusted,
            example,
            allowed_devices,
            definition,
        }
    }
}

/// Formats tools for people.
pub(crate) fn tools_table(out: &Output, tools: &[ToolView]) -> String {
    if out.is_wide() {
        return table(
            &["NAME", "CATEGORY", "RISK", "PERMISSIONS", "UNDO", "ALIASES", "DESCRIPTION"],
            tools.iter().map(|tool| {
                vec![
                    tool.name.clone(),
                    tool.category.clone(),
                    tool.risk.to_owned(),
                    tool.permissions.join(","),
                    if tool.undo { "yes" } else { "no" }.to_owned(),
                    tool.aliases.join(","),
                    tool.description.clone(),
                ]
            }),
        );
    }
    table(
        &["NAME", "CATEGORY", "RISK", "DESCRIPTION"],
        tools.iter().map(|tool| {
            let sentence = tool.description.split_inclusive(". ").next().unwrap_or_default();
            vec![
                tool.name.clone(),
                tool.category.clone(),
                tool.risk.to_owned(),
                text::one_line(sentence.trim_end(), 72),
            ]
        }),
    )
}

/// Formats one tool for people.
pub(crate) fn tool_page(tool: &ToolView) -> String {
    let properties = |schema: &Value| {
        let required: Vec<&str> = schema["required"]
            .as_array()
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let Some(properties) = schema["properties"].as_object() else { return String::new() };
        let rows = properties.iter().map(|(name, property)| {
            let kind = match words(property) {
                words if words.is_empty() => kinds(property).join(" or "),
                words => words.join(" | "),
            };
            let default = match property.get("default") {
                Some(default) => format!("default {default}"),
                None if required.contains(&name.as_str()) => "required".to_owned(),
                None => "optional".to_owned(),
            };
            let description = property["description"].as_str().unwrap_or_default();
            // The schema keeps the line breaks of the source.
            let description = description.replace('\n', " ");
            vec![format!("  {name}"), kind, default, description]
        });
        table(&["  NAME", "TYPE", "NEEDED", "DESCRIPTION"], rows)
    };
    let yes_or_no = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let head = facts([
        ("name", tool.name.clone()),
        ("also", tool.aliases.join(", ")),
        ("category", tool.category.clone()),
        ("risk", tool.risk.to_owned()),
        ("permissions", tool.permissions.join(", ")),
        ("allowed devices", tool.allowed_devices.join(", ")),
        ("changes things", yes_or_no(tool.has_effects)),
        ("can be undone", yes_or_no(tool.undo)),
        ("output is untrusted", yes_or_no(tool.untrusted)),
        ("example", tool.example.clone()),
    ]);
    let mut page = format!("{}\n\n{head}", text::plain(&tool.description));
    for (title, schema) in [("Arguments", &tool.arguments), ("Returns", &tool.returns)] {
        let properties = properties(schema);
        if !properties.is_empty() {
            page.push_str(&format!("\n\n{title}:\n{properties}"));
        }
    }
    page
}

/// Returns the allowed values of a property, where only some are.
fn words(property: &Value) -> Vec<&str> {
    let listed = property["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let alternatives = property["oneOf"].as_array().into_iter().flatten();
    listed.chain(alternatives.filter_map(|one| one["const"].as_str())).collect()
}

/// Formats tools for OpenAI's API, each with an example in the text form for models that write calls as
/// text.
pub(crate) fn openai(tools: &[ToolView]) -> Value {
    let form = |tool: &ToolView| {
        json!({"type": "function", "function": {
            "name": tool.name,
            "description": format!("{}\nExample: {}", tool.description, tool.example),
            "parameters": tool.arguments,
        }})
    };
    tools.iter().map(form).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;

    fn tool() -> ToolView {
        v1::Tool {
            name: "delete_directory".to_owned(),
            aliases: vec!["rmdir".to_owned()],
            category: "file".to_owned(),
            description: "Deletes a folder. Needs confirm: true.".to_owned(),
            risk: v1::Risk::High as i32,
            permissions: vec!["file_write".to_owned(), "file_delete".to_owned()],
            arguments_schema: json!({"type": "object", "required": ["path"], "properties": {
                "path": {"type": "string", "description": "The folder."},
                "order": {"oneOf": [{"const": "name", "type": "string"}, {"const": "size", "type": "string"}]},
                "recursive": {"type": "boolean", "default": false, "description": "With all in it."},
            }})
            .to_string(),
            returns_schema: json!({"type": "object", "properties": {
                "trash_id": {"type": ["string", "null"], "description": "Where it went."},
            }})
            .to_string(),
            has_effects: true,
            undo: false,
            untrusted: false,
            example: r#"{"tool":"delete_directory","device":"laptop-123","path":"Old"}"#.to_owned(),
            allowed_devices: vec!["all".to_owned()],
            definition: String::new(),
        }
        .into()
    }

    fn out(format: Format) -> Output {
        Output::in_a_test(format)
    }

    #[test]
    fn tools_stand_in_a_table() {
        insta::assert_snapshot!(tools_table(&out(Format::Table), &[tool()]), @"
        NAME              CATEGORY  RISK  DESCRIPTION
        delete_directory  file      high  Deletes a folder.
        ");
        insta::assert_snapshot!(tools_table(&out(Format::Wide), &[tool()]), @"
        NAME              CATEGORY  RISK  PERMISSIONS             UNDO  ALIASES  DESCRIPTION
        delete_directory  file      high  file_write,file_delete  no    rmdir    Deletes a folder. Needs confirm: true.
        ");
    }

    #[test]
    fn a_page_tells_every_argument() {
        insta::assert_snapshot!(tool_page(&tool()), @r#"
        Deletes a folder. Needs confirm: true.

        name                 delete_directory
        also                 rmdir
        category             file
        risk                 high
        permissions          file_write, file_delete
        allowed devices      all
        changes things       yes
        can be undone        no
        output is untrusted  no
        example              {"tool":"delete_directory","device":"laptop-123","path":"Old"}

        Arguments:
          NAME       TYPE         NEEDED         DESCRIPTION
          order      name | size  optional
          path       string       required       The folder.
          recursive  boolean      default false  With all in it.

        Returns:
          NAME      TYPE            NEEDED    DESCRIPTION
          trash_id  string or null  optional  Where it went.
        "#);
    }

    #[test]
    fn the_form_of_openai_keeps_the_schema_and_shows_an_example() {
        insta::assert_json_snapshot!(openai(&[tool()]), @r#"
        [
          {
            "function": {
              "description": "Deletes a folder. Needs confirm: true.\nExample: {\"tool\":\"delete_directory\",\"device\":\"laptop-123\",\"path\":\"Old\"}",
              "name": "delete_directory",
              "parameters": {
                "properties": {
                  "order": {
                    "oneOf": [
                      {
                        "const": "name",
                        "type": "string"
                      },
                      {
                        "const": "size",
                        "type": "string"
                      }
                    ]
                  },
                  "path": {
                    "description": "The folder.",
                    "type": "string"
                  },
                  "recursive": {
                    "default": false,
                    "description": "With all in it.",
                    "type": "boolean"
                  }
                },
                "required": [
                  "path"
                ],
                "type": "object"
              }
            },
            "type": "function"
          }
        ]
        "#);
    }
}
