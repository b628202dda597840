//! Sees changes of `tools.d` while the agent runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::folder::{Manifests, read};

/// How often the folder is looked at.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// The most entries whose times are compared.
const MAX_ENTRIES: usize = 256;

/// What tells one state of the folder from another.
type Seen = Vec<(PathBuf, Option<SystemTime>, u64, u32)>;

/// Posts what the folder holds, at once and after each change.
pub(crate) async fn watch<E: From<Manifests>>(folder: PathBuf, events: mpsc::Sender<E>) {
    let mut before = None;
    loop {
        let path = folder.clone();
        let Ok(now) = tokio::task::spawn_blocking(move || seen(&path)).await else { return };
        if before.as_ref() != Some(&now) {
            let path = folder.clone();
            let read = tokio::task::spawn_blocking(move || (read(&path), seen(&path))).await;
            let Ok((manifests, after)) = read else { return };
            // A change during the read is seen in the next round.
            let is_settled = after == now;
            before = is_settled.then_some(now);
            if is_settled {
                tell(&manifests);
                if events.send(manifests.into()).await.is_err() {
                    return;
                }
            }
        }
        sleep(CHECK_INTERVAL).await;
    }
}

fn tell(manifests: &Manifests) {
    for (file, why) in &manifests.faults {
        tracing::warn!(file = %file.display(), why, "no custom tool is read from here");
    }
}

fn seen(folder: &Path) -> Seen {
    let own =
        fs::symlink_metadata(folder).into_iter().map(|metadata| (folder.to_owned(), metadata));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let entries =
        entries.filter_map(|entry| Some((entry.path(), fs::symlink_metadata(entry.path()).ok()?)));
    let mut seen: Seen = own
        .chain(entries)
        .take(MAX_ENTRIES)
        .map(|(path, metadata)| (path, metadata.modified().ok(), metadata.len(), mode(&metadata)))
        .collect();
    seen.sort();
    seen
}

#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() ^ metadata.uid().rotate_left(16)
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> u32 {
    0
}
