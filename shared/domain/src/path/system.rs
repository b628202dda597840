//! The system folders, which a wider grant does not include: a grant must name them.

use std::sync::LazyLock;

use super::name::{Name, Signature, loose};
use super::{DevicePath, PathStyle};

const POSIX_SYSTEM: &[&str] = &[
    // What macOS reaches by number, or by rules of its own, whatever the name of its folder is.
    "/.nofollow",
    "/.resolve",
    "/.vol",
    "/bin",
    "/boot",
    "/dev",
    "/efi",
    "/etc",
    "/gnu",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/lost+found",
    "/nix",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/var/backups",
    "/var/cache",
    "/var/db",
    "/var/lib",
    "/var/root",
    "/var/run",
    "/var/spool",
    "/Library",
    "/System",
    "/Volumes/Macintosh HD",
    "/cores",
    "/private/etc",
    "/private/var/db",
    "/private/var/root",
    "/private/var/run",
];

const WINDOWS_SYSTEM: &[&str] = &[
    "C:/$Recycle.Bin",
    "C:/$WinREAgent",
    "C:/Boot",
    "C:/Documents and Settings",
    "C:/EFI",
    "C:/PerfLogs",
    "C:/Program Files",
    "C:/Program Files (x86)",
    "C:/ProgramData",
    "C:/Recovery",
    "C:/System Volume Information",
    "C:/Users/All Users",
    "C:/Windows",
    "C:/Windows.old",
    "C:/bootmgr",
    "C:/hiberfil.sys",
    "C:/pagefile.sys",
    "C:/swapfile.sys",
];

/// Returns the folders that no wider grant includes. Those of Windows apply on every drive and share,
/// since the system may be on any.
pub fn system_folders(style: PathStyle) -> &'static [&'static str] {
    match style {
        PathStyle::Posix => POSIX_SYSTEM,
        PathStyle::Windows => WINDOWS_SYSTEM,
    }
}

/// Returns whether a grant of the folder `grant` covers `path`.
///
/// `/` covers `/srv` and not `/etc/hosts`; `/etc/nginx` and `/etc` cover what is beneath them, because
/// they name it.
pub fn covers(grant: &DevicePath, path: &DevicePath) -> bool {
    grant.contains(path) && !shielded(Some(grant), path)
}

/// Returns whether `path` holds a system folder that a grant of `grant` does not cover: `/var` holds
/// `/var/lib`, and `/` names neither.
pub fn holds_system(grant: &DevicePath, path: &DevicePath) -> bool {
    folders(path.style())
        .iter()
        .filter(|folder| within(folder, path))
        .any(|folder| !holds(folder, grant))
}

/// Returns whether a system folder holds `path` but not the folder `grant`. Without `grant`, the pattern
/// applies anywhere and names no folder.
pub(super) fn shielded(grant: Option<&DevicePath>, path: &DevicePath) -> bool {
    folders(path.style())
        .iter()
        .filter(|folder| path.signature.may_hold(folder.signature))
        .filter(|folder| holds(folder, path))
        .any(|folder| !grant.is_some_and(|grant| holds(folder, grant)))
}

/// A system folder's components, in the form a deny compares.
struct Folder {
    names: Vec<String>,
    signature: Signature,
}

fn folders(style: PathStyle) -> &'static [Folder] {
    static POSIX: LazyLock<Vec<Folder>> = LazyLock::new(|| split(system_folders(PathStyle::Posix)));
    static WINDOWS: LazyLock<Vec<Folder>> =
        LazyLock::new(|| split(system_folders(PathStyle::Windows)));
    match style {
        PathStyle::Posix => &POSIX,
        PathStyle::Windows => &WINDOWS,
    }
}

/// Skips the first piece, the empty root or the drive, which is not compared.
fn split(folders: &[&str]) -> Vec<Folder> {
    let folder = |text: &&str| {
        let names: Vec<String> = text.split('/').skip(1).map(loose).collect();
        let all = names.iter().map(|name| Signature::of(name));
        let signature = all.fold(Signature::default(), Signature::and);
        Folder { names, signature }
    };
    folders.iter().map(folder).collect()
}

fn holds(folder: &Folder, path: &DevicePath) -> bool {
    let names = path.names.iter().map(Name::loose);
    folder.names.len() <= path.names.len()
        && folder.names.iter().zip(names).all(|(mine, its)| mine == its)
}

/// Returns whether the folder is `path` or beneath it.
fn within(folder: &Folder, path: &DevicePath) -> bool {
    let (folder, names) = (&folder.names, path.names.iter().map(Name::loose));
    path.names.len() <= folder.len() && folder.iter().zip(names).all(|(mine, its)| mine == its)
}
