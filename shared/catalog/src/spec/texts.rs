//! Gives types to arguments that a model wrote as text.

use orion_domain::json;
use serde_json::{Map, Value};

use super::ToolSpec;
use crate::written::kinds;

impl ToolSpec {
    /// Gives each text among the arguments the type that the tool's schema requires, where it is the text of
    /// such a value and of nothing else. Where the schema takes a text, it stays one; what fits no type stays as
    /// it is, and is refused with the other arguments that do not fit.
    pub fn type_texts(&self, arguments: &mut Map<String, Value>) {
        let schema = self.arguments_schema();
        for (name, value) in arguments {
            let own = self.argument_aliases.iter().find(|(other, _)| other == name);
            let own = own.map_or(name.as_str(), |(_, own)| own);
            let Some(schema) = schema.get("properties").and_then(|it| it.get(own)) else {
                continue;
            };
            if let Some(typed) = value.as_str().and_then(|text| of_kind(text, &kinds(schema))) {
                *value = typed;
            }
        }
    }
}

/// Returns the value that a text is, if it has one of these types.
fn of_kind(text: &str, kinds: &[&str]) -> Option<Value> {
    if kinds.contains(&"string") {
        return None;
    }
    // Templates write the words of Python.
    let value = match text.trim() {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        "None" => Value::Null,
        word => json::parse(word).ok()?,
    };
    let fits = match &value {
        Value::Null => kinds.contains(&"null"),
        Value::Bool(_) => kinds.contains(&"boolean"),
        Value::Number(number) => {
            let is_whole = number.is_i64() || number.is_u64();
            kinds.contains(&"number") || (is_whole && kinds.contains(&"integer"))
        }
        Value::Array(_) => kinds.contains(&"array"),
        Value::Object(_) => kinds.contains(&"object"),
        Value::String(_) => false,
    };
    fits.then_some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::find;

    #[test]
    fn a_text_gets_the_type_of_its_argument_and_no_other() {
        let (spec, _) = find("read_file").unwrap();
        for (given, expected) in [
            (json!({"path": "7", "limit": "40"}), json!({"path": "7", "limit": 40})),
            (json!({"path": "true", "limit": "4.5"}), json!({"path": "true", "limit": "4.5"})),
            (json!({"limit": "many", "nonsense": "7"}), json!({"limit": "many", "nonsense": "7"})),
            (json!({"limit": "\"7\""}), json!({"limit": "\"7\""})),
        ] {
            let mut arguments = given.as_object().unwrap().clone();
            spec.type_texts(&mut arguments);
            assert_eq!(Value::Object(arguments), expected, "{given}");
        }
    }

    #[test]
    fn each_kind_is_read_strictly() {
        let cases = [
            ("True", &["boolean"][..], Some(json!(true))),
            ("false", &["boolean"], Some(json!(false))),
            ("yes", &["boolean"], None),
            ("[1, 2]", &["array"], Some(json!([1, 2]))),
            ("a", &["array"], None),
            ("[1]", &["array", "string"], None),
            ("{\"a\":1}", &["object"], Some(json!({"a": 1}))),
            ("{\"a\":1,\"a\":2}", &["object"], None),
            ("None", &["integer", "null"], Some(Value::Null)),
            ("-3", &["integer"], Some(json!(-3))),
            ("0.5", &["number"], Some(json!(0.5))),
            ("0.5", &["integer"], None),
        ];
        for (text, kinds, expected) in cases {
            assert_eq!(of_kind(text, kinds), expected, "{text} {kinds:?}");
        }
    }
}
