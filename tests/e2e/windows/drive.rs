//! A drive `C:` of Windows in a folder, and Wine, which runs programs on it.

use std::ffi::OsStr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orion_tests::{Launch, Process, World};
use orion_wire::v1;
use serde_json::json;
use tempfile::TempDir;

/// Where the manager of services keeps its settings.
const CONTROL: &str = r"HKLM\System\CurrentControlSet\Control";

/// A drive with the agent on it.
pub(super) struct Drive(TempDir);

impl Drive {
    /// Makes the drive, and puts `orion-agent.exe` into this folder of it. None where no agent for Windows was built for
    /// the tests.
    pub(super) async fn new(folder_of_agent: &str) -> Option<Self> {
        let program = PathBuf::from(std::env::var_os("ORION_TEST_WINDOWS_AGENT")?);
        let drive = Self(tempfile::tempdir().unwrap());
        let booted = drive.wine(&["wineboot", "--init"], b"", "wineboot.log");
        assert_eq!(booted.exit_code().await, 0, "{}", booted.log());
        // Wine gives a service ten seconds to start, which is short beside other tests; Windows gives it thirty.
        let timeout = ["ServicesPipeTimeout", "/t", "REG_DWORD", "/d", "60000", "/f"];
        let (code, said) =
            drive.says(&[&["reg", "add", CONTROL, "/v"], &timeout[..]].concat()).await;
        assert_eq!(code, 0, "{said}");
        drive.end();
        provide_random_numbers(&drive.at("windows/system32"));
        // Wine gives the modes of a folder to what is made in it, whatever the program says.
        let folder = drive.at(folder_of_agent.trim_start_matches("C:/"));
        std::fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
        std::fs::copy(program, folder.join("orion-agent.exe")).unwrap();
        Some(drive)
    }

    /// Returns a file or folder of the drive as this machine sees it.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join("prefix/drive_c").join(path)
    }

    /// Runs a program of Windows.
    pub(super) fn wine(&self, words: &[&str], stdin: &[u8], log: &str) -> Process {
        self.start("wine", words, stdin, log)
    }

    /// Runs a program of Windows to its end. Returns its exit code and what it wrote.
    pub(super) async fn says(&self, words: &[&str]) -> (i32, String) {
        self.answers(words, b"").await
    }

    /// Runs a program of Windows to its end with this standard input. Returns its exit code and what it wrote.
    pub(super) async fn answers(&self, words: &[&str], stdin: &[u8]) -> (i32, String) {
        let log = self.0.path().join("command.log");
        drop(std::fs::remove_file(log));
        let command = self.wine(words, stdin, "command.log");
        (command.exit_code().await, command.log())
    }

    /// Ends all programs of the drive: Wine's server ends them and itself, so that the folder can be removed.
    pub(super) fn end(&self) {
        let server = self.start("wineserver", &["-k", "-w"], b"", "wineserver.log");
        while server.is_running() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn start(&self, program: &str, words: &[&str], stdin: &[u8], log: &str) -> Process {
        let prefix = self.0.path().join("prefix");
        let environment = [
            ("WINEPREFIX", prefix.as_os_str()),
            ("WINEDEBUG", OsStr::new("-all")),
            // Neither .NET nor a browser engine is asked for at a window.
            ("WINEDLLOVERRIDES", OsStr::new("mscoree,mshtml=")),
        ];
        // What is made is its owner's alone: Wine shows modes as access lists.
        let private = ["-c", "umask 077 && exec \"$0\" \"$@\"", program];
        let arguments: Vec<&OsStr> = private.iter().chain(words).map(OsStr::new).collect();
        let launch =
            Launch { arguments: &arguments, environment: &environment, stdin, ..Launch::default() };
        Process::start(Path::new("/bin/sh"), &self.0.path().join(log), &launch)
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        self.end();
    }
}

/// Invites the device `laptop`, which needs no approval and may use this folder and these applications. Returns the
/// token.
pub(super) async fn invite(world: &World, folder: &str, apps: &[&str]) -> String {
    let request = v1::InviteDeviceRequest {
        name: "laptop".to_owned(),
        preapproved: true,
        grants: json!({"profile": "developer", "paths": [folder], "apps": apps}).to_string(),
        ..Default::default()
    };
    world.admin().devices().invite_device(request).await.unwrap().into_inner().token
}

/// Puts the library into a folder that this version of Wine lacks.
fn provide_random_numbers(folder: &Path) {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/e2e/windows/bcryptprimitives.c"));
    compile(source, &["-shared", "-ladvapi32"], &folder.join("bcryptprimitives.dll"));
}

/// Returns a program of Windows from its source in C.
pub(super) fn compiled(source: &str, folder: &Path) -> Vec<u8> {
    let (file, program) = (folder.join("program.c"), folder.join("program.exe"));
    std::fs::write(&file, source).unwrap();
    compile(&file, &[], &program);
    std::fs::read(program).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "tests are about processes")]
fn compile(source: &Path, options: &[&str], to: &Path) {
    let ended = std::process::Command::new("x86_64-w64-mingw32-gcc")
        .args([source.as_os_str(), "-O1".as_ref(), "-o".as_ref(), to.as_os_str()])
        .args(options)
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}
