//! Takes the secrets out of arguments.

use serde_json::{Map, Value};

use super::ToolSpec;

impl ToolSpec {
    /// Takes the secrets out of arguments, and leaves digests in their places. Returns the values by the names of
    /// the arguments: `arguments` with these is what it was.
    #[must_use]
    pub fn take_secrets(&self, arguments: &mut Map<String, Value>) -> Map<String, Value> {
        let mut taken = Map::new();
        if self.secrets.is_empty() {
            return taken;
        }
        for (name, value) in arguments {
            let own = self.argument_aliases.iter().find(|(other, _)| other == name);
            let own = own.map_or(name.as_str(), |(_, own)| own);
            let Some(secret) = self.secrets.iter().find(|secret| secret.name == own) else {
                continue;
            };
            let shown = (secret.hide)(value);
            if *value != shown {
                taken.insert(name.clone(), std::mem::replace(value, shown));
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::table::{find, without_secrets};

    #[test]
    fn secrets_are_taken_out_and_can_be_put_back() {
        let spec = find("install_artifact").unwrap().0;
        let url = "https://files.example/a.tar.gz?X-Amz-Signature=abc";
        for (given, is_secret) in [
            (json!({"name": "a", "url": url}), true),
            (json!({"name": "a", "url": "https://files.example/a.tar.gz"}), false),
            (json!({"name": "a", "url": ["abc"]}), true),
            (json!({"name": "a", "url": "abc"}), true),
            (json!({"name": "a", "url": null}), false),
        ] {
            let given = given.as_object().unwrap().clone();
            let mut shown = given.clone();
            let taken = spec.take_secrets(&mut shown);
            assert_eq!(!taken.is_empty(), is_secret, "{given:?}");
            assert!(!serde_json::to_string(&shown).unwrap().contains("abc"), "{shown:?}");
            shown.extend(taken);
            assert_eq!(shown, given);
        }
    }

    #[test]
    fn the_arguments_of_other_tools_stay() {
        let arguments = json!({"url": "https://files.example/?a=b"});
        let arguments = arguments.as_object().unwrap();
        for tool in ["read_file", "no_such_tool"] {
            assert_eq!(&without_secrets(tool, arguments.clone()), arguments);
        }
        assert_ne!(&without_secrets("setup_hostagent_server", arguments.clone()), arguments);
    }
}
