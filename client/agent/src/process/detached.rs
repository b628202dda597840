//! Starts a program that belongs to the person: not confined, not ended with the call, and not with the agent.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Environment variables that an application gets: those for the desktop and the person's language, none of
/// the agent's own.
#[cfg(not(windows))]
const ENVIRONMENT: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "DISPLAY",
    "XAUTHORITY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_TYPE",
    "XDG_CURRENT_DESKTOP",
    "XDG_DATA_DIRS",
    "XDG_CONFIG_DIRS",
    "DBUS_SESSION_BUS_ADDRESS",
];
#[cfg(windows)]
const ENVIRONMENT: &[&str] = &[
    "PATH",
    "PATHEXT",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "USERNAME",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "TEMP",
    "TMP",
];

/// A program to start and to leave to the person.
#[derive(Debug)]
pub(crate) struct Detached<'a, A> {
    /// The program.
    pub(crate) program: &'a Path,
    /// The name that the program is called by.
    #[cfg_attr(windows, expect(dead_code, reason = "a program is not told another name there"))]
    pub(crate) name: &'a Path,
    /// The arguments, without the name.
    pub(crate) arguments: A,
    /// The folder that it starts in.
    pub(crate) folder: &'a Path,
}

impl<'a, A: IntoIterator<Item = &'a String>> Detached<'a, A> {
    /// Starts the program with an empty standard input, no output, and the environment of a desktop.
    ///
    /// # Errors
    /// The error of the operating system.
    pub(crate) fn start(self) -> io::Result<Child> {
        #[cfg(unix)]
        let name = self.name;
        let mut command = self.command();
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            // Its own process group, so that a signal to the agent's group does not end it.
            command.arg0(name).process_group(0);
            // The agent's parent process may have left inheritable file descriptors open.
            close_fds::set_fds_cloexec_threadsafe(3, &[]);
        }
        // The program inherits what this process says of its pages.
        #[cfg(target_os = "linux")]
        super::limits::use_huge_pages(true);
        let started = command.spawn();
        #[cfg(target_os = "linux")]
        super::limits::use_huge_pages(false);
        started
    }

    /// Starts the program as [`start`](Self::start) does, without a console: it does not end with the terminal, and no
    /// window opens for it.
    ///
    /// # Errors
    /// The error of the operating system.
    #[cfg(windows)]
    pub(crate) fn start_in_background(self) -> io::Result<Child> {
        use std::os::windows::process::CommandExt;

        const DETACHED_PROCESS: u32 = 0x8;
        const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
        const CREATE_BREAKAWAY_FROM_JOB: u32 = 0x0100_0000;
        const ALONE: u32 = DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP;
        let mut command = self.command();
        // The terminal's job may end all of its processes. Not every job lets one go.
        command
            .creation_flags(ALONE | CREATE_BREAKAWAY_FROM_JOB)
            .spawn()
            .or_else(|_| command.creation_flags(ALONE).spawn())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "opening the person's own applications is what this file is for"
    )]
    fn command(self) -> Command {
        let mut command = Command::new(self.program);
        command
            .args(self.arguments)
            .current_dir(self.folder)
            .env_clear()
            .envs(ENVIRONMENT.iter().filter_map(|&name| Some((name, std::env::var_os(name)?))))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}
