//! Executes `search_text` with ripgrep's libraries. Any thread that needs files lists the next ones in order.
//! Several threads search them, and results are returned in order: equal calls return equal lines.
//!
//! Does not read `.gitignore`: a person may search what a repository ignores.

pub(super) mod expression;
mod feed;
mod lines;

use std::sync::atomic::Ordering;
use std::thread;

use orion_catalog::tools::search_text::{Arguments, Match, Returns, SearchText};
use orion_domain::{Access, ToolError};

use self::feed::Feed;
use self::lines::{Lines, Search};
use super::counted::counted;
use super::glob::Pattern;
use super::list_directory::Limits;
use super::{FileContext, FileTool, Outcome, nearby, regular};
use crate::call::reserve_memory;
use crate::roots::Wanted;
use crate::scan::{Watch, threads};

/// Maximum value of `max_results`.
const MAX_RESULTS: u32 = 5000;

impl FileTool for SearchText {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let mut limits = Limits::up_to(arguments.max_results, MAX_RESULTS)?;
        let glob = Pattern::parse(&arguments.glob, context.places.style)?;
        let located = context.locate(&arguments.path, Access::Read)?;
        reserve_memory(context, expression::room_bytes(&arguments.pattern))?;
        let expression = expression::parse(&arguments.pattern)?;
        let path = located.asked.to_string();
        let watch = Watch::of(context);
        let most = u64::from(arguments.max_results);
        let feed = if located.is_folder() {
            Feed::of_folder(&located, &glob, watch, most)?
        } else {
            regular::refuse_unfit(&located)?;
            let Some(name) = located.name().filter(|_| located.found.is_some()) else {
                let missing = Wanted::Path.missing(&located.asked);
                return Err(nearby::suggest(missing, &located, context));
            };
            Feed::of_file(&located, name, &glob, watch, most)?
        };

        let work = |report: &dyn Fn(u64)| {
            let mut search = Search::new(expression.clone(), watch, most);
            let mut done = Vec::new();
            while let Some((number, files)) = feed.next() {
                let lines = search.all(&files);
                feed.found.fetch_add(lines.weight(), Ordering::Relaxed);
                report(feed.searched.fetch_add(files.len() as u64, Ordering::Relaxed));
                done.push((number, lines));
            }
            done
        };
        let mut done = thread::scope(|scope| {
            let work = &work;
            let helpers: Vec<_> = (1..threads())
                .take_while(|_| located.is_folder())
                // If no thread can be started, fewer threads do the same work.
                .filter_map(|_| thread::Builder::new().spawn_scoped(scope, || work(&|_| {})).ok())
                .collect();
            let mut done = work(&|files| (context.progress)(files, None, "files searched"));
            for helper in helpers {
                match helper.join() {
                    Ok(more) => done.extend(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            done
        });
        context.check()?;
        done.sort_unstable_by_key(|(number, _)| *number);
        let (cut, failed) = feed.end();
        if let Some(error) = failed {
            return Err(error);
        }
        let result = collect(done.into_iter().map(|(_, lines)| lines), &mut limits);
        let truncated = cut || result.more;
        let count = result.matches.len() as u64;
        let long_lines = match result.long_lines {
            0 => String::new(),
            files => format!(
                " Lines of more than {} bytes are not searched by this expression: {} left at one.",
                expression.max_line_bytes,
                if files == 1 { "1 file was".to_owned() } else { format!("{files} files were") }
            ),
        };
        let message = format!(
            "{path}: {} found{}{long_lines}",
            counted(count, "line"),
            Limits::note(truncated)
        );
        let data = Returns {
            pattern: arguments.pattern,
            path,
            matches: result.matches,
            count,
            truncated,
            files_searched: result.searched,
            files_skipped: result.skipped,
            files_with_long_lines: result.long_lines,
        };
        Ok(Outcome::new(message, data).cut(truncated))
    }
}

#[derive(Default)]
struct SearchResult {
    matches: Vec<Match>,
    more: bool,
    searched: u64,
    skipped: u64,
    long_lines: u64,
}

/// Collects lines up to the limits. Counts files up to the last returned line.
fn collect(found: impl Iterator<Item = Lines>, limits: &mut Limits) -> SearchResult {
    let mut result = SearchResult::default();
    for Lines { searched, skipped, long_lines, found, .. } in found {
        let before = (result.searched, result.skipped, result.long_lines);
        for line in found {
            if !limits.take(line.bytes) {
                return SearchResult { more: true, ..result };
            }
            result.searched = before.0 + line.searched;
            result.skipped = before.1 + line.skipped;
            result.long_lines = before.2 + line.long_lines;
            result.matches.push(line.told);
        }
        result.searched = before.0 + searched;
        result.skipped = before.1 + skipped;
        result.long_lines = before.2 + long_lines;
    }
    result
}

#[cfg(test)]
mod tests;
