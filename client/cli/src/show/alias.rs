//! Formats aliases.

use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;

use crate::output::{Output, table};
use crate::text;

/// An alias for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct AliasView {
    pub(crate) name: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) set_at: i64,
}

impl From<v1::Alias> for AliasView {
    fn from(alias: v1::Alias) -> Self {
        let v1::Alias { name, tool, arguments, set_at } = alias;
        let arguments = serde_json::from_slice(&arguments).unwrap_or_default();
        Self { name, tool, arguments, set_at }
    }
}

/// Formats aliases.
pub(crate) fn aliases_table(out: &Output, aliases: &[AliasView]) -> String {
    if aliases.is_empty() {
        return String::new();
    }
    let row = |alias: &AliasView| {
        vec![
            text::one_line(&alias.name, 40),
            text::one_line(&alias.tool, 80),
            text::one_line(&alias.arguments.to_string(), 200),
            text::when(&out.zone, alias.set_at),
        ]
    };
    table(&["NAME", "TOOL", "ARGUMENTS", "SET"], aliases.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::Format;

    const OUT: Output = Output::in_a_test(Format::Table);

    #[test]
    fn aliases_stand_in_a_table() {
        let alias = v1::Alias {
            name: "notes".to_owned(),
            tool: "list_directory".to_owned(),
            arguments: br#"{"path":"Notes"}"#.as_slice().into(),
            set_at: 1_700_000_000_000,
        };
        insta::assert_snapshot!(aliases_table(&OUT, &[alias.into()]), @r#"
        NAME   TOOL            ARGUMENTS         SET
        notes  list_directory  {"path":"Notes"}  2023-11-14 22:13:20
        "#);
        assert_eq!(aliases_table(&OUT, &[]), "");
    }
}
