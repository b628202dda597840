//! What might have been meant where nothing was found: similar names near the place, so that the
//! next attempt need not be a guess.

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use orion_domain::{Access, DevicePath, ToolError};
use unicode_normalization::UnicodeNormalization;

use super::Context;
use crate::roots::Located;

const MAX_SUGGESTIONS: usize = 5;
const MAX_ENTRIES: usize = 2000;
const ALIKE: f64 = 0.8;

/// The error with up to five similar names from the deepest folder that is there and the folders in
/// it. Only names that a call could read are told.
pub(super) fn suggest(error: ToolError, located: &Located, context: &Context<'_>) -> ToolError {
    let Some(missing) = located.rest.first() else { return error };
    let wanted: Vec<String> =
        [Some(missing), located.rest.last()].into_iter().flatten().map(|it| key(it)).collect();
    let mut scored: Vec<(f64, DevicePath)> = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut folders = Vec::new();
    let mut look = |dir: &Dir, at: &DevicePath, mut below: Option<&mut Vec<(Dir, DevicePath)>>| {
        let Ok(entries) = dir.entries() else { return };
        for entry in entries.flatten() {
            if left == 0 {
                return;
            }
            left -= 1;
            let name = entry.file_name();
            let Some(path) = name.to_str().and_then(|name| at.join(name).ok()) else { continue };
            if context.roots.hides(&located.root, &path)
                || !context.roots.lends(&path, Access::Read)
            {
                continue;
            }
            let alike = key(path.file_name().unwrap_or_default());
            let score = wanted
                .iter()
                .map(|wanted| strsim::jaro_winkler(wanted, &alike))
                .fold(0.0, f64::max);
            if let Some(below) = &mut below
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
                && let Ok(dir) = dir.open_dir_nofollow(&name)
                // Each holds a handle, and a handful of neighbours is enough to look into.
                && below.len() < 64
            {
                below.push((dir, path.clone()));
            }
            if score >= ALIKE {
                scored.push((score, path));
            }
        }
    };
    look(&located.dir, &located.real, Some(&mut folders));
    for (dir, at) in &folders {
        look(dir, at, None);
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let names = scored.into_iter().take(MAX_SUGGESTIONS).map(|(_, path)| path.to_string());
    error.suggesting(names.collect())
}

/// Case and the way that accents are written keep no names apart here.
fn key(name: &str) -> String {
    name.nfc().take(64).collect::<String>().to_lowercase()
}
