//! Custom tools: what the owner of a device adds to its tools, as a definition that both sides read alike.
//!
//! A device announces a [`Definition`]. It is untrusted data until an admin has approved exactly it, by its
//! digest: every text and list in it has a limit, and its arguments are of a few types that Orion checks itself.
//! An approved definition becomes a [`ToolSpec`](crate::ToolSpec) by [`approved`], and from there on a call of it
//! is one like any other. What such a call touches is computed from the definition and the arguments, on both
//! sides by the same function.

mod approved;
mod names;
#[cfg(test)]
mod tests;

pub use approved::{TooMany, approved};

pub use crate::definition::{
    CustomReturns, DeclaredPath, DeclaredTouches, Definition, DefinitionError, Group, Kind,
    MAX_DEFINITION_BYTES, MAX_NAME_BYTES, McpRun, Parameter, Part, PreparedCall, ProgramRun, Run,
    arguments_of, prepared, tool_of_server,
};

/// Reads a definition that a device announced: canonical JSON that keeps every rule, with a name that is free.
///
/// # Errors
/// The first rule that it breaks.
pub fn read(bytes: &[u8]) -> Result<Definition, DefinitionError> {
    let definition = Definition::parse(bytes)?;
    names::check(&definition.name).map(|()| definition)
}

/// Returns a definition if it keeps every rule and its name is free.
///
/// # Errors
/// The first rule that it breaks.
pub fn checked(definition: Definition) -> Result<Definition, DefinitionError> {
    names::check(&definition.name)?;
    definition.checked()
}
