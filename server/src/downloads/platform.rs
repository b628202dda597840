//! The platforms of devices, and how a program shows its own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A platform of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Platform {
    /// Linux on 64 bits of Intel and AMD.
    #[serde(rename = "linux-x86_64")]
    LinuxX86_64,
    /// Linux on 64 bits of ARM.
    #[serde(rename = "linux-aarch64")]
    LinuxAarch64,
    /// Windows on 64 bits of Intel and AMD.
    #[serde(rename = "windows-x86_64")]
    WindowsX86_64,
    /// macOS on ARM.
    #[serde(rename = "macos-aarch64")]
    MacosAarch64,
}

const ALL: [Platform; 4] = [
    Platform::LinuxX86_64,
    Platform::LinuxAarch64,
    Platform::WindowsX86_64,
    Platform::MacosAarch64,
];

/// The bytes of a program that say where it runs.
pub(super) const HEADER_BYTES: usize = 4096;

impl Platform {
    /// Returns the name, as addresses and the manifest have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LinuxX86_64 => "linux-x86_64",
            Self::LinuxAarch64 => "linux-aarch64",
            Self::WindowsX86_64 => "windows-x86_64",
            Self::MacosAarch64 => "macos-aarch64",
        }
    }

    /// Returns the platform of a program by its first bytes. None for anything else.
    #[must_use]
    pub fn of_program(header: &[u8]) -> Option<Self> {
        const ELF_64_LITTLE: &[u8] = b"\x7fELF\x02\x01\x01";
        let u16_at =
            |at: usize| header.get(at..at + 2).map(|it| u16::from_le_bytes([it[0], it[1]]));
        if header.starts_with(ELF_64_LITTLE) {
            return match u16_at(18)? {
                62 => Some(Self::LinuxX86_64),
                183 => Some(Self::LinuxAarch64),
                _ => None,
            };
        }
        if header.starts_with(b"MZ") {
            let at = header.get(60..64)?;
            let at = usize::try_from(u32::from_le_bytes([at[0], at[1], at[2], at[3]])).ok()?;
            let is_pe = header.get(at..at.checked_add(4)?)? == b"PE\0\0";
            return (is_pe && u16_at(at + 4)? == 0x8664).then_some(Self::WindowsX86_64);
        }
        let is_macos = header.starts_with(b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01");
        is_macos.then_some(Self::MacosAarch64)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write linux-x86_64, linux-aarch64, windows-x86_64 or macos-aarch64")]
pub struct UnknownPlatform;

impl FromStr for Platform {
    type Err = UnknownPlatform;

    fn from_str(text: &str) -> Result<Self, UnknownPlatform> {
        ALL.into_iter().find(|it| it.as_str() == text).ok_or(UnknownPlatform)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_where_it_runs() {
        let elf = |machine: u8| {
            let mut header = b"\x7fELF\x02\x01\x01".to_vec();
            header.resize(64, 0);
            header[18] = machine;
            Platform::of_program(&header)
        };
        assert_eq!(elf(62), Some(Platform::LinuxX86_64));
        assert_eq!(elf(183), Some(Platform::LinuxAarch64));
        assert_eq!(elf(3), None);
        let mut windows = b"MZ".to_vec();
        windows.resize(200, 0);
        windows[60] = 128;
        windows[128..134].copy_from_slice(b"PE\0\0\x64\x86");
        assert_eq!(Platform::of_program(&windows), Some(Platform::WindowsX86_64));
        windows[60..64].copy_from_slice(&[0xff; 4]);
        assert_eq!(Platform::of_program(&windows), None);
        for other in [&b""[..], b"MZ", b"#!/bin/sh", b"\x7fELF\x02\x01\x01", &[0xff; 64]] {
            assert_eq!(Platform::of_program(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_name_is_the_same_in_addresses_and_in_the_manifest() {
        for platform in ALL {
            assert_eq!(platform.as_str().parse(), Ok(platform));
            let written = serde_json::to_string(&platform).unwrap();
            assert_eq!(written, format!("\"{platform}\""));
        }
        assert_eq!("linux-x86_64/..".parse::<Platform>(), Err(UnknownPlatform));
    }
}
