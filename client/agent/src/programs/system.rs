//! What any program needs of the system to run at all: its libraries, its settings, and a few devices.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use orion_domain::{Access, DevicePath, PathStyle};
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::roots::Roots;
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

/// Returns a handle of everything that is there, with the rights on it. What lies below the home folder
/// counts only where no call could have put it there, and where it is not denied.
pub(super) fn handles(
    home: Option<&Path>,
    roots: &Roots,
) -> impl Iterator<Item = (OwnedFd, Rights)> {
    let fixed = |paths: &'static [&'static str], rights| {
        paths.iter().map(move |path| (PathBuf::from(path), rights))
    };
    let of_home = |paths: &'static [&'static str], rights| {
        let paths = home.into_iter().flat_map(|home| paths.iter().map(|path| home.join(path)));
        paths.filter_map(move |path| Some((unchanged(&path, roots)?, rights)))
    };
    let of_home: Vec<_> = of_home(HOME_PROGRAMS, Rights::Execute)
        .chain(of_home(HOME_SETTINGS, Rights::Read))
        .collect();
    fixed(PROGRAMS, Rights::Execute)
        .chain(fixed(SETTINGS, Rights::Read))
        .chain(fixed(DEVICES, Rights::Device))
        .chain(of_home)
        .filter_map(|(path, rights)| Some((handle(&path)?, rights)))
}

/// Returns the real path of a folder or file that calls may not write, by any folder on its way.
fn unchanged(path: &Path, roots: &Roots) -> Option<PathBuf> {
    let real = std::fs::canonicalize(path).ok()?;
    let is_safe = |path: &Path| {
        let path = DevicePath::parse(PathStyle::Posix, path.to_str().unwrap_or_default());
        path.is_ok_and(|path| !roots.grants(&path, Access::Write) && !roots.denies_reading(&path))
    };
    let ways = path.ancestors().take(3).chain(real.ancestors().take(1));
    ways.into_iter().all(is_safe).then_some(real)
}

/// Opens what is at a path, only to name it.
pub(crate) fn handle(path: &Path) -> Option<OwnedFd> {
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
}
