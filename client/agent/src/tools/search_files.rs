//! `search_files`.

use orion_catalog::tools::search_files::{Arguments, Match, Returns, SearchFiles};
use orion_domain::ToolError;

use super::glob::Pattern;
use super::list_directory::{Limits, folder, json_bytes, modified};
use super::walk::{Mode, Next, walk};
use super::{Context, Execute, Outcome};
use crate::roots::What;

impl Execute for SearchFiles {
    fn run(arguments: Arguments, context: &Context<'_>) -> Result<Outcome<Returns>, ToolError> {
        let mut limits = Limits::new(arguments.max_results)?;
        let pattern = Pattern::parse(&arguments.query, context.places.style)?;
        let start = folder(&arguments.path, context)?;
        let mode = if arguments.recursive { Mode::Deep } else { Mode::Flat };
        let mut results = Vec::new();
        let truncated = walk(&start, mode, context, &mut |visit| {
            if visit.what != What::File || !pattern.fits(visit.below) {
                return Ok(Next::On);
            }
            let (Some(metadata), Some(path)) = (visit.metadata(), visit.path()) else {
                return Ok(Next::On);
            };
            let path = path.to_string();
            if !limits.take(json_bytes(&path)) {
                return Ok(Next::Stop);
            }
            let modified = modified(&metadata);
            results.push(Match { path, size_bytes: metadata.len(), modified });
            Ok(Next::On)
        })?;
        let (count, path) = (results.len() as u64, start.asked.to_string());
        let message = format!("{path}: {count} files found{}", limits.note(truncated));
        let pattern = arguments.query;
        let data = Returns { pattern, path, results, count, truncated };
        Ok(Outcome::new(message, data).cut(truncated))
    }
}

#[cfg(test)]
mod tests;
