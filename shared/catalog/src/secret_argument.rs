//! Arguments that are secret, whole or in part. The device gets the value; people, logs and the audit log get its
//! SHA-256 in its place.

use orion_domain::Digest;

/// An argument of a tool that is secret, whole or in part.
#[derive(Debug, Clone, Copy)]
pub struct SecretArgument {
    /// The name of the argument.
    pub name: &'static str,
    /// Returns a value with a digest in the place of what is secret of it. The tool parses the result as it
    /// parses the value, with the same touches.
    pub hide: fn(&str) -> String,
}

/// Returns a digest in the place of a secret.
pub(crate) fn hidden(secret: &str) -> String {
    format!("sha256:{}", Digest::of(secret.as_bytes()))
}
