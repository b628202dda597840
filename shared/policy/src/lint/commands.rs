//! Programs on a command list that run any other program: whoever may start one may do anything.

use orion_catalog::{runs_anything, runs_much};

use crate::file::PolicyFile;
use crate::file::lent::Lent;
use crate::finding::{Code, Findings, shown};

/// Looks at every command list, where it is written.
pub(super) fn look(policy: &PolicyFile, findings: &mut Findings) {
    let devices = policy.devices.values().map(|device| &device.lent);
    for lent in policy.profiles.values().chain(devices) {
        commands(lent, findings);
    }
}

fn commands(lent: &Lent, findings: &mut Findings) {
    for command in lent.commands.iter().flatten() {
        let program = &command.value.program;
        let args = command.value.args.as_deref();
        if let Some(why) = runs_much(program, args) {
            let message =
                format!("`{}` on a command list without arguments: {why}.", shown(program));
            let hint = "List the arguments that it may be given.";
            findings.warning(command.at, Code::Interpreter, message, hint);
        }
        let Some(why) = runs_anything(program, args) else { continue };
        let message = format!("`{}` on a command list: {why}.", shown(program));
        let hint = "List the program that is needed itself, or a script of your own by its whole path, with the arguments it may be given.";
        findings.error(command.at, Code::Interpreter, message, hint);
    }
}
