//! Programs in their sandbox, as the agent starts them: the real binary, the real kernel.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test ends where something is not as it should be"
)]

mod endings;
mod escapes;
mod probes;
mod reach;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use orion_agent::process::{Bounds, Ended, Launch, LaunchError, Launcher};
use orion_agent::sandbox::{Metadata, Network, Rights};
use rustix::fs::{CWD, Mode, OFlags, openat};

/// Folders that programs and their libraries are in.
const SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// One program to run in a test.
struct Program {
    launch: Launch,
    handles: Vec<OwnedFd>,
    folder: PathBuf,
}

fn handle(path: &Path) -> OwnedFd {
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

/// Returns the path of a program of this system.
fn system(name: &str) -> PathBuf {
    which::which(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

impl Program {
    /// Starts in `/`, and may use only what the system's programs need.
    fn new(program: &Path, arguments: &[&str]) -> Self {
        let bounds = Bounds {
            time_ms: 10_000,
            memory: 512 * 1024 * 1024,
            processes: 64,
            file_bytes: 64 * 1024 * 1024,
        };
        let launch = Launch {
            program: program.to_owned(),
            name: program.file_name().unwrap().to_str().unwrap().to_owned(),
            arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
            environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            rights: Vec::new(),
            network: Network::Nothing,
            metadata: Metadata::Nothing,
            bounds,
        };
        let mut made = Self { launch, handles: Vec::new(), folder: PathBuf::from("/") };
        for path in SYSTEM.iter().map(Path::new).filter(|path| path.exists()) {
            made = made.with(path, Rights::Execute);
        }
        made.with(Path::new("/dev/null"), Rights::Device)
    }

    /// A shell, which no tool starts: here it stands for a program that does whatever it likes.
    fn shell(script: &str) -> Self {
        Self::new(&system("sh"), &["-c", script])
    }

    fn with(mut self, path: &Path, rights: Rights) -> Self {
        self.handles.push(handle(path));
        self.launch.rights.push(rights);
        self
    }

    fn inside(self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..self }
    }

    fn bounded(mut self, change: impl FnOnce(&mut Bounds)) -> Self {
        change(&mut self.launch.bounds);
        self
    }

    fn run(self) -> Result<Ended, LaunchError> {
        self.run_while(&|| true)
    }

    fn run_while(mut self, goes_on: &dyn Fn() -> bool) -> Result<Ended, LaunchError> {
        self.handles.push(handle(&self.folder));
        let handles: Vec<_> = self.handles.iter().map(|it| it.as_fd()).collect();
        launcher().run(&self.launch, &handles, &mut |_| {}, goes_on)
    }
}

fn launcher() -> Launcher {
    Launcher::of_agent_at(PathBuf::from(env!("CARGO_BIN_EXE_orion-agent")))
}

/// Returns standard output of a program that ended by itself.
fn out(program: Program) -> String {
    let ended = program.run().unwrap();
    assert_eq!(ended.exit_code, Some(0), "{ended:?}");
    ended.stdout.text()
}

/// Returns how many processes have a word in their arguments that begins with this text. The name of a file in a
/// compiler's arguments may have it elsewhere.
fn running(text: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line)
                .split(['\0', ' ', ';', '\n'])
                .any(|word| word.starts_with(text))
        })
        .count()
}

/// Waits until no process has this text in its arguments.
fn none_left(text: &str, within: Duration) {
    let began = Instant::now();
    while running(text) > 0 {
        assert!(began.elapsed() < within, "{text} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_program_gets_its_arguments_its_environment_and_its_folder_and_nothing_else() {
    // A descriptor of the agent that everything it starts would inherit.
    let leaked = File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["", "a b", "$HOME", "`id`", "\n", "é", "--", "'\"\\"];
    let program = Program::new(&system("printf"), &[&["%s\\0"], &arguments[..]].concat());
    assert_eq!(out(program), arguments.map(|it| format!("{it}\0")).concat());

    assert_eq!(out(Program::new(&system("env"), &[])), "PATH=/usr/bin:/bin\n");
    let pwd = Program::new(&system("pwd"), &["-P"]).inside(folder.path());
    assert_eq!(out(pwd).trim_end(), folder.path().canonicalize().unwrap().to_str().unwrap());
    let open = Program::shell("cat; echo /proc/self/fd/*").with(Path::new("/proc"), Rights::Read);
    assert_eq!(
        out(open).trim_end(),
        "/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3"
    );
}

#[test]
fn an_exit_code_a_signal_and_both_outputs_are_told() {
    let ended = Program::shell("echo out; echo err >&2; exit 3").run().unwrap();
    assert_eq!((ended.exit_code, ended.signal), (Some(3), None));
    assert_eq!((ended.stdout.text().as_str(), ended.stderr.text().as_str()), ("out\n", "err\n"));
    let ended = Program::shell("kill -SEGV $$").run().unwrap();
    assert_eq!((ended.exit_code, ended.signal), (None, Some(11)));
}

#[test]
fn a_program_that_cannot_be_executed_is_told_from_a_sandbox_that_cannot_be_made() {
    let missing = Program::new(Path::new("/usr/bin/there-is-no-such-program"), &[]).run();
    assert!(matches!(missing, Err(LaunchError::Program(_))), "{missing:?}");
    let mut program = Program::new(&system("true"), &[]);
    program.launch.rights.push(Rights::Read);
    let no_handle = program.run();
    assert!(matches!(no_handle, Err(LaunchError::Sandbox(_))), "{no_handle:?}");
    let many = (0..300).fold(Program::new(&system("true"), &[]), |program, _| {
        program.with(Path::new("/usr"), Rights::Read)
    });
    assert!(matches!(many.run(), Err(LaunchError::Sandbox(_))));
}
