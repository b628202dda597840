//! Attempts that run inside the sandbox: this test program, started again as a program with one probe.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::Program;

/// The name of the attempt, in the environment.
const ATTEMPT: &str = "ORION_ATTEMPT";
/// What it is made on.
const PLACE: &str = "ORION_PLACE";

fn own() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// The arguments with which this program makes an attempt.
const ARGUMENTS: &[&str] = &["probes::attempt", "--exact", "--nocapture"];

/// Returns this program as a sandboxed one that makes an attempt on a place.
pub(super) fn probe(name: &str, place: &str) -> Program {
    let mut program = Program::new(&own(), ARGUMENTS);
    for (variable, value) in [(ATTEMPT, name), (PLACE, place)] {
        program.launch.environment.insert(variable.to_owned(), value.to_owned());
    }
    program.with(&own(), super::Rights::Execute)
}

/// Starts this program outside a sandbox, with an attempt.
#[expect(clippy::disallowed_methods, reason = "the test starts a process that it kills")]
pub(super) fn start(name: &str) -> Child {
    Command::new(own()).args(ARGUMENTS).env(ATTEMPT, name).stdout(Stdio::null()).spawn().unwrap()
}

/// What the started program does. Without a name in its environment, it does nothing.
#[test]
fn attempt() {
    match std::env::var(ATTEMPT).as_deref() {
        Ok("open_sockets") => open_sockets(),
        Ok("open_socket_files") => open_socket_files(),
        Ok("change_metadata") => change_metadata(),
        Ok("signal_a_process") => signal_a_process(),
        Ok("start_a_sleeper") => start_a_sleeper(),
        Ok(other) => panic!("{other}"),
        Err(_) => {}
    }
}

fn place() -> String {
    std::env::var(PLACE).unwrap()
}

fn tell<T>(what: &str, result: std::io::Result<T>) {
    println!("{what}: {}", result.err().map_or("done".to_owned(), |it| format!("{:?}", it.kind())));
}

fn open_sockets() {
    tell("tcp", TcpStream::connect(place()));
    tell("udp", UdpSocket::bind("127.0.0.1:0"));
    tell("listen", TcpListener::bind("127.0.0.1:0"));
    tell("pair", UnixStream::pair());
    tell("datagrams", UnixDatagram::pair());
}

fn open_socket_files() {
    tell("connect", UnixStream::connect(place()));
    tell("listen", UnixListener::bind(format!("{}.other", place())));
    tell("datagram", UnixDatagram::unbound());
}

fn change_metadata() {
    use std::os::unix::fs::PermissionsExt as _;
    let now = std::time::SystemTime::now();
    tell("mode", std::fs::set_permissions(place(), std::fs::Permissions::from_mode(0o777)));
    tell(
        "owner",
        std::os::unix::fs::chown(place(), None, Some(rustix::process::getgid().as_raw())),
    );
    tell("times", std::fs::File::open(place()).and_then(|it| it.set_modified(now)));
}

fn signal_a_process() {
    let pid = rustix::process::Pid::from_raw(place().parse().unwrap()).unwrap();
    tell("signal", rustix::process::test_kill_process(pid).map_err(Into::into));
    tell("memory", std::fs::File::open(format!("/proc/{}/mem", place())));
    tell("environment", std::fs::read(format!("/proc/{}/environ", place())));
    tell("files", std::fs::read_link(format!("/proc/{}/fd/0", place())));
}

fn start_a_sleeper() {
    let script = "trap '' TERM HUP; setsid sleep 71061 & sleep 71061; sleep 71061";
    drop(Program::shell(script).bounded(|it| it.time_ms = 60_000).run());
}
