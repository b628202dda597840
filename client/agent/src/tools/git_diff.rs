//! Executes `git_diff`.

#[cfg(test)]
mod tests;

use orion_catalog::tools::git_diff::{Arguments, ChangedFile, GitDiff, Returns, command, folder};
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome};

/// The most files that are listed.
const MAX_FILES: usize = 1000;

impl CommandTool for GitDiff {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        let folder = folder(&arguments, context.places)?;
        let finished = super::run_commands::run_one(command(&arguments)?, &folder, context)?;
        if finished.exit_code != Some(0) {
            return Err(finished.failure());
        }
        let returns = parse(&finished.stdout.text());
        let message = describe(&returns);
        let truncated = finished.is_cut() || returns.added.is_none();
        Ok(Outcome::new(message, returns).cut(truncated).of_program(finished.end()))
    }
}

/// Parses the list of files, and behind an empty line the patch.
fn parse(stdout: &str) -> Returns {
    let (list, patch) = stdout.split_once("\n\n").unwrap_or((stdout, ""));
    let mut files: Vec<_> = list.lines().map_while(parse_file).take(MAX_FILES + 1).collect();
    // A list that is too long for the output ends in the note of what was left out.
    let is_whole = files.len() <= MAX_FILES && files.len() == list.lines().count();
    files.truncate(MAX_FILES);
    let sum = |of: fn(&ChangedFile) -> Option<u64>| {
        is_whole.then(|| files.iter().filter_map(of).sum::<u64>())
    };
    let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
    Returns { stdout: patch.to_owned(), files, added, removed }
}

/// Parses two counts and a name. A file that is not text has a dash for each count.
fn parse_file(line: &str) -> Option<ChangedFile> {
    let mut parts = line.splitn(3, '\t');
    let mut count = || match parts.next()? {
        "-" => Some(None),
        number => number.parse().ok().map(Some),
    };
    let (added, removed) = (count()?, count()?);
    Some(ChangedFile { path: parts.next()?.to_owned(), added, removed })
}

fn describe(returns: &Returns) -> String {
    match (returns.files.len(), returns.added, returns.removed) {
        (0, ..) => "There are no changes.".to_owned(),
        (files, Some(added), Some(removed)) => {
            let files =
                if files == 1 { "1 file has".to_owned() } else { format!("{files} files have") };
            let added =
                if added == 1 { "1 line was".to_owned() } else { format!("{added} lines were") };
            format!("{files} changes: {added} added and {removed} removed.")
        }
        (files, ..) => format!("More than {files} files have changes."),
    }
}
