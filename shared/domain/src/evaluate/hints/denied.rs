//! Hints for a path that is denied: by entries, which are taken out, or on every device. An entry that names a file opens it
//! there. Like every file, it is reached from a folder that is allowed.

use super::quote::{for_shell, quoted};
use super::{Evidence, Policy, Question, nobody};
use crate::evaluate::{Layer, Reason};
use crate::grants::Scope;
use crate::hint::Hint;
use crate::path::{BuiltInKind, DevicePath};
use crate::touches::{Access, PathTouch};

/// A file that is denied by default, or a folder with what is in it.
struct Secret<'a> {
    /// What is named to open it.
    touched: &'a PathTouch,
    /// What that is.
    what: &'static str,
    /// Its folder, where none is allowed that holds the file.
    folder: Option<DevicePath>,
    /// The pattern that denies it.
    pattern: &'a str,
}

/// Returns the folder of a file, where no folder is allowed from which the file is reached.
fn folder(scope: &Scope, touched: &PathTouch, question: &Question<'_>) -> Option<DevicePath> {
    let PathTouch { path, access } = touched;
    let is_reached = scope.allowed.iter().any(|entry| {
        entry.covers(path) && !path.contains(&entry.root) && entry.access.contains(access)
    });
    path.parent().filter(|_| question.tool.of_files && !is_reached)
}

impl Evidence {
    /// Says what to do where no path could be granted for a touch.
    pub(super) fn no_root(
        &self,
        question: &Question<'_>,
        scope: &Scope,
        touched: &PathTouch,
    ) -> Hint {
        let PathTouch { path, access } = touched;
        if *access != Access::Delete {
            return nobody(format!("no change allows it: no path that holds {path} includes it"));
        }
        if scope.covering(path, *access).is_none() {
            return nobody(format!(
                "no change allows it: {path} is or holds an allowed path or a system folder, which cannot be deleted or moved"
            ));
        }
        // What is to be moved must not be deleted.
        let verb = if question.tool.name == "move_path" { "move" } else { "delete" };
        Hint::new(format!(
            "{verb} what is in {path} instead, if it is a folder: neither an allowed path nor a system folder can be {verb}d"
        ))
    }

    /// Returns whether the call would delete an allowed path or a system folder, which no change allows.
    pub(super) fn holds_ground(&self, question: &Question<'_>, policy: &Policy) -> bool {
        let Reason::PathOutside { touch } = self.reason else { return false };
        let touched = question.touches.and_then(|touches| touches.paths.get(touch));
        touched.zip(self.scope(policy)).is_some_and(|(touched, scope)| {
            touched.access == Access::Delete
                && super::smallest_root(scope, touched, question.tool.of_files).is_none()
        })
    }

