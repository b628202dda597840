//! The programs that commands may start.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::touches::CommandTouch;

/// Programs that give control of the whole machine. Without a list of commands they are not
/// granted: each must be named.
const WHOLE_MACHINE: &[&str] = &[
    "docker",
    "docker-compose",
    "podman",
    "podman-compose",
    "nerdctl",
    "kubectl",
    "helm",
    "virsh",
];

/// A granted program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Form", into = "Form")]
pub struct CommandGrant {
    /// The program as calls name it: a name that the device looks up, or an absolute path.
    pub program: String,
    /// The arguments that a call must have, all of them in this order. `None` means any.
    pub args: Option<Vec<String>>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected the name of a program, or an entry such as {program: /usr/local/bin/backup, args: [\"--dry-run\"]}"
)]
enum Form {
    Short(String),
    Long(Long),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Long {
    program: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Vec<String>>,
}

impl From<Form> for CommandGrant {
    fn from(form: Form) -> Self {
        match form {
            Form::Short(program) => Self { program, args: None },
            Form::Long(Long { program, args }) => Self { program, args },
        }
    }
}

impl From<CommandGrant> for Form {
    fn from(CommandGrant { program, args }: CommandGrant) -> Self {
        if args.is_none() { Self::Short(program) } else { Self::Long(Long { program, args }) }
    }
}

/// Formats the entry as the command that it lets be started.
impl fmt::Display for CommandGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.args.iter().flatten().try_for_each(|argument| write!(f, " {argument}"))
    }
}

impl CommandGrant {
    /// Returns whether this entry lets a command be started.
    #[must_use]
    pub fn covers(&self, command: &CommandTouch) -> bool {
        self.program == command.program
            && self.args.as_ref().is_none_or(|args| *args == command.arguments)
    }
}

/// Returns whether some command of an entry may be started.
pub(super) fn grants_any_of(granted: Option<&[CommandGrant]>, other: &CommandGrant) -> bool {
    match granted {
        Some(granted) => granted.iter().any(|grant| {
            let same = grant.args.is_none() || other.args.is_none() || grant.args == other.args;
            grant.program == other.program && same
        }),
        None => !gives_the_whole_machine(&other.program),
    }
}

fn gives_the_whole_machine(program: &str) -> bool {
    WHOLE_MACHINE.contains(&program.rsplit(['/', '\\']).next().unwrap_or_default())
}

/// Returns whether a command may be started. A list is complete; without one, every program that does not
/// give the whole machine.
pub(super) fn lists(granted: Option<&[CommandGrant]>, command: &CommandTouch) -> bool {
    match granted {
        Some(granted) => granted.iter().any(|grant| grant.covers(command)),
        None => !gives_the_whole_machine(&command.program),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::path::{DevicePath, PathStyle};

    use super::*;

    fn command(program: &str, arguments: &[&str]) -> CommandTouch {
        let arguments = arguments.iter().map(|&it| it.to_owned()).collect();
        let folder = DevicePath::parse(PathStyle::Posix, "/srv").unwrap();
        CommandTouch { program: program.to_owned(), arguments, folder }
    }

    #[test]
    fn a_list_of_commands_is_the_whole_truth_and_arguments_count_as_they_are() {
        let granted: Vec<CommandGrant> = serde_json::from_value(json!([
            "git",
            {"program": "/usr/local/bin/backup", "args": ["--dry-run", "all"]},
            {"program": "uptime", "args": []},
        ]))
        .unwrap();
        for (program, arguments, expected) in [
            ("git", &["status"][..], true),
            ("git", &[], true),
            ("/usr/bin/git", &["status"], false),
            ("/usr/local/bin/backup", &["--dry-run", "all"], true),
            ("/usr/local/bin/backup", &["--dry-run"], false),
            ("/usr/local/bin/backup", &["all", "--dry-run"], false),
            ("/usr/local/bin/backup", &[], false),
            ("backup", &["--dry-run", "all"], false),
            ("uptime", &[], true),
            ("uptime", &["-p"], false),
            ("cargo", &[], false),
        ] {
            let command = command(program, arguments);
            assert_eq!(lists(Some(&granted), &command), expected, "{program} {arguments:?}");
        }
        assert!(!lists(Some(&[]), &command("git", &[])));
        let written = serde_json::to_value(&granted).unwrap();
        assert_eq!(serde_json::from_value::<Vec<CommandGrant>>(written).unwrap(), granted);
    }

    #[test]
    fn what_gives_the_whole_machine_is_granted_by_name_only() {
        for program in WHOLE_MACHINE {
            assert!(!lists(None, &command(program, &["ps"])), "{program}");
            assert!(!lists(None, &command(&format!("/usr/bin/{program}"), &[])), "{program}");
            let named = CommandGrant { program: (*program).to_owned(), args: None };
            assert!(lists(Some(&[named]), &command(program, &["ps"])), "{program}");
        }
        assert!(lists(None, &command("git", &["status"])));
    }

    #[test]
    fn an_entry_counts_where_some_command_of_it_may_be_started() {
        let entry = |value| serde_json::from_value::<CommandGrant>(value).unwrap();
        let granted = [entry(json!("git")), entry(json!({"program": "backup", "args": ["-n"]}))];
        for (other, listed, without) in [
            (json!("git"), true, true),
            (json!({"program": "git", "args": ["status"]}), true, true),
            (json!("backup"), true, true),
            (json!({"program": "backup", "args": ["-n"]}), true, true),
            (json!({"program": "backup", "args": ["-y"]}), false, true),
            (json!("docker"), false, false),
        ] {
            let other = entry(other);
            assert_eq!(grants_any_of(Some(&granted), &other), listed, "{other}");
            assert_eq!(grants_any_of(None, &other), without, "{other}");
        }
        assert_eq!(granted[1].to_string(), "backup -n");
    }

    #[test]
    fn an_entry_of_another_form_is_refused() {
        for entry in [json!(1), json!({"args": []}), json!({"program": "git", "arguments": []})] {
            assert!(serde_json::from_value::<CommandGrant>(entry.clone()).is_err(), "{entry}");
        }
    }
}
