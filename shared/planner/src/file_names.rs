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
