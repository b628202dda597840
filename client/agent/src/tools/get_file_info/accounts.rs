//! Names of the device's accounts. The threads that run tools see only the allowed paths, so the names are
//! cached when the agent starts.

use std::collections::HashMap;
use std::sync::OnceLock;

use cap_std::fs::Metadata;

/// Account names by user id. Unset until [`cache_accounts`] ran.
static ACCOUNTS: OnceLock<HashMap<u32, String>> = OnceLock::new();

/// Caches the names of the device's accounts, once. Before that, owners are shown by number. Blocks.
pub fn cache_accounts() {
    ACCOUNTS.get_or_init(|| {
        #[cfg(unix)]
        let known = sysinfo::Users::new_with_refreshed_list().map_or_else(
            |error| {
                tracing::debug!(%error, "the device's accounts could not be listed");
                HashMap::new()
            },
            |users| users.iter().map(|user| (**user.id(), user.name().to_owned())).collect(),
        );
        #[cfg(not(unix))]
        let known = HashMap::new();
        known
    });
}

/// Returns the owner of an entry: the account's name if known, else its number.
#[cfg(unix)]
pub(super) fn owner(metadata: &Metadata) -> Option<String> {
    use cap_fs_ext::OsMetadataExt;
    Some(account_name(metadata.uid()))
}

/// Returns the name of an account if known, else its number.
#[cfg(unix)]
pub(in crate::tools) fn account_name(number: u32) -> String {
    let known = ACCOUNTS.get().and_then(|known| known.get(&number));
    known.cloned().unwrap_or_else(|| number.to_string())
}

#[cfg(not(unix))]
pub(super) fn owner(_: &Metadata) -> Option<String> {
    None
}
