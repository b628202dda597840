//! Collects the examples: of the help of each command, and of the documents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Output;

use orion_tests::program;

/// The programs whose help has examples.
pub(super) const PROGRAMS: [&str; 3] = ["orion", "orion-server", "orion-agent"];

/// Every example with the places that show it.
pub(super) type Examples = BTreeMap<String, BTreeSet<String>>;

/// The help of every command, by its words: `orion calls list`.
pub(super) type Helps = BTreeMap<String, String>;

/// Returns the help of every command of every program.
pub(super) async fn helps() -> Helps {
    let mut helps = Helps::new();
    let mut open: Vec<Vec<String>> = PROGRAMS.iter().map(|name| vec![(*name).to_owned()]).collect();
    while let Some(words) = open.pop() {
        let help = help(&words).await;
        open.extend(section(&help, &["Commands:"]).filter_map(|line| {
            let name = line.split_whitespace().next().filter(|_| !line.starts_with(' '))?;
            (name != "help").then(|| [&words[..], &[name.to_owned()]].concat())
        }));
        helps.insert(words.join(" "), help);
    }
    helps
}

#[expect(clippy::disallowed_methods, reason = "tests are about processes")]
async fn help(words: &[String]) -> String {
    let mut command = tokio::process::Command::new(program(&words[0]));
    let ended = command.args(&words[1..]).arg("--help").env_clear().output().await.unwrap();
    let Output { status, stdout, .. } = ended;
    assert!(status.success(), "{words:?} --help: {status}");
    String::from_utf8(stdout).unwrap()
}

/// Returns the lines of a section of a help, without their indentation.
fn section<'a>(help: &'a str, names: &'static [&'static str]) -> impl Iterator<Item = &'a str> {
    let lines = help.lines().skip_while(move |line| !names.contains(line)).skip(1);
    lines.map_while(|line| line.strip_prefix("  "))
}

/// Returns all examples: those of the helps, and those of the documents.
pub(super) fn examples(helps: &Helps) -> Examples {
    let mut found = Examples::new();
    let mut add = |text: &str, source: &str| {
        found.entry(text.to_owned()).or_default().insert(source.to_owned());
    };
    for (words, help) in helps {
        let source = words.split(' ').next().unwrap_or_default();
        for line in section(help, &["Example:", "Examples:"]) {
            add(command_of(line), &format!("{source} --help"));
        }
    }
    for (name, text) in documents() {
        for line in fenced(&text) {
            add(&line, &name);
        }
        for span in spans(&text).filter(|span| !is_mention(span, helps)) {
            add(&span, &name);
        }
    }
    found
}

/// Returns what the documents only mention: a command without arguments, or with placeholders.
pub(super) fn mentions(helps: &Helps) -> Vec<(String, String)> {
    let of = |(name, text): (String, String)| {
        let spans = spans(&text).filter(|span| is_mention(span, helps));
        spans.map(|span| (name.clone(), span)).collect::<Vec<_>>()
    };
    documents().into_iter().flat_map(of).collect()
}

/// Returns the name and the text of each document.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = |name: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(root.join(name)).unwrap();
        let paths = entries.map(|entry| Path::new(name).join(entry.unwrap().file_name()));
        paths.filter(|path| path.extension().is_some_and(|it| it == "md")).collect()
    };
    let mut paths =
        [vec![PathBuf::from("README.md")], folder("docs"), folder("docs/tools")].concat();
    paths.sort();
    let read = |path: PathBuf| {
        (path.display().to_string(), std::fs::read_to_string(root.join(path)).unwrap())
    };
    paths.into_iter().map(read).collect()
}

/// Returns the commands of fenced blocks. What a line exports is set for the lines behind it.
fn fenced(text: &str) -> Vec<String> {
    let (mut found, mut exported, mut block) = (Vec::new(), String::new(), None::<&str>);
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, block) {
            (Some(kind), None) => block = Some(kind.trim()),
            (Some(_), Some(kind)) => {
                if matches!(kind, "" | "console" | "sh") {
                    commands(&lines, &mut exported, &mut found);
                }
                (block, exported) = (None, String::new());
                lines.clear();
            }
            (None, Some(_)) => lines.push(line),
            (None, None) => {}
        }
    }
    found
}

