//! Laws of paths, patterns and grants.

use crate::caller::{Caller, Role};
use crate::capability::Capability;
use crate::evaluate::{Decision, Policy, Question, ToolFacts, evaluate};
use crate::grants::{Grants, PathGrant, Profile, Scope};
use crate::path::{
    DevicePath, MAX_PATH_BYTES, PathPattern, PathStyle, Places, covers, holds_system,
};
use crate::risk::Risk;
use crate::rule::Moment;
use crate::touches::{Access, Touches};

/// The maximum number of entries from one input.
const MAX_ENTRIES: usize = 8;

/// Checks one input against every law, as POSIX and as Windows.
///
/// The lines of the input are two paths and then entries of a policy: `-` before a denied one, `<`
/// before a read-only one, `^` before one of the ceiling, and `+` or nothing before one that grants
/// every access. Invalid UTF-8 becomes replacement characters.
///
/// # Panics
/// A law is violated.
pub fn path_rules(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let mut lines = input.split('\n');
    let (one, other) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let entries: Vec<&str> = lines.take(MAX_ENTRIES).collect();
    for places in places() {
        let policy = compile(&places, &entries);
        for text in [one, other] {
            reads_back(&places, text);
        }
        let read = |text| DevicePath::resolve(&places, text);
        if let Ok(path) = read(one) {
            joins(&path, other);
            for entry in &entries {
                entry_holds(&places, body(entry), &path);
            }
            for access in [Access::Read, Access::Write, Access::Delete] {
                allows_only_inside(&policy, &path, access);
            }
            if let Ok(other) = read(other) {
                contains_by_component(&path, &other);
                contains_by_component(&other, &path);
            }
        }
    }
}

fn places() -> impl Iterator<Item = Places> {
    [
        Places::parse(PathStyle::Posix, Some("/srv/root"), Some("/home/ann")),
        Places::parse(PathStyle::Windows, Some("C:/root"), Some("C:/Users/ann")),
    ]
    .into_iter()
    .flatten()
}

fn separators(style: PathStyle) -> &'static [char] {
    match style {
        PathStyle::Posix => &['/'],
        PathStyle::Windows => &['/', '\\'],
    }
}

/// A parsed path is normalised, is made of the text's own pieces, and reads back as itself.
fn reads_back(places: &Places, text: &str) {
    let style = places.style;
    let absolute = DevicePath::parse(style, text);
    let resolved = DevicePath::resolve(places, text);
    assert!(absolute.is_err() || absolute == resolved, "{text:?} is two paths");
    if let Err(error) = &resolved {
        let said = error.to_string();
        assert!(said.len() < 1024 && !said.contains(char::is_control), "{said:?}");
    }
    let Ok(path) = resolved else { return };
    let written = path.to_string();
    assert!(written.len() <= MAX_PATH_BYTES, "{written:?} is too long");
    assert_eq!(DevicePath::parse(style, &written).as_ref(), Ok(&path));
    assert_eq!(DevicePath::resolve(places, &written).as_ref(), Ok(&path));
    let json = serde_json::to_string(&path).unwrap_or_default();
    assert_eq!(serde_json::from_str::<DevicePath>(&json).ok().as_ref(), Some(&path));
    for name in path.components() {
        assert!(!matches!(name, "" | "." | ".."), "{written:?} is not normal");
        assert!(!name.contains(separators(style)) && !name.contains('\0'), "{name:?}");
        let odd = |letter: char| letter == ':' || letter < ' ';
        assert!(style == PathStyle::Posix || !name.contains(odd), "{name:?}");
    }
    if absolute.is_ok() {
        let mut pieces = text.split(separators(style));
        let literal = path.components().all(|name| pieces.any(|piece| piece == name));
        assert!(literal, "{text:?} was read as {written:?}");
    }
    if style == PathStyle::Posix && text.starts_with('/') {
        let names: Vec<&str> = path.components().collect();
        assert_eq!(Some(names), plain(text), "{text:?}");
    }
    if let Some(parent) = path.parent() {
        assert!(parent.contains(&path) && !path.contains(&parent), "{written:?}");
        assert_eq!(path.file_name().map(|name| parent.join(name)), Some(Ok(path.clone())));
    }
}

/// Resolves `..` in the simplest way: a stack of names, or `None` when it runs empty.
fn plain(text: &str) -> Option<Vec<&str>> {
    text.split('/').try_fold(Vec::new(), |mut stack, name| {
        match name {
            "" | "." => {}
            ".." => drop(stack.pop()?),
            name => stack.push(name),
        }
        Some(stack)
    })
}

/// An added name stays beneath its folder.
fn joins(folder: &DevicePath, name: &str) {
    let Ok(joined) = folder.join(name) else { return };
    assert_eq!(joined.parent().as_ref(), Some(folder));
    assert_eq!(joined.relative_to(folder), Some(vec![name]));
    assert_eq!(DevicePath::parse(folder.style(), &joined.to_string()), Ok(joined));
}

