//! Programs that are refused always, by whatever path they are named, and program texts on a command line.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::line::{CommandLine, Token};
use crate::refusal::{Refusal, RefusalRule};

/// The refused programs: the name of a rule with its programs, separated by spaces.
const FILE: &str = include_str!("../refused.toml");

/// Programs by name. `None`: the file cannot be read, and every command is refused.
static PROGRAMS: LazyLock<Option<BTreeMap<String, RefusalRule>>> = LazyLock::new(|| {
    let rules: BTreeMap<String, String> = toml::from_str(FILE).ok()?;
    let mut programs = BTreeMap::new();
    for (rule, names) in rules {
        let rule = RefusalRule::from_name(&rule)?;
        programs.extend(names.split_whitespace().map(|name| (name.to_owned(), rule)));
    }
    Some(programs)
});

/// An interpreter, and how it takes a program text on its command line.
struct Interpreter {
    /// The start of its name; digits, dots and dashes may follow.
    name: &'static str,
    /// Short options that take a program text.
    short: &'static str,
    /// Short options that take another value, so that nothing behind them in their word is an option.
    with_value: &'static str,
    /// Words that take a program text.
    words: &'static [&'static str],
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter { name: "python", short: "c", with_value: "mWX", words: &[] },
    Interpreter { name: "pypy", short: "c", with_value: "mWX", words: &[] },
    Interpreter { name: "perl", short: "eE", with_value: "MmIiCDFx", words: &[] },
    Interpreter { name: "ruby", short: "e", with_value: "rICEFTx", words: &[] },
    Interpreter { name: "nodejs", short: "ep", with_value: "rC", words: &["--eval", "--print"] },
    Interpreter { name: "node", short: "ep", with_value: "rC", words: &["--eval", "--print"] },
    Interpreter { name: "bun", short: "ep", with_value: "rc", words: &["--eval", "--print"] },
    Interpreter { name: "deno", short: "", with_value: "", words: &["eval"] },
    Interpreter { name: "php", short: "rBRE", with_value: "cdfFSt", words: &["--run"] },
    Interpreter { name: "luajit", short: "e", with_value: "l", words: &[] },
    Interpreter { name: "lua", short: "e", with_value: "l", words: &[] },
    Interpreter { name: "Rscript", short: "e", with_value: "", words: &[] },
    Interpreter { name: "osascript", short: "e", with_value: "l", words: &[] },
    Interpreter { name: "groovy", short: "e", with_value: "", words: &[] },
    Interpreter { name: "julia", short: "eE", with_value: "", words: &["--eval", "--print"] },
];

/// Names of awk, whose programs can start others, open files and connect.
const AWKS: &[&str] = &["awk", "gawk", "mawk", "nawk", "original-awk"];

/// What an awk program uses to do that.
const AWK_REACHES: &[&str] = &["system", "getline", "/inet", "@load", "|&", "| \"", "|\""];

/// Programs with one more for each file system.
const FAMILIES: &[&str] = &["mkfs", "fsck", "mount", "umount"];

/// Returns why a command is refused whatever a grammar says.
pub(crate) fn check(line: &CommandLine) -> Result<(), Refusal> {
    let word = line.program();
    let name = base_name(&word.text);
    let Some(programs) = PROGRAMS.as_ref() else {
        return Err(refuse(word, RefusalRule::System));
    };
    // `mkfs.ext4` is refused as `mkfs`.
    let family = name.split_once('.').map(|(family, _)| family).filter(|it| FAMILIES.contains(it));
    let rule = programs.get(&word.text).or_else(|| programs.get(family.unwrap_or(&name)));
    if let Some(rule) = rule.filter(|rule| applies(&word.text, **rule)) {
        return Err(refuse(word, *rule));
    }
    let interpreter = INTERPRETERS.iter().find(|it| is_version_of(&name, it.name));
    if let Some(token) = interpreter.and_then(|it| it.inline_code(line.arguments())) {
        return Err(refuse(token, RefusalRule::InlineCode));
    }
    let is_program = |token: &&Token| !token.text.starts_with('-');
    let reaches = |token: &&Token| AWK_REACHES.iter().any(|reach| token.text.contains(reach));
    if AWKS.contains(&&*name)
        && let Some(token) = line.arguments().iter().find(is_program).filter(reaches)
    {
        return Err(refuse(token, RefusalRule::InlineCode));
    }
    let is_socket =
        |token: &&Token| ["/dev/tcp/", "/dev/udp/"].iter().any(|start| token.text.contains(start));
    match std::iter::once(word).chain(line.arguments()).find(is_socket) {
        Some(token) => Err(refuse(token, RefusalRule::Socket)),
        None => Ok(()),
    }
}

/// Returns the name of every program that is refused.
#[cfg(test)]
pub(crate) fn names() -> Vec<&'static str> {
    PROGRAMS.as_ref().map(|programs| programs.keys().map(String::as_str).collect()).unwrap()
}

/// Returns whether a rule about a name applies to a program as it was named. The project's own `./install` is not
/// the system's, and asks as any program that is named by a path.
fn applies(program: &str, rule: RefusalRule) -> bool {
    let is_relative = program.contains('/') && !program.starts_with('/');
    !is_relative || rule == RefusalRule::Shell
}

fn refuse(token: &Token, rule: RefusalRule) -> Refusal {
    Refusal::new(&*token.text, token.position, rule)
}

/// Returns the last component of a program's path in lower case, without the ending of a Windows program.
fn base_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    let ending = [".exe", ".com"].iter().find_map(|it| name.strip_suffix(it));
    ending.unwrap_or(&name).to_owned()
}

/// Returns whether a name is an interpreter's, with or without a version.
fn is_version_of(name: &str, interpreter: &str) -> bool {
    let rest = name.strip_prefix(&interpreter.to_lowercase());
    rest.is_some_and(|rest| rest.chars().all(|it| it.is_ascii_digit() || "-._w".contains(it)))
}

impl Interpreter {
    /// Returns the option with a program text, before the first argument that is no option.
    fn inline_code<'t>(&self, arguments: &'t [Token]) -> Option<&'t Token> {
        for token in arguments {
            let word = token.text.split('=').next().unwrap_or_default();
            if self.words.contains(&word) {
                return Some(token);
            }
            let letters = token.text.strip_prefix('-')?;
            if letters.starts_with('-') {
                continue;
            }
            for letter in letters.chars() {
                if self.short.contains(letter) {
                    return Some(token);
                }
                if self.with_value.contains(letter) {
                    break;
                }
            }
            if letters == "m" {
                return None;
            }
        }
        None
    }
}
