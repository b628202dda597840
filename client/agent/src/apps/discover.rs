//! Finds the program of an application name on this device.

use std::path::{Path, PathBuf};

use super::{App, Takes};
use crate::roots::ordinary;

/// A name that Orion knows.
struct KnownApp {
    name: &'static str,
    takes: Takes,
    /// Ids of desktop entries (Linux), where the packager chose program and arguments; names in App Paths
    /// (Windows), where installers register programs.
    entries: &'static [&'static str],
    /// Programs by absolute path or by name in PATH. The first that exists is used.
    programs: &'static [&'static str],
}

#[cfg(all(unix, not(target_os = "macos")))]
const KNOWN: &[KnownApp] = &[
    KnownApp {
        name: "chrome",
        takes: Takes::Anything,
        entries: &[
            "google-chrome",
            "com.google.Chrome",
            "chromium",
            "chromium-browser",
            "chromium_chromium",
            "org.chromium.Chromium",
        ],
        programs: &["google-chrome", "google-chrome-stable", "chromium", "chromium-browser"],
    },
    KnownApp {
        name: "firefox",
        takes: Takes::Anything,
        entries: &["firefox", "firefox-esr", "firefox_firefox", "org.mozilla.firefox"],
        programs: &["firefox", "firefox-esr"],
    },
    KnownApp {
        name: "code",
        takes: Takes::Anything,
        entries: &["code", "code_code", "com.visualstudio.code", "codium", "com.vscodium.codium"],
        programs: &["code", "codium"],
    },
    KnownApp { name: "explorer", takes: Takes::Folders, entries: &[], programs: &[] },
    KnownApp {
        name: "terminal",
        takes: Takes::StartFolder,
        entries: &[
            "org.gnome.Ptyxis",
            "org.gnome.Terminal",
            "org.gnome.Console",
            "org.kde.konsole",
            "xfce4-terminal",
        ],
        programs: &[
            "x-terminal-emulator",
            "gnome-terminal",
            "konsole",
            "xfce4-terminal",
            "alacritty",
            "kitty",
            "foot",
            "xterm",
        ],
    },
];

#[cfg(target_os = "macos")]
const KNOWN: &[KnownApp] = &[
    KnownApp {
        name: "chrome",
        takes: Takes::Anything,
        entries: &[],
        programs: &[
            "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
            "/Applications/Chromium.app/Contents/MacOS/Chromium",
        ],
    },
    KnownApp {
        name: "firefox",
        takes: Takes::Anything,
        entries: &[],
        programs: &["/Applications/Firefox.app/Contents/MacOS/firefox"],
    },
    KnownApp {
        name: "code",
        takes: Takes::Anything,
        entries: &[],
        programs: &["/Applications/Visual Studio Code.app/Contents/Resources/app/bin/code"],
    },
    KnownApp { name: "explorer", takes: Takes::Folders, entries: &[], programs: &[] },
    KnownApp {
        name: "terminal",
        takes: Takes::StartFolder,
        entries: &[],
        programs: &["/System/Applications/Utilities/Terminal.app/Contents/MacOS/Terminal"],
    },
];

#[cfg(windows)]
const KNOWN: &[KnownApp] = &[
    KnownApp {
        name: "chrome",
        takes: Takes::Anything,
        entries: &["chrome.exe"],
        programs: &[
            "C:/Program Files/Google/Chrome/Application/chrome.exe",
            "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
        ],
    },
    KnownApp {
        name: "firefox",
        takes: Takes::Anything,
        entries: &["firefox.exe"],
        programs: &["C:/Program Files/Mozilla Firefox/firefox.exe"],
    },
    KnownApp {
        name: "code",
        takes: Takes::Anything,
        entries: &["Code.exe"],
        programs: &["C:/Program Files/Microsoft VS Code/Code.exe"],
    },
    KnownApp {
        name: "explorer",
        takes: Takes::Folders,
        entries: &[],
        programs: &["C:/Windows/explorer.exe"],
    },
    KnownApp {
        name: "terminal",
        takes: Takes::StartFolder,
        entries: &[],
        programs: &["C:/Windows/System32/conhost.exe"],
    },
];

/// Binds the owner's choice. A known name keeps its own limits: another terminal is a terminal as well, and
/// would run what it receives.
pub(super) fn by_owner(name: &str, path: &Path) -> Result<App, &'static str> {
    if !path.is_absolute() {
        return Err("is not an absolute path");
    }
    let known = KNOWN.iter().find(|known| known.name == name);
    let takes = known.map_or(Takes::Anything, |known| known.takes);
    let app = program(path, Vec::new(), takes)?;
    Ok(App { by_owner: true, ..app })
}

