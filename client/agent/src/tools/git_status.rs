//! Executes `git_status`.

#[cfg(test)]
mod tests;

use orion_catalog::tools::git_status::{Arguments, GitStatus, Returns, command, folder};
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome};

impl CommandTool for GitStatus {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        let folder = folder(&arguments, context.places)?;
        let finished = super::run_commands::run_one(command()?, &folder, context)?;
        if finished.exit_code != Some(0) {
            return Err(finished.failure());
        }
        let returns = parse(finished.stdout.text());
        let message = format!("{folder} {}.", describe(&returns));
        Ok(Outcome::new(message, returns).cut(finished.is_cut()).of_program(finished.end()))
    }
}

/// Parses the porcelain format, version 2.
fn parse(stdout: String) -> Returns {
    let mut returns = Returns {
        branch: None,
        upstream: None,
        ahead: None,
        behind: None,
        staged: 0,
        unstaged: 0,
        untracked: 0,
        conflicts: 0,
        clean: true,
        stdout: String::new(),
    };
    for line in stdout.lines() {
        match line.split_once(' ') {
            Some(("#", header)) => parse_header(header, &mut returns),
            // One letter for the index and one for the file; a dot stands for no change.
            Some(("1" | "2", entry)) => {
                let mut letters = entry.chars();
                returns.staged += u64::from(letters.next().is_some_and(|letter| letter != '.'));
                returns.unstaged += u64::from(letters.next().is_some_and(|letter| letter != '.'));
                returns.clean = false;
            }
            Some(("u", _)) => {
                returns.conflicts += 1;
                returns.clean = false;
            }
            Some(("?", _)) => {
                returns.untracked += 1;
                returns.clean = false;
            }
            Some(_) | None => {}
        }
    }
    Returns { stdout, ..returns }
}

fn parse_header(header: &str, returns: &mut Returns) {
    match header.split_once(' ') {
        Some(("branch.head", name)) => {
            returns.branch = (name != "(detached)").then(|| name.to_owned());
        }
        Some(("branch.upstream", name)) => returns.upstream = Some(name.to_owned()),
        Some(("branch.ab", counts)) => {
            let count = |sign| counts.split(' ').find_map(|it| it.strip_prefix(sign)?.parse().ok());
            returns.ahead = count('+');
            returns.behind = count('-');
        }
        Some(_) | None => {}
    }
}

/// Returns the state as the end of a sentence.
fn describe(returns: &Returns) -> String {
    let branch = match &returns.branch {
        Some(branch) => format!("is on branch {}", orion_domain::visible(branch)),
        None => "is on no branch".to_owned(),
    };
    if returns.clean {
        return format!("{branch} and has no changes");
    }
    let Returns { staged, unstaged, untracked, conflicts, .. } = returns;
    format!(
        "{branch} and has {staged} staged, {unstaged} unstaged, {untracked} untracked and {conflicts} conflicting files"
    )
}
