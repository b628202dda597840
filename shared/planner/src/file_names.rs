//! What looks like the name of a file.

/// Returns whether a text looks like a file name, with an extension.
pub(crate) fn is_file(value: &str) -> bool {
    value.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && !stem.ends_with(['/', '\\', '.'])
            && (1..=5).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

/// Returns whether a file of this name is an archive, which holds no text.
pub(crate) fn is_archive(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    matches!(
        ending.as_deref(),
        Some("zip" | "tar" | "gz" | "tgz" | "bz2" | "xz" | "zst" | "7z" | "rar" | "iso")
    )
}
