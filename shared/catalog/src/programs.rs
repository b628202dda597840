//! Programs that run any other program: whoever may start one of them with arguments of their own may
//! do anything. The linter of the policy and the check of a device's ceiling hold lists to it.

/// Why a program is not one among others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Shell,
    Interpreter,
    Starter,
    Editor,
    Elsewhere,
    Privilege,
    Container,
    /// Harmless when its arguments are listed.
    Argument(&'static str),
}

const PROGRAMS: &[(Why, &[&str])] = &[
    (
        Why::Shell,
        &[
            "sh",
            "bash",
            "zsh",
            "fish",
            "dash",
            "ash",
            "ksh",
            "mksh",
            "csh",
            "tcsh",
            "rbash",
            "busybox",
            "toybox",
            "cmd",
            "command",
            "powershell",
            "pwsh",
            "nu",
            "xonsh",
            "elvish",
        ],
    ),
    (
        Why::Interpreter,
        &[
            "python",
            "pypy",
            "ipython",
            "perl",
            "ruby",
            "irb",
            "node",
            "nodejs",
            "deno",
            "bun",
            "npx",
            "tsx",
            "php",
            "lua",
            "luajit",
            "tclsh",
            "wish",
            "expect",
            "rscript",
            "r",
            "julia",
            "guile",
            "java",
            "jshell",
            "groovy",
            "scala",
            "osascript",
            "wscript",
            "cscript",
            "mshta",
            "rundll32",
            "regsvr32",
            "awk",
            "gawk",
            "mawk",
            "nawk",
            "gdb",
            "sqlite3",
            "psql",
            "mysql",
            "dc",
            "m4",
            "jrunscript",
            "erl",
            "elixir",
            "iex",
            "ghci",
        ],
    ),
    (
        Why::Starter,
        &[
            "env",
            "xargs",
            "parallel",
            "nohup",
            "timeout",
            "nice",
            "ionice",
            "time",
            "watch",
            "strace",
            "ltrace",
            "setsid",
            "stdbuf",
            "taskset",
            "flock",
            "script",
            "screen",
            "tmux",
            "at",
            "batch",
            "crontab",
            "systemd-run",
            "start-stop-daemon",
            "start",
            "forfiles",
            "schtasks",
            "wmic",
            "entr",
            "unshare",
            "rlwrap",
            "chrt",
            "run-parts",
            "watchexec",
            "launchctl",
            "xdg-open",
        ],
    ),
    (
        Why::Editor,
        &[
            "vi", "vim", "nvim", "view", "ex", "ed", "emacs", "nano", "pico", "less", "more",
            "most", "man", "mutt", "mc",
        ],
    ),
    (
        Why::Elsewhere,
        &["ssh", "scp", "sftp", "rsh", "telnet", "mosh", "nc", "ncat", "netcat", "socat", "psexec"],
    ),
    (
        Why::Privilege,
        &[
            "sudo", "su", "doas", "pkexec", "runuser", "runas", "gosu", "su-exec", "setpriv",
            "capsh",
        ],
    ),
    (
        Why::Container,
        &[
            "docker",
            "podman",
            "nerdctl",
            "ctr",
            "crictl",
            "kubectl",
            "lxc",
            "incus",
            "machinectl",
            "nsenter",
            "chroot",
            "bwrap",
            "firejail",
            "flatpak",
            "wsl",
            "vagrant",
            "qemu",
        ],
    ),
    (Why::Argument("-exec runs any program"), &["find", "fd", "fdfind"]),
    (Why::Argument("its e command runs any program"), &["sed", "gsed"]),
    (
        Why::Argument("--to-command and --checkpoint-action run any program"),
        &["tar", "bsdtar", "gtar"],
    ),
    (Why::Argument("-T with -TT runs any program"), &["zip"]),
    (Why::Argument("-e runs any program"), &["rsync"]),
    (Why::Argument("--compress-program runs any program"), &["sort"]),
];

/// Why a program on a command list lets anything be run, where it does. `has_arguments` says whether
/// the list names the arguments that it may be given, which makes some of them harmless.
#[must_use]
pub fn runs_anything(program: &str, has_arguments: bool) -> Option<&'static str> {
    let name = plain_name(program);
    let &(why, _) = PROGRAMS.iter().find(|(_, names)| names.contains(&name.as_str()))?;
    match why {
        Why::Shell => Some("a shell, which runs anything"),
        Why::Interpreter => Some("an interpreter, which runs anything it is given"),
        Why::Starter => Some("a program that starts any other"),
        Why::Editor => Some("a program out of which any other can be started"),
        Why::Elsewhere => Some("a way to other machines, and there to anything"),
        Why::Privilege => Some("a way to another account, and with it to anything"),
        Why::Container => Some("a way into or out of containers, and there to anything"),
        Why::Argument(_) if has_arguments => None,
        Why::Argument(why) => Some(why),
    }
}

/// The name without folder, extension and version: `/usr/bin/python3.12` and `Python.EXE` are `python`.
fn plain_name(program: &str) -> String {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_lowercase();
    let name = [".exe", ".com", ".cmd", ".bat"]
        .iter()
        .find_map(|extension| name.strip_suffix(extension))
        .unwrap_or(&name);
    // `sqlite3` and `m4` are names of their own; `python3.12`, `lua5.4` and `ruby-3` have versions.
    let is_known = |name: &str| PROGRAMS.iter().any(|(_, names)| names.contains(&name));
    if is_known(name) {
        return name.to_owned();
    }
    let end = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_');
    name.trim_end_matches(end).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_its_plain_name() {
        for (program, name) in [
            ("/usr/bin/python3.12", "python"),
            ("Python.EXE", "python"),
            (r"C:\Windows\System32\cmd.exe", "cmd"),
            ("lua5.4", "lua"),
            ("ruby-3.3", "ruby"),
            ("sqlite3", "sqlite3"),
            ("/usr/local/bin/backup", "backup"),
            ("git", "git"),
        ] {
            assert_eq!(plain_name(program), name);
        }
    }

    #[test]
    fn arguments_that_are_listed_make_some_programs_harmless_and_no_shell() {
        assert!(runs_anything("find", false).is_some() && runs_anything("find", true).is_none());
        assert!(runs_anything("sh", true).is_some() && runs_anything("git", false).is_none());
    }
}
