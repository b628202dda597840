//! Reviews a granted path, and proposes the narrower grant that would be enough.

use std::collections::BTreeSet;

use orion_domain::grants::PathGrant;
use orion_domain::{DevicePath, Places};
use serde_json::Value;

use super::GrantReview;
use super::entries::used_or_not;
use super::usage::Usage;
use crate::fleet::DeviceSnapshot;

pub(super) fn path(known: &DeviceSnapshot, grant: &PathGrant, used: Option<&Usage>) -> GrantReview {
    let access: Vec<_> = grant.access.iter().map(|access| access.as_str()).collect();
    let anchored = known.places().map(|places| Places { workspace: None, ..places.clone() });
    let root = anchored.and_then(|places| DevicePath::resolve(&places, &grant.path).ok());
    let permits = |scope: &orion_domain::grants::Scope| {
        root.as_ref().is_some_and(|root| {
            grant.access.iter().any(|access| scope.covering(root, *access).is_some())
                || scope.allowed.iter().any(|it| root.contains(&it.root))
        })
    };
    let entry = GrantReview {
        kind: "path",
        entry: format!("{} ({})", grant.path, access.join(", ")),
        server: root.is_some(),
        ceiling: known.policy.ceiling.as_ref().is_none_or(permits),
        ..GrantReview::default()
    };
    let entry = used_or_not(entry, used);
    let (Some(used), Some(root)) = (used, root) else { return entry };
    let narrow = common(&used.places).filter(|folder| root.contains(folder) && *folder != root);
    if narrow.is_none() && used.access == grant.access {
        return entry;
    }
    let access: Vec<_> = used.access.iter().map(|access| access.as_str()).collect();
    let place = narrow.map_or_else(|| grant.path.clone(), |folder| folder.to_string());
    let proposal = format!("{{ path: {}, access: [{}] }}", Value::from(place), access.join(", "));
    GrantReview { proposal, ..entry }
}

/// Returns the folder that contains all of these paths. For a single path, that is its parent.
fn common(places: &BTreeSet<DevicePath>) -> Option<DevicePath> {
    let mut folder = places.first()?.parent()?;
    while !places.iter().all(|place| folder.contains(place)) {
        folder = folder.parent()?;
    }
    Some(folder)
}

#[cfg(test)]
mod tests {
    use orion_domain::PathStyle;

    use super::*;

    fn places(paths: &[&str]) -> BTreeSet<DevicePath> {
        paths.iter().map(|path| DevicePath::parse(PathStyle::Posix, path).unwrap()).collect()
    }

    #[test]
    fn the_folder_around_everything_is_what_would_do() {
        let common = |paths| common(&places(paths)).map(|folder| folder.to_string());
        assert_eq!(common(&["/a/b/c/x", "/a/b/c/y"]).as_deref(), Some("/a/b/c"));
        assert_eq!(common(&["/a/b/c/x", "/a/b/d/y"]).as_deref(), Some("/a/b"));
        assert_eq!(common(&["/a/b"]).as_deref(), Some("/a"));
        assert_eq!(common(&[]), None);
    }
}
