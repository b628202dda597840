//! Grants as people give them, and as they are sent.

use orion_domain::grants::Grants;

use crate::failure::Failure;
use crate::input;

/// Reads grants from a file or standard input, JSON or YAML.
///
/// # Errors
/// They cannot be read, or are invalid.
pub(crate) fn read_grants(given: &str) -> Result<Grants, Failure> {
    // JSON is YAML.
    serde_yaml_ng::from_str(&input::document(given)?)
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
