//! What is never given by the way: the built-in denies, and the system folders that must be named themselves.

use std::sync::LazyLock;

use super::name::{Name, Signature, loose};
use super::{DevicePath, PathStyle};

/// Denied from the start, wherever it lies: keys, passwords, sessions, and Orion's own state and configuration.
///
/// All hold in every folder, so that they protect each person of a device and need no home folder to be known.
const POSIX_DENIES: &[&str] = &[
    "**/.ssh",
    "**/.gnupg",
    "**/.password-store",
    "**/.aws",
    "**/.azure",
    "**/.kube",
    "**/.docker/config.json",
    "**/.config/containers/auth.json",
    "**/.config/gcloud",
    "**/.config/gh",
    "**/.config/op",
    "**/.config/rclone",
    "**/.config/sops",
    "**/.cargo/credentials",
    "**/.cargo/credentials.toml",
    "**/.terraform.d/credentials.tfrc.json",
    "**/.vault-token",
    "**/.netrc",
    "**/.git-credentials",
    "**/.config/git/credentials",
    "**/.npmrc",
    "**/.pypirc",
    "**/.pgpass",
    "**/.my.cnf",
    "**/.bash_history",
    "**/.zsh_history",
    "**/.local/share/fish/fish_history",
    "**/.env",
    "**/.env.local",
    "**/.env.*.local",
    "**/.env.production",
    "**/.env.staging",
    "**/.env.development",
    "**/id_rsa",
    "**/id_dsa",
    "**/id_ecdsa",
    "**/id_ed25519",
    "**/*.kdbx",
    "**/*.p12",
    "**/*.pfx",
    "**/.local/share/keyrings",
    "**/.local/share/kwalletd",
    "**/Library/Keychains",
    "**/.mozilla",
    "**/.thunderbird",
    "**/.config/google-chrome*",
    "**/.config/chromium",
    "**/.config/microsoft-edge*",
    "**/.config/BraveSoftware",
    "**/.config/vivaldi",
    "**/.config/opera",
    "**/.var/app/*/config/google-chrome",
    "**/.var/app/*/config/chromium",
    "**/snap/chromium/common/chromium",
    "**/Library/Application Support/Google/Chrome*",
    "**/Library/Application Support/Chromium",
    "**/Library/Application Support/Microsoft Edge*",
    "**/Library/Application Support/BraveSoftware",
    "**/Library/Application Support/Firefox",
    "**/Library/Cookies",
    "**/Library/Safari",
    "**/logins.json",
    "**/key4.db",
    "**/cookies.sqlite",
    "**/Login Data",
    "**/.config/orion",
    "**/.local/share/orion",
    "**/.local/state/orion",
    "**/Library/Application Support/orion",
    "/etc/orion",
    "/var/lib/orion",
];

const WINDOWS_DENIES: &[&str] = &[
    "**/.ssh",
    "**/.gnupg",
    "**/AppData/Roaming/gnupg",
    "**/.aws",
    "**/.azure",
    "**/.kube",
    "**/.docker/config.json",
    "**/AppData/Roaming/gcloud",
    "**/AppData/Roaming/GitHub CLI",
    "**/AppData/Roaming/rclone",
    "**/.cargo/credentials",
    "**/.cargo/credentials.toml",
    "**/AppData/Roaming/terraform.d/credentials.tfrc.json",
    "**/.vault-token",
    "**/.netrc",
    "**/_netrc",
    "**/.git-credentials",
    "**/.npmrc",
    "**/.pypirc",
    "**/AppData/Roaming/postgresql/pgpass.conf",
    "**/.bash_history",
    "**/ConsoleHost_history.txt",
    "**/.env",
    "**/.env.local",
    "**/.env.*.local",
    "**/.env.production",
    "**/.env.staging",
    "**/.env.development",
    "**/id_rsa",
    "**/id_dsa",
    "**/id_ecdsa",
    "**/id_ed25519",
    "**/*.kdbx",
    "**/*.p12",
    "**/*.pfx",
    "**/*.ppk",
    "**/AppData/*/Microsoft/Credentials",
    "**/AppData/*/Microsoft/Crypto",
    "**/AppData/*/Microsoft/Protect",
    "**/AppData/*/Microsoft/Vault",
    "**/AppData/*/Microsoft/SystemCertificates",
    "**/NTUSER.DAT*",
    "**/UsrClass.dat*",
    "**/System32/config",
    "**/AppData/Local/Google/Chrome*/User Data",
    "**/AppData/Local/Chromium/User Data",
    "**/AppData/Local/Microsoft/Edge*/User Data",
    "**/AppData/Local/BraveSoftware",
    "**/AppData/Local/Vivaldi/User Data",
    "**/AppData/Roaming/Opera Software",
    "**/AppData/Roaming/Mozilla",
    "**/AppData/Roaming/Thunderbird",
    "**/logins.json",
    "**/key4.db",
    "**/cookies.sqlite",
    "**/Login Data",
    "**/AppData/*/orion",
    "**/ProgramData/orion",
];

const POSIX_SYSTEM: &[&str] = &[
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

/// The patterns denied from the start on a device of this style, ahead of any policy.
pub fn built_in_denies(style: PathStyle) -> &'static [&'static str] {
    match style {
        PathStyle::Posix => POSIX_DENIES,
        PathStyle::Windows => WINDOWS_DENIES,
    }
}

/// The folders that no wider grant includes. Those of Windows hold on every drive and share, since the system may live on any.
pub fn system_folders(style: PathStyle) -> &'static [&'static str] {
    match style {
        PathStyle::Posix => POSIX_SYSTEM,
        PathStyle::Windows => WINDOWS_SYSTEM,
    }
}

/// Whether a grant of the folder `grant` gives `path`.
///
/// `/` gives `/srv` and not `/etc/hosts`; `/etc/nginx` and `/etc` give what is beneath them, for they name it themselves.
pub fn covers(grant: &DevicePath, path: &DevicePath) -> bool {
    grant.contains(path) && !shielded(Some(grant), path)
}

/// Whether `path` holds a system folder that a grant of `grant` doesn't give: `/var` holds `/var/lib`, and `/` names neither.
pub fn holds_system(grant: &DevicePath, path: &DevicePath) -> bool {
    folders(path.style())
        .iter()
        .filter(|folder| within(folder, path))
        .any(|folder| !holds(folder, grant))
}

/// Whether a system folder holds `path` that doesn't hold the folder `grant` as well; without one the grant holds anywhere and names none.
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

/// The first piece is the empty root or the drive, neither of which is compared.
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

/// Whether the folder is `path` or lies beneath it.
fn within(folder: &Folder, path: &DevicePath) -> bool {
    let (folder, names) = (&folder.names, path.names.iter().map(Name::loose));
    path.names.len() <= folder.len() && folder.iter().zip(names).all(|(mine, its)| mine == its)
}
