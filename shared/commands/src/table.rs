//! The grammars that are compiled in, parsed once.

use std::sync::LazyLock;

use crate::grammar::Grammar;

macro_rules! grammars {
    ($($name:literal)+) => {
        /// Each grammar file with its text.
        pub(crate) const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../grammars/", $name, ".toml"))),)+];
    };
}

grammars! {
    "apt" "basename" "black" "brew" "cargo" "cat" "cmake" "cmp" "comm" "cp" "curl" "cut" "date" "df"
    "diff" "dig" "dirname" "dmesg" "docker" "docker-compose" "dpkg" "du" "echo" "eslint" "fd" "file"
    "find" "free" "git" "go" "grep" "groups" "head" "helm" "hostname" "id" "ip" "journalctl" "jq"
    "kubectl" "loginctl" "ls" "lsblk" "lscpu" "lsof" "make" "mkdir" "mv" "mypy" "nl" "node" "npm"
    "nproc" "npx" "pgrep" "ping" "pip" "pnpm" "prettier" "printf" "ps" "pwd" "pytest" "python"
    "realpath" "resolvectl" "rg" "rm" "rmdir" "ruff" "sensors" "seq" "sha256sum" "sleep" "sort" "ss"
    "stat" "strings" "systemctl" "tail" "tailscale" "timedatectl" "touch" "tr" "tree" "true" "tsc"
    "uname" "uniq" "uptime" "vmstat" "wc" "wget" "which" "who" "whoami"
}

/// A grammar that does not parse is left out, so that its program asks; a test parses each.
static GRAMMARS: LazyLock<Vec<Grammar>> =
    LazyLock::new(|| FILES.iter().filter_map(|(_, text)| toml::from_str(text).ok()).collect());

/// Returns every grammar, in the order of the table.
pub(crate) fn grammars() -> &'static [Grammar] {
    &GRAMMARS
}

/// Returns the grammar of a program, with the name that matched.
pub(crate) fn find(program: &str) -> Option<(&'static str, &'static Grammar)> {
    grammars().iter().find_map(|grammar| {
        let names = std::iter::once(&grammar.program).chain(&grammar.also);
        names.map(String::as_str).find(|name| *name == program).map(|name| (name, grammar))
    })
}

/// What a grammar covers, for the documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The names of the programs.
    pub programs: Vec<&'static str>,
    /// What is covered, in one sentence.
    pub covers: &'static str,
}

/// Returns what each grammar covers, in the order of the table.
pub fn summaries() -> impl Iterator<Item = Summary> {
    grammars().iter().map(|grammar| Summary {
        programs: std::iter::once(&grammar.program)
            .chain(&grammar.also)
            .map(String::as_str)
            .collect(),
        covers: &grammar.summary,
    })
}
