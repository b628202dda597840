//! The list of commands of some grants.

use orion_commands::{CommandLine, Judgement, judge};
use orion_domain::grants::CommandGrant;

use crate::finding::{At, Code, Findings, shown};
use crate::read::{self, Fields};
use crate::yaml::{Node, Value};

/// Reads a list of commands. A program that never runs is reported.
pub(super) fn read(node: &Node, findings: &mut Findings) -> Vec<CommandGrant> {
    let items = read::items(node, "`commands`", findings);
    items.into_iter().filter_map(|item| command(item, findings)).collect()
}

fn command(node: &Node, findings: &mut Findings) -> Option<CommandGrant> {
    let (program, args) = match &node.value {
        Value::Table(_) => {
            let mut fields = Fields::of(node, "a command", findings)?;
            let program = fields
                .take(&["program"], findings)
                .and_then(|node| read::text(node, "a program", findings));
            let args = fields.take(&["args"], findings).map(|node| {
                let texts = read::texts(node, "`args`", findings);
                texts.into_iter().map(|text| text.value.to_owned()).collect()
            });
            if program.is_none() {
                findings.error(node.at, Code::Missing, "A command names its `program`.", "");
            }
            fields.finish(findings);
            (program?, args)
        }
        Value::Scalar { .. } | Value::List(_) => (read::text(node, "a command", findings)?, None),
    };
    runs(&program, findings).then(|| CommandGrant { program: program.value.to_owned(), args })
}

/// Returns whether a program can ever run; reports one that cannot.
fn runs(program: &At<&str>, findings: &mut Findings) -> bool {
    let name = program.value.rsplit(['/', '\\']).next().unwrap_or_default();
    let never =
        [program.value, name].into_iter().find_map(|program| {
            match CommandLine::from_argv(vec![program.to_owned()]).map(|line| judge(&line)) {
                Ok(Judgement::Refused(refusal)) | Err(refusal) => Some(refusal),
                Ok(Judgement::Known(_) | Judgement::NoGrammar(_)) => None,
            }
        });
    let Some(refusal) = never else { return true };
    let message = format!("`{}` never runs. {}", shown(program.value), refusal.rule.sentence());
    let hint = "Name the program that is meant, and leave this out.";
    findings.error(program.at, Code::BadValue, message, hint);
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn read_list(text: &str) -> (Vec<CommandGrant>, Vec<String>) {
        let mut findings = Findings::of("policy.yaml");
        let node = yaml::parse(text, &mut findings).unwrap();
        let commands = read(&node, &mut findings);
        let found = findings.into_sorted().into_iter().map(|it| it.message).collect();
        (commands, found)
    }

    #[test]
    fn programs_with_and_without_arguments_are_read() {
        let text = "- git\n- {program: /usr/local/bin/backup, args: [\"--dry-run\"]}\n- {program: uptime, args: []}";
        let (commands, found) = read_list(text);
        assert_eq!(found, Vec::<String>::new());
        let args: Vec<_> =
            commands.iter().map(|it| (it.program.as_str(), it.args.clone())).collect();
        assert_eq!(
            args,
            [
                ("git", None),
                ("/usr/local/bin/backup", Some(vec!["--dry-run".to_owned()])),
                ("uptime", Some(Vec::new()))
            ]
        );
    }

    #[test]
    fn a_shell_and_whatever_else_never_runs_is_an_error() {
        for program in ["bash", "/bin/sh", "sudo", "nc", "env"] {
            let (commands, found) = read_list(&format!("- {program}\n- git"));
            assert_eq!((commands.len(), found.len()), (1, 1), "{program}: {found:?}");
            assert!(found[0].contains("never runs"), "{found:?}");
        }
        for (text, expected) in [
            ("- {args: []}", "names its `program`"),
            ("- {program: git, arg: []}", "is no key of a command"),
            ("- [git]", "is a text"),
        ] {
            let (commands, found) = read_list(text);
            assert!(found.iter().any(|it| it.contains(expected)), "{text}: {found:?}");
            assert!(commands.len() <= 1);
        }
    }
}
