//! The attack lists, where they are present: against path parsing, and against the whole decision.
//!
//! They are read from `ORION_CORPORA`, or from `shared/corpora` beside the project. Without them these
//! tests report that they skip.

use std::io::Write;
use std::path::PathBuf;

use super::super::covers;
use super::*;
use crate::caller::{Caller, Role};
use crate::capability::Capability;
use crate::evaluate::{Decision, Policy, Question, ToolFacts, evaluate};
use crate::grants::Grants;
use crate::risk::Risk;
use crate::rule::Moment;
use crate::touches::{Access, Touches};

/// Returns the lines of one list. A line that is not UTF-8 cannot be the text of a call and counts as
/// rejected.
fn lines(name: &str) -> Option<Vec<Option<String>>> {
    let folder = std::env::var_os("ORION_CORPORA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora")),
        PathBuf::from,
    );
    let Ok(bytes) = std::fs::read(folder.join("paths").join(name)) else {
        say(&format!("skipped: no attack list paths/{name} in {}", folder.display()));
        return None;
    };
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Some(lines.map(|line| String::from_utf8(line.to_vec()).ok()).collect())
}

fn say(text: &str) {
    // Written past the harness's capture, so that a skipped list is visible; a closed stream loses
    // nothing.
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// Every entry leaves its root as written, so each is rejected or lies where a grant of the root does
/// not reach.
fn none_is_admitted(style: PathStyle, list: &str) {
    let Some(lines) = lines(list) else { return };
    let places = places(style);
    let root = places.workspace.clone().unwrap_or_else(|| unreachable!());
    let (mut refused, mut outside, mut admitted) = (0, 0, Vec::new());
    for line in &lines {
        match line.as_deref().map(|text| DevicePath::resolve(&places, text)) {
            None | Some(Err(_)) => refused += 1,
            Some(Ok(path)) if !covers(&root, &path) => outside += 1,
            Some(Ok(path)) => admitted.push(path),
        }
    }
    say(&format!(
        "{list}: {} attacks, {refused} refused, {outside} outside the root, {} admitted",
        lines.len(),
        admitted.len()
    ));
    assert_eq!(admitted, []);
    assert!(lines.len() > 1000);
}

#[test]
fn no_posix_escape_is_admitted() {
    none_is_admitted(PathStyle::Posix, "escapes-posix.txt");
}

#[test]
fn no_windows_escape_is_admitted() {
    none_is_admitted(PathStyle::Windows, "escapes-windows.txt");
}

/// An accepted path is made of the payload's own pieces in their order, letter for letter. Nothing
/// leaves the root without `..` or a visible root.
#[test]
fn no_payload_is_decoded() {
    let Some(lines) = lines("payloads.txt") else {
        return;
    };
    for style in [PathStyle::Posix, PathStyle::Windows] {
        let places = places(style);
        let root = places.workspace.clone().unwrap_or_else(|| unreachable!());
        let (mut inside, mut outside, mut refused) = (0, 0, 0);
        for line in &lines {
            let Some(text) = line else {
                refused += 1;
                continue;
            };
            let Ok(path) = DevicePath::resolve(&places, text) else {
                refused += 1;
                continue;
            };
            let pieces: Vec<&str> = text.split(|character| style.separates(character)).collect();
            if let Some(literal) = path.relative_to(&root) {
                inside += 1;
                let mut pieces = pieces.iter();
                assert!(literal.iter().all(|name| pieces.any(|piece| piece == name)), "{text}");
            } else {
                outside += 1;
                let rooted =
                    text.starts_with('/') || text.starts_with('\\') || text.get(1..2) == Some(":");
                assert!(rooted || pieces.contains(&".."), "{text}");
            }
        }
        say(&format!(
            "payloads.txt as {style:?}: {} payloads, {refused} refused, {outside} outside the root, {inside} literal names inside it",
            lines.len()
        ));
    }
}

/// Resolves a path as Windows does: `/` and `\` separate names, `..` removes one and never the drive,
/// and trailing dots and spaces of a name are dropped. Independent of the project's own parser, for
/// comparison.
fn plain_windows(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in text.split(['/', '\\']) {
        match name {
            "" | "." => {}
            ".." => names.truncate(names.len().saturating_sub(1).max(1)),
            name => names.push(name.trim_end_matches(['.', ' ']).to_lowercase()),
        }
    }
    names
}

/// The whole decision for a laptop with two folders: each line as written, relative to the first folder,
/// and after each folder's own path. An allowed path is in one of them by the independent parser too.
#[test]
fn no_windows_escape_is_allowed_by_the_whole_decision() {
    const ROOTS: [&str; 2] = ["C:/Users/ann", "D:/Projects"];
    let Some(lines) = lines("escapes-windows.txt") else { return };
    let places = ok(Places::parse(PathStyle::Windows, Some(ROOTS[0]), Some(ROOTS[0])));
    let grants: Grants =
        serde_json::from_value(serde_json::json!({"profile": "operator", "paths": ROOTS})).unwrap();
    let policy = Policy { grants: grants.compile(&places).0, ..Policy::deny_all() };
    let caller = Caller { user: "ann".parse().unwrap(), role: Role::Admin, conversation: None };
    let device = "laptop-123".parse().unwrap();
    let decide = |path: DevicePath, access| {
        let touches = Touches::path(path, access);
        let question = Question {
            tool: ToolFacts {
                name: "any_tool",
                risk: Risk::Low,
                capabilities: &[
                    Capability::FileRead,
                    Capability::FileWrite,
                    Capability::FileDelete,
                ],
                has_effects: access != Access::Read,
                role: None,
                can_undo: false,
                of_files: false,
                is_custom: false,
                called: None,
            },
            touches: Some(&touches),
            arguments: None,
            caller: &caller,
            device: &device,
            dry_run: false,
            confirmed: true,
            at: Moment::default(),
            content: None,
            raises: &[],
            counted: None,
        };
        evaluate(&question, &policy).decision()
    };
    let is_inside = |text: &str| {
        let at = plain_windows(text);
        ROOTS.iter().any(|root| at.starts_with(&plain_windows(root)))
    };
    let (mut refused, mut denied, mut inside, mut admitted) = (0, 0, 0, Vec::new());
    for line in lines.iter().flatten() {
        let behind = ROOTS.map(|root| format!("{root}/{line}"));
        for (text, whole) in
            [(line, None), (&behind[0], Some(&behind[0])), (&behind[1], Some(&behind[1]))]
        {
            let Ok(path) = DevicePath::resolve(&places, text) else {
                refused += 1;
                continue;
            };
            let allowed = [Access::Read, Access::Write, Access::Delete]
                .into_iter()
                .any(|access| decide(path.clone(), access) == Decision::Allow);
            match whole {
                _ if !allowed => denied += 1,
                Some(whole) if is_inside(whole) => inside += 1,
                // As written, each line leaves the folder.
                Some(_) | None => admitted.push(text.clone()),
            }
        }
    }
    say(&format!(
        "escapes-windows.txt, whole decision: {} attacks in three forms, {refused} refused, {denied} denied, {inside} literal names inside, {} admitted",
        lines.len(),
        admitted.len()
    ));
    assert_eq!(admitted, Vec::<String>::new());
}
