//! The names that no custom tool has: those that are, or are easily taken for, that of a tool of Orion.

use crate::definition::DefinitionError;
use crate::tools::CATALOG;

/// Names that stand for something else where a call is written.
const RESERVED: &[&str] = &[
    "all",
    "arguments",
    "backend",
    "device",
    "dry_run",
    "function",
    "parameters",
    "queue",
    "tool",
];

/// Checks that a name is free.
///
/// # Errors
/// It is that of a tool of Orion, looks like one, or stands for something else.
pub(super) fn check(name: &str) -> Result<(), DefinitionError> {
    let taken = |like: &str| {
        Err(DefinitionError::NameTaken { name: name.to_owned(), like: like.to_owned() })
    };
    if RESERVED.contains(&name) {
        return taken(name);
    }
    let known = CATALOG
        .iter()
        .flat_map(|spec| std::iter::once(spec.name).chain(spec.aliases.iter().map(|it| it.name)));
    known.into_iter().find(|known| looks_like(name, known)).map_or(Ok(()), taken)
}

/// Returns whether a person or a model may take one name for the other.
fn looks_like(name: &str, known: &str) -> bool {
    let (one, other) = (skeleton(name), skeleton(known));
    let distance = if other.len() < 8 { 0 } else { 1 };
    one == other || strsim::osa_distance(&one, &other) <= distance
}

/// Returns the letters of a name, each for those that look like it.
fn skeleton(name: &str) -> String {
    let alike = |c: char| match c {
        '0' => 'o',
        '1' | 'i' => 'l',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        other => other,
    };
    name.chars().filter(|c| *c != '_').map(alike).collect()
}