fn commands(lines: &[&str], exported: &mut String, found: &mut Vec<String>) {
    // Where some lines have a prompt, the others are output.
    let has_prompts = lines.iter().any(|line| line.starts_with("$ "));
    for line in lines {
        let line = match (line.strip_prefix("$ "), has_prompts) {
            (Some(typed), _) => typed,
            (None, true) => continue,
            (None, false) => *line,
        };
        if let Some(setting) = line.strip_prefix("export ") {
            *exported = format!("{setting} ");
        } else if is_command(line) {
            found.push(format!("{exported}{}", command_of(line)));
        }
    }
}

/// Returns whether a line of a block is typed into a shell.
fn is_command(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or_default();
    PROGRAMS.contains(&name) || matches!(name, "make" | "cargo")
}

/// Returns the command of a line, without the words behind two spaces that explain it.
fn command_of(line: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in line.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            (' ', None) if before == ' ' && at > 0 => return line[..at].trim_end(),
            (_, _) => {}
        }
        before = c;
    }
    line.trim_end()
}

/// Returns the commands between backquotes, outside fenced blocks.
fn spans(text: &str) -> impl Iterator<Item = String> {
    let outside = text.split("\n```").step_by(2);
    let code = outside.flat_map(|part| part.split('`').skip(1).step_by(2));
    // A paragraph may break a command into two lines.
    let code = code.map(|span| span.replace('\n', " "));
    code.filter(|span| {
        let first = span.split(' ').next().unwrap_or_default();
        span.contains(' ') && PROGRAMS.contains(&first)
    })
}

/// Returns whether a text only names a command: without arguments, or with placeholders.
fn is_mention(span: &str, helps: &Helps) -> bool {
    let is_placeholder = |word: &str| {
        let of_letters = |c: char| c.is_ascii_uppercase() || c == '_';
        let mut parts = word.split(['=', ':', ',', '@']);
        word.contains(['…', '|', '['])
            || parts.any(|part| !part.is_empty() && part.chars().all(of_letters))
    };
    helps.contains_key(span) || span.split(' ').any(is_placeholder)
}

/// Returns what is wrong with a mention: a command or an option that does not exist.
pub(super) fn misnamed(span: &str, helps: &Helps) -> Option<String> {
    let words: Vec<&str> = span.split_whitespace().collect();
    let mut known = words[0].to_owned();
    let mut rest = &words[1..];
    while let [word, more @ ..] = rest {
        let alternatives = word.split('|');
        let longer: Vec<_> = alternatives.map(|it| format!("{known} {it}")).collect();
        if !section(&helps[&known], &["Commands:"]).any(|_| true) || *word == "…" {
            break;
        }
        if let Some(unknown) = longer.iter().find(|it| !helps.contains_key(*it)) {
            return Some(format!("there is no `{unknown}`"));
        }
        known.clone_from(&longer[0]);
        rest = more;
    }
    let options = rest.iter().flat_map(|word| word.split(['[', ']', '|']));
    let mut options = options.filter(|word| word.starts_with("--"));
    let missing = options.find(|option| {
        let name = option.split('=').next().unwrap_or_default();
        !helps[&known].contains(name)
    });
    missing.map(|option| format!("`{known}` has no `{option}`"))
}

#[test]
fn a_line_ends_where_its_explanation_begins() {
    assert_eq!(command_of("orion calls list --open"), "orion calls list --open");
    assert_eq!(command_of("orion undo 1    takes it back"), "orion undo 1");
    assert_eq!(command_of("printf 'a  b' | orion chat  # x"), "printf 'a  b' | orion chat");
}

#[test]
fn a_block_with_prompts_has_output_between_them_and_exports_hold_to_its_end() {
    let text = "```console\n$ export A=1\n$ orion status\norion is up\n```\n```\norion-agent run\nx\n```\n";
    assert_eq!(fenced(text), ["A=1 orion status", "orion-agent run"]);
}
