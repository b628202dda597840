//! Checks a policy file that is not active yet: its size first, then what it says.

use tonic::Status;

use super::PolicyApi;
use crate::policy::{self, Checked, Text};
use crate::rpc::status;

/// Maximum size of a policy file, in bytes.
const MAX_POLICY_BYTES: usize = 1024 * 1024;

/// Checks the size of a policy file before it is read.
pub(super) fn fits(text: &str) -> Result<(), Status> {
    if text.len() > MAX_POLICY_BYTES {
        return Err(status::invalid(format!(
            "the policy file has {} bytes, and the maximum is {MAX_POLICY_BYTES}",
            text.len()
        )));
    }
    Ok(())
}

/// Checks a policy file on the devices there are.
pub(super) async fn checked(api: &PolicyApi, text: String) -> Result<Checked, Status> {
    fits(&text)?;
    policy::check(&api.devices, text, Text::New).await.map_err(status::store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_is_not_even_read() {
        assert!(fits(&" ".repeat(MAX_POLICY_BYTES)).is_ok());
        assert!(fits(&" ".repeat(MAX_POLICY_BYTES + 1)).is_err());
    }
}