/// Containment compares whole components, and a grant covers nothing outside it.
fn contains_by_component(outer: &DevicePath, inner: &DevicePath) {
    let contains = outer.contains(inner);
    assert!(outer.contains(outer), "{outer} does not contain itself");
    assert_eq!(contains, inner.relative_to(outer).is_some());
    let as_written = outer.style() == inner.style()
        && outer.prefix() == inner.prefix()
        && outer.components().len() <= inner.components().len()
        && outer.components().zip(inner.components()).all(|(mine, its)| mine == its);
    assert!(contains || !as_written, "{outer} does not contain {inner}");
    if contains {
        let names = inner.relative_to(outer).unwrap_or_default();
        assert_eq!(names.len() + outer.components().len(), inner.components().len());
        let alike = |(mine, its): (&str, &str)| mine == its || !(mine.is_ascii() && its.is_ascii());
        let mut pairs = outer.components().zip(inner.components());
        let exact = outer.style() == PathStyle::Posix;
        assert!(!exact || pairs.all(alike), "{outer} contains {inner}");
        assert!(!inner.contains(outer) || names.is_empty(), "{outer} and {inner} hold each other");
    }
    assert!(contains || !covers(outer, inner), "{outer} covers {inner} without containing it");
    assert!(covers(outer, outer), "{outer} does not cover itself");
}

/// An entry allows no more than it matches, and denies all of that.
fn entry_holds(places: &Places, text: &str, path: &DevicePath) {
    let Ok(pattern) = PathPattern::parse(places, text) else { return };
    let matches = pattern.matches(path);
    assert!(matches || !pattern.allows(path), "{text:?} allows {path} and does not match it");
    assert!(!matches || pattern.denies(path), "{text:?} matches {path} and does not deny it");
    if let Some(root) = pattern.root() {
        assert!(root.contains(path) || !matches, "{text:?} matches {path} outside its root");
        assert!(!pattern.is_folder() || matches == root.contains(path), "{text:?} {path}");
        assert!(!pattern.is_folder() || pattern.allows(path) == covers(root, path), "{text:?}");
    }
}

/// Returns the entry without its sign.
fn body(entry: &str) -> &str {
    entry.strip_prefix(['-', '<', '^', '+']).unwrap_or(entry)
}

fn grant(path: &str, access: &[Access]) -> PathGrant {
    PathGrant { path: path.to_owned(), access: access.iter().copied().collect() }
}

const EVERYTHING: [Access; 3] = [Access::Read, Access::Write, Access::Delete];

/// The policy of an input, for one style.
struct Compiled {
    grants: Scope,
    ceiling: Option<Scope>,
    /// The grants without the denied entries of the input.
    open: Scope,
    /// Whether a denied entry could not be parsed.
    denies_oddly: bool,
}

fn compile(places: &Places, entries: &[&str]) -> Compiled {
    let mut grants = Grants { profile: Some(Profile::Operator), ..Grants::default() };
    let mut ceiling = Grants { profile: Some(Profile::Operator), ..Grants::default() };
    for entry in entries {
        let text = body(entry);
        match entry.chars().next() {
            Some('-') => grants.deny_paths.push(text.to_owned()),
            Some('<') => grants.paths.push(grant(text, &[Access::Read])),
            Some('^') => ceiling.paths.push(grant(text, &EVERYTHING)),
            Some(_) | None => grants.paths.push(grant(text, &EVERYTHING)),
        }
    }
    let (scope, _) = grants.compile(places);
    let is_odd = |text: &String| PathPattern::parse(places, text).is_err();
    let denies_oddly = grants.deny_paths.iter().any(is_odd);
    let own = grants.deny_paths.len();
    let mut open = Scope { deny_all_paths: false, ..scope.clone() };
    open.denied = scope.denied.iter().filter(|entry| entry.built_in.is_some()).cloned().collect();
    assert!(open.denied.len() + own >= scope.denied.len(), "an entry became several");
    let ceiling = (!ceiling.paths.is_empty()).then(|| ceiling.compile(places).0);
    Compiled { grants: scope, ceiling, open, denies_oddly }
}

/// An allowed path is inside a root that grants this access, and is not denied, by grants and ceiling.
fn allows_only_inside(policy: &Compiled, path: &DevicePath, access: Access) {
    let Compiled { grants, ceiling, open, denies_oddly } = policy;
    let decision = decide(grants, ceiling.as_ref(), path, access);
    if decision != Decision::Allow {
        return;
    }
    assert!(!denies_oddly, "{path} is allowed, though nobody knows what is denied");
    for scope in [Some(grants), ceiling.as_ref()].into_iter().flatten() {
        let granting = scope.allowed.iter().find(|entry| {
            entry.access.contains(&access)
                && entry.root.contains(path)
                && covers(&entry.root, path)
                && !(access == Access::Delete && holds_system(&entry.root, path))
        });
        assert!(granting.is_some(), "{access} of {path} is allowed, and no root grants it");
        let denied = scope.denied.iter().find(|entry| entry.keeps_out(path, access));
        assert!(denied.is_none(), "{path} is allowed, and {denied:?} denies it");
        if access == Access::Delete {
            let holds_root = scope.allowed.iter().any(|entry| path.contains(&entry.root));
            assert!(!holds_root, "{path} is deleted with the root in it");
        }
    }
    // Fewer denies and no ceiling never deny more.
    assert_eq!(decide(open, None, path, access), Decision::Allow, "{path}");
}

fn decide(grants: &Scope, ceiling: Option<&Scope>, path: &DevicePath, access: Access) -> Decision {
    let (Ok(user), Ok(device)) = ("ann".parse(), "laptop-123".parse()) else {
        return Decision::Deny;
    };
    let caller = Caller { user, role: Role::Admin, conversation: None };
    let touches = Touches::path(path.clone(), access);
    let question = Question {
        tool: ToolFacts {
            name: "any_tool",
            risk: Risk::Low,
            capabilities: &[Capability::FileRead, Capability::FileWrite, Capability::FileDelete],
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
    let policy = Policy { grants: grants.clone(), ceiling: ceiling.cloned(), ..Policy::deny_all() };
    evaluate(&question, &policy).decision()
}
