//! Judges one command: what is refused always, then the grammar of its program, then its paths.

use orion_domain::Access;

use crate::arguments::Reading;
use crate::judgement::{Judgement, Known, NoGrammar, Program};
use crate::line::CommandLine;
use crate::refusal::{Refusal, RefusalRule};
use crate::{refused, table};

/// Returns what a command would do.
#[must_use]
pub fn judge(line: &CommandLine) -> Judgement {
    if let Err(refusal) = refused::check(line) {
        return Judgement::Refused(refusal);
    }
    let found = match Program::from_word(&line.program().text) {
        Program::Name(name) => table::find(&name),
        Program::Path(_) => None,
    };
    let Some((name, grammar)) = found else {
        return Judgement::NoGrammar(NoGrammar {
            program: Program::from_word(&line.program().text),
            arguments: line.arguments().iter().map(|token| token.text.clone()).collect(),
        });
    };
    let known = Reading::read(name, grammar, line);
    match deletes_above(&known, line) {
        Some(refusal) => Judgement::Refused(refusal),
        None => Judgement::Known(Box::new(known)),
    }
}

/// Returns the refusal of a command that deletes or moves the root, a folder directly in it, the home folder, the
/// working directory or a folder above it.
fn deletes_above(known: &Known, line: &CommandLine) -> Option<Refusal> {
    let deleted = known.paths.iter().filter(|(_, access)| *access == Access::Delete);
    let (path, _) = deleted.into_iter().find(|(path, _)| is_above(path))?;
    let named = line.arguments().iter().find(|token| token.text.ends_with(path.as_str()));
    let position = named.map_or(line.program().position, |token| token.position);
    Some(Refusal::new(path, position, RefusalRule::DeleteAbove))
}

/// Returns whether a path is the root, directly in it, the home folder, or at or above the working directory.
fn is_above(path: &str) -> bool {
    let home = path.strip_prefix("./").unwrap_or(path);
    if home.starts_with('~') && !home.trim_start_matches(|it| it != '/').contains(|it| it != '/') {
        return true;
    }
    let mut depth = 0_usize;
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match part {
            ".." => depth = depth.saturating_sub(1),
            _ => depth += 1,
        }
    }
    depth <= usize::from(path.starts_with('/'))
}

#[cfg(test)]
mod tests;
