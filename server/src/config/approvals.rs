//! `[approvals]`: how long requests stay open, and who is notified.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// `[approvals]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Approvals {
    /// How long an approval request stays open, in seconds.
    pub expire_seconds: u32,
    /// The URL that is notified of approval requests by HTTP POST. None turns notifications off.
    pub webhook_url: Option<String>,
    /// File with the secret that signs notifications.
    pub webhook_secret_file: Option<PathBuf>,
    /// The address of the web page, for links. None is the listening address.
    pub page_url: Option<String>,
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            expire_seconds: 15 * 60,
            webhook_url: None,
            webhook_secret_file: None,
            page_url: None,
        }
    }
}