    /// Returns the change that lets a path be used which entries deny, or which is denied on every device.
    pub(super) fn denied(&self, question: &Question<'_>, policy: &Policy, touch: usize) -> Hint {
        let touched = question.touches.and_then(|touches| touches.paths.get(touch));
        let (Some(touched), Some(scope)) = (touched, self.scope(policy)) else {
            return nobody("no change allows it");
        };
        let against: Vec<_> = scope.denied.own().filter(|it| it.refuses(touched)).collect();
        let refusing = scope.denied.built_in_against(&touched.path, touched.access);
        if let Some((kind, entry)) = refusing.and_then(|entry| Some((entry.built_in?, entry))) {
            if kind == BuiltInKind::OwnState || entry.pattern.root().is_some() {
                return nobody(format!(
                    "no change allows it: {} is denied on every device by default",
                    entry.pattern
                ));
            }
            let against: Vec<_> = against.iter().map(|entry| entry.pattern.as_text()).collect();
            let pattern = entry.pattern.as_text();
            if touched.access == Access::Delete {
                // What is named is an allowed path, and none of these is deleted, but what is in it.
                let folder = touched.path.parent().filter(|folder| {
                    kind == BuiltInKind::StartPlace && entry.pattern.denies(folder)
                });
                let Some(path) = folder else {
                    return nobody(format!(
                        "no change allows it: what {pattern} denies by default is deleted on the device itself"
                    ));
                };
                let touched = &PathTouch { path, access: touched.access };
                let secret = Secret { touched, what: "folder", folder: None, pattern };
                return self.secret(question, policy, &secret, &against);
            }
            let folder = folder(scope, touched, question);
            let secret = Secret { touched, what: "file itself", folder, pattern };
            return self.secret(question, policy, &secret, &against);
        }
        if scope.deny_all_paths {
            return self.grant(question, "correct the entry that cannot be read in the deny_paths");
        }
        // What is in the folder is denied, and would go with it.
        if let (true, Some(entry)) = (against.is_empty(), scope.denying_touch(touched)) {
            return nobody(format!(
                "no change allows it: {} is in it, and is denied on every device by default",
                entry.pattern
            ));
        }
        let entries: Vec<_> = against.iter().map(|entry| entry.pattern.as_text()).collect();
        let hint = self.grant(question, &taken_out(&entries));
        match against.as_slice() {
            [entry] if is_whole(entry.pattern.as_text()) => {
                let path = entry.pattern.as_text();
                // To allow what is allowed already would allow more than the call needs.
                match scope.covering(&touched.path, touched.access) {
                    Some(_) => self.with_owner(hint, || Some(policy.undo_denial(path))),
                    None => self.with_owner(hint, || policy.owner_command(path, touched.access)),
                }
            }
            _ => hint,
        }
    }

    /// Returns the change that lets something be used which is denied by default and by these entries.
    fn secret(
        &self,
        question: &Question<'_>,
        policy: &Policy,
        secret: &Secret<'_>,
        against: &[&str],
    ) -> Hint {
        let Secret { touched: PathTouch { path, access }, what, folder, pattern } = secret;
        let paths: Vec<String> = folder.iter().chain([path]).map(ToString::to_string).collect();
        let entry = |path: &String| format!("{{ path: {}, access: [{access}] }}", quoted(path));
        let entries = paths.iter().map(entry).collect::<Vec<_>>().join(" and ");
        let its_folder = if folder.is_some() { ", and its folder" } else { "" };
        let take_out = match against {
            [] => String::new(),
            against => format!("{}, and ", taken_out(against)),
        };
        let change = format!(
            "{take_out}name the {what}, which {pattern} denies by default{its_folder}: add {entries} to the paths"
        );
        if self.layer == Layer::Ceiling {
            let hint = self.grant(question, &change);
            // The command takes out what denies the very path that it allows.
            let is_taken_out = against.iter().all(|denied| paths.iter().any(|path| path == denied));
            let allow: Option<Vec<_>> =
                paths.iter().map(|path| policy.owner_command(path, *access)).collect();
            let command = allow.filter(|_| is_taken_out).map(|allow| allow.join(", then "));
            return Hint { command: command.or(hint.command), ..hint };
        }
        if !against.is_empty() {
            return self.grant(question, &change);
        }
        let options: Vec<_> =
            paths.iter().map(|path| format!("--path {}", for_shell(path, "PATH"))).collect();
        let options = format!("{} --access {access}", options.join(" "));
        self.entry(question, &change, &options)
    }
}

/// Describes the change that takes these entries out.
fn taken_out(denied: &[&str]) -> String {
    let denied: Vec<_> = denied.iter().map(|pattern| quoted(pattern)).collect();
    format!("take {} out of the deny_paths", denied.join(", "))
}

/// Returns whether a denied path is the same in every folder, and no pattern.
fn is_whole(path: &str) -> bool {
    let has_drive = path.as_bytes().get(1) == Some(&b':');
    (path.starts_with(['/', '\\', '~']) || has_drive) && !path.contains(['*', '?'])
}
