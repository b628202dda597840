//! What any program needs of the system to run at all: its libraries, its settings, and a few devices.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::sandbox::Rights;

/// Folders of programs and libraries.
const PROGRAMS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix/store",
    "/etc/alternatives",
];

/// Settings that hold no secrets, and the kernel's own files.
const SETTINGS: &[&str] = &[
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/resolv.conf",
    "/run/systemd/resolve",
    "/etc/services",
    "/etc/protocols",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/os-release",
    "/etc/lsb-release",
    "/etc/debian_version",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/gitconfig",
    "/etc/mime.types",
    "/etc/magic",
    "/etc/terminfo",
    "/etc/python3",
    "/etc/java",
    "/etc/fonts",
    "/proc",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/class/net",
    "/sys/class/thermal",
    "/sys/class/hwmon",
    "/sys/block",
];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Language tools below the home folder.
const HOME_PROGRAMS: &[&str] = &[
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".cargo/bin",
    ".rustup",
    "go/bin",
    ".nvm/versions",
    ".volta",
    ".pyenv",
    ".asdf",
    ".bun/bin",
    ".deno/bin",
    ".sdkman/candidates",
];

/// Settings and downloaded packages below the home folder that hold no secrets.
const HOME_SETTINGS: &[&str] = &[
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".cargo/config.toml",
    concat!(".cargo/", "registry"),
    ".cargo/git",
    "go/pkg",
];

/// Returns a handle of everything that is there, with the rights on it.
pub(super) fn handles(home: Option<&Path>) -> impl Iterator<Item = (OwnedFd, Rights)> {
    let fixed = |paths: &'static [&'static str], rights| {
        paths.iter().map(move |path| (Path::new(path).to_owned(), rights))
    };
    let of_home = |paths: &'static [&'static str], rights| {
        home.map(|home| paths.iter().map(|path| (home.join(path), rights)).collect::<Vec<_>>())
            .unwrap_or_default()
    };
    fixed(PROGRAMS, Rights::Execute)
        .chain(fixed(SETTINGS, Rights::Read))
        .chain(fixed(DEVICES, Rights::Device))
        .chain(of_home(HOME_PROGRAMS, Rights::Execute))
        .chain(of_home(HOME_SETTINGS, Rights::Read))
        .filter_map(|(path, rights)| Some((handle(&path)?, rights)))
}

/// Opens what is at a path, only to name it.
pub(super) fn handle(path: &Path) -> Option<OwnedFd> {
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
}
