//! Executes `search_files`.

use orion_catalog::tools::search_files::{Arguments, Match, Returns, SearchFiles};
use orion_domain::ToolError;

use super::counted::counted;
use super::glob::Pattern;
use super::list_directory::{Limits, folder, json_bytes, modified};
use super::{FileContext, FileTool, Outcome};
use crate::roots::FileKind;
use crate::scan::{Bounds, Entry, Firsts, Visitor, scan};

impl FileTool for SearchFiles {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let limits = Limits::new(arguments.max_results)?;
        let pattern = Pattern::parse(&arguments.query, context.places.style)?;
        let start = folder(&arguments.path, context)?;
        let (found, missed) = scan(&start, Bounds::new(arguments.recursive), context, || Search {
            pattern: &pattern,
            found: limits.firsts(),
        })?;
        let mut firsts = limits.firsts();
        found.into_iter().for_each(|search| firsts.merge(search.found));
        let (results, more) = firsts.into_sorted();
        let truncated = more || missed.cut;
        let (count, path) = (results.len() as u64, start.asked.to_string());
        let message =
            format!("{path}: {} found{}", counted(count, "file"), Limits::note(truncated));
        let pattern = arguments.query;
        let data = Returns { pattern, path, results, count, truncated };
        Ok(Outcome::new(message, data).cut(truncated))
    }
}

struct Search<'a> {
    pattern: &'a Pattern,
    found: Firsts<String, Match>,
}

impl Visitor for Search<'_> {
    fn wants(&self, name: &str, what: FileKind) -> bool {
        what == FileKind::File && self.pattern.may_fit(name)
    }

    fn visit(&mut self, entry: &Entry<'_>) {
        if !self.pattern.fits(entry.below()) {
            return;
        }
        let Some(key) = self.found.admit(entry.key()) else { return };
        let (Some(metadata), Some(path)) = (entry.metadata(), entry.path()) else { return };
        let path = path.to_string();
        let bytes = Limits::bytes(json_bytes(&path));
        let modified = modified(&metadata);
        self.found.put(key, bytes, Match { path, size_bytes: metadata.len(), modified });
    }
}

#[cfg(test)]
mod tests;
