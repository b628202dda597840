//! Programs on a command list that run any other program: whoever may start one may do anything.

use crate::file::PolicyFile;
use crate::file::lent::Lent;
use crate::finding::{Code, Findings, shown};

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
        let name = plain_name(program);
        let found = PROGRAMS.iter().find(|(_, names)| names.contains(&name.as_str()));
        let Some(&(why, _)) = found else { continue };
        let why = match why {
            Why::Shell => "a shell, which runs anything",
            Why::Interpreter => "an interpreter, which runs anything it is given",
            Why::Starter => "a program that starts any other",
            Why::Editor => "a program out of which any other can be started",
            Why::Elsewhere => "a way to other machines, and there to anything",
            Why::Privilege => "a way to another account, and with it to anything",
            Why::Container => "a way into or out of containers, and there to anything",
            Why::Argument(_) if command.value.args.is_some() => continue,
            Why::Argument(why) => why,
        };
        let message = format!("`{}` on a command list: {why}.", shown(program));
        let hint = "List the program that is needed itself, or a script of your own by its whole path, with the arguments it may be given.";
        findings.error(command.at, Code::Interpreter, message, hint);
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
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/usr/bin/python3.12", "python")]
    #[case("Python.EXE", "python")]
    #[case(r"C:\Windows\System32\cmd.exe", "cmd")]
    #[case("lua5.4", "lua")]
    #[case("ruby-3.3", "ruby")]
    #[case("sqlite3", "sqlite3")]
    #[case("/usr/local/bin/backup", "backup")]
    #[case("git", "git")]
    fn a_program_is_known_by_its_plain_name(#[case] program: &str, #[case] name: &str) {
        assert_eq!(plain_name(program), name);
    }
}
