//! The rules that a definition keeps. The backend checks what any device announces.

use std::collections::BTreeSet;

use orion_domain::strip_hidden;
use orion_domain::visible::is_blank;

use super::name::{check_of_server, check_own, is_plain};
use super::parameter::{Kind, MAX_ITEMS, MAX_TEXT_BYTES, Parameter};
use super::template::{Part, Word, texts, word};
use super::{DeclaredTouches, Definition, McpRun, ProgramRun, Run};

/// The most bytes of the canonical form of a definition.
pub const MAX_DEFINITION_BYTES: usize = 16 * 1024;
/// The most characters of the description of a tool.
const MAX_DESCRIPTION: usize = 1_000;
/// The most characters of the description of an argument.
const MAX_ARGUMENT_DESCRIPTION: usize = 300;
/// The most arguments of a tool.
const MAX_PARAMETERS: usize = 32;
/// The most entries of each list of a definition.
const MAX_ENTRIES: usize = 64;
/// The most bytes of an entry.
const MAX_ENTRY_BYTES: usize = 1_024;
/// The longest time of a call, in seconds.
const MAX_TIMEOUT_S: u32 = 3_600;
/// Names of arguments that mean something else beside a call.
const RESERVED: &[&str] = &[
    "args",
    "arguments",
    "confirm",
    "device",
    "dry_run",
    "function",
    "input",
    "parameters",
    "queue",
    "tool",
];

/// The rule that a definition breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// It has too many bytes.
    #[error("the definition has {bytes} bytes, and the most is {MAX_DEFINITION_BYTES}")]
    TooLarge {
        /// How many it has.
        bytes: usize,
    },
    /// It is not a definition.
    #[error("the definition cannot be read: {0}")]
    Unreadable(String),
    /// It is not written in the one form that is hashed.
    #[error("the definition is not in its canonical form")]
    NotCanonical,
    /// The name is no plain name.
    #[error(
        "`{0}` is no name of a custom tool: write lower case letters, digits and single underscores"
    )]
    Name(String),
    /// The name is that of a tool of Orion, or looks like it.
    #[error("the name `{name}` is, or is easily taken for, `{like}` of Orion")]
    NameTaken {
        /// The name.
        name: String,
        /// What it looks like.
        like: String,
    },
    /// A part of it breaks a rule.
    #[error("{at}: {why}")]
    Part {
        /// The part.
        at: String,
        /// The rule.
        why: String,
    },
}

fn broken<T>(at: impl Into<String>, why: impl Into<String>) -> Result<T, DefinitionError> {
    // The part may be named in words of the device.
    let at = strip_hidden(&at.into(), 100);
    Err(DefinitionError::Part { at, why: why.into() })
}

/// Checks every rule.
pub(super) fn check(definition: &Definition) -> Result<(), DefinitionError> {
    let Definition { name, description, risk: _, permissions: _, parameters, run, touches } =
        definition;
    match run {
        Run::Program(_) => check_own(name)?,
        Run::Mcp(run) => check_of_server(name, &run.server)?,
    }
    text("description", description, MAX_DESCRIPTION)?;
    if is_blank(description) {
        return broken("description", "it says nothing");
    }
    if parameters.len() > MAX_PARAMETERS {
        return broken("arguments", format!("there are more than {MAX_PARAMETERS}"));
    }
    let is_mcp = matches!(run, Run::Mcp(_));
    let mut before: Option<&str> = None;
    for one in parameters {
        if before.is_some_and(|before| before >= one.name.as_str()) {
            return broken("arguments", "they are not sorted, or one stands twice");
        }
        before = Some(&one.name);
        parameter(one, is_mcp)?;
    }
    match run {
        Run::Program(run) => program(definition, run)?,
        Run::Mcp(run) => server(run)?,
    }
    declared(definition, touches, is_mcp)
}

fn text(at: &str, text: &str, most: usize) -> Result<(), DefinitionError> {
    if text.chars().count() > most {
        return broken(at, format!("it has more than {most} characters"));
    }
    if text.chars().any(orion_domain::is_hidden) {
        return broken(at, "it holds characters that are not seen");
    }
    Ok(())
}

fn parameter(parameter: &Parameter, is_mcp: bool) -> Result<(), DefinitionError> {
    let Parameter { name, description, required: _, may_begin_with_hyphen: _, kind } = parameter;
    let at = format!("arguments.{name}");
    let is_named = if is_mcp { is_identifier(name) } else { is_plain(name) };
    if !is_named || RESERVED.contains(&name.as_str()) {
        return broken(at, "an argument cannot have this name");
    }
    text(&at, description, MAX_ARGUMENT_DESCRIPTION)?;
    let fits = |length: u32| (1..=MAX_TEXT_BYTES).contains(&length);
    let is_fit = match kind {
        Kind::String { max_length } => fits(*max_length),
        Kind::Integer { minimum, maximum } => minimum <= maximum,
        Kind::Number { minimum, maximum } => {
            minimum.is_finite() && maximum.is_finite() && minimum <= maximum
        }
        Kind::Boolean => true,
        Kind::Choice { values } => {
            let unique: BTreeSet<&String> = values.iter().collect();
            for value in values {
                text(&at, value, MAX_ARGUMENT_DESCRIPTION)?;
            }
            unique.len() == values.len() && (1..=MAX_ENTRIES).contains(&values.len())
        }
        Kind::Strings { max_items, max_length } => {
            (1..=MAX_ITEMS).contains(max_items) && fits(*max_length)
        }
        Kind::Json { max_length } => is_mcp && fits(*max_length),
    };
    if is_fit { Ok(()) } else { broken(at, "its type has a limit that is none, or is too large") }
}

