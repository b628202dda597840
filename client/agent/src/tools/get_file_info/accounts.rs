//! Names of the device's accounts. A worker sees only the allowed paths, so the names are cached when the agent
//! starts, and sent to it.

use std::collections::HashMap;
use std::sync::OnceLock;

use cap_std::fs::Metadata;

/// The most names that a worker gets. It shows the others by number.
#[cfg(target_os = "linux")]
const MAX_SENT: usize = 10_000;
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

/// Returns the cached names, for a worker that cannot look them up.
#[cfg(target_os = "linux")]
pub(crate) fn known_accounts() -> HashMap<u32, String> {
    ACCOUNTS
        .get()
        .map(|known| known.iter().take(MAX_SENT))
        .into_iter()
        .flatten()
        .map(|(id, name)| (*id, name.clone()))
        .collect()
}

/// Caches names that the agent looked up.
#[cfg(target_os = "linux")]
pub(crate) fn know_accounts(known: HashMap<u32, String>) {
    ACCOUNTS.get_or_init(|| known);
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
