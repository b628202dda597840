//! The form of the names of custom tools.

use super::check::DefinitionError;

/// The most bytes of a name: what models take as the name of a function.
pub const MAX_NAME_BYTES: usize = 64;
/// Stands between the name of an MCP server and that of its tool. Names of manifests have none.
const OF_SERVER: &str = "__";

/// Checks the form of the name of a tool that a manifest defines.
///
/// # Errors
/// It is not plain snake case.
pub(super) fn check_own(name: &str) -> Result<(), DefinitionError> {
    if is_plain(name) && !name.contains(OF_SERVER) {
        Ok(())
    } else {
        Err(DefinitionError::Name(shown(name)))
    }
}

/// Checks the name of a tool of an MCP server: that of the server, two underscores, and a plain name.
///
/// # Errors
/// It has another form.
pub(super) fn check_of_server(name: &str, server: &str) -> Result<(), DefinitionError> {
    let tool = name.strip_prefix(server).and_then(|rest| rest.strip_prefix(OF_SERVER));
    let is_plain_server = is_plain(server) && !server.contains(OF_SERVER);
    match tool {
        Some(tool) if is_plain_server && is_plain(tool) && name.len() <= MAX_NAME_BYTES => Ok(()),
        Some(_) | None => Err(DefinitionError::Name(shown(name))),
    }
}

/// Returns the name by which calls name a tool of an MCP server.
#[must_use]
pub fn tool_of_server(server: &str, tool: &str) -> String {
    let plain: String = tool
        .chars()
        .take(MAX_NAME_BYTES)
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect();
    format!("{server}{OF_SERVER}{}", plain.trim_matches('_'))
}

/// Returns whether a text is snake case that begins with a letter and ends with a letter or digit.
pub(super) fn is_plain(name: &str) -> bool {
    let fits = (1..=MAX_NAME_BYTES).contains(&name.len());
    fits && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('_')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn shown(name: &str) -> String {
    orion_domain::visible(&name.chars().take(MAX_NAME_BYTES).collect::<String>())
}
