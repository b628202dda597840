//! A manifest: one file of `tools.d`, which defines one tool.

use std::collections::{BTreeMap, BTreeSet};

use orion_catalog::custom::{
    DeclaredTouches, Definition, Kind, Parameter, Part, ProgramRun, Run, checked,
};
use orion_domain::{Capability, Risk};
use serde::Deserialize;

/// The most bytes of a text that does not say how long it may be.
const TEXT_BYTES: u32 = 1_000;
/// The most items of a list that does not say how many it may have.
const ITEMS: u32 = 16;
/// Seconds that a program may take that does not say how long.
const TIMEOUT_S: u32 = 60;
/// The greatest number of one that does not say how great it may be: what every program reads alike.
const NUMBER: i64 = 9_007_199_254_740_991;

/// A manifest as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    name: String,
    description: String,
    #[serde(default = "high")]
    risk: Risk,
    #[serde(default)]
    permissions: BTreeSet<Capability>,
    program: String,
    #[serde(default)]
    argv: Vec<Part>,
    #[serde(default = "workspace")]
    folder: String,
    #[serde(default = "timeout")]
    timeout: u32,
    #[serde(default)]
    code: Vec<String>,
    #[serde(default)]
    arguments: BTreeMap<String, Argument>,
    #[serde(default)]
    touches: DeclaredTouches,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Argument {
    #[serde(rename = "type")]
    kind: Type,
    #[serde(default)]
    description: String,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    may_begin_with_hyphen: bool,
    max_length: Option<u32>,
    max_items: Option<u32>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Type {
    String,
    Integer,
    Number,
    Boolean,
    Choice,
    Strings,
}

const fn high() -> Risk {
    Risk::High
}

const fn timeout() -> u32 {
    TIMEOUT_S
}

fn workspace() -> String {
    ".".to_owned()
}

/// Parses the text of a manifest into a definition that keeps every rule.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn parse(text: &str) -> Result<Definition, String> {
    let manifest: Manifest = toml::from_str(text).map_err(|error| error.to_string())?;
    let Manifest {
        name,
        description,
        risk,
        permissions,
        program,
        argv,
        folder,
        timeout,
        code,
        arguments,
        touches,
    } = manifest;
    let parameters = arguments.into_iter().map(|(name, argument)| parameter(name, argument));
    let definition = Definition {
        name,
        description: description.split_whitespace().collect::<Vec<_>>().join(" "),
        risk,
        permissions,
        parameters: parameters.collect::<Result<_, _>>()?,
        run: Run::Program(ProgramRun { program, argv, folder, timeout, code }),
        touches,
    };
    checked(definition).map_err(|error| error.to_string())
}

fn parameter(name: String, argument: Argument) -> Result<Parameter, String> {
    let Argument {
        kind,
        description,
        required,
        may_begin_with_hyphen,
        max_length,
        max_items,
        minimum,
        maximum,
        values,
    } = argument;
    let given = [
        ("max_length", max_length.is_some(), matches!(kind, Type::String | Type::Strings)),
        ("max_items", max_items.is_some(), kind == Type::Strings),
        ("minimum", minimum.is_some(), matches!(kind, Type::Integer | Type::Number)),
        ("maximum", maximum.is_some(), matches!(kind, Type::Integer | Type::Number)),
        ("values", !values.is_empty(), kind == Type::Choice),
    ];
    if let Some((key, ..)) = given.into_iter().find(|(_, is_given, fits)| *is_given && !fits) {
        return Err(format!("arguments.{name}: {key} does not fit its type"));
    }
    let max_length = max_length.unwrap_or(TEXT_BYTES);
    let whole = |bound: Option<f64>, least: i64| match bound {
        None => Ok(least),
        Some(bound) => {
            whole(bound).ok_or_else(|| format!("arguments.{name}: {bound} is no whole number"))
        }
    };
    let kind = match kind {
        Type::String => Kind::String { max_length },
        Type::Integer => {
            Kind::Integer { minimum: whole(minimum, -NUMBER)?, maximum: whole(maximum, NUMBER)? }
        }
        Type::Number => {
            Kind::Number { minimum: minimum.unwrap_or(-1e15), maximum: maximum.unwrap_or(1e15) }
        }
        Type::Boolean => Kind::Boolean,
        Type::Choice => Kind::Choice { values },
        Type::Strings => Kind::Strings { max_items: max_items.unwrap_or(ITEMS), max_length },
    };
    Ok(Parameter { name, description, required, may_begin_with_hyphen, kind })
}

/// Returns a number as a whole one, if it is one that is written alike everywhere.
fn whole(number: f64) -> Option<i64> {
    let text = format!("{number:.0}");
    let whole: i64 = text.parse().ok()?;
    (number.fract() == 0.0 && (-NUMBER..=NUMBER).contains(&whole)).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const BACKUP: &str = r#"
        name = "backup_photos"
        description = """
            Copies new photos
            to the disk."""
        program = "/usr/local/bin/backup"
        argv = ["--from", "{source}", { when = "label", argv = ["--label", "{label}"] }]

        [arguments.source]
        type = "string"
        description = "The folder with the photos."
        required = true

        [arguments.label]
        type = "string"
        max_length = 40

        [touches]
        read = ["{source}"]
    "#;

    #[test]
    fn a_manifest_becomes_a_definition_of_high_risk() {
        let definition = parse(BACKUP).unwrap();
        assert_eq!((definition.name.as_str(), definition.risk), ("backup_photos", Risk::High));
        assert_eq!(definition.description, "Copies new photos to the disk.");
        let names: Vec<_> = definition.parameters.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["label", "source"]);
        assert_eq!(definition.parameters[1].kind, Kind::String { max_length: TEXT_BYTES });
        let later = parse(&BACKUP.replace("max_length = 40", "max_length = 41")).unwrap();
        assert_ne!(later.digest(), definition.digest());
    }

    #[rstest]
    #[case("max_length = 40", "maximum = 40", "does not fit its type")]
    #[case("max_length = 40", "maxlength = 40", "unknown field")]
    #[case("type = \"string\"\n        max_length = 40", "type = \"shell\"", "unknown variant")]
    #[case(
        "type = \"string\"\n        max_length = 40",
        "type = \"integer\"\n minimum = 0.5",
        "no whole number"
    )]
    #[case("\"{source}\", {", "\"--to={source}\", {", "whole entry")]
    #[case("backup_photos", "execute_command", "of Orion")]
    #[case("/usr/local/bin/backup", "./backup", "absolute path")]
    #[case("name = \"backup_photos\"", "name = \"backup_photos\"\nshell = true", "unknown field")]
    fn what_is_wrong_is_said(#[case] from: &str, #[case] to: &str, #[case] why: &str) {
        assert!(BACKUP.contains(from));
        let error = parse(&BACKUP.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
