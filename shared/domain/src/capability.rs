//! Capabilities: what a tool must be able to do. A grant lists which of them are granted on a device.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One permission, by the name that policy files use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is its own word, described in the permissions reference")]
pub enum Capability {
    FileRead,
    FileWrite,
    FileDelete,
    AppControl,
    ProcessKill,
    DeviceInfo,
    ServiceRead,
    HomelabControl,
    CommandExecute,
    DevTools,
    NetworkAccess,
    Schedule,
    Memory,
    AuditRead,
    ArtifactInstall,
}

impl Capability {
    /// Every capability, in the order of the reference.
    pub const ALL: [Self; 15] = [
        Self::FileRead,
        Self::FileWrite,
        Self::FileDelete,
        Self::AppControl,
        Self::ProcessKill,
        Self::DeviceInfo,
        Self::ServiceRead,
        Self::HomelabControl,
        Self::CommandExecute,
        Self::DevTools,
        Self::NetworkAccess,
        Self::Schedule,
        Self::Memory,
        Self::AuditRead,
        Self::ArtifactInstall,
    ];

    /// Returns the name that policy files use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FileRead => "file_read",
            Self::FileWrite => "file_write",
            Self::FileDelete => "file_delete",
            Self::AppControl => "app_control",
            Self::ProcessKill => "process_kill",
            Self::DeviceInfo => "device_info",
            Self::ServiceRead => "service_read",
            Self::HomelabControl => "homelab_control",
            Self::CommandExecute => "command_execute",
            Self::DevTools => "dev_tools",
            Self::NetworkAccess => "network_access",
            Self::Schedule => "schedule",
            Self::Memory => "memory",
            Self::AuditRead => "audit_read",
            Self::ArtifactInstall => "artifact_install",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_the_serialised_ones() {
        for capability in Capability::ALL {
            let json = serde_json::to_string(&capability).unwrap();
            assert_eq!(json, format!("\"{capability}\""));
        }
    }
}
