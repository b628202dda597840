//! The files by which programs start when a person logs in or opens a shell. Whoever may write one
//! runs a program as that person, and could then change whatever the device's owner decided. So they
//! are kept from writing and deleting on every device, and may be read.
//!
//! All hold in every folder: each person of a device has a home, and a link or a copy may lie anywhere.

use super::PathStyle;

const POSIX: &[&str] = &[
    "**/.profile",
    "**/.bashrc",
    "**/.bash_profile",
    "**/.bash_login",
    "**/.bash_logout",
    "**/.bash_aliases",
    "**/.zshrc",
    "**/.zshenv",
    "**/.zprofile",
    "**/.zlogin",
    "**/.zlogout",
    "**/.kshrc",
    "**/.mkshrc",
    "**/.cshrc",
    "**/.tcshrc",
    "**/.login",
    "**/.logout",
    "**/.pam_environment",
    "**/.xprofile",
    "**/.xinitrc",
    "**/.xserverrc",
    "**/.xsession",
    "**/.xsessionrc",
    "**/.Xclients",
    "**/.xmonad",
    "**/.config/fish",
    "**/.config/zsh",
    "**/.config/nushell",
    "**/.config/powershell",
    "**/.config/systemd",
    "**/.local/share/systemd",
    "**/.config/containers/systemd",
    "**/.config/environment.d",
    "**/.config/user-tmpfiles.d",
    "**/.config/autostart",
    "**/.config/autostart-scripts",
    "**/.config/plasma-workspace",
    "**/.kde/Autostart",
    "**/.local/share/dbus-1",
    "**/.config/awesome",
    "**/.config/bspwm",
    "**/.config/hypr",
    "**/.config/i3",
    "**/.config/labwc",
    "**/.config/openbox",
    "**/.config/qtile",
    "**/.config/river",
    "**/.config/sway",
    "**/.config/xmonad",
    "**/Library/LaunchAgents",
    "**/Library/LaunchDaemons",
    "**/Library/StartupItems",
    "**/Library/Preferences/com.apple.loginitems.plist",
    "**/Library/Application Support/com.apple.backgroundtaskmanagementagent",
    "**/.MacOSX/environment.plist",
];

const WINDOWS: &[&str] = &[
    "**/Start Menu/Programs/Startup",
    "**/Documents/PowerShell",
    "**/Documents/WindowsPowerShell",
    "**/AppData/Local/clink",
    "**/AppData/Roaming/nushell",
    "**/.config/powershell",
    "**/.profile",
    "**/.bashrc",
    "**/.bash_profile",
    "**/.bash_login",
    "**/.bash_logout",
    "**/.bash_aliases",
    "**/System32/GroupPolicy",
    "**/System32/Tasks",
];

/// The patterns that may be read and never written or deleted on a device of this style, ahead of any policy.
pub fn start_files(style: PathStyle) -> &'static [&'static str] {
    match style {
        PathStyle::Posix => POSIX,
        PathStyle::Windows => WINDOWS,
    }
}
