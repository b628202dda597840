//! Keeps the secrets of a call's arguments apart. What is stored and shown of a call has digests in their places; the
//! values are stored beside it until the call ends, because it may have to wait.

use orion_catalog::ToolSpec;
use orion_domain::{CanonicalArguments, Secret};
use serde_json::{Map, Value};

use crate::store::CallRow;

/// The arguments of a call, as they are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitArguments {
    /// Canonical JSON, with digests in the places of secrets.
    pub shown: Vec<u8>,
    /// The secrets by the names of their arguments, JSON. None if there are none.
    pub secrets: Option<Secret>,
}

/// Takes the secrets out of arguments. Those of an unknown tool are shown as they are.
#[must_use]
pub fn split(spec: Option<&ToolSpec>, arguments: &CanonicalArguments) -> SplitArguments {
    let all = || SplitArguments { shown: arguments.as_bytes().to_vec(), secrets: None };
    let Some(spec) = spec.filter(|spec| !spec.secrets.is_empty()) else { return all() };
    let Ok(Value::Object(mut shown)) = serde_json::from_slice(arguments.as_bytes()) else {
        return all();
    };
    let secrets = spec.take_secrets(&mut shown);
    if secrets.is_empty() {
        return all();
    }
    let shown = CanonicalArguments::from_value(&Value::Object(shown)).as_bytes().to_vec();
    SplitArguments { shown, secrets: Some(Secret::new(Value::Object(secrets).to_string())) }
}

/// Returns the stored arguments of a call with its secrets. None if they cannot be read.
#[must_use]
pub fn whole(row: &CallRow) -> Option<Map<String, Value>> {
    let mut arguments = object(&row.arguments)?;
    if let Some(secrets) = &row.secrets {
        arguments.extend(object(secrets.expose().as_bytes())?);
    }
    Some(arguments)
}

/// Puts the secrets of a stored call into arguments that were written after those that are shown of it: where a value
/// is the shown one, the secret is meant.
pub fn put_back(row: &CallRow, arguments: &mut Map<String, Value>) {
    let secrets = row.secrets.as_ref().and_then(|it| object(it.expose().as_bytes()));
    let (Some(secrets), Some(shown)) = (secrets, object(&row.arguments)) else { return };
    for (name, secret) in secrets {
        if arguments.get(&name).is_some_and(|value| shown.get(&name) == Some(value)) {
            arguments.insert(name, secret);
        }
    }
}

fn object(text: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(text).ok()
}

#[cfg(test)]
mod tests {
    use orion_catalog::find;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_split_off_and_everything_else_stays_as_it_is() {
        let arguments = CanonicalArguments::from_value(&json!({
            "name": "a", "url": "https://files.example/a?hunter2",
        }));
        let spec = find("install_artifact").unwrap().0;
        let SplitArguments { shown, secrets } = split(Some(spec), &arguments);
        assert!(!String::from_utf8(shown).unwrap().contains("hunter2"));
        assert!(secrets.unwrap().expose().contains("hunter2"));
        for spec in [None, Some(find("read_file").unwrap().0)] {
            let expected = SplitArguments { shown: arguments.as_bytes().to_vec(), secrets: None };
            assert_eq!(split(spec, &arguments), expected);
        }
    }
}
