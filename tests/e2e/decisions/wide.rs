//! A ceiling that leaves everything, so that a device whose owner says nothing can be asked where each
//! device has one.

use orion_domain::path::system_folders;
use orion_domain::{Capability, PathStyle};
use serde_json::{Value, json};

use super::table::Row;

/// In the grammar of grants; the first path is where the row's relative paths begin.
pub(super) fn ceiling(row: &Row) -> Value {
    let (style, roots): (_, &[&str]) = if row.style == "windows" {
        (PathStyle::Windows, &["C:/", "D:/", "E:/"])
    } else {
        (PathStyle::Posix, &["/"])
    };
    // A wider path lends no system folder that is not named itself.
    let named = system_folders(style).iter().chain(roots).map(|path| (*path).to_owned());
    let paths: Vec<String> = std::iter::once(row.workspace.clone()).chain(named).collect();
    let capabilities = Capability::ALL.map(|capability| capability.as_str());
    json!({"capabilities": capabilities, "paths": paths, "apps": ["chrome", "code", "firefox"]})
}
