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
    /// Harmless when its arguments are listed, and none of these is among them.
    Argument(&'static str, &'static [&'static str]),
    /// Worth a look when no arguments are listed.
    Project(&'static str),
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
            "pythonw",
            "py",
            "pyw",
            "uvx",
            "pipx",
            "lldb",
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
        &[
            "ssh", "scp", "sftp", "rsh", "telnet", "mosh", "nc", "ncat", "netcat", "socat",
            "psexec", "ansible",
        ],
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
    (
        Why::Argument(
            "-exec runs any program",
            &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fls"],
        ),
        &["find"],
    ),
    (
        Why::Argument("-x runs any program", &["-x", "-X", "--exec", "--exec-batch"]),
        &["fd", "fdfind"],
    ),
    (
        Why::Argument(
            "its e command runs any program",
            &["-e", "-f", "-i", "--expression", "--file", "--in-place"],
        ),
        &["sed", "gsed"],
    ),
    (
        Why::Argument(
            "--to-command and --checkpoint-action run any program",
            &[
                "--to-command",
                "--checkpoint-action",
                "--use-compress-program",
                "--info-script",
                "--new-volume-script",
                "--rsh-command",
                "-I",
                "-F",
            ],
        ),
        &["tar", "bsdtar", "gtar"],
    ),
    (Why::Argument("-T with -TT runs any program", &["-TT", "--unzip-command"]), &["zip"]),
    (Why::Argument("-e runs any program", &["-e", "--rsh", "--rsync-path"]), &["rsync"]),
    (Why::Argument("--compress-program runs any program", &["--compress-program"]), &["sort"]),
    (
        Why::Project("it runs what a project, a package or a setting names"),
        &[
            "git",
            "hg",
            "svn",
            "make",
            "gmake",
            "cmake",
            "ninja",
            "meson",
            "bazel",
            "just",
            "task",
            "cargo",
            "rustup",
            "go",
            "npm",
            "pnpm",
            "yarn",
            "pip",
            "poetry",
            "uv",
            "conda",
            "brew",
            "apt",
            "apt-get",
            "dnf",
            "yum",
            "zypper",
            "pacman",
            "dpkg",
            "rpm",
            "snap",
            "choco",
            "winget",
            "scoop",
            "dotnet",
            "msbuild",
            "gradle",
            "mvn",
            "ant",
            "terraform",
            "tofu",
            "helm",
            "systemctl",
            "journalctl",
        ],
    ),
    (
        Why::Project("it writes what it fetches or makes to any file"),
        &["curl", "wget", "openssl", "dd", "tee", "cp", "mv", "ln", "install"],
    ),
];

/// Why a program on a command list lets anything be run, where it does. `args` are the arguments that
/// the list says it may be given; those that are harmless make some programs harmless.
#[must_use]
pub fn runs_anything(program: &str, args: Option<&[String]>) -> Option<&'static str> {
    match why(program)? {
        Why::Shell => Some("a shell, which runs anything"),
        Why::Interpreter => Some("an interpreter, which runs anything it is given"),
        Why::Starter => Some("a program that starts any other"),
        Why::Editor => Some("a program out of which any other can be started"),
        Why::Elsewhere => Some("a way to other machines, and there to anything"),
        Why::Privilege => Some("a way to another account, and with it to anything"),
        Why::Container => Some("a way into or out of containers, and there to anything"),
        Why::Argument(why, runs) => {
            let is_one = |arg: &String| {
                let name = arg.split_once('=').map_or(arg.as_str(), |(name, _)| name);
                runs.contains(&name)
            };
            args.is_none_or(|args| args.iter().any(is_one)).then_some(why)
        }
        Why::Project(_) => None,
    }
}

/// Why a program on a command list is worth a look where no arguments are listed with it.
#[must_use]
pub fn runs_much(program: &str, args: Option<&[String]>) -> Option<&'static str> {
    match (why(program)?, args) {
        (Why::Project(why), None) => Some(why),
        _ => None,
    }
}

fn why(program: &str) -> Option<Why> {
    let name = plain_name(program);
    PROGRAMS.iter().find(|(_, names)| names.contains(&name.as_str())).map(|&(why, _)| why)
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
    // Programs that come in builds of their own: `qemu-system-x86_64`, `vim.tiny`, `ansible-playbook`.
    if let Some(family) = ["qemu", "ansible", "busybox", "vim"]
        .into_iter()
        .find(|family| name.strip_prefix(family).is_some_and(|rest| rest.starts_with(['-', '.'])))
    {
        return family.to_owned();
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
    fn arguments_that_are_listed_make_some_programs_harmless_unless_they_run_any_other() {
        let runs = |program: &str, args: Option<&[&str]>| {
            let args: Option<Vec<_>> = args.map(|it| it.iter().map(ToString::to_string).collect());
            runs_anything(program, args.as_deref()).is_some()
        };
        for (program, args, expected) in [
            ("find", None, true),
            ("find", Some(&["-name", "-type"][..]), false),
            ("find", Some(&["-name", "-exec"]), true),
            ("tar", Some(&["-t", "-f"]), false),
            ("tar", Some(&["--to-command=sh"]), true),
            ("sh", Some(&["-n"]), true),
            ("py", None, true),
            ("qemu-system-x86_64", None, true),
            ("/usr/bin/vim.tiny", None, true),
            ("ansible-playbook", None, true),
            ("git", None, false),
        ] {
            assert_eq!(runs(program, args), expected, "{program} {args:?}");
        }
    }

    #[test]
    fn a_program_that_runs_what_a_project_names_is_worth_a_look_without_arguments() {
        let status = ["status".to_owned()];
        assert!(runs_much("git", None).is_some() && runs_much("git", Some(&status)).is_none());
        assert!(runs_much("curl", None).is_some() && runs_much("backup", None).is_none());
        assert!(runs_much("bash", None).is_none(), "that is an error already");
    }
}
