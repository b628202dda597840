//! Toasts: the notices of the Windows desktop. Windows shows those of a name that is in the registry of the person, and of
//! no other.

use tauri_winrt_notification::Toast;
use windows_registry::CURRENT_USER;

/// The name under which Windows knows who shows a toast.
const NAME: &str = "Orion.Agent";
const NAMES: &str = r"Software\Classes\AppUserModelId";
const SHOWN: &str = "Orion";

/// Lets this person's desktop show toasts.
pub(crate) fn register() -> windows_registry::Result<()> {
    CURRENT_USER.create(key())?.set_string("DisplayName", SHOWN)
}

/// Takes that back.
pub(crate) fn unregister() -> windows_registry::Result<()> {
    if CURRENT_USER.open(key()).is_ok() { CURRENT_USER.remove_tree(key()) } else { Ok(()) }
}

/// Shows a toast. It waits for the desktop.
pub(crate) fn show(title: &str, text: &str) -> tauri_winrt_notification::Result<()> {
    Toast::new(NAME).title(title).text1(text).show()
}

fn key() -> String {
    format!(r"{NAMES}\{NAME}")
}
