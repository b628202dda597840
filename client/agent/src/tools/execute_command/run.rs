//! Runs the commands of a call.

use std::time::Duration;

use orion_catalog::tools::execute_command::{Arguments, Returns, commands, folder};
use orion_domain::ToolError;

use super::Outcome;
use crate::programs::CommandContext;
use crate::tools::run_commands::{Order, prepare};

pub(super) fn run(
    arguments: &Arguments,
    context: &CommandContext<'_>,
) -> Result<Outcome<Returns>, ToolError> {
    let folder = folder(arguments, context.places)?;
    let text = arguments.as_text();
    let order = Order {
        commands: commands(arguments)?,
        folder: &folder,
        text: text.clone(),
        network: arguments.network,
        time: Duration::from_secs(u64::from(arguments.timeout)),
    };
    let prepared = prepare(order, context)?;
    if context.dry_run {
        let returns = Returns {
            exit_code: None,
            stdout: String::new(),
            stderr: String::new(),
            duration: 0,
            command: text.clone(),
            programs: prepared.programs(),
        };
        return Ok(Outcome::new(format!("Would run `{text}` in {folder}."), returns));
    }
    let finished = prepared.run(context)?;
    if finished.exit_code != Some(0) {
        return Err(finished.failure());
    }
    let (end, truncated) = (finished.end(), finished.is_cut());
    let returns = Returns {
        exit_code: finished.exit_code,
        stdout: finished.stdout.text(),
        stderr: finished.stderr.text(),
        duration: finished.duration,
        command: text.clone(),
        programs: finished.programs,
    };
    Ok(Outcome::new(format!("Ran `{text}`."), returns).cut(truncated).of_program(end))
}
