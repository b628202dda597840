//! What this device says of itself when it greets the backend.

use orion_domain::Places;
use orion_wire::{DeviceFacts, Os};
use sysinfo::System;

use crate::sandbox::Sandbox;

/// This device. Looked up once; nothing here changes while the agent runs.
#[must_use]
pub fn gather(places: &Places, sandbox: Sandbox) -> DeviceFacts {
    DeviceFacts {
        os: Os::current(),
        os_version: System::long_os_version().unwrap_or_default(),
        hostname: hostname(),
        arch: std::env::consts::ARCH.to_owned(),
        sandbox: sandbox.as_str().to_owned(),
        places: places.clone(),
    }
}

/// The device's own name; empty when it has none.
#[must_use]
pub fn hostname() -> String {
    System::host_name().unwrap_or_default()
}
