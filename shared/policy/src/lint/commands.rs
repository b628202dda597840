//! Programs on a command list that run any other program: whoever may start one may do anything.

use orion_catalog::runs_anything;

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
        let Some(why) = runs_anything(program, command.value.args.is_some()) else { continue };
        let message = format!("`{}` on a command list: {why}.", shown(program));
        let hint = "List the program that is needed itself, or a script of your own by its whole path, with the arguments it may be given.";
        findings.error(command.at, Code::Interpreter, message, hint);
    }
}