/// Returns whether a text is a name as other systems write those of arguments.
fn is_identifier(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn entries<'a>(
    at: &str,
    entries: impl IntoIterator<Item = &'a str>,
) -> Result<(), DefinitionError> {
    for (index, entry) in entries.into_iter().enumerate() {
        if index >= MAX_ENTRIES {
            return broken(at, format!("there are more than {MAX_ENTRIES} entries"));
        }
        if entry.len() > MAX_ENTRY_BYTES || entry.contains('\0') {
            return broken(at, format!("an entry has more than {MAX_ENTRY_BYTES} bytes, or NUL"));
        }
    }
    Ok(())
}

fn program(definition: &Definition, run: &ProgramRun) -> Result<(), DefinitionError> {
    let ProgramRun { program, argv, folder, timeout, code } = run;
    started(program)?;
    entries("argv", texts(argv))?;
    entries("folder", [folder.as_str()])?;
    fixed("code", code)?;
    if !(1..=MAX_TIMEOUT_S).contains(timeout) {
        return broken("timeout", format!("it is between 1 and {MAX_TIMEOUT_S} seconds"));
    }
    if argv.len() > MAX_ENTRIES {
        return broken("argv", format!("there are more than {MAX_ENTRIES} entries"));
    }
    for part in argv {
        let (when, texts) = match part {
            Part::One(text) => (None, std::slice::from_ref(text)),
            Part::Group(group) => (Some(&group.when), group.argv.as_slice()),
        };
        if let Some(when) = when
            && definition.parameter(when).is_none()
        {
            return broken("argv", format!("there is no argument `{when}`"));
        }
        for text in texts {
            known_word(definition, "argv", text)?;
        }
    }
    let used: BTreeSet<&str> = texts(argv)
        .chain(argv.iter().filter_map(|part| match part {
            Part::Group(group) => Some(group.when.as_str()),
            Part::One(_) => None,
        }))
        .map(|text| text.trim_matches(['{', '}']))
        .collect();
    match definition.parameters.iter().find(|it| !used.contains(it.name.as_str())) {
        Some(unused) => broken(format!("arguments.{}", unused.name), "argv does not use it"),
        None => Ok(()),
    }
}

fn server(run: &McpRun) -> Result<(), DefinitionError> {
    let McpRun { server: _, tool, program, argv, environment, code } = run;
    started(program)?;
    text("tool", tool, 128)?;
    entries("argv", argv.iter().map(String::as_str))?;
    fixed("code", code)?;
    let is_name = |name: &String| {
        !name.is_empty()
            && name.len() <= 64
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    if environment.len() > MAX_ENTRIES || !environment.iter().all(is_name) {
        return broken("environment", "it is a list of names of variables");
    }
    Ok(())
}

/// Checks the program of a tool: a plain name, or an absolute path.
fn started(program: &str) -> Result<(), DefinitionError> {
    let is_path = program.starts_with('/');
    let is_name = !program.contains(['/', '\\']);
    let is_clean = !program.chars().any(orion_domain::is_hidden);
    if program.is_empty() || program.len() > MAX_ENTRY_BYTES || !is_clean || !(is_path || is_name) {
        return broken("program", "it is a name, or an absolute path");
    }
    Ok(())
}

/// Checks a list of paths that are not arguments.
fn fixed(at: &str, paths: &[String]) -> Result<(), DefinitionError> {
    entries(at, paths.iter().map(String::as_str))?;
    let is_fixed = |text: &String| matches!(word(text), Some(Word::Fixed(_))) && is_rooted(text);
    if paths.iter().all(is_fixed) {
        Ok(())
    } else {
        broken(at, "each is an absolute path, or below ~")
    }
}

fn is_rooted(path: &str) -> bool {
    path.starts_with('/') || path == "~" || path.starts_with("~/")
}

/// Checks that a text is fixed, or the name of an argument in braces, and returns that argument.
fn known_word<'a>(
    definition: &'a Definition,
    at: &str,
    text: &str,
) -> Result<Option<&'a Parameter>, DefinitionError> {
    match word(text) {
        Some(Word::Fixed(_)) => Ok(None),
        Some(Word::Argument(name)) => match definition.parameter(name) {
            Some(parameter) => Ok(Some(parameter)),
            None => broken(at, format!("there is no argument `{name}`")),
        },
        None => {
            broken(at, "a placeholder is a whole entry, such as \"{name}\", and no part of one")
        }
    }
}

fn declared(
    definition: &Definition,
    touches: &DeclaredTouches,
    is_mcp: bool,
) -> Result<(), DefinitionError> {
    let DeclaredTouches { read, write, delete, hosts } = touches;
    for (at, list) in [
        ("touches.read", read),
        ("touches.write", write),
        ("touches.delete", delete),
        ("touches.hosts", hosts),
    ] {
        entries(at, list.iter().map(String::as_str))?;
        for text in list {
            let Some(parameter) = known_word(definition, at, text)? else { continue };
            match parameter.kind {
                // What a server reaches is settled when it starts.
                _ if is_mcp => return broken(at, "a server has fixed places only"),
                Kind::String { .. } | Kind::Choice { .. } | Kind::Strings { .. } => {}
                Kind::Integer { .. } | Kind::Number { .. } | Kind::Boolean | Kind::Json { .. } => {
                    return broken(at, format!("`{}` is no text", parameter.name));
                }
            }
        }
    }
    let is_bad = |text: &&String| matches!(word(text), Some(Word::Fixed(host)) if orion_domain::hosts::Address::parse(host).is_none());
    match hosts.iter().find(is_bad) {
        Some(_) => {
            broken("touches.hosts", "each is a host with a port, such as api.example.com:443")
        }
        None => Ok(()),
    }
}
