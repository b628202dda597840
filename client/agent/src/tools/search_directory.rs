//! Executes `search_directory`.

use orion_catalog::tools::search_directory::{Arguments, Returns, SearchDirectory};
use orion_domain::ToolError;

use super::counted::counted;
use super::glob::folded;
use super::list_directory::folder;
use super::{FileContext, FileTool, Outcome, invalid};
use crate::roots::FileKind;
use crate::scan::{Bounds, Entry, Firsts, Visitor, scan};

const MAX_MATCHES: usize = 5;
const MAX_DEPTH: u32 = 3;
const MAX_NAME_BYTES: usize = 255;

impl FileTool for SearchDirectory {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        if !(1..=MAX_DEPTH).contains(&arguments.max_depth) {
            return Err(invalid(format!(
                "max_depth is {}, and has to be from 1 to {MAX_DEPTH}; start in a folder further down instead.",
                arguments.max_depth
            )));
        }
        let name = &arguments.name;
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(['/', '\0']) {
            return Err(invalid(format!(
                "A folder's name has 1 to {MAX_NAME_BYTES} bytes and no slash in it; say where it lies with base."
            )));
        }
        let wanted = folded(name);
        let start = folder(&arguments.base, context)?;
        let bounds = Bounds { depth: arguments.max_depth as usize, ..Bounds::new(true) };
        let (found, missed) =
            scan(&start, bounds, context, || Search { wanted: &wanted, found: firsts() })?;
        let mut best = firsts();
        found.into_iter().for_each(|search| best.merge(search.found));
        let (matches, _) = best.into_sorted();
        let (count, base) = (matches.len() as u64, start.asked.to_string());
        let more = if missed.cut { ", and not everything was looked at" } else { "" };
        let message = format!("{base}: {} found{more}.", counted(count, "folder"));
        let data = Returns { query: arguments.name, base, matches, count };
        Ok(Outcome::new(message, data).cut(missed.cut))
    }
}

/// How well a name matches, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    Exact,
    Start,
    Part,
}

impl Fit {
    /// Compares two names without case. `None` if they do not match.
    pub(super) fn of(wanted: &str, name: &str) -> Option<Self> {
        if name == wanted {
            return Some(Self::Exact);
        }
        if name.starts_with(wanted) {
            return Some(Self::Start);
        }
        name.contains(wanted).then_some(Self::Part)
    }
}

/// Ordered by match, then by depth, then by path.
type Rank = (Fit, usize, String);

fn firsts() -> Firsts<Rank, String> {
    Firsts::new(MAX_MATCHES, usize::MAX)
}

struct Search<'a> {
    wanted: &'a str,
    found: Firsts<Rank, String>,
}

impl Visitor for Search<'_> {
    fn wants(&self, name: &str, what: FileKind) -> bool {
        what == FileKind::Folder && Fit::of(self.wanted, &folded(name)).is_some()
    }

    fn visit(&mut self, entry: &Entry<'_>) {
        let Some(fit) = Fit::of(self.wanted, &folded(entry.name)) else { return };
        let rank = (fit, entry.folder.depth, entry.key());
        let Some(rank) = self.found.admit(rank) else { return };
        let Some(path) = entry.path() else { return };
        self.found.put(rank, 0, path.to_string());
    }
}

#[cfg(test)]
mod tests;
