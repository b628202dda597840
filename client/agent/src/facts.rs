//! The facts about this device that its `Hello` contains.

use orion_domain::Places;
use orion_wire::{DeviceFacts, Os};
use sysinfo::System;

use crate::sandbox::Sandbox;

/// Collects the facts about this device. They do not change while the agent runs.
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

/// Returns the host name. Empty if the device has none.
#[must_use]
pub fn hostname() -> String {
    System::host_name().unwrap_or_default()
}
