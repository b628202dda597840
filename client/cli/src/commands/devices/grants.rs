//! Grants as people give them, and as they are sent.

use orion_domain::grants::Grants;

use crate::failure::Failure;
use crate::input;

/// Reads grants, JSON or YAML, from a file or standard input. A JSON object may be given as itself.
///
/// # Errors
/// They cannot be read, or are invalid.
pub(crate) fn read_grants(given: &str) -> Result<Grants, Failure> {
    let is_object = given.trim_start().starts_with('{');
    let text = if is_object { given.to_owned() } else { input::document(given)? };
    // JSON is YAML.
    serde_yaml_ng::from_str(&text)
        .map_err(|error| Failure::Usage(format!("{given} is not grants: {error}")))
}

/// Serialises grants for sending.
///
/// # Errors
/// They cannot be expressed in JSON.
pub(crate) fn to_json(grants: &Grants) -> Result<String, Failure> {
    serde_json::to_string(grants)
        .map_err(|error| Failure::Failed(format!("the grants cannot be sent: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_given_as_themselves_or_as_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("grants.yaml");
        std::fs::write(&file, "profile: reader\n").unwrap();
        let read = read_grants(r#" {"profile": "reader"}"#).unwrap();
        assert_eq!(read_grants(&file.display().to_string()).unwrap(), read);
        assert_eq!(read_grants(&format!("@{}", file.display())).unwrap(), read);
        assert_eq!(read_grants("{\"profile\"").unwrap_err().exit_code(), 2);
        assert_eq!(read_grants("/nonexistent").unwrap_err().exit_code(), 3);
    }
}
