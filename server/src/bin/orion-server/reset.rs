//! `orion-server admin reset`: a one-time secret that lets an admin back in.

use std::path::Path;

use anyhow::Context as _;
use orion_domain::UserName;
use orion_server::config::Config;
use orion_server::data_folder::{ADDRESSES, DATABASE};
use orion_server::people::write_reset;
use orion_server::serve::sign_in_options;
use orion_usage::quoted;

use super::output::print;

/// Writes the secret, and prints the command that uses it. A backend that does not run is found by its configuration,
/// where that is named.
pub(super) fn reset(
    user: &UserName,
    data_dir: &Path,
    config: Option<&Config>,
) -> anyhow::Result<()> {
    anyhow::ensure!(
        data_dir.join(DATABASE).exists(),
        "no backend keeps its data in {}; name the right folder with --data-dir",
        data_dir.display()
    );
    let file = write_reset(data_dir, user).context("the secret cannot be written")?;
    let file = std::path::absolute(&file).unwrap_or(file);
    let people = std::fs::read_to_string(data_dir.join(ADDRESSES))
        .ok()
        .and_then(|text| text.parse::<toml::Table>().ok())
        .and_then(|table| {
            let ca = table.get("people_ca").and_then(toml::Value::as_str);
            let ca = ca.map_or_else(String::new, |path| format!("--ca {} ", quoted(path)));
            Some(format!("--backend {} {ca}", table.get("people_url")?.as_str()?))
        });
    let first = if people.is_some() { "" } else { "start the backend, and " };
    let people = people.or_else(|| sign_in_options(&config?.people, data_dir));
    tracing::info!(
        "{first}within an hour, let {user} back in with the command below; where there is no account {user}, it makes one: name another with --user NAME"
    );
    let secret = quoted(&format!("@{}", file.display()));
    print(&format!("orion login {}--secret {secret}\n", people.unwrap_or_default()));
    Ok(())
}
