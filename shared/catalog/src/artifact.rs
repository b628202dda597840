//! The name of an artifact: what both sides know of one before it is downloaded.

use std::fmt;

use orion_domain::{ErrorCode, ToolError};
use serde_json::{Map, Value};

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 40;

/// Adds the name that is meant by the tools' other names: `setup_hostagent_server` and `verify_hostagent_server`.
pub(crate) fn of_hostagent(arguments: &mut Map<String, Value>) {
    arguments.entry("name").or_insert_with(|| "hostagent-server".into());
}

/// The name of an artifact. It is also the name of a folder and of a compose project, so it is plain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactName(String);

impl ArtifactName {
    /// Parses a name: lower-case letters, digits, `-` and `_`, and no sign in front.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`.
    pub fn parse(name: &str) -> Result<Self, ToolError> {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_plain = name.len() <= MAX_NAME_BYTES
            && name.bytes().next().is_some_and(is_word)
            && name.bytes().all(|byte| is_word(byte) || b"-_".contains(&byte));
        is_plain.then(|| Self(name.to_owned())).ok_or_else(|| {
            let message = format!(
                "The name of an artifact has 1 to {MAX_NAME_BYTES} lower-case letters, digits, `-` or `_`."
            );
            ToolError::new(ErrorCode::InvalidArgument, message)
                .hint("write it like hostagent-server")
        })
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the compose project of the artifact. Its name begins with `orion-`, so that it is no project that
    /// people started.
    #[must_use]
    pub fn project(&self) -> String {
        format!("orion-{self}")
    }
}

impl fmt::Display for ArtifactName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_plain() {
        for good in ["a", "hostagent-server", "0_x"] {
            assert_eq!(ArtifactName::parse(good).unwrap().project(), format!("orion-{good}"));
        }
        for bad in ["", "-a", "_a", ".", "..", "a/b", "a.b", "A", "a b", "\u{e9}", &"a".repeat(41)]
        {
            let error = ArtifactName::parse(bad).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument, "{bad}");
        }
    }
}
