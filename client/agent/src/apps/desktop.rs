//! Whether what the agent starts can show a window to a person.

/// Returns whether there is a desktop.
#[cfg(target_os = "macos")]
pub(crate) fn is_seen() -> bool {
    true
}

/// Returns whether there is a desktop.
#[cfg(all(unix, not(target_os = "macos")))]
pub(crate) fn is_seen() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some())
}

/// Returns whether there is a desktop. Windows keeps services in session 0, which shows nothing.
#[cfg(windows)]
pub(crate) fn is_seen() -> bool {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

    let own = Pid::from_u32(std::process::id());
    let Ok(mut system) = System::new() else { return false };
    let kind = ProcessRefreshKind::nothing();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[own]), true, kind);
    let session = system.process(own).and_then(|process| process.session_id());
    session.is_some_and(|session| session.as_u32() != 0)
}