/// Returns the installed program of a known name, or the names of all programs that were not found.
pub(super) fn well_known(name: &str) -> Result<App, Vec<String>> {
    let Some(known) = KNOWN.iter().find(|known| known.name == name) else {
        return Err(Vec::new());
    };
    let found = known
        .entries
        .iter()
        .find_map(|id| from_entry(id, known.takes))
        .or_else(|| known.programs.iter().find_map(|it| from_program(it, known.takes)))
        .or_else(|| file_manager(known.takes));
    found.ok_or_else(|| {
        let programs = if known.takes == Takes::Folders { OPENERS } else { known.programs };
        let entries = known.entries.iter().map(|id| entry(id));
        entries.chain(programs.iter().map(|&it| it.to_owned())).collect()
    })
}

fn from_program(name: &str, takes: Takes) -> Option<App> {
    let path = if Path::new(name).is_absolute() { PathBuf::from(name) } else { in_path(name)? };
    program(&path, Vec::new(), takes).ok()
}

/// Finds a program in PATH. Ignores relative entries, which mean another program in each folder.
fn in_path(name: &str) -> Option<PathBuf> {
    which::which_global(name).ok().filter(|path| path.is_absolute())
}

fn program(path: &Path, leading: Vec<String>, takes: Takes) -> Result<App, &'static str> {
    let executable = std::fs::canonicalize(path).map(ordinary).map_err(|_| "is not there")?;
    let metadata = std::fs::metadata(&executable).map_err(|_| "cannot be looked at")?;
    if !metadata.is_file() {
        return Err("is not a file");
    }
    if !is_executable(&metadata) {
        return Err("is not executable");
    }
    Ok(App { executable, called: path.to_owned(), leading, takes, by_owner: false })
}

#[cfg(unix)]
pub(super) fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

/// Returns the program of a system-wide desktop entry. Ignores entries in home folders: anyone with write
/// access there would choose the program.
#[cfg(target_os = "linux")]
fn from_entry(id: &str, takes: Takes) -> Option<App> {
    use freedesktop_desktop_entry::DesktopEntry;

    const FOLDERS: &[&str] = &[
        "/usr/local/share/applications",
        "/usr/share/applications",
        "/var/lib/flatpak/exports/share/applications",
        "/var/lib/snapd/desktop/applications",
    ];
    FOLDERS.iter().find_map(|folder| {
        let path = Path::new(folder).join(format!("{id}.desktop"));
        let entry = DesktopEntry::from_path(path, None::<&[&str]>).ok()?;
        let mut words = entry.parse_exec().ok()?.into_iter();
        let first = words.next()?;
        let path = if Path::new(&first).is_absolute() { first.into() } else { in_path(&first)? };
        // Flatpak marks the position of file arguments with `@@`.
        let leading = words.filter(|word| !word.starts_with("@@")).collect();
        program(&path, leading, takes).ok()
    })
}

/// Returns the program that is registered for all accounts. Ignores a person's own part of the registry: every program of
/// that person may write there.
#[cfg(windows)]
fn from_entry(name: &str, takes: Takes) -> Option<App> {
    let key = windows_registry::LOCAL_MACHINE.open(entry(name)).ok()?;
    program(registered(&key.get_string("").ok()?)?, Vec::new(), takes).ok()
}

/// Returns the program that a value of App Paths names, where administrators alone may replace it. A value with variables
/// or arguments, of a share or of another folder is ignored.
#[cfg(any(windows, test))]
pub(super) fn registered(value: &str) -> Option<&Path> {
    const FOLDERS: &[&str] = &[r"c:\program files\", r"c:\program files (x86)\"];
    let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let path = quoted.unwrap_or(value);
    let lower = path.to_ascii_lowercase();
    let is_program = FOLDERS.iter().any(|folder| lower.starts_with(folder))
        && lower.ends_with(".exe")
        && !lower.contains(['"', '%', '/'])
        && !lower.contains("..");
    is_program.then_some(Path::new(path))
}

#[cfg(not(any(target_os = "linux", windows)))]
fn from_entry(_: &str, _: Takes) -> Option<App> {
    None
}

/// Returns where an entry is, as a person finds it.
fn entry(id: &str) -> String {
    if cfg!(windows) {
        format!(r"SOFTWARE\Microsoft\Windows\CurrentVersion\App Paths\{id}")
    } else {
        format!("{id}.desktop")
    }
}

const OPENERS: &[&str] = &["xdg-open", "gio", "gnome-open", "kde-open"];

/// Returns the desktop's own command to show a folder, where no program is configured for that.
fn file_manager(takes: Takes) -> Option<App> {
    if takes != Takes::Folders {
        return None;
    }
    open::commands("/").into_iter().find_map(|command| {
        let words: Option<Vec<_>> =
            command.get_args().map(|word| word.to_str().map(ToOwned::to_owned)).collect();
        let mut leading = words?;
        // The last argument is the folder itself.
        leading.pop();
        let path = command.get_program().to_str().and_then(in_path)?;
        program(&path, leading, takes).ok()
    })
}
